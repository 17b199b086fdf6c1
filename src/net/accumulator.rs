//! Accumulators that follow a game, as a search needs them: each move changes a few rows.

use shakmaty::Color;

use super::Net;
use crate::architecture::Views;
use crate::features::{Moved, king};
use crate::sample::{Piece, Position};

/// The accumulators of a position and of those that led to it.
#[derive(Clone, Debug)]
pub struct Accumulator<'a> {
    net: &'a Net,
    /// The positions on the way; those behind `depth` are room for more.
    levels: Vec<Level>,
    depth: usize,
}

#[derive(Clone, Debug)]
struct Level {
    /// `[view][hidden]` by colour, White's first; the plain view has White's only.
    views: Vec<i32>,
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
        let first = Level { views, position: *position, pending: None };
        let mut new = Self { net, levels: vec![first], depth: 0 };
        new.refresh(position);
        new
    }

    /// Begins anew at a position; the moves before it are forgotten.
    pub fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let Level { views, position: here, pending } = &mut self.levels[0];
        (*here, *pending) = (*position, None);
        for (view, color) in of_colours(views, self.net) {
            fill(self.net, position, color, view);
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
            behind[0].follow(&before[depth - 1].views, self.net);
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
        let value = self.net.value(&seen[..count], architecture.bucket_of(position));
        self.net.seen_by_mover(value, position)
    }
}

impl Level {
    /// Updates or refreshes the views from those of the position before.
    fn follow(&mut self, before: &[i32], net: &Net) {
        let Level { views, position, pending } = self;
        let Some(Some(moved)) = pending.take() else {
            views.copy_from_slice(before);
            return;
        };
        let (kings, hidden) = (net.architecture().inputs.kings(), net.architecture().hidden);
        for ((view, color), from) in of_colours(views, net).zip(before.chunks_exact(hidden)) {
            if kings.refreshes(color, &moved) {
                fill(net, position, color, view);
                continue;
            }
            let king = king(position, color);
            let row = |piece: &Piece| net.row(kings.row(color, king, *piece));
            // Most moves put one piece on a square and take one from it: one pass does both.
            if let ([added], [removed]) = (moved.added(), moved.removed()) {
                let rows = row(added).iter().zip(row(removed));
                for ((to, from), (&plus, &minus)) in view.iter_mut().zip(from).zip(rows) {
                    *to = from + i32::from(plus) - i32::from(minus);
                }
                continue;
            }
            view.copy_from_slice(from);
            for row in moved.added().iter().map(row) {
                view.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
            }
            for row in moved.removed().iter().map(row) {
                view.iter_mut().zip(row).for_each(|(a, &w)| *a -= i32::from(w));
            }
        }
    }
}

/// The accumulators of each colour's view.
fn of_colours<'a>(
    views: &'a mut [i32],
    net: &Net,
) -> impl Iterator<Item = (&'a mut [i32], Color)> + use<'a> {
    views.chunks_exact_mut(net.architecture().hidden).zip([Color::White, Color::Black])
}

fn fill(net: &Net, position: &Position, color: Color, view: &mut [i32]) {
    view.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    let (king, kings) = (king(position, color), net.architecture().inputs.kings());
    for piece in position.pieces() {
        let row = net.row(kings.row(color, king, piece));
        view.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
    }
}
