//! A comparison with phases, calibration, disagreements and the cost of quantising.

use rayon::prelude::*;
use serde::Serialize;

use super::compare::{self, CompareError, Comparison, Predictions, Truth};
use super::estimate::{Estimate, Groups, Means};
use super::fitted::Fitted;
use super::table::{between, interval, least, loss, wrap};
use super::{Table, chance};
use crate::digits::grouped;

/// The facts beside the values and results.
#[derive(Clone, Copy)]
pub struct Depth<'a> {
    /// Ethereal's, one a position: 24 with all pieces, 0 with pawns only.
    pub phases: &'a [u8],
    pub fen: &'a dyn Fn(usize) -> String,
    /// The place of the evaluation that others are held against; else the best one.
    pub reference: Option<usize>,
    pub most: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deep {
    pub comparison: Comparison,
    pub phases: Phases,
    /// In the order of the evaluations given, without constant ones.
    pub calibrations: Vec<Calibration>,
    pub disagreements: Vec<Disagreement>,
    /// Filled by the caller, see [`quantising`].
    pub quantising: Vec<Quantising>,
}

/// The loss by game phase, with the scales fitted to all positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phases {
    /// The name of the evaluation that the others are compared with.
    pub reference: String,
    /// How many differences the marks are corrected for (Holm, 5 % for all together).
    pub comparisons: usize,
    pub slices: Vec<Slice>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slice {
    pub phase: &'static str,
    pub positions: usize,
    pub groups: usize,
    /// In the order of the evaluations given; empty without positions.
    pub evaluations: Vec<SliceLoss>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceLoss {
    pub name: String,
    pub loss: Estimate,
    /// Its loss minus that of the reference: negative where it is better.
    pub difference: Option<Estimate>,
    /// The difference stands after the correction for many comparisons.
    pub marked: bool,
}

/// An evaluation before and after quantising.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantising {
    /// Floats, integers.
    pub names: [String; 2],
    /// |integers - floats| in centipawns: mean, 99.9 % quantile and maximum.
    pub mean: f64,
    pub most_999: f64,
    pub largest: f64,
    /// The loss of the integers less that of the floats.
    pub cost: Estimate,
}

/// The phases: a name and its last number.
const PHASES: [(&str, u8); 3] =
    [("endgame, 0 to 8", 8), ("middlegame, 9 to 16", 16), ("opening, 17 to 24", u8::MAX)];

/// [Compares](compare::compare()) and looks deeper; scales are fitted once, and serve everywhere.
pub fn deep(
    evaluations: &[Predictions],
    truth: &Truth,
    depth: &Depth,
) -> Result<Deep, CompareError> {
    let groups = truth.grouped();
    let fitted = Fitted::all(evaluations, truth, &groups)?;
    let comparison = compare::measure(evaluations, truth, &groups, &fitted);
    let results = &truth.results;
    let expected: Vec<Vec<f64>> =
        evaluations.iter().zip(&fitted).map(|(one, fitted)| fitted.expected(one, truth)).collect();
    let losses: Vec<Vec<f64>> = expected.par_iter().map(|list| squares(list, results)).collect();
    let place = |name: &str| evaluations.iter().position(|one| one.name == name);
    let order: Vec<usize> =
        comparison.evaluations.iter().filter_map(|one| place(&one.name)).collect();
    let reference = depth.reference.unwrap_or(order[0]);

    let phases = Phases::of(evaluations, &losses, depth.phases, &groups, reference);
    let calibrations = evaluations
        .par_iter()
        .zip(&expected)
        .filter(|(one, _)| one.centipawns().is_some())
        .map(|(one, expected)| {
            Calibration::of(&one.name, expected, results, &groups, Calibration::BINS)
        })
        .collect();
    let rival = |other: &usize| {
        let nets = [reference, *other].map(|place| evaluations[place].net);
        *other != reference && (nets[0].is_none() || nets[0] != nets[1])
    };
    let side = |place: usize| {
        let Predictions { name, .. } = &evaluations[place];
        let cp = evaluations[place].centipawns()?;
        Some(Side { name, cp, expected: &expected[place] })
    };
    let disagreement = |other: usize| {
        // The better one first.
        let first = order.iter().find(|place| [reference, other].contains(place))?;
        let second = if *first == other { reference } else { other };
        let sides = [side(*first)?, side(second)?];
        Some(Disagreement::of(sides, results, &groups, depth.most, depth.fen))
    };
    let disagreements = (0..evaluations.len()).filter(rival).filter_map(disagreement).collect();
    Ok(Deep { comparison, phases, calibrations, disagreements, quantising: Vec::new() })
}

