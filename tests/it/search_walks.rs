//! Evaluations that go along a tree: every move there and back, against a look from scratch.

use std::sync::atomic::AtomicBool;

use nnuance::features::Moved;
use nnuance::net::{Accumulator, Net};
use nnuance::sample::Position;
use nnuance::search::{Evaluate, Game, Limits, Question, Searcher};
use shakmaty::{Chess, Position as _, Role};

use crate::{drawn, playouts};

pub const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
const EN_PASSANT: &str = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1";
const PROMOTIONS: &str = "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1";

/// The leaves so many half-moves on; down to `looks` half-moves from the root the accumulator's
/// value is compared with that from scratch.
fn leaves(chess: &Chess, along: &mut Accumulator, net: &Net, depth: u32, looks: u32) -> u64 {
    let position = Position::from_chess(chess);
    if looks > 0 {
        assert_eq!(along.value(), net.evaluate(&position), "{} {position:?}", net.architecture());
    }
    if depth == 0 {
        return 1;
    }
    let mut count = 0;
    for played in chess.legal_moves() {
        let mut after = chess.clone();
        after.play_unchecked(played);
        along.play(&Moved::of(chess.turn(), &played), &Position::from_chess(&after));
        count += leaves(&after, along, net, depth - 1, looks.saturating_sub(1));
        along.undo();
    }
    count
}

#[test]
fn perft_counts_what_it_should_with_accumulators_along() {
    let start = Position::from_chess(&Chess::new());
    let kiwipete = Position::from_fen(KIWIPETE).unwrap();
    let nets: Vec<&Net> = drawn::nets().collect();
    let deep = [(start, 4, 197_281), (kiwipete, 3, 97_862)];
    let shallow = [(start, 2, 400), (start, 1, 20), (kiwipete, 2, 2039), (kiwipete, 1, 48)];
    for (position, depth, count) in shallow {
        for net in &nets {
            let mut along = Accumulator::new(net, &position);
            let chess = position.to_chess().unwrap();
            assert_eq!(leaves(&chess, &mut along, net, depth, depth + 1), count);
        }
    }
    for (position, depth, count) in deep {
        let mut along = Accumulator::new(nets[0], &position);
        assert_eq!(leaves(&position.to_chess().unwrap(), &mut along, nets[0], depth, 3), count);
    }
    let mut along = Accumulator::new(nets[0], &start);
    assert_eq!(leaves(&Chess::new(), &mut along, nets[0], 3, 4), 8902);
}

/// An accumulator that is checked wherever a search takes it.
struct Checked<'a> {
    net: &'a Net,
    along: Accumulator<'a>,
    positions: Vec<Position>,
    /// Whether it is checked after each move, or only where the search asks.
    always: bool,
    kinds: Kinds,
}

#[derive(Clone, Copy, Debug, Default)]
struct Kinds {
    castles: u64,
    en_passants: u64,
    promotions: u64,
    passes: u64,
    values: u64,
}

impl Checked<'_> {
    fn check(&mut self) {
        let position = self.positions.last().unwrap();
        let right = self.net.evaluate(position);
        assert_eq!(self.along.value(), right, "{} {position:?}", self.net.architecture());
    }
}

impl Evaluate for Checked<'_> {
    fn refresh(&mut self, position: &Position) {
        self.positions = vec![*position];
        self.along.refresh(position);
    }

    fn play(&mut self, moved: Option<&Moved>, after: &Position) {
        let before = self.positions.last().unwrap();
        assert_ne!(before.turn(), after.turn());
        let kinds = &mut self.kinds;
        match moved {
            None => {
                assert_eq!(before.board(), after.board(), "a pass moves nothing");
                kinds.passes += 1;
            }
            Some(moved) => {
                let (added, removed) = (moved.added(), moved.removed());
                let pawn = removed[0].role == Role::Pawn;
                kinds.castles += u64::from(added.len() == 2);
                kinds.promotions += u64::from(pawn && added[0].role != Role::Pawn);
                let beside = removed.get(1).is_some_and(|it| it.square != added[0].square);
                kinds.en_passants += u64::from(beside && added.len() == 1);
            }
        }
        self.positions.push(*after);
        Evaluate::play(&mut self.along, moved, after);
        if self.always {
            self.check();
        }
    }

    fn undo(&mut self) {
        self.positions.pop();
        self.along.undo();
        if self.always {
            self.check();
        }
    }

    fn value(&mut self) -> i32 {
        self.kinds.values += 1;
        self.check();
        self.along.value()
    }
}

#[test]
fn accumulators_follow_every_search() {
    let mut positions = playouts::positions(4000, 77).into_iter().step_by(53);
    let named = [KIWIPETE, EN_PASSANT, PROMOTIONS].map(|fen| Position::from_fen(fen).unwrap());
    let (mut kinds, mut searches) = (Kinds::default(), 0);
    for (i, net) in drawn::nets().enumerate() {
        let others = positions.by_ref().take(2);
        for position in others.chain([named[i % 3], named[(i + 1) % 3]]) {
            let game = Game::new(position.to_chess().unwrap());
            let along = Accumulator::new(net, &position);
            let mut checked =
                Checked { net, along, positions: Vec::new(), always: i % 2 == 0, kinds };
            let limits = Limits { nodes: Some(500), ..Limits::default() };
            let question = Question { limits, lines: 1, scale: net.scales().scale.into() };
            let stop = AtomicBool::new(false);
            Searcher::new(1).search(&game, &mut checked, &question, &stop, &mut |_| ());
            assert_eq!(checked.positions.len(), 1, "all moves are taken back");
            (kinds, searches) = (checked.kinds, searches + 1);
        }
    }
    assert!(searches >= 100, "{searches}");
    let Kinds { castles, en_passants, promotions, passes, values } = kinds;
    let least = [castles, en_passants, promotions, passes, values / 100].into_iter().min();
    assert!(least.unwrap() >= 20, "{kinds:?}");
}
