//! Games of engines against themselves.

use std::sync::Mutex;

use nnuance::engine::game::{Adjudication, Ending, Referee};
use nnuance::engine::opening::{Openings, StartPosition, chess960_start};
use nnuance::engine::{EngineError, Score, SelfplayJob, play_games};
use nnuance::format::{binpack, bulletformat, pgn, viriformat};
use shakmaty::{Board, EnPassantMode};

use crate::support::fake_engine::*;
use crate::support::kit::*;

#[test]
fn every_array_of_chess960() {
    for number in 0..960 {
        let chess = chess960_start([number; 2]);
        assert_eq!(*chess.board(), Board::chess960(number.into()), "{number}");
        assert_eq!(chess.castles().castling_rights().count(), 4);
        let other = chess960_start([number, 959 - number]);
        let back = Position::from_chess(&other);
        assert_eq!(back.to_chess().unwrap(), other);
    }
    assert_eq!(chess960_start([518; 2]), Chess::new());
}

#[test]
fn scores_in_sixteen_bits() {
    for (score, centipawns) in [
        (Score::Centipawns(35), 35),
        (Score::Centipawns(-5), -5),
        (Score::Centipawns(1_000_000), 31_000),
        (Score::Mate(1), 31_999),
        (Score::Mate(-2), -31_998),
        (Score::Mate(0), -32_000),
        (Score::Mate(i32::MIN), -31_001),
    ] {
        assert_eq!(score.to_centipawns(), centipawns);
    }
}

#[test]
fn referee_ends_games() {
    let rules = Adjudication::default();
    let chess = |fen: &str| Position::from_fen(fen).unwrap().to_chess().unwrap();
    // Knights go out and back: the first position occurs for the third time after eight moves.
    let play = |fen: &str, moves: &str, scores: &dyn Fn(usize) -> i16| {
        let mut chess = chess(fen);
        let mut referee = Referee::new(rules, &chess);
        for (i, word) in moves.split(' ').cycle().enumerate().take(600) {
            let mover = chess.turn();
            let legal = word.parse::<UciMove>().unwrap().to_move(&chess).unwrap();
            chess.play_unchecked(legal);
            if let Some(ending) = referee.add_move(Some(scores(i)), mover, &chess) {
                return (i + 1, ending);
            }
        }
        panic!("the game does not end");
    };
    let knights = "g1f3 g8f6 f3g1 f6g8";
    let start = Chess::new();
    let start = Fen::from_position(&start, EnPassantMode::Legal).to_string();
    assert_eq!(play(&start, knights, &|_| 100), (8, Ending::Repetition));
    // Both sides agree that White wins; then they disagree.
    let white = |i: usize| if i.is_multiple_of(2) { 1000 } else { -1000 };
    assert_eq!(play(&start, knights, &white), (6, Ending::Won(Color::White)));
    assert_eq!(play(&start, knights, &|i| -white(i)), (6, Ending::Won(Color::Black)));
    assert_eq!(play(&start, knights, &|_| 1000), (8, Ending::Repetition));
    assert_eq!(Ending::Won(Color::Black).white_result(), 0.0);
    // Level scores count only late: 17 half-moves without a repetition.
    let long = "e1d1 e8d8 d1c1 d8c8 c1b1 c8b8 b1a1 b8a8 a1a2 a8a7 a2b2 a7b7 b2c2 b7c7 c2d2 c7d7 \
                d2e2 d7e7 e2f2 e7f7";
    let fen = |clock: u32, number: u32| format!("4k3/8/7p/8/8/7P/8/4K3 w - - {clock} {number}");
    assert_eq!(play(&fen(0, 50), long, &|_| 8), (16, Ending::Level));
    assert_eq!(play(&fen(0, 33), long, &|_| -8), (16, Ending::Level));
    assert_eq!(play(&fen(0, 32), long, &|_| 0), (18, Ending::Level));
    assert_eq!(play(&fen(90, 50), long, &|i| if i == 2 { 9 } else { 8 }), (10, Ending::FiftyMoves));
    assert_eq!(Referee::is_over(&chess("8/8/8/8/8/8/8/K1k2N2 w - - 0 1")), Some(Ending::Material));
    let mated = chess("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1");
    assert_eq!(Referee::is_over(&mated), Some(Ending::Checkmate(Color::White)));
    let stale = chess("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1");
    assert_eq!(Referee::is_over(&stale), Some(Ending::Stalemate));
    assert_eq!(Referee::is_over(&chess(&fen(0, 1))), None);
}

#[test]
fn games_depend_on_seed_and_number() {
    let folder = Workdir::empty();
    let job = selfplay_job(folder.root_path(), "a.vf", &viriformat::FORMAT, crew(fake(&[]), 1));
    play_games(&job, &Quiet).unwrap();
    let games = games_of(&job.output);
    assert_eq!(games.len(), 8);
    let firsts: HashSet<_> = games.iter().map(|game| game[0].position).collect();
    assert_eq!(firsts.len(), 8);
    for game in &games {
        assert!(game.len() <= 40 && game.len() > 2);
        assert!((2..=5).contains(&game[0].ply.unwrap()));
        for sample in game {
            let chess = sample.position.to_chess().unwrap();
            assert_eq!(sample.score.unwrap() as i32, fake_search(&chess).0);
        }
        assert!(game[0].score.unwrap().abs() <= 250);
    }

    // Fewer games, more engines: the same ones. Another seed: others.
    let (output, crew) = (folder.path("b.vf"), crew(fake(&[]), 3));
    let fewer = SelfplayJob { output, games: 5, range: 0..5, crew, ..job };
    play_games(&fewer, &Quiet).unwrap();
    let bytes = fs::read(&fewer.output).unwrap();
    assert!(folder.bytes("a.vf").starts_with(&bytes));
    let output = folder.path("r.vf");
    let rest = SelfplayJob { output, games: 8, range: 5..8, ..fewer.clone() };
    play_games(&rest, &Quiet).unwrap();
    let parts = [bytes, fs::read(&rest.output).unwrap()].concat();
    assert!(folder.bytes("a.vf") == parts);
    let other = SelfplayJob { output: folder.path("c.vf"), seed: 43, ..fewer };
    play_games(&other, &Quiet).unwrap();
    assert!(games_of(&other.output).iter().all(|game| !firsts.contains(&game[0].position)));
}

