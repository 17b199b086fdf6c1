//! Accumulators along a game for a search. Each move changes a few rows. Those of pieces on squares
//! follow from the move, those of other feature sets from the active rows before and after it.

use shakmaty::Color;

use super::{Net, Numbers};
use crate::architecture::{Architecture, Perspectives};
use crate::features::{Board, DirtyPieces, Rows, Set, king_square};
use crate::sample::{Piece, Position};

/// An evaluation that is updated along a game, move by move.
pub trait Evaluate {
    /// Restarts at a position.
    fn refresh(&mut self, position: &Position);
    /// Plays a legal move, or passes the turn, to `after`.
    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position);
    /// Undoes the last move or pass.
    ///
    /// # Panics
    ///
    /// May panic if no move was played since the last [`refresh`](Self::refresh).
    fn undo_move(&mut self);
    /// Evaluates the position for the side to move, in centipawns.
    ///
    /// # Panics
    ///
    /// May panic before the first [`refresh`](Self::refresh).
    fn value(&mut self) -> i32;
}

/// The accumulators of a position and its predecessors.
#[derive(Clone, Debug)]
pub struct Accumulator<'a> {
    net: &'a Net,
    /// The positions so far; levels above `depth` are reused buffers.
    levels: Vec<AccumulatorLevel>,
    depth: usize,
    /// The counts by row, zero between calls; empty before the first move.
    counts: Vec<i32>,
    changed: Vec<CountedRow>,
}

#[derive(Clone, Debug)]
struct AccumulatorLevel {
    /// The sums `[colour][hidden]`, White's first; only White's for plain inputs.
    accumulators: Vec<i32>,
    /// The active rows of all sets except `pieces`, by colour and set.
    lists: [Vec<List>; 2],
    position: Position,
    /// The last move, until the perspectives are updated; none inside for a null move.
    pending: Option<Option<DirtyPieces>>,
}

/// The active rows of a set. The rows of small sets are counted, four per word.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    rows: Rows,
    counts: Vec<[i16; 4]>,
}

/// The maximum number of rows of a set whose rows are counted.
const FEW: usize = 256;

impl Net {
    /// Evaluates a position for the side to move, in centipawns; see `definition.rs`.
    pub fn evaluate(&self, position: &Position) -> i32 {
        Accumulator::new(self, position).value()
    }
}

impl<'a> Accumulator<'a> {
    /// The accumulators of a position.
    pub fn new(net: &'a Net, position: &Position) -> Self {
        let colours =
            if net.architecture().inputs.perspectives == Perspectives::Plain { 1 } else { 2 };
        let accumulators = vec![0; colours * net.architecture().hidden];
        let lists = Default::default();
        let first = AccumulatorLevel { accumulators, lists, position: *position, pending: None };
        let mut accumulator =
            Self { net, levels: vec![first], depth: 0, counts: Vec::new(), changed: Vec::new() };
        accumulator.refresh(position);
        accumulator
    }

    /// Updates the perspectives of the position and of its predecessors.
    #[inline(always)]
    fn update_perspectives(&mut self) {
        let is_updated = |level: &AccumulatorLevel| level.pending.is_none();
        let last = self.levels[..=self.depth].iter().rposition(is_updated);
        for depth in last.expect("the first is settled") + 1..=self.depth {
            let (earlier, later) = self.levels.split_at_mut(depth);
            let scratch = (&mut self.counts, &mut self.changed);
            later[0].update_perspectives(&earlier[depth - 1], self.net, scratch);
        }
    }
}

impl Evaluate for Accumulator<'_> {
    fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let level = &mut self.levels[0];
        level.position = *position;
        level.pending = None;
        list_sets(self.net, position, &mut level.lists);
        let accumulators = of_colours(&mut level.accumulators, self.net);
        for ((color, sums), lists) in accumulators.zip(&level.lists) {
            refresh_perspective(self.net, position, color, lists, &mut self.changed, sums);
        }
    }

    /// Records a move; the perspectives are updated when a value is needed.
    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position) {
        self.depth += 1;
        if self.depth == self.levels.len() {
            self.levels.push(self.levels[self.depth - 1].clone());
        }
        let level = &mut self.levels[self.depth];
        level.position = *after;
        level.pending = Some(moved.copied());
    }

    fn undo_move(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move was played");
    }

    /// Computes the value of [`Net::evaluate`].
    fn value(&mut self) -> i32 {
        pulp::Arch::new().dispatch(ValueTask(self))
    }
}

