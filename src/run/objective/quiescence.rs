//! Texel's objective: positions are evaluated where their captures end, as the weights play them.

use super::QuietSearcher;
use crate::batch::MoveChoices;
use crate::loader::Prepare;
use crate::sample::{Position, Sample};
use crate::search::Quiescence;

/// Replaces positions by the ends of their quiescence searches.
pub struct QuietEnds(pub QuietSearcher);

impl Prepare for QuietEnds {
    /// Replaces positions by their quiet ends. Illegal positions, mates and draws stay as they are.
    fn prepare_rows(&self, samples: &[Sample]) -> Vec<Vec<(Position, f64)>> {
        let mut evaluation = self.0.open_evaluation();
        let mut quiescence = Quiescence::new(self.0.scale);
        let row = |sample: &Sample| {
            let given = sample.position;
            let bare =
                Position::of_board_and_turn(given.occupied(), given.nibbles(), given.turn_and_ep());
            let end = bare
                .to_chess()
                .ok()
                .and_then(|it| quiescence.find_quiet_end(&it, &mut *evaluation));
            let end = end.filter(|end| !end.is_decided).map_or(bare, |end| end.position);
            vec![(end, 0.0)]
        };
        samples.iter().map(row).collect()
    }

    fn move_choices(&self) -> Option<MoveChoices> {
        None
    }
}
