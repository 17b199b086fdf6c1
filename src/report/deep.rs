//! A comparison with phases, calibration, disagreements and the cost of quantising.

use rayon::prelude::*;
use serde::Serialize;

use super::Table;
use super::calibration::Calibration;
use super::chance;
use super::compare::{self, Comparison};
use super::compare::{CompareError, Options, Predictions, Truth};
use super::disagree::{Disagreement, Side};
use super::estimate::Groups;
use super::estimate::{Estimate, Means};
use super::fitted::Fitted;
use super::table::{interval, loss, wrap};
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
    options: &Options,
    depth: &Depth,
) -> Result<Deep, CompareError> {
    let groups = truth.grouped();
    let fitted = Fitted::all(evaluations, truth, &groups, options)?;
    let comparison = compare::measure(evaluations, truth, options, &groups, &fitted);
    let results = truth.results;
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
pub fn quantising(
    pair: [&Predictions; 2],
    truth: &Truth,
    options: &Options,
) -> Result<Quantising, CompareError> {
    let groups = truth.grouped();
    let both = pair.map(Predictions::clone);
    let fitted = Fitted::all(&both, truth, &groups, options)?;
    let columns =
        [0, 1].map(|i| groups.sums(squares(&fitted[i].expected(&both[i], truth), truth.results)));
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
