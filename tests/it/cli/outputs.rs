//! Outputs: existing files, devices, pipes, full disks and standard output.

use nnuance::output::is_same;

use crate::support::kit::*;

fn fine(folder: &Workdir, words: &str) {
    said(&mut folder.command(words));
}

fn fails(folder: &Workdir, words: &str) -> String {
    failure(&mut folder.command(words))
}

fn folder() -> Workdir {
    let folder = Workdir::empty();
    let text = fs::read_to_string(SCORED).unwrap();
    let lines: Vec<&str> = text.lines().take(2000).collect();
    folder.write("a.txt", lines.join("\n") + "\n");
    folder
}

fn unread() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_streams() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let folder = folder();
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
            let ended = folder.command(words).stderr(stderr).output().unwrap();
            assert_eq!(ended.status.code(), Some(code), "{words}");
        }
    }
    // Results that cannot be written are an error, except to a closed pipe.
    folder.write("fen.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1");
    let net = absolute(QUICKSTART);
    let (verify, eval) = (format!("verify {net}"), format!("eval {net} --fens fen.epd"));
    for words in ["--help", "keys", "data stats a.txt", &verify, &eval] {
        for (stdout, code) in [(full(), 1), (unread(), 0)] {
            let ended = folder.command(words).stdout(stdout).output().unwrap();
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
    fs::create_dir(folder.path("sub")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", folder.path("link")).unwrap();
    for other in ["./b.txt", "sub/../b.txt"].into_iter().chain(cfg!(unix).then_some("link/b.txt")) {
        assert!(is_same(&folder.path("b.txt"), &folder.path(other)), "{other}");
        fails(&folder, &format!("data sample a.txt --share 0.5 -o b.txt --rest {other}"));
        assert!(!folder.path("b.txt").exists());
        let input = other.replace("b.txt", "a.txt");
        let said = fails(&folder, &format!("data convert a.txt -o {input} --overwrite"));
        assert!(said.contains("input"), "{said}");
    }
    assert!(!is_same(&folder.path("a.txt"), &folder.path("b.txt")));
}

#[test]
fn nothing_is_replaced_unasked() {
    let folder = folder();
    let net = absolute(QUICKSTART);
    folder.write("t.json", HceWeights::material_only().to_json());
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
        folder.write(mine, "mine");
        let before = folder.names();
        let said = fails(&folder, words);
        assert!(said.contains(mine), "{said}");
        assert_eq!((folder.bytes(mine), folder.names()), (b"mine".to_vec(), before));
        fine(&folder, &format!("{words} --overwrite"));
        assert!(fs::read(folder.path(mine)).ok() != Some(b"mine".to_vec()), "{words}");
        folder.names().iter().filter(|name| name.starts_with("x.")).for_each(|name| {
            fs::remove_file(folder.path(name)).unwrap();
        });
    }
}

#[cfg(unix)]
fn pipe(folder: &Workdir, name: &str) -> PathBuf {
    let path = folder.path(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_stay() {
    use std::os::unix::fs::FileTypeExt;

    let folder = folder();
    fine(&folder, "data convert a.txt -o plain.epd");
    let written = folder.bytes("plain.epd");
    let is_pipe = |path: &Path| fs::metadata(path).unwrap().file_type().is_fifo();
    let path = pipe(&folder, "pipe.epd");
    for overwrite in ["", " --overwrite"] {
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || fs::read(path).unwrap())
        };
        fine(&folder, &format!("data convert a.txt -o pipe.epd{overwrite}"));
        assert!(reader.join().unwrap() == written && is_pipe(&path));
    }
    fine(&folder, "data convert a.txt --to epd -o /dev/null");
    pipe(&folder, "net.bin");
    let net = absolute(QUICKSTART);
    fails(&folder, &format!("export {net} -o net.bin --overwrite"));
    assert!(is_pipe(&folder.path("net.bin")) && is_pipe(&path));

    // A link stays, and its target is replaced.
    fs::create_dir(folder.path("sub")).unwrap();
    folder.write("sub/b.epd", "old");
    std::os::unix::fs::symlink("sub/b.epd", folder.path("link.epd")).unwrap();
    fine(&folder, "data convert a.txt -o link.epd --overwrite");
    assert!(fs::symlink_metadata(folder.path("link.epd")).unwrap().is_symlink());
    assert!(folder.bytes("sub/b.epd") == written);
}

#[test]
fn dash_is_standard_output() {
    let folder = folder();
    fine(&folder, "data convert a.txt -o plain.epd");
    let ended = folder.command("data convert a.txt --to epd -o -").output().unwrap();
    assert!(ended.status.success() && ended.stdout == folder.bytes("plain.epd"));
    fine(&folder, "data shuffle a.txt -o plain.bf");
    let ended = folder.command("data shuffle plain.bf --to bulletformat -o -").output().unwrap();
    assert_eq!(ended.stdout.len() as u64, fs::metadata(folder.path("plain.bf")).unwrap().len());
    assert!(fails(&folder, "data convert a.txt -o -").contains("--to"));
    let net = absolute(QUICKSTART);
    for words in [
        "data sample a.txt --share 0.5 --to epd -o b.epd --rest -",
        "data label a.txt --to epd --nodes 9 --engine absent -o -",
        &format!("export {net} -o -"),
    ] {
        fails(&folder, words);
    }
    assert_eq!(folder.names(), ["a.txt", "plain.bf", "plain.epd"]);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disks_leave_nothing_behind() {
    let folder = folder();
    fails(&folder, "data convert a.txt --to epd -o /dev/full");
    let program = env!("CARGO_BIN_EXE_nnuance");
    let script = format!("ulimit -f 8; exec {program} data convert a.txt -o b.epd");
    failure(Command::new("sh").args(["-c", &script]).current_dir(folder.root_path()));
    assert_eq!(folder.names(), ["a.txt"]);
}
