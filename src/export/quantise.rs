//! Quantisation: floats times the scale, in f64, are rounded half away from zero and never clamped.

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

/// Converts weights to a net with or without factoriser: a missing one is zero, another is merged.
///
/// # Errors
///
/// Fails with [`WeightsError::Missing`] or [`WeightsError::Shape`] if the weights are not those of
/// the source.
pub fn factorised_as(
    weights: &Weights,
    source: &Architecture,
    target: &Architecture,
) -> Result<Weights, WeightsError> {
    if source.inputs.factorised && !target.inputs.factorised {
        return Ok(Float::new(weights, source)?.into_weights());
    }
    let mut arrays = Weights::default();
    for array in target.list_arrays() {
        let values = match source.find_array(array.kind) {
            Some(_) => weights.get(&array.name, &array.shape)?.to_vec(),
            None => vec![0.0; array.len()],
        };
        arrays.insert(&array.name, &array.shape, values);
    }
    Ok(arrays)
}

/// Converts a net and its weights to kings on one plane, if `merged`, or on two, without factoriser.
/// Rows that the source lacks are zero: no legal position activates them.
///
/// # Errors
///
/// Fails with [`ImportError::ImpossibleNet`] if both kings cannot share a plane, and with
/// [`ImportError::Weights`] if the weights are not those of the net.
pub fn with_kings(
    weights: &Weights,
    net: &Architecture,
    merged: bool,
) -> Result<(Weights, Architecture), ImportError> {
    let form = NetForm { merged_kings: merged, ..net.without_factoriser().into() };
    let target = Architecture::try_from(form)?;
    let floats = Float::new(weights, net)?;
    let mut converted = Weights::default();
    for array in target.list_arrays() {
        let source = floats.get_array(array.kind);
        let values = match array.kind {
            ArrayKind::Rows(set) | ArrayKind::Psqt(set) => {
                let [old, new] = [net, &target].map(|net| &net.inputs.sets()[set]);
                let unmerged = |set: &Set, row| set.kings().map_or(row, |it| it.unmerged_row(row));
                let rows: HashMap<usize, usize> =
                    (0..old.row_count()).map(|row| (unmerged(old, row), row)).collect();
                let width = array.shape[1];
                let zeros = vec![0.0; width];
                let row = |row| match rows.get(&unmerged(new, row)) {
                    Some(row) => &source[row * width..][..width],
                    None => &zeros,
                };
                (0..new.row_count()).flat_map(row).copied().collect()
            }
            _ => source.to_vec(),
        };
        converted.insert(&array.name, &array.shape, values);
    }
    Ok((converted, target))
}

/// Sets rows that no legal position activates to zero, factors included, so that files compress.
pub fn clear_unreachable(weights: &mut Weights, net: &Architecture) {
    for (index, set) in net.inputs.sets().iter().enumerate() {
        let factor = net.find_array(ArrayKind::Factor(index));
        let factor = factor.and_then(|array| weights.0.get(&array.name)).cloned();
        for kind in [ArrayKind::Rows(index), ArrayKind::Psqt(index)] {
            let array = net.find_array(kind).and_then(|array| weights.0.get_mut(&array.name));
            let Some(NamedArray { shape, values }) = array else { continue };
            let rows = values.chunks_exact_mut(shape[1]).zip(0..);
            for (values, row) in rows.filter(|(_, row)| !set.is_reachable(*row)) {
                values.fill(0.0);
                if let (ArrayKind::Rows(_), Some(factor), Some(shared)) =
                    (kind, &factor, set.factor_row(row))
                {
                    let shared = factor.values.chunks_exact(shape[1]).nth(shared as usize);
                    values
                        .iter_mut()
                        .zip(shared.into_iter().flatten())
                        .for_each(|(value, shared)| *value -= shared);
                }
            }
        }
    }
}

