//! The FEN of an ordinary position, four times as fast as the slow path of [`Position::from_fen`].

use shakmaty::{Color, Square};

use super::{CASTLING_ROOK, Position, ROOK};

/// Effect of a byte of the board field.
#[derive(Clone, Copy)]
struct Letter {
    /// The nibble of a piece, or [`NO_PIECE`].
    nibble: u8,
    squares: u8,
    /// Change of the squares still free in the rank, modulo 256.
    room: u8,
}

const NO_PIECE: u8 = 15;

static LETTERS: [Letter; 256] = {
    // A byte that means nothing asks for more room than any rank has.
    let mut letters = [Letter { nibble: NO_PIECE, squares: 0, room: 128 }; 256];
    let mut role = 0;
    while role < 6 {
        let (white, black) = (b"PNBRQK"[role], b"pnbrqk"[role]);
        letters[white as usize] = Letter { nibble: role as u8, squares: 1, room: 255 };
        letters[black as usize] = Letter { nibble: role as u8 | 8, squares: 1, room: 255 };
        role += 1;
    }
    let mut squares = 1;
    while squares <= 8 {
        let room = 0u8.wrapping_sub(squares);
        letters[(b'0' + squares) as usize] = Letter { nibble: NO_PIECE, squares, room };
        squares += 1;
    }
    // The next rank begins, for which this one has to be full.
    letters[b'/' as usize] = Letter { nibble: NO_PIECE, squares: 0, room: 8 };
    letters
};

/// The longest board field: a piece on every square, and seven slashes.
const LONGEST: usize = 71;

/// The position of a legal FEN with single spaces, castling of usual chess and no en passant.
pub(super) fn plain(fen: &[u8]) -> Option<Position> {
    let (occupied, nibbles, rest) = board(fen)?;
    let mut fields = rest.split(|&byte| byte == b' ');
    let turn = match fields.next()? {
        [b'w'] => Color::White,
        [b'b'] => Color::Black,
        _ => return None,
    };
    let castling = fields.next()?;
    if !matches!(fields.next()?, [b'-']) {
        return None;
    }
    let halfmove = fields.next().map_or(Some(0), counter)?.min(255) as u8;
    let fullmove = fields.next().map_or(Some(1), counter)?.max(1);
    if fields.next().is_some() {
        return None;
    }
    let mut position = Position {
        halfmove,
        fullmove,
        ..Position::of_board(occupied, nibbles.to_le_bytes(), turn)
    };
    position.check().ok()?;
    if castling != b"-" {
        let rooks = castle(castling, &position).filter(|places| *places != 0)?;
        let castles = u128::from(CASTLING_ROOK ^ ROOK);
        position.nibbles = (nibbles ^ (rooks * castles)).to_le_bytes();
    }
    Some(position)
}

/// Occupied squares, nibbles, and what follows the space behind a board field.
fn board(text: &[u8]) -> Option<(u64, u128, &[u8])> {
    // Pieces in the order of the field; the squares they stand on, a8 in the lowest bit.
    let (mut pieces, mut count, mut ranks) = ([0u8; LONGEST + 8], 0, 0u64);
    // Squares passed, and those free in the rank; branches on pieces could not be predicted.
    let (mut passed, mut room) = (0u32, 8u8);
    for (at, &byte) in text.iter().enumerate().take(LONGEST + 1) {
        if byte == b' ' {
            let whole = passed == 64 && room == 0 && count <= 32;
            return whole.then(|| (ranks.swap_bytes(), packed(&pieces, ranks), &text[at + 1..]));
        }
        let letter = LETTERS[usize::from(byte)];
        room = room.wrapping_add(letter.room);
        if room > 8 {
            return None;
        }
        let piece = letter.nibble != NO_PIECE;
        pieces[count] = letter.nibble;
        count += usize::from(piece);
        ranks |= u64::from(piece).wrapping_shl(passed);
        passed += u32::from(letter.squares);
    }
    None
}

/// The nibbles in order of their squares, a1 first, of pieces from a8 to h1.
fn packed(pieces: &[u8; LONGEST + 8], ranks: u64) -> u128 {
    // The pieces of each rank, one count a byte, by adding neighbours.
    let mut counts = ranks - (ranks >> 1 & 0x5555_5555_5555_5555);
    counts = (counts & 0x3333_3333_3333_3333) + (counts >> 2 & 0x3333_3333_3333_3333);
    counts = (counts + (counts >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let (mut packed, mut from) = (0u128, 0);
    for count in counts.to_le_bytes().map(usize::from) {
        let eight = pieces[from..from + 8].try_into().expect("eight bytes were taken");
        // Eight bytes become eight nibbles: gaps of 4, 8 and 16 bits close in turn.
        let mut nibbles = u64::from_le_bytes(eight) & 0x0f0f_0f0f_0f0f_0f0f;
        nibbles = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
        nibbles = (nibbles | nibbles >> 8) & 0x0000_ffff_0000_ffff;
        nibbles = (nibbles | nibbles >> 16) & ((1 << (4 * count)) - 1);
        packed = packed << (4 * count) | u128::from(nibbles);
        from += count;
    }
    packed
}

/// The rooks of letters of `KQkq`, one bit a nibble; None if king or rook is not at home.
fn castle(letters: &[u8], position: &Position) -> Option<u128> {
    let sets = position.bitboards();
    letters.iter().try_fold(0, |places, letter| {
        let (side, king, rook) = match letter {
            b'K' => (0, Square::E1, Square::H1),
            b'Q' => (0, Square::E1, Square::A1),
            b'k' => (1, Square::E8, Square::H8),
            b'q' => (1, Square::E8, Square::A8),
            _ => return None,
        };
        let [.., rooks, _, kings] = sets[side];
        let below = position.occupied & ((1 << rook as u32) - 1);
        let home = kings >> king as u32 & rooks >> rook as u32 & 1 == 1;
        home.then(|| places | 1 << (4 * below.count_ones()))
    })
}

/// A number of one to four digits.
fn counter(digits: &[u8]) -> Option<u16> {
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + u16::from(byte - b'0'))
    })
}
