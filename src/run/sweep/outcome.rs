//! What a sweep has found.

use anyhow::Result;
use serde::Serialize;

use super::measure::{Games, Yardstick};
use super::member::{Member, bare};
use super::page;
use super::rungs::Rung;
use super::{Sweep, SweepFolder};
use crate::digits::{grouped, percent, share};
use crate::output;
use crate::report::seeds::{Apart, Contender, Contest, Spread, contest};
use crate::report::{Align, Table};

/// A sweep with what became of its members.
#[derive(Serialize)]
pub struct Outcome {
    /// What the axes are called.
    pub titles: Vec<String>,
    pub yardstick: Yardstick,
    pub seeds: u64,
    pub rungs: Vec<Rung>,
    /// Positions trained on, repeats counted, and those of training all members in full.
    pub positions: [u64; 2],
    /// Those who came furthest first, then by their loss there.
    pub members: Vec<Stood>,
    pub cuts: Vec<Cut>,
    /// On the test games, against their results: the chosen one and the others of the last rung.
    pub results: Contest,
    /// The same against the target, where all learn the same.
    pub target: Option<Contest>,
    pub sentences: Vec<String>,
}

/// What became of a member.
#[derive(Clone, Serialize)]
pub struct Stood {
    /// Of its folders, before the seed.
    pub name: String,
    pub label: String,
    pub values: Vec<String>,
    /// Its losses on the validation games, rung after rung.
    pub losses: Vec<Spread>,
    /// The last rung that it was trained in, from 1 on.
    pub rung: usize,
    /// Why it has no loss there.
    pub failure: Option<String>,
}

/// Where those who went on parted from those who did not.
#[derive(Clone, Serialize)]
pub struct Cut {
    /// One in so many of the whole length.
    pub part: u64,
    /// The last who went on, and the first who stayed behind.
    pub goes_on: String,
    pub stays: String,
    /// Between their losses.
    pub apart: f64,
    /// The same over seeds; None with one seed.
    pub seeds: Option<Apart>,
}

impl Stood {
    pub(super) fn new(member: &Member) -> Self {
        let Member { name, label, values, .. } = member.clone();
        Self { name, label, values, losses: Vec::new(), rung: 0, failure: None }
    }

    /// Takes down what came of a rung.
    pub(super) fn add(&mut self, losses: &Result<Vec<f64>, String>) {
        self.rung += 1;
        match losses {
            Ok(losses) => self.losses.extend(Spread::of(losses)),
            Err(why) => self.failure = Some(why.clone()),
        }
    }

    /// In the last rung that it was trained in.
    pub fn last(&self) -> Option<&Spread> {
        self.losses.last().filter(|_| self.failure.is_none())
    }
}

impl Outcome {
    /// Measures those of the last rung on the test games, once.
    pub(super) fn measure(
        sweep: &Sweep,
        mut members: Vec<Stood>,
        positions: u64,
        cuts: Vec<Cut>,
    ) -> Result<Self> {
        let loss = |it: &Stood| it.last().map_or(f64::INFINITY, |loss| loss.mean);
        // Equals stay in the order of the command line.
        members.sort_by(|a, b| b.rung.cmp(&a.rung).then(loss(a).total_cmp(&loss(b))));
        let last = sweep.rungs.len();
        let whole: Vec<&Stood> =
            members.iter().filter(|it| it.rung == last && it.failure.is_none()).collect();
        let config = |stood: &Stood| {
            let found = sweep.members.iter().find(|member| member.name == stood.name);
            found.expect("it is one of them")
        };
        let shared = (sweep.yardstick == Yardstick::Target).then(|| &config(whole[0]).config);
        let mut games = Games::test(&sweep.scan, shared);
        let (mut results, mut targets) = (Vec::new(), Vec::new());
        for stood in &whole {
            let member = config(stood);
            let (mut of_results, mut of_targets) = (Vec::new(), Vec::new());
            for seed in 0..sweep.seeds {
                let path = sweep.path(member, seed);
                games.doubt(&path)?;
                let sums = games.measure(&path, &member.config, sweep.means)?;
                of_results.push(sums.results);
                of_targets.extend(sums.targets);
            }
            results.push(of_results);
            targets.push(of_targets);
        }
        let truth = games.truth();
        let meet = |sums: &[Vec<Vec<f64>>]| {
            let each = whole.iter().zip(sums);
            let each = each.map(|(it, sums)| Contender { name: &it.label, sums });
            contest(&each.collect::<Vec<_>>(), &truth)
        };
        let mut outcome = Self {
            titles: sweep.titles.clone(),
            yardstick: sweep.yardstick,
            seeds: sweep.seeds,
            rungs: sweep.rungs.clone(),
            positions: [positions, sweep.positions()[1]],
            results: meet(&results),
            target: truth.targets.map(|_| meet(&targets)),
            members,
            cuts,
            sentences: Vec::new(),
        };
        outcome.sentences = outcome.conclude();
        Ok(outcome)
    }

