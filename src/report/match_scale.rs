//! The SCALE at which a new evaluation speaks the centipawns of an old one.
//!
//! A search has margins in centipawns, tuned for the evaluation that it had. A new one in other
//! units changes what they mean. The factor that brings the new values to the old units is found
//! in several ways, on the same positions:
//!
//! - results: equal centipawns shall mean equal chances. Each evaluation has the scale S that
//!   predicts the results best, see [`fit`](super::fit::fit); the factor is `S_old / S_new`.
//! - size: the ratio of the means of `|cp|`, where the old is within 1,000.
//! - spread: the ratio of the standard deviations there.
//! - slope: least squares, `old = slope * new`, there. What the two evaluations do not share
//!   makes it smaller.
//!
//! Where they differ much, the evaluations differ in shape, and no factor suits all margins. An
//! evaluation that errs more also has a larger S: better and worse ones match at equal chances,
//! not at equal sizes.

use serde::Serialize;

use super::estimate::{Estimate, Means};
use super::fit::{Fit, fit, slopes};
use super::groups::Groups;

/// Positions count for size, spread and slope where the old value is below this. Beyond it games
/// are decided, and evaluations go different ways.
pub const WITHIN: f64 = 1000.0;

/// Factors that differ by more than this share are worth a warning.
const DISAGREEMENT: f64 = 0.1;

/// Two evaluations of the same positions, one entry a position.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// Centipawns for the side to move.
    pub old: &'a [f64],
    /// The same, at the scale before.
    pub new: &'a [f64],
    /// 0 to 1, seen by the side to move.
    pub results: Option<&'a [f64]>,
    /// Equal for positions of one game.
    pub groups: &'a [u64],
}

/// What a factor comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Results,
    Size,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matched {
    /// What the new values, and so their SCALE, are to be multiplied by.
    pub factor: f64,
    /// 95 % interval; None from a single game.
    pub interval: Option<[f64; 2]>,
    pub by: By,
    pub scale_before: i32,
    /// The nearest whole number, at least 1.
    pub scale_after: i32,
    /// The scale that suits the results best; None without results, or where none does.
    pub fitted_old: Option<f64>,
    pub fitted_new: Option<f64>,
    /// The mean of `|cp|`, old over new.
    pub size_ratio: f64,
    /// The standard deviation, old over new; None where all new values are equal.
    pub spread_ratio: Option<f64>,
    /// By least squares, of old by new.
    pub slope: f64,
    pub positions: usize,
    /// Positions that size, spread and slope were measured on.
    pub within: usize,
    /// What to beware of, in words.
    pub warnings: Vec<String>,
}

/// Why scales cannot be matched. Positions count from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatchError {
    #[error("no positions to match scales on")]
    NoPositions,
    #[error("{what} has {found} entries for {expected} positions")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("{what} holds {found} at position {position}, expected {expected}")]
    Value { what: &'static str, found: f64, position: usize, expected: &'static str },
    #[error("the scale to match is {0}, expected 1 or more")]
    Scale(i32),
    #[error(
        "the {0} evaluation is 0 wherever the old one is below 1,000 cp, so that no factor can be \
         told; take other positions"
    )]
    Flat(&'static str),
}

/// Finds the factor between two evaluations, by the results if there are any, else by size.
///
/// `scale` is the SCALE that the new values were computed with.
///
/// # Errors
/// Lists of different lengths, values that are no numbers, nothing to measure.
pub fn match_scale(pairs: &Pairs, scale: i32) -> Result<Matched, MatchError> {
    check(pairs, scale)?;
    let groups = Groups::new(pairs.groups.iter().copied());
    let spread = Spread::of(pairs, &groups)?;
    let fitted = pairs.results.map(|results| Fitted::of(pairs, results, &groups));
    let by_results = fitted.as_ref().and_then(|fitted| fitted.factor);
    let (by, estimate) = match by_results {
        Some(factor) => (By::Results, factor),
        None => (By::Size, spread.size),
    };
    let factor = estimate.mean;
    let mut warnings = Vec::new();
    if fitted.is_some() && by_results.is_none() {
        warnings.push(
            "the results suit no scale of one of the evaluations: its values say nothing about \
             them, or the opposite; the factor is the ratio of the sizes"
                .to_string(),
        );
    }
    let size = spread.size.mean;
    if by == By::Results && differ(factor, size) {
        warnings.push(format!(
            "the factor by results is {factor:.3}, that of the sizes {size:.3}: the evaluations \
             differ in shape and not only in units"
        ));
    }
    if differ(spread.slope, factor) {
        warnings.push(format!(
            "the slope between the evaluations is {:.3}, the factor {factor:.3}: margins at small \
             values follow the slope near zero and may need another tuning",
            spread.slope
        ));
    }
    Ok(Matched {
        factor,
        interval: estimate.interval,
        by,
        scale_before: scale,
        scale_after: (f64::from(scale) * factor).round().max(1.0) as i32,
        fitted_old: fitted.as_ref().and_then(|fitted| fitted.scales[0]),
        fitted_new: fitted.as_ref().and_then(|fitted| fitted.scales[1]),
        size_ratio: size,
        spread_ratio: spread.deviation,
        slope: spread.slope,
        positions: pairs.old.len(),
        within: spread.within,
        warnings,
    })
}

