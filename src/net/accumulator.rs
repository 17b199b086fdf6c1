//! Accumulators along a game, as a search needs them: each move changes a few rows. Those of pieces
//! on squares follow from the move, those of other feature sets from the active rows before and
//! after it.

use shakmaty::Color;

use super::{Net, Numbers};
use crate::architecture::{Architecture, Views};
use crate::features::{Board, DirtyPieces, Rows, Set, king_square};
use crate::sample::{Piece, Position};

/// An evaluation that is updated along a game, move by move.
pub trait Evaluate {
    /// Restarts at a position.
    fn refresh(&mut self, position: &Position);
    /// Plays a legal move, or passes the turn, to `after`.
    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position);
    /// Undoes the last move or pass.
    fn undo_move(&mut self);
    /// Centipawns for the side to move.
    fn value(&mut self) -> i32;
}

/// Accumulators of a position and of its predecessors.
#[derive(Clone, Debug)]
pub struct Accumulator<'a> {
    net: &'a Net,
    /// The positions so far; those behind `depth` are reused buffers.
    levels: Vec<AccumulatorLevel>,
    depth: usize,
    /// Counts by row, zero between calls; empty before the first move.
    counts: Vec<i32>,
    /// Rows that a move changes.
    changed: Vec<CountedRow>,
}

#[derive(Clone, Debug)]
struct AccumulatorLevel {
    /// `[view][hidden]` by colour, White's first; only White's for plain inputs.
    views: Vec<i32>,
    /// Active rows of all sets but `pieces`, set by set, by colour.
    lists: [Vec<List>; 2],
    position: Position,
    /// The last move, until the perspectives are updated; a null move moves nothing.
    pending: Option<Option<DirtyPieces>>,
}

/// Active rows of a set. Few rows are counted, four to a word.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    rows: Rows,
    counts: Vec<[i16; 4]>,
}

/// Most rows of sets that are counted.
const FEW: usize = 256;

impl Net {
    /// Centipawns for the side to move, see `definition.rs`.
    pub fn evaluate(&self, position: &Position) -> i32 {
        Accumulator::new(self, position).value()
    }
}

impl<'a> Accumulator<'a> {
    /// The accumulators of a position.
    pub fn new(net: &'a Net, position: &Position) -> Self {
        let colours = if net.architecture().inputs.perspectives == Views::Plain { 1 } else { 2 };
        let views = vec![0; colours * net.architecture().hidden];
        let lists = Default::default();
        let first = AccumulatorLevel { views, lists, position: *position, pending: None };
        let mut new =
            Self { net, levels: vec![first], depth: 0, counts: Vec::new(), changed: Vec::new() };
        new.refresh(position);
        new
    }

    /// Updates the perspectives of the position and of its predecessors.
    #[inline(always)]
    fn update_views(&mut self) {
        let settled = |level: &AccumulatorLevel| level.pending.is_none();
        let last = self.levels[..=self.depth].iter().rposition(settled);
        for depth in last.expect("the first is settled") + 1..=self.depth {
            let (before, behind) = self.levels.split_at_mut(depth);
            let scratch = (&mut self.counts, &mut self.changed);
            behind[0].update_views(&before[depth - 1], self.net, scratch);
        }
    }
}

impl Evaluate for Accumulator<'_> {
    fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let AccumulatorLevel { views, lists, position: here, pending } = &mut self.levels[0];
        (*here, *pending) = (*position, None);
        list_sets(self.net, position, lists);
        for ((color, view), lists) in of_colours(views, self.net).zip(lists) {
            refresh_view(self.net, position, color, lists, &mut self.changed, view);
        }
    }

    /// The perspectives are updated when a value is needed.
    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position) {
        self.depth += 1;
        if self.depth == self.levels.len() {
            self.levels.push(self.levels[self.depth - 1].clone());
        }
        let level = &mut self.levels[self.depth];
        (level.position, level.pending) = (*after, Some(moved.copied()));
    }

    fn undo_move(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move was played");
    }

    /// The value of [`Net::evaluate`].
    fn value(&mut self) -> i32 {
        pulp::Arch::new().dispatch(ValueTask(self))
    }
}

