//! Nets drawn from a seed, of every kind, with numbers that reach all parts of their activations.

use std::collections::VecDeque;

use nnuance::architecture::{BucketChoice, BucketTable, Inputs};
use nnuance::export::snippet::{Language, write_snippet};
use rand::seq::{IndexedRandom, IteratorRandom, SliceRandom};

use crate::support::kit::*;

pub fn net(seed: u64, most: usize) -> Architecture {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let views = *[Perspectives::Perspective, Perspectives::SideToMove, Perspectives::Plain]
        .choose(&mut random)
        .expect("there are views");
    let kings = if views == Perspectives::Plain { Kings::NONE } else { kings(&mut random) };
    let factorised = kings.bucket_count() > 1 && random.random();
    let inputs = Inputs::of_pieces(views, kings, factorised);
    let pairwise = random.random_range(0..3) == 0;
    let mut hidden = random.random_range(1..=most);
    if pairwise {
        hidden += hidden % 2;
    }
    let layers = *[0, 0, 1, 2, 3].choose(&mut random).expect("there are lengths");
    // What was added later is drawn apart, so that the rest of a draw stays.
    let mut later = Xoshiro256PlusPlus::seed_from_u64(mix_hash(seed, 1));
    let alike = later.random_range(0..4) == 0;
    let (first, added) = Activation::ALL.split_at(5);
    let mut last = Xoshiro256PlusPlus::seed_from_u64(mix_hash(seed, 2));
    let mut layer = |random: &mut Xoshiro256PlusPlus| {
        let size = [random.random_range(1..=20), 8][usize::from(alike)];
        let of_first = first.choose(random).expect("there are activations");
        let added = added.choose(&mut last).filter(|_| last.random_range(0..3) == 0);
        Layer::new(size, *added.unwrap_or(of_first))
    };
    let mut net = Architecture {
        inputs,
        hidden,
        activation: match pairwise {
            true => Activation::CReLU,
            false => of_accumulators().choose(&mut random).expect("there are activations"),
        },
        pairwise,
        head: (0..layers).map(|_| layer(&mut random)).collect(),
        skip: layers > 0 && random.random(),
        output: Layer::output(),
        psqt: views == Perspectives::Perspective && random.random_range(0..3) == 0,
        buckets: *[1, 1, 2, 5, 8, 32].choose(&mut random).expect("there are numbers"),
        bucket_choice: BucketChoice::Pieces,
    };
    connect(&mut net, &mut later);
    if (2..=8).contains(&net.buckets) && later.random_range(0..2) == 0 {
        let mut table: [u8; 33] = std::array::from_fn(|i| (i % net.buckets) as u8);
        table[2..].shuffle(&mut later);
        net.bucket_choice = BucketChoice::Table(BucketTable(table));
    }
    net
}

/// Connects some layers with others than the one before.
fn connect(net: &mut Architecture, random: &mut Xoshiro256PlusPlus) {
    let count = net.head.len();
    if count < 2 || random.random() {
        return;
    }
    let set = |net: &mut Architecture, number: usize, change: &dyn Fn(&mut Layer)| match number {
        number if number == count => change(&mut net.output),
        number => change(&mut net.head[number]),
    };
    for number in 1..=count {
        // The layer before is always among them, so that each is used.
        let mut inputs: Vec<usize> = (0..number - 1).filter(|_| random.random()).collect();
        inputs.push(number - 1);
        inputs.shuffle(random);
        if inputs.len() > 1 {
            set(net, number, &|layer| layer.inputs = inputs.clone());
        }
        let widths = inputs.iter().map(|input| net.layer_width(*input));
        let width: usize = widths.sum();
        if width > 1 && random.random_range(0..3) == 0 {
            set(net, number, &|layer| layer.columns = Some([1, width]));
        }
        let own = net.layer_width(number);
        let mut alike = (0..number).filter(|other| net.layer_width(*other) == own);
        let other = alike.next().filter(|_| random.random());
        let how = random.random_range(0..3);
        set(net, number, &|layer| {
            let combined = [&mut layer.multiply, &mut layer.add, &mut layer.subtract];
            *combined.into_iter().nth(how).expect("one of three") = other;
        });
    }
}

/// Whether a layer takes other values than those of the layer before, or combines its own.
pub fn is_connected(net: &Architecture) -> bool {
    net.layers().any(|layer| {
        let combined = [layer.multiply, layer.add, layer.subtract];
        !layer.inputs.is_empty() || combined.iter().any(Option::is_some)
    })
}

fn kings(random: &mut Xoshiro256PlusPlus) -> Kings {
    let mirror = random.random();
    let numbers = if mirror { 32 } else { 64 };
    let count = *[1_u8, 1, 2, 4, 9].choose(random).expect("there are numbers");
    let mut buckets: Vec<u8> = (0..numbers).map(|i| i % count).collect();
    for _ in 0..numbers {
        let mut any = || random.random_range(0..usize::from(numbers));
        buckets.swap(any(), any());
    }
    Kings::new(mirror, &buckets).expect("the numbers have no gaps")
}

/// Numbers for a net. Sums are small enough that about a tenth of them is clamped.
pub fn weights(net: &Architecture, seed: u64) -> Weights {
    let mut weights = initial_weights(net, seed);
    shake(&mut weights, 0.2, seed);
    weights
}

