//! `mpirun nnuance` as a user meets it: on several ranks, with some that die, hang or differ.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nnuance::engine::journal::Journal;
use nnuance::train::checkpoint::Checkpoint;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use tempfile::TempDir;

use crate::need;
use crate::ranks::{NET, STEPS, apart, config};

fn nnuance() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nnuance"))
}

/// Starts the program several times; as root too, and with more ranks than processors.
fn mpirun(ranks: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]);
    command.arg(ranks.to_string()).arg(env!("CARGO_BIN_EXE_nnuance")).args(arguments);
    command.args(["--threads", "1"]);
    command
}

/// One test at a time, if there is an MPI: the ranks of two would keep each other waiting.
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = || TURN.lock().unwrap_or_else(PoisonError::into_inner);
    need::tool("mpirun", "--version").then(turn)
}

struct Run {
    folder: TempDir,
    config: String,
}

impl Run {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, text).unwrap();
        let config = path.to_string_lossy().into_owned();
        Self { folder, config }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, ranks: usize, name: &str) -> Command {
        let out = self.out(name).to_string_lossy().into_owned();
        match self.out(name).join("last.safetensors").exists() {
            true => mpirun(ranks, &["train", "--resume", &out]),
            false => mpirun(ranks, &["train", &self.config, "--overwrite", "--out", &out]),
        }
    }

    fn train(&self, ranks: usize, name: &str) -> [String; 2] {
        let output = self.command(ranks, name).output().unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said:?}");
        said
    }
}

fn said(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it).into_owned())
}

fn last(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("last.safetensors")).unwrap()
}

#[test]
fn a_run_on_several_ranks_speaks_with_one_voice() {
    let Some(_turn) = turn() else { return };
    let run = Run::new(&config("", NET, STEPS));
    let mut alone = nnuance();
    alone.args(["train", &run.config, "--out"]).arg(run.out("alone"));
    assert!(alone.output().unwrap().status.success());
    for ranks in 1..5 {
        let name = ranks.to_string();
        let [stdout, stderr] = run.train(ranks, &name);
        // What is said once stands there once.
        for line in ["best validation loss", "report   "] {
            assert_eq!(stdout.matches(line).count(), 1, "{ranks} ranks: {stdout}");
        }
        for line in ["train loss", " to train on\n"] {
            assert_eq!(stderr.matches(line).count(), 1, "{ranks} ranks: {stderr}");
        }
        assert_eq!(stderr.contains(&format!("{ranks} ranks on ")), ranks > 1, "{stderr}");
        assert!(!stderr.contains("MPI_") && !stderr.contains("---"), "{stderr}");
        let apart = apart(&run.out("alone"), &run.out(&name));
        assert!(apart < 1e-6, "{ranks} ranks: losses are {apart} apart");
        run.train(ranks, "again");
        assert!(last(&run.out("again")) == last(&run.out(&name)), "{ranks} ranks: other bits");
        std::fs::remove_dir_all(run.out("again")).unwrap();
    }
    assert!(last(&run.out("alone")) == last(&run.out("1")), "one rank has the bits of none");
}

/// Ranks with graphics cards, or with software that stands in for these, agree with one that computes
/// on its processor, and end with the same bits twice.
#[cfg(feature = "wgpu")]
#[test]
fn ranks_may_have_graphics_cards() {
    let Some(_turn) = turn() else { return };
    if crate::gpu::gpu().is_none() {
        return;
    }
    let run = Run::new(&config("", NET, STEPS));
    run.train(1, "processor");
    for (ranks, name) in [(1, "1"), (2, "2"), (2, "again")] {
        let output = run.command(ranks, name).args(["--device", "wgpu"]).output().unwrap();
        let [_, stderr] = said(&output);
        assert!(output.status.success(), "{stderr}");
        let apart = apart(&run.out(name), &run.out("processor"));
        println!("{ranks} ranks with cards: losses are {apart:.1e} from those of a processor");
        assert!(apart < 1e-5, "{ranks} ranks: {apart}");
    }
    assert!(last(&run.out("2")) == last(&run.out("again")), "other bits");
}

