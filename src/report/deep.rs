//! A comparison by phase, with calibration, disagreements and the cost of quantising.

use std::ops::RangeInclusive;

use rayon::prelude::*;
use serde::Serialize;

use super::TextTable;
use super::compare::{self, CompareError, Comparison, PositionFacts, Predictions};
use super::estimate::{Estimate, Groups, Means};
use super::fitted::FittedEvaluation;
use super::table::{format_loss, with_half_width, wrap_all};
use crate::digits::{format_decimal_percent, group_digits};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeepComparison {
    pub comparison: Comparison,
    /// Name of the reference evaluation in the comparison by phase.
    pub reference: String,
    /// Losses phase by phase, evaluations in the order given. Phases without positions are absent.
    pub phases: Vec<PhaseLoss>,
    /// Calibrations in the order of the evaluations given, without constant ones.
    pub calibrations: Vec<Calibration>,
    pub disagreements: Vec<Disagreement>,
    /// Filled by the caller, see [`measure_quantising`].
    pub quantising: Vec<Quantising>,
}

/// The loss of an evaluation in one game phase, with the scales fitted to all positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseLoss {
    pub phase: &'static str,
    pub positions: usize,
    pub name: String,
    pub loss: Estimate,
    /// Loss minus the loss of the reference: negative where it is better.
    pub difference: Option<Estimate>,
}

/// Expected against observed results, from the side to move's point of view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub name: String,
    /// Bins by expected result, the smallest first.
    pub bins: Vec<CalibrationBin>,
    /// Mean distance of a bin from the diagonal, weighted by positions.
    pub error: f64,
    /// Mean distance that noise alone would cause; None if a bin has no interval.
    pub by_chance: Option<f64>,
}

/// Positions of nearly equal expected result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CalibrationBin {
    pub positions: usize,
    /// Smallest and largest expected result.
    pub range: [f64; 2],
    pub expected: f64,
    pub observed: Estimate,
    /// Observed minus expected result.
    pub off: Estimate,
}

/// Comparison of two evaluations; the first has the smaller loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    pub names: [String; 2],
    /// Mean of |difference| in expected result.
    pub mean: f64,
    /// Share of positions that differ by more than [`LARGE`].
    pub share: f64,
    /// The largest differences first, at most one a group.
    pub positions: Vec<DisputedPosition>,
}

