//! A sweep: which values of some keys are best, by successive halving.
//!
//! ```text
//!  all members ─ train up to a rung ─▶ validation loss ─ the best of them ─▶ train up to the next
//!                                            ▲                                      │
//!                                            └──────────────────────────────────────┘
//!                                  those who came to the end of their runs ─▶ test, once
//! ```
//!
//! Whoever stays behind has paused; whoever goes on ends with the bits of `nnuance train` with the
//! same config. So runs lie in folders of their own, and what else is to be known of them is their
//! losses at the rungs that they have left behind.

mod axis;
mod folder;
mod measure;
mod member;
mod outcome;
mod page;
mod pause;
mod rungs;

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail, ensure};

pub use axis::Axis;
pub use folder::SweepFolder;
use folder::{Mark, Marks, Record};
pub use measure::Yardstick;
use measure::{Games, validation_loss};
pub use member::{Member, members};
pub use outcome::{Cut, Outcome, Stood};
use pause::Pause;
use rungs::steps;
pub use rungs::{Rung, rungs};

use super::Stage;
use super::folder::{LAST, RunFolder};
use super::recipe;
use super::train::{Means, NothingLearnt, begin, check, resume};
use crate::config::Config;
use crate::digits::grouped;
use crate::export::{ExportError, QuantiseError};
use crate::loader::{Scan, scan};
use crate::report::seeds::Spread;
use crate::train::TrainError;

/// What a sweep is asked for.
pub struct Asked<'a> {
    pub config: &'a Path,
    /// Changes of its keys, for all members.
    pub sets: &'a [String],
    pub axes: &'a [Axis],
    /// The keys and values as they were given.
    pub over: &'a [String],
    pub seeds: u64,
    /// One member in so many goes on.
    pub one_in: u32,
    /// How many rungs; none for the usual number.
    pub rungs: Option<usize>,
}

/// Hears how far a sweep has come.
pub trait Follower {
    /// The run in this folder is about to be trained, or was by an earlier command.
    fn turn(&self, turn: &Turn, path: &Path, is_done: bool);
}

/// A run among all of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The rung, from 1 on, of so many.
    pub rung: [usize; 2],
    /// The run in its rung, from 1 on, of so many.
    pub run: [u64; 2],
    /// Positions of all runs behind it, and of all that there will be.
    pub positions: [u64; 2],
}

/// What to do about a folder that holds something else.
const CURE: &str = "choose another folder with --out";

/// A sweep that can begin.
pub struct Sweep<'a> {
    pub members: Vec<Member>,
    pub rungs: Vec<Rung>,
    pub seeds: u64,
    pub yardstick: Yardstick,
    titles: Vec<String>,
    /// By member, the step behind which each rung ends.
    steps: Vec<Vec<u64>>,
    folder: SweepFolder,
    scan: Scan,
    means: &'a Means<'a>,
}

/// A member in a rung, with a loss a seed; or why it has none.
struct Tried {
    member: usize,
    losses: Result<Vec<f64>, String>,
}

/// The run of a member with a seed.
struct Run {
    config: Config,
    path: PathBuf,
    /// Of its folder.
    name: String,
}

impl<'a> Sweep<'a> {
    /// Reads the data and finds whatever can be wrong before anything is trained.
    ///
    /// # Errors
    /// If a member cannot be, there are no games to choose or to measure on, members differ in
    /// length, or the folder holds something else.
    pub fn new(asked: &Asked, out: &Path, means: &'a Means<'a>) -> Result<Self> {
        let members = members(asked.config, asked.sets, asked.axes)?;
        let rungs = rungs(members.len(), asked.one_in, asked.rungs)?;
        let first = &members[0].config;
        ensure!(
            first.validates(),
            "a sweep chooses on games that validate; raise `data.held_out`, or lower `data.test`"
        );
        ensure!(
            first.data.held_out > 0.0 && first.test().0 > 0.0,
            "a sweep is measured on test games; raise `data.held_out` and `data.test`"
        );
        for Member { label, config, .. } in &members {
            let plan = &config.schedule;
            let ends =
                plan.epochs.is_some() || plan.positions.is_some() || plan.superbatches.is_some();
            ensure!(
                ends,
                "member {label} runs until its loss falls no more, and a rung is a share of a \
                 length; give one, for example --set schedule.epochs=10"
            );
            ensure!(
                plan.extended.is_empty(),
                "`schedule.extended` is of a run that was made longer, and a sweep's begin anew; \
                 remove it"
            );
        }
        let record = Record { over: asked.over.to_vec(), one_in: asked.one_in, rungs: rungs.len() };
        let folder = SweepFolder::take(out, &record, means.listener)?;
        let counter = means.listener.count(None, "reading");
        let scan = scan(&recipe::plan(first)?, 0, &*counter);
        drop(counter);
        let mut sweep = Self {
            yardstick: Yardstick::of(&members),
            titles: member::titles(asked.axes),
            seeds: asked.seeds,
            members,
            rungs,
            steps: Vec::new(),
            folder,
            scan: scan?,
            means,
        };
        sweep.check()?;
        sweep.folder.begin(&record)?;
        Ok(sweep)
    }

