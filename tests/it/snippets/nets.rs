//! Nets of every kind, and what they say of positions and at the ends of games.

use std::path::Path;
use std::sync::LazyLock;

use nnuance::architecture::{
    Activation, Architecture, Inputs, Kings, Layer, LayerActivation, Views,
};
use nnuance::export::load;
use nnuance::net::{Net, Number, Numbers, stored};
use nnuance::sample::Position;
use nnuance::scales::{HeadFormat, Scales};
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::drawn::{Drawn, TWENTY};
use crate::playouts::{self, GAMES, Game};

/// A net with lines for `eval`, and the centipawns that belong to them.
pub struct Case {
    pub net: Net,
    /// A FEN each.
    pub positions: Vec<(String, i32)>,
    /// A FEN each with moves behind it; the centipawns are those after the last.
    pub games: Vec<(String, i32)>,
}

/// One for each view with each activation, without anything else.
pub static VARIANTS: LazyLock<Vec<Case>> = LazyLock::new(|| cases(variants(), (1000, 1), 100));

/// Nets that have something of everything else.
pub static KINDS: LazyLock<Vec<Case>> = LazyLock::new(|| cases(kinds(), (10_000, 3), 1000));

/// Those of 20 drawn architectures.
pub static DRAWN: LazyLock<Vec<Case>> = LazyLock::new(drawn);

/// The net that comes with the program.
pub static QUICKSTART: LazyLock<Case> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("nets/quickstart-32.bin");
    let net = load(&path, &Default::default()).unwrap().net;
    cases(vec![net], (10_000, 3), 1000).remove(0)
});

/// Each with the same lines: so many positions, from a seed, and so many games.
fn cases(nets: Vec<Net>, (positions, seed): (usize, u64), games: usize) -> Vec<Case> {
    let positions = playouts::positions(positions, seed);
    nets.into_iter().map(|net| case(net, &positions, &GAMES[..games])).collect()
}

fn case<'a>(net: Net, positions: &[Position], games: impl IntoIterator<Item = &'a Game>) -> Case {
    let positions = positions.iter().map(|position| (position.fen(), net.evaluate(position)));
    let games = games.into_iter().map(|game| (game.line(), net.evaluate(game.last())));
    Case { positions: positions.collect(), games: games.collect(), net }
}

/// Each architecture has its part of the games, and its nets share them.
fn drawn() -> Vec<Case> {
    let positions = playouts::positions(200, 5);
    let mut cases = Vec::new();
    for (i, Drawn { nets, .. }) in TWENTY.iter().enumerate() {
        for (first, net) in nets.iter().enumerate() {
            let games = playouts::part(i).skip(first).step_by(nets.len());
            cases.push(case(net.clone(), &positions, games));
        }
    }
    cases
}

/// Small and large weights, odd and even sizes.
fn variants() -> Vec<Net> {
    let combinations = Views::ALL
        .into_iter()
        .flat_map(|views| Activation::ALL.map(|activation| (views, activation)));
    combinations
        .enumerate()
        .map(|(i, (views, activation))| {
            let most = [100, 2000][(i / 2) % 2];
            random_net(views, activation, most, (i + i / 3) as u64)
        })
        .collect()
}