struct ValueTask<'a, 'net>(&'a mut Accumulator<'net>);

/// Inlined, unlike a closure, so that it uses the machine's vector instructions.
impl pulp::NullaryFnOnce for ValueTask<'_, '_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        self.0.update_views();
        let Accumulator { net, levels, depth, .. } = self.0;
        let AccumulatorLevel { views, lists, position, .. } = &levels[*depth];
        let architecture = net.architecture();
        let of = |color: Color| {
            let hidden = architecture.hidden;
            &views[usize::from(color.is_black()) * hidden..][..hidden]
        };
        let (mut seen, mut count) = ([&views[..0]; 2], 0);
        for color in architecture.inputs.views_of(position) {
            seen[count] = of(color);
            count += 1;
        }
        net.value_of_views(&seen[..count], position, sum_piece_squares(net, position, lists))
    }
}

impl AccumulatorLevel {
    /// Updates or refreshes the perspectives from those of the previous position.
    #[inline(always)]
    fn update_views(
        &mut self,
        before: &AccumulatorLevel,
        net: &Net,
        (counts, changed): (&mut Vec<i32>, &mut Vec<CountedRow>),
    ) {
        let AccumulatorLevel { views, lists, position, pending } = self;
        let (inputs, hidden) = (&net.architecture().inputs, net.architecture().hidden);
        let Some(Some(moved)) = pending.take() else {
            views.copy_from_slice(&before.views);
            lists.clone_from(&before.lists);
            return;
        };
        list_rows(net, position, lists, |set, place, color| {
            let stays = !set.may_change(&moved, color);
            stays.then(|| &before.lists[usize::from(color.is_black())][place])
        });
        let from = before.views.chunks_exact(hidden).zip(&before.lists);
        for (((color, view), lists), (from, from_lists)) in
            of_colours(views, net).zip(lists).zip(from)
        {
            match inputs.pieces() {
                Some((_, kings)) if kings.needs_refresh(color, &moved) => {
                    refresh_view(net, position, color, lists, changed, view);
                    continue;
                }
                Some((set, kings)) => {
                    let (weights, king) = (net.numbers[*set].i16s(), king_square(position, color));
                    let row = |piece: &Piece| {
                        &weights[kings.row_of_piece(color, king, *piece) * hidden..][..hidden]
                    };
                    apply_move(&moved, row, from, view);
                }
                None => view.copy_from_slice(from),
            }
            collect_changes(net, [from_lists, lists], counts, changed);
            add_rows(net, changed, view);
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

    /// Calls `each` with the rows whose counts change, see [`Rows::visit_changes`].
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
            for place in (0..4).filter(|place| before[*place] != after[*place]) {
                let times = i32::from(after[place]) - i32::from(before[place]);
                each(4 * word + place, times);
            }
        }
    }
}

/// Computes accumulators of pieces after a move from those before it.
#[inline(always)]
fn apply_move<'a>(
    moved: &DirtyPieces,
    row: impl Fn(&Piece) -> &'a [i16],
    from: &[i32],
    view: &mut [i32],
) {
    // Most moves add one piece and remove one: a single pass does both.
    if let ([Some(added), None], [Some(removed), None]) = (&moved.added, &moved.removed) {
        let rows = row(added).iter().zip(row(removed));
        for ((to, from), (&plus, &minus)) in view.iter_mut().zip(from).zip(rows) {
            *to = from + i32::from(plus) - i32::from(minus);
        }
        return;
    }
    view.copy_from_slice(from);
    for row in moved.added.iter().flatten().map(&row) {
        view.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
    }
    for row in moved.removed.iter().flatten().map(&row) {
        view.iter_mut().zip(row).for_each(|(a, &w)| *a -= i32::from(w));
    }
}

/// Lists the active rows of each set but `pieces`, by colour, unless `same` has a list.
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
    for (color, lists) in [Color::White, Color::Black].into_iter().zip(lists) {
        lists.resize_with(inputs.sets().len(), List::default);
        for (place, (set, list)) in inputs.sets().iter().zip(lists).enumerate() {
            match same(set, place, color) {
                _ if set.kings().is_some() => {}
                Some(same) => list.clone_from(same),
                None => list.refill_rows(set, &board, color),
            }
        }
    }
}

