//! The code for engines, compiled and compared with this program's own evaluation. A language whose
//! compiler is absent is skipped.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::LazyLock;

use nnuance::architecture::{
    Activation, Architecture, Inputs, Kings, Layer, LayerActivation, Views,
};
use nnuance::export::snippet::{Language, SnippetError, snippet};
use nnuance::export::{Golden, golden, load, prove};
use nnuance::net::{Net, Number, Numbers, stored};
use nnuance::sample::Position;
use nnuance::scales::{HeadFormat, Scales};
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use tempfile::TempDir;

use crate::drawn::{Drawn, TWENTY};
use crate::playouts::{GAMES, Game};
use crate::{drawn, need, playouts};

/// A program made of the code for a net, or for several, and what it says.
struct Program {
    folder: TempDir,
    /// Language and architecture.
    about: String,
}

/// How the code becomes a program.
#[derive(Clone, Copy, PartialEq)]
enum Build {
    Quick,
    /// Also with the net in it, which Rust always has.
    Full,
}

impl Program {
    fn new(language: Language, net: &Net, net_file: &str, golden: &[Golden], build: Build) -> Self {
        let folder = TempDir::new().unwrap();
        let code = snippet(language, net, [net_file, language.file_name()], golden).unwrap();
        fs::write(folder.path().join(language.file_name()), code).unwrap();
        fs::write(folder.path().join(net_file), net.to_bytes()).unwrap();
        let program = Program { folder, about: format!("{language:?}, {}", net.architecture()) };
        program.compile(language, build);
        program
    }

    fn of(language: Language, case: &Case, build: Build) -> Self {
        Self::new(language, &case.net, "net.bin", &golden::evaluations(&case.net), build)
    }

    /// One Rust program for several nets, which takes less time to compile than one for each: each
    /// is a module, asked for by the name of its file.
    fn of_modules(cases: &[Case]) -> Self {
        let folder = TempDir::new().unwrap();
        let (mut modules, mut arms) = (String::new(), String::new());
        for (i, Case { net, .. }) in cases.iter().enumerate() {
            let file = net_file(i);
            let names = [&file[..], "nnue.rs"];
            let code = snippet(Language::Rust, net, names, &golden::evaluations(net)).unwrap();
            let code = code.replacen("\nfn main()", "\npub fn main()", 1);
            fs::write(folder.path().join(format!("net{i}.part")), code).unwrap();
            fs::write(folder.path().join(&file), net.to_bytes()).unwrap();
            writeln!(modules, "#[path = \"net{i}.part\"]\nmod net{i};").unwrap();
            writeln!(arms, "Some({file:?}) => net{i}::main(),").unwrap();
        }
        let main = format!(
            "{modules}fn main() -> std::process::ExitCode {{\n\
             match std::env::args().nth(2).as_deref() {{\n\
             {arms}other => panic!(\"no net is {{other:?}}\"),\n}}\n}}\n"
        );
        fs::write(folder.path().join("nnue.rs"), main).unwrap();
        let program = Program { folder, about: "several nets in Rust".to_string() };
        program.compile(Language::Rust, Build::Quick);
        program
    }

