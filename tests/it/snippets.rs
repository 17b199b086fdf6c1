//! Engine code, compiled and compared with this program's own evaluation.

use std::fmt::Write as _;

use nnuance::architecture::{ArrayKind, Inputs, Integer};
use nnuance::export::snippet::{Language, SnippetError, snippet};
use nnuance::export::{Golden, golden_evaluations, load};
use nnuance::features::{self, Set};
use nnuance::net::{Number, Numbers, stored};
use nnuance::sample::Piece;

use crate::drawn::{Drawn, TWENTY};
use crate::kit::*;
use crate::net::integers;
use crate::own_set::AttackKinds;
use crate::playouts::{GAMES, Game};

struct Program {
    folder: TempDir,
    about: String,
}

/// Reads lines `FEN;CHANGES;FEN;CHANGES;FEN`, where changes are `mPIECE COLOUR FROM TO,...`; prints
/// the evaluation of the last position, after checks of the accumulator after each move.
const HARNESS_C: &str = r#"
#define NNUE_TEST
#define main selftest
#include "nnue.h"
#undef main

int main(int argc, char **argv) {
    static char line[1 << 20];
    if (selftest(argc, argv)) return 1;
    while (fgets(line, sizeof line, stdin)) {
        int8_t piece[64], colour[64];
        int p, c, from, to, used, side = parse(strtok(line, ";\n"), piece, colour);
        NnueAccumulator acc, fresh;
        nnue_refresh(&acc, piece, colour);
        for (char *word; (word = strtok(NULL, ";\n"));) {
            for (word++; sscanf(word, "%d %d %d %d,%n", &p, &c, &from, &to, &used) == 4; word += used)
                nnue_move(&acc, p, c, from, to);
            side = parse(strtok(NULL, ";\n"), piece, colour);
            FINISH
            nnue_refresh(&fresh, piece, colour);
            if (memcmp(acc.view, fresh.view, sizeof acc.view) != 0) return 2;
        }
        int men = 0;
        for (int square = 0; square < 64; square++) men += piece[square] >= 0;
        printf("%d\n", nnue_evaluate(&acc, side, MEN));
        (void)men;
    }
    return 0;
}
"#;

const HARNESS_RUST: &str = r#"
pub fn harness() {
    use Piece::*;
    let net = Network::embedded().unwrap();
    selftest(&net).unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let mut parts = line.split(';');
        let (mut men, mut side) = parse(parts.next().unwrap());
        let mut acc = Accumulator::refresh(&net, men.iter().copied());
        while let (Some(changes), Some(fen)) = (parts.next(), parts.next()) {
            for change in changes[1..].split_terminator(',') {
                let n: Vec<i32> = change.split(' ').map(|n| n.parse().unwrap()).collect();
                let piece = [Pawn, Knight, Bishop, Rook, Queen, King][n[0] as usize];
                let colour = if n[1] == 0 { Colour::White } else { Colour::Black };
                acc.shift(&net, piece, colour, n[2].try_into().ok(), n[3].try_into().ok());
            }
            (men, side) = parse(fen);
            FINISH
            assert!(acc == Accumulator::refresh(&net, men.iter().copied()));
        }
        println!("{}", acc.evaluate(&net, side, MEN));
    }
}
"#;

fn harness(language: Language, net: &Architecture) -> String {
    let (harness, moved, unmoved) = match language {
        Language::C => (HARNESS_C, "nnue_move(&acc, p, c, from, to)", ""),
        Language::Rust => (
            HARNESS_RUST,
            "acc.shift(&net, piece, colour, n[2].try_into().ok(), n[3].try_into().ok())",
            "_ = (piece, colour)",
        ),
    };
    assert!(harness.contains(moved));
    // Changes of sets by a move are found on the board after it.
    let is_moved = net.inputs.is_pieces();
    let harness = if is_moved { harness.into() } else { harness.replace(moved, unmoved) };
    let finish = match (is_moved, language) {
        (true, _) if !net.inputs.kings().has_effect() => "",
        (true, Language::C) => "nnue_finish(&acc, piece, colour);",
        (true, Language::Rust) => "acc.finish(&net, men.iter().copied());",
        (false, Language::C) => "nnue_update(&acc, piece, colour);",
        (false, Language::Rust) => "acc.update(&net, men.iter().copied());",
    };
    let men = match language {
        _ if net.buckets == 1 => "",
        Language::C => ", men",
        Language::Rust => ", men.len()",
    };
    harness.replace("FINISH", finish).replace(", MEN", men)
}