/// The processes of the ranks that an mpirun has started, by rank.
fn processes(mpirun: &Child) -> Vec<(usize, i32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
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

/// The end of a process, which comes in time.
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
    let count = || std::fs::read_to_string(out.join("log.csv")).map_or(0, |it| it.lines().count());
    while count() <= more {
        assert!(begun.elapsed() < Duration::from_secs(120), "no row");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Long enough to be killed in.
fn long() -> Run {
    let steps = "positions = 600000\nbatch = 512\nlearning_rate = 0.003\ncheckpoints = 60";
    Run::new(&config("", NET, steps))
}

/// In twenty places, any rank: the others end, the last checkpoint is whole, and the run goes on:
/// with as many ranks to the same bits, and with others to nearly the same losses.
#[test]
fn a_rank_that_is_killed_ends_the_run_and_loses_no_checkpoint() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    let run = long();
    let begun = Instant::now();
    run.train(2, "untouched");
    let length = begun.elapsed();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(17);
    let (mut kills, mut ends_with_others) = (0, 0);
    while kills < 20 {
        let changes = ends_with_others < kills / 2;
        let mut size = 2;
        // Several of them in one run.
        for _ in 0..3 {
            let child = started(&mut run.command(size, "killed"));
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
            let last = run.out("killed").join("last.safetensors");
            assert!(!last.exists() || Checkpoint::read(&last).is_ok());
            size = if changes { 1 + size % 4 } else { size };
        }
        ends_with_others += u32::from(changes);
        if !run.out("killed").join("net.bin").exists() {
            run.train(size, "killed");
        }
        let [killed, untouched] = ["killed", "untouched"].map(|name| run.out(name));
        match changes {
            false => assert!(last(&killed) == last(&untouched), "other bits"),
            // After a thousand steps other last digits have become other digits.
            true => assert!(apart(&killed, &untouched) < 0.05),
        }
        std::fs::remove_dir_all(killed).unwrap();
    }
    println!("{kills} kills, run of {length:?}");
}

#[test]
fn a_rank_that_hangs_is_named() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    for stopped in [0, 2] {
        let run = long();
        let mut command = run.command(3, "run");
        let child = started(command.args(["--silence", "4"]));
        rows(&run.out("run"), 3);
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
        run.train(2, "run");
    }
}

/// So is one that hangs when there is nothing left to train; what the run wrote is whole.
#[test]
fn a_rank_that_hangs_at_the_end_is_named() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    // Behind the net rank 0 has little left to do: the run may end before the signal comes.
    for _ in 0..20 {
        let run = Run::new(&config("", NET, STEPS));
        let child = started(run.command(2, "run").args(["--silence", "4"]));
        rows(&run.out("run"), 0);
        let (_, pid) = *processes(&child).iter().find(|(rank, _)| *rank == 1).expect("it runs");
        let begun = Instant::now();
        while !run.out("run").join("net.bin").exists() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(Duration::from_micros(200));
        }
        signal(pid, libc::SIGSTOP);
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        if !output.status.success() {
            assert!(stderr.contains("rank 1 on ") && stderr.contains("silent for"), "{stderr}");
            assert!(stderr.contains("the run itself is done"), "{stderr}");
            let checkpoint = Checkpoint::read(&run.out("run").join("last.safetensors")).unwrap();
            assert!(checkpoint.state.step > 0);
            return;
        }
    }
    panic!("the signal came too late, each time");
}

/// The signals of Ctrl-C and of schedulers, at mpirun or at one rank, stop all at the same step.
#[test]
fn a_signal_stops_all_ranks_with_a_checkpoint() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    // mpirun takes up to a second to hand a signal on.
    let steps = "positions = 12000000\nbatch = 512\nlearning_rate = 0.003\ncheckpoints = 60";
    for who in ["mpirun", "rank 1"] {
        let run = Run::new(&config("", NET, steps));
        let child = started(&mut run.command(3, "run"));
        rows(&run.out("run"), 3);
        match who {
            "mpirun" => signal(child.id() as i32, libc::SIGINT),
            _ => signal(processes(&child).iter().find(|it| it.0 == 1).unwrap().1, libc::SIGTERM),
        }
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert!(!output.status.success(), "{who}: {stderr}");
        let last = Checkpoint::read(&run.out("run").join("last.safetensors")).unwrap();
        assert!(last.state.step > 0, "{who}: {stderr}");
        assert_eq!(stderr.matches("stopped at step").count(), 1, "{who}: {stderr}");
        run.train(1, "run");
    }
}

