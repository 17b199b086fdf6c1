//! The SCALE at which a new evaluation speaks the centipawns of an old one.
//!
//! A search has margins in centipawns, tuned for the evaluation that it had. The factor that brings
//! new values to the old units is, on the same positions:
//!
//! - by results: equal centipawns mean equal chances. Each evaluation has the scale S that predicts
//!   the results best, see [`fit`](super::fit::fit); the factor is `S_old / S_new`.
//! - by size, without results: the ratio of the means of `|cp|`, where the old is within 1,000.
//!
//! An evaluation that errs more also has a larger S: better and worse ones match at equal chances,
//! not at equal sizes.

use serde::Serialize;

use super::estimate::{Estimate, Means};
use super::fit::{Fit, fit, slopes};
use super::groups::Groups;

/// Positions count for sizes where the old value is below this: beyond it games are decided, and
/// evaluations go different ways.
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

/// The origin of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    Results,
    Size,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matched {
    /// The new values, and so their SCALE, are to be multiplied by it.
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
    pub warnings: Vec<String>,
}

/// Why scales cannot be matched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatchError {
    #[error("no positions to match scales on")]
    NoPositions,
    #[error(
        "one of the evaluations is 0 wherever the old one is below 1,000 cp; take other positions"
    )]
    Flat,
}

/// Finds the factor between two evaluations, by the results if there are any, else by size.
///
/// `scale` is the SCALE that the new values were computed with.
///
/// # Errors
/// Without positions, or where an evaluation is zero in all of them.
pub fn match_scale(pairs: &Pairs, scale: i32) -> Result<Matched, MatchError> {
    let Pairs { old, new, results, groups } = *pairs;
    if old.is_empty() {
        return Err(MatchError::NoPositions);
    }
    let groups = Groups::new(groups.iter().copied());
    let sizes = [old, new].map(|values| {
        let size = |(old, value): (&f64, &f64)| if old.abs() < WITHIN { value.abs() } else { 0.0 };
        groups.sums(old.iter().zip(values).map(size))
    });
    if sizes.iter().any(|sums| sums.iter().sum::<f64>() == 0.0) {
        return Err(MatchError::Flat);
    }
    let size = Means::new(&groups, &sizes).statistic(|means| means[0] / means[1]);
    let suits = |fit: Fit| fit.scale.filter(|_| !fit.at_border);
    let scales = [old, new].map(|cp| results.and_then(|results| suits(fit(cp, results))));
    let mut warnings = Vec::new();
    let (by, factor) = match (scales, results) {
        ([Some(first), Some(second)], Some(results)) => {
            (By::Results, by_results(pairs, [first, second], results, &groups))
        }
        (_, None) => (By::Size, size),
        (_, Some(_)) => {
            warnings.push("the results suit no scale; the factor is that of the sizes".to_string());
            (By::Size, size)
        }
    };
    if (factor.mean / size.mean - 1.0).abs() > DISAGREEMENT {
        warnings.push(format!(
            "the factor by results is {:.3}, that of the sizes {:.3}: the evaluations differ in \
             shape and not only in units",
            factor.mean, size.mean
        ));
    }
    Ok(Matched {
        factor: factor.mean,
        interval: factor.interval,
        by,
        scale_before: scale,
        scale_after: (f64::from(scale) * factor.mean).round().max(1.0) as i32,
        fitted_old: scales[0],
        fitted_new: scales[1],
        size_ratio: size.mean,
        warnings,
    })
}

/// The ratio of the scales. Those without a group are one Newton step of `ln S` from those of all
/// records: fitting each again takes a hundred times as long for the same interval.
fn by_results(pairs: &Pairs, scales: [f64; 2], results: &[f64], groups: &Groups) -> Estimate {
    let mut columns = Vec::with_capacity(4);
    for (cp, scale) in [pairs.old, pairs.new].into_iter().zip(scales) {
        let slopes: Vec<[f64; 2]> =
            cp.iter().zip(results).map(|(cp, result)| slopes(cp / scale, *result)).collect();
        for order in 0..2 {
            columns.push(groups.sums(slopes.iter().map(|slopes| slopes[order])));
        }
    }
    let ratio = scales[0] / scales[1];
    let factor = Means::new(groups, &columns).statistic(|means| {
        let [old_step, new_step] = [means[0] / means[1], means[2] / means[3]];
        ratio * (new_step - old_step).exp()
    });
    Estimate { mean: ratio, ..factor }
}
