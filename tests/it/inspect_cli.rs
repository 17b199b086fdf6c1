//! `nnuance inspect` as a user sees it.

use assert_cmd::Command;
use serde_json::Value;

use crate::draw::stands_alone;

fn inspect(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.arg("inspect").args(args).args(["--positions", "4000"]);
    command
}

const NET: &str = "nets/quickstart-32.bin";
const DATA: [&str; 2] = ["--data", "data/selfplay-sf15.vf"];

#[test]
fn text_json_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let [page, maps] = ["net.html", "maps.png"].map(|name| folder.path().join(name));
    let text = inspect(&[NET]).args(DATA).arg("-o").arg(&page).assert().success();
    let text = String::from_utf8_lossy(&text.get_output().stdout).into_owned();
    for word in ["(768 -> 32)x2 -> 1", "dead", "queen", "psqt", "material"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    stands_alone(&html);
    for title in ["Neurons", "Weights", "Pieces", "Squares", "Terms"] {
        assert!(html.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    let json = inspect(&[NET, "--json"]).args(DATA).arg("-o").arg(&maps).assert().success();
    let found: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(found["activity"]["neurons"].as_array().unwrap().len(), 32);
    assert_eq!(std::fs::read(&maps).unwrap()[1..4], *b"PNG");
}

#[test]
fn what_is_missing_is_said() {
    let said = |command: &mut Command| {
        String::from_utf8_lossy(&command.assert().failure().get_output().stderr).into_owned()
    };
    let without = said(&mut inspect(&["tests/it/fixtures/none.bin"]));
    assert!(without.contains("none.bin"), "{without}");
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("net.bin");
    std::fs::copy(NET, &net).unwrap();
    let unknown = said(&mut inspect(&[net.to_str().unwrap()]));
    assert!(unknown.contains("--data"), "{unknown}");
    let picture = said(inspect(&[NET]).args(DATA).args(["-o", "net.gif"]));
    assert!(picture.contains(".html") && picture.contains(".png"), "{picture}");
}

#[test]
fn what_cannot_be_meant_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (net, html) = (path("net.bin"), path("data.html"));
    std::fs::copy(NET, &net).unwrap();
    std::fs::copy(DATA[1], &html).unwrap();
    let own = path("own.json");
    let pesto = std::fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    std::fs::write(&own, pesto.replacen('{', "{ \"terms\": \"own\",", 1)).unwrap();
    for (args, expected) in [
        (&["--hce", NET][..], "is no JSON of handcrafted weights"),
        (&["--hce", &own], "which only the engine can count"),
        (&["--activation", "relu"], "activation is screlu, not relu"),
        (&["--data", &html, "-o", &html], "the pictures would overwrite"),
        (&["-o", "/dev/null/x.html"], "cannot write /dev/null/x.html"),
    ] {
        let mut command = inspect(&[NET]);
        if args[0] != "--data" {
            command.args(DATA);
        }
        let said = command.args(args).assert().failure().get_output().stderr.clone();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(&html).unwrap(), std::fs::read(DATA[1]).unwrap());
    // Handcrafted terms have no neurons, but pieces are worth something.
    let pesto = "tests/it/fixtures/pesto.json";
    let bare = inspect(&[pesto]).assert().failure().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&bare).contains("name files of positions with --data"));
    let terms = inspect(&[pesto, "--json"]).args(DATA).assert().success();
    let terms: Value = serde_json::from_slice(&terms.get_output().stdout).unwrap();
    let pieces = terms["terms"]["pieces"].as_array().unwrap();
    let queen = pieces[4]["tuned"][0].as_f64().unwrap();
    // Material of 1025, and squares that are worth little on average.
    assert!(pieces.len() == 5 && (1000.0..1060.0).contains(&queen), "{terms}");
    let drawn = inspect(&[pesto, "-o", "x.html"]).args(DATA).assert().failure();
    assert!(String::from_utf8_lossy(&drawn.get_output().stderr).contains("no pictures"));
    // Capitals are an ending, too.
    inspect(&[NET]).args(DATA).args(["-o", &path("maps.PNG")]).assert().success();
}

#[test]
fn columns_without_numbers_are_left_out_with_their_reason() {
    let text = |args: &[&str]| {
        let output = inspect(&[NET]).args(DATA).args(args).assert().success();
        String::from_utf8_lossy(&output.get_output().stdout).into_owned()
    };
    let untuned = text(&[]);
    assert!(!untuned.contains("written mg") && untuned.contains("same on every square"));
    assert!(untuned.contains("over 4,000 positions") && untuned.contains("of other games"));
    let tuned = text(&["--hce", "tests/it/fixtures/pesto.json"]);
    assert!(tuned.contains("written mg") && !tuned.contains("same on every square"), "{tuned}");
}

#[test]
fn few_positions_of_unknown_games_are_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("few.epd");
    std::fs::write(&file, "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0]\n").unwrap();
    let page = folder.path().join("net.html");
    let args = [NET, "--data", file.to_str().unwrap(), "-o", page.to_str().unwrap()];
    let output = inspect(&args).assert().success().get_output().stdout.clone();
    let text = String::from_utf8(output).unwrap();
    assert!(!text.contains("- cp of the net"), "{text}");
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains("below -1.88") && html.contains("from 2.88") && !html.contains(": 1 weights")
    );
}
