//! Heads in fixed point, against the arithmetic of engines written out for each.

use std::ops::Range;

use nnuance::architecture::ArrayKind;
use nnuance::export::{dequantise_net, prove};
use nnuance::net::{Number, Numbers, StoredArray, fixed_point, stored_arrays};

use crate::support::kit::*;

/// A head, and the output that an engine computes.
#[derive(Clone, Copy)]
pub struct FixedHead {
    pub name: &'static str,
    pub head: &'static str,
    /// Other keys of the net.
    more: &'static str,
    /// Centipawns from the first map's sums, by maps, and half of the piece-square values.
    output: fn(&[i64], &Maps, i64) -> i64,
}

/// The integers of a bucket, `[output][input]`, and biases.
struct Maps(Vec<(Vec<Vec<i64>>, Vec<i64>)>);

impl Maps {
    fn bias(&self, map: usize) -> &[i64] {
        &self.0[map].1
    }

    fn sums(&self, map: usize, x: &[i64]) -> Vec<i64> {
        let product = |row: &Vec<i64>| row.iter().zip(x).map(|(w, x)| w * x).sum();
        self.0[map].0.iter().map(product).collect()
    }

    fn affine(&self, map: usize, x: &[i64]) -> Vec<i64> {
        self.sums(map, x).iter().zip(self.bias(map)).map(|(sum, bias)| sum + bias).collect()
    }
}

fn added(x: &[i64], y: &[i64]) -> Vec<i64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

fn each(x: &[i64], function: impl Fn(i64) -> i64) -> Vec<i64> {
    x.iter().map(|x| function(*x)).collect()
}

/// Hobbes, src/evaluation/forward/vectorised.rs: sums are shifted before the bias.
const HOBBES: FixedHead = FixedHead {
    name: "Hobbes",
    head: r#"
        { size = 5, activation = "dual",
          integers = { sums = 16384, biases = 64, values = 4096 } },
        { size = 6, activation = "crelu",
          integers = { weights = "i32", sums = 262144, values = 262144 } },
        { size = 1, integers = { weights = "i32", sums = 16777216 } }"#,
    more: "",
    output: |sums, maps, _| {
        let y = added(&each(sums, |sum| sum >> 8), maps.bias(0));
        let clipped = each(&y, |y| y.clamp(0, 64) << 6);
        let x = [clipped, each(&y, |y| (y * y).min(4096))].concat();
        let x = each(&maps.affine(1, &x), |z| z.clamp(0, 262_144));
        maps.affine(2, &x)[0] * 400 / 16_777_216
    },
};

/// Heimdall, src/heimdall/nnue.nim: the bias comes before the shift, and the output is divided twice.
const HEIMDALL: FixedHead = FixedHead {
    name: "Heimdall",
    head: r#"
        { size = 5, activation = "dual",
          integers = { sums = 16384, shifted = 64, values = 4096 } },
        { size = 6, activation = "crelu",
          integers = { weights = "i32", sums = 262144, values = 262144 } },
        { size = 1, integers = { weights = "i32", sums = 16777216, shifted = 262144 } }"#,
    more: "",
    output: |sums, maps, _| {
        let y = each(&added(sums, maps.bias(0)), |y| y >> 8);
        let clipped = each(&y, |y| y.clamp(0, 64) << 6);
        let x = [clipped, each(&y, |y| (y * y).min(4096))].concat();
        let x = each(&maps.affine(1, &x), |z| z.clamp(0, 262_144));
        maps.affine(2, &x)[0] / 64 * 400 / 262_144
    },
};

/// Raphael, src/Raphael/nnue.cpp: no shift but that of the square.
const RAPHAEL: FixedHead = FixedHead {
    name: "Raphael",
    head: r#"
        { size = 5, activation = "screlu", integers = { sums = 16384, values = 4096 } },
        { size = 6, activation = "crelu",
          integers = { weights = "i32", sums = 262144, values = 262144 } },
        { size = 1, integers = { weights = "i32", sums = 16777216 } }"#,
    more: "",
    output: |sums, maps, _| {
        let y = added(sums, maps.bias(0));
        let x = each(&y, |y| y.clamp(0, 16_384).pow(2) >> 16);
        let x = each(&maps.affine(1, &x), |z| z.clamp(0, 262_144));
        maps.affine(2, &x)[0] * 400 / 16_777_216
    },
};

