//! The generations of a climb, rated together.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::folder::ClimbFolder;
use super::generation::{Generation, Met};
use super::page;
use crate::digits::grouped;
use crate::output;
use crate::report::elo::{Anchor, Elo, Meeting, Verdict, ratings};
use crate::report::{Align, Table};

/// What a climb has come to.
pub struct Ladder {
    /// The name of the start.
    start: String,
    generations: Vec<Generation>,
    /// Above the start, of all that have met, rated together: the start, then the generations.
    elo: Vec<Elo>,
    /// On each two of them.
    verdicts: Vec<Verdict>,
}

/// A generation as the table, the page and other programs are told of it.
pub struct Rung<'a> {
    pub number: usize,
    pub generation: &'a Generation,
    /// Above the start, from all matches.
    pub elo: Elo,
    /// From the match with the best so far alone.
    pub against_best: Elo,
}

impl Ladder {
    pub(super) fn new(start: String) -> Self {
        Self { start, generations: Vec::new(), elo: vec![Elo::UNKNOWN], verdicts: Vec::new() }
    }

    /// Adds a generation that is done, and rates all anew.
    pub(super) fn add(&mut self, generation: Generation) -> Result<()> {
        self.generations.push(generation);
        let names: Vec<String> = (0..=self.generations.len()).map(|it| self.name(it)).collect();
        let met = |number: usize, other: u64, met: Option<Met>| {
            met.map(|Met { pairs, .. }| Meeting { players: [number, other as usize], pairs })
        };
        let of = |(place, it): (usize, &Generation)| {
            [met(place + 1, it.best, it.against_best), met(place + 1, 0, it.against_start)]
        };
        let meetings: Vec<Meeting> =
            self.generations.iter().enumerate().flat_map(of).flatten().collect();
        let rated = ratings(&names, &meetings, Anchor::Player(0))?;
        self.elo = vec![Elo::UNKNOWN; names.len()];
        rated.players.iter().for_each(|player| self.elo[player.place] = player.elo);
        self.verdicts = rated.verdicts;
        Ok(())
    }

    fn name(&self, number: usize) -> String {
        if number == 0 { self.start.clone() } else { format!("generation {number}") }
    }

    /// The generation that is the best so far; 0 is the start.
    pub fn best(&self) -> u64 {
        let kept = self.generations.iter().rposition(Generation::is_kept);
        kept.map_or(0, |place| place as u64 + 1)
    }

    /// How the last generation fared, in a line.
    pub(super) fn news(&self) -> String {
        let Some(Rung { number, generation, elo, against_best }) = self.rungs().last() else {
            return String::new();
        };
        let kept = if generation.is_kept() { "kept" } else { "dropped" };
        let best = self.name(generation.best as usize);
        let above = match (generation.best, elo) {
            (0, _) => String::new(),
            (_, elo) => format!("; above {}: {elo}", self.start),
        };
        format!("generation {number} is {kept}: Elo above {best} {against_best}{above}")
    }

    pub(super) fn rungs(&self) -> impl Iterator<Item = Rung<'_>> {
        self.generations.iter().enumerate().map(|(place, generation)| Rung {
            number: place + 1,
            generation,
            elo: self.elo[place + 1],
            against_best: generation.against_best.map_or(Elo::UNKNOWN, |met| met.pairs.elo()),
        })
    }

    /// A row a generation.
    pub fn table(&self) -> Table {
        let above = format!("above {}", self.start);
        let columns = [
            ("generation", Align::Right),
            ("positions", Align::Right),
            ("loss", Align::Right),
            ("met", Align::Right),
            ("Elo", Align::Right),
            ("95 % interval", Align::Right),
            ("", Align::Left),
            (&above[..], Align::Right),
            ("95 % interval", Align::Right),
            ("minutes", Align::Right),
        ];
        let mut table = Table::new(&columns).width(160);
        let value = |elo: Elo| elo.value.map_or("-".to_string(), |elo| format!("{elo:+.0}"));
        for Rung { number, generation, elo, against_best } in self.rungs() {
            let training = generation.training;
            let loss = training.and_then(|it| it.validation_loss);
            table.row([
                number.to_string(),
                training.map_or("-".into(), |it| grouped(it.positions)),
                loss.map_or("-".into(), |loss| format!("{loss:.6}")),
                if generation.best == 0 { "start".into() } else { generation.best.to_string() },
                value(against_best),
                between(against_best),
                if generation.is_kept() { "kept" } else { "dropped" }.to_string(),
                value(elo),
                between(elo),
                format!("{:.1}", generation.seconds().iter().sum::<f64>() / 60.0),
            ]);
        }
        table
    }

    /// What was kept, and what is known of it.
    pub fn sentence(&self) -> String {
        let best = self.best() as usize;
        if best == 0 {
            return format!(
                "No generation scored more than a half against {}: nothing is kept. More games a \
                 generation (climb.games) help most.",
                self.start
            );
        }
        let [name, start] = [best, 0].map(|number| self.name(number));
        let of = |it: &&Verdict| {
            [&it.stronger, &it.weaker].map(|it| *it == name || *it == start) == [true; 2]
        };
        let open = self.verdicts.iter().find(of).and_then(|it| it.why.as_ref());
        let open = open.map_or(String::new(), |why| {
            format!(" Whether it is the stronger of the two these games cannot tell: {why}.")
        });
        format!("The best is {name}. Its Elo above {start}: {}.{open}", self.elo[best])
    }

    /// Writes the table for other programs, and the page.
    pub(super) fn write(&self, folder: &ClimbFolder) -> Result<()> {
        let csv = folder.path().join(ClimbFolder::TABLE);
        output::write(&csv, self.csv().as_bytes())?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy();
        let page = page::page(&name, self, &self.start);
        let path = folder.path().join(ClimbFolder::REPORT);
        output::write(&path, page.as_bytes()).with_context(|| path.display().to_string())
    }

    fn csv(&self) -> String {
        let mut text =
            "generation,positions,validation_loss,met,elo_best,elo_best_low,elo_best_high,\
                        elo_start,elo_start_low,elo_start_high,kept,games_seconds,\
                        training_seconds,match_seconds\n"
                .to_string();
        let cell = |value: Option<f64>| value.map_or(String::new(), |it| format!("{it:.1}"));
        for Rung { number, generation, elo, against_best } in self.rungs() {
            let training = generation.training;
            let positions = training.map_or(0, |it| it.positions);
            let loss = training.and_then(|it| it.validation_loss);
            let loss = loss.map_or(String::new(), |it| it.to_string());
            let elos = [against_best, elo]
                .map(|Elo { value, low, high }| [value, low, high].map(cell).join(","))
                .join(",");
            let seconds = generation.seconds().map(|it| format!("{it:.1}")).join(",");
            let (best, kept) = (generation.best, generation.is_kept());
            let _ = writeln!(text, "{number},{positions},{loss},{best},{elos},{kept},{seconds}");
        }
        text
    }
}

/// An interval without decimals, which these matches do not bear.
fn between(elo: Elo) -> String {
    match (elo.low, elo.high) {
        (Some(low), Some(high)) => format!("{low:+.0} to {high:+.0}"),
        _ => elo.between(),
    }
}
