//! What tests need that the repository does not hold: files of `../shared`, compilers, engines, a
//! GPU. A test that lacks something goes on without it, and that is counted: the last words of a
//! run say what was skipped and why. `NNUANCE_REQUIRE=all` makes it a failure; a list,
//! `NNUANCE_REQUIRE=shared,gcc`, requires what it names.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};
use std::{env, thread};

/// What can be required by name.
const NAMES: [&str; 11] = [
    "shared",
    "cc",
    "gcc",
    "rustc",
    "rustfmt",
    "stockfish",
    "ethereal-chess",
    "gpu",
    "proc",
    "avx512",
    "mpirun",
];

/// The tests that lacked something, by its name.
static SKIPPED: Mutex<BTreeMap<&str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Whether a file or folder of `../shared` is there; what is the repository's own must be.
#[track_caller]
pub fn shared(path: &str) -> bool {
    let there = Path::new(path).exists();
    assert!(there || path.starts_with("../shared/"), "{path} is absent");
    found("shared", path, there)
}

/// Whether a program of `PATH` is there and does what is asked of it, such as `--version`.
#[track_caller]
pub fn tool(name: &'static str, version: &str) -> bool {
    let mut command = Command::new(name);
    command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    found(name, name, command.status().is_ok_and(|status| status.success()))
}

/// The path of a chess engine, where Debian puts it or in `PATH`.
#[track_caller]
pub fn engine(name: &'static str) -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders =
        [Path::new("/usr/games").to_path_buf()].into_iter().chain(env::split_paths(&path));
    let there = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    let there = there.and_then(|path| path.to_str().map(String::from));
    found(name, name, there.is_some()).then(|| there.expect("it is there"))
}

/// Whether something is there. If not, the test is counted among those that were skipped, wholly or
/// in part; it fails where that is required.
#[track_caller]
pub fn found(name: &'static str, what: &str, there: bool) -> bool {
    assert!(NAMES.contains(&name), "{name} is not in NAMES");
    static AT_THE_END: Once = Once::new();
    AT_THE_END.call_once(|| {
        at_exit(say);
    });
    let required = env::var("NNUANCE_REQUIRE").unwrap_or_default();
    let required: Vec<&str> = required.split(',').filter(|name| !name.is_empty()).collect();
    let unknown = required.iter().find(|name| **name != "all" && !NAMES.contains(name));
    let known = NAMES.join(", ");
    assert!(unknown.is_none(), "NNUANCE_REQUIRE={}: known are all, {known}", unknown.unwrap());
    if there {
        return true;
    }
    let requires = required.contains(&"all") || required.contains(&name);
    assert!(!requires, "{what} is not here, and NNUANCE_REQUIRE asks for it");
    // The harness runs a test in a thread of its name, but for a single one.
    let thread = thread::current();
    let test = match thread.name().filter(|name| *name != "main") {
        Some(test) => test.to_string(),
        None => Location::caller().to_string(),
    };
    SKIPPED.lock().expect("no panic held it").entry(name).or_default().insert(test);
    false
}

/// What was skipped, as the last words of a run: none has to look for them.
fn report(skipped: &BTreeMap<&str, BTreeSet<String>>) -> String {
    let tests: BTreeSet<&String> = skipped.values().flatten().collect();
    let gpus = match cfg!(feature = "wgpu") {
        true => "",
        false => "; those of GPUs stand behind --features wgpu",
    };
    if tests.is_empty() {
        return format!("no test was skipped{gpus}\n");
    }
    let mut text = format!("{} tests were skipped, wholly or in part{gpus}:\n", tests.len());
    for (name, tests) in skipped {
        let tests: Vec<&str> = tests.iter().map(|test| &test[..]).collect();
        text += &format!("  {} without {name}: {}\n", tests.len(), tests.join(", "));
    }
    text + "NNUANCE_REQUIRE=all makes a skip a failure.\n"
}

unsafe extern "C" {
    /// Of the C library: the harness has no hook for the end of all tests.
    #[link_name = "atexit"]
    safe fn at_exit(call: extern "C" fn()) -> std::ffi::c_int;
}

/// The harness captures what tests print, but not what is written to the stream itself.
extern "C" fn say() {
    if let Ok(skipped) = SKIPPED.lock() {
        let _ = writeln!(std::io::stderr(), "{}", report(&skipped));
    }
}

/// A test that skips, for the next one, which runs it in a process of its own.
#[test]
#[ignore = "another test runs it"]
fn skips() {
    assert!(!found("gcc", "a compiler that nobody has", false));
}

#[test]
fn skips_are_reported_or_required() {
    for (required, passes) in [
        ("", true),
        ("shared,rustc", true),
        ("all", false),
        ("shared,gcc", false),
        ("shard", false),
    ] {
        let mut alone = Command::new(env::current_exe().unwrap());
        alone.args(["--exact", "need::skips", "--ignored", "--test-threads=2"]);
        let output = alone.env("NNUANCE_REQUIRE", required).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert_eq!(output.status.success(), passes, "{required}: {out}{err}");
        assert!(!passes || err.contains("  1 without gcc: "), "{err}");
    }
}
