//! Floats to integers: times the scale in f64, rounded half away from zero, never clamped.

use super::prove;
use crate::architecture::{Architecture, Factor};
use crate::floats::Floats;
use crate::net::{Net, NetError, Number, Numbers, Stored, stored};
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
        "{weight} is {value}, and times {by} that is {product:.0}, outside of {number}; {cure}",
        product = f64::from(*value) * f64::from(*factor)
    )]
    Range {
        weight: String,
        value: f32,
        by: &'static str,
        factor: i32,
        number: &'static str,
        cure: String,
    },
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
        .into_iter()
        .map(|it| Integers { net: &net, floats: &floats, scales, stored: it }.numbers())
        .collect::<Result<_, _>>()?;
    Ok(Net::of(&net, scales, numbers)?)
}

struct Integers<'a> {
    net: &'a Architecture,
    floats: &'a Floats<'a>,
    scales: Scales,
    stored: Stored,
}

impl Integers<'_> {
    /// The clip with which the weights of an i8 map would have fitted, in words.
    fn clip(&self, factor: i32) -> String {
        let name = &self.stored.array.name;
        let most = (100.0 * f64::from(i8::MAX) / f64::from(factor)).floor() / 100.0;
        match self.stored.number == Number::I8 && most > 0.0 {
            true => format!(
                ", or train again with `{name} = {{ clip = {most} }}` in `[optimizer.layers]`"
            ),
            false => String::new(),
        }
    }

    fn numbers(&self) -> Result<Numbers, QuantiseError> {
        let values = self.floats.get(self.stored.array.part);
        let wrong = |place: usize| {
            let (weight, value) = (self.net.describe(self.stored.array.part, place), values[place]);
            match (value.is_finite(), self.stored.factor(self.scales)) {
                (true, Some(factor)) => QuantiseError::Range {
                    weight,
                    value,
                    by: self.stored.array.factor.name(),
                    factor,
                    number: self.stored.number.name(),
                    cure: cure(self.net, self.floats, self.scales) + &self.clip(factor),
                },
                _ => QuantiseError::NotFinite { weight, value },
            }
        };
        let factor = self.stored.factor(self.scales).unwrap_or(1);
        let number = self.stored.number;
        if let Some(place) =
            values.iter().position(|&value| integer(value, factor, number).is_none())
        {
            return Err(wrong(place));
        }
        let integers = values.iter().filter_map(|&value| integer(value, factor, number));
        Ok(match number {
            Number::I8 => Numbers::I8(integers.map(|it| it as i8).collect()),
            Number::I16 => Numbers::I16(integers.map(|it| it as i16).collect()),
            Number::F32 => Numbers::F32(values.to_vec()),
        })
    }
}

/// Half away from zero; None for what is not finite or leaves the range. Floats stay themselves.
fn integer(value: f32, factor: i32, number: Number) -> Option<f64> {
    let Some([least, most]) = number.range() else {
        return value.is_finite().then_some(value.into());
    };
    let rounded = (f64::from(value) * f64::from(factor)).round();
    (rounded >= least && rounded <= most).then_some(rounded)
}

/// The largest scales at which everything fits, in words.
fn cure(net: &Architecture, floats: &Floats, scales: Scales) -> String {
    let Scales { qa, qb, .. } = scales;
    let arrays = stored(net, scales.head_format);
    let fits = |qa: i32, qb: i32, by_both: bool| {
        let scales = Scales { qa, qb, ..scales };
        arrays.iter().filter(|it| by_both || it.array.factor != Factor::QaQb).all(|it| {
            let factor = it.factor(scales).unwrap_or(1);
            let mut values = floats.get(it.array.part).iter();
            values.all(|&value| integer(value, factor, it.number).is_some())
        })
    };
    let alone = |qa, qb| fits(qa, qb, false);
    // With the smallest of the other scale, only this one can fail.
    let (Some(qa_fits), Some(qb_fits)) =
        (largest(qa, |qa| alone(qa, 1)), largest(qb, |qb| alone(1, qb)))
    else {
        return "no scale fits: train again with weights clipped".to_string();
    };
    // The bias of the output is under both scales: give way with QB, then with QA.
    let found = largest(qb_fits, |qb| fits(qa_fits, qb, true)).map(|qb| (qa_fits, qb));
    let found = found.or_else(|| largest(qa_fits, |qa| fits(qa, 1, true)).map(|qa| (qa, 1)));
    match found {
        None => "output.bias fits no scale: train again with weights clipped".to_string(),
        Some((a, b)) if a < qa && b < qb => {
            format!("everything fits with QA at most {a} and QB at most {b}")
        }
        Some((a, _)) if a < qa => format!("everything fits with QA at most {a}"),
        Some((_, b)) => format!("everything fits with QB at most {b}"),
    }
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

/// Integers that an engine computes the output with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Accumulators in i16, the output sum in i32: what [`prove`] demands.
    Sums,
    /// Also clamped accumulator times output weight in i16, see [`Proof`](super::Proof).
    Products,
}

/// The largest QA up to that of `most`, and with it the largest QB, with which a net is proven and
/// within the bound. What rounds least where QA is limited, as 255 is by squares in 16 bits.
pub fn largest_scales(
    weights: &Weights,
    net: &Architecture,
    most: Scales,
    bound: Bound,
) -> Option<Scales> {
    let fits = |qa: i32, qb: i32| {
        let proof = quantise(weights, net, Scales { qa, qb, ..most }).ok().map(|net| prove(&net));
        proof.is_some_and(|it| it.is_ok_and(|proof| bound == Bound::Sums || proof.i16_trick))
    };
    let qa = largest(most.qa, |qa| fits(qa, 1))?;
    let qb = largest(most.qb, |qb| fits(qa, qb))?;
    Some(Scales { qa, qb, ..most })
}
