//! Values of rows that count, such as threats by kind: the evaluation with them minus without them.

use serde::Serialize;

use crate::architecture::Inputs;
use crate::floats::Float;
use crate::sample::{Position, Sample};

/// Number of rows of the largest set that has a table.
const MAX_ROWS: usize = 256;

/// Value of a row, or of the pair of rows that the two perspectives describe differently.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowValue {
    pub set: String,
    /// Description from the point of view of the side that it counts for.
    pub row: String,
    /// Mean number of active occurrences for a side.
    pub active: f64,
    /// Centipawns for that side, per occurrence.
    pub mean: f64,
}

impl RowValue {
    pub fn mean_effect(&self) -> f64 {
        (self.active * self.mean).abs()
    }
}

/// Returns the values of the rows of small sets, the largest effect first.
pub(super) fn largest_rows(float: &Float, scale: f64, samples: &[&Sample]) -> Vec<RowValue> {
    let inputs = &float.net.inputs;
    let pairs = pair_by_side(inputs);
    let sums = super::sum_over_chunks(samples, |samples| {
        let mut sums = vec![[0.0; 2]; pairs.len()];
        let mut counts = vec![vec![0.0; inputs.row_count()]; float.net.perspective_count()];
        for Sample { position, .. } in samples {
            add_position(float, scale, position, &pairs, &mut counts, &mut sums);
        }
        sums
    });
    let active = pairs.iter().zip(sums).filter(|(_, [count, _])| *count > 0.0);
    let row_value = |([row, _], [count, sum]): (&[usize; 2], [f64; 2])| RowValue {
        set: inputs.sets()[inputs.set_of(*row).0].name().into(),
        row: inputs.describe_row(*row),
        active: count / (2 * samples.len()) as f64,
        mean: sum / count,
    };
    let mut values: Vec<RowValue> = active.map(row_value).collect();
    values.sort_by(|a, b| b.mean_effect().total_cmp(&a.mean_effect()));
    values
}

/// Pairs each row of small sets that differs by side with the other side's row for the same fact.
fn pair_by_side(inputs: &Inputs) -> Vec<[usize; 2]> {
    fn swap_side(word: &str) -> &str {
        match word {
            "own" => "enemy",
            "enemy" => "own",
            word => word,
        }
    }
    let mut pairs = Vec::new();
    for (set_index, set) in inputs.sets().iter().enumerate() {
        if set.kings().is_some() || set.row_count() > MAX_ROWS {
            continue;
        }
        let words: Vec<String> =
            (0..set.row_count()).map(|row| set.describe_row(row as u32)).collect();
        let first = inputs.first_row(set_index);
        for (row, description) in words.iter().enumerate() {
            let swapped = description.split(' ').map(swap_side).collect::<Vec<_>>().join(" ");
            let partner = words.iter().position(|it| *it == swapped).filter(|it| row < *it);
            pairs.extend(partner.map(|partner| [first + row, first + partner]));
        }
    }
    pairs
}

/// Adds each row's number of active occurrences for either side, and its value for that side.
/// `counts` has a number per row and perspective, 0 before and after the call.
fn add_position(
    float: &Float,
    scale: f64,
    position: &Position,
    pairs: &[[usize; 2]],
    counts: &mut [Vec<f64>],
    sums: &mut [[f64; 2]],
) {
    let net = &float.net;
    let lists = net.inputs.active_rows(position);
    let accumulators = float.sum_rows(&lists);
    for (counts, rows) in counts.iter_mut().zip(&lists) {
        rows.entries().iter().for_each(|it| counts[it.number as usize] += f64::from(it.times));
    }
    let value = |accumulators: &[Vec<f64>]| {
        float.evaluate_output(accumulators, net.bucket_of(position), |_, _| ())
    };
    let with = value(&accumulators);
    let sign = scale * f64::from(net.inputs.sign_of_output(position));
    let mut without = accumulators.clone();
    for (pair, sums) in pairs.iter().zip(sums) {
        for (side, sign) in [(0, sign), (1, -sign)] {
            let row = |perspective: usize| pair[(side + perspective) % 2];
            let count = counts[0][row(0)];
            if count == 0.0 {
                continue;
            }
            without.clone_from(&accumulators);
            for (perspective, (accumulator, counts)) in without.iter_mut().zip(&*counts).enumerate()
            {
                float.add(row(perspective), -counts[row(perspective)], accumulator);
            }
            sums[0] += count;
            sums[1] += sign * (with - value(&without));
        }
    }
    for (counts, rows) in counts.iter_mut().zip(&lists) {
        rows.entries().iter().for_each(|it| counts[it.number as usize] = 0.0);
    }
}