    /// Without a warning; `-Wc++-compat` finds what C++ does not take.
    fn compile(&self, language: Language, build: Build) {
        let words = match language {
            Language::Rust => "rustc --edition 2024 -D warnings nnue.rs",
            Language::C => {
                "gcc -std=c11 -Wall -Wextra -Wpedantic -Wc++-compat -Werror -ffp-contract=off \
                 -DNNUE_TEST -x c nnue.h -o nnue"
            }
        };
        // Quick programs in Rust look for overflows, too.
        let full = match (language, build) {
            (_, Build::Quick) => "",
            (Language::Rust, Build::Full) => "-O -C overflow-checks=on",
            (Language::C, Build::Full) => "-O3 -DNNUE_EMBED",
        };
        let words: Vec<&str> = words.split(' ').chain(full.split_whitespace()).collect();
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).current_dir(self.folder()).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", self.about);
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let path = self.folder().join("input.txt");
        fs::write(&path, input).unwrap();
        let mut command = Command::new("./nnue");
        let command = command.current_dir(self.folder()).args(arguments);
        command.stdin(File::open(path).unwrap()).output().unwrap()
    }

    /// What it prints when all goes well.
    fn success(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        assert_eq!(text(&output.stderr), "", "{}", self.about);
        assert!(output.status.success(), "{}: {}", self.about, output.status);
        text(&output.stdout)
    }

    /// What it says, in one line, when it fails with exit code 1; and what it printed before.
    fn failure(&self, arguments: &[&str], input: &str) -> (String, String) {
        let output = self.run(arguments, input);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", self.about);
        assert_eq!(said.lines().count(), 1, "{}: {said}", self.about);
        (said, text(&output.stdout))
    }

    /// `arguments` begin with `selftest`, or are none.
    fn selftest(&self, arguments: &[&str]) {
        assert_eq!(self.success(arguments, "").trim_end(), "ok, 16 positions", "{}", self.about);
    }

    /// It must find the centipawns that stand beside the lines.
    fn agrees(&self, arguments: &[&str], parts: [&[(String, i32)]; 2]) {
        let cases = parts.concat();
        let lines: Vec<&str> = cases.iter().map(|(line, _)| line.as_str()).collect();
        // The last line needs no end.
        let said = self.success(&[&["eval"], arguments].concat(), &lines.join("\n"));
        let found: Vec<i32> = said.lines().map(|number| number.parse().unwrap()).collect();
        assert_eq!(found.len(), cases.len(), "{}", self.about);
        for ((line, expected), found) in cases.iter().zip(found) {
            assert_eq!(found, *expected, "{}: {line}", self.about);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn net_file(i: usize) -> String {
    format!("{i}.bin")
}

/// All that a language's code must do, to the bit also where there are floats: they are added up in
/// the same order. After each move of the games the programs compare their accumulators with new
/// ones.
fn check(language: Language) {
    for (cases, build) in [(&VARIANTS, Build::Quick), (&KINDS, Build::Full)] {
        for case in cases.iter() {
            let program = Program::of(language, case, build);
            program.selftest(&["selftest"]);
            program.agrees(&[], [&case.positions, &case.games]);
        }
    }
    for cases in DRAWN.chunks(12) {
        let modules = (language == Language::Rust).then(|| Program::of_modules(cases));
        for (i, case) in cases.iter().enumerate() {
            let file = net_file(i);
            let alone;
            let (program, file) = match &modules {
                Some(program) => (program, &[&file[..]][..]),
                None => {
                    alone = Program::of(language, case, Build::Quick);
                    (&alone, &[][..])
                }
            };
            program.selftest(&[&["selftest"], file].concat());
            program.agrees(file, [&case.positions, &case.games]);
        }
    }
    quickstart_agrees(language);
    wrong_golden_fails(language);
}

fn quickstart_agrees(language: Language) {
    let case = &*QUICKSTART;
    let program = Program::of(language, case, Build::Full);
    let folder = program.folder();
    fs::rename(folder.join("net.bin"), folder.join("elsewhere.bin")).unwrap();
    // From the program: the self-test is also what it does without being asked.
    program.selftest(&["selftest"]);
    program.selftest(&[]);
    program.agrees(&[], [&case.positions, &case.games]);
    // From the disk.
    program.selftest(&["selftest", "elsewhere.bin"]);
    program.agrees(&["elsewhere.bin"], [&case.positions[..100], &case.games[..10]]);
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
    for line in lines {
        let input = format!("{start}\r\n{line}\n{start}\n");
        let (said, printed) = program.failure(&["eval"], &input);
        let begins = ["line 2: ", "line 2 is "].iter().any(|begin| said.starts_with(begin));
        assert!(begins, "{line}: {said}");
        assert_eq!(printed.lines().count(), 1, "{line}: {printed}");
    }
}

/// A golden number that is off by one is noticed, and the strangest of names does no harm: line
/// ends, ends of literals, stars, trigraphs, formats, variables.
fn wrong_golden_fails(language: Language) {
    let net = random_net(Views::Perspective, Activation::SCReLU, 100, 7);
    let right = golden::evaluations(&net);
    let mut golden = right.clone();
    golden[11].cp += 1;
    let name = r#"a "net" *é?? {0} %d $HOME \u000a \n 中 \"#;
    let program = Program::new(language, &net, name, &golden, Build::Full);
    let (said, _) = program.failure(&["selftest"], "");
    let Golden { fen, cp } = &golden[11];
    assert!(said.contains(&format!("{fen} is {} centipawns, expected {cp}", cp - 1)), "{said}");
    let start = [(right[0].fen.clone(), right[0].cp)];
    program.agrees(&[], [&start, &[]]);
    program.agrees(&[name], [&start, &[]]);
}

#[test]
fn rust() {
    if need::tool("rustc", "--version") {
        check(Language::Rust);
    }
}

#[test]
fn c() {
    if need::tool("gcc", "--version") {
        check(Language::C);
    }
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

/// All ways through the templates.
#[test]
fn every_net_has_neat_code() {
    let drawn = (0..40).map(|seed| drawn::net(seed, 6)).flat_map(|net| {
        let deep = net.is_deep() && net.activation != Activation::ReLU;
        HeadFormat::ALL.into_iter().filter(move |&head| deep || head == HeadFormat::Float).map(
            move |head_format| random(&net, Scales { head_format, ..Scales::default() }, 100, 5),
        )
    });
    for net in VARIANTS.iter().map(|case| case.net.clone()).chain(drawn) {
        for language in Language::ALL {
            assert_eq!(Language::named(language.name()), Some(language));
            let code = |name: &str| {
                snippet(language, &net, ["net.bin", name], &golden::evaluations(&net)).unwrap()
            };
            let source = code(language.file_name());
            assert!(source.contains(&net.architecture().to_string()), "{source}");
            assert!(!source.contains("{%") && !source.contains("\n\n\n"), "{source}");
            for line in source.lines() {
                assert!(line.len() <= 100 && line == line.trim_end(), "{language:?}: {line}");
            }
            assert!(source.ends_with('\n') && !source.ends_with("\n\n"));
            assert!(code("eval.x").contains(" eval.x -o nnue"));
            // Shells would not take it.
            assert_eq!(code("a;b.c"), source);
        }
    }
}

#[test]
fn a_net_that_may_overflow_gets_no_code() {
    let net = |weight: i16, output: i16, scales| {
        let architecture = Architecture::simple(Views::Plain, 1, Activation::ReLU);
        Net::new(architecture, scales, vec![weight; 768], vec![0], vec![output], vec![0]).unwrap()
    };
    let error = |net: &Net| snippet(Language::C, net, ["net.bin", "nnue.h"], &[]).unwrap_err();
    let default = Scales::default();
    assert!(matches!(error(&net(2000, 1, default)), SnippetError::Overflow(_)));
    let one = Scales { qa: 1, qb: 1, scale: 32_000, ..default };
    assert!(matches!(error(&net(900, 30, one)), SnippetError::Centipawns(_)));
}

/// A net with lines for `eval`, and the centipawns that belong to them.
struct Case {
    net: Net,
    /// A FEN each.
    positions: Vec<(String, i32)>,
    /// A FEN each with moves behind it; the centipawns are those after the last.
    games: Vec<(String, i32)>,
}

/// One for each view with each activation, without anything else.
static VARIANTS: LazyLock<Vec<Case>> = LazyLock::new(|| cases(variants(), (1000, 1), 100));

/// Nets that have something of everything else.
static KINDS: LazyLock<Vec<Case>> = LazyLock::new(|| cases(kinds(), (10_000, 3), 1000));

/// Those of 20 drawn architectures.
static DRAWN: LazyLock<Vec<Case>> = LazyLock::new(drawn);

/// The net that comes with the program.
static QUICKSTART: LazyLock<Case> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/quickstart-32.bin");
    let net = load(&path, &Default::default()).unwrap().net;
    cases(vec![net], (10_000, 3), 1000).remove(0)
});

/// Each with the same lines: so many positions, from a seed, and so many games.
fn cases(nets: Vec<Net>, (positions, seed): (usize, u64), games: usize) -> Vec<Case> {
    let positions = playouts::positions(positions, seed);
    nets.into_iter().map(|net| case(net, &positions, &GAMES[..games])).collect()
}

fn case<'a>(net: Net, positions: &[Position], games: impl IntoIterator<Item = &'a Game>) -> Case {
    let positions = positions.iter().map(|position| (position.fen(), net.evaluate(position)));
    let games = games.into_iter().map(|game| (game.line(), net.evaluate(game.last())));
    Case { positions: positions.collect(), games: games.collect(), net }
}