/// Stormphrax, src/eval/nnue/arch/multilayer.h: the first layer is added after the second.
const STORMPHRAX: FixedHead = FixedHead {
    name: "Stormphrax",
    head: r#"
        { size = 3, activation = "dual",
          integers = { sums = 16384, biases = 4096, values = 262144 } },
        { size = 6, activation = "crelu", add = "head.0",
          integers = { weights = "i32", inputs = 4096, sums = 262144, values = 262144 } },
        { size = 1, integers = { weights = "i32", sums = 16777216 } }"#,
    more: "",
    output: |sums, maps, _| {
        let y = added(&each(sums, |sum| sum >> 2), maps.bias(0));
        let clipped = each(&y, |y| y.clamp(0, 4096) << 6);
        let first = [clipped, each(&y, |y| (y * y).min(4096 * 4096) >> 6)].concat();
        let second = maps.affine(1, &each(&first, |x| x >> 6));
        let second = each(&second, |z| z.clamp(0, 262_144));
        maps.affine(2, &added(&second, &first))[0] * 400 / 16_777_216
    },
};

/// Stockfish 15.1 to 18, src/nnue/nnue_architecture.h, squares after; one neuron is passed on.
const STOCKFISH_15: FixedHead = FixedHead {
    name: "Stockfish 15.1",
    head: r#"
        { size = 5, activation = "dual", integers = { sums = 8128, values = 127 } },
        { size = 6, activation = "crelu", integers = { sums = 8128, values = 127 } },
        { size = 1, integers = { sums = 9600 } }"#,
    more: "skip = true\nqa = 127\npsqt = true",
    output: |sums, maps, piece_squares| {
        let y = added(sums, maps.bias(0));
        let clipped = each(&y[..5], |y| (y >> 6).clamp(0, 127));
        let x = [clipped, each(&y[..5], |y| ((y * y) >> 19).min(127))].concat();
        let x = each(&maps.affine(1, &x), |z| (z >> 6).clamp(0, 127));
        let positional = maps.affine(2, &x)[0] + y[5] * 9600 / 8128;
        (piece_squares + positional) * 400 / 9600
    },
};

/// Stockfish 19, the same file: both layers enter the output, and a difference of two neurons.
const STOCKFISH_19: FixedHead = FixedHead {
    name: "Stockfish 19",
    head: r#"
        { name = "first", size = 5, integers = { sums = 16384, values = 128, most = 127 } },
        { name = "plus", columns = [3, 4] },
        { name = "minus", inputs = ["first"], columns = [4, 5] },
        { name = "x", inputs = ["first"], activation = "dual" },
        { name = "y", size = 4, activation = "dual",
          integers = { sums = 8192, values = 128, most = 127 } },
        { inputs = ["x", "y"], size = 1, add = "plus", subtract = "minus",
          integers = { sums = 16384 } }"#,
    more: "",
    output: |sums, maps, _| {
        let y = added(sums, maps.bias(0));
        let clipped = each(&y, |y| (y >> 7).clamp(0, 127));
        let f = [clipped, each(&y, |y| ((y * y) >> 21).min(127))].concat();
        let z = maps.affine(1, &f);
        let clipped = each(&z, |z| (z >> 6).clamp(0, 127));
        let g = [clipped, each(&z, |z| ((z * z) >> 19).min(127))].concat();
        (maps.affine(2, &[f, g].concat())[0] + y[3] - y[4]) * 400 / 16_384
    },
};

pub const HEADS: [FixedHead; 6] =
    [HOBBES, HEIMDALL, RAPHAEL, STORMPHRAX, STOCKFISH_15, STOCKFISH_19];

/// Biases in i32 and f32 after them, as Halogen has it.
pub const FLOATS_BEHIND: &str = r#"
    { size = 5, activation = "dual", integers = { sums = 8128 } },
    { size = 4, activation = "crelu" }, { size = 1 }"#;

pub fn config(head: &str, more: &str) -> Result<Config, ConfigError> {
    config_with(&format!(
        "[net]\ninputs = \"perspective\"\nhidden = 12\nactivation = \"crelu\"\npairwise = true\n\
         output_buckets = 4\nhead = [{head}]\n{more}"
    ))
}

impl FixedHead {
    pub fn architecture(&self) -> (Architecture, Scales) {
        let config = config(self.head, self.more).expect(self.name);
        (config.architecture().expect("a net").clone(), config.scales)
    }
}

/// A net of integers; those of the maps are so large that sums are often clamped.
pub fn random(net: &Architecture, scales: Scales, seed: u64) -> Net {
    random_of(net, scales, seed, 127)
}

/// The same with bytes of the maps up to `most_byte`.
pub fn random_of(net: &Architecture, scales: Scales, seed: u64, most_byte: i32) -> Net {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let numbers =
        stored_arrays(net, scales).into_iter().map(|StoredArray { array, number, .. }| {
            let most = match (array.kind, number) {
                (ArrayKind::Rows(_) | ArrayKind::AccumulatorBias, _) => 60,
                (ArrayKind::Psqt(_), _) => 3000,
                (ArrayKind::Layer(_) | ArrayKind::Output, Number::I8) => most_byte,
                (ArrayKind::Layer(_) | ArrayKind::Output, _) => 90,
                _ => 9000,
            };
            let drawn = (0..array.len()).map(|_| f64::from(random.random_range(-most..=most)));
            number.convert_exactly(drawn.collect::<Vec<_>>().into_iter())
        });
    Net::from_arrays(net, scales, numbers.collect()).unwrap()
}

