//! The program in tests: commands and their output, runs, kills, numbers of threads.

use std::io::Write as _;
use std::process::Child;

use assert_cmd::assert::OutputAssertExt;
use tempfile::TempDir;

use crate::support::kit::*;

pub fn nnuance() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nnuance"))
}

/// The whole name of a file of the repository, for commands in other folders.
pub fn absolute(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Standard output and standard error of a command that succeeds.
pub fn said(command: &mut Command) -> [String; 2] {
    let assert = command.assert().success();
    let output = assert.get_output();
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// All that a command says, whether it succeeds or not.
pub fn all_said(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

pub fn json(command: &mut Command) -> serde_json::Value {
    serde_json::from_str(&said(command)[0]).expect("JSON")
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Standard error of a command that ends with one of these codes.
fn ended(command: &mut Command, codes: &'static [i32]) -> String {
    let assert = command.assert().code(codes);
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

/// Standard error of a command that fails, or that is used wrongly.
pub fn complaint(command: &mut Command) -> String {
    ended(command, &[1, 2])
}

/// Standard error of a command that fails.
pub fn failure(command: &mut Command) -> String {
    ended(command, &[1])
}

/// Runs a command that reads these bytes from standard input; it may stop reading early.
pub fn feed_command(command: &mut Command, input: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("a process");
    let mut stdin = child.stdin.take().expect("it is piped");
    thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("its end")
    })
}

pub fn checkpoint(run: &Path, name: &str) -> Checkpoint {
    Checkpoint::read_file(&run.join(name)).expect("a checkpoint")
}

/// `nnuance export` of a net or run to a file.
pub fn export(from: &Path, to: &Path) -> Command {
    let mut command = nnuance();
    command.arg("export").arg(from).arg("-o").arg(to);
    command
}

pub fn train(config: &str, out: &Path) -> Command {
    let mut command = nnuance();
    command.args(["train", config, "--out"]).arg(out);
    command
}

/// Standard error of a config that is refused before anything is written.
pub fn refused(text: &str) -> String {
    let folder = Workdir::new(text);
    let (config, out) = (folder.name("run.toml"), folder.path("out"));
    let said = complaint(&mut train(&config, &out));
    assert!(!out.exists(), "a folder is left behind: {said}");
    said
}

pub struct Run {
    _folder: Workdir,
    pub out: PathBuf,
}

impl Run {
    pub fn new(text: &str, threads: &str) -> Self {
        let folder = Workdir::new(text);
        let (config, out) = (folder.name("run.toml"), folder.path("out"));
        said(train(&config, &out).args(["--threads", threads]));
        Self { _folder: folder, out }
    }

    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.out.join(name)).unwrap()
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.file(name)).unwrap()
    }

    pub fn last(&self) -> Checkpoint {
        checkpoint(&self.out, "last.safetensors")
    }
}

/// A folder, which may have a config for several runs.
pub struct Workdir(TempDir);

impl Workdir {
    pub fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn new(config: &str) -> Self {
        let work = Self::empty();
        work.write("run.toml", config);
        work
    }

    pub fn names(&self) -> Vec<String> {
        names(self.0.path())
    }

    pub fn samples(&self, name: &str) -> Vec<Sample> {
        crate::formats::registry::read(self.path(name)).unwrap()
    }

    pub fn root_path(&self) -> &Path {
        self.0.path()
    }

    /// The program in the folder, with words between blanks.
    pub fn command(&self, words: &str) -> Command {
        let mut command = nnuance();
        command.current_dir(self.root_path()).args(words.split(' '));
        command
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn name(&self, name: impl AsRef<Path>) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    /// Writes a file; its whole name.
    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(&name), bytes).unwrap();
        self.name(name)
    }

    /// Writes a file of a format; its whole name.
    pub fn write_samples(&self, name: &str, format: &str, samples: &[Sample]) -> String {
        write_all(&self.path(name), Format::named(format).unwrap(), samples).unwrap();
        self.name(name)
    }

    pub fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn text(&self, name: impl AsRef<Path>) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub fn train(&self, out: &str, sets: &[&str]) -> Command {
        let mut command = train(&self.name("run.toml"), &self.path(out));
        command.args(sets.iter().flat_map(|set| ["--set", set]));
        command
    }

    pub fn resume(&self, run: &str, sets: &[&str]) -> Command {
        let mut command = nnuance();
        command.args(["train", "--resume"]).arg(self.path(run));
        command.args(sets.iter().flat_map(|set| ["--set", set]));
        command
    }
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The log without the column of speeds.
pub fn log(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("log.csv")).unwrap();
    text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string()).collect()
}

