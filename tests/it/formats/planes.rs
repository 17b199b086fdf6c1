//! Boards as bitboards, and legal moves: fast versions against slow ones.

use std::num::NonZeroU16;

use nnuance::sample::Planes;
use nnuance::sample::planes::{gather_nibbles, nth_square, spread_nibbles};
use shakmaty::{Bitboard, Square};

use crate::support::kit::*;

#[test]
fn instructions_equal_loops() {
    let games = games::positions(20_000, 11).into_iter();
    let games = games.map(|it| (it.occupied(), u128::from_le_bytes(it.nibbles())));
    // Also invalid positions: too many pieces, nibbles with no meaning or no square.
    let random = (0..20_000).map(|seed| {
        let word = |n| mix_hash(mix_hash(0, seed), n);
        (word(0) & word(3), u128::from(word(1)) << 64 | u128::from(word(2)))
    });
    for (occupied, nibbles) in games.chain(random).chain([(u64::MAX, u128::MAX), (0, u128::MAX)]) {
        let planes = Planes::from_nibbles(occupied, nibbles);
        assert_eq!(planes.bits, spread_nibbles(occupied, nibbles), "{occupied:x} {nibbles:x}");
        assert_eq!(
            planes.to_nibbles(),
            gather_nibbles(occupied, planes.bits),
            "{occupied:x} {nibbles:x}"
        );
        let places = 4 * occupied.count_ones().min(32);
        let held = nibbles & u128::MAX.checked_shr(128 - places).unwrap_or(0);
        assert_eq!(planes.to_nibbles(), held, "{occupied:x} {nibbles:x}");
        for number in [0, 5, 31, 63, 64, u32::MAX] {
            let square = Bitboard(occupied).into_iter().nth(number as usize);
            assert_eq!(nth_square(occupied, number), square, "{occupied:x} {number}");
        }
    }
}

#[test]
fn planes_equal_pieces() {
    for position in games::positions(20_000, 12) {
        let (planes, chess) = (position.planes(), position.to_chess().unwrap());
        let (roles, colors) = chess.board().clone().into_bitboards();
        assert_eq!(
            planes.by_role(),
            [roles.pawn, roles.knight, roles.bishop, roles.rook, roles.queen, roles.king]
                .map(u64::from)
        );
        let rights = chess.castles().castling_rights();
        assert_eq!(planes.castling_rooks(), rights.0);
        for color in Color::ALL {
            assert_eq!(planes.of_color(color), colors[color].0);
            assert_eq!(planes.king_square(color), chess.board().king_of(color));
        }
        assert_eq!(position.check_rules(), Ok(()));
        assert_eq!(position.in_check(), chess.is_check());
        assert_eq!(planes.flip_colours(), position.flip_colours().planes());
    }
}

#[test]
fn checks_equal_rules() {
    let mut sound = 0;
    for (seed, position) in games::positions(20_000, 13).into_iter().enumerate() {
        // Another piece for the last one.
        let random = mix_hash(1, seed as u64);
        let mut nibbles = u128::from_le_bytes(position.nibbles());
        let place = random % position.piece_count() as u64;
        let nibble = ((random >> 16) % 6) | (random >> 32 & 8);
        nibbles = nibbles & !(15 << (4 * place)) | u128::from(nibble) << (4 * place);
        let (occupied, turn) = (position.occupied(), position.turn());
        let bytes = nibbles.to_le_bytes();
        let changed = Position::from_parts(occupied, bytes, turn, None, 0, 1).unwrap();
        assert_eq!(changed.check_rules().is_ok(), changed.to_chess().is_ok(), "{changed:?}");
        sound += usize::from(changed.check_rules().is_ok());
    }
    assert!((5_000..15_000).contains(&sound), "{sound}");
    let alone = 1u64 << Square::A1 as u32;
    let king = 5_u128.to_le_bytes();
    let king = Position::from_parts(alone, king, Color::White, None, 0, 1);
    let error = king.unwrap().check_rules().unwrap_err();
    assert_eq!(error.to_string(), "Black has 0 kings, expected 1");
}

#[test]
fn legal_moves_equal_lists() {
    let mut checks = 0;
    for position in games::positions(40_000, 14).into_iter().step_by(97) {
        let chess = position.to_chess().unwrap();
        checks += usize::from(chess.is_check());
        let (legal, mut found) = (chess.legal_moves(), HashSet::new());
        for played in (1..=u16::MAX).filter_map(NonZeroU16::new).map(PlayedMove) {
            let Some(legal_move) = played.legal_move(&chess) else { continue };
            assert!(legal.contains(&legal_move), "{legal_move:?} in {position:?}");
            found.insert(PlayedMove::from_move(&legal_move).unwrap().0);
        }
        assert_eq!(found.len(), legal.len(), "{position:?}");
    }
    assert!(checks > 10, "{checks}");
}
