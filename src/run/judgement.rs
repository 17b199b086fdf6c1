//! What a run found out about itself.

use serde::{Deserialize, Serialize};

use crate::data::doctor::size::{Amount, Verdict as Enough};
use crate::report::overfit::{Overfitting, Verdict};
use crate::report::sanity::Sanity;

/// What `judgement.json` in the folder of a run holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// None where nothing validates, and where moves are learnt.
    pub overfitting: Option<Overfitting>,
    /// None of nets.
    #[serde(default)]
    pub terms: Option<Sanity>,
    /// None where the run was judged before this was kept, and where moves are learnt.
    #[serde(default)]
    pub data: Option<Weighed>,
}

/// The model of a run and what it learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// Weights that training moves.
    pub weights: u64,
    /// The share of results in the target at the end of the run.
    pub wdl: f64,
    pub amount: Amount,
}

impl Judgement {
    /// Whether more data would help, as far as one run can tell; none where it kept no count.
    pub fn more_data(&self) -> Option<String> {
        let Weighed { weights, wdl, amount } = self.data?;
        let apart = self.overfitting.as_ref().map(|it| it.verdict);
        let answer = match (apart, amount.verdict(weights, wdl)) {
            (Some(Verdict::Overfitted | Verdict::Slightly), _) => {
                "Probably: a part of what it learnt does not hold on other games."
            }
            (_, Enough::Thin) => "Probably: the model is large for its data.",
            (_, Enough::Unknown) => {
                "Perhaps: that depends on how many games the positions come from, which is unknown."
            }
            (Some(Verdict::None), Enough::Enough) => {
                "Probably not much: there is no sign of overfitting, and the data are many for the \
                 model. A larger model may gain more."
            }
            (_, Enough::Enough) => {
                "That cannot be told: the data are many for the model, but whether it has \
                 overfitted is not known."
            }
        };
        Some(format!("{answer} By rule of thumb, {}.", amount.says(weights, wdl)))
    }
}
