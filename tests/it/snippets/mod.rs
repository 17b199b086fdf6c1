//! The code for engines, compiled and compared with this program's own evaluation. A language whose
//! tools are absent is skipped.

mod bundle;
mod nets;
mod program;
mod toolchain;

use std::fs;
use std::path::Path;

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::digest::digest;
use nnuance::export::snippet::{Language, SnippetError, snippet};
use nnuance::export::{Golden, golden, load, prove};
use nnuance::net::Net;
use nnuance::scales::{HeadFormat, Scales};

use self::nets::{Case, DRAWN, KINDS, QUICKSTART, VARIANTS, random, random_net};
use self::program::Program;
use self::toolchain::{Build, Toolchain};
use crate::playouts::GAMES;
use crate::{drawn, playouts};

/// All that a language's code must do. One test a language: they run side by side.
fn check(language: Language) {
    let Some(toolchain) = Toolchain::of(language) else { return };
    variants_agree(toolchain);
    kinds_agree(toolchain);
    drawn_agree(toolchain);
    quickstart_agrees(toolchain);
    wrong_golden_fails(toolchain);
}

fn variants_agree(toolchain: &'static Toolchain) {
    for case in VARIANTS.iter() {
        let build = Build {
            net: &case.net,
            net_file: "net.bin",
            golden: &golden::evaluations(&case.net),
            optimised: false,
            embed: false,
        };
        let program = toolchain.build(&build);
        program.selftest(&["selftest"]);
        let positions = toolchain.some(&case.positions, 240);
        let games = toolchain.some(&case.games, 24);
        program.agrees(&[], [positions, games]);
    }
}

/// To the bit also where there are floats: they are added up in the same order.
fn kinds_agree(toolchain: &'static Toolchain) {
    let takes = |net: &Net| !net.architecture().is_deep() || toolchain.language.takes_floats();
    for case in KINDS.iter().filter(|case| takes(&case.net)) {
        let build = Build {
            net: &case.net,
            net_file: "net.bin",
            golden: &golden::evaluations(&case.net),
            optimised: true,
            embed: true,
        };
        let program = toolchain.build(&build);
        program.selftest(&["selftest"]);
        let positions = toolchain.some(&case.positions, 240);
        let games = toolchain.some(&case.games, 24);
        program.agrees(&[], [positions, games]);
    }
}

/// All nets of 20 drawn architectures, in languages that have code for all. After each move of the
/// games, which are a thousand together, the programs compare their accumulators with new ones.
fn drawn_agree(toolchain: &'static Toolchain) {
    if !toolchain.language.takes_floats() {
        return;
    }
    for cases in DRAWN.chunks(bundle::size(toolchain.language)) {
        let program = bundle::build(toolchain, cases);
        for (i, case) in cases.iter().enumerate() {
            let file = bundle::net_file(i);
            program.selftest(&["selftest", &file]);
            program.agrees(&[&file], [&case.positions, &case.games]);
        }
    }
}

fn quickstart_agrees(toolchain: &'static Toolchain) {
    let case = &*QUICKSTART;
    let build = Build {
        net: &case.net,
        net_file: "quickstart-32.bin",
        golden: &golden::evaluations(&case.net),
        optimised: true,
        embed: true,
    };
    let program = toolchain.build(&build);
    let folder = program.folder();
    fs::rename(folder.join("quickstart-32.bin"), folder.join("elsewhere.bin")).unwrap();
    // From the program: the self-test is also what it does without being asked.
    program.selftest(&["selftest"]);
    program.selftest(&[]);
    program.agrees(&[], [&case.positions, &case.games]);
    // From the disk.
    program.selftest(&["selftest", "elsewhere.bin"]);
    let few = [toolchain.some(&case.positions, 100), toolchain.some(&case.games, 10)];
    program.agrees(&["elsewhere.bin"], few);
    bad_files(&program, &case.net);
    bad_lines(&program);
}

