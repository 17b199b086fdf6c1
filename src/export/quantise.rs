//! Floats to integers: multiplied by the scale in f64, rounded half away from zero, never clamped.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{ImportError, prove};
use crate::architecture::{Architecture, ArrayKind, NetForm};
use crate::features::{Row, Set};
use crate::floats::Float;
use crate::linear::{Cholesky, DenseMatrix};
use crate::net::{Net, NetError, Number, Numbers, StoredArray, stored_arrays};
use crate::sample::Sample;
use crate::scales::Scales;
use crate::weights::{NamedArray, Weights, WeightsError};

#[derive(Debug, thiserror::Error)]
pub enum QuantiseError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("{weight} is {value}: the training diverged; export an earlier checkpoint")]
    NotFinite { weight: String, value: f32 },
    #[error(
        "{weight} is {value}, which times {factor} exceeds {number}; export with \
         --largest-scales, or train again with a smaller clip"
    )]
    Range { weight: String, value: f32, factor: f64, number: &'static str },
}

/// The arrays of a net with or without factoriser: a missing one becomes zero, or it is merged.
pub fn factorised_as(
    weights: &Weights,
    found: &Architecture,
    wanted: &Architecture,
) -> Result<Weights, WeightsError> {
    if found.inputs.factorised && !wanted.inputs.factorised {
        return Ok(Float::new(weights, found)?.into_weights());
    }
    let mut arrays = Weights::default();
    for array in wanted.list_arrays() {
        let values = match found.find_array(array.kind) {
            Some(_) => weights.get(&array.name, &array.shape)?.to_vec(),
            None => vec![0.0; array.len()],
        };
        arrays.insert(&array.name, &array.shape, values);
    }
    Ok(arrays)
}

/// The net with both kings on one plane, `merged`, or on two, and its weights, without factoriser.
/// Rows that the other net lacks are zero: no legal position activates them.
pub fn with_kings(
    weights: &Weights,
    net: &Architecture,
    merged: bool,
) -> Result<(Weights, Architecture), ImportError> {
    let form = NetForm { merged_kings: merged, ..net.without_factoriser().into() };
    let (wanted, floats) = (Architecture::try_from(form)?, Float::new(weights, net)?);
    let mut found = Weights::default();
    for array in wanted.list_arrays() {
        let from = floats.get_array(array.kind);
        let values = match array.kind {
            ArrayKind::Rows(set) | ArrayKind::Psqt(set) => {
                let [old, new] = [net, &wanted].map(|net| &net.inputs.sets()[set]);
                let unmerged = |set: &Set, row| set.kings().map_or(row, |it| it.unmerged_row(row));
                let rows: HashMap<usize, usize> =
                    (0..old.row_count()).map(|row| (unmerged(old, row), row)).collect();
                let width = array.shape[1];
                let zeros = vec![0.0; width];
                let row = |row| match rows.get(&unmerged(new, row)) {
                    Some(row) => &from[row * width..][..width],
                    None => &zeros,
                };
                (0..new.row_count()).flat_map(row).copied().collect()
            }
            _ => from.to_vec(),
        };
        found.insert(&array.name, &array.shape, values);
    }
    Ok((found, wanted))
}

/// Sets the rows that no legal position activates to zero, so that files compress; where a factor is
/// added to them, to the number that makes them zero.
pub fn clear_unreachable(weights: &mut Weights, net: &Architecture) {
    for (place, set) in net.inputs.sets().iter().enumerate() {
        let factor = net.find_array(ArrayKind::Factor(place));
        let factor = factor.and_then(|array| weights.0.get(&array.name)).cloned();
        for part in [ArrayKind::Rows(place), ArrayKind::Psqt(place)] {
            let array = net.find_array(part).and_then(|array| weights.0.get_mut(&array.name));
            let Some(NamedArray { shape, values }) = array else { continue };
            let rows = values.chunks_exact_mut(shape[1]).zip(0..);
            for (values, row) in rows.filter(|(_, row)| !set.is_reachable(*row)) {
                values.fill(0.0);
                if let (ArrayKind::Rows(_), Some(factor), Some(shared)) =
                    (part, &factor, set.factor_row(row))
                {
                    let shared = factor.values.chunks_exact(shape[1]).nth(shared as usize);
                    values
                        .iter_mut()
                        .zip(shared.into_iter().flatten())
                        .for_each(|(to, it)| *to -= it);
                }
            }
        }
    }
}

