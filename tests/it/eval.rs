//! `nnuance eval` as a user sees it.

use std::process::Stdio;

use assert_cmd::Command;
use nnuance::architecture::{Activation, Views};
use nnuance::export::GOLDEN_FENS;
use nnuance::sample::Position;

use crate::net::random;

#[test]
fn standard_output_holds_the_evaluations_alone() {
    let folder = tempfile::tempdir().unwrap();
    let net = random(Views::Perspective, 16, Activation::SCReLU);
    let path = folder.path().join("net.bin");
    std::fs::write(&path, net.to_bytes()).unwrap();
    let fens = GOLDEN_FENS.map(|fen| format!("{fen};something;else\n")).concat();
    let lines = GOLDEN_FENS
        .map(|fen| format!("{fen};{}\n", net.evaluate(&Position::from_fen(fen).unwrap())));
    let eval = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
        command.arg("eval").arg(&path);
        command
    };
    eval().args(GOLDEN_FENS).assert().success().stdout(lines.concat());
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
    for args in [&["verify", NET][..], &["eval", NET, GOLDEN_FENS[0]]] {
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
    for args in [&["verify", NET][..], &["eval", NET, GOLDEN_FENS[0]]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nnuance"));
        let output = command.args(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: cannot write to standard output: No space"), "{said}");
    }
}

/// The lines that `eval` prints, as numbers.
fn centipawns(evaluation: &str, fens: &str) -> Vec<i64> {
    let evaluated =
        nnuance(&["eval", evaluation, "--fens", "-"]).write_stdin(fens).assert().success();
    let out = String::from_utf8_lossy(&evaluated.get_output().stdout).into_owned();
    out.lines().map(|line| line.rsplit_once(';').unwrap().1.parse().unwrap()).collect()
}

/// Nets, floats, handcrafted terms, a run's folder and material: what `eval` says is what `compare`
/// measures.
#[test]
fn eval_and_compare_see_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let [tables, sampled] = ["tables", "some.txt"].map(path);
    let few = ["--set", "data.limit=20000", "--set", "schedule.epochs=1"];
    nnuance(&["train", "configs/hce-pst.toml", "--out", &tables]).args(few).assert().success();
    nnuance(&["data", "sample", "data/selfplay-sf15.vf", "--count", "3000", "-o", &sampled])
        .assert()
        .success();
    let lines = std::fs::read_to_string(&sampled).unwrap();
    let best = format!("{tables}/best.safetensors");
    for (evaluation, exact) in [
        (NET, true),
        ("material", true),
        ("nets/quickstart-32.safetensors", false),
        ("tests/it/fixtures/pesto.json", false),
        (&tables, false),
        (&best, false),
    ] {
        // The values take the place of the scores, so that `compare` measures them as `score`.
        let values = centipawns(evaluation, &lines);
        assert_eq!(values.len(), lines.lines().count());
        let scored: String = lines
            .lines()
            .zip(&values)
            .map(|(line, value)| {
                let parts: Vec<&str> = line.split(" | ").collect();
                let white = if parts[0].contains(" b ") { -value } else { *value };
                format!("{} | {white} | {}\n", parts[0], parts[2])
            })
            .collect();
        let file = path("scored.txt");
        std::fs::write(&file, scored).unwrap();
        let compared =
            nnuance(&["compare", "--all", "--json", "--data", &file, "--", evaluation, "score"])
                .assert()
                .success();
        let json: serde_json::Value =
            serde_json::from_slice(&compared.get_output().stdout).unwrap();
        let loss = |i: usize| json["evaluations"][i]["loss"]["mean"].as_f64().unwrap();
        let apart = (loss(0) - loss(1)).abs();
        // Half a centipawn of rounding moves no loss by more.
        let most = if exact { 0.0 } else { 2e-5 };
        assert!(apart <= most, "{evaluation}: {} and {}", loss(0), loss(1));
    }
}

/// Rounded to the nearest whole centipawn, halves away from zero, and never to a negative zero.
#[test]
fn floats_are_rounded_to_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pawn.json");
    let text = std::fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    let mut weights = nnuance::hce::HceWeights::from_json(&text).unwrap();
    weights.values.iter_mut().for_each(|pair| *pair = [0.0; 2]);
    for (tempo, said) in [(2.5, 3), (-2.5, -3), (2.4, 2), (-0.4, 0), (0.5, 1)] {
        weights.tempo = tempo;
        std::fs::write(&path, weights.to_json()).unwrap();
        assert_eq!(centipawns(path.to_str().unwrap(), GOLDEN_FENS[0]), [said], "{tempo}");
    }
}

/// Many blocks of positions, and an error behind them all; packed files are read as they are.
#[test]
fn long_files_are_evaluated_up_to_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.epd.gz");
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n".repeat(3000);
    let pack = |text: &str| {
        let file = std::fs::File::create(&path).unwrap();
        let mut pack = flate2::write::GzEncoder::new(file, Default::default());
        std::io::Write::write_all(&mut pack, text.as_bytes()).unwrap();
        pack.finish().unwrap();
    };
    pack(&format!("{lines}no position\n4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n"));
    let output = nnuance(&["eval", "material", "--fens"]).arg(&path).assert().failure();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("line 3001"), "{said}");
    let out = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert_eq!(out, lines.replace('\n', ";100\n"));
    pack(&"x".repeat(1 << 20));
    let output = nnuance(&["eval", "material", "--fens"]).arg(&path).assert().failure();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("longer than 4096 bytes"), "{said}");
}

const FEN: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1";

#[test]
fn boards_show_each_piece_and_all_evaluations() {
    let args = ["--with", "material", "--with", "tests/it/fixtures/pesto.json", FEN];
    let output = nnuance(&["eval", NET, "--board"]).args(args).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let json = std::fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    let weights = nnuance::hce::HceWeights::from_json(&json).unwrap();
    let position = Position::from_fen(FEN).unwrap();
    let pesto = nnuance::hce::HceEvaluator::new(&weights).evaluate(&position);
    let table = text.split("evaluation  ").nth(1).unwrap();
    let row = |name: &str| -> Vec<&str> {
        let line = table.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {text}")).split_whitespace().collect()
    };
    assert_eq!(row("pesto.json")[1..3], [format!("{pesto:+.1}"), format!("{:+.1}", -pesto)]);
    assert_eq!(row("material")[1..], ["0.0", "0.0", "-"]);
    // Black's pieces add for Black: the rooks on a8 and h8.
    let board = text.split("material: ").nth(1).unwrap();
    let values: Vec<&str> = board.lines().nth(3).unwrap().split_whitespace().collect();
    assert_eq!(values, ["-500", "-500"], "{text}");
}

/// What `eval` says of something that it cannot evaluate.
fn said(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let output = command.arg("eval").args(args).assert().failure().get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn unusable_evaluations_are_refused() {
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
