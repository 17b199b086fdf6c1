//! Engine code, compiled and compared with this program's own evaluation.

use std::fmt::Write as _;

use nnuance::architecture::{ArrayKind, Inputs, Integer};
use nnuance::export::snippet::{Language, SnippetError, write_snippet};
use nnuance::export::{Golden, golden_evaluations, load_net};
use nnuance::features::{self, Set};
use nnuance::net::{Number, Numbers, stored_arrays};
use nnuance::sample::Piece;

use crate::cli::own_set::AttackKinds;
use crate::nets::files::integers;
use crate::nets::fixed_point;
use crate::nets::integers::follow;
use crate::nets::set_nets::kings_by_half;
use crate::support::kit::*;
use crate::support::playouts::{GAMES, Game};
use crate::support::random_nets::{Drawn, TWENTY};

struct Program {
    folder: Workdir,
    about: String,
}

/// Reads the lines of a [`Walk`], and prints the evaluations that it asks for, after a check of the
/// accumulators.
const HARNESS_C: &str = include_str!("../fixtures/snippets/harness.c");

const HARNESS_RUST: &str = include_str!("../fixtures/snippets/harness.rs");

/// Reads a [`Walk`] and goes it by plain code and by the stack, several times; prints the sum of the
/// evaluations and nanoseconds an evaluation of each. Plain code copies accumulators at each ply, and
/// sums from nothing where a king changes its origin.
const BENCHMARK_C: &str = include_str!("../fixtures/snippets/benchmark.c");

/// How a program is compiled; `Native` uses all vectors of the machine.
#[derive(Clone, Copy)]
enum Speed {
    Slow,
    Fast,
    Native,
}

impl Speed {
    const ALL: [Self; 3] = [Self::Native, Self::Slow, Self::Fast];
}

impl Program {
    fn alone(language: Language, net: &Net, net_file: &str, golden: &[Golden]) -> Self {
        let program = Self::new(language, net);
        let code = write_snippet(language, net, [net_file, language.file_name()], golden).unwrap();
        program.folder.write(language.file_name(), &code);
        program.folder.write(net_file, net.to_bytes());
        program.compile(match language {
            Language::Rust => "rustc --edition 2024 -D warnings -O nnue.rs",
            Language::C => "gcc -std=c11 -O3 -DNNUE_TEST -DNNUE_EMBED -x c nnue.h -o nnue",
        });
        program
    }