/// Quantises weights to a net: each array times its factor.
pub fn quantise(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
) -> Result<Net, QuantiseError> {
    let floats = Float::new(weights, net)?;
    Net::check_architecture(&floats.net, scales)?;
    let stored = stored_arrays(&floats.net, scales);
    let numbers = stored.iter().map(|it| quantise_array(&floats, it)).collect::<Result<_, _>>()?;
    Ok(Net::from_arrays(&floats.net, scales, numbers)?)
}

/// Most rows that are rounded together.
const MOST_ROUNDED: usize = 2048;
/// Most positions that these are rounded for.
const MOST_SAMPLES: usize = 20_000;
/// Share of a row's activity that ties it to its own value.
const RIDGE: f64 = 1e-3;

/// Rounds the rows of small sets, in a net that repeats rows. Counts multiply errors of rounding.
/// So the rows are rounded one by one, the last set's first, and each compensates the errors before
/// it by its correlation in the samples: the errors of the accumulators, `(w - q)^T H (w - q)` with
/// the second moments `H = L L^T` of the rows' counts, are a sum of squares in the order of `L` (L.
/// Babai, "On Lovasz' Lattice Reduction and the Nearest Lattice Point Problem", 1986). The biases
/// come last.
pub fn round_counts(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
    samples: &[Sample],
) -> Result<Weights, WeightsError> {
    let (inputs, hidden, mut rounded) = (&net.inputs, net.hidden, weights.clone());
    if !inputs.has_repeats() || samples.is_empty() {
        return Ok(rounded);
    }
    let (mut places, mut arrays) =
        (vec![None; inputs.row_count()], vec![ArrayKind::AccumulatorBias]);
    let mut size = 1;
    for (set, it) in inputs.sets().iter().enumerate() {
        if inputs.factor_rows(set) == 0 && size + it.row_count() <= MOST_ROUNDED {
            let first = inputs.first_row(set);
            (0..it.row_count()).for_each(|row| places[first + row] = Some(size + row));
            size += it.row_count();
            arrays.push(ArrayKind::Rows(set));
        }
    }
    let arrays: Vec<_> = arrays.into_iter().filter_map(|part| net.find_array(part)).collect();
    let moments = second_moments(net, samples, &places, size);
    let factors = Cholesky::new(moments).expect("a ridge makes it positive definite");

    let mut values = Vec::with_capacity(size * hidden);
    for array in &arrays {
        let of_array = weights.get(&array.name, &array.shape)?.iter();
        values.extend(of_array.map(|value| f64::from(*value) * f64::from(scales.qa)));
    }
    let mut errors = vec![0.0; size * hidden];
    for row in (0..size).rev() {
        let (_, later) = errors.split_at_mut(row * hidden);
        let (own, later) = later.split_at_mut(hidden);
        for (other, errors) in (row + 1..size).zip(later.chunks_exact(hidden)) {
            let share = factors.lower_element(other, row) / factors.lower_element(row, row);
            own.iter_mut().zip(errors).for_each(|(sum, error)| *sum += share * error);
        }
        for (value, own) in values[row * hidden..][..hidden].iter_mut().zip(own) {
            let near = (*value + *own).round();
            (*own, *value) = (*value - near, near);
        }
    }
    let mut values = values.into_iter().map(|value| (value / f64::from(scales.qa)) as f32);
    for array in arrays {
        let of_array = values.by_ref().take(array.len()).collect();
        rounded.insert(&array.name, &array.shape, of_array);
    }
    Ok(rounded)
}

