//! `nnuance data label` and `selfplay`: positions and games of players.

use std::mem::take;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::{Context as _, Result, ensure};

use super::engine::{Engines, SearchArgs, run_job};
use super::io::{ConvertFiles, InputFiles, OutputFile, Reading, Writing, print_losses};
use crate::cli::options::{Beginning, Rules};
use crate::engine::{JobPart, PositionsJob, SelfplayJob, label_positions, play_games};
use crate::format::{Presence, SampleSource};
use crate::input;
use crate::sample::Sample;

/// Score positions with an engine or an evaluation
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data label data/selfplay_sf151_quiet.epd --nodes 5000 -o labelled.txt
  nnuance data label games.vf --with nets/quickstart-32.bin --nodes 5000 \\
      -o labelled.vf
  nnuance data label games.vf --with nets/quickstart-32.bin --static \\
      -o labelled.vf")]
#[command(after_help = "\
Results and order are kept. The same command resumes a job that was stopped;
with --static nothing is written before its end.")]
#[command(override_usage = "nnuance data label [OPTIONS] --out <FILE> --nodes <N> <FILE>")]
pub struct LabelArgs {
    /// Positions in any format, with results
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: SearchArgs,
    /// Score each position by the value of --with alone, as `eval` prints it, without a search
    #[arg(long = "static", group = "SearchArgs", help_heading = "Length of a search")]
    #[arg(conflicts_with_all = ["nodes", "soft_nodes", "depth", "movetime", "part", "engines"])]
    #[arg(conflicts_with_all = ["engine", "hash"])]
    is_static: bool,
    /// Score part I of N; the parts one after the other are the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    /// Bad records of the input to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    bad_records: u64,
    #[command(flatten)]
    engines: Engines,
}

/// Number of positions that are evaluated together.
const STATIC_BATCH: usize = 1 << 16;

/// Labels without a search. While a batch is read, the one before it is evaluated and written.
fn label_without_search(args: LabelArgs) -> Result<ExitCode> {
    let LabelArgs { input, writing, bad_records, engines, .. } = args;
    let evaluation = engines.open_static()?;
    let inputs = InputFiles { files: vec![input], reading: Reading::default(), bad_records };
    let files = ConvertFiles { inputs, writing };
    let output = files.create_output()?;
    let format = output.format;
    let (sender, batches) = sync_channel::<Vec<Sample>>(1);
    thread::scope(|scope| {
        let written = scope.spawn(|| -> Result<OutputFile> {
            let mut output = output;
            for mut samples in batches {
                evaluation.label_samples(&mut samples);
                samples.iter().try_for_each(|sample| output.write_sample(sample))?;
            }
            Ok(output)
        });
        let (mut batch, mut is_first) = (Vec::new(), true);
        let counts = files.inputs.read_each("labelling", |source, samples| {
            let has_colours = source.format().facts.colours != Presence::Never;
            ensure!(
                has_colours || !evaluation.needs_colours(),
                "{}: {} does not store which side is White, which this evaluation needs; use data \
                 in another format",
                source.path().display(),
                source.format().name
            );
            if take(&mut is_first) {
                print_losses(source.format(), format);
            }
            batch.extend_from_slice(samples);
            if batch.len() >= STATIC_BATCH {
                // If the receiver is gone, its error is returned below.
                sender.send(take(&mut batch)).context("the output failed")?;
            }
            Ok(())
        });
        let _ = sender.send(batch);
        drop(sender);
        let output = written.join().expect("it does not panic")?;
        output.finish_counted(counts?)
    })
}

pub fn label_file(args: LabelArgs) -> Result<ExitCode> {
    if args.is_static {
        return label_without_search(args);
    }
    // A resumed job reads the input again, so it must be a file.
    let failed = || format!("cannot read {}", args.input.display());
    input::require_regular(&args.input).with_context(failed)?;
    // Counting is cheap: reading is a thousand times faster than searching.
    let mut source = SampleSource::open_file(&args.input, None, args.bad_records)?;
    let (mut block, mut count) = (Vec::new(), 0);
    while source.next_block(&mut block)? {
        count += block.len() as u64;
        block.clear();
    }
    let job = PositionsJob {
        output: args.writing.output.clone(),
        format: args.writing.output_format(&args.writing.output)?,
        limit: args.search.search_limit(&args.engines)?,
        crew: args.engines.parallel_players()?,
        range: args.part.item_range(count),
        bad_records: args.bad_records,
        input: args.input,
    };
    let total = job.range.end - job.range.start;
    run_job(&args.writing, (total, "positions"), Some(&job.input), |watch| {
        label_positions(&job, watch)
    })
}

/// Play games of an engine or an evaluation against itself
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data selfplay --games 10000 --nodes 5000 -o games.vf
  nnuance data selfplay --with runs/first --games 10000 --soft-nodes 5000 \\
      -o games.vf")]
#[command(after_help = "\
Every move is written with its score, every game with its result. Games
depend on the seed and their number. The same command resumes a job that was
stopped.")]
#[command(override_usage = "nnuance data selfplay [OPTIONS] --games <N> --out <FILE> --nodes <N>")]
pub struct Selfplay {
    /// Games to play
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// Play part I of N; the parts one after the other are the whole
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    part: JobPart,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    search: SearchArgs,
    /// Seed of the games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    beginning: Beginning,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    engines: Engines,
}

pub fn selfplay_file(args: Selfplay) -> Result<ExitCode> {
    let crew = args.engines.parallel_players()?;
    let book = args.beginning.book.clone();
    let job = SelfplayJob {
        output: args.writing.output.clone(),
        format: args.writing.output_format(&args.writing.output)?,
        games: args.games,
        range: args.part.item_range(args.games),
        seed: args.seed,
        limit: args.search.search_limit(&args.engines)?,
        openings: args.beginning.into_openings(),
        adjudication: args.rules.to_adjudication(),
        crew,
    };
    let total = job.range.end - job.range.start;
    run_job(&args.writing, (total, "games"), book.as_deref(), |watch| play_games(&job, watch))
}
