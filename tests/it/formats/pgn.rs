//! PGN: real files against counts of another program, and errors.

use nnuance::format;
use nnuance::format::pgn::FORMAT;
use proptest::prelude::*;

use crate::formats::registry::{
    exhaust, first, read, read_as, read_bytes, read_source, scratch, write,
};
use crate::support::kit::*;

/// Games, plies, positions with White to move, castles, promotions, en passant, checks and scores.
type Counts = [usize; 8];

/// Counts, the sum of all scores, and games that White won, drew and lost.
fn count(samples: &[Sample]) -> (Counts, i64, [usize; 3]) {
    let starts: Vec<_> = (0..samples.len())
        .filter(|&i| i == 0 || samples[i].ply != samples[i - 1].ply.map(|ply| ply + 1))
        .collect();
    let of = |is: &dyn Fn(&Sample) -> bool| samples.iter().filter(|sample| is(sample)).count();
    let played = |is: fn(PlayedMove) -> bool| of(&|sample| is(sample.played.unwrap()));
    let white_result = |&i: &usize| {
        let sample = &samples[i];
        if sample.position.turn().is_white() { sample.result } else { 1.0 - sample.result }
    };
    let counts = [
        starts.len(),
        samples.len(),
        of(&|sample| sample.position.turn().is_white()),
        played(PlayedMove::is_castling),
        played(|played| played.promotion().is_some()),
        played(PlayedMove::is_en_passant),
        of(&|sample| sample.position.in_check()),
        of(&|sample| sample.score.is_some()),
    ];
    let scores = samples.iter().filter_map(|sample| sample.score).map(i64::from).sum();
    let results = [1.0, 0.5, 0.0]
        .map(|result| starts.iter().map(white_result).filter(|&white| white == result).count());
    (counts, scores, results)
}

/// The counts are those of python-chess 1.11.2.
#[test]
fn counts_of_another_program() {
    for (path, counts, scores, results) in [
        (NOTATED, [200, 27_951, 14_036, 241, 108, 23, 2556, 26_246], 664_844, [60, 70, 70]),
        (
            "../shared/data/games/fishtest-fastchess.pgn",
            [330, 43_495, 21_758, 448, 56, 39, 3654, 43_495],
            645_602,
            [104, 166, 60],
        ),
        (
            "../shared/data/games/gm_games_40k.pgn.zst",
            [40_000, 3_306_178, 1_664_115, 71_838, 2377, 2409, 158_504, 0],
            0,
            [14_196, 15_786, 10_018],
        ),
    ] {
        if need::shared(path) {
            let samples = read(path).unwrap();
            assert_eq!(count(&samples), (counts, scores, results), "{path}");
            assert!(samples.iter().all(|sample| sample.game.is_some()));
        }
    }
}

pub fn game(moves: &str) -> String {
    format!("[Event \"?\"]\n[Result \"1-0\"]\n\n{moves} 1-0\n\n")
}

#[test]
fn plies_results_and_games() {
    let text = "[Result \"0-1\"]\n\n1. e4 e5 2. Nf3 0-1\n\
                [Event \"Tags without a blank line\"]\n[SetUp \"1\"]\n\
                [FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 0 40\"]\n1... Kd7 2. e4 1/2-1/2\n\
                [Event \"A game without moves\"]\n[Result \"1-0\"]\n1-0\n\
                [Event \"?\"]\n\n1. e4 e5 2. Nf3 1-0";
    let samples = read_bytes(text.as_bytes()).unwrap();
    let plies: Vec<_> = samples.iter().map(|sample| sample.ply.unwrap()).collect();
    assert_eq!(plies, [0, 1, 2, 79, 80, 0, 1, 2]);
    let results: Vec<_> = samples.iter().map(|sample| sample.result).collect();
    assert_eq!(results, [0.0, 1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 1.0]);
    let games: Vec<_> = samples.iter().map(|sample| sample.game.unwrap()).collect();
    assert!(games[..3].iter().all(|&game| game == games[0]));
    assert!(games[3] == games[4] && games[3] != games[0]);
    // A game's hash covers its start and moves, not its result.
    assert_eq!(games[5..], games[..3]);
    let fens: Vec<_> = samples.iter().map(|sample| sample.position.to_fen()).collect();
    assert_eq!(fens[3], "4k3/8/8/8/8/8/4P3/4K3 b - - 0 40");
    assert_eq!(fens[4], "8/3k4/8/8/8/8/4P3/4K3 w - - 1 41");
}