struct ValueTask<'a, 'net>(&'a mut Accumulator<'net>);

/// Computes the value, inlined unlike a closure, so that vector instructions are used.
impl pulp::NullaryFnOnce for ValueTask<'_, '_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        self.0.update_perspectives();
        let Accumulator { net, levels, depth, .. } = self.0;
        let AccumulatorLevel { accumulators, lists, position, .. } = &levels[*depth];
        let hidden = net.architecture().hidden;
        let sums_of = |colour: usize| &accumulators[colour * hidden..][..hidden];
        let sums = PerspectiveSums::order_sums(net, position, sums_of);
        let piece_squares = sum_piece_squares(net, position, lists);
        net.value_of_perspectives(sums.as_slice(), position, piece_squares)
    }
}

/// The accumulators of one or two perspectives, the side to move's first.
pub(super) struct PerspectiveSums<'a>([&'a [i32]; 2], usize);

impl<'a> PerspectiveSums<'a> {
    /// Orders the accumulators of the colours, White's being number 0.
    #[inline(always)]
    pub(super) fn order_sums(
        net: &Net,
        position: &Position,
        sums_of: impl Fn(usize) -> &'a [i32],
    ) -> Self {
        let mut ordered = Self([&[]; 2], 0);
        for color in net.architecture().inputs.perspective_colors(position) {
            ordered.0[ordered.1] = sums_of(color.is_black().into());
            ordered.1 += 1;
        }
        ordered
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[&'a [i32]] {
        &self.0[..self.1]
    }
}

impl AccumulatorLevel {
    /// Updates the perspectives from the previous position, or refreshes them.
    #[inline(always)]
    fn update_perspectives(
        &mut self,
        before: &AccumulatorLevel,
        net: &Net,
        (counts, changed): (&mut Vec<i32>, &mut Vec<CountedRow>),
    ) {
        let AccumulatorLevel { accumulators, lists, position, pending } = self;
        let Architecture { inputs, hidden, .. } = net.architecture();
        let hidden = *hidden;
        let Some(Some(moved)) = pending.take() else {
            accumulators.copy_from_slice(&before.accumulators);
            lists.clone_from(&before.lists);
            return;
        };
        list_rows(net, position, lists, |set, set_index, color| {
            let is_unchanged = !set.may_change(&moved, color);
            is_unchanged.then(|| &before.lists[usize::from(color.is_black())][set_index])
        });
        let previous = before.accumulators.chunks_exact(hidden).zip(&before.lists);
        for (((color, sums), lists), (old_sums, old_lists)) in
            of_colours(accumulators, net).zip(lists).zip(previous)
        {
            match inputs.pieces() {
                Some((_, kings)) if kings.needs_refresh(color, &moved) => {
                    refresh_perspective(net, position, color, lists, changed, sums);
                    continue;
                }
                Some((set, kings)) => {
                    let weights = net.numbers[*set].i16s();
                    let king = king_square(position, color);
                    let row = |piece: &Piece| {
                        &weights[kings.row_of_piece(color, king, *piece) * hidden..][..hidden]
                    };
                    apply_move(&moved, row, old_sums, sums);
                }
                None => sums.copy_from_slice(old_sums),
            }
            collect_changes(net, [old_lists, lists], counts, changed);
            add_rows(net, changed, sums);
        }
    }
}

impl List {
    #[inline(always)]
    fn refill_rows(&mut self, set: &Set, board: &Board, color: Color) {
        self.rows.clear();
        set.add_active_rows(board, color, &mut self.rows);
        if set.row_count() > FEW {
            return;
        }
        self.counts.clear();
        self.counts.resize(set.row_count().div_ceil(4), [0; 4]);
        let counts = self.counts.as_flattened_mut();
        for row in self.rows.entries() {
            counts[row.number as usize] += row.times as i16;
        }
    }

