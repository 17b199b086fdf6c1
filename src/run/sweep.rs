//! Sweeps: all combinations of values of a config's keys, each with several seeds. Each member is
//! an ordinary run in its own folder. The validation loss chooses, the test games measure. Finished
//! runs are not trained again, so the same call resumes a stopped sweep.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail, ensure};
use serde::Serialize;

use super::data_plan::read_plan;
use super::evaluator::Evaluator;
use super::folder::{BEST, LAST, is_finished};
use super::measure::{position_facts, targets_of};
use super::recipe;
use super::train::{NothingLearnt, RunContext, begin_or_resume, check_run, stages};
use crate::config::{Config, Target};
use crate::export::{ExportError, QuantiseError};
use crate::loader::{Scan, scan};
use crate::report::seeds::{MemberLoss, SeedSpread, compare_members};
use crate::report::{PositionFacts, Predictions, TextTable, squared_errors};
use crate::sample::Sample;
use crate::train::TrainError;

/// Upper sanity limit of members.
const MAX_MEMBERS: usize = 10_000;
/// Largest number of letters of a value in the name of a folder.
const LONGEST: usize = 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepAxis {
    /// Key as for `--set`.
    pub key: String,
    /// Values as TOML, or bare words.
    pub values: Vec<String>,
}

impl SweepAxis {
    /// Parses `net.hidden=16,32`. Commas within brackets and quotes belong to a value.
    pub fn parse_axis(text: &str) -> Result<Self> {
        let (key, values) = text.split_once('=').unwrap_or((text, ""));
        let (key, values) = (key.trim(), split_values(values));
        ensure!(
            values.iter().all(|value| !value.is_empty()),
            "--over {text}: write it as key=value,value, for example net.hidden=16,32"
        );
        // `stage.2.data.filter` is like `data.filter`.
        let stage_key = key.strip_prefix("stage.").and_then(|rest| rest.split_once('.'));
        let section = stage_key.map_or(key, |(_, rest)| rest);
        let section = section.split('.').next().unwrap_or(key);
        ensure!(
            key == "data.share" || !["data", "seed", "version"].contains(&section),
            "--over {text}: members are compared on the same positions, and --seeds gives them \
             their seeds"
        );
        Ok(Self { key: key.to_string(), values })
    }

    fn last_key(&self) -> &str {
        self.key.split_once('.').map_or(&self.key, |(_, rest)| rest)
    }
}

/// Splits at commas outside brackets and quotes.
fn split_values(text: &str) -> Vec<String> {
    let (mut depth, mut quote) = (0, None);
    let values = text.split(|letter| {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            _ => return letter == ',' && depth == 0,
        }
        false
    });
    values.map(|value| value.trim().to_string()).collect()
}

#[derive(Clone, Debug)]
pub struct Member {
    /// Name, and start of its folders' names before the seed: "hidden-16-wdl-0.1".
    pub name: String,
    pub values: Vec<String>,
    /// Config with the first seed.
    pub config: Config,
}

