//! `nnuance data stats`: the contents of files in numbers.

use std::process::ExitCode;

use anyhow::Result;

use super::io::InputFiles;
use crate::cli::out;
use crate::data::stats::{SCORES, Stats};
use crate::digits::{format_decimal_percent, group_digits, positions_of_games};
use crate::report::TextTable;

/// Count positions, games, results, scores and pieces
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance data stats data/selfplay-sf15.vf")]
pub struct Args {
    #[command(flatten)]
    inputs: InputFiles,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    let mut stats = Stats::default();
    let counts = args.inputs.read_each("stats", |_, block| {
        block.iter().for_each(|sample| stats.add(sample));
        Ok(())
    })?;
    for (reason, count) in &counts.left_out {
        eprintln!("{} {reason} left out", group_digits(*count));
    }
    out::print_result(args.json, &stats, format_stats(&stats))?;
    Ok(ExitCode::SUCCESS)
}

const BAR: f64 = 30.0;

/// Formats the amounts, and the shares of kinds of positions.
fn format_stats(stats: &Stats) -> String {
    let mut amounts = positions_of_games(stats.positions, stats.games.unwrap_or(0), stats.gameless);
    if stats.scored > 0 {
        let mean = stats.score_sum as f64 / stats.scored as f64;
        amounts += &format!(", mean score {mean:+.1} cp for the side to move");
    }
    format!("{amounts}\n\n{}", stats_table(stats))
}

fn stats_table(stats: &Stats) -> TextTable {
    let mut table = TextTable::with_titles(&["<what", "positions", "share", "<"]);
    let total = stats.positions.max(1) as f64;
    let mut row = |what: String, count: u64, bar: bool| {
        let share = count as f64 / total;
        let bar = if bar { "#".repeat((share * BAR).round() as usize) } else { String::new() };
        table.add_row([what, group_digits(count), format_decimal_percent(share, 1), bar]);
    };
    row("White to move".into(), stats.white_to_move, false);
    row("in check".into(), stats.in_check, false);
    row("lost for the side to move".into(), stats.losses, true);
    row("drawn".into(), stats.draws, true);
    row("won".into(), stats.wins, true);
    if stats.other_results > 0 {
        row("results between".into(), stats.other_results, true);
    }
    row("with a score".into(), stats.scored, false);
    let mut from = 0;
    for (to, count) in SCORES.into_iter().zip(stats.scores) {
        if count > 0 {
            row(format!("|score| {from} to {to} cp"), count, true);
        }
        from = to + 1;
    }
    for (pieces, count) in (2..).zip(stats.pieces) {
        if count > 0 {
            row(format!("{pieces} pieces"), count, true);
        }
    }
    table
}
