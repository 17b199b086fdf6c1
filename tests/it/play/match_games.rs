//! The file of a match: read back completely, and the same however often the match was killed.

use nnuance::digest;
use nnuance::format::pgn::{AnnotatedGame, AnnotatedPly, read_scoresheets};
use nnuance::run::played;
use nnuance::score::Score;

use crate::formats::registry as formats;
use crate::support::fake_engine::with_fake;
use crate::support::kit::*;
const TERMS: &str = "tests/it/fixtures/pesto.json";

fn command(arguments: &[&str], pgn: &Path) -> Command {
    let mut command = nnuance();
    // One thread, so that there is time for a kill.
    command.args(["match", "--threads", "1"]).args(arguments).arg("--pgn").arg(pgn);
    command
}

#[test]
fn written_games_are_read_back() {
    // White mates in two from an unusual start position; Black answers.
    let start = Position::from_fen("6k1/5ppp/8/8/8/8/5PPP/1R2R1K1 b - - 3 20").unwrap();
    let start = start.to_chess().unwrap();
    let mut chess: Chess = start.clone();
    let plies: Vec<AnnotatedPly> = [("g8f8", Score::Mate(-1)), ("e1e8", Score::Mate(1))]
        .into_iter()
        .map(|(word, score)| {
            let played = word.parse::<UciMove>().unwrap().to_move(&chess);
            let played = played.unwrap_or_else(|_| panic!("{word}"));
            chess.play_unchecked(played);
            AnnotatedPly { played, score: Some(score), depth: 7 }
        })
        .collect();
    let game = AnnotatedGame {
        event: "a \"quoted\\ match",
        round: "3.1".into(),
        players: ["one", "two"],
        tags: vec![("Nodes", "1000".into())],
        start: &start,
        plies: &plies,
        white_result: 1.0,
    };
    let mut bytes = Vec::new();
    game.write_game(&mut bytes).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains("\n20... Kf8 {-M2/7} 21. Re8"), "{text}");
    assert!(text.contains("{+M1/7} 1-0\n\n"), "{text}");
    let sheet = &read_scoresheets(Box::new(std::io::Cursor::new(bytes.clone()))).unwrap()[0];
    assert_eq!(sheet.find_tag("Event"), Some("a \"quoted\\ match"));
    assert_eq!((sheet.find_tag("Round"), sheet.find_tag("Site")), (Some("3.1"), None));
    assert_eq!(sheet.white_result, Some(1.0));
    let samples = formats::read_bytes(&bytes).unwrap();
    let read: Vec<_> = samples.iter().map(|it| (it.played.unwrap(), it.score.unwrap())).collect();
    let written = plies.iter().map(|it| PlayedMove::from_move(&it.played).unwrap());
    assert_eq!(read, written.zip([-31_998, 31_999]).collect::<Vec<_>>());
    assert_eq!(samples.iter().map(|it| it.result).collect::<Vec<_>>(), [0.0, 1.0]);
    for (score, text) in [
        (Score::Centipawns(-35), "{-0.35/7}"),
        (Score::Centipawns(31_000), "{+309.99/7}"),
        (Score::Mate(3), "{+M5/7}"),
        (Score::Mate(-3), "{-M6/7}"),
        (Score::Mate(i32::MIN), "{-M1000/7}"),
    ] {
        let mut bytes = Vec::new();
        let plies = [AnnotatedPly { score: Some(score), ..plies[0] }];
        AnnotatedGame { plies: &plies, ..game.clone() }.write_game(&mut bytes).unwrap();
        assert!(String::from_utf8(bytes).unwrap().contains(text), "{text}");
    }
}

#[test]
fn games_are_results_and_data() {
    let folder = Workdir::empty();
    let pgn = folder.path("match.pgn");
    let arguments = [QUICKSTART, "material", "--pairs", "8", "--nodes", "60", "--json"];
    let summary = json(&mut command(&arguments, &pgn));
    let read = played::read_matches(std::slice::from_ref(&pgn)).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    let counts = serde_json::to_value(read.played.meetings[0].pairs).unwrap();
    assert_eq!(counts, summary["meetings"][0]["pairs"]);
    assert_eq!(read.played.names, ["quickstart-32.bin", "material"]);

    let text = fs::read_to_string(&pgn).unwrap();
    let digest = digest::short_of_file(Path::new(QUICKSTART)).unwrap();
    assert_eq!(text.matches(&digest).count(), 16);
    // Each move is a position with a score and a game.
    let samples = formats::read(&pgn).unwrap();
    assert!(samples.len() > 16 * 8 && samples.iter().all(|it| it.score.is_some()));
    let games: HashSet<_> = samples.iter().map(|it| it.game.unwrap()).collect();
    assert!((9..=16).contains(&games.len()), "{}", games.len());
    assert!(samples.iter().filter(|it| it.ply == Some(9)).count() >= 14);
    // A file is only replaced on request, and its games stay those of one match.
    let other = [&arguments[..], &["--seed", "2"]].concat();
    assert!(complaint(&mut command(&other, &pgn)).contains("--overwrite"));
    assert_eq!(fs::read_to_string(&pgn).unwrap(), text);
    said(command(&arguments, &pgn).args(["--overwrite", "--seed", "2"]));
    assert_ne!(fs::read_to_string(&pgn).unwrap(), text);
    assert_eq!(folder.names().len(), 1);
}

