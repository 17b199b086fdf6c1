use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use nnuance::export::tables::shape::{Array, Axis, ShapeError, arrays};
use nnuance::export::tables::source::{Order, SourceError, Style, Tapering, Tuned, Width};
use nnuance::export::tables::{c, cpp, rust};
use nnuance::terms::{Kind, TermEntry, TermList};
use proptest::prelude::*;

use crate::need;

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

pub(crate) fn list<S: Into<String>>(names: impl IntoIterator<Item = (S, Kind)>) -> TermList {
    let terms = names.into_iter().map(|(name, kind)| TermEntry {
        name: name.into(),
        kind,
        start: [0.0; 2],
        counts: String::new(),
    });
    TermList { terms: terms.collect(), tempo: 0.0 }
}

fn normal(names: &[&str]) -> TermList {
    list(names.iter().map(|name| (name.to_string(), Kind::Normal)))
}

pub(crate) fn squares() -> Vec<String> {
    (0..64).map(|square| format!("{}{}", char::from(b'a' + square % 8), square / 8 + 1)).collect()
}

/// What an engine may bring, with names that are hard to write as identifiers.
pub(crate) fn realistic() -> TermList {
    let mut names: Vec<(String, Kind)> = Vec::new();
    let mut add = |kind: Kind, name: String| names.push((name, kind));
    ROLES[..5].iter().for_each(|role| add(Kind::Normal, format!("material.{role}")));
    for role in ROLES {
        squares().iter().for_each(|square| add(Kind::Normal, format!("psqt.{role}.{square}")));
    }
    for (role, moves) in [("knight", 9), ("bishop", 14), ("rook", 15), ("queen", 28)] {
        (0..moves).for_each(|n| add(Kind::Normal, format!("mobility.{role}.{n}")));
    }
    add(Kind::Normal, "pawns.isolated".into());
    add(Kind::Normal, "pawns.doubled".into());
    for blocked in ["blocked", "free"] {
        for safe in ["safe", "unsafe"] {
            (1..7).for_each(|n| add(Kind::Normal, format!("pawns.passed.{blocked}.{safe}.{n}")));
        }
    }
    for file in 0..4 {
        (0..8).for_each(|rank| add(Kind::Normal, format!("king.shelter.{file}.{rank}")));
    }
    ROLES[1..5].iter().for_each(|role| add(Kind::Safety, format!("safety.attack.{role}")));
    add(Kind::Safety, "safety.adjustment".into());
    add(Kind::Complexity, "complexity.total-pawns".into());
    (0..3).for_each(|n| add(Kind::Complexity, format!("complexity.flanks.{n}")));
    squares().iter().for_each(|square| add(Kind::Complexity, format!("complexity.at.{square}")));
    for odd in ["double", "int", "self", "NULL", "tempo", "Pair", "3fold", "a.1.0x", "a.10x"] {
        add(Kind::Normal, odd.into());
    }
    for odd in ["bishop-pair", "bishop_pair", "bishopPair", "größe\\", "??/", "*/ x /*"] {
        add(Kind::Normal, odd.into());
    }
    list(names)
}

/// Different numbers of both signs, halves among them.
pub(crate) fn weights(list: &TermList) -> Vec<[f64; 2]> {
    let values = (0..list.len()).map(|term| {
        let x = (term * 7919 % 1201) as f64;
        [x / 2.0 - 300.0, 200.5 - x / 3.0]
    });
    values.collect()
}

fn find<'a>(arrays: &'a [Array], name: &str) -> &'a Array {
    arrays.iter().find(|array| array.name == name).unwrap_or_else(|| panic!("no array {name}"))
}

fn lengths(array: &Array) -> Vec<usize> {
    array.axes.iter().map(Axis::len).collect()
}

#[test]
fn terms_of_an_engine_become_the_arrays_it_would_have() {
    let list = realistic();
    let arrays = arrays(&list).unwrap();
    for (name, expected) in [
        ("material", vec![5]),
        ("psqt", vec![6, 64]),
        ("mobility.knight", vec![9]),
        ("mobility.queen", vec![28]),
        ("pawns.isolated", vec![]),
        ("pawns.passed", vec![2, 2, 6]),
        ("king.shelter", vec![4, 8]),
        ("safety.attack", vec![4]),
        ("safety.adjustment", vec![]),
        ("complexity.total-pawns", vec![]),
        ("complexity.flanks", vec![3]),
        ("complexity.at", vec![64]),
        ("a.1.0x", vec![]),
    ] {
        assert_eq!(lengths(find(&arrays, name)), expected, "{name}");
    }
    let passed = find(&arrays, "pawns.passed");
    let words = |words: &[&str]| Axis::Labels(words.iter().map(|word| word.to_string()).collect());
    let numbers = Axis::Numbers { first: 1, len: 6 };
    assert_eq!(passed.axes, [words(&["blocked", "free"]), words(&["safe", "unsafe"]), numbers]);
    let mut terms: Vec<usize> = arrays.iter().flat_map(|array| array.terms.clone()).collect();
    terms.sort_unstable();
    assert!(terms.into_iter().eq(0..list.len()));
}

