//! Outputs: existing files, devices, pipes, full disks and standard output.

use nnuance::output::is_same;

use crate::support::kit::*;

fn fine(folder: &Path, words: &str) {
    said(&mut in_folder(folder, words));
}

fn fails(folder: &Path, words: &str) -> String {
    failure(&mut in_folder(folder, words))
}

fn folder() -> Workdir {
    let folder = Workdir::empty();
    let text = fs::read_to_string("data/selfplay_sf151_scored.txt").unwrap();
    let lines: Vec<&str> = text.lines().take(2000).collect();
    folder.write("a.txt", lines.join("\n") + "\n");
    folder
}

fn absolute(path: &str) -> String {
    fs::canonicalize(path).unwrap().to_string_lossy().into_owned()
}

fn unread() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_streams() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let folder = folder();
    let at = folder.root_path();
    let config = absolute("configs/hce-pst.toml");
    let train = format!(
        "train {config} --set data.files=[\"a.txt\"] --set data.filter={{}} --set \
         schedule.epochs=1 --out run --overwrite"
    );
    for (words, code) in [
        ("data shuffle a.txt -o b.txt --overwrite", 0),
        (&train, 0),
        ("data stats absent.txt", 1),
        ("nosuch", 2),
    ] {
        for stderr in [unread(), full()] {
            let ended = in_folder(at, words).stderr(stderr).output().unwrap();
            assert_eq!(ended.status.code(), Some(code), "{words}");
        }
    }
    // Results that cannot be written are an error, except to a closed pipe.
    fs::write(at.join("fen.epd"), "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").unwrap();
    let net = absolute("nets/quickstart-32.bin");
    let (verify, eval) = (format!("verify {net}"), format!("eval {net} --fens fen.epd"));
    for words in ["--help", "keys", "data stats a.txt", &verify, &eval] {
        for (stdout, code) in [(full(), 1), (unread(), 0)] {
            let ended = in_folder(at, words).stdout(stdout).output().unwrap();
            let said = String::from_utf8(ended.stderr).unwrap();
            let names_it =
                if code == 0 { said.is_empty() } else { said.contains("standard output") };
            assert!(ended.status.code() == Some(code) && names_it, "{words}: {said}");
        }
    }
}

#[test]
fn two_names_of_one_file() {
    let folder = folder();
    let at = folder.root_path();
    fs::create_dir(at.join("sub")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", at.join("link")).unwrap();
    for other in ["./b.txt", "sub/../b.txt"].into_iter().chain(cfg!(unix).then_some("link/b.txt")) {
        assert!(is_same(&at.join("b.txt"), &at.join(other)), "{other}");
        fails(at, &format!("data sample a.txt --share 0.5 -o b.txt --rest {other}"));
        assert!(!at.join("b.txt").exists());
        let input = other.replace("b.txt", "a.txt");
        let said = fails(at, &format!("data convert a.txt -o {input} --overwrite"));
        assert!(said.contains("input"), "{said}");
    }
    assert!(!is_same(&at.join("a.txt"), &at.join("b.txt")));
}

#[test]
fn nothing_is_replaced_unasked() {
    let folder = folder();
    let at = folder.root_path();
    let net = absolute("nets/quickstart-32.bin");
    fs::write(at.join("t.json"), HceWeights::material_only().to_json()).unwrap();
    let export = format!("export {net} -o x.bin");
    let snippet = format!("export {net} --snippet c -o nnue.h");
    for (words, mine) in [
        (&export[..], "x.json"),
        (&export, "x.safetensors"),
        (&export, "x.bin"),
        (&snippet, "nnue.h"),
        ("export t.json -o terms.h", "terms.h"),
        ("data convert a.txt -o c.epd", "c.epd"),
    ] {
        fs::write(at.join(mine), "mine").unwrap();
        let before = names(at);
        let said = fails(at, words);
        assert!(said.contains(mine), "{said}");
        assert_eq!((fs::read(at.join(mine)).unwrap(), names(at)), (b"mine".to_vec(), before));
        fine(at, &format!("{words} --overwrite"));
        assert!(fs::read(at.join(mine)).ok() != Some(b"mine".to_vec()), "{words}");
        names(at).iter().filter(|name| name.starts_with("x.")).for_each(|name| {
            fs::remove_file(at.join(name)).unwrap();
        });
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
fn devices_and_pipes_stay() {
    use std::os::unix::fs::FileTypeExt;

    let folder = folder();
    let at = folder.root_path();
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
    pipe(at, "net.bin");
    let net = absolute("nets/quickstart-32.bin");
    fails(at, &format!("export {net} -o net.bin --overwrite"));
    assert!(is_pipe(&at.join("net.bin")) && is_pipe(&path));

    // A link stays, and its target is replaced.
    fs::create_dir(at.join("sub")).unwrap();
    fs::write(at.join("sub/b.epd"), "old").unwrap();
    std::os::unix::fs::symlink("sub/b.epd", at.join("link.epd")).unwrap();
    fine(at, "data convert a.txt -o link.epd --overwrite");
    assert!(fs::symlink_metadata(at.join("link.epd")).unwrap().is_symlink());
    assert!(fs::read(at.join("sub/b.epd")).unwrap() == written);
}

#[test]
fn dash_is_standard_output() {
    let folder = folder();
    let at = folder.root_path();
    fine(at, "data convert a.txt -o plain.epd");
    let ended = in_folder(at, "data convert a.txt --to epd -o -").output().unwrap();
    assert!(ended.status.success() && ended.stdout == fs::read(at.join("plain.epd")).unwrap());
    fine(at, "data shuffle a.txt -o plain.bf");
    let ended = in_folder(at, "data shuffle plain.bf --to bulletformat -o -").output().unwrap();
    assert_eq!(ended.stdout.len() as u64, fs::metadata(at.join("plain.bf")).unwrap().len());
    assert!(fails(at, "data convert a.txt -o -").contains("--to"));
    let net = absolute("nets/quickstart-32.bin");
    for words in [
        "data sample a.txt --share 0.5 --to epd -o b.epd --rest -",
        "data label a.txt --to epd --nodes 9 --engine absent -o -",
        &format!("export {net} -o -"),
    ] {
        fails(at, words);
    }
    assert_eq!(names(at), ["a.txt", "plain.bf", "plain.epd"]);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disks_leave_nothing_behind() {
    let folder = folder();
    let at = folder.root_path();
    fails(at, "data convert a.txt --to epd -o /dev/full");
    let program = env!("CARGO_BIN_EXE_nnuance");
    let script = format!("ulimit -f 8; exec {program} data convert a.txt -o b.epd");
    failure(Command::new("sh").args(["-c", &script]).current_dir(at));
    assert_eq!(names(at), ["a.txt"]);
}