    fn check(&mut self) -> Result<()> {
        Games::test(&self.scan, None).check()?;
        if self.yardstick == Yardstick::Results {
            Games::validation(&self.scan).check()?;
        }
        for member in &self.members {
            let named = || format!("member {}", member.label);
            let settings = check(&member.config, self.scan.train, self.means);
            let ends = settings.and_then(|settings| steps(&self.rungs, &settings));
            self.steps.push(ends.with_context(named)?);
            for seed in 0..self.seeds {
                self.stage(&self.run_of(member, seed))?;
            }
        }
        let length = |it: &usize| self.cost(*it, self.rungs.len());
        let all = || 0..self.members.len();
        let [short, long] = [all().min_by_key(length), all().max_by_key(length)]
            .map(|member| member.expect("a sweep has members"));
        let step = |it: usize| self.members[it].config.batch().of(self.scan.train);
        let [fewest, most] = [short, long].map(|it| length(&it));
        // Lengths are rounded up to whole steps.
        ensure!(
            most - fewest < step(long).max(step(short)),
            "member {} would see {} positions and member {} {}, and which is better would be no \
             fair question; give the length in epochs or positions",
            self.members[short].label,
            grouped(fewest),
            self.members[long].label,
            grouped(most)
        );
        Ok(())
    }

    fn stage(&self, run: &Run) -> Result<Stage> {
        Stage::of(&run.config, &run.path, &self.scan, CURE)
    }

    fn run_of(&self, member: &Member, seed: u64) -> Run {
        let config = member.run(seed);
        let name = format!("{}-seed-{}", member.name, config.seed);
        Run { config, path: self.path(member, seed), name }
    }

    fn path(&self, member: &Member, seed: u64) -> PathBuf {
        let seed = member.config.seed.wrapping_add(seed);
        self.folder.path().join(format!("{}-seed-{seed}", member.name))
    }

    /// Positions that a run of a member has seen at the end of a rung, from 1 on; none before.
    fn cost(&self, member: usize, rung: usize) -> u64 {
        let steps = rung.checked_sub(1).map_or(0, |rung| self.steps[member][rung]);
        steps * self.members[member].config.batch().of(self.scan.train)
    }

