//! Evaluations in a search.

use shakmaty::Chess;

use crate::evaluation::Evaluation;
use crate::features::DirtyPieces;
use crate::hce::HceEvaluator;
use crate::net::{Accumulator, Evaluate, Net};
use crate::sample::Position;

/// Evaluations whose centipawns are added up.
pub struct Sum<'a>(pub Vec<Box<dyn Evaluate + Send + 'a>>);

impl Evaluate for Sum<'_> {
    fn refresh(&mut self, position: &Position) {
        self.0.iter_mut().for_each(|term| term.refresh(position));
    }

    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position) {
        self.0.iter_mut().for_each(|term| term.play_move(moved, after));
    }

    fn undo_move(&mut self) {
        self.0.iter_mut().for_each(|term| term.undo_move());
    }

    fn value(&mut self) -> i32 {
        self.0.iter_mut().fold(0, |sum: i32, term| sum.saturating_add(term.value()))
    }
}

/// Makes an evaluation that follows moves: a net by its accumulator.
pub fn follow_moves(evaluation: &Evaluation) -> Box<dyn Evaluate + Send + '_> {
    match evaluation {
        Evaluation::Terms(terms) => Box::new(SearchTerms::new((**terms).clone())),
        Evaluation::Net(net) => follow_net(net),
        Evaluation::Sum(net, base) => Box::new(Sum(vec![follow_net(net), follow_moves(base)])),
    }
}

fn follow_net(net: &Net) -> Box<dyn Evaluate + Send + '_> {
    Box::new(Accumulator::new(net, &Position::from_chess(&Chess::default())))
}

/// Handcrafted terms in a search; each position is evaluated from scratch.
#[derive(Clone, Debug)]
pub struct SearchTerms {
    evaluator: HceEvaluator,
    positions: Vec<Position>,
}

impl SearchTerms {
    pub fn new(evaluator: HceEvaluator) -> Self {
        Self { evaluator, positions: Vec::new() }
    }
}

impl Evaluate for SearchTerms {
    fn refresh(&mut self, position: &Position) {
        self.positions.clear();
        self.positions.push(*position);
    }

    fn play_move(&mut self, _: Option<&DirtyPieces>, after: &Position) {
        self.positions.push(*after);
    }

    fn undo_move(&mut self) {
        self.positions.pop();
    }

    /// Evaluates the last position; halves are rounded away from zero.
    fn value(&mut self) -> i32 {
        let position = self.positions.last().expect("a search begins with a position");
        self.evaluator.evaluate(position).round() as i32
    }
}
