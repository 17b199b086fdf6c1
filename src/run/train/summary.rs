//! Facts of a run before its first step, and doubts about its data.

use std::path::Path;

use anyhow::Result;

use super::OpenRun;
use super::data::TrainingData;
use crate::config::{Config, Net, Objective};
use crate::data_file::{DataFile, are_few_for_nets};
use crate::digits::{count_noun, group_digits, positions_of_games};
use crate::loader::{HeldOut, RejectCounts, Scan};
use crate::report::fit::fit_scale;
use crate::report::{NO_BREAK, TextTable};
use crate::run::measure::score_share;
use crate::sample::{Sample, scores_and_results};
use crate::train::TrainingSettings;
use crate::train::schedule::{RunSchedule, Span};

/// The fewest games that are enough to measure on.
const FEW: usize = 60;
/// Largest factor between two scales. Beyond it, most trainings in docs/results.md lost Elo.
const FAR: f64 = 2.5;
/// Largest number of passes over the same positions. A longer run is hardly intended.
const MAX_PASSES: u64 = 200;
/// Largest number of files that have a row each; more files share one.
const MAX_FILES: usize = 8;

/// Makes a table of data, model, length, target and device of a run, and its page, if it has one.
pub fn opening_table(
    run: &OpenRun,
    settings: &TrainingSettings,
    page: Option<&Path>,
) -> Result<TextTable> {
    let OpenRun { recipe, data: TrainingData { scan, terms, .. }, host, .. } = run;
    let config = &recipe.config;
    let terms = terms.as_ref().map(|it| &it.terms);
    let mut table = data_table(scan);
    let mut row = |name: &str, value: String| table.add_row([name.to_string(), value]);
    if let Some(net) = config.architecture() {
        let weights: usize = net.list_arrays().iter().map(|array| array.len()).sum();
        row("net", format!("{net}, {} weights", group_digits(weights as u64)));
    }
    if let (Some(terms), Some(requested)) = (terms, recipe.run_terms()?) {
        let count = |chosen: &[bool]| chosen.iter().filter(|it| **it).count();
        let [present, moving, requested] =
            [&terms.present.terms, &terms.chosen.terms, &requested.chosen.terms]
                .map(|it| count(it));
        let mut text = format!("{moving} of {present} tuned");
        if requested > moving {
            let rare = requested - moving;
            text += &format!("; {rare} held, in fewer than {} positions", terms.rare);
        }
        row("terms", text);
    }
    if let Some(base) = &recipe.base {
        row("added to", base.name.clone());
    }
    let optimizer = &settings.optimizer;
    let Span { steps, batch, superbatch, epoch } = config.run_span(scan.counts.train);
    if optimizer.name.is_direct() {
        row("length", format!("at most {}, each over all positions", count_noun(steps, "step")));
        row("optimiser", optimizer.name.display_name());
    } else {
        let epochs = (steps * batch) as f64 / epoch as f64;
        let mut length =
            format!("{} of {}: {epochs:.1} epochs", count_noun(steps, "step"), group_digits(batch));
        if config.file.schedule.superbatches.is_some() {
            length += &format!(", {:.1} superbatches", steps as f64 / superbatch as f64);
        }
        row("length", length);
        let rates = format_values(&settings.learning_rate, steps);
        row("optimiser", format!("{}, rate {rates}", optimizer.name.display_name()));
    }
    row("target", format_target(config, settings, steps));
    if terms.is_some() && config.file.target.learn != Objective::Moves {
        let k = 400.0 / (std::f64::consts::LN_10 * config.scale);
        row("scale", format!("{} centipawns a logit (Texel's K {k:.4})", config.scale));
    }
    row("device", format!("{}, {}", host.describe_host(), host.describe_compute()));
    if let Some(page) = page {
        row("page", format!("{}, reloads itself while this trains", page.display()));
    }
    Ok(table)
}

