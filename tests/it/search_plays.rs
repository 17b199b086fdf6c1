//! Games of the search against itself: nothing illegal is played or expected.

use std::sync::atomic::AtomicBool;

use nnuance::engine::opening::chess960;
use nnuance::export::load;
use nnuance::net::Accumulator;
use nnuance::search::{Evaluate, Game, Limits, SearchResult, SearchSettings, Searcher, Terms};
use rayon::prelude::*;

use crate::kit::*;

fn quickstart() -> Net {
    load("nets/quickstart-32.bin".as_ref()).unwrap().net
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
    let mut game = Game::new(start);
    let stop = AtomicBool::new(false);
    for ply in 0..most {
        let chess = game.chess().clone();
        let (legal, side) = (chess.legal_moves(), ply % 2);
        if legal.is_empty() || game.occurrences() == 3 || chess.is_insufficient_material() {
            return ply;
        }
        let limits = Limits { nodes: Some(300), ..Limits::default() };
        let question = SearchSettings { limits, scale: 200.0 };
        let mut watch = |found: &SearchResult| follow(&chess, &found.pv);
        let evaluation = evaluations[side].as_mut();
        let found = searchers[side].search(&game, evaluation, &question, &stop, &mut watch);
        let best = *found.pv.first().expect("there are legal moves");
        assert!(legal.contains(&best));
        follow(&chess, &found.pv);
        game.play(best);
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
                1 => chess960([number * 9 + 31, number * 9]),
                _ => chess960([number * 9; 2]),
            };
            let position = Position::from_chess(&start);
            let net = Box::new(Accumulator::new(&net, &position));
            let weights =
                if number % 2 == 0 { HceWeights::default() } else { HceWeights::material() };
            let terms = Box::new(Terms::new(HceEvaluator::new(&weights)));
            play(start, &mut [net, terms], 60)
        })
        .collect();
    assert!(lengths.iter().sum::<usize>() > 4000, "{lengths:?}");
}