impl Program {
    fn alone(language: Language, net: &Net, net_file: &str, golden: &[Golden]) -> Self {
        let program = Self::new(language, net);
        let code = snippet(language, net, [net_file, language.file_name()], golden).unwrap();
        program.write(language.file_name(), &code);
        fs::write(program.folder().join(net_file), net.to_bytes()).unwrap();
        program.compile(match language {
            Language::Rust => "rustc --edition 2024 -D warnings -O nnue.rs",
            Language::C => "gcc -std=c11 -O3 -DNNUE_TEST -DNNUE_EMBED -x c nnue.h -o nnue",
        });
        program
    }

    /// A harness around the code of several nets in Rust, or of one in C, which has no namespaces.
    fn harnessed(language: Language, cases: &[Case], optimised: bool) -> Self {
        let program = Self::new(language, &cases[0].net);
        let (mut modules, mut arms) = (String::new(), String::new());
        for (i, Case { net, .. }) in cases.iter().enumerate() {
            let file = format!("{i}.bin");
            let code = snippet(language, net, [&file, "nnue"], &golden_evaluations(net)).unwrap();
            fs::write(program.folder().join(&file), net.to_bytes()).unwrap();
            let harness = harness(language, net.architecture());
            match language {
                Language::C => {
                    program.write("nnue.h", &code);
                    program.write("main.c", &harness);
                }
                Language::Rust => {
                    let code = code.replacen("\nfn main()", "\npub fn main()", 1);
                    program.write(&format!("net{i}.rs"), &(code + &harness));
                    writeln!(modules, "pub mod net{i};").unwrap();
                    writeln!(arms, "Some(\"{i}\") => net{i}::harness(),").unwrap();
                }
            }
        }
        if language == Language::Rust {
            let main = format!(
                "{modules}fn main() {{\nmatch std::env::args().nth(1).as_deref() {{\n{arms}\
                 _ => panic!(),\n}}\n}}\n"
            );
            program.write("nnue.rs", &main);
        }
        program.compile(match (language, optimised) {
            // Fast programs in Rust check for overflow, too.
            (Language::Rust, false) => "rustc --edition 2024 -D warnings nnue.rs",
            (Language::Rust, true) => {
                "rustc --edition 2024 -D warnings -O -C overflow-checks=on nnue.rs"
            }
            (Language::C, false) => "gcc -std=c11 main.c -o nnue",
            (Language::C, true) => "gcc -std=c11 -O3 main.c -o nnue",
        });
        program
    }

