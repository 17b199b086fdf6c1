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

    for run in [&net, &terms] {
        let html = std::fs::read_to_string(run.join("report.html")).unwrap();
        stands_alone(&html);
        let headings = headings(&html);
        for part in ["Training", "Settings", "Comparison", "Slices", "Calibration"] {
            assert!(headings.iter().any(|it| it == part), "{part} is not among {headings:?}");
        }
        assert!(html.len() < 3_000_000, "{} bytes", html.len());
    }

    // What a reader wants to know first stands before all sections, and the score is no winner.
    let html = std::fs::read_to_string(net.join("report.html")).unwrap();
    let lead = html.split("<section").next().unwrap();
    for text in
        ["Content-Security-Policy", "How good?", "% (95 % interval", "training loss there 0."]
    {
        assert!(lead.contains(text), "{text}");
    }
    assert!(!html.contains("score wins") && html.contains("it is the bound, from a search"));
    let html = std::fs::read_to_string(net.join("report.html")).unwrap();
    // Floats and integers of a run are one evaluation; every name is explained.
    let comparison = html.split("<h2>Comparison</h2>").nth(1).unwrap();
    let comparison = comparison.split("</section>").next().unwrap();
    assert!(!html.contains(">net/best</td>") && comparison.contains("the floats of the same run"));
    for name in ["<b>net</b>", "<b>material</b>", "<b>score</b>"] {
        assert!(comparison.contains(name), "{name}");
    }

    let page = folder.path().join("all.html");
    let output = nnuance(&["report", "--out"]).arg(&page).args([&net, &other, &terms]).assert();
    let said = String::from_utf8_lossy(&output.success().get_output().stdout).into_owned();
    assert!(said.contains("all.html"), "{said}");
    let html = std::fs::read_to_string(&page).unwrap();
    stands_alone(&html);
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    // What differs is shown, and what is named is escaped.
    for text in ["In what they differ", "model.hidden", "a &amp; b", "material", "score"] {
        assert!(html.contains(text), "{text}");
    }
    // A run competes once, so that its floats make no verdict harder to reach.
    for name in ["net", "a &amp; b", "terms", "material", "score"] {
        assert!(html.contains(&format!("<li class=\"soft\"><b>{name}</b>")), "{name}");
    }
    assert_eq!(html.matches("<li class=\"soft\"><b>").count(), 5);
    // Games are shown with what they tell, and evaluations stand against their losses.
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
    let section = shown.split("<h2>Games</h2>").nth(1).unwrap().split("</section>").next().unwrap();
    for text in ["net's Elo is higher than material's", "nodes a move: 900", "aria-label=\"Elo"] {
        assert!(section.contains(text), "{text}: {section}");
    }
    assert!(shown.contains("whether net/net has changed since it played"));
    let both = [net.join("best.safetensors"), net.join("net.bin")];
    let output = nnuance(&["compare"]).args(&both).assert().success().get_output().clone();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("wins"), "{said}");
    let twice = nnuance(&["compare"]).args([&net, &both[0]]).assert().failure();
    let said = String::from_utf8_lossy(&twice.get_output().stderr).into_owned();
    assert!(said.contains("are the same evaluation"), "{said}");
    // Measured on the same positions as at the end of training, though the limit left some out.
    let basis = |html: &str| -> String {
        let from = html.find("<p>On ").unwrap();
        html[from..].split(" games").take(1).collect()
    };
    assert_eq!(basis(&html), basis(&std::fs::read_to_string(net.join("report.html")).unwrap()));

    // Nothing but a page of ours is written over, and no run counts twice.
    let config = net.join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    nnuance(&["report"]).arg(&net).arg("-o").arg(&config).assert().failure();
    assert_eq!(std::fs::read_to_string(&config).unwrap(), text);
    nnuance(&["report"]).arg(&net).arg("-o").arg(&page).assert().success();
    nnuance(&["report"]).args([&net, &net]).arg("-o").arg(&page).assert().failure();
    std::fs::remove_file(net.join("net.bin")).unwrap();
    nnuance(&["report", "--no-data"]).arg(&net).arg("-o").arg(&page).assert().success();
    assert!(std::fs::read_to_string(&page).unwrap().contains("not ended: at step"));

    let headings = headings(&html);
    for part in ["Disagreements", "Integers", "Data"] {
        assert!(headings.iter().any(|it| it == part), "{part} is not among {headings:?}");
    }
}

#[test]
fn what_is_no_run_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let output = nnuance(&["report"]).arg(folder.path()).arg("-o").arg(&page).assert().failure();
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("no folder of a run"), "{said}");
    assert!(!page.exists());
}

/// Integers that cost something stand beside their floats.
#[test]
fn a_net_that_lost_much_is_not_taken_for_its_floats() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("coarse");
    train("configs/quickstart-net.toml", &run, &["model.hidden=8"]);
    let [best, net] = ["best.safetensors", "net.bin"].map(|name| run.join(name));
    for name in ["net.bin", "net.json", "net.safetensors"] {
        std::fs::remove_file(run.join(name)).unwrap();
    }
    let export =
        nnuance(&["export", "--qa", "7", "--qb", "3"]).arg(&best).arg("-o").arg(&net).assert();
    export.success();
    let page = folder.path().join("page.html");
    nnuance(&["report", "--no-data"]).arg(&run).arg("-o").arg(&page).assert().success();
    let html = std::fs::read_to_string(&page).unwrap();
    for name in ["<b>coarse/best</b>", "<b>coarse/net</b>"] {
        assert!(html.contains(name), "{name}");
    }
    assert!(!html.contains("the floats of the same run"));
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
