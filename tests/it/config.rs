//! Configs: what is refused, with which words, and what overrides may change.

use nnuance::config::{Config, RUN_HEADER};
use nnuance::train::schedule::{Length, Schedule, Shape, Span, Stage, Stages};

const CONFIG: &str = r#"version = 1
[data]
files = ["games.vf"]
[model]
inputs = "perspective"
hidden = 8
[schedule]
epochs = 2
learning_rate = 0.001
"#;

fn parse(text: &str, overrides: &[&str]) -> Result<Config, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    Config::parse(text, "runs/x.toml", &overrides).map_err(|error| error.to_string())
}

fn set(overrides: &[&str]) -> Result<Config, String> {
    parse(CONFIG, overrides)
}

/// An override that must be refused, named, with these words.
fn refuses(text: &str, words: &str) {
    let said = set(&[text]).expect_err(text);
    assert!(said.contains(&format!("--set {text}")) && said.contains(words), "{said}");
}

fn step(from: f64, factor: f64, every: f64) -> Result<Schedule, String> {
    let (factor, every) = (Some(factor), Some(Length::Share(every)));
    let (shape, to, share, length) = (Shape::Step, None, None, None);
    let stages = Stages::new(vec![Stage { shape, from, to, factor, every, share, length }])?;
    stages.over(&Span { steps: 10, batch: 1, superbatch: 1, epoch: 10 })
}

#[test]
fn learning_rates_and_targets_are_finite_and_in_bounds() {
    let key = "schedule.learning_rate";
    for rate in ["nan", "inf", "-inf"] {
        refuses(&format!("{key}={rate}"), "`schedule.learning_rate`: must be a finite number");
    }
    let stage = |factor, every| {
        format!("{key}={{ shape = \"step\", from = 0.001, factor = {factor}, every = {every} }}")
    };
    refuses(&stage("-1", "0.1"), "`factor` must be greater than 0, found -1");
    refuses(&stage("0.5", "0"), "`every`: must be greater than 0, found 0");
    refuses(&stage("10.0", "1e-4"), "grow without bounds");
    refuses(&format!("{key}=-0.1"), "not negative");
    refuses(&format!("{key}={{ shape = \"linear\", from = nan, to = 0.1 }}"), "`from` must be");
    refuses("target.wdl=nan", "`target.wdl`: must be a finite number, found NaN");
    refuses("target.wdl=1.5", "`target.wdl`: lies between 0 and 1");
    refuses("optimizer.epsilon=0", "above 0");
    refuses("optimizer.clip_gradients=0", "above 0");
    refuses("optimizer.average_decay=1", "lies from 0 to below 1");
    refuses("optimizer.average_last=0", "lies above 0, to 1");
    refuses("model.start_size=0", "is a number above 0, and at most 10");
    refuses("model.start_size=nan", "is a number above 0, and at most 10");
    refuses("optimizer.lookahead_steps=3", "belongs to ranger, not to adamw");
    refuses("target.power=3", "goes with `loss = \"power\"`");
    refuses("target.asymmetry=-1", "is above -1");
    refuses("target.score_offset=-3", "0 or more");
    refuses("target.weights.ply=[[8, 1], [4, 2]]", "go upwards");
    refuses("target.weights.pieces=[[8, -1]]", "counts less than 0");
    refuses("target.weights.score=[[8, 0]]", "leaves no position");
    refuses("target.weights.ply=[[8, 1, 3]]", "expected [where, how much]");
    for (given, wdl) in [(".25", 0.25), ("0.5", 0.5), ("1", 1.0)] {
        let config = set(&[&format!("target.wdl={given}")]).expect("a number");
        assert_eq!(config.final_wdl(), wdl);
    }
    refuses("target.score_offset=-.5", "0 or more");
    set(&[&stage("0.5", "0.1")]).expect("a schedule that falls");
}

