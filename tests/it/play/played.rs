//! Matches read from their games: pairs, players, and what comparisons make of them.

use std::fmt::Write as _;

use nnuance::digest;
use nnuance::report::elo::PairCounts;
use nnuance::run::played::{self, Match};

use crate::formats::registry::START;
use crate::support::kit::*;
const TERMS: &str = "tests/it/fixtures/pesto.json";

/// A game as tournament programs write it, with these tags after those of players and result.
pub fn game([white, black]: [&str; 2], result: &str, tags: &[(&str, &str)]) -> String {
    let mut text = format!("[Event \"a match\"]\n[White \"{white}\"]\n[Black \"{black}\"]\n");
    writeln!(text, "[Result \"{result}\"]").unwrap();
    for (name, value) in tags {
        writeln!(text, "[{name} \"{value}\"]").unwrap();
    }
    text + "\n1. e4 {+0.31/12 0.10s} e5 {-0.25/11 0.09s} 2. Ke2 {-M8/20 0.1s} " + result + "\n\n"
}

/// A pair of a round, as its first player sees it: "1-0" and "0-1" are two games won.
fn pair([first, second]: [&str; 2], round: usize, results: [&str; 2]) -> String {
    let round = round.to_string();
    let tags = [("Round", &round[..]), ("FEN", START), ("SetUp", "1")];
    game([first, second], results[0], &tags) + &game([second, first], results[1], &tags)
}

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("match.pgn");
    fs::write(&path, text).unwrap();
    path
}

fn read(text: &str) -> Result<Match, String> {
    let folder = Workdir::empty();
    played::read_matches(&[written(folder.root_path(), text)]).map_err(|error| format!("{error:#}"))
}

#[test]
fn rounds_pair_games_in_any_order() {
    let both = ["a", "b"];
    let rounds = [["1-0", "0-1"], ["1/2-1/2", "1-0"], ["0-1", "1/2-1/2"]];
    let rounds = rounds.iter().enumerate().map(|(round, results)| pair(both, round, *results));
    let text: String = rounds.collect();
    let games: Vec<&str> = text.split("[Event").skip(1).collect();
    let shuffled: String = [3, 0, 5, 1, 4, 2].map(|at| format!("[Event{}", games[at])).concat();
    for text in [&text, &shuffled] {
        let Match { played, notes, .. } = read(text).unwrap();
        let mut meetings = played.meetings.clone();
        if played.names[0] == "b" {
            meetings[0].pairs = meetings[0].pairs.reverse_players();
        }
        assert_eq!(meetings[0].pairs, PairCounts([0, 2, 0, 0, 1]), "{text}");
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn consecutive_games_pair_without_rounds() {
    let tags = |round, fen| [("Round", round), ("FEN", fen), ("SetUp", "1")];
    let other = "1nbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQk - 0 1";
    let one = |players, result, round, fen| game(players, result, &tags(round, fen));
    let (ab, ba) = (["a", "b"], ["b", "a"]);
    // A separate round for each game, as cutechess counts if it repeats openings.
    let text = [
        one(ab, "1-0", "1", START),
        one(ba, "1/2-1/2", "2", START),
        one(ab, "0-1", "3", other),
        // Another opening, then one with an unfinished game.
        one(ba, "0-1", "4", START),
        one(ab, "*", "5", START),
        one(ba, "1-0", "6", START),
    ];
    let found = read(&text.concat()).unwrap();
    assert_eq!(found.played.meetings[0].pairs, PairCounts([0, 0, 0, 1, 0]));
    let note = &found.notes[0];
    assert!(note.contains("4 games"), "{note}");
}

#[test]
fn wrong_matches_are_refused() {
    let good = pair(["a", "b"], 1, ["1-0", "0-1"]);
    for (text, why) in [
        (good.replacen("\"1-0\"", "\"2-0\"", 1), ", game 1, line 1: the tag Result is `2-0`"),
        (good.replace("[White \"a\"]\n", ""), ", line 1: "),
        (good.replace("\"b\"", "\"a\""), ", line 1: a plays against itself"),
        ("no games here\n".to_string(), " holds no pairs of games"),
    ] {
        let error = read(&text).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains("match.pgn") && error.contains(why), "{error} | {why}");
    }
    assert!(played::read_matches(&["no/such.pgn".into()]).is_err());
    // A truncated file loses its last game only.
    let cut = good.clone() + &good[..good.len() - 20];
    let found = read(&cut).unwrap();
    assert_eq!(found.played.meetings[0].pairs.len(), 1);
}

/// The net beats material and a foreign engine, which beats material.
fn ladder(digest: &str) -> String {
    let mut text = String::new();
    for round in 0..40 {
        let second = if round % 4 == 0 { "1-0" } else { "0-1" };
        for two in [
            ["quickstart-32.bin", "material"],
            ["quickstart-32.bin", "other"],
            ["other", "material"],
        ] {
            text += &pair(two, round, ["1-0", second]);
        }
    }
    let tagged = |side: &str| format!("[{side} \"quickstart-32.bin\"]\n");
    for side in ["White", "Black"] {
        let with = format!("{}[{side}Digest \"{digest}\"]\n", tagged(side));
        text = text.replace(&tagged(side), &with);
    }
    text
}

#[test]
fn comparisons_have_elo() {
    let folder = Workdir::empty();
    let digest = digest::short_of_file(Path::new(QUICKSTART)).unwrap();
    let pgn = written(folder.root_path(), &ladder(&digest));
    let data = ["--data", GAMES, "--json", "--pgn"];
    let report =
        json(nnuance().args(["compare", "material", QUICKSTART, TERMS]).args(data).arg(&pgn));
    let row = |name: &str| {
        let all = report["evaluations"].as_array().unwrap();
        all.iter().find(|it| it["name"] == name).unwrap()["elo"].clone()
    };
    assert_eq!(report["games"]["zero"], "quickstart-32.bin");
    assert_eq!(row("quickstart-32.bin")["value"], 0.0);
    assert!(row("material")["value"].as_f64().unwrap() < -200.0);
    assert!(row("pesto.json").is_null());
}

#[test]
fn forfeits_are_counted_where_games_say_how_they_ended() {
    let both = |ends: [&str; 2]| {
        let tags = |end| [("Round", "1"), ("FEN", START), ("SetUp", "1"), ("Termination", end)];
        game(["a", "b"], "1-0", &tags(ends[0])) + &game(["b", "a"], "0-1", &tags(ends[1]))
    };
    let forfeits = |text: &str| read(text).unwrap().forfeits;
    assert_eq!(forfeits(&both(["time forfeit", "normal"])), Some(1));
    assert_eq!(forfeits(&both(["abandoned", "rules infraction"])), Some(2));
    assert_eq!(forfeits(&both(["adjudication", "normal"])), Some(0));
    assert_eq!(forfeits(&pair(["a", "b"], 1, ["1-0", "0-1"])), None);
    let folder = Workdir::empty();
    let path = written(folder.root_path(), &both(["time forfeit", "normal"]));
    let [_, remarks] = said(nnuance().args(["match", "--from"]).arg(&path));
    assert!(remarks.contains("1 game lost on time or by failures"), "{remarks}");
    let unknown = written(folder.root_path(), &pair(["a", "b"], 1, ["1-0", "0-1"]));
    assert!(json(nnuance().args(["match", "--json", "--from"]).arg(unknown))["forfeits"].is_null());
}