#[test]
fn text_between_moves() {
    let plain = game("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O Nf6 5. d4 exd4");
    let same = read_bytes(plain.as_bytes()).unwrap();
    assert_eq!(same.len(), 10);
    let moves = |moves: &str| game(moves).into_bytes();
    let mut latin = plain.replacen("?", "M\u{1}nchen \\\"1\\\"", 1).into_bytes();
    *latin.iter_mut().find(|byte| **byte == 1).unwrap() = 0xfc;
    for text in [
        plain.replace('\n', "\r\n").into_bytes(),
        format!("\u{feff}{plain}").into_bytes(),
        format!("\n% a line\n{plain}% more\n").into_bytes(),
        plain.replace("\n\n", "\n").into_bytes(),
        plain.replace("\"]\n", "\"] ").into_bytes(),
        plain
            .replace("[Event \"?\"]", "  [ Event  \"?\" ]\n[Site \"\n[Round \"a \"b\" c\"]")
            .into(),
        plain.replace("[Event \"?\"]\n", "").into_bytes(),
        plain.replace("[Result \"1-0\"]\n", "").into_bytes(),
        plain.replace("1-0\"]", "1-0\"]\n[Variant \"From Position\"]").into_bytes(),
        latin,
        moves("1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.0-0 Nf6 5.d4 exd4"),
        moves("1. e4 1... e5 2. Nf3 2... Nc6 3. Bb5 3...a6 4. O-O Nf6 5. d4 5. ... exd4"),
        moves("e4 e5 Nf3 Nc6 Bb5 a6 O-O Nf6 d4 exd4"),
        moves("1 e4 e5 2 Nf3 Nc6 3 Bb5 a6 4 O-O Nf6 5 d4 exd4"),
        moves("1. e4! e5?! 2. Nf3$1$2 Nc6 $14 3. Bb5+ a6# 4. O-O!! Nf6 ! 5. d4 exd4 ?"),
        moves("1.\ne4\te5\n\n2. Nf3\r\n\r\nNc6 3. Bb5 a6 4. O-O Nf6 5. d4 exd4\n"),
        moves("{first} 1. e4 {a}{b} e5 2. Nf3 {(} Nc6 {[Event]} 3. Bb5 a6 4. O-O Nf6 5. d4 exd4"),
        moves("1. e4 e5 ; 2. f4 {\n2. Nf3 Nc6 ;)\n%2. f4\n3. Bb5 a6 4. O-O Nf6 5. d4 exd4"),
        moves(
            "1. e4 (1. d4 d5 (1... Nf6 {)} 2. c4) 2. c4 ;)\n) e5 2. Nf3 (2. -- xx) Nc6 3. Bb5 a6 \
             4. O-O Nf6 5. d4 exd4 (5... Nxe4)",
        ),
        plain.replace("exd4 1-0", "exd4 *").into_bytes(),
        plain.replace("\"1-0\"", "\"?\"").into_bytes(),
        plain.replace("\"1-0\"", "\"\"").into_bytes(),
        plain.replace("1-0\"]", "1-0\"]\n[FEN \"\"]\n[SetUp \"0\"]").into_bytes(),
        moves("1. e4± e5 += 2. Nf3 N Nc6 D 3. Bb5 ∞ a6 +- 4. 00 Nf6† 5. d4 = exd4□"),
        moves("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ke1-g1 Nf6 5. d4 exd4"),
        moves("1. Pe4 e5 2. Ng1f3 Nb8c6 3. Bf1b5 a6 4. O-O Nf6 5. d2d4 exd4"),
    ] {
        let shown = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(read_as(&FORMAT, &text).expect(&shown), same, "{shown}");
    }
    // Blank lines between tags do not end a game, and text between games is not a game.
    let text = format!(";\n{{no game}}\n\n{}", plain.replace("\"]\n[R", "\"]\n\n[R"));
    assert_eq!(read_as(&FORMAT, text.repeat(3).as_bytes()).unwrap(), same.repeat(3));
}

