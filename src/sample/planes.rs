//! Conversion of nibbles of pieces to four bitboards, one per bit, and back.

use shakmaty::{Bitboard, Color, Square, attacks};

use super::IllegalPosition;

/// The lowest bit of each nibble.
const LOWEST: u64 = u64::MAX / 15;

/// The squares of pieces by the bits of their nibbles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    pub occupied: u64,
    /// The bits, the lowest first. The highest is set for Black's pieces.
    pub bits: [u64; 4],
}

impl Planes {
    /// The planes of a nibble per occupied square, in order of squares.
    #[inline(always)]
    pub fn from_nibbles(occupied: u64, nibbles: u128) -> Self {
        #[cfg(target_arch = "x86_64")]
        if *bmi::IS_FAST {
            // SAFETY: `IS_FAST` checked that the machine has BMI2.
            return Self { occupied, bits: unsafe { bmi::spread_nibbles(occupied, nibbles) } };
        }
        Self { occupied, bits: spread_nibbles(occupied, nibbles) }
    }

    /// The nibbles of the occupied squares, at most 32.
    pub fn to_nibbles(&self) -> u128 {
        #[cfg(target_arch = "x86_64")]
        if *bmi::IS_FAST {
            // SAFETY: `IS_FAST` checked that the machine has BMI2.
            return unsafe { bmi::gather_nibbles(self.occupied, self.bits) };
        }
        gather_nibbles(self.occupied, self.bits)
    }

    pub fn kings(&self) -> u64 {
        self.bits[0] & self.bits[2]
    }

    pub fn queens(&self) -> u64 {
        self.bits[2] & !(self.bits[0] | self.bits[1])
    }

    /// The rooks, including castling rooks.
    pub fn rooks(&self) -> u64 {
        self.bits[1] & (self.bits[0] | self.bits[2])
    }

    pub fn castling_rooks(&self) -> u64 {
        self.bits[1] & self.bits[2]
    }

    pub fn bishops(&self) -> u64 {
        self.bits[1] & !(self.bits[0] | self.bits[2])
    }

    pub fn knights(&self) -> u64 {
        self.bits[0] & !(self.bits[1] | self.bits[2])
    }

    pub fn pawns(&self) -> u64 {
        self.occupied & !(self.bits[0] | self.bits[1] | self.bits[2])
    }

    /// The pieces by role, pawn to king.
    pub fn by_role(&self) -> [u64; 6] {
        [self.pawns(), self.knights(), self.bishops(), self.rooks(), self.queens(), self.kings()]
    }

    pub fn of_color(&self, color: Color) -> u64 {
        color.fold_wb(self.occupied & !self.bits[3], self.bits[3])
    }

    pub fn king_square(&self, color: Color) -> Option<Square> {
        Bitboard(self.kings() & self.of_color(color)).first()
    }

    /// The planes of the board mirrored top to bottom, with colours swapped.
    pub fn flip_colours(&self) -> Self {
        let mut bits = self.bits.map(u64::swap_bytes);
        let occupied = self.occupied.swap_bytes();
        bits[3] ^= occupied;
        Self { occupied, bits }
    }
    /// Checks the rules that evaluations rely on, with the side to move.
    ///
    /// # Errors
    ///
    /// Fails as [`Position::check_rules`](super::Position::check_rules) does.
    pub fn check_rules(&self, turn: Color) -> Result<(), IllegalPosition> {
        for color in Color::ALL {
            let kings = Bitboard(self.kings() & self.of_color(color));
            if kings.single_square().is_none() {
                let reason = format!("{color:?} has {} kings, expected 1", kings.count());
                return Err(IllegalPosition(reason));
            }
        }
        if Bitboard(self.pawns()).intersects(Bitboard::BACKRANKS) {
            return Err(IllegalPosition("a pawn stands on the first or last rank".into()));
        }
        match self.is_king_attacked(!turn) {
            true => Err(IllegalPosition("the side that just moved is in check".into())),
            false => Ok(()),
        }
    }