    /// A harness around the code of several nets in Rust, or of one in C, which has no namespaces.
    fn harnessed(language: Language, cases: &[Case], speed: Speed) -> Self {
        let program = Self::new(language, &cases[0].net);
        let (mut modules, mut arms) = (String::new(), String::new());
        for (i, Case { net, .. }) in cases.iter().enumerate() {
            let file = format!("{i}.bin");
            let code =
                write_snippet(language, net, [&file, "nnue"], &golden_evaluations(net)).unwrap();
            program.folder.write(&file, net.to_bytes());
            match language {
                Language::C => {
                    program.folder.write("nnue.h", &code);
                    program.folder.write("main.c", HARNESS_C);
                }
                Language::Rust => {
                    let code = code.replacen("\nfn main()", "\npub fn main()", 1);
                    program.folder.write(format!("net{i}.rs"), code + HARNESS_RUST);
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
            program.folder.write("nnue.rs", &main);
        }
        program.compile(match (language, speed) {
            // Fast programs in Rust check for overflow, too.
            (Language::Rust, Speed::Slow) => "rustc --edition 2024 -D warnings nnue.rs",
            (Language::Rust, Speed::Fast) => {
                "rustc --edition 2024 -D warnings -O -C overflow-checks=on nnue.rs"
            }
            (Language::Rust, Speed::Native) => {
                "rustc --edition 2024 -D warnings -O -C overflow-checks=on -C target-cpu=native \
                 nnue.rs"
            }
            (Language::C, Speed::Slow) => "gcc -std=c11 main.c -o nnue",
            (Language::C, Speed::Fast) => "gcc -std=c11 -O3 main.c -o nnue",
            (Language::C, Speed::Native) => "gcc -std=c11 -O3 -march=native main.c -o nnue",
        });
        program
    }

    fn new(language: Language, net: &Net) -> Self {
        Self { folder: Workdir::empty(), about: format!("{language:?}, {}", net.architecture()) }
    }

    /// Compiles without a warning; `-Wc++-compat` finds what C++ does not accept.
    fn compile(&self, command: &str) {
        let strict = "-Wall -Wextra -Wpedantic -Wc++-compat -Werror -ffp-contract=off";
        let strict = if command.starts_with("gcc") { strict } else { "" };
        let words: Vec<&str> = command.split(' ').chain(strict.split_whitespace()).collect();
        let mut command = Command::new(words[0]);
        let output =
            command.args(&words[1..]).current_dir(self.folder.root_path()).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", self.about);
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new("./nnue");
        feed_command(command.current_dir(self.folder.root_path()).args(arguments), input.as_bytes())
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

    /// The centipawns of the walk must be found, to the bit also with floats.
    fn agrees(&self, i: usize, walk: &Walk) {
        let arguments: &[&str] = if self.about.starts_with("C") { &[] } else { &[&i.to_string()] };
        let output = self.run(arguments, &walk.lines);
        let status = (output.status, text(&output.stderr));
        assert!(output.status.success(), "{}, {i}: {status:?}", self.about);
        let said = text(&output.stdout);
        let found = said.strip_prefix("ok, 16 positions\n").unwrap();
        let found: Vec<i32> = found.lines().map(|number| number.parse().unwrap()).collect();
        assert_eq!(found.len(), walk.evaluations.len(), "{}", self.about);
        for ((position, expected), found) in walk.evaluations.iter().zip(found) {
            assert_eq!(found, *expected, "{}: {}", self.about, position.to_fen());
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
            let program = Program::harnessed(language, cases, Speed::ALL[i % 3]);
            for (i, case) in cases.iter().enumerate() {
                program.agrees(i, &case.walk);
            }
        }
    }
    for (i, case) in SETS.iter().chain(&*ENGINES).chain(&*FIXED).enumerate() {
        let case = std::slice::from_ref(case);
        Program::harnessed(language, case, Speed::ALL[i % 3]).agrees(0, &case[0].walk);
    }
    let net = &SETS[0].net;
    Program::alone(language, net, "net.bin", &golden_evaluations(net)).selftest(&[]);
    quickstart_agrees(language);
    wrong_golden_fails(language);
}

fn quickstart_agrees(language: Language) {
    let case = std::slice::from_ref(&*QUICKSTART);
    for speed in Speed::ALL {
        Program::harnessed(language, case, speed).agrees(0, &case[0].walk);
    }
    let net = &case[0].net;
    let program = Program::alone(language, net, "net.bin", &golden_evaluations(net));
    let (folder, bytes) = (&program.folder, net.to_bytes());
    fs::rename(folder.path("net.bin"), folder.path("elsewhere.bin")).unwrap();
    // From the program, and from the disk; without padding, a net is whole.
    program.selftest(&[]);
    program.selftest(&["elsewhere.bin"]);
    folder.write("bare.bin", &bytes[..net.payload_bytes()]);
    program.selftest(&["bare.bin"]);
    for size in [0, 100, bytes.len() - 64, bytes.len() + 2, 100_000] {
        let mut wrong = bytes.clone();
        wrong.resize(size, 0);
        folder.write("wrong.bin", &wrong);
        program.failure(&["wrong.bin"]);
    }
    program.failure(&["absent.bin"]);
}

/// A golden number that is off by one is found, and names with special characters do no harm.
fn wrong_golden_fails(language: Language) {
    let net = Architecture::simple(Perspectives::Perspective, 16, Activation::SCReLU);
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

#[test]
fn nets_of_engines_agree_with_the_definition() {
    for Case { net, walk } in &*ENGINES {
        for (position, cp) in &walk.evaluations {
            assert_eq!(net.evaluate_slowly(position), *cp, "{}", net.architecture());
        }
        GAMES[..10].iter().for_each(|game| follow(net, game, |_| true));
    }
}

/// Prints the times of both, too: `cargo test --profile bench -- --nocapture snippets::trees`.
#[test]
fn trees_have_the_same_sum_by_plain_code() {
    if !need::tool("gcc", "--version") {
        return;
    }
    let table: Vec<u8> = (0..32).map(|i| i / 4).collect();
    let simple = net_of_kings(Kings::new(true, &table).unwrap(), 256);
    let deep = Architecture {
        hidden: 1024,
        activation: Activation::CReLU,
        pairwise: true,
        head: [16, 32].map(|size| Layer::new(size, Activation::CReLU)).into(),
        buckets: 8,
        ..simple.clone()
    };
    for architecture in [simple, deep] {
        let scales = Scales { head_format: HeadFormat::Int8, ..Scales::default() };
        let scales = if architecture.is_deep() { scales } else { Scales::default() };
        let net = random(&architecture, scales, 100, 3);
        let mut walk = Walk::default();
        for (fen, depth) in [
            ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 2),
            ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 3),
        ] {
            let fen: Fen = fen.parse().unwrap();
            let chess = fen.into_position(CastlingMode::Standard).unwrap();
            walk.refresh(&Position::from_chess(&chess));
            walk.tree(&net, &chess, depth);
        }
        let program = Program::new(Language::C, &net);
        let code =
            write_snippet(Language::C, &net, ["net.bin", "nnue.h"], &golden_evaluations(&net));
        program.folder.write("nnue.h", code.unwrap());
        program.folder.write("main.c", BENCHMARK_C);
        program.folder.write("net.bin", net.to_bytes());
        program.compile("gcc -std=c11 -O3 -march=native main.c -o nnue");
        let output = program.run(&["net.bin"], &walk.lines);
        let said = text(&output.stdout);
        let sum: i64 = walk.evaluations.iter().map(|(_, centipawns)| i64::from(*centipawns)).sum();
        let times: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix(&format!("{sum} "))).collect();
        let [plain, fast] = times[..] else { panic!("{architecture}: {sum}, not {said}") };
        println!("{architecture}: {plain} ns plain, {fast} ns fast");
    }
}

/// Too large in either direction, and NaN: engine code must give the same values.
#[test]
fn extremes_leave_the_range_of_i32() {
    let [large, none] = &EXTREMES[..] else { unreachable!("there are two") };
    for (case, number) in [(large, i32::MAX), (large, i32::MIN), (none, i32::MAX), (none, 0)] {
        let numbers = case.walk.evaluations.iter().map(|(_, centipawns)| *centipawns);
        let found = numbers.filter(|it| *it == number).count();
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
    for net in drawn.chain(SETS.iter().chain(&*FIXED).map(|case| case.net.clone())) {
        for language in Language::ALL {
            let golden = golden_evaluations(&net);
            let source = write_snippet(language, &net, ["net.bin", language.file_name()], &golden);
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
        let architecture = Architecture::simple(Perspectives::Plain, 1, Activation::ReLU);
        integers(architecture, scales, [vec![weight; 768], vec![0], vec![output], vec![0]])
    };
    let error =
        |net: &Net| write_snippet(Language::C, net, ["net.bin", "nnue.h"], &[]).unwrap_err();
    let default = Scales::default();
    assert!(matches!(error(&net(2000, 1, default)), SnippetError::Overflow(_)));
    let one = Scales { qa: 1, qb: 1, scale: 32_000, ..default };
    assert!(matches!(error(&net(900, 30, one)), SnippetError::Centipawns(_)));
}

#[test]
fn sets_without_code_are_named() {
    let inputs = Inputs::new(Perspectives::Perspective, vec![Set::new(AttackKinds)], false);
    let net = random(&net_of_inputs(inputs, 2), Scales::default(), 9, 1);
    for language in Language::ALL {
        let error =
            write_snippet(language, &net, ["net.bin", "nnue.h"], &[]).unwrap_err().to_string();
        assert!(error.contains("attack-kinds"), "{error}");
    }
}

/// A net, and its evaluations on a walk over positions and games.
struct Case {
    net: Net,
    walk: Walk,
}

/// Lines for the harness: `r FEN` begins, `+ PIECE COLOUR FROM TO,...` is a move, `-` takes it back,
/// `? w` evaluates. The positions that are evaluated have their centipawns.
#[derive(Default)]
struct Walk {
    lines: String,
    evaluations: Vec<(Position, i32)>,
}

static EXTREMES: LazyLock<Vec<Case>> =
    LazyLock::new(|| cases([[0, 0, 10], [30, 9, 0]].map(extreme).into(), (10_000, 3), 100));

static DRAWN: LazyLock<Vec<Case>> = LazyLock::new(drawn);

/// Nets of several feature sets, and of each that has code.
static SETS: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let kings = kings_by_half();
    let net = |views, names: &[&str], kings| {
        let sets = names.iter().map(|name| {
            let set = features::set_named(name, kings).unwrap();
            // Beside the pieces, which stay i16.
            if names.len() == 3 && *name == "pawn-pairs" { set.stored_as(Integer::I8) } else { set }
        });
        net_of_inputs(Inputs::new(views, sets.collect(), false), 16)
    };
    let deep = Architecture {
        activation: Activation::CReLU,
        pairwise: true,
        head: vec![Layer::new(3, Activation::Dual)],
        buckets: 4,
        psqt: true,
        ..net(Perspectives::Perspective, &["threats", "pieces"], kings)
    };
    let plain = net(Perspectives::Plain, &["pieces", "threat-kinds", "attack-counts"], Kings::NONE);
    let names = features::set_names();
    let alone = names[1..].iter().map(|name| net(Perspectives::Perspective, &[name], Kings::NONE));
    let alone = alone.filter(|net| net.inputs.sets()[0].engine_code(Language::C).is_some());
    let merged = [&["pieces"][..], &["pieces", "threat-kinds"]].map(|names| {
        let net = net(Perspectives::Perspective, names, kings_in_turn(true, 32));
        Architecture { inputs: net.inputs.clone().merge_kings().unwrap(), ..net }
    });
    let some = [deep, plain].into_iter().chain(merged).chain(alone);
    // Inputs of the first layer to 254, whose products take more than 16 bits.
    let bytes = Scales { head_format: HeadFormat::Int8, head_shift: Some(8), ..Scales::default() };
    let scales = |net: &Architecture| if net.is_deep() { bytes } else { Scales::default() };
    let some = some.map(|net| random(&net, scales(&net), 100, 8)).collect();
    let all = net(Perspectives::Perspective, &["pieces", "threats", "pawn-pairs"], kings);
    let all = random(&all, Scales::default(), 100, 7);
    let mut cases = cases(vec![all], (10_000, 3), 1000);
    cases.extend(self::cases(some, (200, 5), 50));
    cases
});

/// The nets of engines in `configs/engines`, narrowed.
static ENGINES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut paths: Vec<_> =
        fs::read_dir("configs/engines").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let nets = paths.iter().map(|path| {
        let config = Config::read_file(path, &["net.hidden=32".into()]).unwrap();
        random(&config.architecture().unwrap().without_factoriser(), config.scales, 100, 9)
    });
    cases(nets.collect(), (300, 6), 10)
});

