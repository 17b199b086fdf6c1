//! Custom programs: the examples, and the additions of `App`.

use std::sync::Once;

use nnuance::App;
use nnuance::features::{Board, FeatureSet, Inputs, Perspectives, Pieces, Rows, Set};
use nnuance::format::{self, epd};
use nnuance::loader::{PositionWeights, Scan};
use nnuance::shakmaty::Color;

use crate::formats::registry::{START, read, scratch};
use crate::support::kit::*;

fn example(name: &str, words: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_nnuance"));
    let program = program.parent().expect("a folder").join("examples").join(name);
    assert!(program.exists(), "no example {name}; add --examples to the command of cargo");
    let mut command = Command::new(program);
    command.args(words);
    command
}

const RUN: &str = "version = 3
data = { files = ['data/selfplay-sf15.vf'], limit = 20_000, filter.own = ['no-early-draws'] }
net = { inputs = 'perspective', hidden = 8, output_buckets = 'by-queens' }
target = { scale = 130.0, weights.own = 'late-games' }
schedule = { epochs = 1, batch = 1024, learning_rate = 0.005 }
";

#[test]
fn every_command_has_additions() {
    let folder = Workdir::new(RUN);
    let own = |words: &[&str]| example("own_filter", words);
    let (config, [one, two]) = (folder.name("run.toml"), ["one", "two"].map(|it| folder.name(it)));
    said(&mut own(&["train", &config, "--out", &one, "--threads", "1"]));
    said(&mut own(&["train", &config, "--out", &two, "--threads", "3"]));
    assert_same_bits(Path::new(&one), Path::new(&two), "three threads");

    let net = folder.name("one/net.bin");
    said(&mut own(&["verify", &net]));
    let floats = folder.name("one/best.safetensors");
    said(&mut own(&["compare", "--deep", &floats, &net, "--own", "no-early-draws"]));
    said(&mut own(&["inspect", &floats]));
    said(&mut own(&["train", "--resume", &two, "--set", "schedule.epochs=2"]));
    let (start, three) = (format!("net.start='{net}'"), folder.name("three"));
    said(&mut own(&["train", &config, "--out", &three, "--set", &start]));
    let code = folder.name("net.rs");
    let why = complaint(&mut own(&["export", &net, "--snippet", "rust", "-o", &code]));
    assert!(why.contains("`by-queens`") && !Path::new(&code).exists(), "{why}");

    // A program without the additions names them.
    for words in [
        &["train", &config, "--out", "none"][..],
        &["train", "--resume", &two, "--set", "schedule.epochs=3"],
        &["eval", &net, "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"],
        &["compare", &floats, "material"],
    ] {
        let why = complaint(nnuance().args(words));
        let lacks = ["`no-early-draws`", "`by-queens`"].iter().any(|it| why.contains(it));
        assert!(lacks && why.contains("run the program that registers it"), "{words:?}: {why}");
    }
}

#[test]
fn nets_have_own_inputs() {
    let folder = Workdir::new(
        &RUN.replace(", filter.own = ['no-early-draws']", "")
            .replace("output_buckets = 'by-queens'", "sets = ['pieces', 'king-distance']")
            .replace(", weights.own = 'late-games'", ""),
    );
    let own = |words: &[&str]| example("own_inputs", words);
    let (config, run) = (folder.name("run.toml"), folder.name("run"));
    said(&mut own(&["train", &config, "--out", &run]));
    let net = folder.name("run/net.bin");
    said(&mut own(&["verify", &net]));
    said(&mut own(&["compare", &run, &net, "material"]));
    said(&mut own(&["match", &net, "material", "--pairs", "1", "--nodes", "50"]));
    let why = complaint(nnuance().args(["eval", &net, START]));
    assert!(why.contains("`king-distance`"), "{why}");
}

#[test]
fn filters_leave_positions_out() {
    let folder = Workdir::new(RUN);
    let some = folder.name("some.epd");
    let words = ["data", "filter", NOTATED, "--own", "no-early-draws", "-o", &some];
    said(&mut example("own_filter", &words));
    let samples = read(NOTATED).expect("samples");
    let early = samples.iter().filter(|it| it.result == 0.5 && it.ply.is_some_and(|ply| ply < 40));
    let (early, all) = (early.count(), samples.len());
    let left = json(nnuance().args(["data", "stats", "--json", &some]));
    assert!(early > 0);
    assert_eq!(left["positions"], all - early);
}

#[test]
fn library_trains_and_evaluates() {
    let folder = Workdir::empty();
    let out = folder.path("run");
    let mut train = example("train_from_code", &[]);
    let [values, _] = said(train.arg(&out).args(["data.limit=20000", "schedule.epochs=1"]));
    let net = nnuance::export::load_net(&out.join("net.bin")).expect("a net").net;
    let start = Position::from_fen(START).expect("legal");
    let value = format!("\n{} cp before the first move\n", net.evaluate(&start));
    assert!(values.ends_with(&value), "{values}");
    let [values, _] = said(example("evaluate", &[]).arg(out.join("net.bin")));
    assert!(values.contains(&format!(": {} cp at once\n", net.evaluate(&start))), "{values}");
}

