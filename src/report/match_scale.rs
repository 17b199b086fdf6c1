//! The SCALE at which a new evaluation speaks the centipawns of an old one.
//!
//! A search has margins in centipawns, tuned for the evaluation that it had. They keep their meaning
//! where equal centipawns mean equal chances: each evaluation has the scale S that predicts the
//! results of the same positions best, see [`fit`](super::fit::fit), and the new values are to be
//! multiplied by `S_old / S_new`.

use super::estimate::Means;
use super::fit::{fit, slopes};
use super::groups::Groups;

/// Two evaluations of the same positions, one entry a position.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// Centipawns for the side to move.
    pub old: &'a [f64],
    /// The same, at the scale before.
    pub new: &'a [f64],
    /// 0 to 1, seen by the side to move.
    pub results: &'a [f64],
    /// Equal for positions of one game.
    pub groups: &'a [u64],
}

/// The factor between two evaluations.
#[derive(Clone, Debug, PartialEq)]
pub struct Matched {
    /// The new values, and so their SCALE, are to be multiplied by it.
    pub factor: f64,
    /// 95 % interval; None from a single game.
    pub interval: Option<[f64; 2]>,
    pub scale_before: i32,
    /// The nearest whole number, at least 1.
    pub scale_after: i32,
    /// The scales that suit the results best, old and new.
    pub fitted: [f64; 2],
}

/// The results suit no scale of one of the evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scale of the {0} evaluation suits the results: its values say nothing about them, or the \
     opposite; take other positions"
)]
pub struct MatchError(&'static str);

/// Finds the factor between two evaluations. `scale` is the SCALE of the new values.
///
/// # Errors
/// Where no scale of one of them suits the results, as without positions.
pub fn match_scale(pairs: &Pairs, scale: i32) -> Result<Matched, MatchError> {
    let groups = Groups::new(pairs.groups.iter().copied());
    let mut fitted = [0.0; 2];
    let mut columns = Vec::with_capacity(4);
    for (i, (name, cp)) in [("old", pairs.old), ("new", pairs.new)].into_iter().enumerate() {
        let found = fit(cp, pairs.results);
        fitted[i] = found.scale.filter(|_| !found.at_border).ok_or(MatchError(name))?;
        let slopes: Vec<[f64; 2]> = cp
            .iter()
            .zip(pairs.results)
            .map(|(cp, result)| slopes(cp / fitted[i], *result))
            .collect();
        for order in 0..2 {
            columns.push(groups.sums(slopes.iter().map(|slopes| slopes[order])));
        }
    }
    let factor = fitted[0] / fitted[1];
    // The scales without a group are one Newton step of `ln S` from those of all records: fitting
    // each again takes a hundred times as long for the same interval.
    let estimate = Means::new(&groups, &columns).statistic(|means| {
        let [old_step, new_step] = [means[0] / means[1], means[2] / means[3]];
        factor * (new_step - old_step).exp()
    });
    let scale_after = (f64::from(scale) * factor).round().max(1.0) as i32;
    Ok(Matched { factor, interval: estimate.interval, scale_before: scale, scale_after, fitted })
}