/// Quantises weights to a net by multiplying each array by its factor.
///
/// # Errors
///
/// Fails with [`QuantiseError::Weights`] if the weights are not those of the net, with
/// [`QuantiseError::Net`] as [`Net::check_architecture`] does, with [`QuantiseError::NotFinite`]
/// for a weight that is NaN or infinite, and with [`QuantiseError::Range`] for one that exceeds its
/// integer type.
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

/// The maximum number of rows that are rounded together.
const MAX_ROUNDED: usize = 2048;
/// The maximum number of positions for which rows are rounded.
const MAX_SAMPLES: usize = 20_000;
/// The share of a row's activity that ties it to its value.
const RIDGE: f64 = 1e-3;

/// Rounds the rows of small sets in a net that repeats rows, since counts multiply rounding errors.
/// The rows are rounded individually, the last set's first, and each compensates the earlier errors
/// by its correlation in the samples. The errors of the accumulators, `(w - q)^T H (w - q)` with the
/// second moments `H = L L^T` of the rows' counts, are a sum of squares in the order of `L` (L. Babai,
/// "On Lovasz' Lattice Reduction and the Nearest Lattice Point Problem", 1986). The biases come last.
///
/// # Errors
///
/// Fails with [`WeightsError::Missing`] or [`WeightsError::Shape`] if the weights are not those of
/// the net.
pub fn round_counts(
    weights: &Weights,
    net: &Architecture,
    scales: Scales,
    samples: &[Sample],
) -> Result<Weights, WeightsError> {
    let &Architecture { ref inputs, hidden, .. } = net;
    let mut rounded = weights.clone();
    if !inputs.has_repeats() || samples.is_empty() {
        return Ok(rounded);
    }
    let mut matrix_rows = vec![None; inputs.row_count()];
    let mut arrays = vec![ArrayKind::AccumulatorBias];
    let mut size = 1;
    for (set, it) in inputs.sets().iter().enumerate() {
        if inputs.factor_rows(set) == 0 && size + it.row_count() <= MAX_ROUNDED {
            let first = inputs.first_row(set);
            (0..it.row_count()).for_each(|row| matrix_rows[first + row] = Some(size + row));
            size += it.row_count();
            arrays.push(ArrayKind::Rows(set));
        }
    }
    let arrays: Vec<_> = arrays.into_iter().filter_map(|kind| net.find_array(kind)).collect();
    let moments = second_moments(net, samples, &matrix_rows, size);
    let factors = Cholesky::new(moments).expect("a ridge makes it positive definite");

    let mut values = Vec::with_capacity(size * hidden);
    for array in &arrays {
        let array_values = weights.get(&array.name, &array.shape)?.iter();
        values.extend(array_values.map(|value| f64::from(*value) * f64::from(scales.qa)));
    }
    let mut errors = vec![0.0; size * hidden];
    for row in (0..size).rev() {
        let (_, later) = errors.split_at_mut(row * hidden);
        let (row_errors, later) = later.split_at_mut(hidden);
        for (later_row, errors) in (row + 1..size).zip(later.chunks_exact(hidden)) {
            let share = factors.lower_element(later_row, row) / factors.lower_element(row, row);
            row_errors.iter_mut().zip(errors).for_each(|(sum, error)| *sum += share * error);
        }
        for (value, error) in values[row * hidden..][..hidden].iter_mut().zip(row_errors) {
            let nearest = (*value + *error).round();
            *error = *value - nearest;
            *value = nearest;
        }
    }
    let mut values = values.into_iter().map(|value| (value / f64::from(scales.qa)) as f32);
    for array in arrays {
        let array_values = values.by_ref().take(array.len()).collect();
        rounded.insert(&array.name, &array.shape, array_values);
    }
    Ok(rounded)
}