fn bad_files(program: &Program, net: &Net) {
    let (folder, bytes) = (program.folder(), net.to_bytes());
    for size in [0, 100, bytes.len() - 64, bytes.len() + 2, 100_000] {
        let mut wrong = bytes.clone();
        wrong.resize(size, 0);
        fs::write(folder.join("wrong.bin"), &wrong).unwrap();
        let (said, _) = program.failure(&["selftest", "wrong.bin"], "");
        let sizes = format!("wrong.bin has {size} bytes, expected 49408");
        assert!(said.contains(&sizes), "{said}");
    }
    fs::create_dir(folder.join("folder.bin")).unwrap();
    for path in ["absent.bin", "folder.bin"] {
        let (said, _) = program.failure(&["eval", path], "");
        assert!(said.contains(path), "{said}");
    }
    // Without padding, a net is whole.
    fs::write(folder.join("bare.bin"), &bytes[..net.payload()]).unwrap();
    program.selftest(&["selftest", "bare.bin"]);
    let (said, _) = program.failure(&["evaluate"], "");
    assert!(said.contains("selftest|eval"), "{said}");
}

/// The first three lines stand for the others where a virtual machine has to start for each.
fn bad_lines(program: &Program) {
    let start = golden::FENS[0];
    let fens = [
        "rnbqkbnr/pppppppp/9/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 moves g1f3 g8f6 é2e4",
        "8/P7/8/8/8/8/8/K1k5 w - - 0 1 moves a7a8",
        "8/P7/8/8/8/8/8/K1k5 w - - 0 1 moves a7a8k",
        "8/P7/8/8/8/8/8/K1k5 w - - 0 1 moves a7a8p",
        "8/8/8/8/8/8/1r6/K1k5 b - - 0 1 moves c1b1 a1b2 b1b2",
        "",
        "nonsense",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 more",
        "rnbqkbnr/pppppppp/7/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/71/8/8/8/PPPPPPPP/RNBQKBNRR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/7N/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPP1/RNBQKBNP w KQkq - 0 1",
    ]
    .map(str::to_string);
    // No piece, another's piece, own piece, no square, no letter, a letter too many, two letters, no
    // rook to castle with, nothing.
    let moves = ["e4e5", "e7e5", "a1a2", "e2e9", "e2", "e2e4q", "e2e4qq", "e1c1", "0000"];
    let moves = moves.map(|m| format!("{start} moves g1f3 g8f6 {m}"));
    let lines = [&fens[..], &moves].concat();
    for line in program.toolchain.some(&lines, 3) {
        let input = format!("{start}\r\n{line}\n{start}\n");
        let (said, printed) = program.failure(&["eval"], &input);
        let begins = ["line 2: ", "line 2 is "].iter().any(|begin| said.starts_with(begin));
        assert!(begins, "{line}: {said}");
        assert_eq!(printed.lines().count(), 1, "{line}: {printed}");
    }
}

/// A golden number that is off by one is noticed, and the strangest of names does no harm.
fn wrong_golden_fails(toolchain: &'static Toolchain) {
    let net = random_net(Views::Perspective, Activation::SCReLU, 100, 7);
    let right = golden::evaluations(&net);
    let mut golden = right.clone();
    golden[11].cp += 1;
    let name = strange_name(toolchain.language);
    let program = toolchain.build(&Build {
        net: &net,
        net_file: name,
        golden: &golden,
        optimised: false,
        embed: true,
    });
    let (said, _) = program.failure(&["selftest"], "");
    let Golden { fen, cp } = &golden[11];
    assert!(said.contains(&format!("{fen} is {} centipawns, expected {cp}", cp - 1)), "{said}");
    let start = [(right[0].fen.clone(), right[0].cp)];
    program.agrees(&[], [&start, &[]]);
    program.agrees(&[name], [&start, &[]]);
}

/// Line ends, ends of literals, stars, trigraphs, formats, variables: as far as `language`
/// takes them.
fn strange_name(language: Language) -> &'static str {
    match language {
        Language::Go => "a net {0} %d $HOME !#&()+,-=@]^_~ é中.bin",
        _ => r#"a "net" *é?? {0} %d $HOME \u000a \n 中 \"#,
    }
}

#[test]
fn rust() {
    check(Language::Rust);
}

#[test]
fn c() {
    check(Language::C);
}

#[test]
fn cpp() {
    check(Language::Cpp);
}

#[test]
fn csharp() {
    check(Language::CSharp);
}

#[test]
fn java() {
    check(Language::Java);
}

