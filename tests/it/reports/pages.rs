//! `nnuance report`, and the page that `train` leaves.

use crate::support::kit::*;

fn train(config: &str, folder: &Path, sets: &[&str]) {
    let few = ["data.limit=20000", "data.held_out=0.4", "schedule.epochs=1"];
    let sets = few.iter().chain(sets).flat_map(|set| ["--set", set]);
    said(program::train(config, folder).args(sets));
}

fn headings(html: &str) -> Vec<String> {
    let parts = html.split("<h2>").skip(1);
    parts.map(|part| part.split("</h2>").next().unwrap().to_string()).collect()
}

#[test]
fn pages_of_runs_and_games() {
    let folder = Workdir::empty();
    let [net, other, terms] = ["net", "a & b", "terms"].map(|name| folder.path(name));
    train("configs/quickstart-net.toml", &net, &["net.hidden=16"]);
    train("configs/quickstart-net.toml", &other, &["net.hidden=8", "seed=2"]);
    train("configs/hce-pst.toml", &terms, &[]);
    let read = |page: &Path| fs::read_to_string(page).unwrap();
    let own = read(&net.join("report.html"));
    let parts = ["Comparison", "Training", "Phases", "Calibration", "Disagreements"];
    for html in [&own, &read(&terms.join("report.html"))] {
        stands_alone(html);
        assert_eq!(headings(html)[..parts.len()], parts);
        assert!(html.len() < 3_000_000 && html.contains("Content-Security-Policy"));
    }
    // What was trained stands before its comparison, and the ranking above all.
    let (head, _) = own.split_once("<nav").unwrap();
    let (above, _) = head.split_once("class=\"facts\"").unwrap();
    assert!(above.contains("Loss against results") && above.matches("<circle").count() == 3);
    let (_, made) = head.split_once("<p class=\"soft made\">").unwrap();
    let made = made.split("</p>").next().unwrap();
    let version = concat!("nnuance ", env!("CARGO_PKG_VERSION"), ", 2");
    assert!(made.starts_with("trained in ") && made.contains(version), "{made}");
    assert!(made.contains(" UTC, CPU, ") && !own.contains("http-equiv=\"refresh\""), "{made}");
    assert!(own.contains(" to move, result ") && own.contains("href=\"#piece-k\""));
    assert!(head.contains("-&gt; 16)x2") && head.contains("pieces"), "{head}");
    let names = |html: &str| -> Vec<String> {
        let names = html.split("<li class=\"soft\"><b>").skip(1);
        names.map(|it| it.split("</b>").next().unwrap().to_string()).collect()
    };
    assert_eq!(names(&own), ["net", "material", "score"]);

    let page = folder.path("all.html");
    let report = |runs: &[&Path], page: &Path| {
        let mut command = nnuance();
        command.arg("report").args(runs).arg("-o").arg(page);
        command
    };
    said(&mut report(&[&net, &other, &terms], &page));
    let html = read(&page);
    stands_alone(&html);
    assert_eq!(names(&html), ["net", "a &amp; b", "terms", "material", "score"]);
    // Measured on the same positions as at the end of training, though the limit excluded some.
    let basis = |html: &str| -> String {
        let (before, after) = html.split_once(" positions of ").unwrap();
        let (_, positions) = before.rsplit_once("<p>").unwrap();
        format!("{positions} of {}", after.split(" games").next().unwrap())
    };
    assert_eq!(basis(&html), basis(&own));
    // Games set Elo beside the loss.
    let pgn = folder.path("match.pgn");
    let players = [net.to_str().unwrap(), "material"];
    said(nnuance().arg("match").args(players).args(["--pairs", "4", "--pgn"]).arg(&pgn));
    said(report(&[&net, &other], &page).arg("--pgn").arg(&pgn));
    let html = read(&page);
    stands_alone(&html);
    let (head, _) = html.split_once("<nav").unwrap();
    assert!(head.contains("<figcaption>Elo") && head.contains("By 8 games"), "{head}");
    // Only a page of ours is replaced, and no run is named twice.
    let config = net.join("config.toml");
    let text = read(&config);
    complaint(&mut report(&[&net], &config));
    complaint(&mut report(&[&net, &net], &folder.path("twice.html")));
    complaint(&mut report(&[folder.root_path()], &folder.path("none.html")));
    assert_eq!(read(&config), text);
}

/// Terms have values, boards and mobility, and the gain over the start weights, on their page and in
/// `inspect`.
#[test]
fn pages_of_terms() {
    let folder = Workdir::empty();
    let [run, page] = ["run", "terms.html"].map(|name| folder.path(name));
    let used = "terms.use=[\"material\", \"psqt\", \"mobility\"]";
    train("configs/hce-pst.toml", &run, &["data.limit=200000", "schedule.epochs=4", used]);
    let own = fs::read_to_string(run.join("report.html")).unwrap();
    let inspect = |path: &Path| {
        let mut command = nnuance();
        command.arg("inspect").arg(path);
        command
    };
    let [text, _] = said(inspect(&run).arg("-o").arg(&page));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let gain = "(95 %, paired)";
    assert!(text.contains("start weights") && text.contains("queen"), "{text}");
    let inspected = fs::read_to_string(&page).unwrap();
    for html in [&own, &inspected] {
        stands_alone(html);
        let headings = headings(html);
        for title in ["Before and after", "Pieces", "Squares", "Mobility"] {
            assert!(headings.iter().any(|it| it == title), "{title}: {headings:?}");
        }
        assert!(html.contains(gain) && html.contains("<figcaption>king, endgame<"));
    }
    // The same terms without their run have no start.
    let json_file = run.join("terms.json");
    let [text, _] = said(inspect(&json_file).arg("-o").arg(&page));
    assert!(!text.contains("start weights") && text.contains("queen"), "{text}");
    assert!(!fs::read_to_string(&page).unwrap().contains(gain));

    let found = json(inspect(&run).arg("--json"));
    let weights = HceWeights::from_json(&fs::read_to_string(&json_file).unwrap()).unwrap();
    let value = |name: &str| {
        let place = weights.list.terms.iter().position(|term| term.name == name).unwrap();
        weights.values[place]
    };
    let close = |found: &Value, right: f64| (found.as_f64().unwrap() - right).abs() < 0.011;
    let (role, boards) = (&found["terms"]["squares"][1][0], &found["terms"]["squares"][1][1]);
    let right = value("material.knight")[1] + value("psqt.knight.e4")[1];
    assert!(role == "knight" && close(&boards[1][28], right), "{boards}");
    let (role, reach) = (&found["terms"]["mobility"][0][0], &found["terms"]["mobility"][0][1]);
    assert!(role == "knight" && close(&reach[8][0], value("mobility.knight.8")[0]), "{reach}");
}

/// The start of piece-square tables is plain material.
#[test]
fn gain_is_that_of_a_comparison() {
    let folder = Workdir::empty();
    let run = folder.path("run");
    train("configs/hce-pst.toml", &run, &[]);
    let compared = json(nnuance().args(["compare", "material", "--json"]).arg(&run));
    let found = json(nnuance().args(["inspect", "--json"]).arg(&run));
    let pair = |comparison: &Value| comparison["pairs"][0]["difference"].clone();
    assert_eq!(pair(&found["tuning"]), pair(&compared));
    assert_eq!(found["tuning"]["measured_on"], compared["measured_on"]);
}
