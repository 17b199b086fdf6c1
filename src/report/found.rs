//! How often evaluations put the move first that was played, and how far behind others they see it.
//!
//! Source: A. Nowatzyk, "Eval Tuning in Deep Thought", counts the moves that are ranked ahead of a
//! master's, and shows them as a histogram. Moves of the same score share their places, so that an
//! evaluation that says the same of all moves finds what chance does.

use serde::Serialize;

use super::chance;
use super::estimate::{Estimate, Means};
use super::groups::Groups;
use super::text::wrap;
use super::{Align, Table};
use crate::digits::grouped;

/// Where the move that was played stands among the legal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Moves with a higher score.
    pub ahead: u32,
    /// Other moves with the same score.
    pub level: u32,
    /// Legal moves.
    pub of: u32,
}

impl Place {
    /// How probable it is that the move is among the first so many, if chance orders those of the
    /// same score.
    pub fn among_first(&self, count: u32) -> f64 {
        let places = count.saturating_sub(self.ahead).min(self.level + 1);
        f64::from(places) / f64::from(self.level + 1)
    }

    /// The mean of its places, the first is 1.
    pub fn mean(&self) -> f64 {
        f64::from(self.ahead) + 1.0 + f64::from(self.level) / 2.0
    }

    /// The place of a move that chance orders all of.
    fn by_chance(&self) -> Self {
        Self { ahead: 0, level: self.of - 1, of: self.of }
    }
}

/// The last places of the columns of a histogram; behind them is one for all others.
pub const PLACES: [u32; 8] = [1, 2, 3, 4, 5, 10, 15, 20];

/// What one evaluation found.
#[derive(Clone, Debug, Serialize)]
pub struct Finder {
    pub name: String,
    /// The share of moves that it puts first.
    pub first: Estimate,
    /// Among the first three.
    pub three: Estimate,
    /// The mean place.
    pub place: Estimate,
    /// The share of moves at places up to each of [`PLACES`], and beyond them.
    pub histogram: Vec<f64>,
    /// What else could explain a high share; to stand behind "unless".
    pub doubt: Option<String>,
}

/// Several evaluations on the same moves.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    pub positions: usize,
    pub groups: usize,
    /// What the groups are.
    pub noun: &'static str,
    /// The one that puts most moves first comes first.
    pub evaluations: Vec<Finder>,
    pub by_chance: Finder,
    pub sentences: Vec<String>,
}

/// What an evaluation is called, what speaks against it, and the place it gives to each move.
pub struct Ranked {
    pub name: String,
    pub doubt: Option<String>,
    pub places: Vec<Place>,
}

/// Sums up the places that evaluations give to moves, of the same positions in the same order.
///
/// # Panics
/// If there is no evaluation, or no position.
pub fn found(mut ranked: Vec<Ranked>, groups: &Groups, noun: &'static str) -> Found {
    let first = |of: &Ranked| of.places.iter().map(|place| place.among_first(1)).sum::<f64>();
    ranked.sort_by(|one, other| first(other).total_cmp(&first(one)));
    let places = ranked[0].places.iter().map(Place::by_chance).collect();
    ranked.push(Ranked { name: "chance".into(), doubt: None, places });
    let column =
        |of: &Ranked, value: &dyn Fn(&Place) -> f64| groups.sums(of.places.iter().map(value));
    let columns: Vec<Vec<f64>> = ranked
        .iter()
        .flat_map(|of| {
            let first = column(of, &|place| place.among_first(1));
            [first, column(of, &|place| place.among_first(3)), column(of, &Place::mean)]
        })
        .collect();
    let means = Means::new(groups, &columns);
    let mut evaluations: Vec<Finder> = ranked
        .iter()
        .enumerate()
        .map(|(i, of)| Finder {
            name: of.name.clone(),
            first: means.mean(3 * i),
            three: means.mean(3 * i + 1),
            place: means.mean(3 * i + 2),
            histogram: histogram(&of.places),
            doubt: of.doubt.clone(),
        })
        .collect();
    let by_chance = evaluations.pop().expect("it was pushed");
    let between: Vec<Estimate> =
        (1..evaluations.len()).map(|i| means.difference(3 * (i - 1), 3 * i)).collect();
    let mut found = Found {
        positions: groups.records(),
        groups: groups.len(),
        noun,
        evaluations,
        by_chance,
        sentences: Vec::new(),
    };
    found.sentences = found.conclude(&between);
    found
}