    fn new(language: Language, net: &Net) -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder, about: format!("{language:?}, {}", net.architecture()) }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder().join(name), text).unwrap();
    }

    /// Compiles without a warning; `-Wc++-compat` finds what C++ does not accept.
    fn compile(&self, command: &str) {
        let strict = "-Wall -Wextra -Wpedantic -Wc++-compat -Werror -ffp-contract=off";
        let strict = if command.starts_with("gcc") { strict } else { "" };
        let words: Vec<&str> = command.split(' ').chain(strict.split_whitespace()).collect();
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).current_dir(self.folder()).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", self.about);
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        self.write("input.txt", input);
        let input = File::open(self.folder().join("input.txt")).unwrap();
        let mut command = Command::new("./nnue");
        command.current_dir(self.folder()).args(arguments).stdin(input).output().unwrap()
    }

    fn selftest(&self, arguments: &[&str]) {
        let output = self.run(arguments, "");
        assert_eq!(text(&output.stderr), "", "{}", self.about);
        assert_eq!(text(&output.stdout).trim_end(), "ok, 16 positions", "{}", self.about);
    }

    fn failure(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, "");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", self.about);
        assert_eq!(said.lines().count(), 1, "{}: {said}", self.about);
        said
    }

    /// The lines' centipawns must be found, to the bit also with floats.
    fn agrees(&self, i: usize, lines: &[(String, i32)]) {
        let input: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
        let arguments: &[&str] = if self.about.starts_with("C") { &[] } else { &[&i.to_string()] };
        let output = self.run(arguments, &input.join("\n"));
        let status = (output.status, text(&output.stderr));
        assert!(output.status.success(), "{}, {i}: {status:?}", self.about);
        let said = text(&output.stdout);
        let found = said.strip_prefix("ok, 16 positions\n").unwrap();
        let found: Vec<i32> = found.lines().map(|number| number.parse().unwrap()).collect();
        assert_eq!(found.len(), lines.len(), "{}", self.about);
        for ((line, expected), found) in lines.iter().zip(found) {
            assert_eq!(found, *expected, "{}: {line}", self.about);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn check(language: Language) {
    let together = if language == Language::C { 1 } else { 12 };
    for cases in [&EXTREMES, &DRAWN] {
        for (i, cases) in cases.chunks(together).enumerate() {
            let program = Program::harnessed(language, cases, i % 3 == 0);
            for (i, case) in cases.iter().enumerate() {
                program.agrees(i, &case.lines);
            }
        }
    }
    for (i, case) in SETS.iter().enumerate() {
        let case = std::slice::from_ref(case);
        Program::harnessed(language, case, i == 0).agrees(0, &case[0].lines);
    }
    let net = &SETS[0].net;
    Program::alone(language, net, "net.bin", &golden_evaluations(net)).selftest(&[]);
    quickstart_agrees(language);
    wrong_golden_fails(language);
}

fn quickstart_agrees(language: Language) {
    let case = std::slice::from_ref(&*QUICKSTART);
    Program::harnessed(language, case, true).agrees(0, &case[0].lines);
    let net = &case[0].net;
    let program = Program::alone(language, net, "net.bin", &golden_evaluations(net));
    let (folder, bytes) = (program.folder(), net.to_bytes());
    fs::rename(folder.join("net.bin"), folder.join("elsewhere.bin")).unwrap();
    // From the program, and from the disk; without padding, a net is whole.
    program.selftest(&[]);
    program.selftest(&["elsewhere.bin"]);
    fs::write(folder.join("bare.bin"), &bytes[..net.payload()]).unwrap();
    program.selftest(&["bare.bin"]);
    for size in [0, 100, bytes.len() - 64, bytes.len() + 2, 100_000] {
        let mut wrong = bytes.clone();
        wrong.resize(size, 0);
        fs::write(folder.join("wrong.bin"), &wrong).unwrap();
        program.failure(&["wrong.bin"]);
    }
    program.failure(&["absent.bin"]);
}

/// A golden number that is off by one is found, and names with special characters do no harm.
fn wrong_golden_fails(language: Language) {
    let net = Architecture::simple(Views::Perspective, 16, Activation::SCReLU);
    let net = random(&net, Scales::default(), 100, 7);
    let mut golden = golden_evaluations(&net);
    golden[11].cp += 1;
    let name = r#"a "net" *é?? {0} %d $HOME \u000a \n 中 \"#;
    let program = Program::alone(language, &net, name, &golden);
    let Golden { fen, cp } = &golden[11];
    let expected = format!("{fen} is {} centipawns, expected {cp}", cp - 1);
    for arguments in [&[][..], &[name]] {
        assert!(program.failure(arguments).contains(&expected));
    }
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

/// Too large in either direction, and NaN: engine code must give the same values.
#[test]
fn extremes_leave_the_range_of_i32() {
    let [large, none] = &EXTREMES[..] else { unreachable!("there are two") };
    for (case, number) in [(large, i32::MAX), (large, i32::MIN), (none, i32::MAX), (none, 0)] {
        let found = case.lines.iter().filter(|(_, centipawns)| *centipawns == number).count();
        assert!(found > 100, "{number} is said {found} times");
    }
}

/// Generated code for nets of every kind has no template left, no long line and no trailing space.
#[test]
fn every_net_has_neat_code() {
    let drawn = (0..40).map(|seed| drawn::net(seed, 6)).flat_map(|net| {
        let curve = net.activation.curve();
        let deep = net.is_deep() && curve.bounded;
        // Squares without an end are large.
        let most = if curve.bounded || curve.outer == 1 { 100 } else { 10 };
        HeadFormat::ALL.into_iter().filter(move |&head| deep || head == HeadFormat::Float).map(
            move |head_format| random(&net, Scales { head_format, ..Scales::default() }, most, 5),
        )
    });
    for net in drawn.chain(SETS.iter().map(|case| case.net.clone())) {
        for language in Language::ALL {
            let golden = golden_evaluations(&net);
            let source = snippet(language, &net, ["net.bin", language.file_name()], &golden);
            let source = source.unwrap();
            assert!(source.contains(&net.architecture().to_string()), "{source}");
            assert!(!source.contains("{%") && !source.contains("\n\n\n"), "{source}");
            for line in source.lines() {
                // The name of a net may be longer.
                let is_short = line.len() <= 100 || line.contains(&net.architecture().to_string());
                assert!(is_short && line == line.trim_end(), "{language:?}: {line}");
            }
            assert!(source.ends_with('\n') && !source.ends_with("\n\n"));
        }
    }
}

#[test]
fn nets_that_may_overflow_get_none() {
    let net = |weight: i16, output: i16, scales| {
        let architecture = Architecture::simple(Views::Plain, 1, Activation::ReLU);
        integers(architecture, scales, [vec![weight; 768], vec![0], vec![output], vec![0]])
    };
    let error = |net: &Net| snippet(Language::C, net, ["net.bin", "nnue.h"], &[]).unwrap_err();
    let default = Scales::default();
    assert!(matches!(error(&net(2000, 1, default)), SnippetError::Overflow(_)));
    let one = Scales { qa: 1, qb: 1, scale: 32_000, ..default };
    assert!(matches!(error(&net(900, 30, one)), SnippetError::Centipawns(_)));
}

#[test]
fn sets_without_code_are_named() {
    let inputs = Inputs::new(Views::Perspective, vec![Set::new(AttackKinds)], false);
    let simple = Architecture::simple(Views::Perspective, 2, Activation::CReLU);
    let net = random(&Architecture { inputs, ..simple }, Scales::default(), 9, 1);
    for language in Language::ALL {
        let error = snippet(language, &net, ["net.bin", "nnue.h"], &[]).unwrap_err().to_string();
        assert!(error.contains("attack-kinds"), "{error}");
    }
}

/// A net with lines for the harness, positions and games, and the centipawns at their ends.
struct Case {
    net: Net,
    lines: Vec<(String, i32)>,
}

static EXTREMES: LazyLock<Vec<Case>> =
    LazyLock::new(|| cases([[0, 0, 10], [30, 9, 0]].map(extreme).into(), (10_000, 3), 100));

static DRAWN: LazyLock<Vec<Case>> = LazyLock::new(drawn);

/// Nets of several feature sets, and of each that has code.
static SETS: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let kings = Kings::new(true, &(0..32).map(|i| i / 16).collect::<Vec<u8>>()).unwrap();
    let net = |views, names: &[&str], kings| {
        let sets = names.iter().map(|name| {
            let set = features::named(name, kings).unwrap();
            // Beside the pieces, which stay i16.
            if names.len() == 3 && *name == "pawn-pairs" { set.stored_as(Integer::I8) } else { set }
        });
        let inputs = Inputs::new(views, sets.collect(), false);
        Architecture { inputs, ..Architecture::simple(views, 16, Activation::SCReLU) }
    };
    let deep = Architecture {
        activation: Activation::CReLU,
        pairwise: true,
        head: vec![Layer::new(3, Activation::Dual)],
        buckets: 4,
        psqt: true,
        ..net(Views::Perspective, &["threats", "halfka-hm"], Kings::NONE)
    };
    let plain = net(Views::Plain, &["pieces", "threat-kinds", "attack-counts"], Kings::NONE);
    let names = features::names();
    let alone = names[1..].iter().map(|name| net(Views::Perspective, &[name], Kings::NONE));
    let alone = alone.filter(|net| net.inputs.sets()[0].source(Language::C).is_some());
    let squares: Vec<u8> = (0..32).collect();
    let squares = Kings::new(true, &squares).unwrap();
    let merged = [&["pieces"][..], &["pieces", "halfka-hm"]].map(|names| {
        let net = net(Views::Perspective, names, squares);
        Architecture { inputs: net.inputs.clone().merge_kings().unwrap(), ..net }
    });
    let some = [deep, plain].into_iter().chain(merged).chain(alone);
    let scales = |net: &Architecture| {
        let head_format = if net.is_deep() { HeadFormat::Int8 } else { HeadFormat::Float };
        Scales { head_format, ..Scales::default() }
    };
    let some = some.map(|net| random(&net, scales(&net), 100, 8)).collect();
    let all = net(Views::Perspective, &["pieces", "threats", "pawn-pairs"], kings);
    let all = random(&all, Scales::default(), 100, 7);
    let mut cases = cases(vec![all], (10_000, 3), 1000);
    cases.extend(self::cases(some, (200, 5), 50));
    cases
});

static QUICKSTART: LazyLock<Case> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/quickstart-32.bin");
    let net = load(&path).unwrap().net;
    cases(vec![net], (10_000, 3), 1000).remove(0)
});

