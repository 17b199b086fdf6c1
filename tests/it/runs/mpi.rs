//! `mpirun nnuance`: on several ranks, with some that exit, hang or differ.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::runs::ranks::{NET, STEPS, apart, config, last};
use crate::support::kit::*;

fn mpirun(ranks: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]);
    command.arg(ranks.to_string()).arg(env!("CARGO_BIN_EXE_nnuance")).args(arguments);
    command.args(["--threads", "1"]);
    command
}

/// One test at a time, if there is an MPI: the ranks of two would block each other.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = || TURN.lock().unwrap_or_else(PoisonError::into_inner);
    need::tool("mpirun", "--version").then(turn)
}

/// The same, where the processes of ranks can be found.
fn turn_with_processes() -> Option<MutexGuard<'static, ()>> {
    let there = Path::new("/proc/self/environ").exists();
    turn().filter(|_| need::found("proc", "/proc", there))
}

/// Starts or resumes the run of a folder.
fn command(work: &Workdir, ranks: usize, name: &str) -> Command {
    let (out, config) = (work.name(name), work.name("run.toml"));
    match work.path(name).join("last.safetensors").exists() {
        true => mpirun(ranks, &["train", "--resume", &out]),
        false => mpirun(ranks, &["train", &config, "--overwrite", "--out", &out]),
    }
}

fn train(work: &Workdir, ranks: usize, name: &str) -> [String; 2] {
    program::said(&mut command(work, ranks, name))
}

fn said(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned())
}

#[test]
fn ranks_print_once() {
    let Some(_turn) = turn() else { return };
    let run = Workdir::new(&config("", NET, STEPS));
    program::said(&mut run.train("alone", &[]));
    for ranks in 1..5 {
        let name = ranks.to_string();
        let [stdout, stderr] = train(&run, ranks, &name);
        // What is said once stands there once.
        for line in ["validation loss", "report  "] {
            assert_eq!(stdout.matches(line).count(), 1, "{ranks} ranks: {stdout}");
        }
        for line in ["train loss", "training  "] {
            assert_eq!(stderr.matches(line).count(), 1, "{ranks} ranks: {stderr}");
        }
        assert!(!stderr.contains("MPI_") && !stderr.contains("---"), "{stderr}");
        let apart = apart(&run.path("alone"), &run.path(&name));
        assert!(apart < 1e-6, "{ranks} ranks: losses are {apart} apart");
        train(&run, ranks, "again");
        assert!(last(&run.path("again")) == last(&run.path(&name)), "{ranks} ranks: other bits");
        fs::remove_dir_all(run.path("again")).unwrap();
    }
    assert!(last(&run.path("alone")) == last(&run.path("1")), "one rank has the bits of none");
}

/// The processes of the ranks that an mpirun has started, by rank.
fn processes(mpirun: &Child) -> Vec<(usize, i32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let stat = String::from_utf8_lossy(&read("stat")).into_owned();
        let parent = stat.rsplit(')').next().and_then(|it| it.split_whitespace().nth(1));
        if parent != Some(&mpirun.id().to_string()) {
            continue;
        }
        let environment = String::from_utf8_lossy(&read("environ")).into_owned();
        let mut lines = environment.split('\0');
        let rank = lines.find_map(|it| it.strip_prefix("OMPI_COMM_WORLD_RANK=")?.parse().ok());
        found.extend(rank.map(|rank| (rank, pid)));
    }
    found
}