#[test]
fn go() {
    check(Language::Go);
}

/// The variants take every way through the templates that the numbers of a net decide.
#[test]
fn variants_need_all_widths() {
    let proofs: Vec<_> =
        VARIANTS.iter().map(|case| (prove(&case.net).unwrap(), case.net.architecture())).collect();
    for way in [false, true] {
        let screlu = |architecture: &Architecture| architecture.activation == Activation::SCReLU;
        assert!(proofs.iter().any(|(proof, a)| screlu(a) && proof.i16_trick == way));
        assert!(proofs.iter().any(|(proof, _)| proof.product_fits_i32 == way));
    }
    for hidden in [9, 16] {
        for activation in Activation::ALL {
            let is = |a: &Architecture| a.hidden == hidden && a.activation == activation;
            assert!(proofs.iter().any(|(_, a)| is(a)), "{hidden} {activation:?}");
        }
    }
}

/// Too large either way, and no number at all: code for engines must be of the same mind.
#[test]
fn kinds_leave_the_numbers_of_engines() {
    let [.., large, none] = &KINDS[..] else { unreachable!("there are many") };
    for (case, number) in [(large, i32::MAX), (large, i32::MIN), (none, i32::MAX), (none, 0)] {
        let found = case.positions.iter().filter(|(_, centipawns)| *centipawns == number).count();
        assert!(found > 100, "{number} is said {found} times");
    }
    for position in playouts::positions(200, 3) {
        for case in KINDS.iter() {
            let (fast, slow) = (case.net.evaluate(&position), case.net.evaluate_slowly(&position));
            assert_eq!(fast, slow, "{} at {}", case.net.architecture(), position.fen());
        }
    }
}

#[test]
fn games_have_every_kind_of_move() {
    let kinds = GAMES.iter().map(|game| game.kinds);
    let kinds = kinds.fold(playouts::Kinds::default(), playouts::Kinds::plus);
    assert!(kinds.captures > 1000 && kinds.capturing_promotions > 50, "{kinds:?}");
    assert!(kinds.castles > 50 && kinds.castles_960 > 50 && kinds.en_passants > 50, "{kinds:?}");
    assert!(kinds.promotions.iter().all(|&count| count > 50), "{kinds:?}");
}

#[test]
fn every_language_has_its_own_name_and_template() {
    for language in Language::ALL {
        assert_eq!(Language::named(language.name()), Some(language));
        for Case { net, .. } in VARIANTS.iter() {
            is_neat(language, net);
        }
    }
    assert_eq!(Language::named("cobol"), None);
}

fn is_neat(language: Language, net: &Net) {
    let names = ["net.bin", language.file_name()];
    let source = snippet(language, net, names, &golden::evaluations(net)).unwrap();
    assert!(source.contains(&net.architecture().to_string()), "{source}");
    assert!(!source.contains("{%") && !source.contains("\n\n\n"), "{source}");
    for line in source.lines() {
        assert!(line.len() <= 100 && line == line.trim_end(), "{}: {line}", language.name());
    }
    assert!(source.ends_with('\n') && !source.ends_with("\n\n"));
}

/// All ways through the templates, whatever has to be in which of them.
#[test]
fn every_net_has_code_where_its_numbers_are_known() {
    for net in (0..40).map(|seed| drawn::net(seed, 6)) {
        for head_format in HeadFormat::ALL {
            let bytes = head_format == HeadFormat::Int8;
            if bytes && (!net.is_deep() || net.activation == Activation::ReLU) {
                continue;
            }
            let net = random(&net, Scales { head_format, ..Scales::default() }, 100, 5);
            for language in Language::ALL {
                if !net.architecture().is_deep() || language.takes_floats() {
                    is_neat(language, &net);
                    continue;
                }
                let names = ["net.bin", language.file_name()];
                let error = snippet(language, &net, names, &[]).unwrap_err();
                assert!(matches!(error, SnippetError::Floats { .. }), "{error}");
                let said = error.to_string();
                assert!(said.contains(language.name()), "{said}");
                assert!(said.ends_with("take rust, c or cpp") && said.lines().count() == 1);
            }
        }
    }
}