/// Each with the same lines: numbers of positions, from a seed, and of games.
fn cases(nets: Vec<Net>, (positions, seed): (usize, u64), games: usize) -> Vec<Case> {
    let positions = playouts::positions(positions, seed);
    nets.into_iter().map(|net| case(net, &positions, &GAMES[..games])).collect()
}

fn case<'a>(net: Net, positions: &[Position], games: impl IntoIterator<Item = &'a Game>) -> Case {
    let positions = positions.iter().map(|position| (position.fen(), net.evaluate(position)));
    let games = games.into_iter().map(|game| (line(game), net.evaluate(game.last())));
    Case { lines: positions.chain(games).collect(), net }
}

/// A game for the harness: differences between consecutive boards, captured pieces first.
fn line(game: &Game) -> String {
    let mut line = game.positions[0].fen();
    for two in game.positions.windows(2) {
        let [before, after] = [&two[0], &two[1]].map(|position| -> Vec<[i32; 3]> {
            let man =
                |it: Piece| [it.role as i32 - 1, it.color.is_black().into(), it.square.into()];
            position.pieces().map(man).collect()
        });
        let gone: Vec<_> = before.iter().filter(|man| !after.contains(man)).collect();
        let mut come: Vec<_> = after.iter().filter(|man| !before.contains(man)).collect();
        line.push_str(";m");
        for [piece, colour, from] in gone {
            let moved = come.iter().position(|it| it[..2] == [*piece, *colour]);
            let to = moved.map_or(-1, |i| come.remove(i)[2]);
            write!(line, "{piece} {colour} {from} {to},").unwrap();
        }
        for [piece, colour, to] in come {
            write!(line, "{piece} {colour} -1 {to},").unwrap();
        }
        write!(line, ";{}", two[1].fen()).unwrap();
    }
    line
}

