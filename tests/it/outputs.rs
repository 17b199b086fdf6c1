//! What is written where: never over somebody's work, and without a word to anybody if need be.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ended, Stdio};

use nnuance::output::same;

/// A command in a folder, whose arguments stand between blanks.
fn nnuance(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.current_dir(folder).args(words.split(' '));
    command
}

fn run(folder: &Path, words: &str) -> Ended {
    nnuance(folder, words).output().unwrap()
}

fn fine(folder: &Path, words: &str) -> String {
    let ended = run(folder, words);
    assert!(ended.status.success(), "{words}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

/// What a command complains about that fails as an error does.
fn fails(folder: &Path, words: &str) -> String {
    let ended = run(folder, words);
    assert_eq!(ended.status.code(), Some(1), "{words}");
    String::from_utf8(ended.stderr).unwrap()
}

/// A folder with some positions in `a.txt`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string("data/selfplay_sf151_scored.txt").unwrap();
    let lines: Vec<&str> = text.lines().take(2000).collect();
    fs::write(folder.path().join("a.txt"), lines.join("\n") + "\n").unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn absolute(path: &str) -> String {
    fs::canonicalize(path).unwrap().to_string_lossy().into_owned()
}

/// A pipe whose reader has gone.
fn unread() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[cfg(target_os = "linux")]
#[test]
fn work_goes_on_where_nobody_reads() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let folder = folder();
    let at = folder.path();
    let config = absolute("configs/hce-pst.toml");
    let train = format!(
        "train {config} --set data.files=[\"a.txt\"] --set data.filter={{}} --set \
         schedule.epochs=1 --out run --overwrite"
    );
    for (words, code) in [
        ("data stats a.txt", 0),
        ("data shuffle a.txt -o b.txt --overwrite", 0),
        ("data split a.txt -o c.txt --held-out d.txt --overwrite", 0),
        (&train, 0),
        ("data stats absent.txt", 1),
        ("data", 2),
        ("nosuch", 2),
    ] {
        for stderr in [unread(), full()] {
            let ended = nnuance(at, words).stderr(stderr).output().unwrap();
            assert_eq!(ended.status.code(), Some(code), "{words}");
        }
    }
    // Results that cannot be told are an error, but for a reader who has seen enough.
    for words in ["--help", "keys", "data stats a.txt"] {
        let ended = nnuance(at, words).stdout(full()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{words}");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(said.contains("cannot write to standard output"), "{words}: {said}");
        let ended = nnuance(at, words).stdout(unread()).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{words}");
    }
}

#[test]
fn two_names_of_one_file_are_known() {
    let folder = folder();
    let at = folder.path();
    fs::create_dir(at.join("sub")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", at.join("link")).unwrap();
    for other in ["./b.txt", "sub/../b.txt"].into_iter().chain(cfg!(unix).then_some("link/b.txt")) {
        assert!(same(&at.join("b.txt"), &at.join(other)), "{other}");
        let said = fails(at, &format!("data split a.txt -o b.txt --held-out {other}"));
        assert!(said.contains("are the same file"), "{said}");
        assert!(!at.join("b.txt").exists());
        let input = other.replace("b.txt", "a.txt");
        let said = fails(at, &format!("data convert a.txt -o {input} --overwrite"));
        assert!(said.contains("is also an input"), "{said}");
    }
    assert!(!same(&at.join("a.txt"), &at.join("b.txt")));
    fs::write(at.join("c.epd"), "mine").unwrap();
    assert!(fails(at, "data convert a.txt -o sub/../c.epd").contains("c.epd exists already"));
    assert_eq!(fs::read(at.join("c.epd")).unwrap(), b"mine");
}

#[test]
fn an_export_replaces_nothing_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let net = absolute("nets/quickstart-32.bin");
    for mine in ["x.json", "x.safetensors", "x.bin"] {
        fs::write(at.join(mine), "mine").unwrap();
        let before = names(at);
        let said = fails(at, &format!("export {net} -o x.bin"));
        assert!(said.contains(&format!("{mine} exists already")), "{said}");
        assert!(said.contains("--overwrite"), "{said}");
        assert_eq!((fs::read(at.join(mine)).unwrap(), names(at)), (b"mine".to_vec(), before));
        fs::remove_file(at.join(mine)).unwrap();
    }
    fs::write(at.join("x.json"), "mine").unwrap();
    fine(at, &format!("export {net} -o x.bin --overwrite"));
    assert_eq!(fs::read(at.join("x.bin")).unwrap(), fs::read(&net).unwrap());

    let terms = "../t.json";
    let terms = at.join(terms.trim_start_matches("../"));
    fs::write(&terms, nnuance::hce::HceWeights::material().to_json()).unwrap();
    for words in ["export x.bin --snippet c -o nnue.h", "export t.json -o terms.h"] {
        let output = at.join(words.rsplit(' ').next().unwrap());
        fs::write(&output, "mine").unwrap();
        assert!(fails(at, &words).contains("exists already"), "{words}");
        assert_eq!(fs::read(&output).unwrap(), b"mine");
        fine(at, &format!("{words} --overwrite"));
        assert_ne!(fs::read(&output).unwrap(), b"mine");
    }
}

#[cfg(unix)]
fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_written_into_and_never_replaced() {
    use std::os::unix::fs::FileTypeExt;

    let folder = folder();
    let at = folder.path();
    fine(at, "data convert a.txt -o plain.epd");
    let written = fs::read(at.join("plain.epd")).unwrap();
    let is_pipe = |path: &Path| fs::metadata(path).unwrap().file_type().is_fifo();
    let path = pipe(at, "pipe.epd");
    for overwrite in ["", " --overwrite"] {
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || fs::read(path).unwrap())
        };
        fine(at, &format!("data convert a.txt -o pipe.epd{overwrite}"));
        assert!(reader.join().unwrap() == written && is_pipe(&path));
    }
    fine(at, "data convert a.txt --to epd -o /dev/null");
    let label = "data label a.txt -o pipe.epd --nodes 9 --engine absent --overwrite";
    assert!(fails(at, label).contains("pipe.epd is no regular file"));
    let net = absolute("nets/quickstart-32.bin");
    pipe(at, "net.bin");
    let said = fails(at, &format!("export {net} -o net.bin --overwrite"));
    assert!(said.contains("net.bin is no regular file") && is_pipe(&at.join("net.bin")), "{said}");
    assert!(is_pipe(&path));

    // A link stays, and what it leads to is replaced.
    fs::create_dir(at.join("sub")).unwrap();
    fs::write(at.join("sub/b.epd"), "old").unwrap();
    std::os::unix::fs::symlink("sub/b.epd", at.join("link.epd")).unwrap();
    fine(at, "data convert a.txt -o link.epd --overwrite");
    assert!(fs::symlink_metadata(at.join("link.epd")).unwrap().is_symlink());
    assert!(fs::read(at.join("sub/b.epd")).unwrap() == written);
}