/// Each architecture has its part of the games, and its nets share them.
fn drawn() -> Vec<Case> {
    let positions = playouts::positions(200, 5);
    let mut cases = Vec::new();
    for (i, Drawn { nets, .. }) in TWENTY.iter().enumerate() {
        for (first, net) in nets.iter().enumerate() {
            let games = playouts::part(i).skip(first).step_by(nets.len());
            cases.push(case(net.clone(), &positions, games));
        }
    }
    cases
}

/// Small and large weights, odd and even sizes.
fn variants() -> Vec<Net> {
    let combinations = Views::ALL
        .into_iter()
        .flat_map(|views| Activation::ALL.map(|activation| (views, activation)));
    combinations
        .enumerate()
        .map(|(i, (views, activation))| {
            let most = [100, 2000][(i / 2) % 2];
            random_net(views, activation, most, (i + i / 3) as u64)
        })
        .collect()
}

/// Mirrored views, king buckets, output buckets, products, more layers, a skip neuron.
fn kinds() -> Vec<Net> {
    use Activation::{CReLU, ReLU, SCReLU};
    use LayerActivation as Layered;
    let four: Vec<u8> = (0..32).map(|square| (square / 4 + square % 4) % 4).collect();
    let four = Kings::new(true, &four).unwrap();
    let three: Vec<u8> = (0..64).map(|square| (square / 8 + square % 8) % 3).collect();
    let three = Kings::new(false, &three).unwrap();
    let net = |views, kings, activation, buckets| {
        let inputs = Inputs { kings, ..Inputs::of(views) };
        Architecture { inputs, buckets, ..Architecture::simple(views, 18, activation) }
    };
    let head = |layers: &[(usize, Layered)]| -> Vec<Layer> {
        layers.iter().map(|&(size, activation)| Layer { size, activation }).collect()
    };
    let (mirrored, none) = (Kings::MIRRORED, Kings::NONE);
    let [white, own, both] = [Views::Plain, Views::SideToMove, Views::Perspective];
    let nets = [
        // Integers.
        (net(both, mirrored, SCReLU, 1), HeadFormat::Float),
        (net(both, four, CReLU, 8), HeadFormat::Float),
        (net(own, three, ReLU, 5), HeadFormat::Float),
        (net(white, none, SCReLU, 8), HeadFormat::Float),
        // Floats, some of them with bytes first.
        (
            Architecture {
                pairwise: true,
                head: head(&[(7, Layered::Dual), (9, Layered::SCReLU)]),
                skip: true,
                ..net(both, four, CReLU, 8)
            },
            HeadFormat::Int8,
        ),
        (
            Architecture {
                head: head(&[(8, Layered::CReLU), (5, Layered::ReLU)]),
                ..net(both, mirrored, SCReLU, 1)
            },
            HeadFormat::Float,
        ),
        (
            Architecture {
                head: head(&[(6, Layered::Dual)]),
                skip: true,
                ..net(white, none, ReLU, 2)
            },
            HeadFormat::Float,
        ),
        (Architecture { pairwise: true, ..net(own, three, CReLU, 32) }, HeadFormat::Float),
        (
            Architecture { head: head(&[(4, Layered::SCReLU)]), ..net(both, none, SCReLU, 1) },
            HeadFormat::Int8,
        ),
    ];
    let nets = nets.into_iter().enumerate().map(|(i, (net, head_format))| {
        // With so small a QA, bytes are shifted by less.
        let qa = if i == 8 { 127 } else { 255 };
        random(&net, Scales { qa, head_format, ..Scales::default() }, 100, i as u64)
    });
    nets.chain([[0, 0, 10], [30, 9, 0]].map(extreme)).collect()
}

