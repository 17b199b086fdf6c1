//! `nnuance report`, and the page that `train` leaves.

use std::path::Path;

use assert_cmd::Command;

use crate::draw::stands_alone;
use crate::played::game;

fn nnuance(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(args);
    command
}

/// A short run in a folder.
fn train(config: &str, folder: &Path, more: &[&str]) {
    let mut args = vec!["train", config];
    // Enough games for the test that the page can tell material from the search.
    let few = ["data.limit=20000", "data.held_out=0.4", "schedule.epochs=1"];
    few.iter().for_each(|set| args.extend(["--set", set]));
    more.iter().for_each(|set| args.extend(["--set", set]));
    nnuance(&args).arg("--out").arg(folder).assert().success();
}

/// The heading of each part.
fn headings(html: &str) -> Vec<String> {
    let parts = html.split("<h2>").skip(1);
    parts.map(|part| part.split("</h2>").next().unwrap().to_string()).collect()
}

#[test]
fn runs_become_a_page_that_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [net, other, terms] = ["net", "a & b", "terms"].map(|name| folder.path().join(name));
    train("configs/quickstart-net.toml", &net, &["model.hidden=16"]);
    train("configs/quickstart-net.toml", &other, &["model.hidden=8", "seed=2"]);
    train("configs/hce-pst.toml", &terms, &[]);

    let own = std::fs::read_to_string(net.join("report.html")).unwrap();
    let parts = ["Comparison", "Training", "Phases", "Calibration", "Disagreements"];
    for html in [&own, &std::fs::read_to_string(terms.join("report.html")).unwrap()] {
        stands_alone(html);
        assert_eq!(headings(html)[..parts.len()], parts);
        assert!(html.len() < 3_000_000 && html.contains("Content-Security-Policy"));
    }
    // The score is a bound, and floats are left to the section on integers.
    assert!(!own.contains("score wins") && own.contains("it is a bound, from a search"));
    let names = |html: &str| -> Vec<String> {
        let names = html.split("<li class=\"soft\"><b>").skip(1);
        names.map(|it| it.split("</b>").next().unwrap().to_string()).collect()
    };
    assert_eq!(names(&own), ["net", "material", "score"]);
    assert!(headings(&own).iter().any(|it| it == "Integers"));

    let page = folder.path().join("all.html");
    let output = nnuance(&["report", "--out"]).arg(&page).args([&net, &other, &terms]).assert();
    let said = String::from_utf8_lossy(&output.success().get_output().stdout).into_owned();
    assert!(said.contains("all.html"), "{said}");
    let html = std::fs::read_to_string(&page).unwrap();
    stands_alone(&html);
    assert_eq!(names(&html), ["net", "a &amp; b", "terms", "material", "score"]);
    assert!(html.contains("model.hidden") && headings(&html).iter().any(|it| it == "Data"));
    // Measured on the same positions as at the end of training, though the limit left some out.
    let basis = |html: &str| -> String {
        let from = html.find("<p>On ").unwrap();
        html[from..].split(" games").take(1).collect()
    };
    assert_eq!(basis(&html), basis(&own));
    let round = |round| {
        let round = format!("{round}.1");
        let of = |two, result| game(two, result, &[("Round", &round[..]), ("Nodes", "900")]);
        of(["net/net", "material"], "1-0") + &of(["material", "net/net"], "1/2-1/2")
    };
    let [pgn, games] = ["a.pgn", "games.html"].map(|name| folder.path().join(name));
    std::fs::write(&pgn, (1..40).map(round).collect::<String>()).unwrap();
    let mut report = nnuance(&["report", "--no-data"]);
    report.arg(&net).arg("-o").arg(&games).arg("--pgn").arg(&pgn).assert().success();
    let shown = std::fs::read_to_string(&games).unwrap();
    stands_alone(&shown);
    assert!(
        shown.contains("<h2>Games</h2>") && shown.contains("net's Elo is higher than material's")
    );

    // Floats and integers of a run are no rivals, and no run is named twice.
    let both = [net.join("best.safetensors"), net.join("net.bin")];
    let output = nnuance(&["compare"]).args(&both).assert().success().get_output().clone();
    assert!(!String::from_utf8_lossy(&output.stdout).contains("wins"));
    nnuance(&["compare"]).args([&net, &both[0]]).assert().failure();
    nnuance(&["report"]).args([&net, &net]).arg("-o").arg(&page).assert().failure();
    // Nothing but a page of ours is written over.
    let config = net.join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    nnuance(&["report"]).arg(&net).arg("-o").arg(&config).assert().failure();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), text);
    std::fs::remove_file(net.join("net.bin")).unwrap();
    nnuance(&["report", "--no-data"]).arg(&net).arg("-o").arg(&page).assert().success();
    assert!(std::fs::read_to_string(&page).unwrap().contains("not ended: at step"));
}

#[test]
fn a_folder_without_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let output = nnuance(&["report"]).arg(folder.path()).arg("-o").arg(&page).assert().failure();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("no folder of a run") && !page.exists(), "{said}");
}

/// A page that cannot be written is a failure, though the run stands.
#[test]
fn a_run_whose_report_cannot_be_written_fails() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train("configs/quickstart-net.toml", &run, &["model.hidden=8"]);
    let page = run.join("report.html");
    std::fs::remove_file(&page).unwrap();
    std::fs::create_dir_all(page.join("in the way")).unwrap();
    let mut resume = nnuance(&["train", "--set", "schedule.epochs=2", "--resume"]);
    let output = resume.arg(&run).assert().failure();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("its report cannot be written"), "{said}");
    assert!(run.join("net.bin").exists());
}

/// Of a target that is the same everywhere nothing is learnt, and the loss looks good.
#[test]
fn equal_scores_and_results_are_cautioned() {
    let folder = tempfile::tempdir().unwrap();
    let games = std::fs::read_to_string("data/selfplay_sf151_scored.txt").unwrap();
    let [file, config] = ["same.txt", "run.toml"].map(|name| folder.path().join(name));
    let cautions = |score: Option<&str>, result: Option<&str>, wdl: f64| {
        let line = |line: &str| {
            let [fen, own, of_game] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!() };
            format!("{fen} | {} | {}\n", score.unwrap_or(own), result.unwrap_or(of_game))
        };
        std::fs::write(&file, games.lines().take(300).map(line).collect::<String>()).unwrap();
        let text = format!(
            "version = 1\nseed = 1\n[data]\nfiles = ['{}']\nheld_out = 0\ncheck_view = false\n\
             [model]\ninputs = \"perspective\"\nhidden = 1\nactivation = \"screlu\"\n\
             [target]\nwdl = {wdl}\n\
             [schedule]\nepochs = 1\nbatch = 100\nlearning_rate = 0.001\n",
            file.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut train = nnuance(&["train", "--overwrite"]);
        let output = train.arg(&config).arg("--out").arg(folder.path().join("run")).assert();
        let said = String::from_utf8_lossy(&output.success().get_output().stderr).into_owned();
        ["every score is 0 cp", "every result is 0.5"].map(|words| said.contains(words))
    };
    assert_eq!(cautions(Some("0"), None, 0.5), [true, false]);
    assert_eq!(cautions(None, Some("0.5"), 0.5), [false, true]);
    assert_eq!(cautions(None, Some("0.5"), 0.0), [false, false], "scores alone count");
    assert_eq!(cautions(None, None, 0.5), [false, false]);
}