/// Heads in fixed point.
static FIXED: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let behind = fixed_point::config(fixed_point::FLOATS_BEHIND, "").unwrap();
    let behind = (behind.architecture().unwrap().clone(), behind.scales);
    let heads = fixed_point::HEADS.map(|head| head.architecture()).into_iter().chain([behind]);
    let nets = heads.map(|(net, scales)| fixed_point::random(&net, scales, 2)).collect();
    cases(nets, (300, 8), 20)
});

static QUICKSTART: LazyLock<Case> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/quickstart-32.bin");
    let net = load_net(&path).unwrap().net;
    cases(vec![net], (10_000, 3), 1000).remove(0)
});

/// Each with the same lines: numbers of positions, from a seed, and of games.
fn cases(nets: Vec<Net>, (positions, seed): (usize, u64), games: usize) -> Vec<Case> {
    let positions = playouts::positions(positions, seed);
    nets.into_iter().map(|net| case(net, &positions, &GAMES[..games])).collect()
}

fn case<'a>(net: Net, positions: &[Position], games: impl IntoIterator<Item = &'a Game>) -> Case {
    let mut walk = Walk::default();
    for position in positions {
        walk.refresh(position);
        walk.evaluate(&net, position);
    }
    games.into_iter().enumerate().for_each(|(seed, game)| walk.play(&net, game, seed as u64));
    Case { walk, net }
}

