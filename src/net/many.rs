//! Values of positions that are no successors of one another, for labels and comparisons. For each
//! perspective and king bucket the accumulator of the last position that was seen there is kept: the
//! next one differs by the pieces on which the boards differ, often a few, at worst all. In nets
//! without the set `pieces` the accumulators of the last position go on, where fewer rows differ than
//! are active. It equals [`Net::evaluate`], whose sums are the same integers in another order.

use shakmaty::{Color, Role, Square};

use super::Net;
use super::accumulator::{
    CountedRow, List, add_rows, collect_changes, collect_rows, list_sets, of_colours,
    sum_piece_squares,
};
use crate::architecture::Architecture;
use crate::features::{Kings, king_square};
use crate::sample::{Piece, Position};

/// Bitboards by colour, White first, and role.
type Boards = [[u64; 6]; 2];

/// Evaluates positions with one net, one after the other.
#[derive(Clone, Debug)]
pub struct PositionEvaluator<'a> {
    net: &'a Net,
    /// By colour, mirroring and king bucket.
    cache: Vec<CachedPieces>,
    /// Accumulators of all sets, `[colour][hidden]`, where there are more than pieces.
    views: Vec<i32>,
    /// Active rows by colour, and those of the position before.
    lists: [Vec<List>; 2],
    before: [Vec<List>; 2],
    /// By row, zero between calls.
    counts: Vec<i32>,
    /// Rows that are added.
    rows: Vec<CountedRow>,
}

/// The accumulator of some pieces, without those of other sets; empty before the first position.
#[derive(Clone, Debug, Default)]
struct CachedPieces {
    boards: Boards,
    sums: Vec<i32>,
}

impl<'a> PositionEvaluator<'a> {
    /// An evaluator that has seen no position.
    pub fn new(net: &'a Net) -> Self {
        let architecture = net.architecture();
        let buckets = architecture.inputs.kings().bucket_count();
        let cache = vec![CachedPieces::default(); 2 * 2 * buckets];
        let views = vec![0; 2 * architecture.hidden];
        let [lists, before] = Default::default();
        Self { net, cache, views, lists, before, counts: Vec::new(), rows: Vec::new() }
    }

    /// The inputs of the first map in integers, before the shift of an `int8` head: of each
    /// perspective, the side to move's first.
    pub fn first_inputs(&mut self, position: &Position) -> Vec<i32> {
        let slots = self.update_views(position);
        self.net.first_inputs(self.views_of_mover(position, slots).as_slice())
    }

    /// Centipawns for the side to move.
    pub fn evaluate(&mut self, position: &Position) -> i32 {
        pulp::Arch::new().dispatch(EvaluateOne(self, position))
    }
}

struct EvaluateOne<'a, 'net>(&'a mut PositionEvaluator<'net>, &'a Position);

/// Inlined, unlike a closure, so that it uses the machine's vector instructions.
impl pulp::NullaryFnOnce for EvaluateOne<'_, '_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        let Self(evaluator, position) = self;
        let slots = evaluator.update_views(position);
        let piece_squares = sum_piece_squares(evaluator.net, position, &evaluator.lists);
        evaluator.net.value_of_views(
            evaluator.views_of_mover(position, slots).as_slice(),
            position,
            piece_squares,
        )
    }
}

/// The accumulators of one or two perspectives, the side to move's first.
struct Seen<'a>([&'a [i32]; 2], usize);

impl<'a> Seen<'a> {
    #[inline(always)]
    fn as_slice(&self) -> &[&'a [i32]] {
        &self.0[..self.1]
    }
}

impl PositionEvaluator<'_> {
    /// Brings the accumulators to a position; returns the slots of both colours.
    #[inline(always)]
    fn update_views(&mut self, position: &Position) -> [usize; 2] {
        let Self { net, cache, views, lists, before, counts, rows } = self;
        let inputs = &net.architecture().inputs;
        let boards = position.bitboards();
        let mut slots = [0; 2];
        if let Some((set, kings)) = inputs.pieces() {
            for (color, slot) in [Color::White, Color::Black].into_iter().zip(&mut slots) {
                let king = king_square(position, color);
                *slot = slot_of(kings, color, king);
                let row = |piece, times| (*set, kings.row_of_piece(color, king, piece), times);
                cache[*slot].update_pieces(&boards, net, row, rows);
            }
        }
        if !inputs.is_pieces() {
            std::mem::swap(lists, before);
            list_sets(net, position, lists);
            let perspectives = of_colours(views, net).zip(lists.iter().zip(&*before)).zip(slots);
            for (((_, view), (lists, before)), slot) in perspectives {
                if inputs.pieces().is_some() {
                    view.copy_from_slice(&cache[slot].sums);
                    collect_rows(lists, rows);
                } else if !collect_changes(net, [before, lists], counts, rows) {
                    let biases = net.accumulator_bias();
                    view.iter_mut().zip(biases).for_each(|(a, &bias)| *a = bias.into());
                    collect_rows(lists, rows);
                }
                add_rows(net, rows, view);
            }
        }
        slots
    }

    #[inline(always)]
    fn views_of_mover(&self, position: &Position, slots: [usize; 2]) -> Seen<'_> {
        let Architecture { inputs, hidden, .. } = self.net.architecture();
        let (mut seen, mut count) = ([&self.views[..0]; 2], 0);
        for color in inputs.views_of(position) {
            let colour = usize::from(color.is_black());
            seen[count] = match inputs.is_pieces() {
                true => &self.cache[slots[colour]].sums,
                false => &self.views[colour * hidden..][..*hidden],
            };
            count += 1;
        }
        Seen(seen, count)
    }
}

/// The index of a perspective's cached accumulator.
#[inline(always)]
fn slot_of(kings: &Kings, color: Color, king: Square) -> usize {
    let (mirrored, bucket) =
        kings.flip_and_bucket(usize::from(king) ^ if color.is_white() { 0 } else { 56 });
    let mirrored = usize::from(mirrored != 0);
    (2 * usize::from(color.is_black()) + mirrored) * kings.bucket_count() + bucket
}

impl CachedPieces {
    /// Adds the rows of pieces that are new, and subtracts those of pieces that are gone.
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
        // Boards that differ in more than the pieces of one: all are added afresh.
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

/// Visits the pieces that are on the first boards and not on the others.
#[inline(always)]
fn visit_difference(there: &Boards, others: &Boards, mut visit: impl FnMut(Piece)) {
    for (number, color) in [Color::White, Color::Black].into_iter().enumerate() {
        for (kind, role) in Role::ALL.into_iter().enumerate() {
            let mut left = there[number][kind] & !others[number][kind];
            while left != 0 {
                let square = Square::new(left.trailing_zeros());
                left &= left - 1;
                visit(Piece { square, color, role, castles: false });
            }
        }
    }
}
