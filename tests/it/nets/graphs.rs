//! Heads whose layers do not just follow one another, against formulas written out for each.

use nnuance::export::prove;

use crate::nets::fixed_point::config;
use crate::support::kit::*;

/// Both layers enter the output, as PlentyChess has it.
const SECOND_PATH: &str = r#"{ size = 5, activation = "dual" }, { size = 4, activation = "screlu" },
    { size = 1, inputs = ["head.1", "head.0"] }"#;
/// The first layer's values are added to the second's, as Stormphrax has it.
const RESIDUAL: &str = r#"{ size = 3, activation = "dual" },
    { size = 6, activation = "crelu", add = "head.0" }, { size = 1 }"#;
/// The second layer is passed by.
const DETOUR: &str = r#"{ size = 3, activation = "crelu" }, { size = 2, activation = "relu" },
    { size = 4, activation = "screlu", inputs = ["head.0"] },
    { size = 1, inputs = ["head.2", "head.1"] }"#;

/// Two neurons of the first map are passed to the output, as a difference, as Stockfish has it.
const DIFFERENCE: &str = r#"{ name = "first", size = 5 },
    { name = "x", columns = [0, 3], activation = "dual" },
    { name = "plus", inputs = ["first"], columns = [3, 4] },
    { name = "minus", inputs = ["first"], columns = [4, 5] },
    { name = "y", inputs = ["x"], size = 4, activation = "screlu" },
    { inputs = ["y", "x"], size = 1, add = "plus", subtract = "minus" }"#;
/// One layer is the gate of another, and a hard swish comes first.
const GATE: &str = r#"{ size = 3, activation = "hardswish" },
    { name = "gate", size = 4, activation = "crelu" },
    { inputs = ["head.0"], size = 4, activation = "relu", multiply = "gate" }, { size = 1 }"#;
pub const HEADS: [&str; 5] = [SECOND_PATH, RESIDUAL, DETOUR, DIFFERENCE, GATE];

pub fn net(head: &str, more: &str) -> Architecture {
    config(head, more).expect("a net").architecture().expect("a net").clone()
}

/// The output of a map for a bucket.
fn affine(float: &Float, map: usize, bucket: usize, x: &[f64]) -> Vec<f64> {
    let [weights, biases] = float.net.parts_of_map(map).map(|part| float.get_array(part));
    let outputs = biases.len() / float.net.buckets;
    let of = |output: usize| {
        let row = &weights[(bucket * outputs + output) * x.len()..][..x.len()];
        let bias = f64::from(biases[bucket * outputs + output]);
        bias + row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>()
    };
    (0..outputs).map(of).collect()
}

fn activated(layer: &Layer, z: &[f64]) -> Vec<f64> {
    let curves = layer.activation.map_or(&[][..], Activation::curves);
    curves.iter().flat_map(|it| z.iter().map(|z| it.value(*z))).collect()
}

fn by_hand(float: &Float, head: &str, position: &Position) -> f64 {
    let (net, bucket) = (&float.net, float.net.bucket_of(position));
    let clamped = |sum: f64| sum.clamp(0.0, 1.0);
    let accumulators = float.accumulators(position);
    let products = accumulators.iter().flat_map(|sums| {
        (0..6).map(|i| clamped(sums[i]) * clamped(sums[i + 6])).collect::<Vec<_>>()
    });
    let products: Vec<f64> = products.collect();
    let mut z0 = affine(float, 0, bucket, &products);
    let skip = if net.skip { z0.pop().expect("the neuron that skips") } else { 0.0 };
    if head == DIFFERENCE {
        let x = activated(&net.head[1], &z0[..3]);
        let y = activated(&net.head[4], &affine(float, 1, bucket, &x));
        return affine(float, 2, bucket, &[y, x].concat())[0] + (z0[3] - z0[4]) + skip;
    }
    let x0 = activated(&net.head[0], &z0);
    let layer =
        |number: usize, x: &[f64]| activated(&net.head[number], &affine(float, number, bucket, x));
    let x1 = layer(1, &x0);
    let x = match head {
        SECOND_PATH => [x1, x0].concat(),
        GATE => layer(2, &x0).iter().zip(&x1).map(|(x, gate)| x * gate).collect(),
        RESIDUAL => x1.iter().zip(&x0).map(|(x, y)| x + y).collect(),
        _ => [layer(2, &x0), x1].concat(),
    };
    affine(float, net.head.len(), bucket, &x)[0] + skip
}