fn squares(expected: &[f64], results: &[f64]) -> Vec<f64> {
    expected.iter().zip(results).map(|(expected, result)| (expected - result).powi(2)).collect()
}

impl Deep {
    pub fn text(&self) -> String {
        let mut parts = vec![self.comparison.text(), self.phases.text()];
        parts.extend(self.calibrations.iter().map(Calibration::text));
        parts.extend(self.disagreements.iter().map(Disagreement::text));
        let quantising = Quantising::table(&self.quantising);
        parts.extend((!quantising.is_empty()).then(|| quantising.to_string()));
        parts.join("\n")
    }
}

impl Phases {
    fn of(
        evaluations: &[Predictions],
        losses: &[Vec<f64>],
        phases: &[u8],
        groups: &Groups,
        reference: usize,
    ) -> Self {
        let slice = |(number, (phase, _)): (usize, &(&'static str, u8))| {
            let is_in = |i: &usize| PHASES.iter().filter(|it| phases[*i] > it.1).count() == number;
            let records: Vec<u32> = (0..phases.len()).filter(is_in).map(|i| i as u32).collect();
            let groups = groups.of_records(&records);
            let column =
                |losses: &Vec<f64>| groups.sums(records.iter().map(|i| losses[*i as usize]));
            let means = Means::new(&groups, &losses.iter().map(column).collect::<Vec<_>>());
            let one = |(i, one): (usize, &Predictions)| SliceLoss {
                name: one.name.clone(),
                loss: means.mean(i),
                difference: (i != reference).then(|| means.difference(i, reference)),
                marked: false,
            };
            let some = if records.is_empty() { &[][..] } else { evaluations };
            Slice {
                phase,
                positions: records.len(),
                groups: groups.len(),
                evaluations: some.iter().enumerate().map(one).collect(),
            }
        };
        let mut slices: Vec<Slice> = PHASES.iter().enumerate().map(slice).collect();
        let p = |one: &SliceLoss| one.difference.filter(Estimate::can_tell).and_then(|it| it.p);
        let all: Vec<f64> = slices.iter().flat_map(|it| &it.evaluations).filter_map(p).collect();
        let limit = chance::holm(&all, 0.05);
        for one in slices.iter_mut().flat_map(|slice| &mut slice.evaluations) {
            one.marked = p(one).is_some_and(|p| limit.is_some_and(|limit| p <= limit));
        }
        Self { reference: evaluations[reference].name.clone(), comparisons: all.len(), slices }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        wrap(&self.legend(), &mut text);
        text
    }

    pub fn legend(&self) -> String {
        let Self { reference, comparisons, .. } = self;
        format!(
            "Difference: the loss minus that of {reference}; * stands among {comparisons} (Holm, 5 % \
             for all together)."
        )
    }

    pub fn table(&self) -> Table {
        let mut table = Table::titled(&[
            "<phase",
            "positions",
            "<evaluation",
            "loss",
            "difference",
            "95 % interval",
            "<",
        ]);
        for slice in &self.slices {
            let mut first = [slice.phase.to_string(), grouped(slice.positions as u64)];
            for one in &slice.evaluations {
                let [phase, positions] = std::mem::take(&mut first);
                let mut cells = vec![phase, positions, one.name.clone(), loss(one.loss.mean)];
                cells.extend(one.difference.iter().flat_map(|it| [loss(it.mean), interval(it)]));
                cells.resize(6, String::new());
                cells.push(if one.marked { "*" } else { "" }.to_string());
                table.row(cells);
            }
        }
        table
    }
}

/// Floats and integers of one net, measured as [`compare`](compare::compare()) does.
pub fn quantising(pair: [&Predictions; 2], truth: &Truth) -> Result<Quantising, CompareError> {
    let groups = truth.grouped();
    let both = pair.map(Predictions::clone);
    let fitted = Fitted::all(&both, truth, &groups)?;
    let columns =
        [0, 1].map(|i| groups.sums(squares(&fitted[i].expected(&both[i], truth), &truth.results)));
    let [floats, integers] = pair.map(|one| one.centipawns().unwrap_or_default());
    let sizes = floats.iter().zip(integers).map(|(one, other)| (one - other).abs());
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let count = sizes.len();
    Ok(Quantising {
        names: pair.map(|one| one.name.clone()),
        mean: sizes.iter().sum::<f64>() / count as f64,
        // The smallest size that 99.9 % do not exceed.
        most_999: sizes[((0.999 * count as f64).ceil() as usize).clamp(1, count) - 1],
        largest: sizes[count - 1],
        cost: Means::new(&groups, &columns).difference(1, 0),
    })
}

impl Quantising {
    pub fn table(all: &[Self]) -> Table {
        let mut table = Table::titled(&[
            "<integers less floats",
            "mean, cp",
            "99.9 %",
            "largest",
            "loss",
            "95 % interval",
        ]);
        for one in all {
            let cp = [one.mean, one.most_999, one.largest].map(|cp| format!("{cp:.2}"));
            let loss = [loss(one.cost.mean), interval(&one.cost)];
            table.row([one.names[1].clone()].into_iter().chain(cp).chain(loss));
        }
        table
    }
}

/// Expected against observed results, seen by the side to move.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub name: String,
    /// By expected result, the smallest first.
    pub bins: Vec<Bin>,
    /// Mean distance of a bin from the diagonal, weighted by positions.
    pub error: f64,
    /// The mean distance that noise alone would give; None where a bin has no interval.
    pub by_chance: Option<f64>,
    /// The mean result minus the mean expected one.
    pub bias: Estimate,
    /// Slope of results on expected results: below 1 where expectations are too bold.
    pub slope: Option<Estimate>,
}