/// Lists the active rows of each set but `pieces`, by colour.
#[inline(always)]
pub(super) fn list_sets(net: &Net, position: &Position, lists: &mut [Vec<List>; 2]) {
    list_rows(net, position, lists, |_, _, _| None);
}

/// A row of a set, and how many times it is added.
pub(super) type CountedRow = (usize, usize, i32);

/// Lists the rows of all sets.
#[inline(always)]
pub(super) fn collect_rows(lists: &[List], rows: &mut Vec<CountedRow>) {
    rows.clear();
    for (set, list) in lists.iter().enumerate() {
        let entries = list.rows.entries().iter();
        rows.extend(entries.map(|row| (set, row.number as usize, row.times as i32)));
    }
}

/// Lists the rows whose counts differ; returns whether they are fewer than those of `after`. `counts`
/// has a number for each row, 0 before and afterwards.
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

/// Adds rows to a perspective, four in one pass over the sums where all are added, or subtracted,
/// once. The next four are prefetched meanwhile: large tables are in no cache, and no processor predicts
/// which row comes next.
#[inline(always)]
pub(super) fn add_rows(net: &Net, rows: &[CountedRow], view: &mut [i32]) {
    let hidden = view.len();
    let mut next = rows.chunks(4).skip(1);
    for group in rows.chunks(4) {
        for &(set, row, _) in next.next().unwrap_or_default() {
            net.numbers[set].prefetch_row(row, hidden);
        }
        let sign = group[0].2;
        let weights = |(set, row, times): &CountedRow| match &net.numbers[*set] {
            Numbers::I16(them) if *times == sign => Some(&them[row * hidden..][..hidden]),
            _ => None,
        };
        if let [a, b, c, d] = group
            && let [Some(a), Some(b), Some(c), Some(d)] = [a, b, c, d].map(weights)
        {
            let four = a.iter().zip(b).zip(c).zip(d);
            let four = four.map(|(((&a, &b), &c), &d)| {
                i32::from(a) + i32::from(b) + i32::from(c) + i32::from(d)
            });
            match sign {
                1 => view.iter_mut().zip(four).for_each(|(sum, four)| *sum += four),
                _ => view.iter_mut().zip(four).for_each(|(sum, four)| *sum += sign * four),
            }
        } else {
            for &(set, row, times) in group {
                net.numbers[set].add_row(row, times, view);
            }
        }
    }
}

/// The difference of the perspectives' piece-square values, the side to move's first, from the pieces
/// and the listed rows of other sets, by colour; 0 in nets without.
#[inline(always)]
pub(super) fn sum_piece_squares(net: &Net, position: &Position, lists: &[Vec<List>; 2]) -> i64 {
    let Architecture { inputs, buckets, psqt, .. } = net.architecture();
    if !psqt {
        return 0;
    }
    let bucket = net.architecture().bucket_of(position);
    let mut sum = 0;
    for (color, sign) in inputs.views_of(position).zip([1, -1]) {
        if let Some((set, kings)) = inputs.pieces() {
            let (values, king) = (net.psqt_values(*set), king_square(position, color));
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

/// The accumulators of each colour's perspective.
pub(super) fn of_colours<'a>(
    views: &'a mut [i32],
    net: &Net,
) -> impl Iterator<Item = (Color, &'a mut [i32])> + use<'a> {
    [Color::White, Color::Black].into_iter().zip(views.chunks_exact_mut(net.architecture().hidden))
}

/// Refreshes a perspective: pieces on squares, and the listed rows of other sets.
#[inline(always)]
fn refresh_view(
    net: &Net,
    position: &Position,
    color: Color,
    lists: &[List],
    rows: &mut Vec<CountedRow>,
    view: &mut [i32],
) {
    view.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    collect_rows(lists, rows);
    if let Some((set, kings)) = net.architecture().inputs.pieces() {
        let king = king_square(position, color);
        rows.extend(
            position.pieces().map(|piece| (*set, kings.row_of_piece(color, king, piece), 1)),
        );
    }
    add_rows(net, rows, view);
}