#[test]
fn connected_layers_compute_their_formulas() {
    for head in HEADS {
        for more in ["", "skip = true"] {
            let net = net(head, more);
            let weights = drawn::weights(&net, 3);
            let float = Float::new(&weights, &net).unwrap();
            let samples = games::samples(60, 7);
            let batch = Encoder::for_net(&net).encode_samples(&samples);
            let logits = [Compute::Plain, fastest()]
                .map(|compute| to_host(model(&net, &weights, compute).logits(&batch.inputs)));
            for (number, sample) in samples.iter().enumerate() {
                let right = by_hand(&float, head, &sample.position);
                let found = float.logit(&sample.position);
                assert!((found - right).abs() < 1e-12, "{net}: {found}, by hand {right}");
                for logits in &logits {
                    let error = (f64::from(logits[number]) - right).abs();
                    assert!(error < 1e-5 * (1.0 + right.abs()), "{net}: {error}");
                }
            }
        }
    }
}

#[test]
fn integers_of_connected_layers_are_those_of_the_definition() {
    for head in HEADS {
        let net = net(head, "skip = true");
        let weights = drawn::clipped_weights(&net, 4);
        for (head_format, head_shift) in [
            (HeadFormat::Float, None),
            (HeadFormat::Int8, None),
            (HeadFormat::Int8, Some(8)),
            (HeadFormat::Int8, Some(10)),
        ] {
            let scales = Scales { head_format, head_shift, ..Scales::default() };
            let integers = quantise(&weights, &net, scales).unwrap();
            prove(&integers).unwrap();
            let again = Net::read(&integers.to_bytes(), &Hints { net: net.clone(), scales });
            let again = again.unwrap();
            for position in games::positions(60, 3) {
                let cp = integers.evaluate_slowly(&position);
                assert_eq!(integers.evaluate(&position), cp, "{net}");
                assert_eq!(again.evaluate(&position), cp, "{net}");
            }
        }
    }
}

#[test]
fn descriptions_are_written_as_they_are_read() {
    let usual = net(r#"{ size = 3, activation = "crelu" }, { size = 1, inputs = ["head.0"] }"#, "");
    assert_eq!(usual.output, Layer::output(), "the usual connection is not written");
    for head in HEADS {
        let net = net(head, "");
        let text = toml::to_string(&NetForm::from(net.clone())).unwrap();
        let form: NetForm = toml::from_str(&text).unwrap();
        assert_eq!(Architecture::try_from(form).unwrap(), net);
        assert!([" of ", " adds "].iter().any(|it| net.to_string().contains(it)), "{net}");
    }
}

#[test]
fn impossible_connections_are_refused() {
    for (head, why) in [
        (r#"{ size = 2, activation = "relu", inputs = ["head.0"] }, { size = 1 }"#, "earlier"),
        (r#"{ size = 2, activation = "relu" }, { size = 1, inputs = ["head.1"] }"#, "head.0"),
        (r#"{ size = 2, activation = "relu" }, { size = 1, add = "head.0" }"#, "has 2"),
        (r#"{ size = 2 }, { size = 1 }"#, "head.0 has no activation"),
        (r#"{ size = 2, activation = "relu", columns = [0, 2] }, { size = 1 }"#, "accumulators"),
        (r#"{ size = 2, activation = "relu" }, { size = 1, columns = [1, 3] }"#, "1 to 3 of 2"),
        (r#"{ activation = "relu" }, { size = 1 }"#, "needs a `size`"),
        (r#"{ name = "x", size = 2, activation = "relu" }, { name = "x", size = 1 }"#, "rename"),
        (
            r#"{ size = 2, activation = "relu" }, { size = 1, inputs = ["head.0", "head.0"] }"#,
            "twice",
        ),
        (
            r#"{ size = 2, activation = "relu" }, { size = 3, activation = "relu", add = "head.0" },
               { size = 1 }"#,
            "has 3 values",
        ),
        (
            r#"{ size = 2, activation = "relu" }, { size = 3, activation = "relu" },
               { size = 1, inputs = ["head.0"] }"#,
            "nothing takes",
        ),
    ] {
        let error = config(head, "").unwrap_err().to_string();
        assert!(error.contains("net.head") && error.contains(why), "{head}: {error}");
    }
}
