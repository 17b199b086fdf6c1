//! `nnuance data doctor`: checks of files before training.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use serde::Serialize;

use super::io::{Reading as Options, check_interrupted};
use super::select::FilterKeys;
use crate::cli::out;
use crate::cli::terminal::{estimate_total, progress_bar};
use crate::data::doctor::{Diagnosis, Exam, Finding, Fitness, Grade, Keys};
use crate::format::{LabelKind, SampleSource};
use crate::report::{TextTable, fit};
use crate::sample::Sample;

/// Check whether files are fit to train on
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance data doctor data/selfplay-sf15.vf --against held-out.vf")]
#[command(after_help = "\
Records, results, scores, point of view, repeats and leaks are checked. A file
is fit, fit for handcrafted terms only, or not fit; then the exit status is 1.")]
pub struct Args {
    /// Files of positions; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Options,
    /// Files that must not share games or positions, such as those to measure on
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<PathBuf>,
    /// Check the first positions of each file alone [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keys: FilterKeys,
}

#[derive(Serialize)]
struct ExaminedFile {
    file: PathBuf,
    format: &'static str,
    /// Points of view in which the file was read.
    seen_by: BTreeMap<&'static str, &'static str>,
    /// Whether only the first positions were checked.
    limited: bool,
    fit: bool,
    diagnosis: Diagnosis,
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    let mut keys = Keys::default();
    for path in &args.against {
        let mut source = args.reading.open_source(path, u64::MAX)?;
        let (_, ended) = read_samples(&mut source, None, "other set", |it| keys.add(it))?;
        ended.map_or(Ok(()), |ended| Err(anyhow!(ended)))?;
    }
    let against = (!args.against.is_empty()).then_some(&keys);
    let files = args.files.iter().map(|path| examine_file(path, &args, against));
    let files: Vec<ExaminedFile> = files.collect::<Result<_>>()?;
    let verdicts: Vec<String> = files.iter().map(format_verdict).collect();
    out::print_result(args.json, &files, verdicts.join("\n"))?;
    Ok(if files.iter().all(|file| file.fit) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn examine_file(path: &Path, args: &Args, against: Option<&Keys>) -> Result<ExaminedFile> {
    let mut source = args.reading.open_source(path, u64::MAX)?;
    let format = source.format();
    let filter = args.keys.given_filter();
    filter.as_ref().map_or(Ok(()), |filter| filter.check_format(path, format))?;
    let passes =
        |sample: &Sample| filter.as_ref().is_none_or(|it| it.rejecting_key(sample).is_none());
    let mut exam = Exam::new(&format.facts);
    let each = |sample: &Sample| {
        if passes(sample) {
            exam.add(sample)
        }
    };
    let read = read_samples(&mut source, args.limit, "examine", each)?;
    let limited = read.0;
    let scale = |scores: &[f64], results: &[f64]| {
        let fit = fit::fit_scale(scores, results);
        Some((fit.scale?, fit.at_border))
    };
    let diagnosis = exam.diagnose(&source, read, scale, against);
    Ok(ExaminedFile {
        file: path.to_path_buf(),
        format: format.name,
        seen_by: LabelKind::ALL.map(|it| (it.name(), source.read_view(it).view.name())).into(),
        limited,
        fit: diagnosis.fit_for != Fitness::Nothing,
        diagnosis,
    })
}

/// Passes up to `limit` samples to `each`. Returns whether there are more, and why reading failed.
fn read_samples(
    source: &mut SampleSource,
    limit: Option<u64>,
    what: &'static str,
    mut each: impl FnMut(&Sample),
) -> Result<(bool, Option<String>)> {
    let bar = progress_bar(None, what);
    let mut block = Vec::new();
    let mut left = limit.unwrap_or(u64::MAX);
    loop {
        block.clear();
        let more = source.next_block(&mut block);
        // Samples before a fault are valid.
        let count = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        block[..count].iter().for_each(&mut each);
        bar.inc(count as u64);
        estimate_total(&bar, source.share_read());
        check_interrupted()?;
        left -= count as u64;
        match more {
            _ if count < block.len() => return Ok((true, None)),
            Ok(true) => {}
            Ok(false) => return Ok((false, None)),
            Err(error) => return Ok((false, Some(error.to_string()))),
        }
    }
}

/// Formats the verdict on a file, its findings, and the cures.
fn format_verdict(file: &ExaminedFile) -> String {
    let ExaminedFile { format, diagnosis, .. } = file;
    let verdict = match diagnosis.fit_for {
        Fitness::Nets if diagnosis.bad_examples.is_empty() => "fit to train on",
        Fitness::Nets => "fit to train on without its bad records",
        Fitness::Terms => "fit for handcrafted terms only, too few for a net",
        Fitness::Nothing => "NOT FIT to train on",
    };
    let first = if file.limited { ", the first positions" } else { "" };
    let mut table = TextTable::with_titles(&["<", "<check", "<finding"]);
    let mut cures = TextTable::of_facts();
    for Finding { grade, about, says, cure, .. } in &diagnosis.findings {
        let grade = match grade {
            Grade::Ok => "ok",
            Grade::Note => "note",
            Grade::Problem => "PROBLEM",
        };
        table.add_row([grade, about, &says[..]]);
        cure.iter().for_each(|cure| cures.add_row([about, &cure[..]]));
    }
    let mut text = format!("{} ({format}{first}): {verdict}\n\n{table}", file.file.display());
    diagnosis.bad_examples.iter().for_each(|bad| text += &format!("  {bad}\n"));
    if !cures.is_empty() {
        text += &format!("\nto mend\n{cures}");
    }
    text
}
