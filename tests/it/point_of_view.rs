//! Training refuses data in the wrong point of view.

use crate::formats::scratch;
use crate::kit::*;

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

/// Trains on a file; returns whether it succeeded, and standard error.
fn train(text: &str, more: &str) -> (bool, String) {
    let data = scratch("positions.txt", text.as_bytes());
    let work = Workdir::new(&format!(
        "version = 3\n[data]\nfiles = [{:?}]\n{more}\n[terms]\nuse = [\"material\"]\n[target]\n\
         wdl = 1.0\n[optimizer]\nname = \"gauss-newton\"\n[schedule]\nepochs = 1\n",
        data.path
    ));
    let output = work.train("run", &[]).output().expect("it runs");
    let done = output.status.success();
    assert_eq!(work.path("run/terms.json").exists(), done);
    (done, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn wrong_point_of_view_is_refused() {
    let result = |text: &str| format!("{:.1}", 1.0 - text.parse::<f64>().expect("a number"));
    let score = |text: &str| (-text.parse::<i32>().expect("a number")).to_string();
    let turned = |scores: bool, results: bool, white: bool| {
        lines(|black, own_score, own_result| {
            let turn = black || white;
            let score = if scores && turn { score(own_score) } else { own_score.into() };
            let result = if results && turn { result(own_result) } else { own_result.into() };
            (score, result)
        })
    };
    let (sound, side) = (turned(false, false, false), turned(true, true, false));
    let (scores, all) = (turned(true, false, false), turned(false, true, true));
    let by_side = "point_of_view = \"side-to-move\"";
    for (text, more, word) in [
        (&sound, "", ""),
        (&side, by_side, ""),
        (&all, "check_view = false", ""),
        (&side, "", "the results"),
        (&sound, by_side, "the results"),
        (&scores, "", "the scores"),
        (&all, "", "wrong sign"),
        (&sound, "point_of_view = \"black\"", "point_of_view"),
    ] {
        let (done, said) = train(text, more);
        assert!(done == word.is_empty() && said.contains(word), "{word}: {said}");
    }
}