/// Positions of nearly equal expected result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    pub positions: usize,
    pub groups: usize,
    /// The smallest and the largest expected result.
    pub range: [f64; 2],
    pub expected: f64,
    pub observed: Estimate,
    /// Observed less expected.
    pub off: Estimate,
}

impl Calibration {
    pub const BINS: usize = 15;

    pub fn of(name: &str, expected: &[f64], results: &[f64], groups: &Groups, bins: usize) -> Self {
        let mut order: Vec<u32> = (0..expected.len() as u32).collect();
        let key = |i: &u32| expected[*i as usize];
        order.par_sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        let cuts = cuts(expected, &order, bins);
        let bins: Vec<Bin> = cuts
            .par_windows(2)
            .map(|cut| Bin::of(&order[cut[0]..cut[1]], expected, results, groups))
            .collect();
        let weighted = |value: &dyn Fn(&Bin) -> Option<f64>| -> Option<f64> {
            let terms = bins.iter().map(|bin| Some(value(bin)? * bin.positions as f64));
            Some(terms.sum::<Option<f64>>()? / expected.len() as f64)
        };
        // The mean distance from zero of a normal number is its deviation times this.
        let ratio = std::f64::consts::FRAC_2_PI.sqrt();
        let error = weighted(&|bin| Some(bin.off.mean.abs())).unwrap_or(0.0);
        let by_chance = weighted(&|bin| Some(bin.off.standard_error? * ratio));
        let (bias, slope) = line(expected, results, groups);
        Self { name: name.to_string(), bins, error, by_chance, bias, slope }
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        wrap(&format!("{}: {}", self.name, self.summary()), &mut text);
        text
    }

    pub fn table(&self) -> Table {
        let mut table = Table::titled(&[
            "expected",
            "observed",
            "95 % interval",
            "off",
            "positions",
            "from",
            "to",
        ]);
        for bin in &self.bins {
            table.row([
                format!("{:.3}", bin.expected),
                format!("{:.3}", bin.observed.mean),
                interval(&bin.observed),
                format!("{:+.3}", bin.off.mean),
                grouped(bin.positions as u64),
                format!("{:.3}", bin.range[0]),
                format!("{:.3}", bin.range[1]),
            ]);
        }
        table
    }