#[test]
fn broken_games_are_skipped() {
    let sound = game("1. e4 e5 {a\ncomment} 2. Nf3");
    let tagged = |tags: &str| format!("{tags}\n{}", &sound[12..]);
    for (bad, place, reason) in [
        (game("1. e4 e5 2. Ke3 Nc6"), "line 10, move 2.", "`Ke3` is not legal"),
        (game("1. e4 e5 2. Nf4x"), "line 10, move 2.", "`Nf4x` is not a move"),
        (game("1. e4 e5 2. -- d5"), "line 10, move 2.", "`--` is a null move"),
        (game("1. N@e4"), "line 10, move 1.", "`N@e4` is not legal"),
        (game("1. d4 d5 2. Nd2 e6 3. Ngf3 e5 4. Nb3 h6 5. Nd2"), "move 5.", "more than one move"),
        (game("1. e4 e5 2. Nf3)"), "line 10, move 2...", "`)` is not a move"),
        (game("1. e4 e5 {2. Nf3"), "line 10, move 2.", "a comment is not closed"),
        (game("1. e4 e5 (2. Nf3"), "line 10, move 2.", "a variation is not closed"),
        (game("1. e4 e5 0-1"), "line 10, move 2.", "the moves end with 0-1, but the result before"),
        (game("1. e4 1-0 e5"), "line 10, move 1...", "the move `e5` comes after the result"),
        (game("1. e4 e5 0000 2. Nf3"), "move 2.", "`0000` is a null move"),
        (game("1. e4 e5 1-0 [Event \"?\"] 1. d4"), "move 2.", "`[Event \"?\"] 1. d4"),
        (sound.replace("\"1-0\"", "\"won\""), "game 2, line 7: ", "the tag Result is `won`"),
        (sound.replace("\"1-0\"]", "\"1-0"), "game 2, line 7: ", "no closing quote"),
        (tagged("[Variant \"atomic\"]"), "game 2, line 7: ", "the tag Variant is `atomic`"),
        (tagged("[Variant \"chess960\"]"), "game 2, line 7: ", "without the tag FEN"),
        (tagged("[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]"), "line 7: ", "empty board"),
        (sound.clone() + "1. d4 d5", "game 2, line 13, move 2...", "comes after the result"),
    ] {
        let bad = match bad.starts_with("[Event") {
            true => bad,
            false => format!("[Event \"?\"]\n{bad}"),
        };
        let text = format!("{sound}{bad}\n{sound}");
        let error = read_bytes(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(", game 2, line "), "{error}\n{text}");
        assert!(error.contains(place) && error.contains(reason), "{error}\n{text}");
        // Reading goes on.
        let (samples, faults) = exhaust(&FORMAT, text.as_bytes());
        assert_eq!((samples.len(), faults), (6, 1), "{text}");
    }
}

#[test]
fn games_without_a_result_are_counted() {
    let sound = game("1. e4 e5 2. Nf3");
    let by_tag = "[Event \"?\"]\n[Result \"*\"]\n\n1. e4 e5 *\n\n";
    let by_end = "[Event \"?\"]\n\n1. e4 e5 *\n\n";
    let unknown = by_tag.replace('*', "?");
    let text = format!("{by_tag}{sound}{by_end}{sound}{unknown}");
    let file = scratch("games", text.as_bytes());
    let mut source = SampleSource::open_file(&file.path, None, 0).unwrap();
    let samples = read_source(&mut source).unwrap();
    assert_eq!((samples.len(), source.unfinished_games(), source.bad_records().count), (6, 3, 0));

    let error = read_bytes(by_tag.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("no positions (0 bad records were skipped, and 1 games"), "{error}");
}

#[test]
fn cut_files_give_whole_games() {
    let one = game("1. e4 {+0.1/9} e5 (1... c5 {best}) 2. Nf3 Nc6 3. Bb5 Nf6 4. O-O")
        .replace("1-0\n\n", "1-0\n");
    let text = one.repeat(2);
    for length in 1..=text.len() {
        let (samples, faults) = exhaust(&FORMAT, &text.as_bytes()[..length]);
        let within = length % one.len();
        // The last line end may be missing, and so may the moves: such a game is no fault.
        let no_moves = text[..length].ends_with("]\n\n");
        let whole = within == 0 || within + 1 == one.len() || no_moves;
        let games = (length + 1) / one.len();
        assert_eq!((samples.len(), faults), (7 * games, usize::from(!whole)), "{length}");
    }
    let mut reader =
        (FORMAT.reader)(Box::new(std::io::Cursor::new(one[..one.len() - 3].to_owned())));
    let fault = reader.read_samples(&mut Vec::new()).unwrap_err();
    assert!(matches!(fault, format::Fault::CutOff(_)), "{fault:?}");
}

#[test]
fn endless_game_takes_little_memory() {
    let mut text = game("1. e4 e5");
    text += "[Event \"?\"]\n\n1. e4 {";
    text += &"pv ".repeat(6 << 20);
    text += "\n";
    text += &game("1. d4 d5");
    let (samples, faults) = exhaust(&FORMAT, text.as_bytes());
    assert_eq!((samples.len(), faults), (4, 1));
    let error = read_bytes(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("game 2, line 6: the game is longer than 16 MiB"), "{error}");
}