/// Makes a table of the files and of the uses of their positions.
fn data_table(scan: &Scan) -> TextTable {
    let validating = &scan.validating;
    let mut table = TextTable::of_facts();
    let mut row = |name: &str, value: String| table.add_row([name.to_string(), value]);
    let mut add_files = |name: &str, files: &[DataFile], rejected: &RejectCounts| {
        if files.len() > MAX_FILES {
            let sum = |count: fn(&DataFile) -> u64| files.iter().map(count).sum::<u64>();
            let positions = sum(|it| it.positions.unwrap_or(0));
            let amounts = format_amounts(
                positions,
                sum(|it| it.games),
                sum(DataFile::positions_of_unknown_games),
            );
            row(name, format!("{amounts}{} files", files.len()));
        } else {
            for file in files {
                let DataFile { positions, games, gameless, .. } = *file;
                let amounts = format_amounts(positions.unwrap_or(0), games, gameless);
                let format = file.format.as_deref().unwrap_or("unknown");
                row(name, format!("{amounts}{format}: {}", file.path.display()));
            }
        }
        let counts = rejected
            .counts_by_key()
            .map(|(key, count)| format!("{}{NO_BREAK}{key}", group_digits(count)));
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            row("skipped", counts.join(", "));
        }
    };
    add_files("data", &scan.files, &scan.counts.rejected);
    add_files("for validation", &validating.files, &validating.counts.rejected);
    let mut training = format!("{} positions", group_digits(scan.counts.train));
    if !scan.is_whole {
        training +=
            &format!(", estimated from {}; an epoch counts them", group_digits(scan.counts.read));
    }
    row("training", training);
    for (name, held) in [("validation", &scan.validation), ("test", &scan.test)] {
        let mut text = format!("{} positions", group_digits(held.total));
        if scan.counts.games + validating.counts.games > 0 {
            text += &format!(" of {}", format_groups(scan, held));
        }
        if !scan.is_whole {
            text += ", of those read";
        }
        let used = held.samples.len() as u64;
        if used < held.total {
            text += &format!("; {} used, of whole games", group_digits(used));
        }
        row(name, text);
    }
    if scan.counts.left_out > 0 {
        row("left out", format!("{} positions, by data.share", group_digits(scan.counts.left_out)));
    }
    table
}

/// Formats amounts: "1,554,109 positions of 12,453 games, ". Empty if they are not counted.
fn format_amounts(positions: u64, games: u64, gameless: u64) -> String {
    match positions {
        0 => String::new(),
        _ => positions_of_games(positions, games, gameless) + ", ",
    }
}

/// Formats the number of games that are held out, or of positions whose game is unknown.
fn format_groups(scan: &Scan, held: &HeldOut) -> String {
    let mut files = scan.files.iter().chain(&scan.validating.files);
    let count = held.group_count() as u64;
    match scan.counts.games + scan.validating.counts.games {
        0 => count_noun(count, "position"),
        _ if files.any(|it| it.positions_of_unknown_games() > 0) => {
            count_noun(count, "game") + " or single positions"
        }
        _ => count_noun(count, "game"),
    }
}

fn format_target(config: &Config, settings: &TrainingSettings, steps: u64) -> String {
    let score = format!("sigmoid(score / {})", config.win_rate.scale);
    let (low, high) = settings.wdl.value_range();
    let target = match low {
        0.0 if high == 0.0 => score,
        1.0 => "result".to_string(),
        wdl if wdl == high => format!("{wdl} result + {} {score}", score_share(wdl)),
        _ => format!("wdl result + (1 - wdl) {score}, wdl {}", format_values(&settings.wdl, steps)),
    };
    let quiet = match config.file.target.learn {
        Objective::Moves => return "the moves played".to_string(),
        Objective::Quiescence => " at the end of captures",
        Objective::Values => "",
    };
    format!("{target}{quiet}, {}", settings.loss)
}

/// Formats values of a schedule from the first step to the last.
fn format_values(schedule: &RunSchedule, steps: u64) -> String {
    const POINTS: u64 = 5;
    let (low, high) = schedule.value_range();
    if low == high {
        return format!("{low}");
    }
    let progress = |point: u64| (point * (steps - 1) / (POINTS - 1)) as f64 / steps as f64;
    let values = (0..POINTS).map(|point| format!("{:.1e}", schedule.value_at(progress(point))));
    values.collect::<Vec<_>>().join(" ")
}