    pub fn summary(&self) -> String {
        let mut text = format!("{} from the diagonal on average", loss(self.error));
        if let Some(chance) = self.by_chance {
            text += &format!(" ({} by noise alone)", loss(chance));
        }
        text += &format!("; results less expected {:+.5}", self.bias.mean);
        if let Some(slope) = self.slope {
            text += &format!("; slope {:.3}", slope.mean);
            if let Some([low, high]) = slope.interval {
                text += &format!(" (95 % interval {}{low:.3} to {high:.3})", least(&slope));
            }
        }
        text + "."
    }
}

impl Bin {
    fn of(records: &[u32], expected: &[f64], results: &[f64], groups: &Groups) -> Self {
        let groups = groups.of_records(records);
        let column = |of: &[f64]| groups.sums(records.iter().map(|i| of[*i as usize]));
        let means = Means::new(&groups, &[column(expected), column(results)]);
        let at = |place: usize| expected[records[place] as usize];
        Self {
            positions: records.len(),
            groups: groups.len(),
            range: [at(0), at(records.len() - 1)],
            expected: means.mean(0).mean,
            observed: means.mean(1),
            off: means.difference(1, 0),
        }
    }
}

/// Cuts at equal counts, moved behind equal values; ends included.
fn cuts(expected: &[f64], order: &[u32], bins: usize) -> Vec<usize> {
    let value = |place: usize| expected[order[place] as usize];
    let mut cuts = vec![0];
    for bin in 1..=bins {
        let mut end = order.len() * bin / bins;
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

/// The mean of result less expected result, and the slope of the line of least squares.
fn line(expected: &[f64], results: &[f64], groups: &Groups) -> (Estimate, Option<Estimate>) {
    // Around a half, so that the squares lose no digits.
    let x = |i: usize| expected[i] - 0.5;
    let y = |i: usize| results[i] - 0.5;
    let column = |of: &dyn Fn(usize) -> f64| groups.sums((0..expected.len()).map(of));
    let columns = [column(&x), column(&y), column(&|i| x(i) * y(i)), column(&|i| x(i) * x(i))];
    let means = Means::new(groups, &columns);
    let varied = expected.iter().any(|it| *it != expected[0]);
    let slope = |m: &[f64]| (m[2] - m[0] * m[1]) / (m[3] - m[0] * m[0]);
    (means.difference(1, 0), varied.then(|| means.statistic(slope)))
}

/// A difference in expected result from which two evaluations disagree.
pub const LARGE: f64 = 0.1;

/// Two evaluations side by side; the first has the smaller loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    pub names: [String; 2],
    /// Mean of |difference| in expected result.
    pub mean: f64,
    /// Positions that differ by more than [`LARGE`].
    pub large: usize,
    pub share: f64,
    /// How often the first is nearer to the result there; as near is a half.
    pub first_nearer: Option<Estimate>,
    /// The loss of the second less that of the first there.
    pub difference: Option<Estimate>,
    /// The largest differences first, one a group at most.
    pub positions: Vec<Apart>,
}

/// A position that two evaluations see differently. Pairs are in the order of the names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// Counts from 0.
    pub position: usize,
    pub fen: String,
    /// Seen by the side to move, as everything here.
    pub result: f64,
    pub cp: [f64; 2],
    pub expected: [f64; 2],
    /// The one whose expected result is nearer to the result; None where both are as near.
    pub nearer: Option<String>,
}

#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub name: &'a str,
    pub cp: &'a [f64],
    pub expected: &'a [f64],
}