/// A position that two evaluations value differently. Pairs are in the order of the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisputedPosition {
    pub position: usize,
    pub fen: String,
    /// Result from the side to move's point of view, as all numbers here.
    pub result: f64,
    pub cp: [f64; 2],
    pub expected: [f64; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantising {
    /// Names of the floats and the integers.
    pub names: [String; 2],
    /// |integers - floats| in centipawns: mean, 99.9 % quantile and maximum.
    pub mean: f64,
    pub most_999: f64,
    pub largest: f64,
    /// Loss of the integers minus the loss of the floats.
    pub cost: Estimate,
}

const PHASES: [(&str, RangeInclusive<u8>); 3] =
    [("endgame, 0 to 8", 0..=8), ("middlegame, 9 to 16", 9..=16), ("opening, 17 to 24", 17..=24)];

/// Bins of a calibration, fewer where many values are equal.
const BINS: usize = 15;
/// The smallest difference in expected result that is a disagreement.
pub const LARGE: f64 = 0.1;

/// [Compares](compare::compare()) and adds details; scales are fitted once. `phases` are
/// Ethereal's, one per position: 24 with all pieces, 0 with pawns only. `reference` is the index of
/// an evaluation; None for the best one. A disagreement shows at most `shown` positions.
pub fn compare_deeply(
    evaluations: &[Predictions],
    truth: &PositionFacts,
    phases: &[u8],
    fen: &dyn Fn(usize) -> String,
    reference: Option<usize>,
    shown: usize,
) -> Result<DeepComparison, CompareError> {
    let groups = truth.group_games();
    let fitted = FittedEvaluation::fit_all(evaluations, truth, &groups)?;
    let comparison = compare::measure_fitted(&fitted, truth, &groups);
    let results = &truth.results;
    let expected: Vec<Vec<f64>> = fitted.iter().map(FittedEvaluation::expected_results).collect();
    let find_index = |name: &str| evaluations.iter().position(|it| it.name == name);
    let order: Vec<usize> =
        comparison.evaluations.iter().filter_map(|it| find_index(&it.name)).collect();
    let reference = reference.unwrap_or(order[0]);

    let losses: Vec<Vec<f64>> =
        expected.par_iter().map(|list| squared_errors(list, results)).collect();
    let by_phase = |(phase, range): (&'static str, RangeInclusive<u8>)| {
        let is_in = |i: &u32| range.contains(&phases[*i as usize]);
        let records: Vec<u32> = (0..phases.len() as u32).filter(is_in).collect();
        let groups = groups.of_records(&records);
        let column =
            |losses: &Vec<f64>| groups.sum_groups(records.iter().map(|i| losses[*i as usize]));
        let means = Means::new(&groups, &losses.iter().map(column).collect::<Vec<_>>());
        let measure = |(i, evaluation): (usize, &Predictions)| PhaseLoss {
            phase,
            positions: records.len(),
            name: evaluation.name.clone(),
            loss: means.mean_of_column(i),
            difference: (i != reference).then(|| means.difference_of_columns(i, reference)),
        };
        let measured = evaluations.iter().enumerate().filter(|_| !records.is_empty());
        measured.map(measure).collect::<Vec<_>>()
    };
    let calibrations = evaluations
        .par_iter()
        .zip(&expected)
        .filter(|(it, _)| it.cp.is_some())
        .map(|(it, expected)| Calibration::calibrate(&it.name, expected, results, &groups))
        .collect();
    let disagreement = |compared: usize| {
        // The better one comes first.
        let mut pair = [reference, compared];
        pair.sort_by_key(|index| order.iter().position(|it| it == index));
        let both = pair.map(|index| &evaluations[index]);
        if compared == reference || (both[0].net.is_some() && both[0].net == both[1].net) {
            return None;
        }
        let cp = [both[0].cp.as_ref()?, both[1].cp.as_ref()?];
        let expected = pair.map(|index| &expected[index]);
        let distance = |i: usize| (expected[0][i] - expected[1][i]).abs();
        let dispute = |i: usize| DisputedPosition {
            position: i,
            fen: fen(i),
            result: results[i],
            cp: cp.map(|list| list[i]),
            expected: expected.map(|list| list[i]),
        };
        let count = results.len() as f64;
        Some(Disagreement {
            names: both.map(|it| it.name.clone()),
            mean: (0..results.len()).map(distance).sum::<f64>() / count,
            share: (0..results.len()).filter(|i| distance(*i) > LARGE).count() as f64 / count,
            positions: widest_by_group(distance, &groups, shown).into_iter().map(dispute).collect(),
        })
    };
    Ok(DeepComparison {
        reference: evaluations[reference].name.clone(),
        phases: PHASES.into_iter().flat_map(by_phase).collect(),
        calibrations,
        disagreements: (0..evaluations.len()).filter_map(disagreement).collect(),
        quantising: Vec::new(),
        comparison,
    })
}

fn squared_errors(expected: &[f64], results: &[f64]) -> Vec<f64> {
    expected.iter().zip(results).map(|(expected, result)| (expected - result).powi(2)).collect()
}

/// Measures floats and integers of one net as [`compare`](compare::compare()) does.
pub fn measure_quantising(
    pair: [&Predictions; 2],
    truth: &PositionFacts,
) -> Result<Quantising, CompareError> {
    let groups = truth.group_games();
    let both = pair.map(Predictions::clone);
    let fitted = FittedEvaluation::fit_all(&both, truth, &groups)?;
    let columns = [0, 1]
        .map(|i| groups.sum_groups(squared_errors(&fitted[i].expected_results(), &truth.results)));
    let [floats, integers] = pair.map(|it| it.cp.as_deref().unwrap_or_default());
    let sizes = floats.iter().zip(integers).map(|(float, integer)| (float - integer).abs());
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let count = sizes.len();
    Ok(Quantising {
        names: pair.map(|it| it.name.clone()),
        mean: sizes.iter().sum::<f64>() / count as f64,
        // The smallest size that 99.9 % do not exceed.
        most_999: sizes[((0.999 * count as f64).ceil() as usize).clamp(1, count) - 1],
        largest: sizes[count - 1],
        cost: Means::new(&groups, &columns).difference_of_columns(1, 0),
    })
}

impl Calibration {
    pub fn calibrate(name: &str, expected: &[f64], results: &[f64], groups: &Groups) -> Self {
        let mut order: Vec<u32> = (0..expected.len() as u32).collect();
        let key = |i: &u32| expected[*i as usize];
        order.par_sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        let bins: Vec<CalibrationBin> = cut_bins(expected, &order)
            .par_windows(2)
            .map(|cut| {
                CalibrationBin::average_bin(&order[cut[0]..cut[1]], expected, results, groups)
            })
            .collect();
        let weighted = |value: &dyn Fn(&CalibrationBin) -> Option<f64>| -> Option<f64> {
            let terms = bins.iter().map(|bin| Some(value(bin)? * bin.positions as f64));
            Some(terms.sum::<Option<f64>>()? / expected.len() as f64)
        };
        // The mean distance from zero of a normal number is its deviation times this.
        let ratio = std::f64::consts::FRAC_2_PI.sqrt();
        let error = weighted(&|bin| Some(bin.off.mean.abs())).unwrap_or(0.0);
        let by_chance = weighted(&|bin| Some(bin.off.standard_error? * ratio));
        Self { name: name.to_string(), bins, error, by_chance }
    }
}

impl CalibrationBin {
    fn average_bin(records: &[u32], expected: &[f64], results: &[f64], groups: &Groups) -> Self {
        let groups = groups.of_records(records);
        let column = |list: &[f64]| groups.sum_groups(records.iter().map(|i| list[*i as usize]));
        let means = Means::new(&groups, &[column(expected), column(results)]);
        let expected_at = |index: usize| expected[records[index] as usize];
        Self {
            positions: records.len(),
            range: [expected_at(0), expected_at(records.len() - 1)],
            expected: means.mean_of_column(0).mean,
            observed: means.mean_of_column(1),
            off: means.difference_of_columns(1, 0),
        }
    }
}

/// Returns borders of bins with equal counts, ends included. Equal values share a bin.
fn cut_bins(expected: &[f64], order: &[u32]) -> Vec<usize> {
    let value = |index: usize| expected[order[index] as usize];
    let mut cuts = vec![0];
    for bin in 1..=BINS {
        let mut end = order.len() * bin / BINS;
        if end <= cuts[cuts.len() - 1] {
            continue;
        }
        while end < order.len() && value(end) == value(end - 1) {
            end += 1;
        }
        cuts.push(end);
    }
    cuts
}

/// Returns the positions with the largest distance, at most one per group and `count` in all.
/// Equal ones keep their order.
fn widest_by_group(distance: impl Fn(usize) -> f64, groups: &Groups, count: usize) -> Vec<usize> {
    let mut best: Vec<Option<(f64, usize)>> = vec![None; groups.len()];
    for (i, group) in groups.of.iter().enumerate() {
        let best = &mut best[*group as usize];
        let distance = distance(i);
        if best.is_none_or(|(widest, _)| distance > widest) {
            *best = Some((distance, i));
        }
    }
    let mut best: Vec<(f64, usize)> = best.into_iter().flatten().collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.into_iter().take(count).filter(|(distance, _)| *distance > 0.0).map(|(_, i)| i).collect()
}

impl DeepComparison {
    pub fn to_text(&self, verbose: bool) -> String {
        let mut text = self.comparison.to_text(verbose);
        let mut add = |about: &str, table: TextTable| {
            if !table.is_empty() {
                text += &format!("\n{}\n{table}", wrap_all([about]));
            }
        };
        add(&self.phase_legend(), self.phase_table());
        for calibration in &self.calibrations {
            let about = format!("{}: {}", calibration.name, calibration.summary_sentence());
            add(&about, calibration.to_table());
        }
        add("Loss: that of the integers less that of the floats.", self.quantising_table());
        for disagreement in &self.disagreements {
            text += &format!("\n{}\n", wrap_all([disagreement.summary_sentence()]));
            for position in &disagreement.positions {
                text += &position.to_text(&disagreement.names);
            }
        }
        text
    }

    pub fn phase_legend(&self) -> String {
        format!(
            "Difference: the loss minus that of {}. Phase: minor pieces 1, rooks 2, queens 4.",
            self.reference
        )
    }

    pub fn phase_table(&self) -> TextTable {
        let titles = ["<phase", "positions", "<evaluation", "loss", "difference", "± 95 %"];
        let mut table = TextTable::with_titles(&titles);
        for phase in &self.phases {
            let mut cells = vec![phase.phase.to_string(), group_digits(phase.positions as u64)];
            cells.extend([phase.name.clone(), format_loss(phase.loss.mean)]);
            cells.extend(phase.difference.iter().flat_map(with_half_width));
            table.add_row(cells);
        }
        table
    }

    pub fn quantising_table(&self) -> TextTable {
        let cp_titles = ["<integers less floats", "mean, cp", "99.9 %, cp", "largest, cp"];
        let mut table = TextTable::with_titles(&[&cp_titles[..], &["loss", "± 95 %"]].concat());
        for quantising in &self.quantising {
            let cp = [quantising.mean, quantising.most_999, quantising.largest]
                .map(|cp| format!("{cp:.2}"));
            let loss = with_half_width(&quantising.cost);
            table.add_row([quantising.names[1].clone()].into_iter().chain(cp).chain(loss));
        }
        table
    }
}

impl Calibration {
    fn to_table(&self) -> TextTable {
        let mut table =
            TextTable::with_titles(&["expected", "observed", "± 95 %", "off", "positions"]);
        for bin in &self.bins {
            let [observed, half] = with_half_width(&bin.observed);
            table.add_row([
                format!("{:.3}", bin.expected),
                observed,
                half,
                format!("{:+.3}", bin.off.mean),
                group_digits(bin.positions as u64),
            ]);
        }
        table
    }

    pub fn summary_sentence(&self) -> String {
        let by_chance = self.by_chance.map(|it| format!(" ({} by noise alone)", format_loss(it)));
        let by_chance = by_chance.unwrap_or_default();
        format!("{} from the diagonal on average{by_chance}.", format_loss(self.error))
    }
}

impl DisputedPosition {
    /// Formats the position, and below it both values.
    fn to_text(&self, names: &[String; 2]) -> String {
        let [first, second] = [0, 1].map(|i| format!("{} {}", names[i], self.format_value(i)));
        format!("{}\n  result {}, {first}, {second}\n", self.fen, self.result)
    }

    /// Formats the expected result and the centipawns of the i-th evaluation.
    pub(super) fn format_value(&self, i: usize) -> String {
        format!("{:.2} ({:+.0} cp)", self.expected[i], self.cp[i])
    }
}

impl Disagreement {
    /// Says how far and how often the two disagree.
    pub fn summary_sentence(&self) -> String {
        let [first, second] = &self.names;
        format!(
            "{first} and {second} differ by {:.4} in expected result on average, by more than \
             {LARGE} in {} of positions.",
            self.mean,
            format_decimal_percent(self.share, 2)
        )
    }
}