pub fn shake(weights: &mut Weights, size: f32, seed: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for array in weights.0.values_mut() {
        array.values.iter_mut().for_each(|value| *value += random.random_range(-size..size));
    }
}

/// Numbers for a net as they are clipped for bytes.
pub fn clipped_weights(net: &Architecture, seed: u64) -> Weights {
    let mut weights = weights(net, seed);
    for array in weights.0.values_mut() {
        array.values.iter_mut().for_each(|value| *value = value.clamp(-1.9, 1.9));
    }
    weights
}

/// A drawn net, and its weights as they are clipped for bytes.
pub fn floats(seed: u64) -> (Architecture, Weights) {
    let net = net(seed, 48);
    let weights = clipped_weights(&net, seed);
    (net, weights)
}

/// A drawn net, and all quantised nets of its weights, with their head formats.
pub struct Drawn {
    pub seed: u64,
    /// Trained net, with a factoriser or without.
    pub net: Architecture,
    pub nets: Vec<Net>,
}

impl Drawn {
    fn new(seed: u64) -> Self {
        let (net, weights) = floats(seed);
        let of = |head_format, qa, head_shift| {
            let scales = Scales { head_format, qa, head_shift, ..Scales::default() };
            quantise(&weights, &net, scales).ok()
        };
        let qa = [255, 181][seed as usize % 2];
        let mut bytes = of(HeadFormat::Int8, qa, None);
        if seed.is_multiple_of(3) {
            // Inputs above 127.
            let shift = bytes.as_ref().map(|net| net.shift_and_unit().0 - 1);
            bytes = bytes.and_then(|_| of(HeadFormat::Int8, qa, shift));
        }
        let nets: Vec<Net> = of(HeadFormat::Float, 255, None).into_iter().chain(bytes).collect();
        let has_bytes = net.is_deep() && net.activation.curve().bounded;
        assert_eq!(nets.len(), if has_bytes { 2 } else { 1 }, "{net}");
        Self { seed, net, nets }
    }

    /// Whether there is code for engines, for which nothing may overflow.
    fn has_code(&self) -> bool {
        let code = |net: &Net| write_snippet(Language::C, net, ["net.bin", "nnue.h"], &[]);
        self.nets.iter().all(|net| code(net).is_ok())
    }
}

/// The first 20 draws with engine code that follow each other and together have everything.
pub static TWENTY: LazyLock<Vec<Drawn>> = LazyLock::new(|| {
    let mut drawn = VecDeque::new();
    for draw in (8..400).map(Drawn::new).filter(Drawn::has_code) {
        drawn.push_back(draw);
        if drawn.len() > 20 {
            drawn.pop_front();
        }
        if drawn.len() == 20 && missing(drawn.make_contiguous()).is_none() {
            break;
        }
    }
    drawn.into()
});

pub fn nets() -> impl Iterator<Item = &'static Net> {
    TWENTY.iter().flat_map(|drawn| &drawn.nets)
}

#[test]
fn twenty_draws_have_everything() {
    assert_eq!(missing(&TWENTY), None);
    let seeds = TWENTY.iter().map(|drawn| drawn.seed);
    let without = seeds.clone().max().unwrap() - seeds.min().unwrap() - 19;
    assert!(without <= 2, "{without} draws have no code");
}

/// What fewer than 2 or more than 18 of 20 draws have.
fn missing(drawn: &[Drawn]) -> Option<String> {
    let count =
        |has: &dyn Fn(&Architecture) -> bool| drawn.iter().filter(|it| has(&it.net)).count();
    let mut counts = vec![
        ("mirror".to_string(), count(&|net| net.inputs.kings().mirror)),
        ("king buckets".into(), count(&|net| net.inputs.kings().bucket_count() > 1)),
        ("a factoriser".into(), count(&|net| net.inputs.factorised)),
        ("products".into(), count(&|net| net.pairwise)),
        ("connected layers".into(), count(&is_connected)),
        ("a neuron that skips".into(), count(&|net| net.skip)),
        ("piece-square values".into(), count(&|net| net.psqt)),
        ("output buckets".into(), count(&|net| net.buckets > 1)),
        (
            "a table of buckets".into(),
            count(&|net| matches!(net.bucket_choice, BucketChoice::Table(_))),
        ),
    ];
    let views =
        Perspectives::ALL.map(|it| (it.name().into(), count(&|net| net.inputs.perspectives == it)));
    counts.extend(views);
    counts.extend(
        of_accumulators().map(|it| (format!("{it:?}"), count(&|net| net.activation == it))),
    );
    counts.extend((0..=3).map(|it| (format!("{it} layers"), count(&|net| net.head.len() == it))));
    counts.extend(Activation::ALL.map(|it| {
        let has = |layer: &Layer| layer.activation == Some(it);
        (format!("{it:?} in layers"), count(&|net| net.head.iter().any(has)))
    }));
    let nets = || drawn.iter().flat_map(|drawn| &drawn.nets);
    for format in HeadFormat::ALL {
        let has = |net: &&Net| net.architecture().is_deep() && net.scales().head_format == format;
        if nets().filter(has).count() < 5 {
            return Some(format!("heads of {format:?}"));
        }
    }
    let wrong = counts.into_iter().find(|(_, count)| !(2..=18).contains(count));
    wrong.map(|(what, count)| format!("{what}: {count} of 20"))
}