fn maps(net: &Net, bucket: usize) -> Maps {
    let map = |map: usize| {
        let [weights, biases] = net.map_numbers(map);
        let outputs = biases.len() / net.architecture().buckets;
        let inputs = weights.len() / biases.len();
        let whole = |numbers: &Numbers, range: Range<usize>| -> Vec<i64> {
            range.map(|place| numbers.get(place) as i64).collect()
        };
        let rows = (bucket * outputs..(bucket + 1) * outputs)
            .map(|row| whole(weights, row * inputs..(row + 1) * inputs));
        (rows.collect(), whole(biases, bucket * outputs..(bucket + 1) * outputs))
    };
    Maps((0..net.architecture().maps().len()).map(map).collect())
}

/// The inputs of the first layer in bytes.
fn bytes(net: &Net, position: &Position) -> Vec<i64> {
    let qa = i64::from(net.scales().qa);
    let shift = if qa == 127 { 7 } else { 9 };
    let view = |view| {
        let sums = net.accumulators(position, view);
        let half = sums.len() / 2;
        let clamped = move |i: usize| sums[i].clamp(0, qa);
        (0..half).map(move |i| (clamped(i) * clamped(i + half)) >> shift)
    };
    [0, 1].into_iter().flat_map(view).collect()
}

/// Sums of the piece-square values of both perspectives.
pub fn sum_piece_squares(net: &Net, position: &Position) -> [i64; 2] {
    let Architecture { inputs, buckets, .. } = net.architecture();
    let bucket = net.architecture().bucket_of(position);
    let value = |row: u32| {
        let (set, row) = inputs.set_of(row as usize);
        i64::from(net.psqt_values(set)[row * buckets + bucket])
    };
    let lists = inputs.active_rows(position);
    [0, 1].map(|view| lists[view].repeated_rows().map(value).sum())
}

/// Half of the difference of both perspectives' piece-square values, if the net has such.
fn piece_squares(net: &Net, position: &Position) -> i64 {
    if !net.architecture().psqt {
        return 0;
    }
    let [own, other] = sum_piece_squares(net, position);
    (own - other) / 2
}

#[test]
fn heads_compute_what_engines_do() {
    for head in HEADS {
        let (net, scales) = head.architecture();
        let mut found = BTreeSet::new();
        for seed in 0..3 {
            let net = random(&net, scales, seed);
            let again =
                Net::read(&net.to_bytes(), &Hints { net: net.architecture().clone(), scales });
            let again = again.unwrap();
            for position in games::positions(300, seed) {
                let maps = maps(&net, net.architecture().bucket_of(&position));
                let sums = maps.sums(0, &bytes(&net, &position));
                let right = (head.output)(&sums, &maps, piece_squares(&net, &position));
                for cp in [net.evaluate(&position), net.evaluate_slowly(&position)] {
                    assert_eq!(i64::from(cp), right, "{}: {}", head.name, position.to_fen());
                }
                assert_eq!(again.evaluate(&position), net.evaluate(&position), "{}", head.name);
                found.insert(right);
            }
        }
        assert!(found.len() > 50, "{}: {} values", head.name, found.len());
    }
}

/// The integers of weights evaluate almost as their floats; their weights have the same integers.
#[test]
fn integers_are_near_their_floats() {
    let all = HEADS.map(|head| head.architecture());
    let behind = config(FLOATS_BEHIND, "").unwrap();
    let behind = (behind.architecture().unwrap().clone(), behind.scales);
    for (net, scales) in all.into_iter().chain([behind]) {
        let mut weights = drawn::weights(&net, 3);
        for array in weights.0.values_mut() {
            array.values.iter_mut().for_each(|value| *value = (*value * 0.7).clamp(-0.95, 0.95));
        }
        let integers = quantise(&weights, &net, scales).unwrap();
        prove(&integers).unwrap();
        let again = quantise(&dequantise_net(&integers), &net, scales).unwrap();
        assert_eq!(again.to_bytes(), integers.to_bytes(), "{net}");
        // Of the integers themselves, so that only the values of layers are rounded.
        let weights = dequantise_net(&integers);
        let float = Float::new(&weights, &net).unwrap();
        let errors = games::positions(300, 5).into_iter().map(|position| {
            let right = 400.0 * float.logit(&position);
            (f64::from(integers.evaluate(&position)) - right).abs()
        });
        let errors: Vec<f64> = errors.collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 16.0, "{net}: {mean} cp");
    }
}

