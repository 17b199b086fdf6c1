//! Kinds of input that users of other programs reported as faults there.

use nnuance::engine::opening::{Openings, StartPosition};
use nnuance::engine::{SelfplayJob, play_games};
use nnuance::format::pgn::FORMAT as PGN;
use nnuance::format::{binpack, book, epd, marlinformat, text, viriformat};

use crate::formats::pgn::game;
use crate::formats::registry::{
    gz, read, read_as, read_bytes, read_source, scratch, writable, write,
};
use crate::formats::text::read_seen_by;
use crate::support::fake_engine::{Quiet, crew, fake, selfplay_job, with_fake};
use crate::support::kit::*;

const BISHOP: &str = "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq -";

fn scores(moves: &str) -> (Vec<Option<i16>>, Option<String>) {
    let file = scratch("games", game(moves).as_bytes());
    let mut source = SampleSource::open_file(&file.path, None, 0).unwrap();
    let samples = read_source(&mut source).unwrap();
    let unread = source.unread_comments().map(ToString::to_string);
    (samples.iter().map(|sample| sample.score).collect(), unread)
}

#[test]
fn scores_of_other_dialects() {
    // Pawns have a point; what begins with another number is counted.
    for (comment, score, unread) in [
        ("+0.31 12/18 90 40001", Some(31), false),
        ("-0.25 9/12", Some(-25), false),
        ("0.25/9", Some(25), false),
        ("-M2 9/12 70 39999", Some(-31_998), false),
        ("+M1", Some(31_999), false),
        ("-.5/9", Some(-50), false),
        ("+63/9 0.063s", None, true),
        ("-44 9/12", None, true),
        ("63/9", None, true),
        ("0,35/12", None, true),
        ("+0.31|12", None, true),
        ("(e2e4 e7e5) +0.31/12 5", Some(31), false),
        ("d12: 0.31", None, true),
        ("depth 12 score cp 31", None, true),
        ("ev=31, d=12", None, true),
        ("Nf3 -0.31/12", None, true),
        ("[%eval mate 3]", None, true),
        ("book, mb=+0+0+0+0+0", None, false),
        ("[%clk 0:10:05.9] [%emt 0:00:01]", None, false),
        ("[%eval 35,12]", None, true),
        ("d=9, wv=35,", None, true),
        ("1-0 in the end", None, false),
        ("1. d4 is better", None, false),
        ("2... Nf6", None, false),
        ("0:10:05", None, false),
        ("[%clk 0:10:05]", None, false),
        ("0:10:05.5 12:34.5", None, false),
        ("depth 20:+0.35", None, true),
        ("Mate in 4", None, true),
    ] {
        let (found, notice) = scores(&format!("1. e4 {{{comment}}} e5 2. Nf3"));
        assert_eq!((found, notice.is_some()), (vec![score, None, None], unread), "{comment}");
        assert!(
            notice.is_none_or(|notice| notice.starts_with("1 ") && notice.contains(comment.trim()))
        );
    }
    // Commands name them.
    let file = scratch("games.pgn", game("1. e4 {+63/9} e5 {-44/9} 2. Nf3").as_bytes());
    for command in ["stats", "doctor"] {
        let all = all_said(nnuance().args(["data", command]).arg(&file.path));
        assert!(all.contains("2 comments") && all.contains("+63/9"), "{all}");
    }
    let work = Workdir::new(&format!(
        "version = 3\ndata.files = ['{}']\nnet = {{ inputs = 'perspective', hidden = 8 }}\n\
         schedule = {{ epochs = 1, learning_rate = 0.001 }}\ntarget.wdl = 0.5\n",
        file.path.display()
    ));
    let error = complaint(&mut work.train("out", &[]));
    assert!(error.contains("no position has a score") && error.contains("+63/9"), "{error}");
}