#[test]
fn steps_come_when_they_are_due_and_stay_in_their_range() {
    let schedule = step(1.0, 2.0, 0.1).expect("a schedule");
    for (done, value) in [(0.0, 1.0), (0.29, 4.0), (0.3, 8.0), (0.95, 512.0), (1.0, 512.0)] {
        assert_eq!(schedule.at(done), value, "at {done}");
    }
    assert_eq!(schedule.range(), (1.0, 512.0));
    assert_eq!(step(0.5, 2.0, 0.5).expect("a schedule").range(), (0.5, 1.0));
    assert_eq!(step(1.0, 0.5, 1.0).expect("a schedule").range(), (1.0, 1.0));
    assert_eq!(step(1.0, 0.5, 0.3).expect("a schedule").range(), (0.125, 1.0));
}

#[test]
fn no_length_overflows() {
    refuses("schedule.batch=0", "`schedule.batch`: must be at least 1");
    refuses("schedule.batch=4194305", "at most 4194304, found 4194305");
    set(&["schedule.batch=4194304"]).expect("the largest batch");
    refuses("schedule.epochs=1e7", "`schedule.epochs`: must be above 0 and at most 1000000");
    refuses("schedule.epochs=nan", "`schedule.epochs`: must be above 0");
    refuses("schedule.positions=9223372036854775807", "at most 9007199254740992");
    refuses("schedule.superbatches=1e12", "`schedule.superbatches`: must be above 0 and at most");
    refuses("schedule.batches_per_superbatch=9223372036854775807", "a superbatch has more than");
    let longest = set(&["schedule.epochs=1e6", "schedule.batch=1"]).expect("a long run");
    assert_eq!(longest.steps(u64::MAX), 1 << 53);
    assert_eq!(longest.steps(10), 10_000_000);
}

#[test]
fn errors_name_the_file_and_the_line() {
    let with = |from: &str, to: &str| parse(&CONFIG.replace(from, to), &[]).expect_err(to);
    let said = with("epochs = 2", "epochs = 2\nbatch = 0");
    assert_eq!(said, "runs/x.toml: `schedule.batch`: must be at least 1");
    let said = with("0.001", "\"fast\"");
    assert!(said.starts_with("runs/x.toml:9: `schedule.learning_rate`: expected"), "{said}");
    let said = with("\"perspective\"", "\"perspektive\"");
    assert!(said.starts_with("runs/x.toml: `model.inputs`"), "{said}");
}

#[test]
fn a_slip_in_the_file_keeps_its_line_whatever_is_set() {
    let misspelt = CONFIG.replace("hidden", "hiden");
    let said = parse(&misspelt, &["schedule.epochs=4"]).expect_err("a slip");
    assert!(said.starts_with("runs/x.toml:6:") && said.contains("mean `hidden`?"), "{said}");
    // What is missing is found first; the slip behind it keeps its line all the same.
    let both = misspelt.replace("files = [\"games.vf\"]\n", "");
    let said = parse(&both, &["data.files=[\"a.vf\"]"]).expect_err("a slip");
    assert!(said.starts_with("runs/x.toml:5:") && said.contains("mean `hidden`?"), "{said}");
    let wrong = CONFIG.replace("epochs = 2", "epochs = \"two\"");
    let said = parse(&wrong, &["schedule.epochs=2"]).expect_err("a slip");
    assert!(said.starts_with("runs/x.toml:8:"), "{said}");

    let lacking = CONFIG.replace("learning_rate = 0.001\n", "");
    let said = parse(&lacking, &["seed=2"]).expect_err("no learning rate");
    assert!(said.starts_with("runs/x.toml with --set seed=2: `schedule.learning_rate`"), "{said}");
    parse(&lacking, &["schedule.learning_rate=0.1"]).expect("the override gives what lacks");

    let sets = ["seed=2", "model.hiden=4", "data.held_out=0.2"];
    let said = set(&sets).expect_err("a slip");
    assert!(said.starts_with("--set model.hiden=4: `model`: unknown key"), "{said}");
    let said = set(&["seed=2", "schedule.batch=many"]).expect_err("a word");
    assert!(said.starts_with("--set schedule.batch=many: `schedule.batch`"), "{said}");
    refuses("schedule", "key=value");
}

