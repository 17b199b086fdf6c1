//! Handcrafted terms as source code: every weight comes back from compiled programs.

use nnuance::export::snippet::Language;
use nnuance::export::tables::{Tapering, TermArray, TunedTerms, list_arrays, write_source};
use nnuance::terms::{TermEntry, TermKind, TermList};
use proptest::prelude::*;

use crate::support::kit::*;

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

fn list<S: Into<String>>(names: impl IntoIterator<Item = (S, TermKind)>) -> TermList {
    let terms = names.into_iter().map(|(name, kind)| TermEntry {
        name: name.into(),
        kind,
        start: [0.0; 2],
        counts: String::new(),
    });
    TermList { terms: terms.collect(), tempo: 0.0 }
}

pub(crate) fn squares() -> Vec<String> {
    (0..64).map(|square| format!("{}{}", char::from(b'a' + square % 8), square / 8 + 1)).collect()
}

/// A list of terms as from an engine, with names that are hard to convert to identifiers.
fn realistic() -> TermList {
    let mut names: Vec<(String, TermKind)> = Vec::new();
    let mut add = |kind: TermKind, name: String| names.push((name, kind));
    ROLES[..5].iter().for_each(|role| add(TermKind::Normal, format!("material.{role}")));
    for role in ROLES {
        squares().iter().for_each(|square| add(TermKind::Normal, format!("psqt.{role}.{square}")));
    }
    for (role, moves) in [("knight", 9), ("bishop", 14), ("rook", 15), ("queen", 28)] {
        (0..moves).for_each(|n| add(TermKind::Normal, format!("mobility.{role}.{n}")));
    }
    add(TermKind::Normal, "pawns.isolated".into());
    add(TermKind::Normal, "pawns.doubled".into());
    for blocked in ["blocked", "free"] {
        for safe in ["safe", "unsafe"] {
            (1..7)
                .for_each(|n| add(TermKind::Normal, format!("pawns.passed.{blocked}.{safe}.{n}")));
        }
    }
    for file in 0..4 {
        (0..8).for_each(|rank| add(TermKind::Normal, format!("king.shelter.{file}.{rank}")));
    }
    ROLES[1..5].iter().for_each(|role| add(TermKind::Safety, format!("safety.attack.{role}")));
    add(TermKind::Safety, "safety.adjustment".into());
    add(TermKind::Complexity, "complexity.total-pawns".into());
    (0..3).for_each(|n| add(TermKind::Complexity, format!("complexity.flanks.{n}")));
    squares()
        .iter()
        .for_each(|square| add(TermKind::Complexity, format!("complexity.at.{square}")));
    for odd in ["double", "int", "self", "NULL", "tempo", "Pair", "3fold", "a.1.0x", "a.10x"] {
        add(TermKind::Normal, odd.into());
    }
    for odd in ["bishop-pair", "bishop_pair", "bishopPair", "größe\\", "??/", "*/ x /*"] {
        add(TermKind::Normal, odd.into());
    }
    list(names)
}

/// Different numbers of both signs, halves among them.
fn weights(list: &TermList) -> Vec<[f64; 2]> {
    let values = (0..list.len()).map(|term| {
        let x = (term * 7919 % 1201) as f64;
        [x / 2.0 - 300.0, 200.5 - x / 3.0]
    });
    values.collect()
}

#[test]
fn boards_come_in_any_order() {
    let mut board = squares();
    board.reverse();
    let of = |names: &[String]| {
        list_arrays(&self::list(names.iter().map(|name| (format!("at.{name}"), TermKind::Normal))))
    };
    let found = of(&board);
    assert_eq!((found.len(), &found[0].labels), (1, &squares()));
    assert!(found[0].terms.iter().copied().eq((0..64).rev()));
    // Without one square, and of several kinds, they are none.
    assert_eq!(of(&board[1..]).len(), 63);
    let mixed = self::list([("m.0", TermKind::Normal), ("m.1", TermKind::Safety)]);
    assert_eq!(list_arrays(&mixed).len(), 2);
}

