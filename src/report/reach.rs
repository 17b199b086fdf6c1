//! How much of the way from one evaluation to another a third one goes, in loss.
//!
//! From material to the score of a search is the way that a static evaluation can hope to go a
//! part of: 0 is no better than counting pieces, 1 is as good as the search that made the data.

use serde::Serialize;

use super::estimate::{Estimate, Means};
use super::groups::Groups;
use super::text::least;

/// One evaluation on that way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    pub name: String,
    /// (loss of `from` less its loss) / (loss of `from` less loss of `to`).
    pub share: Estimate,
}

/// The reach of all others than `from` and `to`, by their numbers; `losses` has one squared error
/// a position for each. Nothing where these data do not show that `to` is better than `from`.
pub(super) fn reaches(
    names: &[String],
    losses: &[Vec<f64>],
    [from, to]: [usize; 2],
    groups: &Groups,
) -> Vec<Reach> {
    let columns: Vec<Vec<f64>> =
        losses.iter().map(|list| groups.sums(list.iter().copied())).collect();
    let means = Means::new(groups, &columns);
    let whole = means.difference(from, to);
    if whole.contains_zero() || whole.mean < 0.0 {
        return Vec::new();
    }
    let reach = |i: usize| Reach {
        name: names[i].clone(),
        share: means.statistic(|mean| (mean[from] - mean[i]) / (mean[from] - mean[to])),
    };
    (0..names.len()).filter(|i| ![from, to].contains(i)).map(reach).collect()
}

impl Reach {
    /// `43 % (95 % interval 38 to 48 %)`.
    pub fn percent(&self) -> String {
        let percent = |share: f64| format!("{:.0}", (100.0 * share).round() + 0.0);
        let mean = percent(self.share.mean);
        match self.share.interval {
            Some([low, high]) => {
                let least = least(&self.share);
                format!("{mean} % (95 % interval {least}{} to {} %)", percent(low), percent(high))
            }
            None => format!("{mean} %"),
        }
    }
}