/// Each architecture has its part of the games, shared by its nets.
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

fn extreme(powers: [i32; 3]) -> Net {
    let head = [3, 4].map(|size| Layer::new(size, Activation::ReLU));
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

/// Random weights without overflow. Output weights go up to `most`: 127 times QA fits an i16. Floats
/// are large enough for all parts of their activations.
fn random(net: &Architecture, scales: Scales, most: i16, seed: u64) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rows = if net.inputs.is_pieces() { 120 } else { 12 };
    let numbers = stored(net, scales.head_format).into_iter().map(|stored| {
        let each = 0..stored.array.len();
        let most = match stored.array.part {
            ArrayKind::Rows(_) => rows,
            ArrayKind::AccumulatorBias => 200,
            ArrayKind::OutputBias => 5000,
            _ => most,
        };
        match stored.number {
            Number::I8 if matches!(stored.array.part, ArrayKind::Rows(_)) => {
                Numbers::I8(each.map(|_| random.random_range(-12..=12)).collect())
            }
            Number::I8 => Numbers::I8(each.map(|_| random.random_range(-127..=127)).collect()),
            Number::I16 => Numbers::I16(each.map(|_| random.random_range(-most..=most)).collect()),
            Number::I32 => {
                Numbers::I32(each.map(|_| random.random_range(-20_000..=20_000)).collect())
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