proptest! {
    #[test]
    fn any_names_become_different_words(
        names in proptest::collection::hash_set("[aAbB1_. é-]{1,5}|\\PC{1,6}|.{1,3}", 1..30)
    ) {
        let list = list(names.into_iter().map(|name| (name, TermKind::Normal)));
        let weights = weights(&list);
        let tuned = tuned(&list, &weights);
        let count = list_arrays(&list).len() + 1;
        for language in Language::ALL {
            let code = write_source(&tuned, language).unwrap();
            let words = identifiers(&code, language);
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

fn tuned<'a>(list: &'a TermList, weights: &'a [[f64; 2]]) -> TunedTerms<'a> {
    let source = "a run named ??/ on \"data\" */ with a slash at the end \\";
    let tapering = Tapering::Ours { scale_factor: true };
    TunedTerms { list, weights, tempo: 17.5, scale: 400.0, source, tapering }
}

/// The identifiers of the file, in its order, which is that of the arrays; the first is the tempo.
fn identifiers(code: &str, language: Language) -> Vec<String> {
    let mark = if language == Language::C { "static const" } else { "pub const" };
    let lines = code.lines().filter(|line| line.starts_with(mark));
    let word = |line: &str| {
        let before = line.split(['=', '[', ':']).next().unwrap().trim().to_string();
        before.rsplit(' ').next().unwrap().to_string()
    };
    lines.map(word).collect()
}

fn expected(list: &TermList, weights: &[[f64; 2]]) -> String {
    let mut out = "18\n".to_string();
    for (entry, [mg, eg]) in list.terms.iter().zip(weights) {
        if entry.kind != TermKind::Complexity {
            out.push_str(&format!("{} ", mg.round() as i64));
        }
        out.push_str(&format!("{}\n", eg.round() as i64));
    }
    out
}

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
fn compiled_code_gives_every_weight_back() {
    let list = realistic();
    let weights = weights(&list);
    let arrays = list_arrays(&list);
    for language in Language::ALL {
        let code = write_source(&tuned(&list, &weights), language).unwrap();
        let names = identifiers(&code, language);
        assert_eq!(names.len(), arrays.len() + 1);
        let c = language == Language::C;
        let show = |at: String, plain: bool| match (c, plain) {
            (true, true) => format!("    printf(\"%d\\n\", (int){at});\n"),
            (true, false) => format!("    printf(\"%d %d\\n\", (int){at}.mg, (int){at}.eg);\n"),
            (false, true) => format!("    println!(\"{{}}\", terms::{at});\n"),
            (false, false) => {
                format!("    println!(\"{{}} {{}}\", terms::{at}.0, terms::{at}.1);\n")
            }
        };
        let mut lines = vec![String::new(); list.len()];
        for (TermArray { kind, labels, terms, .. }, name) in arrays.iter().zip(&names[1..]) {
            for (place, term) in terms.iter().enumerate() {
                let flip = labels.len() == 64;
                let at = match labels.is_empty() {
                    true => name.clone(),
                    false => format!("{name}[{}]", if flip { place ^ 56 } else { place }),
                };
                lines[*term] = show(at, *kind == TermKind::Complexity);
            }
        }
        let body = show(names[0].clone(), true) + &lines.concat();
        let folder = Workdir::empty();
        let write = |name: &str, text: &str| folder.write(name, text);
        let (compiler, flags) = match c {
            true => {
                write("terms.h", &code);
                let main = "#include <stdio.h>\n#include <math.h>\n#include \"terms.h\"\n\
                            #include \"terms.h\"\nint main(void) {\n";
                write("main.c", &format!("{main}{body}    return 0;\n}}\n"));
                let flags = "-std=c99 -pedantic -Wall -Wextra -Wc++-compat -Werror main.c -o main";
                ("gcc", flags)
            }
            false => {
                write("terms.rs", &code);
                write("main.rs", &format!("mod terms;\nfn main() {{\n{body}}}\n"));
                ("rustc", "--edition=2021 -Dwarnings -Cdebuginfo=0 main.rs -o main")
            }
        };
        let flags: Vec<&str> = flags.split(' ').collect();
        if let Some(printed) = compiled_and_run(folder.root_path(), compiler, &flags) {
            assert_eq!(printed, expected(&list, &weights));
        }
        if !c && need::tool("rustfmt", "--version") {
            let module = folder.path("terms.rs");
            let format = Command::new("rustfmt").arg("--check").arg(module).output().unwrap();
            assert!(format.stdout.is_empty(), "{}", String::from_utf8_lossy(&format.stdout));
        }
    }
}

#[test]
fn overflowing_weights_are_named() {
    let list = list([("a.b", TermKind::Normal), ("c", TermKind::Complexity)]);
    let with = |weights: &[[f64; 2]]| {
        write_source(&TunedTerms { weights, ..tuned(&list, weights) }, Language::Rust)
    };
    // The middlegame of a COMPLEXITY term has no effect.
    assert!(with(&[[32767.4, -32768.4], [f64::NAN, 1.0]]).is_ok());
    let error = |weights: &[[f64; 2]]| with(weights).unwrap_err();
    let large = error(&[[32767.5, 0.0], [0.0; 2]]);
    assert_eq!((&large.name[..], large.phase), ("a.b", "middlegame"));
    assert_eq!(error(&[[0.0; 2], [0.0, -3e9]]).name, "c");
    assert!(error(&[[0.0, f64::NAN], [0.0; 2]]).value.is_nan());
}
