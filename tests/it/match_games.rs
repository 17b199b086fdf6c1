//! The file that a match leaves: read back whole, and the same however often the match was killed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use nnuance::digest;
use nnuance::engine::journal::path_of;
use nnuance::format::Source;
use nnuance::format::pgn::{Annotated, Ply, scoresheets};
use nnuance::run::arena::noted;
use nnuance::run::played;
use nnuance::sample::{Played, Position, mix};
use nnuance::score::Score;
use serde_json::Value;
use shakmaty::{Chess, Position as _, uci::UciMove};

const NET: &str = "nets/quickstart-32.bin";
const TERMS: &str = "tests/it/fixtures/pesto.json";

fn command(arguments: &[&str], pgn: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    // One thread, so that there is time to kill it.
    command.args(["match", "--threads", "1"]).args(arguments).arg("--pgn").arg(pgn);
    command
}

fn matched(arguments: &[&str], pgn: &Path) -> Output {
    command(arguments, pgn).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_written_is_read_back() {
    // White mates in two from a position that is none of the usual start; Black answers.
    let start = Position::from_fen("6k1/5ppp/8/8/8/8/5PPP/1R2R1K1 b - - 3 20").unwrap();
    let start = start.to_chess().unwrap();
    let mut chess: Chess = start.clone();
    let plies: Vec<Ply> = [("g8f8", Score::Mate(-1)), ("e1e8", Score::Mate(1))]
        .into_iter()
        .map(|(word, score)| {
            let played = word.parse::<UciMove>().unwrap().to_move(&chess);
            let played = played.unwrap_or_else(|_| panic!("{word}"));
            chess.play_unchecked(played);
            Ply { played, score: Some(noted(score)), depth: 7 }
        })
        .collect();
    let game = Annotated {
        event: "a \"quoted\\ match",
        round: "3.1".into(),
        players: ["one", "two"],
        tags: vec![("Nodes", "1000".into())],
        start: &start,
        plies: &plies,
        white_result: 1.0,
    };
    let mut bytes = Vec::new();
    game.write(&mut bytes).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains("\n20... Kf8 {-M2/7} 21. Re8"), "{text}");
    assert!(text.contains("{+M1/7} 1-0\n\n"), "{text}");
    let sheet = &scoresheets(Box::new(std::io::Cursor::new(bytes.clone()))).unwrap()[0];
    assert_eq!(sheet.tag("Event"), Some("a \"quoted\\ match"));
    assert_eq!((sheet.tag("Round"), sheet.tag("Site")), (Some("3.1"), None));
    assert_eq!(sheet.white_result, Some(1.0));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.pgn");
    std::fs::write(&path, &bytes).unwrap();
    let samples = samples(&path);
    let read: Vec<_> = samples.iter().map(|it| (it.played.unwrap(), it.score.unwrap())).collect();
    let written =
        plies.iter().map(|it| (Played::from_move(&it.played).unwrap(), it.score.unwrap()));
    assert_eq!(read, written.collect::<Vec<_>>());
    assert_eq!(samples.iter().map(|it| it.result).collect::<Vec<_>>(), [0.0, 1.0]);
    for (score, centipawns) in [
        (Score::Centipawns(-35), -35),
        (Score::Centipawns(31_000), 30_999),
        (Score::Mate(1), 31_999),
        (Score::Mate(3), 31_995),
        (Score::Mate(-3), -31_994),
        (Score::Mate(i32::MIN), -31_000),
    ] {
        assert_eq!(noted(score), centipawns);
    }
}

fn samples(path: &Path) -> Vec<nnuance::sample::Sample> {
    let mut source = Source::open(path, None, 0).unwrap();
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while source.next_block(&mut block).unwrap() {
        all.append(&mut block);
    }
    all.append(&mut block);
    all
}