/// Over all inputs of a small first layer.
#[test]
fn outputs_stay_within_their_proof() {
    for head in HEADS {
        let text = toml::to_string(&NetForm::from(head.architecture().0)).unwrap();
        let form: NetForm = toml::from_str(&text).unwrap();
        let (_, scales) = head.architecture();
        let net: Architecture = NetForm { hidden: 2, ..form }.try_into().unwrap();
        for seed in 0..4 {
            let net = random(&net, scales, seed);
            let proof = prove(&net).unwrap();
            let sum_most = i64::from(i32::MAX);
            assert!(proof.output.least >= -sum_most && proof.output.most <= sum_most);
            let [mut least, mut most] = [i64::MAX, i64::MIN];
            for bucket in 0..net.architecture().buckets {
                let maps = maps(&net, bucket);
                for own in 0..127 {
                    for other in 0..127 {
                        let sums = maps.sums(0, &[own, other]);
                        let found = (head.output)(&sums, &maps, 0);
                        (least, most) = (least.min(found), most.max(found));
                    }
                }
            }
            let unit = net.fixed_point().values.last().unwrap().unwrap().unit;
            let [low, high] = [proof.product.least, proof.product.most].map(|it| it / unit);
            assert!(low <= least && most <= high, "{}: {least} {most} {low} {high}", head.name);
            // Bounds of neurons that depend on one another are not tight.
            assert!(high - low <= 60 * (most - least + 1000), "{}: {low} {high}", head.name);
        }
    }
}

#[test]
fn impossible_integers_are_refused() {
    let usual = "sums = 16384";
    for (activation, integers, last, why) in [
        ("crelu", "sums = 0, values = 127", usual, "0 is not from 1"),
        (
            "crelu",
            "sums = 16384, biases = 100, shifted = 64, values = 127",
            usual,
            "those of no sum",
        ),
        ("crelu", "sums = 16384, shifted = 100, values = 127", usual, "cannot be shifted"),
        ("crelu", "sums = 16384, values = 127, inputs = 64", usual, "has no `inputs`"),
        ("crelu", "sums = 16384, values = 127, weights = 'i16'", usual, "whose weights are i8"),
        ("crelu", "sums = 16384", usual, "takes f32"),
        ("crelu", "sums = 64, values = 64", "sums = 64, values = 64", "has no activation"),
        ("crelu", "sums = 64, values = 64", "", "takes integers"),
        ("relu", "sums = 64, values = 64", "sums = 64", "no upper end"),
        ("dual", "sums = 64, values = 8192", "sums = 64", "cannot have `values`"),
    ] {
        let last = if last.is_empty() { "" } else { &format!(", integers = {{ {last} }}") };
        let first = format!("activation = '{activation}', integers = {{ {integers} }}");
        let head = format!("{{ size = 2, {first} }}, {{ size = 1{last} }}");
        let error = config(&head, "").unwrap_err().to_string();
        assert!(error.contains("net.head") && error.contains(why), "{head}: {error}");
    }
    let layer = "size = 2, activation = 'crelu', integers = { sums = 64, values = 64 }";
    let head = format!(
        "{{ {layer} }}, {{ {layer}, multiply = 'head.0' }}, {{ size = 1, integers = {{ sums = 64 }} }}"
    );
    let error = config(&head, "").unwrap_err().to_string();
    assert!(error.contains("net.head") && error.contains("`multiply`"), "{error}");
    let both = config(HOBBES.head, "head_format = \"int8\"").unwrap_err().to_string();
    assert!(both.contains("net.head_format"), "{both}");
}

/// Weights in i8 are clipped so that they quantise, also where columns have other factors.
#[test]
fn clips_follow_from_factors() {
    let (net, scales) = STOCKFISH_15.architecture();
    let config = config(STOCKFISH_15.head, STOCKFISH_15.more).unwrap();
    let clip = |name: &str| config.optimizer.layers.layer_of(name).clip;
    let fixed = fixed_point(&net, scales).unwrap();
    for (map, name) in ["head.0.weight", "head.1.weight", "output.weight"].iter().enumerate() {
        let factors = &fixed.maps[map].as_ref().unwrap().factors;
        let most = largest(factors.iter().copied());
        assert_eq!(clip(name).unwrap_or(config.optimizer.clip).min(127.0 / most), {
            config.optimizer.clip.min(127.0 / most)
        });
    }
    // Squares of 8128 are divided by 2^19, where 127 would be 1.0 for a little less.
    let second = &fixed.maps[1].as_ref().unwrap().factors;
    assert_eq!(second[0], 64.0);
    assert!((second[9] - 64.0 * 128.0 / 127.0).abs() < 1e-9, "{second:?}");
}