/// Computes the lower half of the second moments of 1, at index 0, and of row counts, at `1..size`.
fn second_moments(
    net: &Architecture,
    samples: &[Sample],
    matrix_rows: &[Option<usize>],
    size: usize,
) -> DenseMatrix {
    let samples: Vec<&Sample> =
        samples.iter().step_by(samples.len().div_ceil(MAX_SAMPLES)).collect();
    // The order does not matter, since the sums are integers.
    let sums = samples.par_chunks(samples.len().div_ceil(rayon::current_num_threads()));
    let sums = sums.map(|samples| {
        let mut sums = DenseMatrix::zeros(size, size);
        for rows in samples.iter().flat_map(|sample| net.inputs.active_rows(&sample.position)) {
            let count = |row: &Row| Some((matrix_rows[row.number as usize]?, f64::from(row.times)));
            let mut counts = vec![(0, 1.0)];
            counts.extend(rows.entries().iter().filter_map(count));
            counts.sort_unstable_by_key(|(row, _)| *row);
            counts.dedup_by(|next, first| {
                first.1 += if next.0 == first.0 { next.1 } else { 0.0 };
                next.0 == first.0
            });
            for (i, &(row, count)) in counts.iter().enumerate() {
                let sums = &mut sums.values[row * size..][..=row];
                counts[..=i].iter().for_each(|(column, factor)| sums[*column] += count * factor);
            }
        }
        sums
    });
    let mut moments = sums.reduce(
        || DenseMatrix::zeros(size, size),
        |mut sums, terms| {
            sums.values.iter_mut().zip(terms.values).for_each(|(sum, term)| *sum += term);
            sums
        },
    );
    let lists = (samples.len() * net.perspective_count()) as f64;
    (0..size).for_each(|row| moments[(row, row)] += RIDGE * (lists + moments[(row, row)]));
    moments
}

fn quantise_array(floats: &Float, it: &StoredArray) -> Result<Numbers, QuantiseError> {
    let values = floats.get_array(it.array.kind);
    let number = it.number;
    let round =
        |(index, &value): (usize, &f32)| round_to_integer(value, it.factor_at(index), number);
    if let Some(index) = values.iter().enumerate().position(|it| round(it).is_none()) {
        let weight = format!("{}[{index}]", it.array.name);
        let value = values[index];
        return Err(match value.is_finite() {
            true => {
                let factor = it.factor_at(index);
                QuantiseError::Range { weight, value, factor, number: number.name() }
            }
            false => QuantiseError::NotFinite { weight, value },
        });
    }
    Ok(number.convert_exactly(values.iter().enumerate().filter_map(round)))
}

/// Rounds half away from zero; None if the value is not finite or out of range. Keeps floats.
fn round_to_integer(value: f32, factor: f64, number: Number) -> Option<f64> {
    let Some([min, max]) = number.value_range() else {
        return value.is_finite().then_some(value.into());
    };
    let rounded = (f64::from(value) * factor).round();
    (rounded >= min && rounded <= max).then_some(rounded)
}

/// Finds the largest scale from 1 to `limit` that fits; rounding is monotone in the factor.
fn largest_fitting(limit: i32, fits: impl Fn(i32) -> bool) -> Option<i32> {
    let [mut fitting, mut failing] = [0, limit + 1];
    while failing - fitting > 1 {
        let middle = fitting + (failing - fitting) / 2;
        if fits(middle) { fitting = middle } else { failing = middle }
    }
    (fitting > 0).then_some(fitting)
}

/// Finds the largest QA within `limit`, and then the largest QB, with which a net is proved. This
/// order rounds least if QA is limited, as to 255 by squares in 16 bits.
/// In fixed point QB has no effect, and the shift of the first layer's inputs follows from QA.
pub fn largest_scales(weights: &Weights, net: &Architecture, limit: Scales) -> Option<Scales> {
    let fits = |qa: i32, qb: i32| {
        let net = quantise(weights, net, Scales { qa, qb, ..limit });
        net.is_ok_and(|net| prove(&net).is_ok())
    };
    if net.is_fixed_point() {
        let qa = (1..=limit.qa).rev().find(|qa| fits(*qa, limit.qb))?;
        return Some(Scales { qa, ..limit });
    }
    let qa = largest_fitting(limit.qa, |qa| fits(qa, 1))?;
    let qb = largest_fitting(limit.qb, |qb| fits(qa, qb))?;
    Some(Scales { qa, qb, ..limit })
}