/// The files of a folder of the repository, without those of its folders.
pub fn files_of(folder: &str) -> impl Iterator<Item = PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file())
}

pub fn column(folder: &Path, name: &str) -> Vec<f64> {
    let rows = log(folder);
    let place = rows[0].split(',').position(|column| column == name).unwrap();
    rows[1..].iter().filter_map(|row| row.split(',').nth(place)?.parse().ok()).collect()
}

/// Asserts that two runs have the same log, and the same bits in these files if they exist.
pub fn assert_same(one: &Path, other: &Path, files: &[&str], what: &str) {
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).ok();
    for name in files {
        assert!(read(one, name) == read(other, name), "{what}: {name} differs");
    }
    assert_eq!(log(one), log(other), "{what}");
}

/// Asserts that two runs of one config left the same bits.
pub fn assert_same_bits(one: &Path, other: &Path, what: &str) {
    let kept = names(&one.join("checkpoints"));
    assert_eq!(kept, names(&other.join("checkpoints")), "{what}");
    let kept: Vec<String> = kept.iter().map(|name| format!("checkpoints/{name}")).collect();
    let files = ["last.safetensors", "best.safetensors", "terms.json", "net.bin"];
    let files: Vec<&str> = files.into_iter().chain(kept.iter().map(|name| &name[..])).collect();
    assert_same(one, other, &files, what);
}

/// Kills runs at random moments, often several times each, and resumes them with other numbers of
/// threads. Each must end with the bits of a run that was not killed.
pub fn killed_and_resumed(text: &str, runs: usize) {
    let folder = Workdir::new(text);
    let (config, untouched) = (folder.name("run.toml"), folder.path("untouched"));
    let start = Instant::now();
    said(train(&config, &untouched).args(["--threads", "2"]));
    let length = start.elapsed();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(text.len() as u64);
    for run in 0..runs {
        let name = format!("killed-{run}");
        let out = folder.path(&name);
        let begun = || out.join("last.safetensors").exists();
        let command = |threads: usize| {
            let mut command =
                if begun() { folder.resume(&name, &[]) } else { train(&config, &out) };
            command.args(["--threads", ["1", "2", "3"][threads % 3]]);
            command
        };
        let mut moment = length.mul_f64(random.random_range(0.0..1.0));
        let mut kills = 0;
        loop {
            let mut child = command(kills);
            let child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
            let mut child = child.expect("a process");
            std::thread::sleep(moment);
            child.kill().expect("SIGKILL, or it has ended");
            if child.wait().expect("its end").success() {
                // Too late: once more from the start.
                std::fs::remove_dir_all(&out).expect("it can be removed");
                moment /= 2;
                continue;
            }
            kills += 1;
            assert!(kills < 100, "the run is too short to be killed");
            if begun() && random.random_range(0..2) == 0 {
                break;
            }
            moment = length.mul_f64(random.random_range(0.0..0.8));
        }
        said(&mut command(run));
        assert_same_bits(&out, &untouched, &format!("run {run}, {kills} kills, {moment:?}"));
        std::fs::remove_dir_all(&out).expect("it can be removed");
    }
}

/// Trains with several numbers of threads. All runs must end with the same bits.
pub fn same_for_any_threads(text: &str) {
    let one = Run::new(text, "1");
    for threads in ["2", "3", "8"] {
        let other = Run::new(text, threads);
        assert_same_bits(&one.out, &other.out, &format!("{threads} threads, {text}"));
    }
}

pub fn await_file(child: &mut Child, file: &Path) {
    while !file.exists() {
        let ended = child.try_wait().expect("a state");
        assert!(ended.is_none() || file.exists(), "it ended before {}", file.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Starts a command, and kills it as soon as a file is there.
pub fn kill_at(mut command: Command, file: &Path) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process");
    await_file(&mut child, file);
    child.kill().expect("SIGKILL, or it has ended");
    child.wait().expect("its end");
}