#[test]
fn grids_come_in_any_order_and_ragged_or_mixed_ones_stay_apart() {
    let names = |arrays: &[Array]| -> Vec<String> {
        arrays.iter().map(|array| format!("{}{:?}", array.name, lengths(array))).collect()
    };
    let shape = |words: &[&str]| names(&arrays(&normal(words)).unwrap());
    assert_eq!(shape(&["m.2", "m.0", "m.1"]), ["m[3]"]);
    assert_eq!(arrays(&normal(&["m.2", "m.0", "m.1"])).unwrap()[0].terms, [1, 2, 0]);
    assert_eq!(shape(&["m.0", "m.2"]), ["m.0[]", "m.2[]"]);
    assert_eq!(shape(&["m.00", "m.01"]), ["m.00[]", "m.01[]"]);
    assert_eq!(shape(&["m.0", "m.1", "n", "m.2", "m.3"]), ["m[2]", "n[]", "m[2]"]);
    assert_eq!(shape(&["a.b", "a.b.0", "a.b.1"]), ["a.b[]", "a.b.0[]", "a.b.1[]"]);
    assert_eq!(shape(&["x.s.0.k", "x.s.1.k"]), ["x.s[2, 1]"]);
    assert_eq!(shape(&["pawn.0", "pawn.1", "rook.0", "rook.1"]), ["pawn[2]", "rook[2]"]);
    assert_eq!(shape(&["r.a.x", "r.a.y", "r.b.x", "r.b.y"]), ["r[2, 2]"]);
    assert_eq!(shape(&["r.a", "r.b", "r.c", "r.d"]), ["r[4]"]);
    let inner = squares().into_iter().filter(|square| !square.ends_with(['1', '8']));
    let inner: Vec<String> = inner.map(|square| format!("p.{square}")).collect();
    assert_eq!(shape(&inner.iter().map(String::as_str).collect::<Vec<_>>()), ["p[48]"]);
    let mut board = squares();
    board.reverse();
    let board = list(board.iter().map(|square| (format!("at.{square}"), Kind::Normal)));
    let board = arrays(&board).unwrap();
    assert_eq!((names(&board), &board[0].axes[..]), (vec!["at[64]".into()], &[Axis::Squares][..]));
    assert!(board[0].terms.iter().copied().eq((0..64).rev()));
    let mixed = list([("m.0", Kind::Normal), ("m.1", Kind::Safety)]);
    assert_eq!(names(&arrays(&mixed).unwrap()), ["m.0[]", "m.1[]"]);
    let twice = ShapeError::Twice { first: 0, second: 2, name: "a".into() };
    assert_eq!(arrays(&normal(&["a", "b", "a"])), Err(twice));
    let empty = |term, name: &str| Err(ShapeError::Empty { term, name: name.into() });
    assert_eq!(arrays(&normal(&["a", "b..c"])), empty(1, "b..c"));
    assert_eq!(arrays(&normal(&[""])), empty(0, ""));
}

proptest! {
    #[test]
    fn every_term_stands_in_one_array_under_its_own_name(
        names in proptest::collection::hash_set("[a-c0-2](\\.[a-c0-2]){0,3}", 1..60)
    ) {
        let list = list(names.into_iter().map(|name| (name, Kind::Normal)));
        let mut found: Vec<(usize, String)> = Vec::new();
        for array in arrays(&list).unwrap() {
            prop_assert_eq!(array.terms.len(), lengths(&array).iter().product::<usize>());
            for (name, terms) in array.blocks(0) {
                prop_assert_eq!(terms.len(), 1);
                found.push((terms[0], name));
            }
        }
        found.sort();
        let expected = list.terms.iter().map(|entry| entry.name.clone()).enumerate();
        prop_assert!(found.into_iter().eq(expected));
    }
}