fn differ(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() > DISAGREEMENT
}

fn check(pairs: &Pairs, scale: i32) -> Result<(), MatchError> {
    let expected = pairs.old.len();
    if expected == 0 {
        return Err(MatchError::NoPositions);
    }
    if scale < 1 {
        return Err(MatchError::Scale(scale));
    }
    let finite: fn(f64) -> bool = f64::is_finite;
    let share: fn(f64) -> bool = |value| (0.0..=1.0).contains(&value);
    let lists = [
        ("the old evaluation", Some(pairs.old), finite, "a finite number"),
        ("the new evaluation", Some(pairs.new), finite, "a finite number"),
        ("the list of results", pairs.results, share, "0 to 1"),
    ];
    for (what, values, valid, wanted) in lists {
        let Some(values) = values else { continue };
        if values.len() != expected {
            return Err(MatchError::Length { what, found: values.len(), expected });
        }
        if let Some(position) = values.iter().position(|value| !valid(*value)) {
            let found = values[position];
            return Err(MatchError::Value { what, found, position, expected: wanted });
        }
    }
    match pairs.groups.len() {
        found if found != expected => {
            Err(MatchError::Length { what: "the list of groups", found, expected })
        }
        _ => Ok(()),
    }
}

/// How large the values are, without results.
struct Spread {
    size: Estimate,
    deviation: Option<f64>,
    slope: f64,
    within: usize,
}

impl Spread {
    fn of(pairs: &Pairs, groups: &Groups) -> Result<Self, MatchError> {
        let near = |i: usize| pairs.old[i].abs() < WITHIN;
        let all = 0..pairs.old.len();
        let places: Vec<usize> = all.clone().filter(|i| near(*i)).collect();
        let within = places.len();
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            places.iter().map(|i| of(pairs.old[*i], pairs.new[*i])).sum()
        };
        for (name, size) in [("old", sum(&|old, _| old.abs())), ("new", sum(&|_, new| new.abs()))] {
            if size == 0.0 {
                return Err(MatchError::Flat(name));
            }
        }
        let mean = |values: &dyn Fn(f64, f64) -> f64| sum(values) / within as f64;
        let [old, new] = [mean(&|old, _| old), mean(&|_, new| new)];
        let squares = [sum(&|o, _| (o - old).powi(2)), sum(&|_, n| (n - new).powi(2))];
        let deviation = (squares[1] > 0.0).then(|| (squares[0] / squares[1]).sqrt());
        let sizes = [pairs.old, pairs.new].map(|values| {
            groups.sums(all.clone().map(|i| if near(i) { values[i].abs() } else { 0.0 }))
        });
        let size = Means::new(groups, &sizes).statistic(|means| means[0] / means[1]);
        let slope = sum(&|old, new| old * new) / sum(&|_, new| new * new);
        Ok(Self { size, deviation, slope, within })
    }
}

/// The scales that suit the results, and their ratio.
struct Fitted {
    /// Old, then new; None where no scale suits.
    scales: [Option<f64>; 2],
    factor: Option<Estimate>,
}

impl Fitted {
    /// The scales without a group are one Newton step of `ln S` from those of all records: fitting
    /// each anew takes a hundred times as long for the same interval.
    fn of(pairs: &Pairs, results: &[f64], groups: &Groups) -> Self {
        let suits = |fit: Fit| fit.scale.filter(|_| !fit.at_border);
        let scales = [pairs.old, pairs.new].map(|cp| suits(fit(cp, results)));
        let [Some(old), Some(new)] = scales else { return Self { scales, factor: None } };
        let mut columns = Vec::with_capacity(4);
        for (cp, scale) in [(pairs.old, old), (pairs.new, new)] {
            let slopes: Vec<[f64; 2]> =
                cp.iter().zip(results).map(|(cp, result)| slopes(cp / scale, *result)).collect();
            for order in 0..2 {
                columns.push(groups.sums(slopes.iter().map(|slopes| slopes[order])));
            }
        }
        let factor = Means::new(groups, &columns).statistic(|means| {
            let [old_step, new_step] = [means[0] / means[1], means[2] / means[3]];
            old / new * (new_step - old_step).exp()
        });
        Self { scales, factor: Some(Estimate { mean: old / new, ..factor }) }
    }
}