    /// Calls `each` with the rows whose counts change; see [`Rows::visit_changes`].
    #[inline(always)]
    fn visit_changes(
        [before, after]: [&List; 2],
        counts: &mut [i32],
        mut each: impl FnMut(usize, i32),
    ) {
        if after.counts.is_empty() && after.rows != before.rows {
            return Rows::visit_changes([&before.rows, &after.rows], counts, each);
        }
        let words = before.counts.iter().zip(&after.counts).enumerate();
        for (word, (before, after)) in words.filter(|(_, (before, after))| before != after) {
            for lane in (0..4).filter(|lane| before[*lane] != after[*lane]) {
                let times = i32::from(after[lane]) - i32::from(before[lane]);
                each(4 * word + lane, times);
            }
        }
    }
}

/// Computes sums after a move of pieces from the sums before it.
#[inline(always)]
fn apply_move<'a>(
    moved: &DirtyPieces,
    row: impl Fn(&Piece) -> &'a [i16],
    old_sums: &[i32],
    sums: &mut [i32],
) {
    // Most moves add one piece and remove one, in a single pass.
    if let ([Some(added), None], [Some(removed), None]) = (&moved.added, &moved.removed) {
        let rows = row(added).iter().zip(row(removed));
        for ((sum, old), (&plus, &minus)) in sums.iter_mut().zip(old_sums).zip(rows) {
            *sum = old + i32::from(plus) - i32::from(minus);
        }
        return;
    }
    sums.copy_from_slice(old_sums);
    for row in moved.added.iter().flatten().map(&row) {
        sums.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
    }
    for row in moved.removed.iter().flatten().map(&row) {
        sums.iter_mut().zip(row).for_each(|(a, &w)| *a -= i32::from(w));
    }
}

/// Lists the active rows of each set except `pieces`, by colour, or copies the list of `same`.
#[inline(always)]
fn list_rows<'a>(
    net: &Net,
    position: &Position,
    lists: &mut [Vec<List>; 2],
    same: impl Fn(&Set, usize, Color) -> Option<&'a List>,
) {
    let inputs = &net.architecture().inputs;
    if inputs.is_pieces() {
        return;
    }
    let board = Board::new(position);
    for (color, lists) in Color::ALL.into_iter().zip(lists) {
        lists.resize_with(inputs.sets().len(), List::default);
        for (index, (set, list)) in inputs.sets().iter().zip(lists).enumerate() {
            match same(set, index, color) {
                _ if set.kings().is_some() => {}
                Some(same) => list.clone_from(same),
                None => list.refill_rows(set, &board, color),
            }
        }
    }
}

/// Lists the active rows of each set except `pieces`, by colour.
#[inline(always)]
pub(super) fn list_sets(net: &Net, position: &Position, lists: &mut [Vec<List>; 2]) {
    list_rows(net, position, lists, |_, _, _| None);
}

/// A set, a row of it, and the number of times that the row is added.
pub(super) type CountedRow = (usize, usize, i32);
#[inline(always)]
pub(super) fn collect_rows(lists: &[List], rows: &mut Vec<CountedRow>) {
    rows.clear();
    for (set, list) in lists.iter().enumerate() {
        let entries = list.rows.entries().iter();
        rows.extend(entries.map(|row| (set, row.number as usize, row.times as i32)));
    }
}

/// Lists the rows whose counts differ, and returns whether they are fewer than the rows of `after`.
/// `counts` has a number for each row, 0 before and afterwards.
#[inline(always)]
pub(super) fn collect_changes(
    net: &Net,
    [before, after]: [&[List]; 2],
    counts: &mut Vec<i32>,
    rows: &mut Vec<CountedRow>,
) -> bool {
    rows.clear();
    if before.len() != after.len() {
        return false;
    }
    counts.resize(net.architecture().inputs.row_count(), 0);
    for (set, (before, after)) in before.iter().zip(after).enumerate() {
        List::visit_changes([before, after], counts, |row, times| rows.push((set, row, times)));
    }
    rows.len() < after.iter().map(|list| list.rows.entries().len()).sum()
}