impl Disagreement {
    pub(super) fn of(
        sides: [Side; 2],
        results: &[f64],
        groups: &Groups,
        most: usize,
        fen: &dyn Fn(usize) -> String,
    ) -> Self {
        let [first, second] = sides.map(|side| side.expected);
        let apart = |i: usize| (first[i] - second[i]).abs();
        let large: Vec<u32> =
            (0..results.len()).filter(|i| apart(*i) > LARGE).map(|i| i as u32).collect();
        let there = there(&large, first, second, results, groups);
        let position = |i: usize| {
            let expected = [first[i], second[i]];
            let nearer = nearer(expected, results[i]).map(|it| sides[it].name.to_string());
            let cp = sides.map(|side| side.cp[i]);
            Apart { position: i, fen: fen(i), result: results[i], cp, expected, nearer }
        };
        Self {
            names: sides.map(|side| side.name.to_string()),
            mean: (0..results.len()).map(apart).sum::<f64>() / results.len() as f64,
            large: large.len(),
            share: large.len() as f64 / results.len() as f64,
            first_nearer: there.map(|[nearer, _]| nearer),
            difference: there.map(|[_, difference]| difference),
            positions: widest(apart, groups, most).into_iter().map(position).collect(),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        wrap(&self.summary(), &mut text);
        for apart in &self.positions {
            let mut line = format!("result {}", apart.result);
            for (i, name) in self.names.iter().enumerate() {
                line += &format!(", {name} {:.2} ({:+.0} cp)", apart.expected[i], apart.cp[i]);
            }
            text += &format!("{}\n  {line}\n", apart.fen);
        }
        text
    }

    /// How far and how often the two disagree, and which of them is nearer to the results.
    pub fn summary(&self) -> String {
        let [first, second] = &self.names;
        let mut text = format!(
            "{first} and {second} differ by {:.4} in expected result on average; by more than \
             {LARGE} in {} positions ({:.2} %)",
            self.mean,
            grouped(self.large as u64),
            100.0 * self.share
        );
        if let (Some(nearer), Some(difference)) = (self.first_nearer, self.difference) {
            text +=
                &format!(", where {first} is nearer to the result in {:.1} %", 100.0 * nearer.mean);
            if let Some([low, high]) = nearer.interval.map(|it| it.map(|share| 100.0 * share)) {
                text += &format!(" (95 % interval {}{low:.1} to {high:.1} %)", least(&nearer));
            }
            let by = between(&difference);
            text += &format!(", its loss lower by {}{by}", loss(difference.mean));
        }
        text + "."
    }
}

/// The nearer of two expected results; None where both are as near.
fn nearer(expected: [f64; 2], result: f64) -> Option<usize> {
    let [first, second] = expected.map(|it| (it - result).abs());
    (first != second).then_some(usize::from(second < first))
}

/// The positions that lie furthest apart, one a group at most; equal ones in their order.
fn widest(apart: impl Fn(usize) -> f64, groups: &Groups, most: usize) -> Vec<usize> {
    let mut best: Vec<Option<(f64, usize)>> = vec![None; groups.len()];
    for (i, group) in groups.numbers().iter().enumerate() {
        let best = &mut best[*group as usize];
        let this = apart(i);
        if best.is_none_or(|(widest, _)| this > widest) {
            *best = Some((this, i));
        }
    }
    let mut best: Vec<(f64, usize)> = best.into_iter().flatten().collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    best.into_iter().take(most).filter(|(apart, _)| *apart > 0.0).map(|(_, i)| i).collect()
}

/// In some positions: how often the first is nearer, and the loss of the second less its own.
fn there(
    records: &[u32],
    first: &[f64],
    second: &[f64],
    results: &[f64],
    groups: &Groups,
) -> Option<[Estimate; 2]> {
    if records.is_empty() {
        return None;
    }
    let groups = groups.of_records(records);
    let wins = |i: usize| match nearer([first[i], second[i]], results[i]) {
        Some(0) => 1.0,
        Some(_) => 0.0,
        None => 0.5,
    };
    let column = |of: &dyn Fn(usize) -> f64| groups.sums(records.iter().map(|i| of(*i as usize)));
    let columns = [
        column(&wins),
        column(&|i| (first[i] - results[i]).powi(2)),
        column(&|i| (second[i] - results[i]).powi(2)),
    ];
    let means = Means::new(&groups, &columns);
    Some([means.mean(0), means.difference(2, 1)])
}
