//! Accumulators along a game, as a search needs them: each move changes a few rows. Those of pieces
//! on squares follow from the move, those of other feature sets from the active rows before and
//! after it.

use shakmaty::Color;

use super::Net;
use crate::architecture::Views;
use crate::features::{Board, DirtyPieces, Rows, Set, king};
use crate::sample::{Piece, Position};

/// An evaluation that is updated along a game, move by move.
pub trait Evaluate {
    /// Restarts at a position.
    fn refresh(&mut self, position: &Position);
    /// Plays a legal move, or passes the turn, to `after`.
    fn play(&mut self, moved: Option<&DirtyPieces>, after: &Position);
    /// Undoes the last move or pass.
    fn undo(&mut self);
    /// Centipawns for the side to move.
    fn value(&mut self) -> i32;
}

/// Accumulators of a position and of its predecessors.
#[derive(Clone, Debug)]
pub struct Accumulator<'a> {
    net: &'a Net,
    /// The positions so far; those behind `depth` are reused buffers.
    levels: Vec<Level>,
    depth: usize,
    /// Counts by row, zero between calls; empty before the first move.
    counts: Vec<i32>,
    /// Rows that a move changes, with the change of their counts.
    changed: Vec<(usize, i32)>,
}

#[derive(Clone, Debug)]
struct Level {
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
        let colours = if net.architecture().inputs.views == Views::Plain { 1 } else { 2 };
        let views = vec![0; colours * net.architecture().hidden];
        let lists = Default::default();
        let first = Level { views, lists, position: *position, pending: None };
        let mut new =
            Self { net, levels: vec![first], depth: 0, counts: Vec::new(), changed: Vec::new() };
        new.refresh(position);
        new
    }

    /// Updates the perspectives of the position and of its predecessors.
    #[inline(always)]
    fn update_views(&mut self) {
        let settled = |level: &Level| level.pending.is_none();
        let last = self.levels[..=self.depth].iter().rposition(settled);
        for depth in last.expect("the first is settled") + 1..=self.depth {
            let (before, behind) = self.levels.split_at_mut(depth);
            let scratch = (&mut self.counts, &mut self.changed);
            behind[0].update(&before[depth - 1], self.net, scratch);
        }
    }
}

impl Evaluate for Accumulator<'_> {
    fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let Level { views, lists, position: here, pending } = &mut self.levels[0];
        (*here, *pending) = (*position, None);
        list_sets(self.net, position, lists);
        for ((color, view), lists) in of_colours(views, self.net).zip(lists) {
            fill(self.net, position, color, lists, view);
        }
    }

    /// The perspectives are updated when a value is needed.
    fn play(&mut self, moved: Option<&DirtyPieces>, after: &Position) {
        self.depth += 1;
        if self.depth == self.levels.len() {
            self.levels.push(self.levels[self.depth - 1].clone());
        }
        let level = &mut self.levels[self.depth];
        (level.position, level.pending) = (*after, Some(moved.copied()));
    }

    fn undo(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move was played");
    }

    /// The value of [`Net::evaluate`].
    fn value(&mut self) -> i32 {
        pulp::Arch::new().dispatch(Value(self))
    }
}

struct Value<'a, 'net>(&'a mut Accumulator<'net>);

/// Inlined, unlike a closure, so that it uses the machine's vector instructions.
impl pulp::NullaryFnOnce for Value<'_, '_> {
    type Output = i32;

    #[inline(always)]
    fn call(self) -> i32 {
        self.0.update_views();
        let Accumulator { net, levels, depth, .. } = self.0;
        let Level { views, position, .. } = &levels[*depth];
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
        net.value(&seen[..count], position)
    }
}