#[test]
fn a_length_that_is_set_replaces_the_other_two() {
    let plan = set(&["schedule.positions=100"]).expect("one length").schedule;
    assert_eq!((plan.epochs, plan.positions, plan.superbatches), (None, Some(100), None));
    let plan = set(&["schedule.positions=100", "schedule.superbatches=3"]).expect("one").schedule;
    assert_eq!((plan.epochs, plan.positions, plan.superbatches), (None, None, Some(3.0)));
}

#[test]
fn patience_has_something_to_look_at_and_files_count_once() {
    let said = set(&["schedule.patience=2", "data.held_out=0"]).expect_err("no looks");
    assert!(said.contains("patience needs games that validate"), "{said}");
    set(&["schedule.patience=2"]).expect("looks");
    refuses("data.files=[\"a.vf\", \"b.vf\", \"./a.vf\"]", "./a.vf is listed twice");
}

#[test]
fn the_complete_config_says_how_to_resume_and_reads_back() {
    let header = "# A run of nnuance, complete; resume it with: nnuance train --resume FOLDER\n";
    assert_eq!(RUN_HEADER, header);
    let config = set(&[]).expect("a config");
    let text = config.to_toml();
    assert!(text.starts_with(header), "{text}");
    assert_eq!(parse(&text, &[]).expect("it reads back"), config);
}

#[test]
fn threads_are_between_1_and_1024() {
    for threads in ["0", "1025", "-1", "two"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nnuance"));
        let output = command.args(["train", "x.toml", &format!("--threads={threads}")]).output();
        let output = output.expect("the program");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("--threads"), "{said}");
    }
}

/// What `schedule.learning_rate` comes to at the beginning of each of the 40 superbatches of a run.
fn rates(stages: &str) -> Vec<f64> {
    let text = CONFIG.replace("epochs = 2", "superbatches = 40").replace("0.001", stages);
    let config = parse(&text, &[]).expect(stages);
    let span = config.span(1_000_000);
    assert_eq!(span.steps, 40 * 6104);
    let schedule = config.learning_rate().over(&span).expect(stages);
    let at = |superbatch: u64| schedule.at((superbatch * 6104) as f64 / span.steps as f64);
    (0..40).map(at).collect()
}

#[test]
fn steps_in_superbatches_fall_when_bullet_lets_them_fall() {
    let every = "{ shape = \"step\", from = 0.001, factor = 0.3, every = \"8 superbatches\" }";
    for (superbatch, rate) in rates(every).into_iter().enumerate() {
        let wanted = 0.001 * 0.3_f64.powi(superbatch as i32 / 8);
        assert!((rate / wanted - 1.0).abs() < 1e-12, "{superbatch}: {rate} {wanted}");
    }
    // Just before it is due the step has not come.
    let config = parse(&CONFIG.replace("0.001", every), &["schedule.superbatches=40"]).unwrap();
    let span = config.span(1_000_000);
    let schedule = config.learning_rate().over(&span).expect("a schedule");
    let at = |step: u64| schedule.at(step as f64 / span.steps as f64);
    assert_eq!((at(8 * 6104 - 1), at(8 * 6104)), (0.001, 0.001 * 0.3));
    // The same in positions, epochs, steps and as a share.
    let same = rates(every);
    for other in ["\"800063488 positions\"", "\"800.063488 epochs\"", "\"48832 steps\"", "0.2"] {
        let others = rates(&every.replace("\"8 superbatches\"", other));
        let near = |(one, other): (&f64, &f64)| (one / other - 1.0).abs() < 1e-12;
        assert!(same.iter().zip(&others).all(near), "{other}");
        assert_eq!(others[..8], [0.001; 8], "{other}");
    }
}

