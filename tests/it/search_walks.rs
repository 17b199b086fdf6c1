//! Evaluations that go along a tree: every move there and back, against a look from scratch.

use std::ops::Add;
use std::sync::atomic::AtomicBool;

use nnuance::features::Moved;
use nnuance::net::{Accumulator, Net};
use nnuance::sample::Position;
use nnuance::search::{Evaluate, Game, Limits, Question, Searcher};
use rayon::prelude::*;
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
        self.check();
    }

    fn undo(&mut self) {
        self.positions.pop();
        self.along.undo();
        self.check();
    }

    fn value(&mut self) -> i32 {
        self.kinds.values += 1;
        self.check();
        self.along.value()
    }
}

impl Add for Kinds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            castles: self.castles + other.castles,
            en_passants: self.en_passants + other.en_passants,
            promotions: self.promotions + other.promotions,
            passes: self.passes + other.passes,
            values: self.values + other.values,
        }
    }
}

/// Checked after each move, and after each that is taken back.
#[test]
fn accumulators_follow_ten_thousand_searches() {
    const SEARCHES: usize = 10_000;
    let nets: Vec<&Net> = drawn::nets().collect();
    let named = [KIWIPETE, EN_PASSANT, PROMOTIONS].map(|fen| Position::from_fen(fen).unwrap());
    let positions = playouts::positions(2 * SEARCHES, 77).into_iter().step_by(2).enumerate();
    let positions: Vec<Position> =
        positions.map(|(i, other)| if i % 8 == 0 { named[i / 8 % 3] } else { other }).collect();
    assert_eq!(positions.len(), SEARCHES);
    let searched = |(i, position): (usize, &Position)| {
        let net = nets[i % nets.len()];
        let along = Accumulator::new(net, position);
        let mut checked = Checked { net, along, positions: Vec::new(), kinds: Kinds::default() };
        // Those that go on longer pass, too.
        let nodes = if i % 10 == 0 { 1000 } else { 100 };
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let question = Question { limits, lines: 1, scale: net.scales().scale.into() };
        let (game, stop) = (Game::new(position.to_chess().unwrap()), AtomicBool::new(false));
        Searcher::new(1).search(&game, &mut checked, &question, &stop, &mut |_| ());
        assert_eq!(checked.positions.len(), 1, "all moves are taken back");
        checked.kinds
    };
    let all = positions.par_iter().enumerate().map(searched).reduce(Kinds::default, Add::add);
    let Kinds { castles, en_passants, promotions, passes, values } = all;
    let least = [castles, en_passants, promotions, passes, values / 100].into_iter().min();
    assert!(least.unwrap() >= 200, "{all:?}");
}
