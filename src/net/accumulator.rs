//! Accumulators that follow a game, as a search needs them: each move changes a few rows. Those of
//! pieces on squares follow from the move, those of other feature sets from the lists of active rows
//! before and after it.

use shakmaty::Color;

use super::Net;
use crate::architecture::Views;
use crate::features::{Board, Moved, Rows, king};
use crate::sample::{Piece, Position};

/// The accumulators of a position and of those that led to it.
#[derive(Clone, Debug)]
pub struct Accumulator<'a> {
    net: &'a Net,
    /// The positions on the way; those behind `depth` are room for more.
    levels: Vec<Level>,
    depth: usize,
    /// By row, zero between calls; empty before the first move.
    counts: Vec<i32>,
}

#[derive(Clone, Debug)]
struct Level {
    /// `[view][hidden]` by colour, White's first; the plain view has White's only.
    views: Vec<i32>,
    /// By colour, the active rows of all sets but `pieces`, set by set.
    rows: [Vec<Rows>; 2],
    position: Position,
    /// The move that led here, until the views are updated; a pass moves nothing.
    pending: Option<Option<Moved>>,
}

impl Net {
    /// Centipawns for the side to move, see [`definition`](super::definition).
    pub fn evaluate(&self, position: &Position) -> i32 {
        Accumulator::new(self, position).value()
    }
}

impl<'a> Accumulator<'a> {
    pub fn new(net: &'a Net, position: &Position) -> Self {
        let colours = if net.architecture().inputs.views == Views::Plain { 1 } else { 2 };
        let views = vec![0; colours * net.architecture().hidden];
        let rows = Default::default();
        let first = Level { views, rows, position: *position, pending: None };
        let mut new = Self { net, levels: vec![first], depth: 0, counts: Vec::new() };
        new.refresh(position);
        new
    }

    /// Begins anew at a position; the moves before it are forgotten.
    pub fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let Level { views, rows, position: here, pending } = &mut self.levels[0];
        (*here, *pending) = (*position, None);
        list(self.net, position, rows);
        for ((color, view), rows) in of_colours(views, self.net).zip(rows) {
            fill(self.net, position, color, rows, view);
        }
    }

    /// Plays a legal move that leads to `after`; computed once a value is needed.
    pub fn play(&mut self, moved: &Moved, after: &Position) {
        self.go_on(Some(*moved), after);
    }

    /// Goes on to the same board with the other side to move.
    pub fn pass(&mut self, after: &Position) {
        self.go_on(None, after);
    }

    fn go_on(&mut self, moved: Option<Moved>, after: &Position) {
        self.depth += 1;
        if self.depth == self.levels.len() {
            self.levels.push(self.levels[self.depth - 1].clone());
        }
        let level = &mut self.levels[self.depth];
        (level.position, level.pending) = (*after, Some(moved));
    }

    /// Makes the views of the position, and of those on the way to it, what they should be.
    fn settle(&mut self) {
        let settled = |level: &Level| level.pending.is_none();
        let last = self.levels[..=self.depth].iter().rposition(settled);
        for depth in last.expect("the first is settled") + 1..=self.depth {
            let (before, behind) = self.levels.split_at_mut(depth);
            behind[0].follow(&before[depth - 1], self.net, &mut self.counts);
        }
    }

    /// Takes the last move back.
    pub fn undo(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move was played");
    }

    /// The value of [`Net::evaluate`].
    pub fn value(&mut self) -> i32 {
        self.settle();
        let Level { views, position, .. } = &self.levels[self.depth];
        let architecture = self.net.architecture();
        let of = |color: Color| {
            let hidden = architecture.hidden;
            &views[usize::from(color.is_black()) * hidden..][..hidden]
        };
        let (mut seen, mut count) = ([&views[..0]; 2], 0);
        for color in architecture.inputs.views_of(position) {
            seen[count] = of(color);
            count += 1;
        }
        self.net.value(&seen[..count], position)
    }
}

impl Level {
    /// Updates or refreshes the views from those of the position before.
    fn follow(&mut self, before: &Level, net: &Net, counts: &mut Vec<i32>) {
        let Level { views, rows, position, pending } = self;
        let (inputs, hidden) = (&net.architecture().inputs, net.architecture().hidden);
        let Some(Some(moved)) = pending.take() else {
            views.copy_from_slice(&before.views);
            rows.clone_from(&before.rows);
            return;
        };
        list(net, position, rows);
        let from = before.views.chunks_exact(hidden).zip(&before.rows);
        for (((color, view), rows), (from, from_rows)) in of_colours(views, net).zip(rows).zip(from)
        {
            match inputs.pieces() {
                Some((_, kings)) if kings.refreshes(color, &moved) => {
                    fill(net, position, color, rows, view);
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
            counts.resize(inputs.rows(), 0);
            for ((before, after), weights) in from_rows.iter().zip(rows).zip(&net.numbers) {
                if before != after {
                    Rows::changes([before, after], counts, |row, times| {
                        weights.row(row, hidden).add(times, view);
                    });
                }
            }
        }
    }
}

/// Writes accumulators of pieces after a move, from those before it.
#[inline(always)]
fn shift<'a>(moved: &Moved, row: impl Fn(&Piece) -> &'a [i16], from: &[i32], view: &mut [i32]) {
    // Most moves put one piece on a square and take one from it: one pass does both.
    if let ([added], [removed]) = (moved.added(), moved.removed()) {
        let rows = row(added).iter().zip(row(removed));
        for ((to, from), (&plus, &minus)) in view.iter_mut().zip(from).zip(rows) {
            *to = from + i32::from(plus) - i32::from(minus);
        }
        return;
    }
    view.copy_from_slice(from);
    for row in moved.added().iter().map(&row) {
        view.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
    }
    for row in moved.removed().iter().map(&row) {
        view.iter_mut().zip(row).for_each(|(a, &w)| *a -= i32::from(w));
    }
}

/// Lists the active rows of each set but `pieces`, by colour.
fn list(net: &Net, position: &Position, rows: &mut [Vec<Rows>; 2]) {
    let inputs = &net.architecture().inputs;
    if inputs.is_pieces() {
        return;
    }
    let board = Board::new(position);
    for (color, rows) in [Color::White, Color::Black].into_iter().zip(rows) {
        rows.resize_with(inputs.sets().len(), Rows::default);
        for (set, rows) in inputs.sets().iter().zip(rows) {
            rows.clear();
            if set.kings().is_none() {
                set.active(&board, color, rows);
            }
        }
    }
}

/// The accumulators of each colour's view.
fn of_colours<'a>(
    views: &'a mut [i32],
    net: &Net,
) -> impl Iterator<Item = (Color, &'a mut [i32])> + use<'a> {
    [Color::White, Color::Black].into_iter().zip(views.chunks_exact_mut(net.architecture().hidden))
}

/// Adds up a view anew: pieces on squares, and the listed rows of other sets.
fn fill(net: &Net, position: &Position, color: Color, rows: &[Rows], view: &mut [i32]) {
    view.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    let inputs = &net.architecture().inputs;
    if let Some((set, kings)) = inputs.pieces() {
        let (king, hidden) = (king(position, color), net.architecture().hidden);
        for piece in position.pieces() {
            net.numbers[*set].row(kings.row(color, king, piece), hidden).add(1, view);
        }
    }
    for (rows, weights) in rows.iter().zip(&net.numbers) {
        for row in rows.entries() {
            weights.row(row.number as usize, view.len()).add(row.times as i32, view);
        }
    }
}