/// Scores of numbers without another mark, by the signs of their game.
#[test]
fn signs_of_a_game_tell_whose_scores_it_has() {
    let read = |moves: &str, view: Option<PointOfView>| {
        let given = GivenViews { scores: view, results: None };
        let samples = read_seen_by(&PGN, given, game(moves).as_bytes()).unwrap();
        samples.iter().map(|sample| sample.score).collect::<Vec<_>>()
    };
    let [white, mover] = [PointOfView::White, PointOfView::SideToMove].map(Some);
    for row in [
        // OpenBench: the mover's, before the move.
        "+0.35; -0.10; 0.00; -0.20 | 0 | 35 -10 0 -20 | 35 10 0 20 | 35 -10 0 -20",
        // pgn-extract: White's, after the move.
        "0.35; -0.10; 0.00; -0.20 | 0 | - -35 -10 0 | - -35 -10 0 | - -35 10 0",
        // Neither has shown itself.
        "-0.35; -0.10; 0.00; -0.20 | 4 | - - - - | - 35 -10 0 | -35 -10 0 -20",
        // Both have.
        "0.35; -0.10; +0.10; -0.20 | 4 | - - - - | - -35 -10 -10 | 35 -10 10 -20",
        // Zero has no sign in either.
        "0.00/9; -0.10/9; -M4/9; -0.20/9 \
         | 0 | 0 -10 -31996 -20 | 0 10 -31996 20 | 0 -10 -31996 -20",
        // Not its programs, but others that write no `+`, have a depth.
        "0.35; -0.10/9; 0.00; book | 1 | - -35 - 0 | - -35 -10 0 | - -10 - 0",
        // A depth makes it the mover's, if `+` occurs.
        "0.35; -0.10/9; +0.20/9; -0.20 | 2 | - -10 20 - | - 10 20 - | 35 -10 20 -20",
        // Forms that say what they are only change sides.
        "[%eval 0.35]; 20:-0.10; d=9, wv=0.40,; X 1.0: 12:+M2 \
         | 0 | - -35 40 - | - -35 40 - | - -35 40 -",
    ] {
        // Comments, how many are not read, and scores without a key and with either.
        let [comments, unread, usual, by_white, by_mover] =
            row.split(" | ").collect::<Vec<_>>()[..]
        else {
            panic!("{row}")
        };
        let comments: Vec<&str> = comments.split("; ").collect();
        let [first, second, third, fourth] = comments[..] else { panic!("{row}") };
        let listed = |scores: &str| -> Vec<Option<i16>> {
            let score = |text: &str| (text != "-").then(|| text.parse().unwrap());
            scores.split(' ').map(score).collect()
        };
        let moves =
            format!("1. e4 {{{first}}} e5 {{{second}}} 2. Nf3 {{{third}}} Nc6 {{{fourth}}}");
        let (found, notice) = scores(&moves);
        assert_eq!(found, listed(usual), "{moves}");
        assert_eq!(read(&moves, white), listed(by_white), "{moves}");
        assert_eq!(read(&moves, mover), listed(by_mover), "{moves}");
        let count = notice.as_ref().map_or("0", |it| it.split(' ').next().unwrap());
        assert_eq!(count, unread, "{moves}");
    }
    // The key ends the notice that names it.
    let file = scratch("games.pgn", game("1. e4 {-0.35} e5 {-0.10} 2. Nf3").as_bytes());
    let convert = |more: &[&str]| {
        let words = ["data", "convert", "-o", "-", "--to", "epd"];
        said(nnuance().args(words).arg(&file.path).args(more))[1].clone()
    };
    let notice = convert(&[]);
    assert!(notice.contains("2 comments") && notice.contains("--score-view"), "{notice}");
    assert!(!convert(&["--score-view", "white"]).contains("comment"));
}

#[test]
fn scores_of_scid() {
    let text = "1. e4 { 20:+0.35} f6 { 21:+1.12} 2. d4 { Stockfish 15.1:\n22:+1.05} g5 { 12:M2} 3. \
                Qh5#";
    let (found, notice) = scores(text);
    assert_eq!(found, [None, Some(-35), Some(112), Some(-105), Some(31_997)]);
    assert_eq!(notice, None);
}

#[test]
fn forfeits_are_filtered() {
    let tagged = |(name, value)| {
        game("1. e4 e5 2. Nf3").replace("[Result", &format!("[{name} \"{value}\"]\n[Result"))
    };
    let ends = [
        ("TERMINATION", "Time forfeit"),
        ("Termination", "adjudication by disconnect"),
        ("ICCResult", "White wins on time"),
        ("Termination", "Normal"),
        ("Termination", "adjudication"),
        ("Termination", "a won by resignation"),
    ];
    let mut all = ends.map(tagged).concat();
    all += &game("1. e4 e5 2. Nf3 {White forfeits on time}");
    all += &game("1. e4 {near time forfeit} e5 2. Nf3 {drawn}");
    let samples = read_as(&PGN, all.as_bytes()).unwrap();
    assert_eq!(samples.iter().filter(|it| it.forfeit).count(), 12);
    assert_eq!(read_as(&PGN, &write(&PGN, &samples).unwrap()).unwrap(), samples);
    let file = scratch("games.pgn", all.as_bytes());
    let out = file.path.with_file_name("out.vf");
    let skip = |what, path: &Path| {
        let mut command = nnuance();
        command.args(["data", what, "--skip-forfeits"]).arg(path);
        command
    };
    said(skip("convert", &file.path).arg("-o").arg(&out));
    assert_eq!(read(&out).unwrap().len(), 12);
    assert!(complaint(&mut skip("doctor", &out)).contains("how a game ended"));
}

fn fens(text: &str) -> Vec<String> {
    let samples = read_as(&PGN, text.as_bytes()).unwrap();
    samples.iter().map(|sample| sample.position.to_fen()).collect()
}