/// Runs a match, kills it again and again until it ends by itself; standard output, and the kills.
fn killed(arguments: &[&str], pgn: &Path) -> (String, u64) {
    let mut kills = 0;
    loop {
        let mut command = command(arguments, pgn);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(20 + mix_hash(7, kills) % 300));
        if kills == 10 || child.try_wait().unwrap().is_some() {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            return (String::from_utf8(output.stdout).unwrap(), kills);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
}

#[test]
fn killed_and_resumed() {
    for arguments in [
        &[QUICKSTART, "material", "--pairs", "70", "--nodes", "150"][..],
        &[QUICKSTART, "material", TERMS, "--pairs", "20", "--nodes", "150"],
        &[QUICKSTART, TERMS, "--sprt", "0,60", "--pairs", "400", "--nodes", "150"],
    ] {
        let folder = Workdir::empty();
        let [whole, parts] = ["a.pgn", "b.pgn"].map(|name| folder.path(name));
        let [once, _] = said(&mut command(arguments, &whole));
        let (last, kills) = killed(arguments, &parts);
        assert!(last == once && kills > 0, "{arguments:?}: {kills} {last}");
        assert!(fs::read(&whole).unwrap() == fs::read(&parts).unwrap(), "{arguments:?}");
        assert_eq!(folder.names().len(), 2);
    }
}

/// A kill may come when all is done but the end of the program.
#[test]
fn a_complete_match_prints_its_result_again() {
    let folder = Workdir::empty();
    let pgn = folder.path("match.pgn");
    for (name, arguments) in [
        ("two.pgn", &[QUICKSTART, "material", "--pairs", "5", "--nodes", "40"][..]),
        ("three.pgn", &[QUICKSTART, "material", TERMS, "--pairs", "3", "--nodes", "40"]),
        (
            "sprt.pgn",
            &[QUICKSTART, "material", "--pairs", "90", "--nodes", "60", "--sprt", "0,200"],
        ),
    ] {
        let pgn = pgn.with_file_name(name);
        let [once, _] = said(&mut command(arguments, &pgn));
        let games = fs::read(&pgn).unwrap();
        assert_eq!(said(&mut command(arguments, &pgn))[0], once, "{name}");
        assert!(fs::read(&pgn).unwrap() == games, "{name}");
        for other in [&["--seed", "2"][..], &["--bound", "300"]] {
            let error = complaint(command(arguments, &pgn).args(other));
            assert!(error.contains("exists already"), "{name}: {error}");
        }
        said(command(arguments, &pgn).arg("--overwrite"));
        assert!(fs::read(&pgn).unwrap() == games, "{name}");
    }
}

#[test]
fn parts_equal_the_whole() {
    let folder = Workdir::empty();
    let arguments = [QUICKSTART, "material", TERMS, "--pairs", "5", "--nodes", "60", "--json"];
    let played = |part: &str| {
        let pgn = folder.path(format!("{}.pgn", part.replace('/', "-")));
        let summary = json(command(&arguments, &pgn).args(["--part", part]));
        (pgn, summary)
    };
    let (whole, summary) = played("1/1");
    let parts = ["1/2", "2/2"].map(|part| played(part).0);
    let read = |path: &PathBuf| fs::read(path).unwrap();
    assert!(parts.each_ref().map(read).concat() == read(&whole));
    let from = json(nnuance().args(["match", "--json", "--from"]).args(parts));
    assert_eq!((&from["meetings"], &from["ratings"]), (&summary["meetings"], &summary["ratings"]));
}

#[test]
fn only_the_same_match_is_resumed() {
    let folder = Workdir::empty();
    let pgn = folder.path("match.pgn");
    let arguments = [QUICKSTART, "material", "--pairs", "4000", "--nodes", "60"];
    let mut child = command(&arguments, &pgn).stdout(Stdio::null()).spawn().unwrap();
    let journal = path_of(&pgn);
    let begun = || fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"bytes\""));
    while !begun() {
        thread::sleep(Duration::from_millis(20));
        assert!(child.try_wait().unwrap().is_none());
    }
    complaint(&mut command(&arguments, &pgn));
    child.kill().unwrap();
    child.wait().unwrap();
    let other = [QUICKSTART, "material", "--pairs", "4000", "--nodes", "61"];
    assert!(complaint(&mut command(&other, &pgn)).contains("Nodes"));
}

fn summary(arguments: &[&str]) -> Value {
    json(nnuance().arg("match").args(arguments))
}

fn pairs(summary: &Value) -> u64 {
    let counts = summary["meetings"][0]["pairs"].as_array().unwrap();
    counts.iter().map(|it| it.as_u64().unwrap()).sum()
}