#[test]
fn viriformat_to_pgn_and_back() {
    let samples = first(GAMES, 100_000);
    let text = write(&FORMAT, &samples).unwrap();
    assert!(text.split(|&byte| byte == b'\n').all(|line| line.len() <= 80));
    let back = read_bytes(&text).unwrap();
    assert!(back == samples, "ply, move, score, result and game are the same in both formats");
    let again = write(&nnuance::format::viriformat::FORMAT, &back).unwrap();
    assert!(fs::read(GAMES).unwrap().starts_with(&again[..again.len()]));
}

#[test]
fn written_pgn_is_exact() {
    let text = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 0 40\"]\n\n40... Kd7 {-1.00/9} 41. e4 \
                {+M31/2} Kd6 1/2-1/2\n";
    let samples = read_as(&FORMAT, text.as_bytes()).unwrap();
    let written = String::from_utf8(write(&FORMAT, &samples).unwrap()).unwrap();
    assert_eq!(
        written,
        "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n\
         [Black \"?\"]\n[Result \"1/2-1/2\"]\n[SetUp \"1\"]\n\
         [FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 0 40\"]\n\n\
         40... Kd7 {-1.00/0} 41. e4 {+M31/0} Kd6 1/2-1/2\n\n"
    );
    // A gap starts another game.
    let parted = write(&FORMAT, &[samples[0], samples[2]]).unwrap();
    assert_eq!(String::from_utf8(parted).unwrap().matches("[Event").count(), 2);
    let moveless = Sample { played: None, ..samples[0] };
    assert!(write(&FORMAT, &[moveless]).unwrap_err().contains("the move played is unknown"));
    let large = Sample { score: Some(32_000), ..samples[0] };
    assert!(write(&FORMAT, &[large]).unwrap_err().contains("out of range"));
    assert_eq!(FORMAT.facts.scores, Presence::Sometimes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn replaced_bytes_never_panic(
        changes in prop::collection::vec(
            (0..4000usize, prop_oneof![
                "[a-hKQRBNOx1-8+#=@(){};$%.\\[\\]\"* \n-]{0,4}",
                Just("\n[Event \"?\"]\n".to_string()),
                Just("1-0".to_string()),
                Just("--".to_string()),
                Just("\u{feff}".to_string()),
            ]),
            1..8,
        ),
    ) {
        let mut text = fs::read_to_string(NOTATED).unwrap()[..4000].to_string();
        for (at, new) in changes {
            let at = at.min(text.len());
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let end = (at + 2).min(text.len());
            let end = (end..).find(|&end| text.is_char_boundary(end)).unwrap();
            text.replace_range(at..end, &new);
        }
        let (samples, _) = exhaust(&FORMAT, text.as_bytes());
        // All that is read can be written and read again.
        for game in samples.chunk_by(|a, b| a.game == b.game) {
            let back = read_as(&FORMAT, &write(&FORMAT, game).unwrap()).unwrap();
            prop_assert_eq!(&back, game);
        }
    }
}

fn scores(moves: &str) -> Vec<Option<i16>> {
    let samples = read_bytes(game(moves).as_bytes()).unwrap();
    samples.iter().map(|sample| sample.score).collect()
}

#[test]
fn scores_of_tournament_programs() {
    // The mover's, of the position before the move.
    for (comment, score) in [
        ("+0.35/12 0.10s", Some(35)),
        ("-0.35/12", Some(-35)),
        ("0.00/29 5.3s, Draw by adjudication", Some(0)),
        ("12.5/9", Some(1250)),
        ("+0.3/9", Some(30)),
        ("-1.005/3", Some(-101)),
        ("+M5/20 1.0s", Some(31_995)),
        ("-M4/20", Some(-31_996)),
        ("+M0/20", Some(31_999)),
        ("-320.00/20", Some(-31_999)),
        ("+99999999999999999999.0/20", Some(31_999)),
        ("-M99999999999/20", Some(-31_000)),
        ("book", None),
        ("1/2 was offered", None),
        ("12/20", None),
        ("e4 +0.35/12", None),
    ] {
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, score, None], "{comment}");
        let found = scores(&format!("1. e4 e5 2. Nf3 {{{comment}}} Nc6"));
        assert_eq!(found, [None, None, score, None], "{comment}");
    }
}

