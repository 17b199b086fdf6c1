//! Summaries of a run before its first step and after its last one.

use std::path::Path;

use super::folder::LAST;
use crate::architecture::Architecture;
use crate::data_file::DataFile;
use crate::digits::{grouped, short};
use crate::loader::{Plan, Scan};
use crate::model::Adapter;
use crate::report::Table;
use crate::sample::Sample;
use crate::train::schedule::{Schedule, Span};
use crate::train::{End, Settings};

/// Games that are too few to measure on.
const FEW: usize = 60;

/// The positions of each file and their uses, doubts about them, and some of them.
pub fn data(plan: &Plan, scan: &Scan) -> String {
    let mut table = Table::titled(&["", "<"]).width(usize::MAX);
    let mut row = |count: u64, what: String| table.row([grouped(count), what]);
    let own = &scan.validating;
    for file in scan.files.iter().chain(&own.files) {
        if let (Some(format), Some(positions)) = (&file.format, file.positions) {
            let (path, digest) = (file.path.display(), &file.sha256[..16]);
            row(positions, format!("positions in {path}: {format}, sha256 {digest}"));
        }
    }
    scan.rejected.counts().for_each(|(key, count)| row(count, format!("skipped by {key}")));
    for (key, count) in own.rejected.counts() {
        row(count, format!("of data.validation skipped by {key}"));
    }
    row(scan.train, "to train on".into());
    let held = [&scan.validation, &scan.test];
    // 0 where games are unknown.
    let games = [if own.files.is_empty() { scan.games } else { own.games }, scan.games];
    let uses = ["to validate with", "kept for the test, which training never reads"];
    for ((held, games), what) in held.into_iter().zip(games).zip(uses) {
        let groups = held.groups() as u64;
        // Of files without games each position counts as one.
        let of = match games > 0 && groups <= games {
            true => format!(": {} of {} games", grouped(groups), grouped(games)),
            false => String::new(),
        };
        let used = held.samples.len() as u64;
        let some = match used < held.total {
            true => format!("; {} of them are used, of whole games", grouped(used)),
            false => String::new(),
        };
        row(held.total, format!("{what}{of}{some}"));
    }
    if scan.left_out > 0 {
        row(scan.left_out, format!("left out: data.share takes {} of the games", plan.share.0));
    }
    let mut lines = vec![table.to_string().trim_end().to_string()];
    lines.extend(doubts(&scan.files, plan.split.share > 0.0));
    lines.extend(doubts(&own.files, false));
    let shared = own.sketch.shared(&scan.sketch);
    if shared > 0 {
        lines.push(format!(
            "caution: `data.validation` and `data.files` share games or positions ({shared} or \
             more): the validation loss looks better than it is; take them out of one of the two"
        ));
    } else if !own.files.is_empty() && (own.games == 0 || scan.games == 0) {
        lines.push(
            "whether `data.validation` and `data.files` come from the same games cannot be told: \
             games are unknown"
                .into(),
        );
    }
    let [validation, test] = held.map(|held| held.groups());
    let of = |games: u64| if games > 0 { "games" } else { "positions" };
    if plan.validates() && validation < FEW {
        let more = match plan.validation.is_empty() {
            true => "raise data.held_out, or add games",
            false => "name more files in data.validation",
        };
        let of = of(games[0]);
        lines.push(format!(
            "only {validation} {of} validate: the validation loss can hardly tell checkpoints \
             apart; {more}"
        ));
    }
    if plan.split.share > 0.0 && plan.test.0 > 0.0 && test < FEW {
        let of = of(games[1]);
        lines.push(format!(
            "only {test} {of} are kept for the test: compare can hardly tell; raise \
             data.held_out, or add games"
        ));
    }
    lines.extend(scan.some.iter().take(3).map(|Sample { position, score, result, .. }| {
        let score = score.map_or("no score".into(), |score| format!("{score:+} cp"));
        format!("  {}  {score}, result {result} for the side to move", position.fen())
    }));
    lines.join("\n")
}