fn ends(mut child: Child, within: Duration) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > within {
            child.kill().unwrap();
            panic!("no end after {within:?}: {:?}", said(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: a signal to a process that this test has started.
    unsafe { libc::kill(pid, signal) };
}

/// Waits until a run has rows in its log, more than so many.
fn rows(out: &Path, more: usize) {
    let begun = Instant::now();
    let count = || fs::read_to_string(out.join("log.csv")).map_or(0, |it| it.lines().count());
    while count() <= more {
        assert!(begun.elapsed() < Duration::from_secs(120), "no row");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn long() -> Workdir {
    let steps = "positions = 600000\nbatch = 512\nlearning_rate = 0.003\ncheckpoints = 60";
    Workdir::new(&config("", NET, steps))
}

/// In ten places, any rank: the others end, the last checkpoint is whole, and the run goes on:
/// with as many ranks to the same bits, and with others to nearly the same losses.
#[test]
fn killed_rank_leaves_a_checkpoint() {
    let Some(_turn) = turn_with_processes() else { return };
    let run = long();
    let begun = Instant::now();
    train(&run, 2, "untouched");
    let length = begun.elapsed();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    let (mut kills, mut ends_with_others) = (0, 0);
    while kills < 10 {
        let changes = ends_with_others < kills / 2;
        let mut size = 2;
        // Several of them in one run.
        for _ in 0..3 {
            let child = started(&mut command(&run, size, "killed"));
            std::thread::sleep(length.mul_f64(random.random_range(0.1..0.7)));
            let all = processes(&child);
            let (mut rank, mut pid) = (0, 0);
            if !all.is_empty() {
                (rank, pid) = all[random.random_range(0..all.len())];
                signal(pid, libc::SIGKILL);
            }
            let output = ends(child, Duration::from_secs(60));
            if output.status.success() {
                break;
            }
            kills += 1;
            let [_, stderr] = said(&output);
            assert!(pid != 0 && stderr.contains(&format!("process rank {rank} ")), "{stderr}");
            let last = run.path("killed").join("last.safetensors");
            assert!(!last.exists() || Checkpoint::read_file(&last).is_ok());
            size = if changes { 1 + size % 4 } else { size };
        }
        ends_with_others += u32::from(changes);
        if !run.path("killed").join("net.bin").exists() {
            train(&run, size, "killed");
        }
        let [killed, untouched] = ["killed", "untouched"].map(|name| run.path(name));
        match changes {
            false => assert!(last(&killed) == last(&untouched), "other bits"),
            // After a thousand steps differences in the last digits have grown.
            true => assert!(apart(&killed, &untouched) < 0.05),
        }
        fs::remove_dir_all(killed).unwrap();
    }
    println!("{kills} kills, run of {length:?}");
}

#[test]
fn hanging_rank_is_named() {
    let Some(_turn) = turn_with_processes() else { return };
    for stopped in [0, 2] {
        let run = long();
        let mut command = command(&run, 3, "run");
        let child = started(command.args(["--silence", "4"]));
        rows(&run.path("run"), 3);
        let all = processes(&child);
        let (_, pid) = all.iter().find(|(rank, _)| *rank == stopped).expect("it runs");
        signal(*pid, libc::SIGSTOP);
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert!(!output.status.success());
        assert!(stderr.contains(&format!("rank {stopped} on ")), "{stderr}");
        assert!(stderr.contains("silent for") && stderr.contains("--resume"), "{stderr}");
        let errors = stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{stderr}");
        train(&run, 2, "run");
    }
}

/// The signals of Ctrl-C and of schedulers, to mpirun or to one rank, stop all at the same step.
#[test]
fn signal_stops_all_ranks() {
    let Some(_turn) = turn_with_processes() else { return };
    // mpirun takes up to a second to forward a signal.
    let steps = "positions = 12000000\nbatch = 512\nlearning_rate = 0.003\ncheckpoints = 60";
    for who in ["mpirun", "rank 1"] {
        let run = Workdir::new(&config("", NET, steps));
        let child = started(&mut command(&run, 3, "run"));
        rows(&run.path("run"), 3);
        match who {
            "mpirun" => signal(child.id() as i32, libc::SIGINT),
            _ => signal(processes(&child).iter().find(|it| it.0 == 1).unwrap().1, libc::SIGTERM),
        }
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert!(!output.status.success(), "{who}: {stderr}");
        let last = checkpoint(&run.path("run"), "last.safetensors");
        assert!(last.state.step > 0, "{who}: {stderr}");
        assert_eq!(stderr.matches("stopped at step").count(), 1, "{who}: {stderr}");
        train(&run, 1, "run");
    }
}

#[test]
fn differing_rank_is_named() {
    let Some(_turn) = turn() else { return };
    let run = Workdir::new(&config("", NET, STEPS));
    let (out, config_path) = (run.name("run"), run.name("run.toml"));
    let train = ["train", &config_path, "--overwrite", "--out", &out];
    let mut command = mpirun(1, &train);
    command.args([":", "-n", "1", env!("CARGO_BIN_EXE_nnuance")]).args(train).arg("--plain");
    let output = command.output().unwrap();
    let [_, stderr] = said(&output);
    assert!(!output.status.success());
    assert!(stderr.contains("error: rank 1 on "), "{stderr}");
    // An error of all ranks is printed once.
    for (arguments, line) in [
        (&["train", "absent.toml"][..], "absent.toml"),
        (&["match", "material", "absent.bin"], "train"),
    ] {
        let output = mpirun(2, arguments).output().unwrap();
        let [_, stderr] = said(&output);
        assert!(!output.status.success());
        let errors = stderr.lines().filter(|it| it.starts_with("error: ") && it.contains(line));
        assert_eq!(errors.count(), 1, "{stderr}");
    }
}
