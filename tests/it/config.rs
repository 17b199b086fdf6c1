//! Configs: what is refused, with which words, and what overrides may change.

use nnuance::config::{Config, RUN_HEADER};
use nnuance::train::schedule::{Schedule, Shape, Stage};

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
    let (factor, every) = (Some(factor), Some(every));
    Schedule::new(vec![Stage { shape: Shape::Step, from, to: None, factor, every, share: None }])
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
    refuses(&stage("0.5", "0"), "`every` must be greater than 0, found 0");
    refuses(&stage("10.0", "1e-4"), "grow without bounds");
    refuses(&format!("{key}=-0.1"), "not negative");
    refuses(&format!("{key}={{ shape = \"linear\", from = nan, to = 0.1 }}"), "`from` must be");
    refuses("target.wdl=nan", "`target.wdl`: must be a finite number, found NaN");
    refuses("target.wdl=1.5", "`target.wdl`: lies between 0 and 1");
    refuses("optimizer.epsilon=0", "above 0");
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
