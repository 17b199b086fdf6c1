//! The evaluation, written once.

use super::{Sink, Term};
use crate::sample::Position;

/// Names every term that applies in a position, for both colours.
///
/// What is no term, the phase and the tempo, is left to whoever sums up.
pub fn evaluate(position: &Position, sink: &mut impl Sink) {
    for man in position.men() {
        if let Some(term) = Term::material(man.role) {
            sink.add(term, man.color, 1);
        }
        let square = man.color.fold_wb(man.square, man.square.flip_vertical());
        sink.add(Term::psqt(man.role, square), man.color, 1);
    }
}
