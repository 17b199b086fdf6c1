//! Evaluation of unrelated positions, for labels and comparisons. The accumulator of the last
//! position is cached for each perspective and king bucket. The next accumulator differs by the
//! pieces on which the boards differ, often a few, at worst all. Nets without the set `pieces` update
//! the accumulators of the last position if fewer rows differ than are active. The values equal
//! [`Net::evaluate`], whose sums are the same integers in another order.

use shakmaty::{Color, Role, Square};

use super::Net;
use super::accumulator::{
    CountedRow, List, PerspectiveSums, add_rows, collect_changes, collect_rows, list_sets,
    of_colours, refresh_perspective, sum_piece_squares,
};
use crate::architecture::Architecture;
use crate::features::{Kings, king_square};
use crate::sample::{Piece, Position};

/// The bitboards by colour, White first, and role.
type Boards = [[u64; 6]; 2];

/// An evaluator of successive positions with one net.
#[derive(Clone, Debug)]
pub struct PositionEvaluator<'a> {
    net: &'a Net,
    /// The cached accumulators by colour, mirroring and king bucket.
    cache: Vec<CachedPieces>,
    /// The accumulators of all sets, `[colour][hidden]`, if there are others than pieces.
    accumulators: Vec<i32>,
    /// The active rows by colour, of the position and of the previous one.
    lists: [Vec<List>; 2],
    before: [Vec<List>; 2],
    /// The counts by row, zero between calls.
    counts: Vec<i32>,
    rows: Vec<CountedRow>,
}

/// The accumulator of pieces on boards, without other sets; empty before the first position.
#[derive(Clone, Debug, Default)]
struct CachedPieces {
    boards: Boards,
    sums: Vec<i32>,
}

impl<'a> PositionEvaluator<'a> {
    /// An evaluator with an empty cache.
    pub fn new(net: &'a Net) -> Self {
        let architecture = net.architecture();
        let buckets = architecture.inputs.kings().bucket_count();
        let cache = vec![CachedPieces::default(); 2 * 2 * buckets];
        let accumulators = vec![0; 2 * architecture.hidden];
        let [lists, before] = Default::default();
        Self { net, cache, accumulators, lists, before, counts: Vec::new(), rows: Vec::new() }
    }

    /// Computes the first map's inputs, before an `int8` head's shift, the side to move's first.
    pub fn first_inputs(&mut self, position: &Position) -> Vec<i32> {
        let slots = self.update_perspectives(position);
        self.net.first_inputs(self.order_sums(position, slots).as_slice())
    }

    /// Evaluates a position for the side to move, in centipawns.
    pub fn evaluate(&mut self, position: &Position) -> i32 {
        pulp::Arch::new().dispatch(EvaluateOne(self, position))
    }
}

struct EvaluateOne<'a, 'net>(&'a mut PositionEvaluator<'net>, &'a Position);

/// Evaluates, inlined unlike a closure, so that vector instructions are used.
impl pulp::NullaryFnOnce for EvaluateOne<'_, '_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        let Self(evaluator, position) = self;
        let slots = evaluator.update_perspectives(position);
        let piece_squares = sum_piece_squares(evaluator.net, position, &evaluator.lists);
        let sums = evaluator.order_sums(position, slots);
        evaluator.net.value_of_perspectives(sums.as_slice(), position, piece_squares)
    }
}

impl PositionEvaluator<'_> {
    /// Updates the accumulators to a position, and returns the cache slots of both colours.
    #[inline(always)]
    fn update_perspectives(&mut self, position: &Position) -> [usize; 2] {
        let Self { net, cache, accumulators, lists, before, counts, rows } = self;
        let inputs = &net.architecture().inputs;
        let boards = position.bitboards();
        let mut slots = [0; 2];
        if let Some((set, kings)) = inputs.pieces() {
            for (color, slot) in Color::ALL.into_iter().zip(&mut slots) {
                let king = king_square(position, color);
                *slot = slot_of(kings, color, king);
                let row = |piece, times| (*set, kings.row_of_piece(color, king, piece), times);
                cache[*slot].update_pieces(&boards, net, row, rows);
            }
        }
        if !inputs.is_pieces() {
            std::mem::swap(lists, before);
            list_sets(net, position, lists);
            let perspectives =
                of_colours(accumulators, net).zip(lists.iter().zip(&*before)).zip(slots);
            for (((color, sums), (lists, before)), slot) in perspectives {
                if inputs.pieces().is_some() {
                    sums.copy_from_slice(&cache[slot].sums);
                    collect_rows(lists, rows);
                } else if !collect_changes(net, [before, lists], counts, rows) {
                    refresh_perspective(net, position, color, lists, rows, sums);
                    continue;
                }
                add_rows(net, rows, sums);
            }
        }
        slots
    }

    #[inline(always)]
    fn order_sums(&self, position: &Position, slots: [usize; 2]) -> PerspectiveSums<'_> {
        let Architecture { inputs, hidden, .. } = self.net.architecture();
        PerspectiveSums::order_sums(self.net, position, |colour| match inputs.is_pieces() {
            true => &self.cache[slots[colour]].sums,
            false => &self.accumulators[colour * hidden..][..*hidden],
        })
    }
}

/// The index of a perspective's cached accumulator.
#[inline(always)]
fn slot_of(kings: &Kings, color: Color, king: Square) -> usize {
    let (flip, bucket) =
        kings.flip_and_bucket(usize::from(king) ^ if color.is_white() { 0 } else { 56 });
    let mirrored = usize::from(flip != 0);
    (2 * usize::from(color.is_black()) + mirrored) * kings.bucket_count() + bucket
}

impl CachedPieces {
    /// Adds the rows of new pieces, and subtracts the rows of removed pieces.
    #[inline(always)]
    fn update_pieces(
        &mut self,
        boards: &Boards,
        net: &Net,
        row: impl Fn(Piece, i32) -> CountedRow,
        rows: &mut Vec<CountedRow>,
    ) {
        let Self { boards: before, sums } = self;
        let count = |differ: &dyn Fn(u64, u64) -> u64| -> u32 {
            let pairs = boards.as_flattened().iter().zip(before.as_flattened());
            pairs.map(|(now, before)| differ(*now, *before).count_ones()).sum()
        };
        // If more pieces differ than are on the board, all are added again.
        if sums.is_empty() || count(&|now, before| now ^ before) > count(&|now, _| now) {
            *before = Boards::default();
            sums.clear();
            sums.extend(net.accumulator_bias().iter().map(|&bias| i32::from(bias)));
        }
        rows.clear();
        visit_difference(boards, before, |piece| rows.push(row(piece, 1)));
        visit_difference(before, boards, |piece| rows.push(row(piece, -1)));
        add_rows(net, rows, sums);
        *before = *boards;
    }
}

/// Visits the pieces that are on the boards `present` but not on `absent`.
#[inline(always)]
fn visit_difference(present: &Boards, absent: &Boards, mut visit: impl FnMut(Piece)) {
    for (number, color) in Color::ALL.into_iter().enumerate() {
        for (kind, role) in Role::ALL.into_iter().enumerate() {
            let mut left = present[number][kind] & !absent[number][kind];
            while left != 0 {
                let square = Square::new(left.trailing_zeros());
                left &= left - 1;
                visit(Piece { square, color, role, castles: false });
            }
        }
    }
}