impl Walk {
    fn refresh(&mut self, position: &Position) {
        writeln!(self.lines, "r {}", position.to_fen()).unwrap();
    }

    fn evaluate(&mut self, net: &Net, position: &Position) {
        let side = if position.turn().is_black() { 'b' } else { 'w' };
        writeln!(self.lines, "? {side}").unwrap();
        self.evaluations.push((*position, net.evaluate(position)));
    }

    /// Plays a game to its end. Some positions are evaluated, others passed by; some moves are taken
    /// back and played again.
    fn play(&mut self, net: &Net, game: &Game, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.refresh(&game.positions[0]);
        let mut ply = 0;
        while ply + 1 < game.positions.len() {
            for _ in 0..random.random_range(1..=4).min(game.positions.len() - 1 - ply) {
                self.moves(&game.positions[ply], &game.positions[ply + 1]);
                ply += 1;
            }
            if random.random() {
                self.evaluate(net, &game.positions[ply]);
            }
            for _ in 0..random.random_range(0..=3).min(ply) {
                self.lines += "-\n";
                ply -= 1;
                if random.random_range(0..3) == 0 {
                    self.evaluate(net, &game.positions[ply]);
                }
            }
        }
        self.evaluate(net, game.last());
    }

    /// All moves to a depth; each position is evaluated.
    fn tree(&mut self, net: &Net, chess: &Chess, depth: u32) {
        let position = Position::from_chess(chess);
        self.evaluate(net, &position);
        for chosen in chess.legal_moves().into_iter().filter(|_| depth > 0) {
            let after = chess.clone().play(chosen).unwrap();
            self.moves(&position, &Position::from_chess(&after));
            self.tree(net, &after, depth - 1);
            self.lines += "-\n";
        }
    }

