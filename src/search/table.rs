//! The transposition table.

use shakmaty::{Chess, Position as _};

use super::order::PackedMove;
use super::{MATES, MAX_PLIES};
use crate::prefetch::prefetch_line;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ScoreBound {
    /// The true score is at most this.
    Upper = 1,
    /// The true score is at least this.
    Lower = 2,
    Exact = 3,
}

impl ScoreBound {
    /// Classifies the best score of a window: exact, or a bound.
    pub fn from_window(best: i32, [alpha, beta]: [i32; 2]) -> Self {
        match () {
            () if best >= beta => ScoreBound::Lower,
            () if best > alpha => ScoreBound::Exact,
            () => ScoreBound::Upper,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct TableHit {
    /// Score at this position: mates at their actual distance.
    pub score: i32,
    pub bound: ScoreBound,
    /// Search depth in half-moves.
    pub depth: i32,
    /// Static evaluation; None in check.
    pub value: Option<i32>,
    pub best: PackedMove,
}

impl TableHit {
    /// Returns whether the score suffices for this window, far from the fifty-move rule.
    pub fn is_sufficient(&self, [alpha, beta]: [i32; 2], chess: &Chess) -> bool {
        let is_tight = match self.bound {
            ScoreBound::Exact => true,
            ScoreBound::Lower => self.score >= beta,
            ScoreBound::Upper => self.score <= alpha,
        };
        is_tight && chess.halfmoves() < NEAR_FIFTY
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct TableEntry {
    key: u64,
    score: i16,
    /// Static evaluation; [`NO_VALUE`] in check.
    value: i16,
    best: PackedMove,
    depth: u8,
    /// Bound in the two lowest bits, 0 for an empty entry, and generation in the others.
    mark: u8,
}

const NO_VALUE: i16 = i16::MIN;
/// Generations are numbers of six bits.
const GENERATIONS: u8 = 64;
/// Half-moves without a capture or pawn move from which on scores of the table are not used.
const NEAR_FIFTY: u32 = 90;
/// Half-moves of depth that an entry loses in value per search since it was stored.
const AGE: i32 = 4;

impl TableEntry {
    fn bound(&self) -> Option<ScoreBound> {
        [None, Some(ScoreBound::Upper), Some(ScoreBound::Lower), Some(ScoreBound::Exact)]
            [usize::from(self.mark & 3)]
    }

    fn generation(&self) -> u8 {
        self.mark >> 2
    }
}

/// Shifts a score to a position `plies` half-moves further down: mates are nearer by as many.
fn shift_mate_score(score: i32, plies: i32) -> i32 {
    match score {
        score if score > MATES => score + plies,
        score if score < -MATES => score - plies,
        score => score,
    }
}

/// A cache line: the entries that a position may use.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct TableLine([TableEntry; 4]);

/// The table; by default it has no entries.
#[derive(Debug, Default)]
pub struct TranspositionTable {
    lines: Vec<TableLine>,
    generation: u8,
}

impl TranspositionTable {
    /// Creates an empty table of `mebibytes` MiB, at least 1.
    pub fn new(mebibytes: usize) -> Self {
        let lines = (mebibytes.max(1) << 20) / size_of::<TableLine>();
        Self { lines: vec![Default::default(); lines], generation: 0 }
    }

    pub fn clear_table(&mut self) {
        self.lines.fill(Default::default());
        self.generation = 0;
    }

    /// Starts a new generation; older entries are replaced first.
    pub fn age_entries(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
    }

    /// Prefetches the entries of a position.
    pub fn prefetch_entries(&self, key: u64) {
        prefetch_line(&self.lines, self.line_index(key), true);
    }

    /// Finds the entry of a position `ply` half-moves after the root.
    pub fn find_entry(&self, key: u64, ply: usize) -> Option<TableHit> {
        let line = self.lines.get(self.line_index(key))?;
        let entry = line.0.iter().find(|entry| entry.key == key)?;
        let score = shift_mate_score(entry.score.into(), -(ply as i32));
        let value = (entry.value != NO_VALUE).then_some(entry.value.into());
        let (bound, depth, best) = (entry.bound()?, entry.depth.into(), entry.best);
        Some(TableHit { score, bound, depth, value, best })
    }

    /// Stores a result `ply` half-moves after the root over the least valuable entry.
    pub fn store_entry(&mut self, key: u64, ply: usize, hit: &TableHit) {
        let (line, generation) = (self.line_index(key), self.generation);
        let replacement_value = |entry: &TableEntry| {
            let age = (generation + GENERATIONS - entry.generation()) % GENERATIONS;
            let same = if entry.key == key { i32::MIN / 2 } else { 0 };
            same + i32::from(entry.mark != 0) + i32::from(entry.depth) - AGE * i32::from(age)
        };
        let Some(TableLine(entries)) = self.lines.get_mut(line) else { return };
        let entry =
            entries.iter_mut().min_by_key(|it| replacement_value(it)).expect("there are four");
        let known = entry.key == key && entry.mark != 0;
        let deeper = i32::from(entry.depth) > hit.depth + AGE;
        if known && deeper && hit.bound != ScoreBound::Exact && entry.generation() == generation {
            return;
        }
        *entry = TableEntry {
            key,
            score: shift_mate_score(hit.score, ply as i32) as i16,
            value: hit.value.map_or(NO_VALUE, |value| value as i16),
            // After a fail low, an earlier search's best move may still be best.
            best: if known && hit.best.is_none() { entry.best } else { hit.best },
            depth: hit.depth.clamp(0, MAX_PLIES as i32) as u8,
            mark: hit.bound as u8 | generation << 2,
        };
    }

    /// Returns the line of a key, by its highest bits, so that the number of lines is arbitrary.
    fn line_index(&self, key: u64) -> usize {
        ((u128::from(key) * self.lines.len() as u128) >> 64) as usize
    }
}