#[test]
fn shares_of_the_games_lie_within_their_bounds() {
    for (key, wrong) in [
        ("data.test", &["-0.1", "1.1", "nan"][..]),
        ("data.share", &["0", "0.0", "-0.5", "1.01", "nan"]),
    ] {
        for wrong in wrong {
            let sets = [format!("{key}={wrong}")];
            let error = Config::parse(CONFIG, "run.toml", &sets).expect_err(wrong).to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}

/// Old configs mean what they meant, and so does what a run recorded before there was the key.
#[test]
fn how_large_a_net_begins_hangs_on_the_version() {
    let text = |version| CONFIG.replacen("version = 1", &format!("version = {version}"), 1);
    let size = |version, sets: &[&str]| parse(&text(version), sets).map(|it| it.start_size());
    assert_eq!(size(1, &[]), Ok(1.0));
    assert_eq!(size(2, &[]), Ok(0.3));
    assert_eq!(size(2, &["model.start_size=0.7"]), Ok(0.7));
    for version in [1, 2] {
        let before = Config::recorded(&text(version), "recorded").expect("a run of before");
        assert_eq!(before.start_size(), 1.0);
        let now = parse(&text(version), &[]).expect("a config").to_toml();
        let again = Config::recorded(&now, "recorded").expect("a run of today");
        assert_eq!(Ok(again.start_size()), size(version, &[]));
    }
}

#[test]
fn a_number_that_is_no_share_is_refused_with_the_cure() {
    let key = "schedule.learning_rate";
    for every in ["8", "1", "1.0"] {
        let stage =
            format!("{key}={{ shape = \"step\", from = 0.001, factor = 0.3, every = {every} }}");
        refuses(&stage, "is a share of the stage, which must be below 1");
        let cure = format!("write every = \"{} superbatches\", or with epochs", &every[..1]);
        refuses(&stage, &cure);
        // What a run was trained with stands, though its rate never fell.
        let text = CONFIG.replace("0.001", stage.split_once('=').expect("a value").1);
        let config = Config::recorded(&text, "recorded").expect("a run of before");
        let schedule = config.learning_rate().over(&config.span(1000)).expect("a schedule");
        assert!(schedule.never_steps() && schedule.range() == (0.001, 0.001));
    }
    let stage = |every: &str| {
        format!("{key}={{ shape = \"step\", from = 0.001, factor = 0.3, every = \"{every}\" }}")
    };
    for every in ["8", "8 superbatch es", "eight epochs", "-1 epochs", "0 steps", "inf steps"] {
        refuses(&stage(every), "`every`: expected \"8 superbatches\"");
    }
    refuses("schedule.keep_every=2", "keep_every = \"2 superbatches\"");
    refuses("schedule.keep_every=\"2 moons\"", "`schedule.keep_every`: expected");
    let warmed = |share: &str| {
        format!(
            "{key}=[{{ shape = \"linear\", from = 0.1, to = 1.0, {share} }}, {{ shape = \
             \"constant\", from = 1.0 }}]"
        )
    };
    refuses(&warmed("share = 2"), "length = \"2 superbatches\"");
    refuses(&warmed("length = 2"), "length = \"2 superbatches\"");
    refuses(&warmed("share = 0.1, length = \"1 epoch\""), "give one of them");
    refuses(&format!("{key}=0"), "nothing would be learnt");
    refuses(
        "target.wdl={ shape = \"step\", from = 1.0, factor = 0.5, every = \"1 epoch\" }",
        "share",
    );
}

#[test]
fn stages_with_lengths_take_what_they_say_and_leave_the_rest() {
    let stages = "[{ shape = \"linear\", from = 0.0, to = 1.0, length = \"2 superbatches\" }, \
                  { shape = \"constant\", from = 1.0 }, \
                  { shape = \"exponential\", from = 1.0, to = 0.01, length = \"20 superbatches\" }]";
    let rates = rates(stages);
    assert_eq!(rates[..3], [0.0, 0.5, 1.0]);
    assert_eq!(rates[3..21], [1.0; 18]);
    for (number, rate) in rates[20..].iter().enumerate() {
        let wanted = 0.01_f64.powf(number as f64 / 20.0);
        assert!((rate - wanted).abs() < 1e-12, "{number}: {rate} {wanted}");
    }
    let config = |length: &str| {
        let text = CONFIG.replace("epochs = 2", length).replace("0.001", stages);
        let config = parse(&text, &[]).expect("a config");
        // It reads back, with its lengths as they were given.
        assert_eq!(parse(&config.to_toml(), &[]).expect("it reads back"), config);
        config.learning_rate().over(&config.span(1_000_000)).map(drop)
    };
    config("superbatches = 22").expect("nothing is left for the constant");
    let said = config("superbatches = 21").expect_err("too short");
    assert!(said.contains("134288 steps") && said.contains("128184"), "{said}");
    let all = CONFIG.replace(
        "0.001",
        "[{ shape = \"linear\", from = 0.0, to = 1.0, length = \"5 steps\" }, \
         { shape = \"constant\", from = 1.0, length = \"7 steps\" }]",
    );
    let said = |steps: u64| {
        let length = format!("schedule.positions={}", 16_384 * steps);
        let config = parse(&all, &[&length]).expect("a config");
        config.learning_rate().over(&config.span(1000)).map(drop)
    };
    said(12).expect("they fit");
    assert!(said(20).expect_err("too long").contains("leave out the length of one"));
    refuses(
        "schedule.learning_rate={ shape = \"exponential\", from = 0.1, to = 0 }",
        "never reaches 0",
    );
}

#[test]
fn what_cannot_be_meant_names_its_key() {
    refuses("data.filter=[]", "expected a table of keys, found a list");
    refuses("target=[]", "expected a table of keys, found a list");
    let said = parse(&CONFIG.replace("[data]", "target = []\n[data]"), &[]).expect_err("a list");
    assert_eq!(said, "runs/x.toml:2: expected a table of keys, found a list");
    refuses("schedule.learning_rate=[[\"constant\", 0.1]]", "expected a stage, found a");
    refuses("target.score_scale=1e-308", "`target.score_scale`: engines count");
    refuses("target.scale=1e39", "`target.scale`");
    let terms = "version = 1\ndata.files = ['a']\nmodel.inputs = 'hce'\n\
                 optimizer.name = 'gauss-newton'\n";
    let said = parse(terms, &["target.score_scale=1e-308"]).expect_err("no scale");
    assert!(said.contains("`target.score_scale`: lies between"), "{said}");
    let said = parse(terms, &["target.scale=1e39"]).expect_err("no scale");
    assert!(said.contains("`target.scale`: lies between"), "{said}");
    refuses("model.hidden=abc", "expected a whole number");
    refuses("data.held_out=abc", "expected a number");
    refuses("data.shuffle=abc", "expected true or false");
    assert!(set(&["model.hidden=abc"]).is_err_and(|said| !said.contains("usize")));
    refuses("seed=-1", "integer `-1`, expected a whole number, 0 or more");
    refuses("schedule.batch=99999999999999999999", "integer `99999999999999999999` is too large");
    refuses("model=3", "expected a table of keys");
    let said = parse("", &[]).expect_err("nothing");
    assert_eq!(said, "runs/x.toml:1: missing key `version`");
    refuses("target.score_scale=0.5", "whole centipawns, 1 to 32767, found 0.5, which");
    assert!(set(&["target.score_scale=0.5", "target.scale=100"]).is_ok());
    assert!(set(&["target.score_scale=132.4"]).is_ok());
}

#[test]
fn a_net_speaks_the_centipawns_of_its_scores_unless_told_otherwise() {
    let scales = |overrides: &[&str]| {
        let config = set(overrides).expect("a config");
        let text = config.to_toml();
        // A complete config has both, so that it means the same for ever.
        assert!(text.contains("\nscale = ") && text.contains("\nscore_scale = "), "{text}");
        (config.scale(), config.score_scale())
    };
    assert_eq!(scales(&[]), (400.0, 400.0));
    assert_eq!(scales(&["target.score_scale=126.4"]), (126.0, 126.4));
    assert_eq!(scales(&["target.scale=300"]), (300.0, 300.0));
    assert_eq!(scales(&["target.scale=400", "target.score_scale=126"]), (400.0, 126.0));
    refuses("target.score_scale=0.2", "`target.score_scale`");
}

#[test]
fn a_file_that_is_no_config_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my.toml");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        Config::read(&path, &[]).map_err(|error| error.to_string())
    };
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(CONFIG.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let said = read(&utf16).expect_err("UTF-16");
    assert!(said.contains("my.toml:1: this is UTF-16; save the file as UTF-8"), "{said}");
    let latin = [CONFIG.as_bytes(), b"# caf\xe9\n"].concat();
    let said = read(&latin).expect_err("Latin-1");
    assert!(said.contains("my.toml:10: this is not UTF-8 text"), "{said}");
    let marked = [b"\xef\xbb\xbf", CONFIG.as_bytes()].concat();
    read(&marked).expect("a mark of UTF-8 says nothing");
    let said = read(&vec![b'#'; 2 << 20]).expect_err("too large");
    assert!(said.contains("larger than 1 MiB"), "{said}");
}

#[test]
fn layers_have_clips_and_rates_by_the_names_of_their_arrays() {
    let deep = CONFIG.replace(
        "hidden = 8\n",
        "hidden = 8\nhead = [{ size = 4, activation = \"crelu\" }, { size = 1 }]\n",
    );
    let layers = |text: &str| parse(&format!("{deep}[optimizer.layers]\n{text}"), &[]);
    let config = layers("head.0.clip = 1\nhead.0.rate = 0.5\nhead.0.bias.clip = 0").expect("names");
    let found = config.optimizer().layers;
    let of = |name: &str| (found.of(name).clip, found.of(name).rate);
    assert_eq!(of("head.0.weight"), (Some(1.0), Some(0.5)));
    assert_eq!(of("head.0.bias"), (Some(0.0), Some(0.5)));
    assert_eq!(of("output.weight"), (None, None));
    // Names with dots in quotes, one key alone, and what a run writes say the same.
    let quoted = layers("\"head.0\" = { clip = 1, rate = 0.5 }\n\"head.0.bias\".clip = 0");
    assert_eq!(quoted.expect("names"), config);
    let sets =
        ["clip=1", "rate=0.5", "bias.clip=0"].map(|it| format!("optimizer.layers.head.0.{it}"));
    assert_eq!(parse(&deep, &sets.each_ref().map(|it| &it[..])).expect("names"), config);
    assert_eq!(parse(&config.to_toml(), &[]).expect("what it wrote"), config);
    assert!(!parse(&deep, &[]).expect("a config").to_toml().contains("layers"));

    let refused = |text: &str, words: &str| {
        let said = layers(text).expect_err(text);
        assert!(said.contains("optimizer.layers") && said.contains(words), "{text}: {said}");
        assert!(!said.contains('\n'), "{said}");
    };
    refused("outptu.clip = 1", "the net has no `outptu`; did you mean `output`?");
    refused("head.1.clip = 1", "the net has no `head.1`; did you mean `head.0`?");
    refused("head.0.weights.clip = 1", "did you mean `head.0.weight`?");
    refused("factoriser.rate = 0.5", "has no `factoriser`");
    refused("output.clip = -1", "`output.clip` must be finite and not negative, found -1");
    refused("output.clip = inf", "found inf");
    refused("output.clip = nan", "found NaN");
    refused("output.rate = 0", "`output.rate` must be finite and above 0, found 0");
    refused("output.rate = -0.5", "above 0, found -0.5");
    refused("output.rate = nan", "found NaN");
    refused("output.clipp = 1", "unknown key or word `clipp`; did you mean `clip`?");
    refused("clip = 1", "belong to an array");
    refused("output = 1", "");
    refused("output = \"free\"", "expected a table of keys");
    refused("output.clip = \"free\"", "a number");
    let terms = "optimizer.layers.output.clip=1";
    let said = set(&["model={ inputs = \"hce\" }", terms]).expect_err("terms have no layers");
    assert!(said.contains("`optimizer.layers`: is for nets"), "{said}");
}
