//! `nnuance compare`: which evaluation predicts results better, and with what confidence.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::data::select::FilterKeys;
use super::options::{DataFiles, DeviceArgs};
use super::out;
use super::terminal::Terminal;
use crate::run::evaluation_names::{make_names_distinct, require_distinct_evaluations};
use crate::run::evaluator::Evaluator;
use crate::run::honest::select_positions;
use crate::run::measure::{self, Measurement, read_positions};
use crate::run::{moves, played};

/// Compare evaluations by their loss on the results of games
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance compare material runs/quickstart-hce runs/quickstart-net score
  nnuance compare material nets/quickstart-32.bin --data games.vf --min-ply 16
  nnuance compare material runs/a runs/b --pgn match.pgn")]
#[command(after_help = "\
Each evaluation has the scale that fits it best, fitted on other games.
Games that an evaluation was trained on are recognised by their content and
left out, and what the filter of its training skips. Filter options replace
that filter. `score` needs positions with scores.")]
pub struct Args {
    /// Run folders, checkpoints, nets, handcrafted weights (JSON), or the built-in constant,
    /// material, score
    #[arg(required = true, value_name = "EVALUATION")]
    evaluations: Vec<String>,
    /// Games in PGN between some of them, for a column of Elo
    #[arg(help_heading = "What to measure")]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pgn: Vec<PathBuf>,
    /// Measure how many moves of winners each evaluation puts first, by quiescence; without a
    /// filter from half-move 16 on
    #[arg(help_heading = "What to measure")]
    #[arg(long, conflicts_with_all = ["deep", "pgn"])]
    moves: bool,
    /// Measure positions that were seen in training, too
    #[arg(help_heading = "What to measure")]
    #[arg(long)]
    all: bool,
    /// Add losses by game phase, calibration, disagreements and the cost of quantising
    #[arg(help_heading = "What to measure")]
    #[arg(long)]
    deep: bool,
    /// Add all pairs, losses against the targets of training, and notes
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFiles,
    #[command(flatten)]
    filter: FilterKeys,
    #[command(flatten)]
    device: DeviceArgs,
}

const BOARDS: usize = 4;
/// Number of half-moves of a game that are opening theory.
const OPENING: u16 = 16;

pub fn run_command(args: Args) -> Result<()> {
    require_distinct_evaluations(&args.evaluations)?;
    let terminal = Terminal::default();
    let host = args.device.open_host(&terminal)?;
    let open = |name: &String| Evaluator::open_evaluation(name, &host);
    let mut evaluators = args.evaluations.iter().map(open).collect::<Result<Vec<_>>>()?;
    make_names_distinct(&mut evaluators);
    let games = (!args.pgn.is_empty()).then(|| played::read_matches(&args.pgn)).transpose()?;
    let filter = args.filter.given_filter();
    let recipe = evaluators.iter().find_map(|it| it.recipe.as_ref());
    let mut plan = measure::plan_positions(args.data.read_plan(), recipe, &evaluators)?;
    // If a run read a limited number from each file, the filter of the run selected them.
    if let Some(filter) = filter.as_ref().filter(|_| plan.reading.limit.is_none()) {
        plan.reading.filter = filter.clone();
    }
    let (mut samples, cautions) = read_positions(&plan, &terminal)?;
    if let Some(filter) = &filter {
        samples.retain(|sample| filter.rejecting_key(sample).is_none());
        ensure!(!samples.is_empty(), "the filter leaves no position to compare on");
    } else if args.moves {
        samples.retain(|sample| sample.ply.is_none_or(|ply| ply >= OPENING));
    }
    // The filter of a training may drop captures, which move ranking needs.
    let chosen = filter.is_some() || args.moves;
    let selection = select_positions(&evaluators, samples, args.all, chosen)?;
    if args.moves {
        selection.notes.iter().for_each(|note| eprintln!("{note}"));
        let comparison = moves::find_played_moves(&evaluators, selection, &terminal)?;
        return out::print_result(args.json, &comparison, comparison.to_text());
    }
    let mut measurement =
        Measurement::measure_selection(&evaluators, selection, cautions, &plan.files)?;
    if let Some(games) = &games {
        measurement.add_match(games, &evaluators)?;
    }
    if !args.verbose {
        measurement.notes.iter().for_each(|note| eprintln!("{note}"));
    }
    if args.deep {
        let mut deep = measurement.compare_deeply(BOARDS)?;
        deep.quantising = measurement.measure_quantising()?;
        return out::print_result(args.json, &deep, deep.to_text(args.verbose));
    }
    let comparison = measurement.compare_all()?;
    out::print_result(args.json, &comparison, comparison.to_text(args.verbose))
}