const SHORT: [&str; 5] = ["--pairs", "32", "--nodes", "100", "--json"];

#[test]
fn same_match_for_any_threads() {
    let once = summary(&[&[QUICKSTART, "material", "--threads", "1"], &SHORT[..]].concat());
    let again = summary(&[&[QUICKSTART, "material", "--threads", "3"], &SHORT[..]].concat());
    assert_eq!(once, again);
    let verdict = &once["verdicts"][0];
    assert_eq!(verdict["decided"], true, "{once}");
    assert_eq!(verdict["weaker"], "material");
    assert_eq!(pairs(&once), 32);
}

/// The fake engine answers at once and badly; a program with this play loses.
#[test]
fn programs_take_part_and_clocks_run() {
    let play =
        |more: &[&str]| json(with_fake(nnuance().args(["match", "material", "--json"])).args(more));
    for pace in [["--nodes", "60"], ["--time", "1+0.01"]] {
        let summary = play(&[&["--pairs", "4"], &pace[..]].concat());
        let program = std::env::current_exe().unwrap();
        assert_eq!(summary["players"][1], program.file_name().unwrap().to_str().unwrap());
        assert_eq!((pairs(&summary), summary["forfeits"].as_u64()), (4, Some(0)));
    }
    // Sometimes it exits: it loses, and continues with the next game.
    let summary = play(&["--option", "Crash=97", "--pairs", "6"]);
    assert!(pairs(&summary) == 6 && summary["forfeits"].as_u64() > Some(0), "{summary}");
    // It always exits, and the match ends before a game: with other options it may start again.
    let folder = Workdir::empty();
    let pgn = folder.path("match.pgn");
    let mut broken = command(&["material", "--pairs", "1"], &pgn);
    let said = complaint(with_fake(&mut broken).args(["--option", "Crash=1"]));
    assert!(said.contains("cannot continue the match") && said.contains("no network"), "{said}");
    assert_eq!(said.matches("no network").count(), 1, "{said}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

const MATE: &str = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3";
const QUEEN_UP: &str = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

#[test]
fn finished_positions_of_a_book_are_left_out() {
    let folder = Workdir::empty();
    let [book, pgn] = ["book.epd", "match.pgn"].map(|name| folder.path(name));
    let kings = "8/8/4k3/8/8/4K3/8/8 w - - 0 1";
    let starts = ["e4", "d4", "c4"].map(|played| {
        let mut chess = Chess::default();
        let legal = played.parse::<shakmaty::san::San>().unwrap().to_move(&chess).unwrap();
        chess.play_unchecked(legal);
        Position::from_chess(&chess).to_fen()
    });
    fs::write(&book, [MATE, &starts[0], &starts[1], kings, &starts[2]].join("\n")).unwrap();
    let mut arguments = vec![QUICKSTART, "material", "--nodes", "20", "--pairs", "3"];
    let play = |arguments: &[&str]| {
        let mut play = command(arguments, &pgn);
        play.arg("--book").arg(&book);
        play
    };
    let [_, remarks] = said(&mut play(&arguments));
    assert!(remarks.contains("2 finished positions left out, the first"), "{remarks}");
    assert!(remarks.contains(MATE), "{remarks}");
    assert_eq!(fs::read_to_string(&pgn).unwrap().matches("[FEN ").count(), 6);
    let mate = folder.path("mate.epd");
    fs::write(&mate, MATE).unwrap();
    let [none, random] = [&["--pairs", "1"][..], &["--random-plies", "2"]].map(|more| {
        complaint(nnuance().args(["match", QUICKSTART, "material", "--book"]).arg(&mate).args(more))
    });
    assert!(none.contains("finished positions alone, 1 of them; give another book"), "{none}");
    assert_eq!(none, random);
    arguments[5] = "4";
    let error = complaint(play(&arguments).arg("--overwrite"));
    assert!(error.contains("3 positions beside 2 that are finished"), "{error}");
}

#[test]
fn books_are_played_as_they_are() {
    let folder = Workdir::empty();
    let [book, pgn] = ["book.epd", "match.pgn"].map(|name| folder.path(name));
    fs::write(&book, QUEEN_UP).unwrap();
    let arguments = [QUICKSTART, "material", "--nodes", "20", "--pairs", "1"];
    let play = |more: &[&str]| {
        let mut play = command(&arguments, &pgn);
        play.arg("--book").arg(&book).args(more).arg("--overwrite");
        play
    };
    said(&mut play(&[]));
    assert_eq!(fs::read_to_string(&pgn).unwrap().matches("[FEN ").count(), 2);
    let error = complaint(&mut play(&["--bound", "100"]));
    assert!(error.contains("a match plays a book as it is"), "{error}");
    let error = complaint(&mut play(&["--bound", "100", "--random-plies", "1"]));
    assert!(error.contains("within 100 cp for both sides; raise --bound"), "{error}");
}