    /// Writes the page about it; its path.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, outcome: &Outcome) -> Result<PathBuf> {
        let name = self.folder.path().file_name().unwrap_or_default().to_string_lossy();
        outcome.write(&name, &self.folder)?;
        Ok(self.folder.page())
    }

    /// Positions of all runs, repeats counted: as many as planned, and those of all members
    /// trained at once in full.
    pub fn positions(&self) -> [u64; 2] {
        let longest = |rung| {
            let all = 0..self.members.len();
            all.map(|it| self.cost(it, rung)).max().unwrap_or_default() * self.seeds
        };
        let of = |(rung, Rung { members, .. }): (usize, &Rung)| {
            (longest(rung) - longest(rung - 1)) * *members as u64
        };
        let planned = (1..).zip(&self.rungs).map(of).sum();
        [planned, longest(self.rungs.len()) * self.members.len() as u64]
    }

    /// Sweeps to the end, from wherever the folder stands. None if it was interrupted; the same
    /// call goes on.
    ///
    /// # Errors
    /// If a run fails for another reason than its member's values, none is left, or something
    /// cannot be read or written.
    pub fn run(&self, follower: &dyn Follower) -> Result<Option<Outcome>> {
        let mut stood: Vec<Stood> = self.members.iter().map(Stood::new).collect();
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        let mut cuts = Vec::new();
        let mut behind = 0;
        let mut marks = self.folder.marks()?;
        for number in 1..=self.rungs.len() {
            let mut tried = Vec::new();
            for (place, member) in order.iter().enumerate() {
                let mut losses = Ok(Vec::new());
                for seed in 0..self.seeds {
                    let turn = Turn {
                        rung: [number, self.rungs.len()],
                        run: [
                            1 + place as u64 * self.seeds + seed,
                            order.len() as u64 * self.seeds,
                        ],
                        positions: [behind, self.positions()[0]],
                    };
                    behind += self.cost(*member, number) - self.cost(*member, number - 1);
                    // A seed that fails is enough for a member to fail.
                    let Ok(all) = &mut losses else { continue };
                    match self.attempt(*member, seed, &turn, follower, &mut marks)? {
                        None => return Ok(None),
                        Some(Mark::Loss(loss)) => all.push(loss),
                        Some(Mark::Failed(why)) => losses = Err(why),
                    }
                }
                tried.push(Tried { member: *member, losses });
            }
            // The most promising first; equals in the order of the command line, the last are
            // those without a loss.
            let mean = |it: &Tried| it.losses.as_ref().map_or(f64::INFINITY, |all| mean(all));
            tried.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.member.cmp(&b.member)));
            for it in &tried {
                stood[it.member].add(&it.losses);
            }
            let sound = tried.iter().filter(|it| it.losses.is_ok()).count();
            if let Some(Tried { losses: Err(why), .. }) = tried.first() {
                bail!("no member is left: {why}");
            }
            let going = self.rungs.get(number).map_or(0, |next| next.members.min(sound));
            order = tried.iter().take(going).map(|it| it.member).collect();
            if going > 0 {
                cuts.extend(self.cut(number, &tried, going));
                self.tell(number, &tried, going);
            }
        }
        let outcome = Outcome::measure(self, stood, behind, cuts)?;
        Ok(Some(outcome))
    }

    /// Brings a run to the end of a rung; none if it was interrupted.
    fn attempt(
        &self,
        member: usize,
        seed: u64,
        turn: &Turn,
        follower: &dyn Follower,
        marks: &mut Marks,
    ) -> Result<Option<Mark>> {
        let run = self.run_of(&self.members[member], seed);
        let rung = turn.rung[0];
        let stage = self.stage(&run)?;
        let known = marks.entry(run.name.clone()).or_default();
        if stage == Stage::New {
            ensure!(rung == 1, "{} is gone; the same command trains it anew", run.path.display());
            known.clear();
        }
        follower.turn(turn, &run.path, known.len() >= rung);
        if let Some(mark) = known.get(rung - 1) {
            return Ok(Some(mark.clone()));
        }
        let until = self.steps[member][rung - 1];
        let Some(mark) = self.train(&run, stage, until, rung == self.rungs.len())? else {
            return Ok(None);
        };
        if let Mark::Failed(why) = &mark {
            self.means.listener.remark(&format!("{} is out: {why}", run.name));
        }
        known.push(mark.clone());
        self.folder.write(marks)?;
        Ok(Some(mark))
    }

    /// Trains a run up to a step, at which it ends or pauses; its loss, or none if it was interrupted.
    fn train(&self, run: &Run, stage: Stage, until: u64, ends: bool) -> Result<Option<Mark>> {
        let Run { config, path, .. } = run;
        let step = || -> Result<u64> { Ok(recipe::open(&path.join(LAST))?.0.state.step) };
        let come = if stage == Stage::New { 0 } else { step()? };
        let pause = Pause { listener: self.means.listener, behind: until };
        let means = Means { listener: &pause, ..*self.means };
        let ended = match stage {
            Stage::Finished => Ok(true),
            Stage::Begun if come > until => bail!(
                "{} has gone on to step {come}, and its loss at step {until} is not known any more; \
                 {CURE}",
                path.display()
            ),
            Stage::Begun if come == until && !ends => Ok(false),
            Stage::Begun => resume(path, &[], &means).map(|it| it.is_some()),
            Stage::New => {
                let folder = RunFolder::take(path, false, self.means.listener)?;
                begin(config.clone(), &folder, &means).map(|it| it.is_some())
            }
        };
        let loss = match ended {
            Ok(false) if step()? < until => return Ok(None),
            Ok(_) if self.yardstick == Yardstick::Target => validation_loss(path)?,
            Ok(_) => Games::validation(&self.scan).loss(path, config, self.means)?,
            Err(error) if is_of_values(&error) => {
                return Ok(Some(Mark::Failed(format!("{error:#}"))));
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        Ok(Some(match loss.is_finite() {
            true => Mark::Loss(loss),
            false => Mark::Failed(format!("its loss is {loss}")),
        }))
    }

    /// Where those who go on part from those who do not.
    fn cut(&self, rung: usize, tried: &[Tried], going: usize) -> Option<Cut> {
        let of = |place: usize| {
            let it = tried.get(place)?;
            let losses = it.losses.as_ref().ok()?;
            Some((&self.members[it.member].label, Spread::of(losses)?))
        };
        let (last, first) = (of(going - 1)?, of(going)?);
        Some(Cut {
            part: self.rungs[rung - 1].part,
            goes_on: last.0.clone(),
            stays: first.0.clone(),
            apart: first.1.mean - last.1.mean,
            seeds: first.1.less(&last.1),
        })
    }

    /// Says who goes on.
    fn tell(&self, rung: usize, tried: &[Tried], going: usize) {
        let Rung { part, .. } = self.rungs[rung - 1];
        let mut text = format!(
            "rung {rung} of {}, 1/{part} of the length: {going} of {} members go on",
            self.rungs.len(),
            tried.len()
        );
        for it in tried.iter().take(going) {
            let loss = it.losses.as_ref().map_or(f64::NAN, |all| mean(all));
            text += &format!("\n  {loss:.6}  {}", self.members[it.member].label);
        }
        self.means.listener.remark(&text);
    }
}

fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

/// Whether a run failed because of what its config says, so that others need not: it diverged,
/// learnt nothing, or no engine can load what it has learnt.
fn is_of_values(error: &Error) -> bool {
    error.chain().any(|cause| {
        let diverged = |it: &TrainError| {
            matches!(it, TrainError::Diverged { .. } | TrainError::NotFinite { .. })
        };
        let unfit =
            |it: &ExportError| matches!(it, ExportError::Overflow(_) | ExportError::Quantise(_));
        cause.downcast_ref::<TrainError>().is_some_and(diverged)
            || cause.downcast_ref::<ExportError>().is_some_and(unfit)
            || cause.is::<QuantiseError>()
            || cause.is::<NothingLearnt>()
    })
}
