//! Nets drawn from a seed, of every kind that there is, with numbers that reach all parts of their
//! activations.

use nnuance::architecture::{
    Activation, Architecture, Inputs, Kings, Layer, LayerActivation, Views,
};
use nnuance::model::initial;
use nnuance::weights::Weights;
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// A net of up to so many neurons.
pub fn net(seed: u64, most: usize) -> Architecture {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let views = *[Views::Perspective, Views::SideToMove, Views::Plain]
        .choose(&mut random)
        .expect("there are views");
    let mut inputs = Inputs::of(views);
    if views != Views::Plain {
        inputs.kings = kings(&mut random);
        inputs.factorised = inputs.kings.count() > 1 && random.random();
    }
    let pairwise = random.random_range(0..3) == 0;
    let mut hidden = random.random_range(1..=most);
    if pairwise {
        hidden += hidden % 2;
    }
    let layers = *[0, 0, 1, 2, 3].choose(&mut random).expect("there are lengths");
    let layer = |random: &mut Xoshiro256PlusPlus| Layer {
        size: random.random_range(1..=20),
        activation: *LayerActivation::ALL.choose(random).expect("there are activations"),
    };
    Architecture {
        inputs,
        hidden,
        activation: match pairwise {
            true => Activation::CReLU,
            false => *Activation::ALL.choose(&mut random).expect("there are activations"),
        },
        pairwise,
        head: (0..layers).map(|_| layer(&mut random)).collect(),
        skip: layers > 0 && random.random(),
        buckets: *[1, 1, 2, 5, 8, 32].choose(&mut random).expect("there are numbers"),
    }
}

fn kings(random: &mut Xoshiro256PlusPlus) -> Kings {
    let mirror = random.random();
    let numbers = if mirror { 32 } else { 64 };
    let count = *[1_u8, 1, 2, 4, 9].choose(random).expect("there are numbers");
    let mut buckets: Vec<u8> = (0..numbers).map(|i| i % count).collect();
    for _ in 0..numbers {
        let (one, other) = (
            random.random_range(0..usize::from(numbers)),
            random.random_range(0..usize::from(numbers)),
        );
        buckets.swap(one, other);
    }
    Kings::new(mirror, &buckets).expect("the numbers have no gaps")
}

/// Numbers for a net. Sums stay small enough that a tenth of them is clamped, about.
pub fn weights(net: &Architecture, seed: u64) -> Weights {
    let mut weights = initial(net, seed);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for array in weights.0.values_mut() {
        array.values.iter_mut().for_each(|value| *value += random.random_range(-0.2..0.2));
    }
    weights
}