impl Level {
    /// Updates or refreshes the perspectives from those of the previous position.
    #[inline(always)]
    fn update(
        &mut self,
        before: &Level,
        net: &Net,
        (counts, changed): (&mut Vec<i32>, &mut Vec<(usize, i32)>),
    ) {
        let Level { views, lists, position, pending } = self;
        let (inputs, hidden) = (&net.architecture().inputs, net.architecture().hidden);
        let Some(Some(moved)) = pending.take() else {
            views.copy_from_slice(&before.views);
            lists.clone_from(&before.lists);
            return;
        };
        list(net, position, lists, |set, place, color| {
            let stays = !set.changes(&moved, color);
            stays.then(|| &before.lists[usize::from(color.is_black())][place])
        });
        counts.resize(inputs.rows(), 0);
        let from = before.views.chunks_exact(hidden).zip(&before.lists);
        for (((color, view), lists), (from, from_lists)) in
            of_colours(views, net).zip(lists).zip(from)
        {
            match inputs.pieces() {
                Some((_, kings)) if kings.refreshes(color, &moved) => {
                    fill(net, position, color, lists, view);
                    continue;
                }
                Some((set, kings)) => {
                    let (weights, king) = (net.numbers[*set].i16s(), king(position, color));
                    let row = |piece: &Piece| {
                        &weights[kings.row(color, king, *piece) * hidden..][..hidden]
                    };
                    shift(&moved, row, from, view);
                }
                None => view.copy_from_slice(from),
            }
            for ((before, after), weights) in from_lists.iter().zip(lists).zip(&net.numbers) {
                changed.clear();
                List::changes([before, after], counts, |row, times| changed.push((row, times)));
                for &(row, times) in &*changed {
                    weights.add_row(row, times, view);
                }
            }
        }
    }
}

impl List {
    #[inline(always)]
    fn refill(&mut self, set: &Set, board: &Board, color: Color) {
        self.rows.clear();
        set.active(board, color, &mut self.rows);
        if set.rows() > FEW {
            return;
        }
        self.counts.clear();
        self.counts.resize(set.rows().div_ceil(4), [0; 4]);
        let counts = self.counts.as_flattened_mut();
        for row in self.rows.entries() {
            counts[row.number as usize] += row.times as i16;
        }
    }

    /// Calls `each` with the rows whose counts change, see [`Rows::changes`].
    #[inline(always)]
    fn changes([before, after]: [&List; 2], counts: &mut [i32], mut each: impl FnMut(usize, i32)) {
        if after.counts.is_empty() && after.rows != before.rows {
            return Rows::changes([&before.rows, &after.rows], counts, each);
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
fn shift<'a>(
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
fn list<'a>(
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
                None => list.refill(set, &board, color),
            }
        }
    }
}

/// Lists the active rows of each set but `pieces`, by colour.
#[inline(always)]
pub(super) fn list_sets(net: &Net, position: &Position, lists: &mut [Vec<List>; 2]) {
    list(net, position, lists, |_, _, _| None);
}

/// Adds the listed rows of sets to a perspective.
#[inline(always)]
pub(super) fn add_lists(net: &Net, lists: &[List], view: &mut [i32]) {
    for (list, weights) in lists.iter().zip(&net.numbers) {
        for row in list.rows.entries() {
            weights.add_row(row.number as usize, row.times as i32, view);
        }
    }
}

/// Brings the sums of a perspective from some lists to others, if fewer rows differ than are active;
/// returns whether it did. `counts` has a number for each row, 0 before and afterwards.
#[inline(always)]
pub(super) fn change_lists(
    net: &Net,
    [before, after]: [&[List]; 2],
    counts: &mut Vec<i32>,
    view: &mut [i32],
) -> bool {
    if before.len() != after.len() {
        return false;
    }
    counts.resize(net.architecture().inputs.rows(), 0);
    let mut changed = Vec::new();
    for (set, lists) in before.iter().zip(after).enumerate() {
        List::changes([lists.0, lists.1], counts, |row, times| changed.push((set, row, times)));
    }
    let active: usize = after.iter().map(|list| list.rows.entries().len()).sum();
    let is_shorter = changed.len() < active;
    if is_shorter {
        for (set, row, times) in changed {
            net.numbers[set].add_row(row, times, view);
        }
    }
    is_shorter
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
fn fill(net: &Net, position: &Position, color: Color, lists: &[List], view: &mut [i32]) {
    view.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    let inputs = &net.architecture().inputs;
    if let Some((set, kings)) = inputs.pieces() {
        let king = king(position, color);
        for piece in position.pieces() {
            net.numbers[*set].add_row(kings.row(color, king, piece), 1, view);
        }
    }
    add_lists(net, lists, view);
}