/// Doubts about files, some of which are held out.
fn doubts(files: &[DataFile], held_out: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let path = file.path.display();
        if let Some(bad @ 1..) = file.bad_records {
            lines.push(format!("{path}: {bad} bad records left out"));
        }
        if file.games == 0 && held_out {
            lines.push(format!(
                "{path}: its games are unknown, so positions are held out; where they come from \
                 the same games as those trained on, losses look better than they are"
            ));
        }
        if let Some(same) = files[..i].iter().find(|other| other.sha256 == file.sha256) {
            let other = same.path.display();
            lines.push(format!("{path} is the same file as {other}: its positions count twice"));
        }
    }
    lines
}

/// A run before its first step.
pub struct Opening<'a> {
    /// To train on.
    pub positions: u64,
    pub span: &'a Span,
    pub settings: &'a Settings,
    /// None where handcrafted terms are tuned.
    pub net: Option<Architecture>,
    /// None where the processor computes alone.
    pub adapter: Option<Adapter>,
    /// How it computes, in words.
    pub compute: String,
}

impl Opening<'_> {
    /// Model, device, length and rates.
    pub fn table(&self) -> Table {
        let Self { positions, span, settings, net, adapter, compute } = self;
        let mut table = Table::facts();
        let model = net.as_ref().map_or("handcrafted terms".into(), |net| net.to_string());
        table.row(["model", &model]);
        let threads = rayon::current_num_threads();
        let beside = adapter.as_ref().map_or(String::new(), |it| format!("{it}, "));
        table.row(["computed by", &format!("{compute}, {beside}{threads} threads")]);
        let name = settings.optimizer.name.text();
        if settings.optimizer.name.is_direct() {
            let (all, steps) = (short(*positions as f64), span.steps);
            table.row(["optimiser", &name]);
            table.row([
                "length",
                &format!("{all} positions, until the loss falls no more, at most {steps} steps"),
            ]);
        } else {
            table.row(["optimiser", &format!("{name}, {}", settings.loss)]);
            let Span { steps, batch, superbatch, epoch } = **span;
            let all = (steps * batch) as f64;
            table.row([
                "length",
                &format!(
                    "{steps} steps of {batch} = {} positions = {:.2} passes over {} = {:.3} \
                     superbatches",
                    short(all),
                    all / epoch as f64,
                    short(epoch as f64),
                    steps as f64 / superbatch as f64,
                ),
            ]);
            let Settings { learning_rate, wdl, .. } = settings;
            for (name, schedule) in [("learning rate", learning_rate), ("wdl", wdl)] {
                table.row([name, &values(schedule, settings.steps)]);
            }
            if learning_rate.never_steps() {
                table.row(["", "a step of the learning rate would come after its stage: never"]);
            }
        }
        table
    }
}

/// Values of a schedule from the first step to the last.
fn values(schedule: &Schedule, steps: u64) -> String {
    const POINTS: u64 = 10;
    let (low, high) = schedule.range();
    if low == high {
        return format!("{low}");
    }
    let at = |point: u64| (point * (steps - 1) / (POINTS - 1)) as f64 / steps as f64;
    let values = (0..POINTS).map(|point| format!("{:.2e}", schedule.at(at(point))));
    values.collect::<Vec<_>>().join(" ")
}

/// How training ended, where there is something to say.
pub fn ending(end: End, [step, steps]: [u64; 2], direct: bool, folder: &Path) -> Option<String> {
    Some(match end {
        End::Interrupted => format!(
            "stopped at step {step} of {steps}; {} holds everything. Go on with\n  \
             nnuance train --resume {}",
            folder.join(LAST).display(),
            folder.display()
        ),
        End::Early => {
            format!("stopped at step {step} of {steps}: the validation loss no longer fell")
        }
        End::Converged => format!("converged at step {step}: no step makes the loss fall"),
        End::Finished if direct => {
            format!("ended at step {step}, as the config says; it has not converged yet")
        }
        End::Finished | End::Round => return None,
    })
}
