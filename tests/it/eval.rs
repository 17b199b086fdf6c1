//! `nnuance eval` as a user sees it.

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