/// Lists all combinations; the last axis changes fastest. `sets` are common changes of the config.
fn list_members(config: &Path, sets: &[String], axes: &[SweepAxis]) -> Result<Vec<Member>> {
    let count = axes.iter().try_fold(1, |all: usize, axis| all.checked_mul(axis.values.len()));
    let count = count.filter(|count| (2..=MAX_MEMBERS).contains(count)).with_context(|| {
        format!("a sweep has 2 to {MAX_MEMBERS} members; give --over more values, or fewer")
    })?;
    let mut members: Vec<Member> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for number in 0..count {
        let (mut rest, mut values, mut sets) = (number, Vec::new(), sets.to_vec());
        for axis in axes.iter().rev() {
            values.insert(0, axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        sets.extend(axes.iter().zip(&values).map(|(axis, it)| format!("{}={it}", axis.key)));
        let key_and_value =
            |(axis, it): (&SweepAxis, &String)| format!("{}-{}", axis.last_key(), plain_value(it));
        let mut name = axes.iter().zip(&values).map(key_and_value).collect::<Vec<_>>().join("-");
        let config = Config::read_file(config, &sets).with_context(|| format!("member {name}"))?;
        if let Some(earlier) = known.insert(config.to_toml(), number) {
            bail!("{} and {name} are the same run", members[earlier].name);
        }
        // Characters that folders cannot have may make two names equal.
        if members.iter().any(|member| member.name == name) {
            name += &format!("-no-{number}");
        }
        members.push(Member { name, values, config });
    }
    Ok(members)
}

/// Removes TOML's quotes from a value.
fn without_quotes(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

/// Formats a value as a part of a folder's name.
fn plain_value(value: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() || it == '.' { it } else { '_' };
    without_quotes(value).chars().map(letter).take(LONGEST).collect()
}

/// The loss by which members are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberScore {
    /// Loss against the target, if all members have the same.
    Target,
    /// Loss against the results, each member with the scale that fits it: targets differ.
    Results,
}

pub struct Sweep<'a> {
    pub members: Vec<Member>,
    pub seeds: u64,
    pub loss: MemberScore,
    titles: Vec<String>,
    out: PathBuf,
    scan: Scan,
    context: &'a RunContext<'a>,
}

impl<'a> Sweep<'a> {
    /// Reads the data, and checks all members and their folders before training.
    pub fn new(
        config: &Path,
        sets: &[String],
        axes: &[SweepAxis],
        seeds: u64,
        out: PathBuf,
        context: &'a RunContext<'a>,
    ) -> Result<Self> {
        let members = list_members(config, sets, axes)?;
        let first = &members[0].config;
        ensure!(
            first.file.data.has_validation()
                && first.file.data.held_out > 0.0
                && first.test_share.0 > 0.0,
            "a sweep chooses on validation games and is measured on test games; raise \
             `data.held_out`, and `data.test` lies between 0 and 1"
        );
        // A share selects among the training games; the held-out games are the same for all.
        let first = first.with_changes(|file| file.data.share = 1.0)?;
        let scan = scan(&read_plan(&first), 0, &*context.listener.count(None, "reading"))?;
        // A scale is a unit, and changes no probability.
        let target = |member: &Member| Target { scale: None, ..member.config.file.target.clone() };
        let same = members.iter().all(|member| target(member) == target(&members[0]));
        let loss = if same { MemberScore::Target } else { MemberScore::Results };
        let titles = axes.iter().map(|axis| axis.last_key().to_string()).collect();
        let sweep = Self { members, seeds, loss, titles, out, scan, context };
        for games in [&sweep.scan.validation.samples, &sweep.scan.test.samples] {
            squared_errors(&Predictions::of_constant(), &position_facts(games, "games"))?;
        }
        for member in &sweep.members {
            check_run(&member.config, sweep.scan.counts.train, context)
                .with_context(|| format!("member {}", member.name))?;
            for seed in 0..seeds {
                let (config, path) = sweep.run_of(member, seed)?;
                sweep.has_begun(&config, &path)?;
            }
        }
        Ok(sweep)
    }

    fn run_of(&self, member: &Member, seed: u64) -> Result<(Config, PathBuf)> {
        let config = member.config.with_changes(|file| file.seed = file.seed.wrapping_add(seed))?;
        let path = self.out.join(format!("{}-seed-{}", member.name, config.file.seed));
        Ok((config, path))
    }

    /// Returns whether a run is in the folder. Fails if it has another config or other data.
    fn has_begun(&self, config: &Config, path: &Path) -> Result<bool> {
        let Some(recipe) = stages::require_same(config, path)? else { return Ok(false) };
        ensure!(
            recipe.changed_file([&self.scan.files, &self.scan.validating.files]).is_none(),
            "{}",
            stages::foreign_run_error(path)
        );
        Ok(true)
    }

    /// Trains missing members, and measures all. Returns None if it was interrupted.
    pub fn run_members(&self) -> Result<Option<SweepOutcome>> {
        let runs = self.members.len() as u64 * self.seeds;
        let mut all = Vec::new();
        for (number, member) in (0..).zip(&self.members) {
            let turn = |seed| format!("{} of {runs}", number * self.seeds + seed + 1);
            // One failed seed is enough.
            let losses = (0..self.seeds).map(|seed| self.train_member(member, seed, &turn(seed)));
            let spread = match losses.collect::<Result<Option<Vec<f64>>>>() {
                Ok(None) => return Ok(None),
                Ok(Some(losses)) => {
                    Ok(SeedSpread::from_values(&losses).expect("a member has seeds"))
                }
                Err(error) if is_caused_by_values(&error) => {
                    let why = format!("{error:#}");
                    self.context.listener.report_remark(&format!("{} is out: {why}", member.name));
                    Err(why)
                }
                Err(error) => return Err(error.context(member.name.clone())),
            };
            all.push((member, spread));
        }
        // Ties keep the order of the command line.
        let mean = |spread: &Result<SeedSpread, String>| {
            spread.as_ref().map_or(f64::INFINITY, |it| it.mean)
        };
        all.sort_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
        if let (_, Err(why)) = &all[0] {
            bail!("no member is left: {why}");
        }
        self.measure_members(all).map(Some)
    }

    /// Returns the validation loss of a run, which is trained if necessary. None if interrupted.
    fn train_member(&self, member: &Member, seed: u64, turn: &str) -> Result<Option<f64>> {
        let (config, path) = self.run_of(member, seed)?;
        let name = path.display();
        let has_begun = self.has_begun(&config, &path)?;
        if !(has_begun && is_finished(&path) || begin_or_resume(&config, &path, self.context)?) {
            return Ok(None);
        }
        let loss = if self.loss == MemberScore::Results {
            let samples = &self.scan.validation.samples;
            let truth = position_facts(samples, "validation games");
            self.sum_errors(&truth, samples, &path, &config)?.iter().sum::<f64>()
                / samples.len() as f64
        } else {
            let best = recipe::open_checkpoint(&path.join(LAST))?.0.state.best;
            best.with_context(|| format!("no position validated {name}"))?.loss
        };
        let remark = format!("{turn}  validation loss {loss:.6}  {name}");
        self.context.listener.report_remark(&remark);
        Ok(Some(loss))
    }

    /// Sums the squared errors of a run's best weights by game, against targets or else results.
    fn sum_errors(
        &self,
        truth: &PositionFacts,
        samples: &[Sample],
        run: &Path,
        config: &Config,
    ) -> Result<Vec<f64>> {
        let host = self.context.open_host(config)?;
        let evaluator = Evaluator::open_evaluation(&run.to_string_lossy(), &host)?;
        let evaluation = evaluator.predict_samples(samples, &config.file.data.all_files())?;
        Ok(squared_errors(&evaluation, truth)?)
    }

    fn measure_members(
        &self,
        all: Vec<(&Member, Result<SeedSpread, String>)>,
    ) -> Result<SweepOutcome> {
        let samples = &self.scan.test.samples;
        let targets = match self.loss {
            // Moves have no target; results are the same for all members.
            MemberScore::Target => Some(&all[0].0.config)
                .filter(|it| !it.learns_moves() && it.needs_scores())
                .and_then(|it| targets_of(samples, it)),
            MemberScore::Results => None,
        };
        let mut truth = PositionFacts { targets, ..position_facts(samples, "test games") };
        let chosen_on = &self.scan.validating.sketch;
        let mut is_seen = samples.iter().any(|it| chosen_on.contains_hash(it.split_group()));
        let mut measured = Vec::new();
        for (member, _) in all.iter().filter(|(_, spread)| spread.is_ok()) {
            let mut seeds = Vec::new();
            for seed in 0..self.seeds {
                let (config, path) = self.run_of(member, seed)?;
                let (_, recipe) = recipe::open_checkpoint(&path.join(BEST))?;
                is_seen |= recipe.doubts().iter().any(Option::is_some);
                seeds.push(self.sum_errors(&truth, samples, &path, &config)?);
            }
            measured.push(seeds);
        }
        let why = "some of the test games may have been trained or chosen on";
        truth.cautions.extend(is_seen.then(|| why.to_string()));
        let mut tests = compare_members(&measured, &truth).into_iter();
        let member_result =
            |(member, spread): (&Member, Result<SeedSpread, String>)| MemberResult {
                name: member.name.clone(),
                values: member
                    .values
                    .iter()
                    .map(|value| without_quotes(value).to_string())
                    .collect(),
                test: spread.is_ok().then(|| tests.next()).flatten(),
                failure: spread.as_ref().err().cloned(),
                validation: spread.ok(),
            };
        Ok(SweepOutcome {
            titles: self.titles.clone(),
            seeds: self.seeds,
            loss: if truth.targets.is_some() { MemberScore::Target } else { MemberScore::Results },
            positions: samples.len(),
            members: all.into_iter().map(member_result).collect(),
            cautions: truth.cautions,
        })
    }
}

#[derive(Serialize)]
pub struct SweepOutcome {
    pub titles: Vec<String>,
    pub seeds: u64,
    /// Kind of the test loss.
    pub loss: MemberScore,
    pub positions: usize,
    /// Members by validation loss: the chosen one first, failed ones last.
    pub members: Vec<MemberResult>,
    /// Reasons why no member may be called better.
    pub cautions: Vec<String>,
}

#[derive(Serialize)]
pub struct MemberResult {
    /// Name, and start of its folders' names before the seed.
    pub name: String,
    pub values: Vec<String>,
    pub validation: Option<SeedSpread>,
    /// Loss on the test games, compared with the chosen member.
    pub test: Option<MemberLoss>,
    /// Reason why there is no loss.
    pub failure: Option<String>,
}

impl SweepOutcome {
    pub fn to_table(&self) -> TextTable {
        let titles = self.titles.iter().map(|title| format!("<{title}"));
        let columns = ["validation", "test", "vs first", "± games", "± seeds", "<"];
        let columns: Vec<String> = titles.chain(columns.map(String::from)).collect();
        let mut table = TextTable::with_titles(&columns);
        let half = |ends: Option<[f64; 2]>| {
            ends.map_or("-".to_string(), |[low, high]| format!("{:.5}", (high - low) / 2.0))
        };
        for MemberResult { values, validation, test, .. } in &self.members {
            let mut cells = values.clone();
            let Some((validation, test)) = validation.as_ref().zip(test.as_ref()) else {
                cells.push("failed".to_string());
                table.add_row(cells);
                continue;
            };
            cells.extend([format!("{:.6}", validation.mean), format!("{:.5}", test.loss.mean)]);
            if let Some(difference) = &test.above_first {
                let games = difference.games;
                let verdict = match (difference.decided, games.mean > 0.0) {
                    (false, _) => "unclear",
                    (true, true) => "worse",
                    (true, false) => "better",
                };
                cells.push(format!("{:+.5}", games.mean));
                let over_seeds = difference.seeds.map(|seeds| seeds.interval);
                cells.extend([games.interval, over_seeds].map(half));
                cells.push(verdict.to_string());
            }
            table.add_row(cells);
        }
        table
    }
}

/// Returns whether a run failed by its config: it diverged, learnt nothing, or exceeds integers.
fn is_caused_by_values(error: &Error) -> bool {
    error.chain().any(|cause| {
        let train = cause.downcast_ref::<TrainError>();
        let export = cause.downcast_ref::<ExportError>();
        matches!(train, Some(TrainError::Diverged { .. }))
            || matches!(export, Some(ExportError::Overflow(_) | ExportError::Quantise(_)))
            || cause.is::<QuantiseError>()
            || cause.is::<NothingLearnt>()
    })
}
