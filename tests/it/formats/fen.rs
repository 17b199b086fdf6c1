//! The fast path of reading FENs against shakmaty's reader and rules.

use nnuance::format::{epd, text};
use proptest::prelude::*;

use crate::support::kit::*;

fn slow(fen: &str) -> Option<Position> {
    Position::from_setup(fen.parse::<Fen>().ok()?.into_setup()).ok()
}

fn assert_same(fen: &str) {
    assert_eq!(Position::from_fen(fen).ok(), slow(fen), "{fen}");
}

static FENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let lines = fs::read_to_string(SCORED).unwrap();
    lines.lines().map(|line| line.split('|').next().unwrap().trim().to_string()).collect()
});

#[test]
fn real_positions_are_read_alike() {
    for fen in FENS.iter() {
        assert!(slow(fen).is_some(), "{fen}");
        assert_same(fen);
    }
}

#[test]
fn either_side_to_move() {
    let (mut legal, mut refused) = (0, 0);
    for position in games::positions(20_000, 29) {
        let fen = position.to_fen();
        for fen in [fen.replacen(" b ", " w ", 1), fen.replacen(" w ", " b ", 1)] {
            assert_same(&fen);
            *if slow(&fen).is_some() { &mut legal } else { &mut refused } += 1;
        }
    }
    assert!(legal > 20_000 && refused > 500, "{legal} {refused}");
}

#[test]
fn fields_as_they_come() {
    let boards = [
        "r3k2r/8/8/8/8/8/8/R3K2R",
        "r2k3r/8/8/8/8/8/8/RR2K1RR",
        "4k3/8/8/8/8/8/8/r3K2r",
        "r3k2r/8/8/3pP3/8/8/8/R3K2R",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
        // The longest field, and a byte more.
        "r1k1r1n1/p1p1p1p1/1p1p1p1p/n1n1b1b1/1N1N1B1B/P1P1P1P1/1P1P1P1P/R1K1R1Q1",
        "r1k1r1n1/p1p1p1p1/1p1p1p1p/n1n1b1b1/1N1N1B1B/P1P1P1P1/1P1P1P1P/R1K1R1Q1x",
        "r1k1r1n1/p1p1p1p1/1p1p1p1p/n1n1b1b1/1N1N1B1B/P1P1P1P1/1P1P1P1P/R1K1R1Q1-",
    ];
    let castling = [
        "-", "KQkq", "K", "Q", "k", "q", "qkQK", "KK", "KKQQkkqq", "HAha", "AH", "Gb", "KQ-", "--",
        "x", "", "KQkqx", "é",
    ];
    let ends = "-|- 0 1|- 12 345|d6 0 1|e3 0 1|- 9999 9999|- 10000 10000|\
                - 99999999999 99999999999|- -1 1|- 0 1 3+3|- 0 1 2|-  0 1|- 0 1 |";
    for board in boards {
        for turn in ["w", "b", "W", "-", "wb", ""] {
            for castling in castling {
                for end in ends.split('|') {
                    assert_same(&format!("{board} {turn} {castling} {end}"));
                }
                assert_same(&format!("{board} {turn} {castling}"));
            }
            assert_same(&format!("{board} {turn}"));
        }
        assert_same(board);
    }
}
fn boards() -> impl Strategy<Value = String> {
    let sparse = || prop::collection::vec("[1-8]|[pnbrqkPNBRQK]", 1..6);
    let pieces = prop_oneof![sparse(), prop::collection::vec("[pnbrqPNBRQ1-3]", 1..9)];
    (prop::collection::vec(pieces, 8), 0..64usize, 0..64usize).prop_map(|(ranks, white, black)| {
        let mut squares = vec![None; 64];
        for (rank, letters) in ranks.iter().enumerate() {
            let mut file = 0;
            for letter in letters.iter().flat_map(|letters| letters.chars()) {
                match letter.to_digit(10) {
                    Some(empty) => file += empty as usize,
                    None if file < 8 => {
                        let pawn = letter.eq_ignore_ascii_case(&'p') && (rank % 7 == 0);
                        let king = letter.eq_ignore_ascii_case(&'k') && file % 4 != 0;
                        squares[8 * rank + file] = (!pawn && !king).then_some(letter);
                        file += 1;
                    }
                    None => {}
                }
            }
        }
        squares[white] = Some('K');
        squares[black] = Some('k');
        let rank = |rank: &[Option<char>]| {
            rank.iter().map(|piece| piece.unwrap_or('1')).collect::<String>()
        };
        squares.chunks(8).map(rank).collect::<Vec<_>>().join("/")
    })
}

fn read(format: &Format, line: &str) -> Option<Position> {
    let mut samples = Vec::new();
    let more = (format.reader)(Box::new(Cursor::new(line.to_string()))).read_samples(&mut samples);
    more.ok().and_then(|_| samples.first().map(|sample| sample.position))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 4096,
        ..Default::default()
    })]

    #[test]
    fn random_boards_are_read_alike(
        board in boards(),
        rest in " [wb] (-|[KQkq]{1,4}) (-|[a-h][36])( [0-9]{1,5}( [0-9]{1,6})?)?",
    ) {
        assert_same(&format!("{board}{rest}"));
    }
    #[test]
    fn changed_positions_are_read_alike(
        line in 0..30_000usize,
        changes in prop::collection::vec((0..90usize, 0..3u8, "[pnbrqkPNBRQK1-9/ wbKQkq0~é-]"), 0..5),
    ) {
        let mut fen: Vec<char> = FENS[line].chars().collect();
        for (at, kind, letter) in changes {
            let (at, letter) = (at % fen.len(), letter.chars().next().unwrap());
            match kind {
                0 => fen.insert(at, letter),
                1 if fen.len() > 1 => drop(fen.remove(at)),
                _ => fen[at] = letter,
            }
        }
        let fen: String = fen.into_iter().collect();
        assert_same(&fen);
        // Lines take no marks of variants, and else what the FEN gives.
        let chess = fen.bytes().filter(|&byte| byte == b'/').count() == 7
            && !fen.contains(['[', '~', '+', '_'])
            && (4..=6).contains(&fen.split_ascii_whitespace().count());
        let expected = slow(fen.trim()).filter(|_| chess);
        assert_eq!(read(&text::FORMAT, &format!("{fen} | 12 | 0.5")), expected);
        assert_eq!(read(&epd::FORMAT, &format!("{fen} [0.5]")), expected);
    }
}
