//! Searches along games: accumulators after each move and its undo, and no illegal move.

use nnuance::engine::opening::chess960_start;
use nnuance::export::load_net;
use nnuance::net::Accumulator;
use nnuance::search::{
    Evaluate, Limits, SearchGame, SearchResult, SearchSettings, SearchTerms, Searcher,
};
use rayon::prelude::*;
use shakmaty::Role;
use std::sync::atomic::AtomicBool;

use crate::support::kit::*;

pub const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
const EN_PASSANT: &str = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1";
const PROMOTIONS: &str = "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1";

struct Checked<'a> {
    net: &'a Net,
    along: Accumulator<'a>,
    positions: Vec<Position>,
    /// Castling, en passant, promotions, null moves, and hundreds of values.
    kinds: [f64; 5],
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

    fn play_move(&mut self, moved: Option<&DirtyPieces>, after: &Position) {
        let before = self.positions.last().unwrap();
        assert_ne!(before.turn(), after.turn());
        let kinds = &mut self.kinds;
        match moved {
            None => {
                assert_eq!(before.to_board(), after.to_board(), "a pass moves nothing");
                kinds[3] += 1.0;
            }
            Some(moved) => {
                let [[Some(to), rook], [Some(from), other]] = [moved.added, moved.removed] else {
                    panic!("a move moves a piece");
                };
                kinds[0] += f64::from(rook.is_some());
                let beside = other.is_some_and(|it| it.square != to.square);
                kinds[1] += f64::from(beside && rook.is_none());
                kinds[2] += f64::from(from.role == Role::Pawn && to.role != Role::Pawn);
            }
        }
        self.positions.push(*after);
        Evaluate::play_move(&mut self.along, moved, after);
        self.check();
    }

    fn undo_move(&mut self) {
        self.positions.pop();
        self.along.undo_move();
        self.check();
    }

    fn value(&mut self) -> i32 {
        self.kinds[4] += 0.01;
        self.check();
        self.along.value()
    }
}

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
        let mut checked = Checked { net, along, positions: Vec::new(), kinds: [0.0; 5] };
        // Those that go on longer pass, too.
        let nodes = if i % 10 == 0 { 1000 } else { 100 };
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let question = SearchSettings { limits, scale: net.scales().scale.into() };
        let (game, stop) = (SearchGame::new(position.to_chess().unwrap()), AtomicBool::new(false));
        Searcher::new(1).search_position(&game, &mut checked, &question, &stop, &mut |_| ());
        assert_eq!(checked.positions.len(), 1, "all moves are taken back");
        checked.kinds
    };
    let sum = |a: [f64; 5], b: [f64; 5]| std::array::from_fn(|i| a[i] + b[i]);
    let all = positions.par_iter().enumerate().map(searched).reduce(|| [0.0; 5], sum);
    assert!(all.iter().all(|count| *count >= 200.0), "{all:?}");
}

fn quickstart() -> Net {
    load_net(QUICKSTART.as_ref()).unwrap().net
}

fn follow(chess: &Chess, pv: &[shakmaty::Move]) {
    let mut chess = chess.clone();
    for played in pv {
        assert!(chess.is_legal(*played), "{played:?} of {pv:?} in {:?}", chess.board());
        chess.play_unchecked(*played);
    }
}

/// Plays at most this many half-moves; returns their number.
fn play(start: Chess, evaluations: &mut [Box<dyn Evaluate + '_>; 2], most: usize) -> usize {
    let mut searchers = [Searcher::new(1), Searcher::new(1)];
    let mut game = SearchGame::new(start);
    let stop = AtomicBool::new(false);
    for ply in 0..most {
        let chess = game.chess().clone();
        let (legal, side) = (chess.legal_moves(), ply % 2);
        if legal.is_empty() || game.count_occurrences() == 3 || chess.is_insufficient_material() {
            return ply;
        }
        let limits = Limits { nodes: Some(300), ..Limits::default() };
        let question = SearchSettings { limits, scale: 200.0 };
        let mut watch = |found: &SearchResult| follow(&chess, &found.pv);
        let evaluation = evaluations[side].as_mut();
        let found =
            searchers[side].search_position(&game, evaluation, &question, &stop, &mut watch);
        let best = *found.pv.first().expect("there are legal moves");
        assert!(legal.contains(&best));
        follow(&chess, &found.pv);
        game.play_move(best);
    }
    most
}

#[test]
fn hundred_games_without_illegal_moves() {
    let net = quickstart();
    let lengths: Vec<usize> = (0..100_u16)
        .into_par_iter()
        .map(|number| {
            let start = match number % 4 {
                0 => Chess::new(),
                1 => chess960_start([number * 9 + 31, number * 9]),
                _ => chess960_start([number * 9; 2]),
            };
            let position = Position::from_chess(&start);
            let net = Box::new(Accumulator::new(&net, &position));
            let weights =
                if number % 2 == 0 { HceWeights::default() } else { HceWeights::material_only() };
            let terms = Box::new(SearchTerms::new(HceEvaluator::new(&weights)));
            play(start, &mut [net, terms], 60)
        })
        .collect();
    assert!(lengths.iter().sum::<usize>() > 4000, "{lengths:?}");
}