    fn conclude(&self) -> Vec<String> {
        let Contest { positions, groups, noun, contenders, .. } = &self.results;
        let chosen = &contenders[0].name;
        let mut sentences = Vec::new();
        let on = match noun.ends_with("positions") {
            true => format!("{} {noun}", grouped(*positions as u64)),
            false => {
                let [positions, groups] = [positions, groups].map(|it| grouped(*it as u64));
                format!("{positions} positions of {groups} {noun}")
            }
        };
        let [trained, whole] = self.positions;
        sentences.push(format!(
            "Chosen: {chosen}, by {}; {} positions were trained on, {} of what all members in full \
             would have taken.",
            self.yardstick.words(),
            grouped(trained),
            percent(share(trained, whole))
        ));
        if contenders.len() < 2 {
            sentences.push(format!("Measured on {on}; nothing to compare with."));
        } else {
            sentences.push(format!("Measured once, on {on}, against the results:"));
        }
        sentences.extend(self.results.sentences("wins"));
        if let Some(target) = self.target.as_ref().filter(|it| it.contenders.len() > 1) {
            sentences.push("Against the target that all of them learn:".to_string());
            sentences.extend(target.sentences("is nearer to it"));
        }
        let doubtful =
            self.cuts.iter().filter(|cut| cut.seeds.is_some_and(|it| it.contains_zero()));
        sentences.extend(doubtful.map(Cut::sentence));
        if self.seeds == 1 {
            sentences.push(
                "With one seed a member nobody knows how much of any order here is chance; \
                 --seeds 3 tells."
                    .to_string(),
            );
        }
        sentences
    }

    /// A row a member.
    pub fn table(&self) -> Table {
        let titles = self.titles.iter().map(|title| (&title[..], Align::Right));
        let several = self.seeds > 1;
        let mut columns: Vec<(&str, Align)> = titles.collect();
        columns.extend([("length", Align::Right), ("validation", Align::Right)]);
        columns.extend(several.then_some(("of its seeds", Align::Right)));
        columns.extend([("test", Align::Right), ("95 % interval", Align::Right)]);
        columns.extend(several.then_some(("of its seeds", Align::Right)));
        if self.target.is_some() {
            columns.push(("to target", Align::Right));
            columns.extend(several.then_some(("of its seeds", Align::Right)));
        }
        // Values are numbers mostly, and none is cut.
        let mut table = Table::new(&columns).width(usize::MAX);
        for (place, member) in self.members.iter().enumerate() {
            let part = self.rungs[member.rung - 1].part;
            let mut cells: Vec<String> =
                member.values.iter().map(|value| bare(value).to_string()).collect();
            cells.push(if part == 1 { "whole".into() } else { format!("1/{part}") });
            cells.push(member.last().map_or("failed".into(), |it| format!("{:.6}", it.mean)));
            let range = |spread: Option<&Spread>| {
                several.then(|| spread.map_or("-".to_string(), Spread::range))
            };
            cells.extend(range(member.last()));
            // Those of the last rung stand first, in the order of the contest.
            let results = self.results.contenders.get(place);
            cells.push(results.map_or("-".into(), |it| five(it.loss.mean)));
            cells.push(
                results
                    .and_then(|it| it.loss.interval)
                    .map_or("-".into(), |[low, high]| format!("{} to {}", five(low), five(high))),
            );
            cells.extend(range(results.map(|it| &it.seeds)));
            if let Some(target) = &self.target {
                let target = target.contenders.get(place);
                cells.push(target.map_or("-".into(), |it| five(it.loss.mean)));
                cells.extend(range(target.map(|it| &it.seeds)));
            }
            table.row(cells);
        }
        table
    }

    /// What the columns of the table are.
    pub fn about(&self) -> String {
        let mut text = format!(
            "Length: how far a member was trained. Validation: {}{}. Test: mean squared error of \
             sigmoid(cp / scale) against the results; each fifth of the {} is measured with the \
             scale that fits the others.",
            self.yardstick.words(),
            if self.seeds > 1 {
                ", mean of the seeds; of its seeds: the lowest and the highest"
            } else {
                ""
            },
            self.results.noun
        );
        if self.target.is_some() {
            text += " To target: the same against the target.";
        }
        text
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, title: &str, folder: &SweepFolder) -> Result<()> {
        Ok(output::write(&folder.page(), page::page(title, self).as_bytes())?)
    }
}

fn five(loss: f64) -> String {
    format!("{loss:.5}")
}

impl Cut {
    fn sentence(&self) -> String {
        let Self { part, goes_on, stays, apart, .. } = self;
        format!(
            "At 1/{part} of the length {goes_on} went on and {stays} did not, {apart:.5} apart; the \
             interval over seeds contains zero, so that chance had a part in it."
        )
    }
}