/// What nets without anything new need is what they had: SHA-256 of the code of version 0.1 for its
/// net, without the number of the version.
#[test]
fn the_code_of_simple_nets_stays() {
    let net = &QUICKSTART.net;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/nets/quickstart-32.bin");
    let loaded = load(Path::new(path), &Default::default()).unwrap();
    let golden = loaded.manifest.unwrap().golden;
    for (language, sha256) in [
        (Language::Rust, "3b1eae7d04c5674dc56e820bdf81054fabefa0aaaea4c33213693edbcc806254"),
        (Language::C, "179679954ea579491c856a9f16d7cbb1292d3d0235f757e51caf9453c394c276"),
        (Language::Cpp, "dedf129c697e7ee3f712970b48e2f94afb81b50abe6094e8a27f6cc498b15495"),
        (Language::CSharp, "65a41f84a9753328161d4e92ccaecc007ff49d1202bafc9a091fddb1ee1053b3"),
        (Language::Java, "dd32e9d0265f1cfda5ddec7e847290087c636ab8cd9e6723a48d6d2810c9d6a8"),
        (Language::Go, "faed7489b692934a456532ee3461e6785f9c073089727aff3a250cda035d3414"),
    ] {
        let names = ["quickstart-32.bin", language.file_name()];
        let code = snippet(language, net, names, &golden).unwrap();
        let version = concat!("nnuance ", env!("CARGO_PKG_VERSION"));
        let code = code.replacen(version, "nnuance", 1);
        assert_eq!(digest(code.as_bytes()), sha256, "{}", language.name());
    }
}

#[test]
fn a_net_that_may_overflow_gets_no_code() {
    let net = |weight: i16, output: i16, scales| {
        let architecture = Architecture::simple(Views::Plain, 1, Activation::ReLU);
        Net::new(architecture, scales, vec![weight; 768], vec![0], vec![output], vec![0]).unwrap()
    };
    let error = |net: &Net| snippet(Language::C, net, ["net.bin", "nnue.c"], &[]).unwrap_err();
    let default = Scales::default();
    assert!(matches!(error(&net(2000, 1, default)), SnippetError::Overflow(_)));
    let one = Scales { qa: 1, qb: 1, scale: 32_000, ..default };
    assert!(matches!(error(&net(900, 30, one)), SnippetError::Centipawns(_)));
}

#[test]
fn go_takes_no_net_that_it_cannot_embed() {
    let net = &QUICKSTART.net;
    let code = |language, name: &str| snippet(language, net, [name, language.file_name()], &[]);
    let with = "\"*?\\:|<>`';[/\n\0\x7f².".chars().map(|letter| format!("a{letter}"));
    let others = ["", "-a", " a", "~a", "CON.bin", "lpt9", ".git"].map(str::to_string);
    for name in with.chain(others) {
        let error = code(Language::Go, &name).unwrap_err();
        assert!(matches!(error, SnippetError::GoName { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains(&format!("{name:?}")) && said.contains("rename the net"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(code(Language::C, &name).is_ok());
    }
    let names = [strange_name(Language::Go), ".a", "_a", "a ", "é", "a..b", "con1.bin", "com0"];
    for name in names {
        assert!(code(Language::Go, name).is_ok(), "{name}");
    }
}

/// The head names the file that the code is in; a name that shells would not take stays out of it.
#[test]
fn the_code_tells_how_its_own_file_is_compiled() {
    let net = &QUICKSTART.net;
    for (language, line) in [
        (Language::Rust, "rustc --edition 2024 -O eval.x -o nnue  add"),
        (Language::C, "gcc -O3 -std=c11 eval.x -o nnue      add"),
        (Language::Cpp, "g++ -O3 -std=c++17 eval.x -o nnue    add"),
        (Language::CSharp, "mcs -optimize -out:Nnue.exe eval.x   or csc"),
        (Language::Go, "go build -o nnue eval.x              or go run eval.x;"),
    ] {
        let code = |name: &str| snippet(language, net, ["net.bin", name], &[]).unwrap();
        assert!(code("eval.x").contains(line), "{line}: {}", &code("eval.x")[..400]);
        let usual = code(language.file_name());
        for odd in ["a b.x", "-x.c", "a;b.c", "", "*/.c"] {
            assert_eq!(code(odd), usual, "{odd}");
        }
    }
}