/// Adds rows to a perspective: four in one pass over the sums, if all are added or all subtracted
/// once. The next four are prefetched, since large tables are not cached and rows are unpredictable.
#[inline(always)]
pub(super) fn add_rows(net: &Net, rows: &[CountedRow], sums: &mut [i32]) {
    let hidden = sums.len();
    let mut next = rows.chunks(4).skip(1);
    for quadruple in rows.chunks(4) {
        for &(set, row, _) in next.next().unwrap_or_default() {
            net.numbers[set].prefetch_row(row, hidden);
        }
        let sign = quadruple[0].2;
        let weights = |(set, row, times): &CountedRow| match &net.numbers[*set] {
            Numbers::I16(values) if *times == sign => Some(&values[row * hidden..][..hidden]),
            _ => None,
        };
        if let [a, b, c, d] = quadruple
            && let [Some(a), Some(b), Some(c), Some(d)] = [a, b, c, d].map(weights)
        {
            let changes = a.iter().zip(b).zip(c).zip(d);
            let changes = changes.map(|(((&a, &b), &c), &d)| {
                i32::from(a) + i32::from(b) + i32::from(c) + i32::from(d)
            });
            match sign {
                1 => sums.iter_mut().zip(changes).for_each(|(sum, change)| *sum += change),
                _ => sums.iter_mut().zip(changes).for_each(|(sum, change)| *sum += sign * change),
            }
        } else {
            for &(set, row, times) in quadruple {
                net.numbers[set].add_row(row, times, sums);
            }
        }
    }
}

/// Computes the difference of the perspectives' piece-square values, the side to move's first, from
/// the pieces and the listed rows of other sets by colour; 0 in nets without such values.
#[inline(always)]
pub(super) fn sum_piece_squares(net: &Net, position: &Position, lists: &[Vec<List>; 2]) -> i64 {
    let Architecture { inputs, buckets, psqt, .. } = net.architecture();
    if !psqt {
        return 0;
    }
    let bucket = net.architecture().bucket_of(position);
    let mut sum = 0;
    for (color, sign) in inputs.perspective_colors(position).zip([1, -1]) {
        if let Some((set, kings)) = inputs.pieces() {
            let values = net.psqt_values(*set);
            let king = king_square(position, color);
            for piece in position.pieces() {
                sum += sign
                    * i64::from(values[kings.row_of_piece(color, king, piece) * buckets + bucket]);
            }
        }
        for (set, list) in lists[usize::from(color.is_black())].iter().enumerate() {
            for row in list.rows.entries() {
                let value = net.psqt_values(set)[row.number as usize * buckets + bucket];
                sum += sign * row.times as i64 * i64::from(value);
            }
        }
    }
    sum
}
pub(super) fn of_colours<'a>(
    accumulators: &'a mut [i32],
    net: &Net,
) -> impl Iterator<Item = (Color, &'a mut [i32])> + use<'a> {
    Color::ALL.into_iter().zip(accumulators.chunks_exact_mut(net.architecture().hidden))
}

/// Refreshes a perspective from the pieces on squares and the listed rows of other sets.
#[inline(always)]
pub(super) fn refresh_perspective(
    net: &Net,
    position: &Position,
    color: Color,
    lists: &[List],
    rows: &mut Vec<CountedRow>,
    sums: &mut [i32],
) {
    sums.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    collect_rows(lists, rows);
    if let Some((set, kings)) = net.architecture().inputs.pieces() {
        let king = king_square(position, color);
        rows.extend(
            position.pieces().map(|piece| (*set, kings.row_of_piece(color, king, piece), 1)),
        );
    }
    add_rows(net, rows, sums);
}
