//! A number that changes over a run: the learning rate, or the weight of results in the target.

use super::stages::Shape;

/// What [`Stages`](super::stages::Stages) come to in a run of a known length.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(Vec<Part>);

/// A stage in the run; places and lengths are shares of the run, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    pub shape: Shape,
    pub from: f64,
    pub to: f64,
    pub factor: f64,
    /// The distance of two steps, as a share of the stage.
    pub every: f64,
    pub start: f64,
    pub end: f64,
    pub share: f64,
}

/// What rounding may take from a quotient that is whole: 0.3 / 0.1 comes out below 3.
pub(super) const TOLERANCE: f64 = 1e-9;

impl Schedule {
    pub fn constant(value: f64) -> Self {
        let (shape, from, to, factor) = (Shape::Constant, value, value, 1.0);
        Self(vec![Part { shape, from, to, factor, every: 1.0, start: 0.0, end: 1.0, share: 1.0 }])
    }

    /// Parts that follow one another, at least one.
    pub(super) fn of(parts: Vec<Part>) -> Self {
        Self(parts)
    }

    /// The value when `done`, 0 to 1, of the run is behind.
    pub fn at(&self, done: f64) -> f64 {
        let last = self.0.len() - 1;
        let now = self.0[..last].iter().find(|part| done < part.end).unwrap_or(&self.0[last]);
        let within = if now.share > 0.0 { (done - now.start) / now.share } else { 1.0 };
        now.at(within.clamp(0.0, 1.0))
    }

    /// The smallest and the largest value that the schedule takes.
    pub fn range(&self) -> (f64, f64) {
        let ends = self.0.iter().flat_map(|part| [part.at(0.0), part.at(1.0)]);
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// Whether it has steps that come after the end of their stage, which is never.
    pub fn never_steps(&self) -> bool {
        self.0.iter().any(|part| part.shape == Shape::Step && part.every >= 1.0 - TOLERANCE)
    }
}

impl Part {
    /// The value when `within`, 0 to 1, of the stage is behind.
    pub fn at(&self, within: f64) -> f64 {
        let Part { from, to, factor, every, .. } = *self;
        match self.shape {
            Shape::Constant => from,
            Shape::Linear => from + (to - from) * within,
            Shape::Cosine => to + (from - to) * 0.5 * (1.0 + (std::f64::consts::PI * within).cos()),
            Shape::Exponential if within >= 1.0 => to,
            Shape::Exponential => from * (to / from).powf(within),
            Shape::Step => {
                let steps = (within / every + TOLERANCE).floor();
                // A step at the very end would be one that no position is trained with.
                let last = (1.0 / every - TOLERANCE).ceil() - 1.0;
                from * factor.powf(steps.min(last).max(0.0))
            }
        }
    }
}
