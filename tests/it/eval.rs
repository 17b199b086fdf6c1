//! `nnuance eval` as a user sees it.

use std::process::Stdio;

use assert_cmd::Command;
use nnuance::architecture::Activation;
use nnuance::export::golden;
use nnuance::features::chess768;
use nnuance::sample::Position;

use crate::net::random;

#[test]
fn standard_output_holds_the_evaluations_alone() {
    let folder = tempfile::tempdir().unwrap();
    let net = random(&chess768::PERSPECTIVE, 16, Activation::SCReLU);
    let path = folder.path().join("net.bin");
    std::fs::write(&path, net.to_bytes()).unwrap();
    let fens = golden::FENS.map(|fen| format!("{fen};something;else\n")).concat();
    let lines = golden::FENS
        .map(|fen| format!("{fen};{}\n", net.evaluate(&Position::from_fen(fen).unwrap())));
    let eval = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
        command.arg("eval").arg(&path);
        command
    };
    eval().args(golden::FENS).assert().success().stdout(lines.concat());
    eval()
        .args(["--fens", "-"])
        .write_stdin(fens.clone())
        .assert()
        .success()
        .stdout(lines.concat());

    let list = folder.path().join("list.txt");
    std::fs::write(&list, fens + "no position\n").unwrap();
    let output = eval().arg("--fens").arg(&list).assert().failure().stdout(lines.concat());
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("list.txt, line 17") && said.contains("N follows"), "{said}");
}

fn nnuance(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(args);
    command
}

const NET: &str = "nets/quickstart-32.bin";

#[test]
fn lines_of_many_kinds_are_read() {
    let whole = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
    let four = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    for (line, read) in [
        (whole.to_string(), whole),
        (format!(" {whole} ; 12"), whole),
        (format!("{whole} | 12 | 0.5"), whole),
        (format!("{whole} [0.5] 12"), whole),
        (format!("{four} c9 \"1-0\";"), four),
        (format!("{four} bm e4; id \"a | b\";"), four),
        (format!("{four} 3 [0.5]"), four),
        (format!("{whole} bm e4;"), whole),
    ] {
        let evaluated = nnuance(&["eval", NET, "--fens", "-"]).write_stdin(line).assert().success();
        let out = String::from_utf8_lossy(&evaluated.get_output().stdout).into_owned();
        assert_eq!(out.split_once(';').unwrap().0, read);
    }
    for none in ["", "\n  \n"] {
        let said = nnuance(&["eval", NET, "--fens", "-"]).write_stdin(none).assert().failure();
        let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
        assert!(said.contains("standard input holds no positions"), "{said}");
    }
}

#[test]
fn the_examples_of_the_help_work() {
    let help = nnuance(&["eval", "--help"]).assert().success();
    let help = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    let examples = help.lines().filter_map(|line| line.strip_suffix('\''));
    let examples: Vec<&str> = examples.filter(|line| line.starts_with("  nnuance eval")).collect();
    assert_eq!(examples.len(), 2, "{help}");
    for example in examples {
        let (words, fen) = example.split_once('\'').unwrap();
        // What the quickstart trains stands for any other evaluation.
        let words = words.replace("runs/quickstart-hce", "material");
        let args: Vec<&str> = words.split_whitespace().skip(1).chain([fen]).collect();
        nnuance(&args).assert().success().stderr("");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for args in [&["verify", NET][..], &["eval", NET, golden::FENS[0]]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nnuance"));
        let output = command.args(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_a_failure() {
    for args in [&["verify", NET][..], &["eval", NET, golden::FENS[0]]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nnuance"));
        let output = command.args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: cannot write to standard output: No space"), "{said}");
    }
}