/// Lower half of the second moments of row counts, at places `1..size`, and of 1, at place 0.
fn second_moments(
    net: &Architecture,
    samples: &[Sample],
    places: &[Option<usize>],
    size: usize,
) -> DenseMatrix {
    let samples: Vec<&Sample> =
        samples.iter().step_by(samples.len().div_ceil(MOST_SAMPLES)).collect();
    // Sums of integers, so that their order does not matter.
    let sums = samples.par_chunks(samples.len().div_ceil(rayon::current_num_threads()));
    let sums = sums.map(|samples| {
        let mut sums = DenseMatrix::zeros(size, size);
        for rows in samples.iter().flat_map(|sample| net.inputs.active_rows(&sample.position)) {
            let of = |row: &Row| Some((places[row.number as usize]?, f64::from(row.times)));
            let mut counts = vec![(0, 1.0)];
            counts.extend(rows.entries().iter().filter_map(of));
            counts.sort_unstable_by_key(|(place, _)| *place);
            counts.dedup_by(|again, first| {
                first.1 += if again.0 == first.0 { again.1 } else { 0.0 };
                again.0 == first.0
            });
            for (i, &(row, one)) in counts.iter().enumerate() {
                let sums = &mut sums.values[row * size..][..=row];
                counts[..=i].iter().for_each(|(column, other)| sums[*column] += one * other);
            }
        }
        sums
    });
    let mut moments = sums.reduce(
        || DenseMatrix::zeros(size, size),
        |mut sums, more| {
            sums.values.iter_mut().zip(more.values).for_each(|(sum, more)| *sum += more);
            sums
        },
    );
    let lists = (samples.len() * net.views()) as f64;
    (0..size).for_each(|row| moments[(row, row)] += RIDGE * (lists + moments[(row, row)]));
    moments
}

fn quantise_array(floats: &Float, it: &StoredArray) -> Result<Numbers, QuantiseError> {
    let (values, number) = (floats.get_array(it.array.kind), it.number);
    let whole =
        |(place, &value): (usize, &f32)| round_to_integer(value, it.factor_at(place), number);
    if let Some(place) = values.iter().enumerate().position(|it| whole(it).is_none()) {
        let (weight, value) = (format!("{}[{place}]", it.array.name), values[place]);
        return Err(match value.is_finite() {
            true => {
                let factor = it.factor_at(place);
                QuantiseError::Range { weight, value, factor, number: number.name() }
            }
            false => QuantiseError::NotFinite { weight, value },
        });
    }
    Ok(number.convert_exactly(values.iter().enumerate().filter_map(whole)))
}

/// Rounds half away from zero; None if not finite or out of range. Floats are unchanged.
fn round_to_integer(value: f32, factor: f64, number: Number) -> Option<f64> {
    let Some([least, most]) = number.value_range() else {
        return value.is_finite().then_some(value.into());
    };
    let rounded = (f64::from(value) * factor).round();
    (rounded >= least && rounded <= most).then_some(rounded)
}

/// The largest scale from 1 to `most` that fits; rounding is monotone in the factor.
fn largest_fitting(most: i32, fits: impl Fn(i32) -> bool) -> Option<i32> {
    let (mut fitting, mut failing) = (0, most + 1);
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(middle) { fitting = middle } else { failing = middle }
    }
    (fitting > 0).then_some(fitting)
}

/// The largest QA up to that of `most`, and then the largest QB, with which a net is proved. This
/// order rounds least where QA is limited, as by squares in 16 bits to 255.
/// In fixed point QB counts for nothing, and the shift of the first layer's inputs follows from QA.
pub fn largest_scales(weights: &Weights, net: &Architecture, most: Scales) -> Option<Scales> {
    let fits = |qa: i32, qb: i32| {
        let net = quantise(weights, net, Scales { qa, qb, ..most });
        net.is_ok_and(|net| prove(&net).is_ok())
    };
    if net.is_fixed_point() {
        let qa = (1..=most.qa).rev().find(|qa| fits(*qa, most.qb))?;
        return Some(Scales { qa, ..most });
    }
    let qa = largest_fitting(most.qa, |qa| fits(qa, 1))?;
    let qb = largest_fitting(most.qb, |qb| fits(qa, qb))?;
    Some(Scales { qa, qb, ..most })
}
