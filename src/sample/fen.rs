//! A fast parser for FENs of ordinary positions; [`Position::from_fen`] has the slow path.

use shakmaty::Color;

use super::{CASTLING_ROOK, CASTLINGS, NO_EP, Planes, Position, ROOK};

/// Parses a legal FEN with single spaces, castling of usual chess and no en passant.
pub(super) fn parse_plain(fen: &[u8]) -> Option<Position> {
    let (mut planes, rest) = parse_board(fen)?;
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
    let halfmove = fields.next().map_or(Some(0), parse_counter)?.min(255) as u8;
    let fullmove = fields.next().map_or(Some(1), parse_counter)?.max(1);
    if fields.next().is_some() {
        return None;
    }
    planes.check_rules(turn).ok()?;
    if castling != b"-" {
        let rooks = parse_castling(castling, &planes).filter(|rooks| *rooks != 0)?;
        for (bit, plane) in planes.bits.iter_mut().enumerate() {
            *plane ^= rooks * u64::from((CASTLING_ROOK ^ ROOK) >> bit & 1);
        }
    }
    let turn_ep = NO_EP | (turn.is_black() as u8) << 7;
    let nibbles = planes.to_nibbles().to_le_bytes();
    Some(Position { occupied: planes.occupied, nibbles, turn_ep, halfmove, fullmove })
}

/// The meaning of a board field's letters: number of squares, [`PIECE`] and the nibble.
const LETTERS: [u16; 256] = {
    let mut letters = [WRONG; 256];
    let [mut role, mut empty] = [0, 1];
    while role < 6 {
        let letter = b"PNBRQK"[role] as usize;
        letters[letter] = PIECE | role as u16;
        letters[letter + 32] = PIECE | 8 | role as u16;
        role += 1;
    }
    while empty <= 8 {
        letters[b'0' as usize + empty] = (empty as u16) << 5;
        empty += 1;
    }
    letters[b'/' as usize] = 0;
    letters
};
/// The meaning of a piece: one square, and a bit of its own.
const PIECE: u16 = 1 << 5 | 1 << 4;
const WRONG: u16 = 1 << 9;
/// The length of the longest board field, 64 squares and 7 slashes, plus one.
const MAX_BYTES: usize = 72;

/// Parses a board field and returns its pieces, and the text after the space that ends it.
fn parse_board(fen: &[u8]) -> Option<(Planes, &[u8])> {
    // Branches would be mispredicted. Squares are counted from a8 on.
    let mut nibbles = [0; MAX_BYTES];
    let [mut count, mut length] = [0, 0];
    let [mut square, mut ranks] = [0, 1];
    let (mut occupied, mut wrong) = <(u64, bool)>::default();
    for &byte in fen.iter().take(MAX_BYTES).take_while(|byte| **byte != b' ') {
        let letter = LETTERS[usize::from(byte)];
        let piece = letter >> 4 & 1;
        let ends = byte == b'/';
        nibbles[count] = letter as u8 & 15;
        count += usize::from(piece);
        occupied |= u64::from(piece) << (square & 63);
        wrong |= (letter == WRONG) | (ends & (square != 8 * ranks));
        square += u32::from(letter >> 5 & 15);
        ranks += u32::from(ends);
        length += 1;
    }
    if wrong | (ranks != 8) | (square != 64) | (count > 32) {
        return None;
    }
    let pairs = nibbles[..32].as_chunks::<2>().0.iter().rev();
    let nibbles = pairs.fold(0, |nibbles, [low, high]| nibbles << 8 | u128::from(low | high << 4));
    let top = Planes::from_nibbles(occupied, nibbles);
    let planes = Planes { occupied: occupied.swap_bytes(), bits: top.bits.map(u64::swap_bytes) };
    Some((planes, fen.get(length + 1..)?))
}

/// Parses the rooks of `KQkq`; None if king or rook is not at home.
fn parse_castling(letters: &[u8], planes: &Planes) -> Option<u64> {
    letters.iter().try_fold(0, |rooks, letter| {
        let index = b"QKqk".iter().position(|it| it == letter)?;
        let (color, king, rook) = CASTLINGS[index];
        let pieces = planes.of_color(color);
        let home = planes.kings() & pieces & 1 << king as u32 != 0
            && planes.rooks() & pieces & 1 << rook as u32 != 0;
        home.then(|| rooks | 1 << rook as u32)
    })
}

/// Parses a number of one to four digits.
fn parse_counter(digits: &[u8]) -> Option<u16> {
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + u16::from(byte - b'0'))
    })
}
