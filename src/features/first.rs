//! Lists of the first view of many positions, where pieces alone are inputs and kings do not matter.

use shakmaty::Color;

use super::{FIRST, Inputs, MAX_ACTIVE, PIECES, Views};
use crate::sample::Position;

/// The rows of a view, in the order of the board's squares; places behind them hold [`PIECES`].
pub type FirstView = [u16; MAX_ACTIVE];

/// The row of the same piece in the other side's view.
#[inline(always)]
pub const fn flipped(row: u16) -> u16 {
    const HALF: u16 = PIECES as u16 / 2;
    (if row < HALF { row + HALF } else { row - HALF }) ^ 56
}

impl Inputs {
    /// Whether pieces are the only inputs, and have the same rows wherever the kings stand: the rows of
    /// the second view are those of the first, [`flipped`].
    pub fn is_uniform(&self) -> bool {
        self.is_pieces() && !self.kings().matter()
    }

    /// Writes the list of each position's first view.
    ///
    /// # Panics
    /// If the inputs are not [uniform](Inputs::is_uniform).
    pub fn first_views(&self, positions: impl Iterator<Item = Position>, lists: &mut [FirstView]) {
        assert!(self.is_uniform(), "lists of pieces wherever the kings stand");
        let of_white = self.views == Views::Plain;
        let color = |it: &Position| if of_white { Color::White } else { it.turn() };
        let positions = positions.map(|position| (color(&position), position));
        #[cfg(target_arch = "x86_64")]
        if vectors::are_available() {
            // SAFETY: the machine has the instructions.
            return unsafe { vectors::write(positions, lists) };
        }
        for ((color, position), list) in positions.zip(lists) {
            list.fill(PIECES as u16);
            super::lists(&super::Kings::NONE, &position, [color], list);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{Color, FIRST, FirstView, PIECES, Position};

    /// The squares.
    const SQUARES: [u8; 64] = {
        let mut squares = [0; 64];
        let mut square = 0;
        while square < 64 {
            squares[square] = square as u8;
            square += 1;
        }
        squares
    };

    pub fn are_available() -> bool {
        is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2")
    }

    /// All places of a list at a time.
    #[target_feature(enable = "avx512bw,avx512vbmi2,popcnt")]
    pub fn write(positions: impl Iterator<Item = (Color, Position)>, lists: &mut [FirstView]) {
        let (squares, blanks) = (pulp::cast(SQUARES), _mm512_set1_epi16(PIECES as i16));
        let low = _mm256_set1_epi8(15);
        for ((color, position), list) in positions.zip(lists) {
            let is_black = color.is_black();
            let table = pulp::cast(FIRST[usize::from(is_black)]);
            let flip = _mm512_set1_epi16(if is_black { 56 } else { 0 });
            let squares = _mm512_maskz_compress_epi8(position.occupied(), squares);
            let squares = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(squares));
            let pairs = _mm256_cvtepu8_epi16(pulp::cast(position.nibbles()));
            let nibbles =
                _mm256_and_si256(_mm256_or_si256(pairs, _mm256_slli_epi16::<4>(pairs)), low);
            let nibbles = _mm512_cvtepu8_epi16(nibbles);
            let kinds = _mm512_permutexvar_epi16(nibbles, _mm512_castsi256_si512(table));
            let rows = _mm512_add_epi16(kinds, _mm512_xor_si512(squares, flip));
            let there = ((1_u64 << position.occupied().count_ones()) - 1) as u32;
            *list = pulp::cast(_mm512_mask_blend_epi16(there, blanks, rows));
        }
    }
}