fn install() {
    static ONCE: Once = Once::new();
    let mine = || Format {
        name: "mine",
        extensions: &["mine"],
        recognises: |head| head.starts_with(b"\0mine\n"),
        reader: |mut input| {
            input.skip_until(b'\n').expect("the first line");
            (epd::FORMAT.reader)(input)
        },
        writer: None,
        ..epd::FORMAT
    };
    ONCE.call_once(|| {
        App::new()
            .filter("test-white", |sample| sample.position.turn().is_white())
            .weight("test-heavy", |_| 2.0)
            .output_buckets("test-two", 2, |_| 7)
            .format(mine())
            .install()
            .expect("free names");
        let again = App::new().filter("test-white", |_| true).install();
        assert_eq!(again.expect_err("the name is taken").name, "test-white");
        assert!(App::new().format(mine()).install().is_err());
        assert!(App::new().format(Format { ..epd::FORMAT }).install().is_err());
        // Other kinds have separate names.
        App::new().weight("test-white", |_| 1.0).install().expect("a free name");
    });
}

#[test]
fn buckets_beyond_the_last() {
    install();
    let text = "inputs = 'perspective'\nhidden = 4\nactivation = 'relu'\n";
    let form: NetForm =
        toml::from_str(&format!("{text}output_buckets = 'test-two'")).expect("a form");
    let net: Architecture = form.clone().try_into().expect("a net");
    assert_eq!((net.buckets, net.bucket_of(&Position::from_fen(START).expect("legal"))), (2, 1));
    assert_eq!(NetForm::from(net), form);
}

#[test]
fn formats_are_read() {
    install();
    let file = scratch("games.mine", format!("\0mine\n{START} c9 \"1-0\";\n").as_bytes());
    let mine = Format::named("mine").expect("it is there");
    let mut source = SampleSource::open_file(&file.path, Some(mine), 0).expect("a file");
    let mut samples = Vec::new();
    source.next_block(&mut samples).expect("a sample");
    assert_eq!(
        (source.format().name, samples[0].position.to_fen(), samples[0].result),
        ("mine", START.to_string(), 1.0)
    );
    assert_eq!(format::all_formats().last().map(|format| format.name), Some("mine"));
}

#[test]
fn weights_beyond_one_are_refused() {
    install();
    let weighing: PositionWeights = toml::from_str("own = 'test-heavy'").expect("a weight");
    let files = vec![QUIET.into()];
    let plan = ReadPlan { weighing, ..ReadPlan::new(files) };
    let scanned: Result<Scan, _> = scan(&plan, 0, &|_| ());
    let why = scanned.expect_err("a weight of 2").to_string();
    assert!(why.contains("`test-heavy`") && why.contains(" 2,"), "{why}");
}

struct Fixed {
    name: &'static str,
    rows: fn(Color) -> &'static [u32],
}

impl FeatureSet for Fixed {
    fn name(&self) -> &str {
        self.name
    }

    fn row_count(&self) -> usize {
        10
    }

    fn max_active(&self) -> usize {
        2
    }

    fn add_active_rows(&self, _: &Board, perspective: Color, rows: &mut Rows) {
        (self.rows)(perspective).iter().for_each(|row| rows.push(*row));
    }

    fn describe_row(&self, row: u32) -> String {
        format!("row {row}")
    }

    /// Too small for row 0.
    fn bound_sums(&self, weights: &[i32]) -> [i64; 2] {
        let most = |sign: i64| -> i64 {
            let mut values: Vec<i64> =
                weights[1..].iter().map(|it| sign * i64::from(*it)).collect();
            values.sort_unstable();
            values[values.len() - 2..].iter().map(|value| *value.max(&0)).sum()
        };
        [-most(-1), most(1)]
    }
}

#[test]
fn sets_keep_their_word() {
    let position = Position::from_fen(START).expect("legal");
    let of = |views, name, rows| Inputs::new(views, vec![Set::new(Fixed { name, rows })], false);
    let by_color: fn(Color) -> &'static [u32] = |it| if it.is_white() { &[3] } else { &[4] };
    for (rows, fault) in [
        ((|_| &[1, 9]) as fn(Color) -> &'static [u32], None),
        (|_| &[1, 10], Some("row 10")),
        (|_| &[1, 2, 3], Some("3 rows")),
        (|_| &[2, 2], Some("twice")),
        (|_| &[0, 5], Some("bounds 2 rows")),
        (by_color, Some("colours")),
    ] {
        let inputs = of(Perspectives::Perspective, "fixed", rows);
        let checked = inputs.check_position(&position, true).map_err(|wrong| wrong.to_string());
        let expected = match (&checked, fault) {
            (Ok(()), None) => true,
            (Err(why), Some(fault)) => why.contains(fault) && why.contains("`fixed`"),
            _ => false,
        };
        assert!(expected, "{fault:?}: {checked:?}");
    }
    of(Perspectives::Plain, "fixed", by_color)
        .check_position(&position, true)
        .expect("White's rows alone");
    // Arrays are named by their sets.
    let pieces = Set::new(Pieces(Kings::NONE));
    for (name, is_free) in [("outputs", true), ("output", false), ("accumulator", false)] {
        let sets = vec![pieces.clone(), Set::new(Fixed { name, rows: |_| &[] })];
        let inputs = Inputs::new(Perspectives::Perspective, sets, false);
        let simple = Architecture::simple(Perspectives::Perspective, 2, Activation::ReLU);
        assert_eq!(Architecture { inputs, ..simple }.check_layers().is_ok(), is_free, "{name}");
    }
}