/// Lists reasons why losses of a run may mislead, one clause each.
pub fn list_doubts(config: &Config, scan: &Scan) -> Vec<String> {
    let validating = &scan.validating;
    let holds_out = config.file.data.held_out > 0.0;
    let mut lines = Vec::new();
    let is_new = |net: &Net| net.base.is_none() && net.start.is_none();
    if config.file.net.as_ref().is_some_and(is_new) && are_few_for_nets(&scan.files) {
        let positions = scan.files.iter().filter_map(|file| file.positions).sum();
        let unknown = scan.files.iter().map(DataFile::positions_of_unknown_games).sum();
        let amounts = format_amounts(positions, scan.counts.games, unknown);
        lines.push(format!("{amounts}too few for a net: tune handcrafted terms, or play more"));
    }
    let held = [
        (&scan.validation, "validate", config.file.data.has_validation()),
        (&scan.test, "are the test", holds_out && config.test_share.0 > 0.0),
    ];
    let few = held.into_iter().filter(|(held, _, expected)| *expected && held.group_count() < FEW);
    let few = few.map(|(held, what, _)| format!("{} {what}", format_groups(scan, held)));
    let few: Vec<String> = few.collect();
    if !few.is_empty() {
        lines.push(format!("{}: too few to compare evaluations", few.join(", ")));
    }
    let split_games = holds_out.then_some(scan.counts.games);
    for (files, split_games) in [(&scan.files, split_games), (&validating.files, None)] {
        for (i, file) in files.iter().enumerate() {
            let path = file.path.display();
            if let Some(bad @ 1..) = file.bad_records {
                lines.push(format!("{path}: {} left out", count_noun(bad, "bad record")));
            }
            let split_games = split_games.filter(|_| file.games == 0 || file.gameless > 0);
            if split_games.is_some_and(|games| file.positions.is_some() || games == 0) {
                let some = if file.games > 0 { "some " } else { "" };
                lines.push(format!(
                    "{path}: {some}games unknown, so positions of one game train and validate"
                ));
            }
            if files[..i].iter().any(|earlier| earlier.sha256 == file.sha256) {
                lines.push(format!("{path}: named twice, so its positions count twice"));
            }
        }
    }
    let shared = validating.sketch.count_shared(&scan.sketch);
    if shared > 0 {
        lines.push(format!(
            "`data.validation` and `data.files` share games or positions, {} or more: take them \
             out of one",
            group_digits(shared as u64)
        ));
    }
    lines.extend(sameness_doubt(config, scan).map(String::from));
    lines.extend(scale_doubt(config, scan));
    lines.extend(length_doubt(config, scan.counts.train));
    lines
}

/// Returns a doubt if a net sees the same positions too often.
fn length_doubt(config: &Config, positions: u64) -> Option<String> {
    let span = config.run_span(positions);
    let passes = span.steps * span.batch / positions.max(1);
    (config.is_net() && passes > MAX_PASSES).then(|| {
        let [passes, positions] = [passes, positions].map(group_digits);
        format!(
            "{passes} passes over {positions} positions are rarely meant: set schedule.epochs = 10"
        )
    })
}

/// Returns a doubt if `target.score_scale` is far from the scale at which scores predict results.
fn scale_doubt(config: &Config, scan: &Scan) -> Option<String> {
    let target = &config.file.target;
    let is_plain =
        config.file.data.source.is_empty() && target.score_offset.is_none_or(|it| it == 0.0);
    let scale = target.score_scale.filter(|_| is_plain && config.final_wdl() < 1.0)?;
    let (scores, results) = scores_and_results(&scan.some)?;
    let fit = fit_scale(&scores, &results);
    let measured = fit.scale.filter(|_| !fit.at_border)?;
    let ratio = scale / measured;
    (!(1.0 / FAR..=FAR).contains(&ratio)).then(|| {
        format!(
            "the scores measure a scale of {measured:.0}, and {scale} is far from it: set \
             target.score_scale = {measured:.0}"
        )
    })
}

/// Returns a doubt if all scores, or all results, are the same and teach nothing.
fn sameness_doubt(config: &Config, Scan { some: sample, .. }: &Scan) -> Option<&'static str> {
    let wdl = config.final_wdl();
    let is_same = |same: fn(&[Sample]) -> bool| sample.len() > 1 && sample.windows(2).all(same);
    if wdl < 1.0 && is_same(|pair| pair[0].score.is_some() && pair[0].score == pair[1].score) {
        return Some(
            "all scores are the same: train on results (target.wdl = 1), or label the positions",
        );
    }
    (wdl > 0.0 && is_same(|pair| pair[0].result == pair[1].result)).then_some(
        "all results are the same: train on scores (target.wdl = 0), or take other games as well",
    )
}
