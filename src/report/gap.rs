//! Two evaluations of the same thing: a net in floats, and in the integers of the engine.

use serde::Serialize;

use super::disagree::correlation;
use super::estimate::{Estimate, Means};
use super::fitted::errors;
use super::groups::Groups;
use super::predictions::{CompareError, Options, Predictions, Truth, Values};
use super::text::{SHOWN, WIDTH, amount, between, wrap};
use super::{Align, Table};
use crate::digits::grouped;

/// What becoming integers did to the numbers, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// Before, such as floats; and after, such as integers.
    pub names: [String; 2],
    /// Mean of after less before, centipawns.
    pub shift: f64,
    /// Of |after less before| in centipawns: mean, 95 %, 99.9 % and largest.
    pub mean: f64,
    pub most_95: f64,
    pub most_999: f64,
    pub largest: f64,
    /// Where the largest is; counts from 0.
    pub largest_at: usize,
    /// Of the centipawns; None where one of them never changes.
    pub correlation: Option<f64>,
    /// The loss after less that before.
    pub cost: Estimate,
    pub sentence: String,
}

/// One of the two: centipawns, and squared errors.
pub(super) struct Side<'a> {
    pub name: &'a str,
    pub cp: &'a [f64],
    pub losses: &'a [f64],
}

/// A difference in loss that tables of five decimals and readers need not see.
const NOTHING: f64 = 2e-5;

/// Floats and integers of one thing, measured as [`compare`](super::compare()) does.
///
/// # Errors
/// As those of `compare`.
pub fn gap(
    [before, after]: [&Predictions; 2],
    truth: &Truth,
    options: &Options,
) -> Result<Gap, CompareError> {
    let groups = truth.grouped();
    let [first, second] = [before, after].map(|one| errors(one, truth, options));
    let (first, second) = (first?.0, second?.0);
    let side = |one: &'_ Predictions| match &one.values {
        Values::Cp(cp) => cp.clone(),
        Values::Probability(_) | Values::Constant => vec![0.0; truth.results.len()],
    };
    let [cp, integers] = [before, after].map(side);
    let sides = [
        Side { name: &before.name, cp: &cp, losses: &first },
        Side { name: &after.name, cp: &integers, losses: &second },
    ];
    Ok(Gap::of(sides, &groups, truth.noun))
}

impl Gap {
    /// Whether one of the two may stand for both: they differ by nothing to speak of, or by a
    /// little that these data cannot show.
    pub fn is_nothing(&self) -> bool {
        let cost = self.cost.mean.abs();
        cost <= SHOWN || cost <= NOTHING && !self.cost.tells()
    }

    pub(super) fn of(sides: [Side; 2], groups: &Groups, noun: &str) -> Self {
        let [before, after] = &sides;
        let count = before.cp.len();
        let differences = || before.cp.iter().zip(after.cp).map(|(before, after)| after - before);
        let mut sizes: Vec<f64> = differences().map(f64::abs).collect();
        let mean = sizes.iter().sum::<f64>() / count as f64;
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let largest_at = sizes.iter().position(|size| *size == largest).unwrap_or(0);
        sizes.sort_unstable_by(f64::total_cmp);
        // The smallest size that so large a share does not exceed.
        let most = |share: f64| sizes[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        let columns = [before, after].map(|side| groups.sums(side.losses.iter().copied()));
        let mut gap = Self {
            names: [before, after].map(|side| side.name.to_string()),
            shift: differences().sum::<f64>() / count as f64,
            mean,
            most_95: most(0.95),
            most_999: most(0.999),
            largest,
            largest_at,
            correlation: correlation(before.cp, after.cp),
            cost: Means::new(groups, &columns).difference(1, 0),
            sentence: String::new(),
        };
        gap.sentence = gap.conclude(noun, count);
        gap
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.table());
        wrap(&self.sentence, &mut text);
        text
    }

    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("difference, cp", Align::Left),
            ("mean", Align::Right),
            ("95 % below", Align::Right),
            ("99.9 % below", Align::Right),
            ("largest", Align::Right),
            ("shift", Align::Right),
            ("correlation", Align::Right),
        ])
        .width(WIDTH);
        let [before, after] = &self.names;
        let mut cells = vec![format!("{after} - {before}")];
        cells.extend(
            [self.mean, self.most_95, self.most_999, self.largest].map(|cp| format!("{cp:.2}")),
        );
        cells.push(format!("{:+.3}", self.shift));
        cells.push(self.correlation.map_or("-".to_string(), |it| format!("{it:.7}")));
        table.row(cells);
        table
    }

    fn conclude(&self, noun: &str, positions: usize) -> String {
        let [before, after] = &self.names;
        let (cost, on) = (self.cost, grouped(positions as u64));
        let Some([low, high]) = cost.interval else {
            return format!("A single group: no interval for what {after} costs.");
        };
        if cost.mean == 0.0 && low == 0.0 && high == 0.0 {
            return format!("{before} and {after} have the same loss.");
        }
        let by = amount(cost.mean);
        let side = if cost.mean > 0.0 { "higher" } else { "lower" };
        let verdict = match (cost.can_tell(), cost.contains_zero()) {
            (false, _) if cost.interval_is_lower_bound => {
                "games unknown: these data cannot tell".to_string()
            }
            (false, _) => format!("{} {noun} are too few to tell", cost.groups),
            (_, true) => format!("rounding did nothing that these {noun} can show"),
            _ => format!("that is what rounding did, and these {noun} ({on} positions) show it"),
        };
        let between = between(&cost);
        format!("{after}'s loss is {side} than {before}'s by {by}{between}: {verdict}.")
    }
}
