//! `nnuance data split`: games to learn from, and games to measure on.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Inputs, Writing, share};
use crate::cli::out;
use crate::data::units::Borders;
use crate::digits::grouped;
use crate::loader::Split;
use crate::output::{is_standard, same};

/// Split files by game, as training holds games out
///
/// A game is known by its moves, so the same game goes to the same side whichever file it lies
/// in. Where the format does not know games, the position stands for the game, and positions of
/// one game may come apart.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data split games.vf -o train.bf --held-out held-out.bf --share 0.1 --seed 0")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
    /// The file for the games that are held out; --out takes the others
    #[arg(long, value_name = "FILE")]
    held_out: PathBuf,
    /// Share of the games to hold out, as data.held_out in configs
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    share: f64,
    /// As data.held_out_seed in configs
    #[arg(long, value_name = "N", default_value = "0")]
    seed: u64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let output = &args.writing.output;
    for path in [output, &args.held_out] {
        ensure!(!is_standard(path), "two outputs cannot both be standard output; name two files");
    }
    ensure!(
        !same(output, &args.held_out),
        "both outputs are the same file, {} and {}; name two files",
        output.display(),
        args.held_out.display()
    );
    let mut rest = args.writing.create(&args.inputs)?;
    let mut held_out = args.writing.create_at(&args.held_out, &args.inputs)?;
    let split = Split { share: args.share, seed: args.seed };
    let mut borders = Borders::default();
    // Games of both sides, the held-out ones second.
    let mut games = [0u64; 2];
    let mut blind = None;
    let mut tally = args.inputs.each("split", |source, block| {
        rest.print_losses(source);
        for sample in block {
            let held = split.holds_out(sample);
            if sample.game.is_none() && blind.is_none() {
                blind = Some(source.path().to_path_buf());
            }
            games[usize::from(held)] += u64::from(borders.begins(sample));
            if held { held_out.write(sample)? } else { rest.write(sample)? }
        }
        Ok(())
    })?;
    tally.written = rest.count + held_out.count;
    for (count, path) in [(rest.count, output), (held_out.count, &args.held_out)] {
        ensure!(
            count > 0,
            "no position is left for {} ({tally}); choose another --share or --seed",
            path.display()
        );
    }
    if let Some(path) = blind {
        eprintln!(
            "{}: not all games are known: positions stand for them, so that those of one game may \
             lie in both outputs",
            path.display()
        );
    }
    let counts = format!(
        "{tally}: {} positions of {} games in {}, {} of {} held out in {}",
        grouped(rest.count),
        grouped(games[0]),
        output.display(),
        grouped(held_out.count),
        grouped(games[1]),
        args.held_out.display()
    );
    rest.close(&tally)?;
    held_out.close(&tally)?;
    out::line(counts)?;
    Ok(ExitCode::SUCCESS)
}