#[test]
fn tags_in_any_case() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w Qkq - 0 1";
    for names in [["Fen", "SetUp"], ["fen", "Setup"], ["FEN", "SETUP"], ["fEN", "setup"]] {
        let [fen, set_up] = names;
        let text =
            format!("[result \"1-0\"]\n[{set_up} \"1\"]\n[{fen} \"{start}\"]\n\n1. e4 1-0\n");
        assert_eq!(fens(&text), [start]);
        let error = read_as(&PGN, format!("[{set_up} \"1\"]\n\n1. e4 1-0\n").as_bytes());
        assert!(error.unwrap_err().to_string().contains("FEN is missing"));
        let error = read_as(&PGN, format!("[{set_up} \"{start}\"]\n\n1. e4 1-0\n").as_bytes());
        assert!(error.unwrap_err().to_string().contains("FEN is missing"));
    }
    let error = read_as(&PGN, b"[variant \"Chess960\"]\n\n1. e4 1-0\n").unwrap_err().to_string();
    assert!(error.contains("without the tag FEN"), "{error}");
    assert_eq!(fens("[SetUp \"0\"]\n\n1. e4 1-0\n").len(), 1);
}

#[test]
fn moves_of_import_format() {
    let promotion = "[FEN \"1n6/P6k/8/8/8/8/8/K7 w - - 0 1\"]\n[Result \"1/2\"]\n\n";
    for (word, same) in [
        ("a8Q", "a8=Q"),
        ("a8(Q)", "a8=Q"),
        ("a8/Q", "a8=Q"),
        ("a8q", "a8=Q"),
        ("a8=q", "a8=Q"),
        ("a7-a8=N", "a8=N"),
        ("axb8R", "axb8=R"),
        ("axb8(R)", "axb8=R"),
        ("a7b8r", "axb8=R"),
        ("a7xb8=B", "axb8=B"),
        ("a8Q+", "a8=Q"),
    ] {
        let read = |word: &str, draw: &str| {
            let text = format!("{promotion}1. {word} Kg7 {draw}\n");
            read_as(&PGN, text.as_bytes()).expect(word)
        };
        assert_eq!(read(word, "1/2"), read(same, "1/2-1/2"), "{word}");
        assert_eq!(read(word, "½-½"), read(same, "½"), "{word}");
    }
    let same =
        read_bytes(game("1. e4 a6 2. e5 d5 3. exd6 Nc6 4. Nf3 e6 5. Be2 Nf6 6. O-O").as_bytes());
    let same = same.unwrap();
    for moves in [
        "1. e4 a6 2. e5 d5 3. exd6 e.p. Nc6 4. Nf3 e6 5. Be2 Nf6 6. 0-0",
        "1. e4 a6 2. e5 d5 3. exd6e.p. Nc6 4. Nf3 e6 5. Be2 Nf6 6. o-o",
        "1. e4 a6 2. e5 d5 3. exd6ep Nc6 4. Nf3 e6 5. Be2 Nf6 6. O-O",
        "1. e4 a6 2. e5 d5 3. exd6(ep) Nc6 4. Nf3 e6 5. Be2 Nf6 6. O-O",
        "1. e4 a6 2. e5 d5 3. exd6ep. e.p Nc6 4. Nf3 e6 5. Be2 Nf6 6. O-O",
        "1. e4 a6 2. e5 d5 3. ed6 ep Nc6 4. Nf3 e6 5. Be2 Nf6 6. O-O",
        "1. e2-e4 a7-a6 2. e4-e5 d7-d5 3. e5xd6 Nb8-c6 4. Ng1-f3 e7-e6 5. Bf1-e2 Ng8-f6 6. 0-0",
        // UCI.
        "1. e2e4 a7a6 2. e4e5 d7d5 3. e5d6 b8c6 4. g1f3 e7e6 5. f1e2 g8f6 6. e1g1",
    ] {
        assert_eq!(read_bytes(game(moves).as_bytes()).expect(moves), same, "{moves}");
    }
    for wrong in ["1. e4 e5 2. e5Q", "1. e4 e5 2. exd6 e.p.", "1. g1e3", "1. Ng1-e3"] {
        assert!(read_bytes(game(wrong).as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn games_between_text() {
    let one = game("1. e4 e5 2. Nf3");
    let same = read_as(&PGN, one.as_bytes()).unwrap();
    // No marker of termination, but a tag.
    let open = one.replace(" 1-0\n\n", "\n\n");
    for text in [
        format!("{open}{one}"),
        format!("{one}{open}"),
        format!("Games of a club\n\n{one}{one}"),
        format!("{one}Round two: a great fight\n\n{one}"),
        format!("{one}=====\n\n{one}"),
        format!("2 games of 2020:\n\n{one}* * *\n\n{one}"),
        format!("{one}{one}That was all, and 3 more follow.\n"),
    ] {
        assert_eq!(read_as(&PGN, text.as_bytes()).expect(&text), same.repeat(2), "{text}");
    }
    // Without a line end the last game is cut off, and moves after a result are a game.
    assert!(read_as(&PGN, open.trim_end().as_bytes()).is_err());
    assert!(read_as(&PGN, format!("{one}1. d4 d5 0-1\n").as_bytes()).is_err());
}

#[test]
fn counters_of_epd() {
    let same = format!("{BISHOP} 3 12");
    let work = Workdir::empty();
    for operations in [
        "hmvc 3; fmvn 12;",
        "fmvn 12; hmvc 3;",
        "bm e4; hmvc 3; id \"a\"; fmvn 12;",
        "hmvc\t3;fmvn 12;",
        "id \"hmvc 9; fmvn 9;\"; HMVC \"3\"; fmvn 12;",
        "3 12;",
        "3 12 bm e4;",
    ] {
        let line = format!("{BISHOP} {operations}");
        let path = work.write("book.epd", &line);
        assert_eq!(book::read_book(Path::new(&path)).unwrap()[0].to_fen(), same, "{line}");
        let [said, _] = said(nnuance().args(["eval", "material", "--fens"]).arg(&path));
        assert_eq!(said, format!("{same};0\n"), "{line}");
        for line in
            [format!("{line} c9 \"1/2-1/2\";"), format!("{line} [0.5]"), format!("{line} 1/2-1/2")]
        {
            let sample = read_as(&epd::FORMAT, line.as_bytes()).expect(&line)[0];
            assert_eq!(sample.position.to_fen(), same, "{line}");
        }
    }
    for (operations, counters) in [("hmvc 3;", "3 1"), ("fmvn 12;", "0 12"), ("", "0 1")] {
        for line in
            [format!("{BISHOP} c9 \"1-0\"; {operations}"), format!("{BISHOP} {operations} [1.0]")]
        {
            let sample = read_as(&epd::FORMAT, line.as_bytes()).expect(&line)[0];
            assert_eq!(sample.position.to_fen(), format!("{BISHOP} {counters}"), "{line}");
        }
    }
    for wrong in ["hmvc x; [0.5]", "hmvc 3 [0.5]", "hmvc 3; fmvn 12 c9 \"1-0\";"] {
        assert!(read_as(&epd::FORMAT, format!("{BISHOP} {wrong}").as_bytes()).is_err(), "{wrong}");
    }
}

/// Scores and results of a line of EPD, seen by the side to move.
fn labels(line: &str) -> Result<(Option<i16>, f32), String> {
    let read = read_as(&epd::FORMAT, line.as_bytes()).map_err(|error| error.to_string())?;
    Ok((read[0].score, read[0].result))
}

#[test]
fn scores_between_semicolons_are_read_or_refused() {
    for line in [
        "| 35 | 1.0;",
        ";35;1.0",
        "; -120; 0.5;",
        "; 35 ; 1-0",
        "; 35; [1.0]",
        "c9 \"1-0\"; 35;",
        "| 35 | c9 \"1-0\";",
        ", 35; c9 \"1-0\";",
    ] {
        for fen in [BISHOP.to_string(), format!("{BISHOP} 0 1")] {
            let error = labels(&format!("{fen} {line}")).unwrap_err();
            let is_refused = error.contains("line 1: ") || error.contains("looks like text");
            assert!(is_refused, "{error}");
        }
    }
    let error = labels(&format!("{BISHOP} 35; [1.0]")).unwrap_err();
    assert!(error.contains("`35` is no operation"), "{error}");
    // A single counter before an operation, a bracket or a quote is one.
    for line in ["3 bm e4; c9 \"1-0\";", "3 [1.0];", "3 \"1-0\""] {
        let line = format!("{BISHOP} {line}");
        let read = read_as(&epd::FORMAT, line.as_bytes()).expect(&line)[0];
        assert_eq!((read.position.halfmove(), read.result), (3, 1.0), "{line}");
    }
    let bar = format!("{BISHOP} 0 1 | 35 | ");
    for result in ["1.0;", "[1.0]", "[1.0];", "[1-0]", "1.0"] {
        let read = read_bytes(format!("{bar}{result}").as_bytes()).expect(result)[0];
        assert_eq!((read.score, read.result), (Some(35), 1.0), "{result}");
    }
    for wrong in ["[1.0", "1.0]", "[[1.0]]", "[0.7]"] {
        assert!(read_as(&text::FORMAT, format!("{bar}{wrong}").as_bytes()).is_err(), "{wrong}");
    }
}

#[test]
fn scores_of_epd_operations() {
    let black = BISHOP.replace(" w ", " b ");
    for (operations, score) in [
        ("ce 54;", Some(54)),
        ("acd 12; ce -54; hmvc 0; fmvn 5;", Some(-54)),
        ("CE +0;", Some(0)),
        ("ce 32766;", Some(31_999)),
        ("ce -32765;", Some(-31_998)),
        ("dm 1;", Some(31_999)),
        ("ce 32758; dm 5;", Some(31_991)),
        ("ce 31000; dm 12;", Some(31_977)),
        ("acd 12;", None),
    ] {
        for (fen, result) in [(BISHOP, 1.0), (&black, 0.0)] {
            for line in [format!("{operations} c9 \"1-0\";"), format!("{operations} [1-0]")] {
                let line = format!("{fen} {line}");
                assert_eq!(labels(&line), Ok((score, result)), "{line}");
            }
        }
    }
    for wrong in ["ce x;", "ce 0.5;", "ce;", "ce 40000;", "dm 0;", "dm -3;", "dm 1000;"] {
        assert!(labels(&format!("{BISHOP} {wrong} [1-0]")).is_err(), "{wrong}");
    }
    assert!(labels(&format!("{BISHOP} ce 5; [1-0] 5")).unwrap_err().contains("two scores"));
    // The file's point of view changes results alone.
    let file = scratch("a.epd", format!("{black} ce 54; c9 \"1-0\";\n{black} [1-0] 5").as_bytes());
    let source = SampleSource::open_file(&file.path, None, 0).unwrap();
    let mover = Some(PointOfView::SideToMove);
    let mut source = source.seen_by(GivenViews { scores: mover, results: mover }).unwrap();
    let read = read_source(&mut source).unwrap();
    let read: Vec<_> = read.iter().map(|it| (it.score, it.result)).collect();
    assert_eq!(read, [(Some(54), 1.0), (Some(5), 1.0)]);
}

#[test]
fn results_in_comments_of_epd() {
    for (operations, result) in [
        ("c9 1-0", 1.0),
        ("c9 1/2-1/2;", 0.5),
        ("c9 \"0.25\";", 0.25),
        ("c9 \"1\";", 1.0),
        ("c2 \"1-0\";", 1.0),
        ("c0 A-B t ? 2026.01.01; c1 1-0;", 1.0),
        ("c0 A-B t [?] 2026.01.01; c1 0-1;", 0.0),
        ("c0 \"1\"; c8 \"10 2\"; c9 \"f4f5 d4e5\"; c1 \"1/2-1/2\";", 0.5),
        ("c9 \"f4f5 d4e5\"; [1.0]", 1.0),
        ("id \"[0-1]\"; c1 1-0; c9 \"1-0\";", 1.0),
    ] {
        assert_eq!(labels(&format!("{BISHOP} {operations}")), Ok((None, result)), "{operations}");
    }
    for (wrong, reason) in [
        ("bm f5; c8 \"10 2\"; c9 \"f4f5 d4e5\";", "expected `FEN [result]`"),
        ("result 1-0;", "expected `FEN [result]`"),
        ("c9 1;", "expected `FEN [result]`"),
        ("c1 1;", "expected `FEN [result]`"),
        ("c9 \"1", "expected `FEN [result]`"),
        ("c1 1-0; c9 \"0-1\";", "two results that differ"),
        ("c1 1-0; [0.5]", "two results that differ"),
    ] {
        let error = labels(&format!("{BISHOP} {wrong}")).unwrap_err();
        assert!(error.contains(reason) && error.contains("line 1: "), "{wrong}: {error}");
    }
}

#[test]
fn games_without_moves() {
    let sound = "[Event \"b\"]\n[Result \"0-1\"]\n\n1. d4 d5 0-1\n\n";
    // The tag Result, the text after the tags, and games without a result.
    for (result, text, unfinished) in [
        ("1-0", "", 0),
        ("1-0", "{White wins by forfeit}\n\n", 0),
        ("?", " \n\n", 1),
        ("", "\r\n", 1),
        ("*", "*\n\n", 1),
        ("*", "", 1),
    ] {
        let empty = format!("[Event \"a\"]\n[Result \"{result}\"]\n\n{text}");
        for games in [format!("{empty}{sound}"), format!("{sound}{empty}")] {
            let file = scratch("games", games.as_bytes());
            let mut source = SampleSource::open_file(&file.path, None, 0).unwrap();
            assert_eq!(read_source(&mut source).unwrap().len(), 2, "{games}");
            assert_eq!(source.unfinished_games(), unfinished, "{games}");
        }
    }
    let untagged = format!("[Event \"a\"]\n\n{sound}");
    assert_eq!(read_bytes(untagged.as_bytes()).unwrap().len(), 2);
    // A file may be cut off within the tags.
    assert!(read_bytes(format!("{sound}[Event \"a\"]\n[Result \"1-0\"]\n").as_bytes()).is_err());
    assert!(read_bytes(game("1. e4 e5").replace("1-0\n", "\n").trim_end().as_bytes()).is_err());
}

#[test]
fn remedies_of_conversions_work() {
    let start = "qbbnrnkr/pppppppp/8/8/8/8/PPPPPPPP/QBBNRNKR w KQkq - 0 1";
    let chess960 = game("1. a3 a5 2. Qa2")
        .replace("[Result", &format!("[FEN \"{start}\"]\n[SetUp \"1\"]\n[Result"));
    let plain = "fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\nmove e2e4\nscore 20\nply 0\nresult 0\ne\n";
    let share = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [0.25]\n";
    for (name, text, to) in [
        ("a.pgn", chess960.as_str(), "binpack"),
        ("a.plain", plain, "vf"),
        ("a.plain", plain, "pgn"),
        ("a.epd", share, "binpack"),
        ("a.epd", share, "bf"),
    ] {
        let file = scratch(name, text.as_bytes());
        let convert = |to: &str| {
            let mut command = nnuance();
            command.args(["data", "convert"]).arg(&file.path).arg("-o");
            command.arg(file.path.with_file_name("out").with_extension(to));
            command
        };
        let error = complaint(&mut convert(to));
        assert!(error.contains("write epd, which holds any position"), "{error}");
        assert!(error.contains("skip-unfit") == (to == "bf"), "{error}");
        said(&mut convert("epd"));
    }
}

#[test]
fn nets_of_stockfish_are_named() {
    for (version, hash, name) in [
        (0x7af3_2f20_u32, 0x1c10_2ef2_u32, "a net of Stockfish 15.1, but"),
        (0x7af3_2f20, 0xec10_2ef2, "a net of Stockfish 18, but"),
        (0x6a44_8afa, 0xa85b_2205, "a net of Stockfish 19, but"),
        (0x7af3_2f20, 1, "a net of Stockfish (another version)"),
        (0x7af3_2f16, 1, "a net of Stockfish (12 or 13)"),
    ] {
        let bytes = [&version.to_le_bytes()[..], &hash.to_le_bytes(), &[7; 1000]].concat();
        let net = scratch("nn-1.nnue", &bytes);
        let error = complaint(nnuance().arg("inspect").arg(&net.path));
        assert!(error.contains(name), "{error}");
    }
}

/// A tar archive of a file; `magic` is that of its kind, empty in the oldest.
fn tar(magic: &[u8], content: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, b"games.pgn");
    put(100, b"0000644\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(148, b"        ");
    put(257, magic);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let padding = vec![0; content.len().next_multiple_of(512) - content.len() + 1024];
    [&header[..], content, &padding].concat()
}

#[test]
fn archives_are_named() {
    let work = Workdir::empty();
    let games = fs::read(GAMES).unwrap()[..40_000].to_vec();
    let pgn = game("1. e4 e5").into_bytes();
    let zst = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let tars = [tar(b"ustar\x0000", &pgn), tar(b"ustar  \0", &games), tar(b"", &games)];
    let mut all: Vec<(Vec<u8>, &str)> = Vec::new();
    for bytes in tars {
        all.extend([(gz(&bytes), "tar"), (zst(&bytes), "tar"), (bytes, "tar")]);
    }
    all.extend([
        (gz(&gz(&pgn)), "gzip"),
        (b"BZh91AY&SY\x01\x02".to_vec(), "bzip2"),
        (b"\xfd7zXZ\0\0".to_vec(), "xz"),
        (b"\x04\x22\x4d\x18".to_vec(), "lz4"),
        (b"7z\xbc\xaf\x27\x1c\0".to_vec(), "7z"),
        (b"Rar!\x1a\x07\x01".to_vec(), "rar"),
    ]);
    for (bytes, name) in all {
        for file in ["a.pgn", "a.vf", "a.txt"] {
            let path = work.write(file, &bytes);
            for arguments in
                [&["data", "stats"][..], &["data", "doctor"], &["eval", "material", "--fens"]]
            {
                let error = complaint(nnuance().args(arguments).arg(&path));
                assert!(error.contains(name) && error.contains("unpack it first"), "{error}");
            }
            assert!(book::read_book(Path::new(&path)).unwrap_err().to_string().contains(name));
        }
    }
}

#[test]
fn one_sound_game_recognises_nothing() {
    let sound = fs::read(GAMES).unwrap();
    let end = sound[32..].chunks(4).position(|word| word == [0; 4]).unwrap() * 4 + 36;
    let mut bytes = vec![1; 400];
    bytes.extend([0; 4]);
    let junk = bytes.repeat(3);
    let file = [&junk[..], &sound[..end], &junk].concat();
    assert!(!(viriformat::FORMAT.recognises)(&file));
    assert!((viriformat::FORMAT.recognises)(&[&sound[..end], &bytes].concat()));
}

/// A text in an encoding of two or four bytes a letter.
fn wide(text: &str, width: usize, big: bool, mark: bool) -> Vec<u8> {
    let mark = if mark { "\u{feff}" } else { "" };
    let letters = mark.chars().chain(text.chars()).map(u32::from);
    let bytes = |letter: u32| match big {
        true => letter.to_be_bytes()[4 - width..].to_vec(),
        false => letter.to_le_bytes()[..width].to_vec(),
    };
    letters.flat_map(bytes).collect()
}

#[test]
fn text_of_other_encodings() {
    let work = Workdir::empty();
    let lines = format!("{BISHOP} 0 1 | 3 | 0.5\n");
    let config =
        "version = 2\n[data]\nfiles = [\"a.txt\"]\n[net]\nhidden = 16\n[schedule]\nepochs = 1\n";
    let weights = fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    for (width, big) in [(2, false), (2, true), (4, false), (4, true)] {
        for mark in [true, false] {
            let wide = |text: &str| wide(text, width, big, mark);
            let name = if width == 2 { "UTF-16" } else { "UTF-32" };
            let data = work.write("a.txt", wide(&lines));
            let games = work.write("a.pgn", wide(&game("1. e4 e5")));
            let packed = work.write("a.gz", gz(&wide(&lines)));
            work.write("run.toml", wide(config));
            let json = work.write("terms.json", wide(&weights));
            let stats = |path: &str| complaint(nnuance().args(["data", "stats"]).arg(path));
            let eval = |one: &str| complaint(nnuance().args(["eval", one, "--fens", &data]));
            for error in [
                stats(&data),
                stats(&games),
                stats(&packed),
                eval("material"),
                eval(&json),
                book::read_book(Path::new(&data)).unwrap_err().to_string(),
                complaint(&mut work.train("out", &[])),
            ] {
                assert!(error.contains(name) && error.contains("save it as UTF-8"), "{error}");
            }
        }
    }
    // The mark of UTF-8 is no part of a text.
    let json = work.write("terms.json", format!("\u{feff}{weights}"));
    let net = work.write("n.bin", fs::read(QUICKSTART).unwrap());
    let manifest = fs::read_to_string("nets/quickstart-32.json").unwrap();
    work.write("n.json", wide(&manifest, 2, true, true));
    assert!(complaint(nnuance().args(["eval", &net, "--fens", &json])).contains("UTF-16"));
    work.write("n.json", format!("\u{feff}{manifest}"));
    said(nnuance().args(["eval", &net, &format!("{BISHOP} 0 1")]));
    let fens = work.write("a.txt", format!("\u{feff}{lines}"));
    said(nnuance().args(["eval", &json, "--fens", &fens]));
    // Occupied squares may be the bytes of a mark.
    let start = "4k3/8/8/8/8/8/1PPPPPPP/RNBQKBNR w KQ - 0 1";
    let sample = Sample::from_position(Position::from_fen(start).unwrap());
    let bytes = write(&marlinformat::FORMAT, &[Sample { score: Some(3), ..sample }]).unwrap();
    assert!(bytes.starts_with(b"\xff\xfe"));
    assert_eq!(read_as(&marlinformat::FORMAT, &bytes.repeat(3)).unwrap().len(), 3);
}

/// A game of so many half-moves, without pawn moves.
fn long_game(plies: usize) -> Vec<Sample> {
    let text = "Nf3 Nf6 Ng1 Ng8 ".repeat(plies.div_ceil(4));
    let samples = read_as(&PGN, game(text.trim()).as_bytes()).unwrap();
    samples[..plies].to_vec()
}

#[test]
fn what_is_written_can_be_read() {
    // Both limits, and one beyond.
    for plies in [16_384, 16_385, 40_000] {
        let samples = long_game(plies);
        let scored = samples.iter().map(|it| Sample { score: Some(5), ..*it });
        let scored: Vec<_> = scored.collect();
        for format in [&viriformat::FORMAT, &binpack::FORMAT, &PGN] {
            match write(format, &scored) {
                Ok(bytes) => {
                    let back = read_as(format, &bytes).unwrap();
                    assert_eq!(back.len(), plies, "{} {plies}", format.name);
                    let same = |(a, b): (&Sample, &Sample)| (a.score, a.ply) == (b.score, b.ply);
                    assert!(back.iter().zip(&scored).all(same));
                }
                Err(_) => {
                    assert!(plies > 16_384 && format.name != "pgn", "{} {plies}", format.name)
                }
            }
        }
    }
    // Extremes of single values.
    let [sample, ..] = long_game(4)[..] else { unreachable!() };
    let high = Position::from_fen("k7/8/8/8/8/8/8/K7 b - - 255 65535").unwrap();
    let values =
        [i16::MIN, -32_767, -32_002, -31_999, -31_000, 0, 31_000, 32_000, 32_002, i16::MAX];
    for score in values.map(Some).into_iter().chain([None]) {
        for ply in [0, 16_383, 16_384, u16::MAX] {
            for position in [sample.position, high] {
                let base = Sample { score, ply: Some(ply), ..sample };
                let sample =
                    if position == high { Sample { position, played: None, ..base } } else { base };
                for format in writable() {
                    let Ok(bytes) = write(format, &[sample]) else { continue };
                    let back = read_as(format, &bytes).expect(format.name);
                    assert_eq!(
                        (back.len(), back[0].score),
                        (1, score),
                        "{} {sample:?}",
                        format.name
                    );
                }
            }
        }
    }
}

#[test]
fn games_in_viriformat_may_lack_scores() {
    let samples =
        read_as(&PGN, game("1. e4 {+0.31/9} e5 2. Nf3 {book} Nc6 {-0.2/9}").as_bytes()).unwrap();
    let bytes = write(&viriformat::FORMAT, &samples).unwrap();
    assert_eq!(read_as(&viriformat::FORMAT, &bytes).unwrap(), samples);
}

fn dedup(lines: &str) -> usize {
    let file = scratch("lines.txt", lines.as_bytes());
    let out = file.path.with_file_name("out.txt");
    said(nnuance().args(["data", "dedup", "--overwrite"]).arg(&file.path).arg("-o").arg(&out));
    fs::read_to_string(out).unwrap().lines().count()
}

#[test]
fn en_passant_counts_where_a_capture_is_legal() {
    for (board, square, count) in [
        ("8/8/8/K2pP2r/8/8/8/7k w -", "d6", 1),
        ("8/8/8/K1pP3r/8/8/8/7k w -", "c6", 1),
        ("4r2k/8/8/3pP3/8/8/8/4K3 w -", "d6", 1),
        ("7k/6b1/8/3pP3/3K4/8/8/8 w -", "d6", 1),
        ("7K/8/8/8/k2Pp2R/8/8/8 b -", "d3", 1),
        ("4k3/8/8/3pP3/8/8/8/4K3 w -", "d6", 2),
        ("4k3/8/8/3p1P2/8/8/8/4K3 w -", "d6", 1),
    ] {
        let lines = format!("{board} {square} 0 1 | 20 | 0.5\n{board} - 0 1 | 20 | 0.5\n");
        assert_eq!(dedup(&lines), count, "{board}");
        let fen = |square: &str| Position::from_fen(&format!("{board} {square} 0 1")).unwrap();
        let [with, without] =
            [square, "-"].map(|square| Sample::from_position(fen(square)).split_group());
        assert_eq!(with == without, count == 1, "{board}");
    }
}

#[test]
fn unknown_games_beside_known_ones() {
    let known = long_game(12).into_iter().map(|it| Sample { score: Some(1), ..it });
    let known: Vec<Sample> = known.collect();
    let chain = write(&binpack::FORMAT, &known).unwrap();
    let single: Vec<Sample> = known[..5].iter().map(|it| Sample { game: None, ..*it }).collect();
    let bytes = [chain, write(&binpack::FORMAT, &single).unwrap()].concat();
    let file = scratch("mixed.binpack", &bytes);
    let stats = said(nnuance().args(["data", "stats"]).arg(&file.path))[0].clone();
    let doctor = nnuance().args(["data", "doctor"]).arg(&file.path).output().unwrap().stdout;
    for text in [stats, String::from_utf8(doctor).unwrap()] {
        let text = one_line(&text);
        assert!(
            text.contains("12 positions of 1 game, and 5 positions of unknown games"),
            "{text}"
        );
    }
}

#[test]
fn windows_paths_in_configs() {
    let rest = "\n[net]\ninputs = \"perspective\"\nhidden = 16\n[schedule]\nepochs = 1\nlearning_rate = 0.001\n";
    let refused = |files: &str, sets: &[&str]| {
        let work = Workdir::new(&format!("version = 3\n[data]\nfiles = {files}{rest}"));
        complaint(&mut work.train("out", sets))
    };
    let sound = "[\"games.vf\"]";
    for (files, sets) in [
        ("[\"C:\\Users\\me\\games.vf\"]", &[][..]),
        ("[\"C:\\temp\\new.vf\"]", &[]),
        ("[\"C:\\data\\a.vf\"]", &[]),
        ("[\"a.vf\", \"D:\\backup\\b.vf\"]", &[]),
        (sound, &["data.files=[\"C:\\temp\\x.vf\"]"]),
        (sound, &["data.files=[\"C:\\Users\\x.vf\"]"]),
        (sound, &["data.files=[\"C:\\new.vf\"]"]),
    ] {
        let error = refused(files, sets);
        assert!(error.contains("begins an escape") && error.contains('\''), "{error}");
        assert!(!error.contains(|letter: char| letter.is_control() && letter != '\n'), "{error}");
    }
    assert!(refused("['C:\\new\\a.vf']", &[]).contains("C:\\new\\a.vf"));
    // Control characters of data and paths are escaped.
    let file = scratch("lines.txt", b"\x1b[31mred\x07 | 1 | 2\n");
    let error = complaint(nnuance().args(["data", "stats", "--format", "text"]).arg(&file.path));
    assert!(!error.contains('\x1b') && !error.contains('\x07'), "{error}");
    let error = complaint(nnuance().args(["data", "stats", "no\x1b[31mfile"]));
    assert!(!error.contains('\x1b'), "{error}");
    let game = |white: &str, black: &str| {
        format!("[White \"{white}\"]\n[Black \"{black}\"]\n[Result \"1-0\"]\n\n1. e4 1-0\n\n")
    };
    let games = game("\x1b[31mred", "b") + &game("b", "\x1b[31mred");
    let file = scratch("games.pgn", games.as_bytes());
    let [printed, _] = said(nnuance().args(["match", "--from"]).arg(&file.path));
    assert!(printed.contains("[31mred") && !printed.contains('\x1b'), "{printed}");
}

#[test]
fn moves_without_a_score() {
    let folder = Workdir::empty();
    // On every second position the engine gives no exact score.
    let players = crew(fake(&[("Bound", "2".into())]), 2);
    for (name, format) in
        [("a.vf", &viriformat::FORMAT), ("a.pgn", &PGN), ("a.binpack", &binpack::FORMAT)]
    {
        let job = selfplay_job(folder.root_path(), name, format, players.clone());
        let openings = Openings { start: StartPosition::Standard, ..job.openings };
        let job = SelfplayJob { openings, ..job };
        let report = play_games(&job, &Quiet).unwrap();
        assert_eq!((report.written, report.skipped.len()), (8, 0));
        let samples = read(&job.output).unwrap();
        let unscored = samples.iter().filter(|sample| sample.score.is_none()).count();
        assert!(unscored > 0 && unscored < samples.len(), "{unscored}");
    }
    // They are no failures in a match, to whose programs arguments are passed.
    let mut command = nnuance();
    command.args(["match", "material", "--pairs", "3", "--nodes", "30", "--json"]);
    assert_eq!(json(with_fake(&mut command).args(["--option", "Bound=1"]))["forfeits"], 0);
}