/// Mirrored views, king buckets, output buckets, products, more layers, a skip neuron.
fn kinds() -> Vec<Net> {
    use Activation::{CReLU, ReLU, SCReLU};
    use LayerActivation as Layered;
    let four: Vec<u8> = (0..32).map(|square| (square / 4 + square % 4) % 4).collect();
    let four = Kings::new(true, &four).unwrap();
    let three: Vec<u8> = (0..64).map(|square| (square / 8 + square % 8) % 3).collect();
    let three = Kings::new(false, &three).unwrap();
    let net = |views, kings, activation, buckets| {
        let inputs = Inputs { kings, ..Inputs::of(views) };
        Architecture { inputs, buckets, ..Architecture::simple(views, 18, activation) }
    };
    let head = |layers: &[(usize, Layered)]| -> Vec<Layer> {
        layers.iter().map(|&(size, activation)| Layer { size, activation }).collect()
    };
    let (mirrored, none) = (Kings::MIRRORED, Kings::NONE);
    let [white, own, both] = [Views::Plain, Views::SideToMove, Views::Perspective];
    let nets = [
        // Integers.
        (net(both, mirrored, SCReLU, 1), HeadFormat::Float),
        (net(both, four, CReLU, 8), HeadFormat::Float),
        (net(own, three, ReLU, 5), HeadFormat::Float),
        (net(white, none, SCReLU, 8), HeadFormat::Float),
        // Floats, some of them with bytes first.
        (
            Architecture {
                pairwise: true,
                head: head(&[(7, Layered::Dual), (9, Layered::SCReLU)]),
                skip: true,
                ..net(both, four, CReLU, 8)
            },
            HeadFormat::Int8,
        ),
        (
            Architecture {
                head: head(&[(8, Layered::CReLU), (5, Layered::ReLU)]),
                ..net(both, mirrored, SCReLU, 1)
            },
            HeadFormat::Float,
        ),
        (
            Architecture {
                head: head(&[(6, Layered::Dual)]),
                skip: true,
                ..net(white, none, ReLU, 2)
            },
            HeadFormat::Float,
        ),
        (Architecture { pairwise: true, ..net(own, three, CReLU, 32) }, HeadFormat::Float),
        (
            Architecture { head: head(&[(4, Layered::SCReLU)]), ..net(both, none, SCReLU, 1) },
            HeadFormat::Int8,
        ),
    ];
    let nets = nets.into_iter().enumerate().map(|(i, (net, head_format))| {
        // With so small a QA, bytes are shifted by less.
        let qa = if i == 8 { 127 } else { 255 };
        random(&net, Scales { qa, head_format, ..Scales::default() }, 100, i as u64)
    });
    nets.chain([[0, 0, 10], [30, 9, 0]].map(extreme)).collect()
}

/// A net for White whose maps are so many powers of ten larger than others: what comes out is no
/// number of 32 bits, or none at all.
fn extreme(powers: [i32; 3]) -> Net {
    let head = [3, 4].map(|size| Layer { size, activation: LayerActivation::ReLU });
    let architecture = Architecture {
        head: head.into(),
        ..Architecture::simple(Views::Plain, 12, Activation::CReLU)
    };
    let net = random(&architecture, Scales::default(), 100, 9);
    let mut numbers = net.numbers().to_vec();
    for (map, power) in numbers[2..].chunks_exact_mut(2).zip(powers) {
        for numbers in map {
            let Numbers::F32(values) = numbers else { unreachable!("its maps are floats") };
            values.iter_mut().for_each(|value| *value *= 10_f32.powi(power));
        }
    }
    Net::of(&architecture, Scales::default(), numbers).unwrap()
}

/// Random weights of which no legal position lets anything overflow. Output weights go up to
/// `most`: 127 times QA still fits an i16.
pub fn random_net(views: Views, activation: Activation, most: i16, seed: u64) -> Net {
    let hidden = if seed.is_multiple_of(3) { 9 } else { 16 };
    random(&Architecture::simple(views, hidden, activation), Scales::default(), most, seed)
}

/// The same for every net. Floats are large enough for all parts of their activations.
pub fn random(net: &Architecture, scales: Scales, most: i16, seed: u64) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let largest = [120, 200, most, 5000];
    let arrays = stored(net, scales.head_format).into_iter().enumerate();
    let numbers = arrays.map(|(i, stored)| {
        let each = 0..stored.array.len();
        match stored.number {
            Number::I8 => Numbers::I8(each.map(|_| random.random_range(-127..=127)).collect()),
            Number::I16 => {
                let most = largest[i];
                Numbers::I16(each.map(|_| random.random_range(-most..=most)).collect())
            }
            Number::F32 => {
                let most = 3.0 / (stored.array.fan_in as f32).sqrt();
                Numbers::F32(each.map(|_| random.random_range(-most..=most)).collect())
            }
        }
    });
    let numbers = numbers.collect();
    Net::of(net, scales, numbers).unwrap()
}