#[test]
fn a_rank_that_differs_or_fails_is_named() {
    let Some(_turn) = turn() else { return };
    let run = Run::new(&config("", NET, STEPS));
    let out = run.out("run").to_string_lossy().into_owned();
    let train = ["train", &run.config, "--overwrite", "--out", &out];
    let mut command = mpirun(1, &train);
    command.args([":", "-n", "1", env!("CARGO_BIN_EXE_nnuance")]).args(train).arg("--plain");
    let output = command.output().unwrap();
    let [_, stderr] = said(&output);
    assert!(!output.status.success());
    assert!(stderr.contains("error: rank 1 on "), "{stderr}");
    assert!(stderr.contains("this machine computes with plain tensor operations"), "{stderr}");
    // What befalls all is told once.
    for (arguments, line) in [
        (vec!["train", "absent.toml"], "absent.toml"),
        (
            vec!["train", &run.config, "--set", "data.files=[\"absent.vf\"]", "--out", &out],
            "absent.vf",
        ),
        (vec!["train", &run.config, "--nonsense"], "--nonsense"),
        (vec!["keys"], "share their work; start one without mpirun"),
        (vec!["climb", "absent.toml"], "share their work; start one without mpirun"),
        (vec!["data", "stats", "absent.vf"], "share their work; start one without mpirun"),
        (vec!["match", "material", "absent.bin"], "absent.bin"),
    ] {
        let output = mpirun(2, &arguments).output().unwrap();
        let [_, stderr] = said(&output);
        assert!(!output.status.success());
        let errors = stderr.lines().filter(|it| it.starts_with("error: ") && it.contains(line));
        assert_eq!(errors.count(), 1, "{stderr}");
    }
}

/// Between machines gradients go in many messages; nothing else changes.
#[test]
fn ranks_of_several_machines_have_the_bits_of_one() {
    let Some(_turn) = turn() else { return };
    let renamed = Command::new("unshare").args(["--uts", "hostname", "elsewhere"]).output();
    let can = renamed.is_ok_and(|it| it.status.success());
    if !need::found("unshare", "unshare --uts", can) {
        return;
    }
    let net = "inputs = \"perspective\"\nhidden = 256\nprecision = \"f32\"";
    let run = Run::new(&config("", net, STEPS));
    for ranks in ["2", "3"] {
        let one = format!("one-{ranks}");
        run.train(ranks.parse().unwrap(), &one);
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks]);
        let machine = "hostname machine-$OMPI_COMM_WORLD_RANK; exec \"$@\"";
        command.args(["unshare", "--uts", "sh", "-c", machine, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_nnuance")).args(["train", &run.config, "--overwrite"]);
        command.arg("--out").arg(run.out("several")).args(["--threads", "1"]);
        let output = command.output().unwrap();
        let [_, stderr] = said(&output);
        assert!(output.status.success(), "{stderr}");
        assert!(stderr.contains(&format!("{ranks} ranks on {ranks} hosts: ")), "{stderr}");
        assert!(last(&run.out("several")) == last(&run.out(&one)), "{ranks} ranks: other bits");
    }
}

const EVALUATION: &str = "nets/quickstart-32.bin";

/// A job that is spread: its command, and the file that it makes.
struct Job {
    folder: TempDir,
    arguments: Vec<String>,
    file: &'static str,
}

impl Job {
    fn new(arguments: &[&str], file: &'static str) -> Self {
        let arguments = arguments.iter().map(|it| it.to_string()).collect();
        Self { folder: tempfile::tempdir().unwrap(), arguments, file }
    }

