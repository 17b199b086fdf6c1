//! The FEN of an ordinary position, at a fraction of the cost of the slow path of
//! [`Position::from_fen`].

use shakmaty::{Role, Square};

use super::{CASTLING_ROOK, NO_EP, Position, ROOK};

/// The position of a legal FEN with single spaces, castling of usual chess and no en passant.
pub(super) fn plain(fen: &[u8]) -> Option<Position> {
    let mut fields = fen.split(|&byte| byte == b' ');
    let (occupied, nibbles) = board(fields.next()?)?;
    let turn_ep = match fields.next()? {
        [b'w'] => NO_EP,
        [b'b'] => NO_EP | 128,
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
    let bytes = nibbles.to_le_bytes();
    let mut position = Position { occupied, nibbles: bytes, turn_ep, halfmove, fullmove };
    position.check().ok()?;
    if castling != b"-" {
        let rooks = castle(castling, &position).filter(|places| *places != 0)?;
        let castles = u128::from(CASTLING_ROOK ^ ROOK);
        position.nibbles = (nibbles ^ (rooks * castles)).to_le_bytes();
    }
    Some(position)
}

/// Occupied squares and nibbles of a board field.
fn board(text: &[u8]) -> Option<(u64, u128)> {
    let (mut occupied, mut nibbles, mut count, mut ranks) = (0u64, 0u128, 0, 0);
    // The last rank of the field has the lowest squares.
    for letters in text.rsplit(|&byte| byte == b'/') {
        let mut file = 0;
        for &byte in letters {
            match Role::from_char(byte.into()) {
                Some(role) if file < 8 && ranks < 8 && count < 32 => {
                    let nibble = (role as u8 - 1) | u8::from(byte.is_ascii_lowercase()) << 3;
                    occupied |= 1 << (8 * ranks + file);
                    nibbles |= u128::from(nibble) << (4 * count);
                    (file, count) = (file + 1, count + 1);
                }
                None if matches!(byte, b'1'..=b'8') => file += u32::from(byte - b'0'),
                _ => return None,
            }
        }
        if file != 8 {
            return None;
        }
        ranks += 1;
    }
    (ranks == 8).then_some((occupied, nibbles))
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
