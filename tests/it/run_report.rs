//! `nnuance report`, and the page that `train` leaves.

use crate::kit::*;

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
    let folder = tempfile::tempdir().unwrap();
    let [net, other, terms] = ["net", "a & b", "terms"].map(|name| folder.path().join(name));
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
    // What was trained stands before its comparison.
    let (head, _) = own.split_once("<nav").unwrap();
    assert!(head.contains("-&gt; 16)x2") && head.contains("pieces"), "{head}");
    let names = |html: &str| -> Vec<String> {
        let names = html.split("<li class=\"soft\"><b>").skip(1);
        names.map(|it| it.split("</b>").next().unwrap().to_string()).collect()
    };
    assert_eq!(names(&own), ["net", "material", "score"]);

    let page = folder.path().join("all.html");
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
    // Only a page of ours is replaced, and no run is named twice.
    let config = net.join("config.toml");
    let text = read(&config);
    complaint(&mut report(&[&net], &config));
    complaint(&mut report(&[&net, &net], &folder.path().join("twice.html")));
    complaint(&mut report(&[folder.path()], &folder.path().join("none.html")));
    assert_eq!(read(&config), text);
}
