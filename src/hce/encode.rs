//! Positions to the sparse coefficients that a model of handcrafted terms is trained on.

use super::terms::TERMS;
use super::{Phase, Trace, evaluate};
use crate::batch::Terms;
use crate::sample::Position;

/// Appends a position to a batch.
///
/// Coefficients are White's counts minus Black's; counts that cancel out are left out. The
/// terms of a position stand in rising order.
pub fn encode(position: &Position, batch: &mut Terms) {
    batch.terms = TERMS;
    if batch.offsets.is_empty() {
        batch.offsets.push(0);
    }
    let mut trace = Trace::default();
    evaluate(position, &mut trace);
    for (term, difference) in trace.differences() {
        batch.term.push(term.index() as u16);
        // At most 31 men of a kind stand on a board, so nothing saturates.
        batch.coefficient.push(difference.clamp(-128, 127) as i8);
    }
    batch.offsets.push(batch.term.len() as u32);
    let phase = Phase::of(position);
    batch.middlegame.push(phase.middlegame() as f32);
    batch.endgame.push(phase.endgame() as f32);
    batch.turn.push(position.turn().fold_wb(1, -1));
}