#[test]
fn games_from_a_book() {
    let folder = Workdir::empty();
    let book = folder.path("book.epd");
    let lines = "# openings\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n\n\
                 rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1\n\
                 rnbqkbnr/pppppppp/8/8/2P5/8/PP1PPPPP/RNBQKBNR b KQkq - hmvc 0; fmvn 1;\n";
    fs::write(&book, lines).unwrap();
    let job = selfplay_job(folder.root_path(), "a.vf", &viriformat::FORMAT, crew(fake(&[]), 1));
    let openings = Openings { start: StartPosition::Book(book.clone()), plies: (0, 0), bound: 300 };
    let job = SelfplayJob { openings, games: 3, range: 0..3, ..job };
    play_games(&job, &Quiet).unwrap();
    let games = games_of(&job.output);
    let firsts: HashSet<_> = games.iter().map(|game| game[0].position.to_fen()).collect();
    assert_eq!((games.len(), firsts.len()), (3, 3));
    assert!(firsts.iter().all(|fen| fen.ends_with(" 0 1") && fen.contains(" b ")), "{firsts:?}");

    let more = SelfplayJob { games: 4, range: 0..4, output: folder.path("b.vf"), ..job };
    let error = play_games(&more, &Quiet).unwrap_err().to_string();
    assert!(error.contains("3 positions"), "{error}");
    fs::write(&book, format!("{lines}8/8/8 w - -\n")).unwrap();
    let error = play_games(&more, &Quiet).unwrap_err().to_string();
    assert!(error.contains("book.epd, line 6"), "{error}");
}

#[test]
fn formats_hold_the_same_games() {
    let folder = Workdir::empty();
    let viri = selfplay_job(folder.root_path(), "a.vf", &viriformat::FORMAT, crew(fake(&[]), 2));
    // Binpacks do not castle as Chess960 does.
    let openings = Openings { start: StartPosition::Standard, ..viri.openings };
    let viri = SelfplayJob { openings, ..viri };
    play_games(&viri, &Quiet).unwrap();
    let games = games_of(&viri.output);
    assert_eq!(games.len(), 8);
    let facts = |sample: &Sample| {
        assert!(sample.game.is_some());
        (sample.position, sample.score, sample.result, sample.played, sample.game)
    };
    for (format, name) in [(&pgn::FORMAT, "a.pgn"), (&binpack::FORMAT, "a.binpack")] {
        let job = SelfplayJob { format, output: folder.path(name), ..viri.clone() };
        play_games(&job, &Quiet).unwrap();
        let made: Vec<_> = read(&job.output).iter().map(facts).collect();
        assert_eq!(made, games.iter().flatten().map(facts).collect::<Vec<_>>(), "{name}");
    }
    let job = SelfplayJob { format: &bulletformat::FORMAT, output: folder.path("a.bf"), ..viri };
    let error = play_games(&job, &Quiet).unwrap_err();
    assert!(matches!(error, EngineError::NoGames("bulletformat")), "{error}");
    assert!(!job.output.exists());
}

#[test]
fn games_with_failures_are_skipped() {
    let folder = Workdir::empty();
    let good = selfplay_job(folder.root_path(), "good.vf", &viriformat::FORMAT, crew(fake(&[]), 2));
    play_games(&good, &Quiet).unwrap();
    let engine = fake(&[("Crash", "41".into())]);
    let job = SelfplayJob { output: folder.path("bad.vf"), crew: crew(engine, 2), ..good.clone() };
    let report = play_games(&job, &Quiet).unwrap();
    assert!(report.skipped.len() > 1 && report.written > 1, "{report:?}");
    assert_eq!(report.written + report.skipped.len() as u64, 8);
    let skipped: HashSet<u64> = report.skipped.iter().map(|skip| skip.item).collect();
    let mut expected = games_of(&good.output);
    let mut number = 0..;
    expected.retain(|_| !skipped.contains(&number.next().unwrap()));
    assert_eq!(games_of(&job.output), expected);
}

#[derive(Default)]
struct Remarks(Mutex<Vec<String>>);

impl Progress for Remarks {
    fn report_remark(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

#[test]
fn moves_with_bounds_alone_are_counted() {
    let folder = Workdir::empty();
    let crew = crew(fake(&[("Bound", "1".into())]), 2);
    let job = selfplay_job(folder.root_path(), "out.vf", &viriformat::FORMAT, crew);
    let remarks = Remarks::default();
    let report = play_games(&job, &remarks).unwrap();
    let remarks = remarks.0.into_inner().unwrap();
    assert_eq!(remarks.len(), 1);
    assert!(remarks[0].contains("no move of game 1 has a score"), "{remarks:?}");
    let moves = read(&job.output);
    assert!(moves.iter().all(|sample| sample.score.is_none()));
    assert_eq!(report.unscored, [moves.len() as u64; 2]);
}
