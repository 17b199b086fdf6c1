//! Full disks, read-only folders, inputs that change, and two runs in one folder: one error that
//! names a file, nothing half-written, and the same end once the cause is gone.

use crate::runs::kills::{Case, cases, left_behind, require_same};
use crate::support::kit::*;

/// Runs a command in its folder as `"$@"` of a shell script.
fn within(script: &str, command: &Command) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().unwrap()).output().unwrap()
}

/// Checks that a command failed with one error, and left no temporary files; returns the error.
fn failed(output: &Output, folder: &Path, what: &str) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{what}: {said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{what}: {said}");
    let files = left_behind(folder, Vec::new());
    assert!(files.keys().all(|name| !name.ends_with(".part")), "{what}: {:?}", files.keys());
    errors[0].to_string()
}

fn chosen(names: &[&str]) -> impl Iterator<Item = Case> {
    cases().into_iter().filter(|case| names.contains(&case.name))
}

const WRITERS: [&str; 6] =
    ["train a net", "data shuffle", "data label, engine", "data selfplay", "match", "climb"];

#[cfg(target_os = "linux")]
#[test]
fn full_disk() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(51);
    for case in chosen(&WRITERS) {
        let work = Workdir::new("");
        let [whole, parts] = ["whole", "parts"].map(|name| work.path(name));
        let output = case.command(&whole, "2").output().unwrap();
        let whole = left_behind(&whole, output.stdout);
        let largest = whole.values().map(Vec::len).max().unwrap();
        for _ in 0..2 {
            // In blocks of 512 bytes.
            let most = random.random_range(0..largest / 512);
            let command = case.command(&parts, "2");
            let output = within(&format!("ulimit -f {most}; exec \"$@\""), &command);
            let what = format!("{}, {most} blocks", case.name);
            let error = failed(&output, &parts, &what);
            assert!(error.contains("out") || error.contains("temporary"), "{what}: {error}");
        }
        let output = case.command(&parts, "2").output().unwrap();
        require_same(&whole, &left_behind(&parts, output.stdout), case.name);
    }
}

/// Mounts a disk in the place of the folder `out`, and lists files that are left there.
const SMALL: &str = "mkdir out && mount -t tmpfs -o size=100k none out && \"$@\"; code=$?; \
                     find out -name \"*.part\"; exit $code";
const READ_ONLY: &str =
    "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec \"$@\"";

#[test]
fn disks() {
    let may_mount = Command::new("unshare").args(["-m", "true"]).stderr(Stdio::null()).status();
    if !need::found("mounts", "unshare -m", may_mount.is_ok_and(|status| status.success())) {
        return;
    }
    for (script, names, reason) in
        [(SMALL, &["train a net", "climb"][..], "No space"), (READ_ONLY, &WRITERS, "Read-only")]
    {
        for case in chosen(names) {
            let work = Workdir::new("");
            let folder = work.path("it");
            let command = case.command(&folder, "2");
            let before = left_behind(&folder, Vec::new());
            let output = within(&format!("exec unshare -m sh -c '{script}' sh \"$@\""), &command);
            let error = failed(&output, &folder, case.name);
            let names_file = error.contains("out") || error.contains("temporary");
            assert!(names_file && error.contains(reason), "{}: {error}", case.name);
            require_same(&before, &left_behind(&folder, output.stdout), case.name);
        }
    }
}

/// Streamed data that change between two reads.
#[test]
fn input_changes() {
    let case = chosen(&["train on a stream"]).next().unwrap();
    let bytes = fs::read(SCORED).unwrap();
    let work = Workdir::empty();
    let input = work.path("input.txt");
    let of = |folder: &Path| {
        let mut command = case.command(folder, "2");
        let config = fs::read_to_string(folder.join("run.toml")).unwrap();
        let config = config.replace(&absolute(SCORED), "../input.txt");
        fs::write(folder.join("run.toml"), config).unwrap();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    fs::write(&input, &bytes).unwrap();
    let whole = work.path("whole");
    let output = of(&whole).output().unwrap();
    let whole = left_behind(&whole, output.stdout);
    let half = &bytes[..bytes.len() / 2];
    let grown = [&bytes[..], half].concat();
    for (what, now) in [("truncated", Some(half)), ("grown", Some(&grown)), ("deleted", None)] {
        let parts = work.path(what);
        let mut child = of(&parts).spawn().unwrap();
        await_file(&mut child, &parts.join("out/last.safetensors"));
        match now {
            Some(bytes) => fs::write(&input, bytes).unwrap(),
            None => fs::remove_file(&input).unwrap(),
        }
        let output = child.wait_with_output().unwrap();
        for output in [output, of(&parts).output().unwrap()] {
            assert!(failed(&output, &parts, what).contains("input.txt"), "{what}");
        }
        fs::write(&input, &bytes).unwrap();
        let output = of(&parts).output().unwrap();
        require_same(&whole, &left_behind(&parts, output.stdout), what);
    }
}

#[test]
fn two_runs_in_one_folder() {
    let case = chosen(&["train a net"]).next().unwrap();
    let work = Workdir::new("");
    let folder = work.path("it");
    let mut first = case.command(&folder, "1");
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_file(&mut first, &folder.join("out/last.safetensors"));
    let second = case.command(&folder, "1").output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(1) && said.contains("out"), "{said}");
    assert!(first.wait_with_output().unwrap().status.success());
}
