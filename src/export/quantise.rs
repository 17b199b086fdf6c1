//! Floats to integers: times the scale in f64, rounded half away from zero, never clamped.

use super::prove;
use crate::architecture::{Architecture, Part};
use crate::floats::Floats;
use crate::net::{Net, NetError, Number, Numbers, Stored, stored};
use crate::sample::Sample;
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
        "{weight} is {value}, which times {factor} is outside of {number}; export with \
         --largest-scales, or train again with weights clipped"
    )]
    Range { weight: String, value: f32, factor: i32, number: &'static str },
}

/// The arrays of a net with or without factoriser: a missing one is zero, or it is merged.
pub fn factorised_as(
    weights: &Weights,
    found: &Architecture,
    wanted: &Architecture,
) -> Result<Weights, WeightsError> {
    let mut arrays = match found.inputs.factorised && !wanted.inputs.factorised {
        true => return Ok(Floats::of(weights, found)?.into_weights()),
        false => Weights::default(),
    };
    for array in wanted.arrays() {
        let values = match found.array(array.part) {
            Some(_) => weights.get(&array.name, &array.shape)?.to_vec(),
            None => vec![0.0; array.len()],
        };
        arrays.insert(&array.name, &array.shape, values);
    }
    Ok(arrays)
}

/// The net of these weights: each array of integers times its factor.
pub fn quantise(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
) -> Result<Net, QuantiseError> {
    let floats = Floats::of(weights, net)?;
    let net = net.merged();
    Net::check(&net, scales)?;
    let numbers = stored(&net, scales.head_format)
        .iter()
        .map(|it| numbers(&floats, scales, it))
        .collect::<Result<_, _>>()?;
    Ok(Net::of(&net, scales, numbers)?)
}

/// The weights with rows of sets that repeat them as the net of these scales has them. Counts multiply
/// the errors of rounding; the biases of the accumulators take their mean over some samples.
pub fn round_counts(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
    samples: &[Sample],
) -> Result<Weights, WeightsError> {
    let (inputs, mut rounded) = (&net.inputs, weights.clone());
    if !inputs.repeats() || samples.is_empty() {
        return Ok(rounded);
    }
    let mut counts = vec![0_u64; inputs.rows()];
    for Sample { position, .. } in samples {
        for view in 0..net.views() {
            inputs.active(position, view, &mut |row| counts[row] += 1);
        }
    }
    let lists = (samples.len() * net.views()) as f64;
    let bias = net.array(Part::AccumulatorBias).expect("every net has it");
    let mut biases = weights.get(&bias.name, &bias.shape)?.to_vec();
    for (place, set) in inputs.sets().iter().enumerate() {
        if !set.repeats() || inputs.factor_rows(place) > 0 {
            continue;
        }
        let array = net.array(Part::Rows(place)).expect("every set has rows");
        let mut values = weights.get(&array.name, &array.shape)?.to_vec();
        let counts = &counts[inputs.first_row(place)..];
        for (row, count) in values.chunks_exact_mut(net.hidden).zip(counts) {
            for (value, bias) in row.iter_mut().zip(&mut biases) {
                let near = ((f64::from(*value) * f64::from(scales.qa)).round()
                    / f64::from(scales.qa)) as f32;
                *bias += (f64::from(*value - near) * *count as f64 / lists) as f32;
                *value = near;
            }
        }
        rounded.insert(&array.name, &array.shape, values);
    }
    rounded.insert(&bias.name, &bias.shape, biases);
    Ok(rounded)
}

fn numbers(floats: &Floats, scales: Scales, stored: &Stored) -> Result<Numbers, QuantiseError> {
    let (part, number) = (stored.array.part, stored.number);
    let (values, factor) = (floats.get(part), stored.factor(scales).unwrap_or(1));
    if let Some(place) = values.iter().position(|&value| integer(value, factor, number).is_none()) {
        let (weight, value) = (format!("{}[{place}]", stored.array.name), values[place]);
        return Err(match value.is_finite() {
            true => QuantiseError::Range { weight, value, factor, number: number.name() },
            false => QuantiseError::NotFinite { weight, value },
        });
    }
    let integers = values.iter().filter_map(|&value| integer(value, factor, number));
    Ok(match number {
        Number::I8 => Numbers::I8(integers.map(|it| it as i8).collect()),
        Number::I32 => Numbers::I32(integers.map(|it| it as i32).collect()),
        Number::I16 => Numbers::I16(integers.map(|it| it as i16).collect()),
        Number::F32 => Numbers::F32(values.to_vec()),
    })
}

/// Half away from zero; None for what is not finite or leaves the range. Floats stay themselves.
fn integer(value: f32, factor: i32, number: Number) -> Option<f64> {
    let Some([least, most]) = number.range() else {
        return value.is_finite().then_some(value.into());
    };
    let rounded = (f64::from(value) * f64::from(factor)).round();
    (rounded >= least && rounded <= most).then_some(rounded)
}

/// The largest scale from 1 to `most` that fits; rounding is monotone in the factor.
fn largest(most: i32, fits: impl Fn(i32) -> bool) -> Option<i32> {
    let (mut fitting, mut failing) = (0, most + 1);
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(middle) { fitting = middle } else { failing = middle }
    }
    (fitting > 0).then_some(fitting)
}

/// The largest QA up to that of `most`, and with it the largest QB, with which a net is proven. What
/// rounds least where QA is limited, as 255 is by squares in 16 bits.
pub fn largest_scales(weights: &Weights, net: &Architecture, most: Scales) -> Option<Scales> {
    let fits = |qa: i32, qb: i32| {
        let net = quantise(weights, net, Scales { qa, qb, ..most });
        net.is_ok_and(|net| prove(&net).is_ok())
    };
    let qa = largest(most.qa, |qa| fits(qa, 1))?;
    let qb = largest(most.qb, |qb| fits(qa, qb))?;
    Some(Scales { qa, qb, ..most })
}
