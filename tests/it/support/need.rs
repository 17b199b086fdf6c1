//! Requirements of tests outside of the repository: files of `../shared`, compilers, engines, a
//! GPU. A test without one of them goes on without it, and is counted: the run ends with a list of
//! skipped tests and the reasons. `NNUANCE_REQUIRE=all` makes these failures; a list,
//! `NNUANCE_REQUIRE=shared,gcc`, requires the listed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::panic::Location;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};
use std::{env, thread};

const NAMES: &str =
    "shared cc gcc rustc rustfmt stockfish ethereal-chess gpu proc avx512 mpirun mounts";

static SKIPPED: Mutex<BTreeMap<&str, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Whether a file or folder of `../shared` exists; files of the repository must exist.
#[track_caller]
pub fn shared(path: &str) -> bool {
    let there = Path::new(path).exists();
    assert!(there || path.starts_with("../shared/"), "{path} is absent");
    found("shared", path, there)
}

/// Whether a program of `PATH` exists and supports an option such as `--version`.
#[track_caller]
pub fn tool(name: &'static str, version: &str) -> bool {
    let mut command = Command::new(name);
    command.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    found(name, name, command.status().is_ok_and(|status| status.success()))
}

/// Path of a chess engine, in Debian's folder or in `PATH`.
#[track_caller]
pub fn engine(name: &'static str) -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders =
        [Path::new("/usr/games").to_path_buf()].into_iter().chain(env::split_paths(&path));
    let there = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    let there = there.and_then(|path| path.to_str().map(String::from));
    found(name, name, there.is_some()).then(|| there.expect("it is there"))
}

/// Whether a requirement is met; if not, the test counts as skipped, or fails if it is mandatory.
#[track_caller]
pub fn found(name: &'static str, what: &str, there: bool) -> bool {
    let is_known = |name: &str| NAMES.split(' ').any(|known| known == name);
    assert!(is_known(name), "{name} is not in NAMES");
    static AT_THE_END: Once = Once::new();
    AT_THE_END.call_once(|| {
        at_exit(say);
    });
    let required = env::var("NNUANCE_REQUIRE").unwrap_or_default();
    let required: Vec<&str> = required.split(',').filter(|name| !name.is_empty()).collect();
    let unknown = required.iter().find(|name| **name != "all" && !is_known(name));
    assert!(unknown.is_none(), "NNUANCE_REQUIRE={}: known are all {NAMES}", unknown.unwrap());
    if there {
        return true;
    }
    let requires = required.contains(&"all") || required.contains(&name);
    assert!(!requires, "{what} is not here, and NNUANCE_REQUIRE asks for it");
    // The harness runs each test in a thread with its name, unless there is only one.
    let thread = thread::current();
    let test = match thread.name().filter(|name| *name != "main") {
        Some(test) => test.to_string(),
        None => Location::caller().to_string(),
    };
    SKIPPED.lock().expect("no panic held it").entry(name).or_default().insert(test);
    false
}

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
    /// From the C library: the harness has no hook for the end of all tests.
    #[link_name = "atexit"]
    safe fn at_exit(call: extern "C" fn()) -> std::ffi::c_int;
}

/// The harness captures the prints of tests, but not writes to the stream.
extern "C" fn say() {
    if let Ok(skipped) = SKIPPED.lock() {
        let _ = writeln!(std::io::stderr(), "{}", report(&skipped));
    }
}

/// A skipped test for the next one, which runs it in a separate process.
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
        alone.args(["--exact", "support::need::skips", "--ignored", "--test-threads=2"]);
        let output = alone.env("NNUANCE_REQUIRE", required).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert_eq!(output.status.success(), passes, "{required}: {out}{err}");
        assert!(!passes || err.contains("  1 without gcc: "), "{err}");
    }
}