    /// All of them.
    fn kinds(input: &str) -> [Self; 4] {
        let own = ["--with", EVALUATION];
        let job = |words: &[&str], file| Self::new(&[words, &own].concat(), file);
        [
            Self::new(
                &["match", EVALUATION, "material", "--pairs", "12", "--nodes", "100", "--pgn"],
                "match.pgn",
            ),
            job(&["data", "selfplay", "--games", "30", "--nodes", "100", "-o"], "games.vf"),
            job(&["data", "label", input, "--nodes", "200", "-o"], "labelled.txt"),
            job(&["data", "resolve", input, "--depth", "3", "-o"], "resolved.epd"),
        ]
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}-{}", self.file))
    }

    fn made(&self, name: &str) -> Vec<u8> {
        let journal = Journal::path_of(&self.out(name));
        assert!(!journal.exists(), "{}", journal.display());
        std::fs::read(self.out(name)).unwrap()
    }

    /// With the output in its place, behind the option for it.
    fn words(&self, name: &str) -> Vec<String> {
        let mut words = self.arguments.clone();
        let option = words.iter().position(|it| it == "-o" || it == "--pgn").unwrap();
        words.insert(option + 1, self.out(name).to_string_lossy().into_owned());
        words
    }

    fn on(&self, ranks: usize, name: &str) -> Command {
        let words = self.words(name);
        mpirun(ranks, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What it makes, and says, on one process without `mpirun`.
    fn alone(&self) -> (Vec<u8>, String) {
        let output = nnuance().args(self.words("alone")).args(["--threads", "1"]).output().unwrap();
        let [stdout, stderr] = said(&output);
        assert!(output.status.success(), "{stderr}");
        (self.made("alone"), stdout.replace("alone-", ""))
    }

    fn run(&self, ranks: usize, name: &str) -> [String; 2] {
        let output = self.on(ranks, name).output().unwrap();
        assert!(output.status.success(), "{:?}", said(&output));
        said(&output)
    }

    /// Entries in its journal.
    fn entries(&self, name: &str) -> usize {
        let text = std::fs::read_to_string(Journal::path_of(&self.out(name)));
        text.unwrap_or_default().matches("\ndone ").count()
    }

    /// Waits until its journal has more entries than so many.
    fn begun(&self, name: &str, more: usize) {
        let begun = Instant::now();
        while self.entries(name) <= more {
            assert!(begun.elapsed() < Duration::from_secs(60), "no entry");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The first positions of a file.
fn positions(folder: &Path, count: usize) -> String {
    let text = std::fs::read_to_string("data/selfplay_sf151_scored.txt").unwrap();
    let lines: Vec<&str> = text.lines().take(count).collect();
    let path = folder.join("in.txt");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn games_and_positions_are_the_same_on_any_number_of_ranks() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    for job in Job::kinds(&positions(folder.path(), 700)) {
        let (alone, told) = job.alone();
        for ranks in 1..4 {
            let name = ranks.to_string();
            let [stdout, stderr] = job.run(ranks, &name);
            assert!(job.made(&name) == alone, "{}: {ranks} ranks: other bytes", job.file);
            assert_eq!(stdout.replace(&format!("{name}-"), ""), told, "{}", job.file);
            assert!(!stderr.contains("MPI_") && !stderr.contains("---"), "{stderr}");
        }
        assert_eq!(std::fs::read_dir(job.folder.path()).unwrap().count(), 4, "{}", job.file);
    }
}

/// Long enough to be killed in.
fn long_jobs() -> [Job; 2] {
    let games =
        ["data", "selfplay", "--with", EVALUATION, "--games", "120", "--nodes", "1000", "-o"];
    let pairs = ["match", EVALUATION, "material", "--pairs", "60", "--nodes", "1000", "--pgn"];
    [Job::new(&games, "games.vf"), Job::new(&pairs, "match.pgn")]
}

/// Any rank; what was written stays whole, and the job goes on with any number of ranks.
#[test]
fn a_job_whose_rank_was_killed_goes_on_to_the_same_bytes() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    for job in long_jobs() {
        let (alone, _) = job.alone();
        for (ranks, dies) in [(2, 1), (3, 0), (3, 2)] {
            let before = job.entries("killed");
            let child = started(&mut job.on(ranks, "killed"));
            job.begun("killed", before + 2);
            let all = processes(&child);
            let (_, pid) = all.iter().find(|(rank, _)| *rank == dies).expect("it runs");
            signal(*pid, libc::SIGKILL);
            let output = ends(child, Duration::from_secs(60));
            let [_, stderr] = said(&output);
            assert!(!output.status.success());
            assert!(stderr.contains(&format!("process rank {dies} ")), "{stderr}");
            assert!(Journal::path_of(&job.out("killed")).exists(), "{stderr}");
        }
        let [_, stderr] = job.run(2, "killed");
        assert_eq!(stderr.matches("resumed behind").count(), 1, "{stderr}");
        assert!(job.made("killed") == alone, "{}: other bytes", job.file);
    }
}

/// One that hangs is named; one that thinks for longer than that does not hang.
#[test]
fn a_rank_that_hangs_is_told_from_one_that_thinks() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    let [job, _] = long_jobs();
    for hangs in [0, 2] {
        let name = hangs.to_string();
        let child = started(job.on(3, &name).args(["--silence", "4"]));
        job.begun(&name, 1);
        let all = processes(&child);
        let (_, pid) = all.iter().find(|(rank, _)| *rank == hangs).expect("it runs");
        signal(*pid, libc::SIGSTOP);
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert!(!output.status.success());
        assert!(stderr.contains(&format!("rank {hangs} on ")), "{stderr}");
        assert!(stderr.contains("silent for") && stderr.contains("same command"), "{stderr}");
        let errors = stderr.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{stderr}");
    }
    let folder = tempfile::tempdir().unwrap();
    let input = positions(folder.path(), 4);
    let slow = ["data", "label", &input, "--with", EVALUATION, "--movetime", "5000", "-o"];
    let slow = Job::new(&slow, "slow.txt");
    let output = slow.on(2, "slow").args(["--silence", "2"]).output().unwrap();
    assert!(output.status.success(), "{:?}", said(&output));
}

/// Whichever rank hears it, all stop behind what is under way, and the same command goes on.
#[test]
fn a_signal_stops_a_job_on_several_ranks() {
    let Some(_turn) = turn() else { return };
    if !need::found("proc", "/proc", Path::new("/proc/self/environ").exists()) {
        return;
    }
    let [job, _] = long_jobs();
    let (alone, _) = job.alone();
    for (rank, number) in [(0, libc::SIGINT), (2, libc::SIGTERM)] {
        let name = format!("stopped-{rank}");
        let child = started(&mut job.on(3, &name));
        job.begun(&name, 3);
        signal(processes(&child).iter().find(|it| it.0 == rank).expect("it runs").1, number);
        let output = ends(child, Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert_eq!(stderr.matches("the same command goes on from there").count(), 1, "{stderr}");
        assert_eq!(stderr.contains("rank 2 on "), rank == 2, "{stderr}");
        job.run(1, &name);
        assert!(job.made(&name) == alone);
    }
}

#[test]
fn a_rank_with_other_options_is_named() {
    let Some(_turn) = turn() else { return };
    let folder = tempfile::tempdir().unwrap();
    let input = positions(folder.path(), 300);
    let label = ["data", "label", &input, "-o", "/dev/null/no", "--with", EVALUATION];
    let games = Job::new(&["data", "selfplay", "--games", "9", "--nodes", "99", "-o"], "games.vf");
    let words = games.words("games");
    for (arguments, ours, theirs, line) in [
        (
            words.iter().map(String::as_str).collect::<Vec<_>>(),
            vec!["--with", EVALUATION],
            vec!["--with", "material"],
            "there, and",
        ),
        (
            words.iter().map(String::as_str).collect(),
            vec!["--with", EVALUATION],
            vec!["--engine", "/absent/engine"],
            "cannot start the engine /absent/engine",
        ),
        (label.to_vec(), vec!["--depth", "2"], vec!["--depth", "2"], "/dev/null/no"),
    ] {
        let mut command = mpirun(1, &[&arguments[..], &ours].concat());
        command.args([":", "-n", "1", env!("CARGO_BIN_EXE_nnuance")]).args(&arguments).args(theirs);
        let output = ends(started(&mut command), Duration::from_secs(60));
        let [_, stderr] = said(&output);
        assert!(!output.status.success(), "{stderr}");
        let errors: Vec<_> = stderr.lines().filter(|it| it.starts_with("error: ")).collect();
        assert!(errors.len() == 1 && errors[0].contains(line), "{stderr}");
        assert_eq!(errors[0].contains("rank 1 on "), line != "/dev/null/no", "{stderr}");
    }
}
