//! A row of `moves.csv`: how many of some moves that were played the weights of a step find.

use super::found::{Finder, Found, PLACES, columns};
use crate::digits::grouped;

/// What the weights of one step find.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundAt {
    pub step: u64,
    /// Whose games: `training` or `validation`.
    pub games_of: String,
    pub moves: u64,
    pub games: u64,
    /// The share of moves that is put first.
    pub first: f64,
    /// Its 95 % interval; none from fewer than two games.
    pub interval: Option<[f64; 2]>,
    /// Among the first three.
    pub three: f64,
    /// The first is 1.
    pub place: f64,
    /// As [`Finder::histogram`] has it.
    pub histogram: Vec<f64>,
}

impl FoundAt {
    /// What the first of the evaluations has found.
    pub fn new(step: u64, games_of: &str, found: &Found) -> Self {
        let Finder { first, three, place, histogram, .. } = &found.evaluations[0];
        Self {
            step,
            games_of: games_of.into(),
            moves: found.positions as u64,
            games: found.groups as u64,
            first: first.mean,
            interval: first.interval.map(|ends| ends.map(|end| end.clamp(0.0, 1.0))),
            three: three.mean,
            place: place.mean,
            histogram: histogram.clone(),
        }
    }

    /// The names of the columns, as the first line of a file.
    pub fn header() -> String {
        let start = "step,games_of,moves,games,first,first_low,first_high,first_3,mean_place";
        let column = |(first, last): (u32, Option<u32>)| match last {
            Some(last) if last == first => format!(",place_{last}"),
            Some(last) => format!(",places_{first}_to_{last}"),
            None => format!(",places_from_{first}\n"),
        };
        columns().map(column).fold(start.to_string(), |header, column| header + &column)
    }

    /// As a line of the file.
    pub fn line(&self) -> String {
        let Self { step, games_of, moves, games, first, interval, three, place, histogram } = self;
        let [low, high] = interval
            .map_or([String::new(), String::new()], |ends| ends.map(|end| format!("{end:.5}")));
        let mut line = format!(
            "{step},{games_of},{moves},{games},{first:.5},{low},{high},{three:.5},{place:.3}"
        );
        histogram.iter().for_each(|share| line += &format!(",{share:.5}"));
        line + "\n"
    }

    /// Reads a line without its end; none where it is no row.
    pub fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |place: usize| cells.get(place)?.parse::<f64>().ok();
        let count = |place: usize| cells.get(place)?.parse::<u64>().ok();
        let histogram: Vec<f64> = (9..cells.len()).map(number).collect::<Option<_>>()?;
        (histogram.len() == PLACES.len() + 1).then_some(())?;
        Some(Self {
            step: count(0)?,
            games_of: cells[1].to_string(),
            moves: count(2)?,
            games: count(3)?,
            first: number(4)?,
            interval: number(5).zip(number(6)).map(|(low, high)| [low, high]),
            three: number(7)?,
            place: number(8)?,
            histogram,
        })
    }

    /// In words.
    pub fn sentence(&self) -> String {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let interval = self.interval.map_or(String::new(), |[low, high]| {
            format!(" ({} to {})", percent(low), percent(high))
        });
        format!(
            "step {}: of {} {} moves {} %{interval} are put first, {} % among the first 3; mean \
             place {:.2}",
            self.step,
            grouped(self.moves),
            self.games_of,
            percent(self.first),
            percent(self.three),
            self.place
        )
    }
}
