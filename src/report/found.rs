//! Share of moves that evaluations put first (A. Nowatzyk, "Eval Tuning in Deep Thought").

use serde::Serialize;

use super::estimate::Groups;
use super::estimate::{Estimate, Means};
use crate::digits::grouped;

/// Several evaluations on the same moves.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub positions: usize,
    pub groups: usize,
    /// In the order given.
    pub evaluations: Vec<Finder>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Finder {
    pub name: String,
    /// The share of moves that it puts first.
    pub first: Estimate,
}

/// Means of the probabilities that each evaluation puts the moves first.
pub fn found(named: Vec<(String, Vec<f64>)>, groups: &Groups) -> Found {
    let columns: Vec<Vec<f64>> =
        named.iter().map(|(_, firsts)| groups.sums(firsts.iter().copied())).collect();
    let means = Means::new(groups, &columns);
    let finder = |(i, (name, _))| Finder { name, first: means.mean(i) };
    let evaluations = named.into_iter().enumerate().map(finder).collect();
    Found { positions: groups.records(), groups: groups.len(), evaluations }
}

impl Found {
    pub fn text(&self) -> String {
        let [positions, groups] = [self.positions, self.groups].map(|count| grouped(count as u64));
        let mut text = format!("Moves put first, of {positions} in {groups} games:\n");
        for Finder { name, first } in &self.evaluations {
            let interval = first.interval.map_or_else(String::new, |[low, high]| {
                format!(" (95 % interval {:.2} to {:.2})", 100.0 * low, 100.0 * high)
            });
            text += &format!("{:>8.2} %{interval}  {name}\n", 100.0 * first.mean);
        }
        text
    }
}