    pub fn is_king_attacked(&self, color: Color) -> bool {
        let Some(king) = self.king_square(color) else { return false };
        let occupied = Bitboard(self.occupied);
        let attackers = attacks::rook_attacks(king, occupied) & (self.rooks() | self.queens())
            | attacks::bishop_attacks(king, occupied) & (self.bishops() | self.queens())
            | attacks::knight_attacks(king) & self.knights()
            | attacks::king_attacks(king) & self.kings()
            | attacks::pawn_attacks(color, king) & self.pawns();
        attackers.intersects(Bitboard(self.of_color(!color)))
    }
}

/// The square of a set that has `number` lower squares in the set.
#[inline]
pub fn nth_square(set: u64, number: u32) -> Option<Square> {
    let rest = 'rest: {
        #[cfg(target_arch = "x86_64")]
        if *bmi::IS_FAST && number < 64 {
            // SAFETY: `IS_FAST` checked that the machine has BMI2.
            break 'rest unsafe { bmi::spread_bits(1 << number, set) };
        }
        (0..number.min(64)).fold(set, |rest, _| rest & rest.wrapping_sub(1))
    };
    Bitboard(rest).first()
}

/// Computes [`Planes::from_nibbles`] piece by piece.
pub fn spread_nibbles(occupied: u64, nibbles: u128) -> [u64; 4] {
    let mut sets = [0u64; 16];
    let mut rest = occupied;
    // Each half has 64 bits, since shifts of 128 bits take longer.
    for mut half in [nibbles as u64, (nibbles >> 64) as u64] {
        for _ in 0..rest.count_ones().min(16) {
            sets[(half & 15) as usize] |= rest & rest.wrapping_neg();
            rest &= rest - 1;
            half >>= 4;
        }
    }
    std::array::from_fn(|bit| {
        let has = |nibble: &usize| nibble >> bit & 1 == 1;
        (0..16).filter(has).fold(0, |plane, nibble| plane | sets[nibble])
    })
}

/// Computes [`Planes::to_nibbles`] piece by piece.
pub fn gather_nibbles(occupied: u64, bits: [u64; 4]) -> u128 {
    let mut halves = [0u64; 2];
    let mut rest = occupied;
    for half in &mut halves {
        for index in 0..rest.count_ones().min(16) {
            let square = rest.trailing_zeros();
            rest &= rest - 1;
            let bit = |k: usize| (bits[k] >> square & 1) << k;
            *half |= (bit(0) | bit(1) | bit(2) | bit(3)) << (4 * index);
        }
    }
    u128::from(halves[0]) | u128::from(halves[1]) << 64
}

/// The versions with the instructions `pdep` and `pext`.
#[cfg(target_arch = "x86_64")]
mod bmi {
    use std::arch::x86_64::{__cpuid, _pdep_u64, _pext_u64};
    use std::sync::LazyLock;

    use super::LOWEST;

    /// Whether the instructions are in hardware, and not microcode loops, as on AMD before Zen 3.
    pub static IS_FAST: LazyLock<bool> = LazyLock::new(|| {
        let version = __cpuid(1).eax;
        let family = (version >> 8 & 15) + (version >> 20 & 255);
        let is_intel = __cpuid(0).ecx.to_le_bytes() == *b"ntel";
        std::is_x86_feature_detected!("bmi2") && (is_intel || family >= 0x19)
    });

    #[target_feature(enable = "bmi2")]
    pub(super) fn spread_bits(bits: u64, set: u64) -> u64 {
        _pdep_u64(bits, set)
    }

    #[target_feature(enable = "bmi2")]
    pub(super) fn spread_nibbles(occupied: u64, nibbles: u128) -> [u64; 4] {
        let [low, high] = [nibbles as u64, (nibbles >> 64) as u64];
        std::array::from_fn(|bit| {
            let packed = |half| _pext_u64(half, LOWEST << bit);
            _pdep_u64(packed(low) | packed(high) << 16, occupied)
        })
    }

    #[target_feature(enable = "bmi2")]
    pub(super) fn gather_nibbles(occupied: u64, bits: [u64; 4]) -> u128 {
        let [mut low, mut high] = [0; 2];
        for (bit, plane) in bits.into_iter().enumerate() {
            let packed = _pext_u64(plane, occupied);
            low |= _pdep_u64(packed, LOWEST << bit);
            high |= _pdep_u64(packed >> 16, LOWEST << bit);
        }
        u128::from(low) | u128::from(high) << 64
    }
}