#[test]
fn a_dash_is_standard_output_or_refused() {
    let folder = folder();
    let at = folder.path();
    fine(at, "data convert a.txt -o plain.epd");
    let written = fs::read(at.join("plain.epd")).unwrap();
    let ended = run(at, "data convert a.txt --to epd -o -");
    assert!(ended.status.success() && ended.stdout == written);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("2,000 positions read, 2,000 written"), "{said}");
    let ended = nnuance(at, "data convert a.txt --to epd -o -").stdout(unread()).output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    fine(at, "data shuffle a.txt -o plain.bf");
    let ended = run(at, "data shuffle plain.bf --to bulletformat -o -");
    assert_eq!(ended.stdout.len() as u64, fs::metadata(at.join("plain.bf")).unwrap().len());

    assert!(fails(at, "data convert a.txt -o -").contains("name it with --to"));
    let net = absolute("nets/quickstart-32.bin");
    for words in [
        "data split a.txt --to epd -o - --held-out b.epd",
        "data label a.txt --format epd --nodes 9 --engine absent -o -",
        &format!("export {net} -o -"),
        &format!("export {net} --snippet c -o -"),
    ] {
        let said = fails(at, words);
        assert!(
            ["name a", "name two", "name another"].iter().any(|it| said.contains(it)),
            "{said}"
        );
    }
    assert_eq!(names(at), ["a.txt", "plain.bf", "plain.epd"]);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disks_and_limits_leave_nothing_behind() {
    let folder = folder();
    let at = folder.path();
    let words = "data convert a.txt --to epd -o /dev/full";
    assert!(fails(at, words).contains("cannot write /dev/full"));

    let program = env!("CARGO_BIN_EXE_nnuance");
    let ended = Command::new("sh")
        .args(["-c", &format!("ulimit -f 8; exec {program} data convert a.txt -o b.epd")])
        .current_dir(at)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write b.epd") && !said.contains(".part"), "{said}");
    assert_eq!(names(at), ["a.txt"]);
}
