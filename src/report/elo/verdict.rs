//! Which of two players may be called stronger.
//!
//! As among evaluations a winner is named where nothing speaks against it, and where the difference
//! stands after Holm's correction for all that are looked at together: neighbours in a ranking are
//! looked at together; for all others, all. So among all verdicts on equal players any names a
//! winner in 5 % of matches at most. That holds for matches whose length was fixed beforehand; one
//! that stopped when it looked good is a matter of [`Sprt`](super::Sprt).

use serde::Serialize;

use super::{Elo, Pairs};
use crate::digits::counted;
use crate::report::chance;

/// From fewer pairs than this no winner is named.
pub const FEW_PAIRS: u64 = 30;

/// The chance that any verdict is false.
const LEVEL: f64 = 0.05;

/// Two players, the one that is ahead first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    pub stronger: String,
    pub weaker: String,
    /// Logistic Elo of the stronger above the weaker.
    pub difference: Elo,
    /// How often equal players would be as far apart; None where nothing is known.
    pub p: Option<f64>,
    /// Whether the stronger may be called so.
    pub decided: bool,
    /// Why it is not decided.
    pub why: Option<String>,
}

impl Verdict {
    /// On a match of two players whose pairs are seen by the first.
    pub fn of_match(names: [&str; 2], pairs: &Pairs) -> Self {
        let ahead = pairs.score().is_none_or(|score| score >= 0.5);
        let [stronger, weaker] = if ahead { names } else { [names[1], names[0]] };
        let pairs = if ahead { *pairs } else { pairs.turned() };
        let mut verdict = Self::open(stronger, weaker, pairs.elo(), pairs.p());
        verdict.why = few(pairs.len());
        decide(std::slice::from_mut(&mut verdict), &[0]);
        verdict
    }

    /// Who is ahead, and by how much; nothing is decided yet.
    pub(super) fn open(stronger: &str, weaker: &str, difference: Elo, p: Option<f64>) -> Self {
        let [stronger, weaker] = [stronger, weaker].map(str::to_string);
        Self { stronger, weaker, difference, p, decided: false, why: None }
    }

    /// Who is stronger and by how much, or why these games cannot tell.
    pub fn sentence(&self) -> String {
        let Self { stronger, weaker, difference, .. } = self;
        let lead = match *difference {
            Elo::UNKNOWN => format!("{stronger} against {weaker}"),
            Elo { value: Some(value), .. } if value.abs() < 0.05 => {
                format!(
                    "{stronger} and {weaker} are level (95 % interval {})",
                    difference.between()
                )
            }
            _ => format!("{stronger}'s Elo is higher than {weaker}'s: {difference}"),
        };
        match &self.why {
            Some(why) => format!("{lead}; {why}: these games cannot tell."),
            None => format!("{lead}: {stronger} is stronger."),
        }
    }
}

/// Why so many pairs name no winner, if so.
pub(super) fn few(pairs: u64) -> Option<String> {
    match pairs {
        0 => Some("no pairs were played".to_string()),
        FEW_PAIRS.. => None,
        _ => Some(format!("{}, fewer than {FEW_PAIRS}", counted(pairs, "pair"))),
    }
}

/// Decides every verdict, or says why it stays open. What `why` says already speaks against it
/// whatever the numbers are; `neighbours` are the places that are looked at together.
pub(super) fn decide(verdicts: &mut [Verdict], neighbours: &[usize]) {
    let p = |place: usize| match verdicts[place].why {
        None => verdicts[place].p,
        Some(_) => None,
    };
    let of_neighbours: Vec<f64> = neighbours.iter().filter_map(|place| p(*place)).collect();
    let of_all: Vec<f64> = (0..verdicts.len()).filter_map(p).collect();
    for (place, verdict) in verdicts.iter_mut().enumerate() {
        let family = if neighbours.contains(&place) { &of_neighbours } else { &of_all };
        let limit = chance::holm(family, LEVEL);
        let stands = verdict.p.is_some_and(|p| limit.is_some_and(|limit| p <= limit));
        let open = || match family.len() {
            _ if verdict.difference.contains_zero() => {
                Some("the interval contains zero".to_string())
            }
            _ if stands => None,
            0 | 1 => Some("so few pairs may be so by chance".to_string()),
            count => Some(format!(
                "the interval is that of one difference and leaves zero out, but among {count} \
                 such a one may be chance (Holm)"
            )),
        };
        verdict.why = verdict.why.take().or_else(open);
        verdict.decided = verdict.why.is_none();
    }
}
