//! Training refuses data that is read with the wrong eyes.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const SCORED: &str = "data/selfplay_sf151_scored.txt";

/// Lines of `FEN | score | result`, the score or result of some lines changed.
fn lines(change: impl Fn(bool, &str, &str) -> (String, String)) -> String {
    let text = fs::read_to_string(SCORED).expect("the sample is in the repository");
    let mut out = String::new();
    for line in text.lines().take(12_000) {
        let [fen, score, result] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let (score, result) = change(fen.contains(" b "), score, result);
        out += &format!("{fen} | {score} | {result}\n");
    }
    out
}

fn turned_result(result: &str) -> String {
    format!("{:.1}", 1.0 - result.parse::<f64>().expect("a number"))
}

fn turned_score(score: &str) -> String {
    (-score.parse::<i32>().expect("a number")).to_string()
}

/// What `train` says of a file, and whether it trained.
fn train(text: &str, more: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("positions.txt");
    fs::write(&data, text).expect("it can be written");
    let config = folder.path().join("run.toml");
    let data = data.display().to_string().replace('\\', "/");
    fs::write(
        &config,
        format!(
            "version = 1\n[data]\nfiles = [{data:?}]\n{more}\n[model]\ninputs = \"hce\"\n\
             terms = [\"material\"]\n[target]\nwdl = 1.0\n[optimizer]\nname = \"gauss-newton\"\n\
             [schedule]\nepochs = 1\n"
        ),
    )
    .expect("it can be written");
    let out = folder.path().join("run");
    let output = Command::new(env!("CARGO_BIN_EXE_nnuance"))
        .args([Path::new("train"), &config, Path::new("--out"), &out])
        .output()
        .expect("it runs");
    let done = output.status.success();
    assert_eq!(out.join("terms.json").exists(), done);
    (done, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn results_and_scores_read_with_the_wrong_eyes_stop_the_run() {
    let sound = lines(|_, score, result| (score.into(), result.into()));
    let (done, said) = train(&sound, "");
    assert!(done, "{said}");

    // As tools write them that see with the eyes of the side to move.
    let side = lines(|black, score, result| match black {
        true => (turned_score(score), turned_result(result)),
        false => (score.into(), result.into()),
    });
    let (done, said) = train(&side, "");
    assert!(!done && said.contains("the results are read as seen by White"), "{said}");
    assert!(said.contains("data.point_of_view = \"side-to-move\""), "{said}");
    let (done, said) = train(&side, "point_of_view = \"side-to-move\"");
    assert!(done, "{said}");
    let (done, said) = train(&sound, "point_of_view = \"side-to-move\"");
    assert!(!done && said.contains("set data.point_of_view = \"white\""), "{said}");

    let scores = lines(|black, score, result| {
        (if black { turned_score(score) } else { score.into() }, result.into())
    });
    let (done, said) = train(&scores, "");
    assert!(!done && said.contains("the scores are read as seen by White"), "{said}");

    let turned = lines(|_, score, result| (score.into(), turned_result(result)));
    let (done, said) = train(&turned, "");
    assert!(!done && said.contains("a win written as a loss"), "{said}");
    let (done, said) = train(&turned, "check_view = false");
    assert!(done, "{said}");

    let (done, said) = train(&sound, "point_of_view = \"black\"");
    assert!(!done && said.contains("`data.point_of_view`: there are \"white\""), "{said}");
}
