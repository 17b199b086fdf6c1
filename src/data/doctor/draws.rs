//! The scores at which games are won and no longer drawn.

use serde::Serialize;

use crate::loss::sigmoid;

/// A win is expected with the probability `sigmoid((score - offset) / scale)`, a loss with
/// `sigmoid((-score - offset) / scale)`, a draw with the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Draws {
    /// Centipawns, above 0: where a win is as likely as not.
    pub offset: f64,
    /// Centipawns a unit of logit.
    pub scale: f64,
    /// Mean squared error of the expected results against those that came.
    pub loss: f64,
}

/// Newton's steps take a dozen; what needs more has no end.
const STEPS: usize = 100;

/// A step that changes the logarithm of the likelihood of a position by less is the last.
const LEAST: f64 = 1e-12;

/// The last step is shorter than this share of where it leads: results that scores tell all of are
/// the more likely the steeper the curve, and each step goes on by a few hundredths.
const SHORT: f64 = 1e-3;

/// The offset and scale that make the results most likely (proportional odds; P. McCullagh,
/// "Regression models for ordinal data", 1980), for scores in centipawns and results of 0, 0.5 and 1;
/// others have no part in it, but in the loss. None where the results have no best: where nobody
/// draws or nobody wins, where higher scores do not win more often, or where they tell all.
///
/// With `a = s / scale - offset / scale` and `b = -s / scale - offset / scale` a draw has the
/// probability `1 - sigmoid(a) - sigmoid(b)`, whose logarithm is
/// `ln(1 - e^(a + b)) - ln(1 + e^a) - ln(1 + e^b)`: all of it is concave in `1 / scale` and
/// `offset / scale`.
pub fn fit(scores: &[f64], results: &[f64]) -> Option<Draws> {
    let some = |of: &dyn Fn(f64) -> bool| results.iter().any(|result| of(*result));
    if !(some(&|it| it == 0.5) && some(&|it| it == 0.0 || it == 1.0)) {
        return None;
    }
    let square = scores.iter().map(|score| score * score).sum::<f64>() / scores.len() as f64;
    let mut at = [1.0 / square.sqrt().max(1.0), 0.5];
    let [mut likelihood, mut slopes @ ..] = sums(scores, results, at);
    for _ in 0..STEPS {
        let [rate, offset, rates, both, offsets] = slopes;
        let determinant = rates * offsets - both * both;
        if determinant.is_nan() || determinant <= 0.0 {
            return None;
        }
        let step = [
            (both * offset - offsets * rate) / determinant,
            (both * rate - rates * offset) / determinant,
        ];
        let gain = step[0] * rate + step[1] * offset;
        if gain < LEAST {
            let is_short = |place: usize| step[place].abs() < SHORT * at[place];
            let [scale, offset] = [1.0 / at[0], at[1] / at[0]];
            let loss = loss(scores, results, offset, scale);
            return (is_short(0) && is_short(1)).then_some(Draws { offset, scale, loss });
        }
        // The likelihood is no parabola, and an offset has to be above 0.
        let mut share = 1.0;
        loop {
            let there = [at[0] + share * step[0], at[1] + share * step[1]];
            if there.iter().all(|it| *it > 0.0) {
                let [found, of_there @ ..] = sums(scores, results, there);
                if found > likelihood {
                    (at, likelihood, slopes) = (there, found, of_there);
                    break;
                }
            }
            share *= 0.5;
            if share < LEAST {
                return None;
            }
        }
    }
    None
}

/// Mean squared error of the expected results.
pub fn loss(scores: &[f64], results: &[f64], offset: f64, scale: f64) -> f64 {
    let error = |(score, result): (&f64, &f64)| {
        let [win, loss] = [*score, -score].map(|score| sigmoid((score - offset) / scale));
        (0.5 * (1.0 + win - loss) - result).powi(2)
    };
    scores.iter().zip(results).map(error).sum::<f64>() / scores.len().min(results.len()) as f64
}

/// The mean over the positions of the logarithm of the likelihood, its derivatives by `1 / scale`
/// and `offset / scale`, and the second ones: by the first, by both, by the second.
pub fn sums(scores: &[f64], results: &[f64], [rate, offset]: [f64; 2]) -> [f64; 6] {
    // What all draws have in common: ln(1 - e^(-2 offset)).
    let (both, none) = ((-2.0 * offset).exp(), -(-2.0 * offset).exp_m1());
    let common = [none, 2.0 * both / none, -4.0 * both / none.powi(2)];
    let mut sums = [0.0; 6];
    for (&score, &result) in scores.iter().zip(results) {
        let [won, lost, drawn] = [1.0, 0.0, 0.5].map(|it| f64::from(result == it));
        for (sign, sure, not) in [(1.0, won, lost), (-1.0, lost, won)] {
            if not == 1.0 || won + lost + drawn == 0.0 {
                continue;
            }
            let logit = sign * score * rate - offset;
            let expected = sigmoid(logit);
            let (slope, bend) = (sure - expected, -expected * (1.0 - expected));
            let along = sign * score;
            sums[0] += sure * logit - logit.max(0.0) - (-logit.abs()).exp().ln_1p();
            sums[1] += slope * along;
            sums[2] -= slope;
            sums[3] += bend * along * along;
            sums[4] -= bend * along;
            sums[5] += bend;
        }
        if drawn == 1.0 {
            sums[0] += common[0].ln();
            sums[2] += common[1];
            sums[5] += common[2];
        }
    }
    sums.map(|sum| sum / scores.len().min(results.len()) as f64)
}