proptest! {
    #[test]
    fn any_names_become_different_words_of_every_language(
        names in proptest::collection::hash_set("[aAbB1_. é-]{1,5}|\\PC{1,6}|.{1,3}", 1..30)
    ) {
        let whole = |name: &String| name.split('.').all(|word| !word.is_empty());
        let names: Vec<String> = names.into_iter().filter(whole).collect();
        let list = list(names.into_iter().map(|name| (name, Kind::Normal)));
        let weights = weights(&list);
        let tuned = tuned(&list, &weights);
        let count = arrays(&list).unwrap().len() + 1;
        for (code, mark) in [
            (c::source(&tuned, STYLES[0]), "static const"),
            (cpp::source(&tuned, STYLES[0]), "inline constexpr"),
            (rust::source(&tuned, STYLES[0]), "pub const"),
        ] {
            let code = code.unwrap();
            let words = identifiers(&code, mark);
            prop_assert_eq!(words.iter().collect::<HashSet<_>>().len(), count);
            for word in words {
                prop_assert!(word.starts_with(|c: char| c.is_ascii_alphabetic()), "{}", word);
                prop_assert!(word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
                prop_assert!(!word.contains("__"), "{}", word);
            }
            prop_assert!(!code.chars().any(|c| (c.is_control() && c != '\n') || c == '\\'));
        }
    }
}

const STYLES: [Style; 3] = [
    Style { order: Order::A1First, width: Width::Bits16 },
    Style { order: Order::A8First, width: Width::Bits16 },
    Style { order: Order::A8First, width: Width::Bits32 },
];

fn tuned<'a>(list: &'a TermList, weights: &'a [[f64; 2]]) -> Tuned<'a> {
    let source = "a run named ??/ on \"data\" */ with a slash at the end \\";
    let tapering = Tapering::Ours { scale_factor: true };
    Tuned { list, weights, tempo: 17.5, scale: 400.0, source, tapering }
}

/// The identifiers of the file, in its order, which is that of the arrays; the first is the tempo.
fn identifiers(code: &str, mark: &str) -> Vec<String> {
    let lines = code.lines().filter(|line| line.starts_with(mark));
    let word = |line: &str| {
        let before = line.replace("::", " ");
        let before = before.split(['=', '[', ':']).next().unwrap().trim().to_string();
        before.rsplit(' ').next().unwrap().to_string()
    };
    lines.map(word).collect()
}

/// A main that prints tempo and then all terms in their order, found through their indices.
fn program(
    list: &TermList,
    style: Style,
    names: &[String],
    show: &dyn Fn(&str, bool) -> String,
) -> String {
    let arrays = arrays(list).unwrap();
    assert_eq!(names.len(), arrays.len() + 1);
    let mut lines = vec![String::new(); list.len()];
    for (array, name) in arrays.iter().zip(&names[1..]) {
        for (mut place, term) in array.terms.iter().enumerate() {
            let mut index = String::new();
            for axis in array.axes.iter().rev() {
                let at = place % axis.len();
                let flip = *axis == Axis::Squares && style.order == Order::A8First;
                index.insert_str(0, &format!("[{}]", if flip { at ^ 56 } else { at }));
                place /= axis.len();
            }
            lines[*term] = show(&format!("{name}{index}"), array.kind == Kind::Complexity);
        }
    }
    lines.concat()
}

fn expected(list: &TermList, weights: &[[f64; 2]]) -> String {
    let mut out = "18\n".to_string();
    for (entry, [mg, eg]) in list.terms.iter().zip(weights) {
        if entry.kind != Kind::Complexity {
            out.push_str(&format!("{} ", mg.round() as i64));
        }
        out.push_str(&format!("{}\n", eg.round() as i64));
    }
    out
}

/// None where the compiler is missing.
fn compiled_and_run(folder: &Path, compiler: &'static str, arguments: &[&str]) -> Option<String> {
    if !need::tool(compiler, "--version") {
        return None;
    }
    let built = Command::new(compiler).args(arguments).current_dir(folder).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert!(built.stderr.is_empty(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(folder.join("main")).output().unwrap();
    assert!(ran.status.success());
    Some(String::from_utf8(ran.stdout).unwrap())
}

#[test]
fn c_gives_every_weight_back() {
    let list = realistic();
    let weights = weights(&list);
    for style in STYLES {
        let code = c::source(&tuned(&list, &weights), style).unwrap();
        let names = identifiers(&code, "static const");
        let show = |at: &str, plain: bool| match plain {
            true => format!("    printf(\"%d\\n\", (int){at});\n"),
            false => format!("    printf(\"%d %d\\n\", (int){at}.mg, (int){at}.eg);\n"),
        };
        let body = program(&list, style, &names, &show);
        let main = format!(
            "#include <stdio.h>\n#include <math.h>\n#include \"terms.h\"\n#include \"terms.h\"\n\
             int main(void) {{\n    printf(\"%d\\n\", (int){});\n{body}    return 0;\n}}\n",
            names[0]
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("terms.h"), code).unwrap();
        std::fs::write(folder.path().join("main.c"), main).unwrap();
        let flags =
            ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"];
        let Some(printed) = compiled_and_run(folder.path(), "cc", &flags) else { return };
        assert_eq!(printed, expected(&list, &weights));
    }
}

#[test]
fn cpp_gives_every_weight_back() {
    let list = realistic();
    let weights = weights(&list);
    for style in STYLES {
        let code = cpp::source(&tuned(&list, &weights), style).unwrap();
        let names = identifiers(&code, "inline constexpr");
        let show = |at: &str, plain: bool| match plain {
            true => format!("    printf(\"%d\\n\", int(tuned::{at}));\n"),
            false => {
                format!("    printf(\"%d %d\\n\", int(tuned::{at}.mg), int(tuned::{at}.eg));\n")
            }
        };
        let body = program(&list, style, &names, &show);
        let main = format!(
            "#include <cstdio>\n#include \"terms.hpp\"\n#include \"terms.hpp\"\n\
             int main() {{\n    printf(\"%d\\n\", int(tuned::{}));\n{body}}}\n",
            names[0]
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("terms.hpp"), code).unwrap();
        std::fs::write(folder.path().join("main.cpp"), main).unwrap();
        let flags =
            ["-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "main"];
        let Some(printed) = compiled_and_run(folder.path(), "g++", &flags) else { return };
        assert_eq!(printed, expected(&list, &weights));
    }
}

#[test]
fn rust_gives_every_weight_back_and_is_formatted() {
    let list = realistic();
    let weights = weights(&list);
    for style in STYLES {
        let code = rust::source(&tuned(&list, &weights), style).unwrap();
        let names = identifiers(&code, "pub const");
        let show = |at: &str, plain: bool| match plain {
            true => format!("    println!(\"{{}}\", terms::{at});\n"),
            false => format!("    println!(\"{{}} {{}}\", terms::{at}.0, terms::{at}.1);\n"),
        };
        let body = program(&list, style, &names, &show);
        let main = format!(
            "mod terms;\nfn main() {{\n    println!(\"{{}}\", terms::{});\n{body}}}\n",
            names[0]
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("terms.rs"), &code).unwrap();
        std::fs::write(folder.path().join("main.rs"), main).unwrap();
        let flags = ["--edition=2021", "-Dwarnings", "-Cdebuginfo=0", "main.rs", "-o", "main"];
        let Some(printed) = compiled_and_run(folder.path(), "rustc", &flags) else { return };
        assert_eq!(printed, expected(&list, &weights));
        let module = folder.path().join("terms.rs");
        if need::tool("rustfmt", "--version") {
            let format = Command::new("rustfmt").arg("--check").arg(module).output().unwrap();
            assert!(format.stdout.is_empty(), "{}", String::from_utf8_lossy(&format.stdout));
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let list = list([("a.b", Kind::Normal), ("c", Kind::Complexity)]);
    let style = |width| Style { order: Order::A1First, width };
    let with = |weights: &[[f64; 2]], width| {
        let (list, tempo, scale, source) = (&list, 0.0, 400.0, "");
        let tapering = Tapering::Ours { scale_factor: true };
        rust::source(&Tuned { list, weights, tempo, scale, source, tapering }, style(width))
    };
    // The middlegame of a COMPLEXITY term means nothing, whatever it is.
    let edge = [[32767.4, -32768.4], [f64::NAN, 1.0]];
    assert!(with(&edge, Width::Bits16).is_ok());
    let error = |weights: &[[f64; 2]], width| with(weights, width).unwrap_err().to_string();
    let large = error(&[[32767.5, 0.0], [0.0; 2]], Width::Bits16);
    assert_eq!(
        large,
        "the middlegame weight of a.b is 32767.5, beyond 16 bits; write 32 bits instead"
    );
    assert!(with(&[[32767.5, 0.0], [0.0; 2]], Width::Bits32).is_ok());
    assert!(error(&[[0.0; 2], [0.0, -3e9]], Width::Bits32).contains("endgame weight of c"));
    assert!(error(&[[0.0, f64::NAN], [0.0; 2]], Width::Bits32).contains("no finite number"));
    assert_eq!(with(&[], Width::Bits16), Err(SourceError::Weights { terms: 2, weights: 0 }));
}
