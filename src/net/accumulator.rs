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
}

impl<'a> Accumulator<'a> {
    pub fn new(net: &'a Net, position: &Position) -> Self {
        let colours = if net.architecture().inputs.views == Views::Plain { 1 } else { 2 };
        let views = vec![0; colours * net.architecture().hidden];
        let first = Level { views, position: *position };
        let mut new = Self { net, levels: vec![first], depth: 0 };
        new.refresh(position);
        new
    }

    /// Begins anew at a position; the moves before it are forgotten.
    pub fn refresh(&mut self, position: &Position) {
        self.depth = 0;
        let Level { views, position: here } = &mut self.levels[0];
        *here = *position;
        for (view, color) in of_colours(views, self.net) {
            fill(self.net, position, color, view);
        }
    }

    /// Goes on by a legal move that leads to `after`. A view whose king has gone where other rows
    /// count is looked at anew.
    pub fn play(&mut self, moved: &Moved, after: &Position) {
        let net = self.net;
        self.depth += 1;
        if self.depth == self.levels.len() {
            self.levels.push(self.levels[self.depth - 1].clone());
        }
        let (before, behind) = self.levels.split_at_mut(self.depth);
        let Level { views, position } = &mut behind[0];
        *position = *after;
        let (inputs, hidden) = (net.architecture().inputs, net.architecture().hidden);
        let from = before[self.depth - 1].views.chunks_exact(hidden);
        for ((view, color), from) in of_colours(views, net).zip(from) {
            if inputs.refreshes(color, moved) {
                fill(net, after, color, view);
                continue;
            }
            let king = king(after, color);
            let row = |piece: &Piece| net.row(inputs.row(color, king, *piece));
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

    /// Takes the last move back.
    ///
    /// # Panics
    /// If none was played since the last [`Accumulator::refresh`].
    pub fn undo(&mut self) {
        self.depth = self.depth.checked_sub(1).expect("a move was played");
    }

    /// What [`Net::evaluate`] says of the position.
    pub fn value(&self) -> i32 {
        let Level { views, position } = &self.levels[self.depth];
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

/// The accumulators of each colour's view.
fn of_colours<'a>(
    views: &'a mut [i32],
    net: &Net,
) -> impl Iterator<Item = (&'a mut [i32], Color)> + use<'a> {
    views.chunks_exact_mut(net.architecture().hidden).zip([Color::White, Color::Black])
}

/// One view from scratch.
fn fill(net: &Net, position: &Position, color: Color, view: &mut [i32]) {
    view.iter_mut().zip(net.accumulator_bias()).for_each(|(a, &bias)| *a = bias.into());
    let king = king(position, color);
    for piece in position.pieces() {
        let row = net.row(net.architecture().inputs.row(color, king, piece));
        view.iter_mut().zip(row).for_each(|(a, &w)| *a += i32::from(w));
    }
}