/// A net for White whose maps are so many powers of ten larger than others: what comes out is no
/// number of 32 bits, or none at all.
fn extreme(powers: [i32; 3]) -> Net {
    let head = [3, 4].map(|size| Layer { size, activation: LayerActivation::ReLU });
    let architecture = Architecture {
        head: head.into(),
        ..Architecture::simple(Views::Plain, 12, Activation::CReLU)
    };
    let net = random(&architecture, Scales::default(), 100, 9);
    let mut numbers = net.numbers().to_vec();
    for (map, power) in numbers[2..].chunks_exact_mut(2).zip(powers) {
        for numbers in map {
            let Numbers::F32(values) = numbers else { unreachable!("its maps are floats") };
            values.iter_mut().for_each(|value| *value *= 10_f32.powi(power));
        }
    }
    Net::of(&architecture, Scales::default(), numbers).unwrap()
}

/// Random weights of which no legal position lets anything overflow. Output weights go up to
/// `most`: 127 times QA still fits an i16.
fn random_net(views: Views, activation: Activation, most: i16, seed: u64) -> Net {
    let hidden = if seed.is_multiple_of(3) { 9 } else { 16 };
    random(&Architecture::simple(views, hidden, activation), Scales::default(), most, seed)
}

/// The same for every net. Floats are large enough for all parts of their activations.
fn random(net: &Architecture, scales: Scales, most: i16, seed: u64) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let largest = [120, 200, most, 5000];
    let arrays = stored(net, scales.head_format).into_iter().enumerate();
    let numbers = arrays.map(|(i, stored)| {
        let each = 0..stored.array.len();
        match stored.number {
            Number::I8 => Numbers::I8(each.map(|_| random.random_range(-127..=127)).collect()),
            Number::I16 => {
                let most = largest[i];
                Numbers::I16(each.map(|_| random.random_range(-most..=most)).collect())
            }
            Number::F32 => {
                let most = 3.0 / (stored.array.fan_in as f32).sqrt();
                Numbers::F32(each.map(|_| random.random_range(-most..=most)).collect())
            }
        }
    });
    let numbers = numbers.collect();
    Net::of(net, scales, numbers).unwrap()
}
