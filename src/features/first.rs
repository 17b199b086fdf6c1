//! Lists of a position's own perspective, for pieces alone in one king bucket.

use shakmaty::Color;

use super::{FIRST, Inputs, MAX_ACTIVE, PIECES, Perspectives};
use crate::sample::Position;

/// The rows of a perspective in the order of the board's squares; unused slots have [`PIECES`].
pub type FirstView = [u16; MAX_ACTIVE];
/// The numbers 0 to 63, of squares or bits.
pub const NUMBERS: [u8; 64] = {
    let mut numbers = [0; 64];
    let mut next = 0;
    while next < 64 {
        numbers[next] = next as u8;
        next += 1;
    }
    numbers
};

/// The row of the same piece from the other side's perspective.
#[inline(always)]
pub const fn flip_row(row: u16) -> u16 {
    const HALF: u16 = PIECES as u16 / 2;
    (if row < HALF { row + HALF } else { row - HALF }) ^ 56
}

/// The bits of a row that mirroring changes.
pub const MIRRORED: u16 = 7;

/// Whether exactly one perspective is mirrored, from the first list of a net with mirrored inputs.
/// Each perspective's own king is on files a to d; if they differ, the enemy's king is on e to h.
#[inline(always)]
pub fn is_mirrored(list: &FirstView) -> bool {
    const KING: u16 = PIECES as u16 - 64;
    let mut is_mirrored = false;
    for row in list {
        is_mirrored |= row / 64 == KING / 64 && row & 4 != 0;
    }
    is_mirrored
}

impl Inputs {
    /// Whether pieces are the only inputs, in one king bucket. The second list then follows from the
    /// first by [`flip_row`], and is mirrored if [`is_mirrored`].
    pub fn is_uniform(&self) -> bool {
        // No copies, since this runs for each position.
        self.sets.len() == 1 && self.pieces().is_some_and(|(_, kings)| kings.bucket_count() == 1)
    }

    /// Lists the rows of a position's first perspective, `[MAX_ACTIVE]`, padded with [`PIECES`].
    ///
    /// # Panics
    ///
    /// Panics unless the inputs are [uniform](Inputs::is_uniform).
    #[inline]
    pub fn first_view(&self, position: &Position) -> FirstView {
        assert!(self.is_uniform(), "lists of pieces in one king bucket");
        let (_, kings) = self.pieces().expect("pieces are inputs");
        let color =
            if self.perspectives == Perspectives::Plain { Color::White } else { position.turn() };
        #[cfg(target_arch = "x86_64")]
        if vectors::are_available() {
            // SAFETY: the machine has these AVX-512 instructions, and so popcnt.
            return unsafe { vectors::first_view(kings.mirror, position, color) };
        }
        let mut list = [PIECES as u16; MAX_ACTIVE];
        super::write_lists(kings, position, [color], &mut list);
        list
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{Color, FIRST, FirstView, MIRRORED, NUMBERS, PIECES, Position};

    /// The row of the own king on a1.
    const OWN_KING: i16 = PIECES as i16 / 2 - 64;

    pub fn are_available() -> bool {
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2")
    }

    /// Computes all slots of the list at once.
    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
    pub fn first_view(mirror: bool, position: &Position, color: Color) -> FirstView {
        let is_black = color.is_black();
        let squares = _mm512_maskz_compress_epi8(position.occupied(), pulp::cast(NUMBERS));
        let squares = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(squares));
        // Each byte has the nibbles of two pieces.
        let bytes = _mm256_cvtepu8_epi16(pulp::cast(position.nibbles()));
        let bytes = _mm256_or_si256(bytes, _mm256_slli_epi16::<4>(bytes));
        let nibbles = _mm512_cvtepu8_epi16(_mm256_and_si256(bytes, _mm256_set1_epi8(15)));
        let table = _mm512_castsi256_si512(pulp::cast(FIRST[usize::from(is_black)]));
        let kinds = _mm512_permutexvar_epi16(nibbles, table);
        let kings = _mm512_cmpeq_epi16_mask(kinds, _mm512_set1_epi16(OWN_KING));
        let kings = _mm512_mask_test_epi16_mask(kings, squares, _mm512_set1_epi16(4));
        let mirrored = if mirror && kings != 0 { MIRRORED as i16 } else { 0 };
        let flip = _mm512_set1_epi16(if is_black { 56 } else { 0 } ^ mirrored);
        let rows = _mm512_xor_si512(kinds, _mm512_xor_si512(squares, flip));
        let used = ((1_u64 << position.occupied().count_ones()) - 1) as u32;
        let blanks = _mm512_set1_epi16(PIECES as i16);
        pulp::cast(_mm512_mask_blend_epi16(used, blanks, rows))
    }
}
