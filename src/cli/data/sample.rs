//! `nnuance data sample`: a random part.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Inputs, Writing, count, share};
use crate::data::draw::Draw;
use crate::data::units;
use crate::format::Holds;
use crate::sample::Sample;

/// Draw positions or games at random, in the order of the files
///
/// A count is exact and reads the files twice; with a share each position or game is drawn with
/// that probability. Positions drawn one by one keep their games whole in viriformat and PGN: those
/// not drawn stay, marked.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data sample games.vf -o some.vf --share 0.05 --games
  nnuance data sample positions.bf -o few.bf --count 100000")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    /// The file to write
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    writing: Writing,
    /// How many to draw
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(conflicts_with = "share", required_unless_present = "share")]
    count: Option<u64>,
    /// Which share to draw, between 0 and 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    share: Option<f64>,
    /// Draw whole games
    #[arg(long)]
    games: bool,
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut written = args.writing.create(&args.output, &args.inputs)?;
    if !args.games {
        written = written.with_gaps();
    }
    let counts = |sample: &&Sample| !sample.is_left_out();
    let mut draw = match (args.count, args.share) {
        (Some(wanted), _) => {
            args.inputs.refuse_pipe("an exact count reads twice")?;
            let mut all = 0;
            let tally = args.inputs.each_of_games("count", |_, block| {
                all += units::games(block).filter(|game| game.iter().any(|it| counts(&it))).count();
                Ok(())
            })?;
            let all = if args.games { all as u64 } else { tally.read };
            ensure!(wanted <= all, "{wanted} are wanted, but there are only {all}; lower --count");
            Draw::count(args.seed, wanted, all)
        }
        (None, share) => Draw::share(args.seed, share.unwrap_or(1.0)),
    };
    let mut tally = args.inputs.each_of_games("sample", |source, block| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            !args.games || format.facts.games != Holds::Never,
            "{path}: {} does not tell games; leave --games out",
            format.name
        );
        written.tell_losses(source);
        if !args.games {
            return block.iter().try_for_each(|sample| match counts(&sample) && draw.takes() {
                true => written.write(sample),
                false => written.leave_out(sample),
            });
        }
        units::games(block)
            .filter(|game| game.iter().any(|it| counts(&it)) && draw.takes())
            .flatten()
            .try_for_each(|sample| written.write(sample))
    })?;
    tally.without("not drawn", tally.read - written.count);
    written.finish(tally)
}