/// The first and the last place of each column of a histogram; that of all others has no last.
pub(super) fn columns() -> impl Iterator<Item = (u32, Option<u32>)> {
    let behind = PLACES.map(|last| last + 1);
    [1].into_iter().chain(behind).zip(PLACES.map(Some).into_iter().chain([None]))
}

/// What stands above the columns of a histogram.
pub(super) fn titles() -> Vec<String> {
    let title = |(first, last): (u32, Option<u32>)| match last {
        Some(last) if last == first => last.to_string(),
        Some(last) => format!("-{last}"),
        None => format!("{first}-"),
    };
    columns().map(title).collect()
}

fn histogram(places: &[Place]) -> Vec<f64> {
    let up_to = |last: u32| places.iter().map(|place| place.among_first(last)).sum::<f64>();
    let mut sums = vec![0.0];
    sums.extend(PLACES.map(up_to));
    sums.push(places.len() as f64);
    sums.windows(2).map(|two| (two[1] - two[0]) / places.len() as f64).collect()
}

impl Found {
    /// Whether a neighbour in the ranking finds more than the next one.
    fn conclude(&self, between: &[Estimate]) -> Vec<String> {
        let ps: Vec<f64> = between.iter().filter_map(|it| it.p).collect();
        let limit = chance::holm(&ps, 0.05);
        let sentence = |(difference, two): (&Estimate, &[Finder])| {
            let [Finder { name: better, .. }, Finder { name: other, doubt, .. }] = two else {
                unreachable!("two neighbours")
            };
            let doubt = two[0].doubt.as_ref().or(doubt.as_ref());
            let stands = difference.tells()
                && difference.p.is_some_and(|p| limit.is_some_and(|limit| p <= limit));
            let interval = difference.interval.map_or_else(
                || "no interval".to_string(),
                |[low, high]| format!("95 % interval {:+.2} to {:+.2}", 100.0 * low, 100.0 * high),
            );
            let unless = match (stands, doubt) {
                (true, Some(doubt)) => format!(", unless {doubt}"),
                _ => String::new(),
            };
            let verdict = match stands {
                true => format!("{better} finds more of the moves than {other}{unless}"),
                false if difference.interval_is_lower_bound => {
                    format!(
                        "whether {better} or {other} finds more is open, since games are unknown"
                    )
                }
                false => format!("whether {better} or {other} finds more these moves cannot tell"),
            };
            let by = 100.0 * difference.mean;
            format!("{verdict}: {by:+.2} points of those put first ({interval}).")
        };
        between.iter().zip(self.evaluations.windows(2)).map(sentence).collect()
    }

    /// Tables and sentences, as they are printed.
    pub fn text(&self) -> String {
        let [positions, groups] = [self.positions, self.groups].map(|count| grouped(count as u64));
        let mut text = String::new();
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        let noun = self.noun;
        text += &format!("\n{}\n", self.table());
        let basis = format!(
            "Measured on {positions} moves of {groups} {noun}: each legal move by the score of its \
             quiescence search. Moves of the same score share their places."
        );
        wrap(&basis, &mut text);
        text + &format!("\nShare of the moves at each place, in per cent:\n\n{}", self.places())
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("evaluation", Align::Left),
            ("put first", Align::Right),
            ("95 % interval", Align::Right),
            ("in the first 3", Align::Right),
            ("mean place", Align::Right),
        ]);
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        for one in self.evaluations.iter().chain([&self.by_chance]) {
            let interval = one.first.interval.map_or_else(
                || "-".to_string(),
                |[low, high]| format!("{} to {}", percent(low), percent(high)),
            );
            let (first, three) = (percent(one.first.mean), percent(one.three.mean));
            table.row([one.name.clone(), first, interval, three, format!("{:.2}", one.place.mean)]);
        }
        table
    }

    /// The histogram of places.
    fn places(&self) -> Table {
        let titles = titles();
        let mut columns = vec![("evaluation", Align::Left)];
        columns.extend(titles.iter().map(|title| (&title[..], Align::Right)));
        let mut table = Table::new(&columns);
        for one in self.evaluations.iter().chain([&self.by_chance]) {
            let shares = one.histogram.iter().map(|share| format!("{:.1}", 100.0 * share));
            table.row([one.name.clone()].into_iter().chain(shares));
        }
        table
    }
}
