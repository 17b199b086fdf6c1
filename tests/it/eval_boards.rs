//! `nnuance eval --board`: what each evaluation says of a position, and why.

use assert_cmd::Command;
use nnuance::hce::{HceEvaluator, HceWeights};
use nnuance::sample::Position;

const FEN: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1";

fn boards(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["eval", "nets/quickstart-32.bin", "--board"]).args(args);
    let output = command.assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn evaluations_stand_side_by_side() {
    let text = boards(&["--with", "material", "--with", "tests/it/fixtures/pesto.json", FEN]);
    let position = Position::from_fen(FEN).unwrap();
    let json = std::fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    let weights = HceWeights::from_json(&json).unwrap();
    let table = text.split("evaluation  ").nth(1).unwrap();
    let row = |name: &str| -> Vec<&str> {
        let line = table.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().collect()
    };
    let pesto = HceEvaluator::new(&weights).evaluate(&position);
    assert_eq!(row("pesto.json")[1], format!("{pesto:+.1}"));
    assert_eq!(row("pesto.json")[2], format!("{:+.1}", -pesto));
    let material = HceEvaluator::new(&HceWeights::material()).evaluate(&position);
    assert_eq!(material, 0.0);
    assert_eq!(row("material")[1..], ["0.0", "0.0", "-"]);
    // Why material tells no result; the net's manifest knows the scale that was fitted to it.
    assert_eq!(text.matches("no expected result of ").count(), 1, "{text}");
    assert!(text.contains("no expected result of material"), "{text}");
    // Black's pieces count against White; with material alone every pawn is a hundred.
    let board = text.split("in material,").nth(1).unwrap().lines().skip(2).take(3);
    let lines: Vec<&str> = board.collect();
    assert_eq!(lines[0].split_whitespace().next(), Some("8"), "{text}");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["-500", "-500"], "{text}");
    // The parts of a handcrafted evaluation add up to it.
    assert!(text.contains(&format!("{:+.1}", -pesto)) && text.contains("heaviest terms"));
}

#[test]
fn what_is_no_position_is_said() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["eval", "nets/quickstart-32.bin", "--board", "no position"]);
    let said = command.assert().failure().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&said).contains("no position"));
}

/// What `eval` says of something that it cannot evaluate.
fn said(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let output = command.arg("eval").args(args).assert().failure().get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn what_cannot_be_evaluated_is_told_why() {
    const NET: &str = "nets/quickstart-32.bin";
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    for (args, expected) in [
        (&["score", FEN][..], "a position alone has no score"),
        (&["constant", FEN], "the mean result of many positions"),
        (&[NET, "--board", "--with", "score", FEN], "a position alone has no score"),
        (&["nets/quickstart-32.json", FEN], "name the .bin"),
        (&[empty, FEN], "it is no folder of a run"),
        (&["nets/none.bin", FEN], "cannot read nets/none.bin"),
    ] {
        let said = said(args);
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

/// A run's floats get the scale that was fitted to its net, in centipawns of their own.
#[test]
fn floats_know_the_scale_of_their_net() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let [best, net] = ["best.safetensors", "net.bin"].map(path);
    std::fs::copy("nets/quickstart-32.safetensors", &best).unwrap();
    let export = ["export", &best, "-o", &net, "--scale", "700", "--data"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(export).arg("data/selfplay-sf15.vf").assert().success();
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let command = command.args(["eval", &net, "--board", "--with", &best, fen]);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    let expected = |name: &str| -> f64 {
        let line =
            text.lines().find(|line| line.starts_with(name) && line.ends_with(char::is_numeric));
        line.expect(&text).split_whitespace().last().unwrap().parse().unwrap()
    };
    let folder = folder.path().file_name().unwrap().to_str().unwrap();
    let [net, best] = ["net", "best"].map(|stem| expected(&format!("{folder}/{stem}")));
    assert!((net - best).abs() < 0.01 && net > 0.5, "{text}");
}