#[test]
fn scores_of_tcec() {
    // White's, of the position before the move.
    for (comment, white) in [
        ("d=26, sd=40, mt=161000, s=21, n=35, pv=Nb3 Be7, tb=0, wv=1.04, R50=49,", Some(104)),
        ("wv=-0.13", Some(-13)),
        ("d=9, wv=M12, R50=3", Some(31_988)),
        ("d=9, wv=-M12,", Some(-31_988)),
        ("d=9, wv=#-3,", Some(-31_997)),
        ("d=9, wv=#7,", Some(31_993)),
        ("d=9,wv=0.00,", Some(0)),
        ("book, mb=+0+0+0+0+0,", None),
        ("pwv=1.04", None),
        ("wv=none", None),
    ] {
        let found = scores(&format!("1. e4 {{{comment}}} e5 2. Nf3"));
        assert_eq!(found, [white, None, None], "{comment}");
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, white.map(|white| -white), None], "{comment}");
    }
}

#[test]
fn scores_of_lichess() {
    // White's, of the position after the move.
    for (comment, score) in [
        ("[%eval 0.17]", 17),
        ("[%eval -1.5,30]", -150),
        (" [%clk 0:10:00] [%eval 0.2] ", 20),
        ("[%eval 0.17] [%clk 0:05:00] Better is Nc3.", 17),
        // White mates with the fifth of its moves, so after nine half-moves.
        ("[%eval #5]", 31_991),
        // Black mates, but White moves before each of its moves.
        ("[%eval #-5]", -31_990),
    ] {
        let found = scores(&format!("1. e4 e5 {{{comment}}} 2. Nf3"));
        assert_eq!(found, [None, None, Some(score)], "{comment}");
        let found = scores(&format!("{{{comment}}} 1. e4 e5"));
        assert_eq!(found, [Some(score), None], "{comment}");
    }
    for (comment, score) in
        [("[%eval 0.17]", -17), ("[%eval #5]", -31_990), ("[%eval #-5]", 31_991)]
    {
        let found = scores(&format!("1. e4 {{{comment}}} e5 2. Nf3 {{{comment}}}"));
        assert_eq!(found, [None, Some(score), None], "{comment}");
    }
    // If a position has both, the mover's search counts; variations are ignored.
    let found = scores("1. e4 {[%eval 0.3]} e5 {+0.1/9} (1... c5 {[%eval 0.5]} {+9.0/9}) 2. Nf3");
    assert_eq!(found, [None, Some(10), None]);
    let found = scores("1. e4 (1. d4 d5) {[%eval 0.3]} e5 $1 {book} 2. Nf3");
    assert_eq!(found, [None, Some(-30), None]);
}

/// Start, moves, and the position after them, all by python-chess 1.11.2.
const CHESS960: &str = include_str!("../fixtures/chess960.txt");

#[test]
fn chess960_castles_by_either_notation() {
    for game in CHESS960.split("\n\n") {
        let [start, moves, end] = game.lines().collect::<Vec<_>>()[..] else { panic!("{game}") };
        for variant in ["", "Chess960", "chess 960", "fischerandom", "Fischerandom"] {
            let tags = format!("[Result \"0-1\"]\n[FEN \"{start}\"]\n[Variant \"{variant}\"]\n");
            let text = format!("{tags}\n{moves} 0-1\n");
            let samples = read_bytes(text.as_bytes()).unwrap();
            assert_eq!(samples.len(), 40);
            let castles =
                samples.iter().filter(|sample| sample.played.unwrap().is_castling()).count();
            assert_eq!(castles, 2);
            let last = samples.last().unwrap();
            let mut chess = last.position.to_chess().unwrap();
            chess.play_unchecked(last.played.unwrap().legal_move(&chess).unwrap());
            assert_eq!(Position::from_chess(&chess).to_fen(), end);

            // The written start position includes the files of rooks.
            let written = String::from_utf8(write(&FORMAT, &samples).unwrap()).unwrap();
            assert_eq!(read_as(&FORMAT, written.as_bytes()).unwrap(), samples);
            let unusual = !start.starts_with("rbbqknnr");
            assert_eq!(written.contains("[Variant \"Chess960\"]"), unusual, "{written}");
        }
    }
}

#[test]
fn unusual_king_is_written_as_chess960() {
    let text = "[FEN \"rkbqnbnr/pppppppp/8/8/8/8/PPPPPPPP/RKBQNBNR w HAha - 0 1\"]\n\n1. d3 0-1";
    let samples = read_bytes(text.as_bytes()).unwrap();
    let written = String::from_utf8(write(&FORMAT, &samples).unwrap()).unwrap();
    assert!(written.contains("[Variant \"Chess960\"]\n[SetUp \"1\"]\n"), "{written}");
}