    /// The differences between two boards, captured pieces first.
    fn moves(&mut self, before: &Position, after: &Position) {
        let [before, after] = [before, after].map(|position| -> Vec<[i32; 3]> {
            let man =
                |it: Piece| [it.role as i32 - 1, it.color.is_black().into(), it.square.into()];
            position.pieces().map(man).collect()
        });
        let gone: Vec<_> = before.iter().filter(|man| !after.contains(man)).collect();
        let mut come: Vec<_> = after.iter().filter(|man| !before.contains(man)).collect();
        self.lines.push('+');
        for [piece, colour, from] in gone {
            let moved = come.iter().position(|it| it[..2] == [*piece, *colour]);
            let to = moved.map_or(-1, |i| come.remove(i)[2]);
            write!(self.lines, "{piece} {colour} {from} {to},").unwrap();
        }
        for [piece, colour, to] in come {
            write!(self.lines, "{piece} {colour} -1 {to},").unwrap();
        }
        self.lines.push('\n');
    }
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
        ..Architecture::simple(Perspectives::Plain, 12, Activation::CReLU)
    };
    let net = random(&architecture, Scales::default(), 100, 9);
    let mut numbers = net.numbers().to_vec();
    for (map, power) in numbers[2..].chunks_exact_mut(2).zip(powers) {
        for numbers in map {
            let Numbers::F32(values) = numbers else { unreachable!("its maps are floats") };
            values.iter_mut().for_each(|value| *value *= 10_f32.powi(power));
        }
    }
    Net::from_arrays(&architecture, Scales::default(), numbers).unwrap()
}

/// Random weights without overflow. Output weights go up to `most`: 127 times QA fits an i16. Floats
/// are large enough for all parts of their activations.
fn random(net: &Architecture, scales: Scales, most: i16, seed: u64) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rows = if net.inputs.is_pieces() { 120 } else { 12 };
    let numbers = stored_arrays(net, scales).into_iter().map(|stored| {
        let each = 0..stored.array.len();
        let most = match stored.array.kind {
            ArrayKind::Rows(_) => rows,
            ArrayKind::AccumulatorBias => 200,
            ArrayKind::OutputBias => 5000,
            _ => most,
        };
        match stored.number {
            Number::I8 if matches!(stored.array.kind, ArrayKind::Rows(_)) => {
                Numbers::I8(each.map(|_| random.random_range(-12..=12)).collect())
            }
            Number::I8 => Numbers::I8(each.map(|_| random.random_range(-127..=127)).collect()),
            Number::I16 => Numbers::I16(each.map(|_| random.random_range(-most..=most)).collect()),
            Number::I32 if matches!(stored.array.kind, ArrayKind::Layer(_) | ArrayKind::Output) => {
                Numbers::I32(each.map(|_| random.random_range(-40..=40)).collect())
            }
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
    Net::from_arrays(net, scales, numbers).unwrap()
}
