//! Nets of every kind, and what they say of positions and at the ends of games.

use std::path::Path;
use std::sync::LazyLock;

use nnuance::architecture::{Activation, Architecture};
use nnuance::export::load;
use nnuance::features::{self, Features};
use nnuance::net::Net;
use nnuance::scales::Scales;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::playouts;

/// A net with lines for `eval`, and the centipawns that belong to them.
pub struct Case {
    pub net: Net,
    /// A FEN each.
    pub positions: Vec<(String, i32)>,
    /// A FEN each with moves behind it; the centipawns are those after the last.
    pub games: Vec<(String, i32)>,
}

/// One for every feature set with every activation.
pub static VARIANTS: LazyLock<Vec<Case>> = LazyLock::new(|| cases(variants(), (1000, 1), (100, 2)));

/// The net that comes with the program.
pub static QUICKSTART: LazyLock<Case> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/quickstart-32.bin");
    let net = load(&path, &Default::default()).unwrap().net;
    cases(vec![net], (10_000, 3), (1000, 4)).remove(0)
});

/// Each with the same lines: so many positions and games, from a seed.
fn cases(nets: Vec<Net>, positions: (usize, u64), games: (usize, u64)) -> Vec<Case> {
    let positions = playouts::positions(positions.0, positions.1);
    let games = playouts::games(games.0, games.1);
    let case = |net: Net| {
        let positions = positions.iter().map(|position| (position.fen(), net.evaluate(position)));
        let games = games.iter().map(|game| (game.line(), net.evaluate(game.last())));
        Case { positions: positions.collect(), games: games.collect(), net }
    };
    nets.into_iter().map(case).collect()
}

/// Small and large weights, odd and even sizes.
fn variants() -> Vec<Net> {
    let combinations = features::ALL
        .iter()
        .flat_map(|&features| Activation::ALL.map(|activation| (features, activation)));
    combinations
        .enumerate()
        .map(|(i, (features, activation))| {
            let most = [100, 2000][(i / 2) % 2];
            random_net(features, activation, most, (i + i / 3) as u64)
        })
        .collect()
}

/// Random weights of which no legal position lets anything overflow. Output weights go up to
/// `most`: 127 times QA still fits an i16.
pub fn random_net(
    features: &'static Features,
    activation: Activation,
    most: i16,
    seed: u64,
) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let hidden = if seed.is_multiple_of(3) { 9 } else { 16 };
    let mut integers = |count: usize, most: i16| -> Vec<i16> {
        (0..count).map(|_| random.random_range(-most..=most)).collect()
    };
    let net = Net::new(
        Architecture { features, hidden, activation },
        Scales::default(),
        integers(features.inputs * hidden, 120),
        integers(hidden, 200),
        integers(features.views * hidden, most),
        integers(1, 5000)[0],
    );
    net.unwrap()
}
