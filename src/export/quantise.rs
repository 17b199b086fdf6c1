//! Floats to integers: times the scale in f64, rounded half away from zero, never clamped.

use crate::architecture::Architecture;
use crate::net::{MAX_SCALE, Net, NetError};
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// Why weights do not become a net.
#[derive(Debug, thiserror::Error)]
pub enum QuantiseError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("{weight} is {value}: the training diverged; export an earlier checkpoint")]
    NotFinite { weight: String, value: f32 },
    #[error(
        "{weight} is {value}, and times {by} that is {product:.0}, outside of i16; {cure}",
        product = f64::from(*value) * f64::from(*factor)
    )]
    Range { weight: String, value: f32, by: &'static str, factor: i32, cure: String },
}

/// The four arrays of a net, by their names in [`Weights`].
pub(super) struct Floats<'a> {
    /// `[inputs][hidden]`
    pub accumulator_weights: &'a [f32],
    /// `[hidden]`
    pub accumulator_bias: &'a [f32],
    /// `[views * hidden]`
    pub output_weights: &'a [f32],
    pub output_bias: f32,
}

impl<'a> Floats<'a> {
    pub fn of(weights: &'a Weights, architecture: &Architecture) -> Result<Self, WeightsError> {
        let Architecture { features, hidden, .. } = *architecture;
        Ok(Self {
            accumulator_weights: weights.get("accumulator.weight", &[features.inputs, hidden])?,
            accumulator_bias: weights.get("accumulator.bias", &[hidden])?,
            output_weights: weights.get("output.weight", &[features.views * hidden])?,
            output_bias: weights.get("output.bias", &[1])?[0],
        })
    }
}

/// The net of these weights: accumulator times QA, output weights times QB, output bias times
/// QA * QB.
///
/// # Errors
/// If an array is missing or has another shape, a value is not finite, or a product leaves i16:
/// then with the weight's name and the largest scale at which every weight fits.
pub fn quantise(
    weights: &Weights,
    architecture: &Architecture,
    scales: Scales,
) -> Result<Net, QuantiseError> {
    let floats = Floats::of(weights, architecture)?;
    let Scales { qa, qb, .. } = scales;
    for (name, factor) in [("QA", qa), ("QB", qb)] {
        if !(1..=MAX_SCALE).contains(&factor) {
            return Err(NetError::Scale { name, value: factor }.into());
        }
    }
    let array = |values: &[f32], by, factor, name: &dyn Fn(usize) -> String| {
        values
            .iter()
            .enumerate()
            .map(|(i, &value)| {
                integer(value, factor).ok_or_else(|| {
                    if value.is_finite() {
                        let cure = cure(&floats, scales);
                        QuantiseError::Range { weight: name(i), value, by, factor, cure }
                    } else {
                        QuantiseError::NotFinite { weight: name(i), value }
                    }
                })
            })
            .collect::<Result<Vec<i16>, _>>()
    };
    let Architecture { features, hidden, .. } = *architecture;
    let accumulator_weights = array(floats.accumulator_weights, "QA", qa, &|i| {
        let (input, neuron) = (i / hidden, i % hidden);
        let man = features.describe(input);
        format!("accumulator.weight of input {input} ({man}) to neuron {neuron}")
    })?;
    let accumulator_bias = array(floats.accumulator_bias, "QA", qa, &|neuron| {
        format!("accumulator.bias of neuron {neuron}")
    })?;
    let output_weights =
        array(floats.output_weights, "QB", qb, &|i| output_weight(architecture, i))?;
    let output_bias =
        array(&[floats.output_bias], "QA * QB", qa * qb, &|_| "output.bias".to_string())?[0];
    Ok(Net::new(
        *architecture,
        scales,
        accumulator_weights,
        accumulator_bias,
        output_weights,
        output_bias,
    )?)
}

/// Half away from zero; None for what is not finite or leaves i16.
fn integer(value: f32, factor: i32) -> Option<i16> {
    let rounded = (f64::from(value) * f64::from(factor)).round();
    (rounded >= i16::MIN.into() && rounded <= i16::MAX.into()).then_some(rounded as i16)
}

/// The largest scales at which everything fits, in words.
fn cure(floats: &Floats, scales: Scales) -> String {
    let Scales { qa, qb, .. } = scales;
    let accumulator = [floats.accumulator_weights, floats.accumulator_bias];
    let largest_qa = accumulator.map(|values| largest(values, scales.qa));
    let largest_qb = largest(floats.output_weights, qb);
    let (Some(qa_fits), Some(qb_fits)) =
        (largest_qa.into_iter().min().unwrap_or_default(), largest_qb)
    else {
        return "no scale fits: train again with weights clipped".to_string();
    };
    // The bias of the output is under both scales: give way with QB, then with QA.
    let bias = |qa: i32, qb: i32| integer(floats.output_bias, qa * qb).is_some();
    let fits = (1..=qb_fits).rev().find(|&qb| bias(qa_fits, qb)).map(|qb| (qa_fits, qb));
    let fits = fits.or_else(|| (1..=qa_fits).rev().find(|&qa| bias(qa, 1)).map(|qa| (qa, 1)));
    match fits {
        None => "output.bias fits no scale: train again with weights clipped".to_string(),
        Some((a, b)) if a < qa && b < qb => {
            format!("everything fits with QA at most {a} and QB at most {b}")
        }
        Some((a, _)) if a < qa => format!("everything fits with QA at most {a}"),
        Some((_, b)) => format!("everything fits with QB at most {b}"),
    }
}

/// The largest factor, up to `most`, that keeps every value in i16.
fn largest(values: &[f32], most: i32) -> Option<i32> {
    let fits = |factor: &i32| values.iter().all(|&value| integer(value, *factor).is_some());
    // Rounding is monotone in the factor, so the factors that fit are 1 up to some number.
    let (mut fitting, mut failing) = (0, most + 1);
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(&middle) { fitting = middle } else { failing = middle }
    }
    (fitting > 0).then_some(fitting)
}

/// An output weight in words.
pub(super) fn output_weight(architecture: &Architecture, i: usize) -> String {
    let (view, neuron) = (i / architecture.hidden, i % architecture.hidden);
    match (architecture.features.views, view) {
        (1, _) => format!("output.weight of neuron {neuron}"),
        (_, 0) => format!("output.weight of neuron {neuron} (side to move)"),
        _ => format!("output.weight of neuron {neuron} (other side)"),
    }
}