#[test]
fn the_games_of_a_match_tell_what_it_told_and_are_data() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("match.pgn");
    let arguments = [NET, "material", "--pairs", "8", "--nodes", "60", "--json"];
    let output = matched(&arguments, &pgn);
    assert!(output.status.success(), "{}", said(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = played::read(std::slice::from_ref(&pgn)).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    let counts = serde_json::to_value(read.played.meetings[0].pairs).unwrap();
    assert_eq!(counts, told["meetings"][0]["counts"]);
    assert_eq!(read.played.names, ["quickstart-32.bin", "material"]);
    let fact = |name: &str| read.played.manner.iter().find(|it| it.0 == name).unwrap().1.clone();
    assert_eq!((fact("nodes a move"), fact("games")), ("60".to_string(), "16".to_string()));
    assert_eq!(fact("openings"), "8 to 9 random half-moves");
    let text = std::fs::read_to_string(&pgn).unwrap();
    let digest = digest::short_of_file(Path::new(NET)).unwrap();
    assert_eq!(text.matches(&digest).count(), 16);
    // Each move is a position to learn from, with a score and a game.
    let samples = samples(&pgn);
    assert!(samples.len() > 16 * 8 && samples.iter().all(|it| it.score.is_some()));
    let games: std::collections::HashSet<_> = samples.iter().map(|it| it.game.unwrap()).collect();
    assert!((9..=16).contains(&games.len()), "{}", games.len());
    assert!(samples.iter().filter(|it| it.ply == Some(9)).count() >= 14);
    // A comparison knows the player again.
    let output = Command::new(env!("CARGO_BIN_EXE_nnuance"))
        .args(["compare", "material", NET, "--data", "data/selfplay-sf15.vf", "--json", "--pgn"])
        .arg(&pgn)
        .output()
        .unwrap();
    assert!(!said(&output).contains("cannot be told: the games"), "{}", said(&output));
    let compared: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(compared["games"]["zero"], "quickstart-32.bin");

    // What is there is not replaced unasked, and the games stay those of one match.
    let again = matched(&arguments, &pgn);
    assert!(said(&again).contains("exists already") && said(&again).contains("--overwrite"));
    assert_eq!(std::fs::read_to_string(&pgn).unwrap(), text);
    let other = matched(&[&arguments[..], &["--overwrite", "--seed", "2"]].concat(), &pgn);
    assert!(other.status.success(), "{}", said(&other));
    assert_ne!(std::fs::read_to_string(&pgn).unwrap(), text);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Runs a match, kills it again and again until it comes to its end, and gives what it said then.
fn killed(arguments: &[&str], pgn: &Path) -> (Output, u64) {
    let mut kills = 0;
    loop {
        let mut child =
            command(arguments, pgn).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(50 + mix(7, kills) % 400));
        if kills == 10 || child.try_wait().unwrap().is_some() {
            return (child.wait_with_output().unwrap(), kills);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
}

#[test]
fn a_match_that_was_killed_tells_the_same() {
    for (which, arguments) in [
        &[NET, "material", "--pairs", "70", "--nodes", "150"][..],
        &[NET, "material", TERMS, "--pairs", "20", "--nodes", "150"],
        &[NET, TERMS, "--sprt", "0,60", "--pairs", "400", "--nodes", "150"],
    ]
    .into_iter()
    .enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        let [whole, parts] = ["a.pgn", "b.pgn"].map(|name| folder.path().join(name));
        let once = matched(arguments, &whole);
        assert!(once.status.success(), "{}", said(&once));
        let (last, kills) = killed(arguments, &parts);
        assert!(last.status.success() && kills > 0, "{which}: {kills}, {}", said(&last));
        let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(text(&last), text(&once), "{which}");
        let read = |path: &PathBuf| std::fs::read(path).unwrap();
        assert!(read(&whole) == read(&parts), "{which}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn parts_of_a_match_tell_what_the_whole_tells() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [NET, "material", TERMS, "--pairs", "5", "--nodes", "60"];
    let played = |part: &str| {
        let pgn = folder.path().join(format!("{}.pgn", part.replace('/', "-")));
        let output = matched(&[&arguments[..], &["--json", "--part", part]].concat(), &pgn);
        assert!(output.status.success(), "{}", said(&output));
        (pgn, output)
    };
    let (whole, told) = played("1/1");
    let parts = ["1/2", "2/2"].map(|part| played(part).0);
    let read = |path: &PathBuf| std::fs::read(path).unwrap();
    assert!(parts.each_ref().map(read).concat() == read(&whole));
    let mut from = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let from = from.args(["match", "--json", "--from"]).args(parts).output().unwrap();
    assert!(from.status.success(), "{}", said(&from));
    let [told, from] = [told, from].map(|it| serde_json::from_slice::<Value>(&it.stdout).unwrap());
    assert_eq!(from["meetings"], told["meetings"]);
    assert_eq!(from["ratings"], told["ratings"]);
}

#[test]
fn a_match_goes_on_only_as_it_was_begun() {
    let folder = tempfile::tempdir().unwrap();
    let pgn = folder.path().join("match.pgn");
    let arguments = [NET, "material", "--pairs", "4000", "--nodes", "60"];
    let mut child = command(&arguments, &pgn).stdout(Stdio::null()).spawn().unwrap();
    let journal = path_of(&pgn);
    let begun = || std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"bytes\""));
    while !begun() {
        thread::sleep(Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none());
    }
    let busy = matched(&arguments, &pgn);
    assert!(said(&busy).contains("another run is writing"), "{}", said(&busy));
    child.kill().unwrap();
    child.wait().unwrap();
    let other = matched(&[NET, "material", "--pairs", "4000", "--nodes", "61"], &pgn);
    assert!(said(&other).contains("begun with Nodes = 60, now it is 61"), "{}", said(&other));
    let read = played::read(std::slice::from_ref(&pgn)).unwrap();
    assert!(read.notes.iter().any(|note| note.contains("has not ended")), "{:?}", read.notes);
}
