//! Summaries of a run before its first step and after its last one.

use std::path::Path;

use super::folder::LAST;
use crate::config::Config;
use crate::data_file::DataFile;
use crate::digits::{grouped, short};
use crate::loader::{Plan, Scan};
use crate::model::{Adapter, Compute, Device};
use crate::report::Table;
use crate::sample::Sample;
use crate::train::schedule::{Schedule, Span};
use crate::train::{End, Settings};

/// Fewest games that are enough to measure on.
const FEW: usize = 60;

/// Describes the positions of each file and their uses, doubts about them, and some of them.
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
    for (of, rejected) in [("", &scan.rejected), ("of data.validation ", &own.rejected)] {
        rejected.counts().for_each(|(key, count)| row(count, format!("{of}skipped by {key}")));
    }
    if scan.is_whole {
        row(scan.train, "to train on".into());
    } else {
        row(
            scan.read,
            "positions read for a start, from all over the files; what follows is of these".into(),
        );
        row(scan.train, "to train on in all files, an estimate; the first pass counts them".into());
    }
    let mut lines = Vec::new();
    let holds = plan.split.share > 0.0;
    let of = if scan.games + own.games > 0 { "games" } else { "positions" };
    for (held, what, expected) in [
        (&scan.validation, "to validate with", plan.validates()),
        (&scan.test, "kept for the test", holds && plan.test.0 > 0.0),
    ] {
        let (groups, used) = (held.groups(), held.samples.len() as u64);
        let some = match used < held.total {
            true => format!("; {} of them are used, of whole games", grouped(used)),
            false => String::new(),
        };
        row(held.total, format!("{what}, of {} {of}{some}", grouped(groups as u64)));
        if expected && groups < FEW {
            lines.push(format!("caution: {groups} {of} {what} are few: losses on them hardly tell evaluations apart"));
        }
    }
    if scan.left_out > 0 {
        row(scan.left_out, format!("left out: data.share takes {} of the games", plan.share.0));
    }
    lines.insert(0, table.to_string().trim_end().to_string());
    lines.extend(doubts(&scan.files, holds.then_some(scan.games)));
    lines.extend(doubts(&own.files, None));
    let shared = own.sketch.shared(&scan.sketch);
    if shared > 0 {
        lines.push(format!(
            "caution: `data.validation` and `data.files` share games or positions ({shared} or \
             more): the validation loss looks better than it is; take them out of one of the two"
        ));
    }
    lines.extend(scan.some.iter().take(3).map(|Sample { position, score, result, .. }| {
        let score = score.map_or("no score".into(), |score| format!("{score:+} cp"));
        format!("  {}  {score}, result {result} for the side to move", position.fen())
    }));
    lines.join("\n")
}

/// Doubts about files; `held_out` is the number of games seen in any, if some are held out.
fn doubts(files: &[DataFile], held_out: Option<u64>) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let path = file.path.display();
        if let Some(bad @ 1..) = file.bad_records {
            lines.push(format!("{path}: {bad} bad records left out"));
        }
        let seen = held_out.filter(|_| file.games == 0);
        if seen.is_some_and(|games| file.positions.is_some() || games == 0) {
            lines.push(format!(
                "{path}: its games are unknown, so single positions are held out, and losses look \
                 better than they are"
            ));
        }
        if let Some(same) = files[..i].iter().find(|other| other.sha256 == file.sha256) {
            let other = same.path.display();
            lines.push(format!("{path} is the same file as {other}: its positions count twice"));
        }
    }
    lines
}

/// Describes how a model is computed.
pub fn compute(compute: &Compute) -> String {
    match compute {
        Compute::Plain => "plain tensor operations".to_string(),
        Compute::Fused { level, precision } => {
            format!("fused operations ({}, {})", level.name(), precision.name())
        }
        Compute::Gpu { .. } => "fused operations of a GPU".to_string(),
    }
}

/// Describes model, device, length and rates of a run before its first step.
pub fn opening(
    config: &Config,
    positions: u64,
    settings: &Settings,
    (device, how): &(Device, Compute),
) -> Table {
    let mut table = Table::facts();
    let net = config.architecture();
    table.row(["model", &net.map_or("handcrafted terms".into(), |net| net.to_string())]);
    let adapter = Adapter::of(device).map_or(String::new(), |adapter| format!("{adapter}, "));
    let threads = rayon::current_num_threads();
    table.row(["computed by", &format!("{}, {adapter}{threads} threads", compute(how))]);
    let name = settings.optimizer.name.text();
    let Span { steps, batch, superbatch, epoch } = config.span(positions);
    if settings.optimizer.name.is_direct() {
        table.row(["optimiser", &name]);
        let length = format!("at most {steps} steps over {} positions", short(epoch as f64));
        table.row(["length", &length]);
    } else {
        table.row(["optimiser", &format!("{name}, {}", settings.loss)]);
        let all = (steps * batch) as f64;
        table.row([
            "length",
            &format!(
                "{steps} steps of {batch} = {} positions = {:.2} passes over {} = {:.3} superbatches",
                short(all),
                all / epoch as f64,
                short(epoch as f64),
                steps as f64 / superbatch as f64,
            ),
        ]);
        let Settings { learning_rate, wdl, .. } = settings;
        for (name, schedule) in [("learning rate", learning_rate), ("wdl", wdl)] {
            table.row([name, &values(schedule, steps)]);
        }
    }
    table
}

/// Describes a schedule from the first step to the last.
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

/// Describes an unusual end of training.
pub fn ending(end: End, [step, steps]: [u64; 2], folder: &Path) -> Option<String> {
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
        End::Finished | End::Round => return None,
    })
}
