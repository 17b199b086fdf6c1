//! `nnuance data sample`: a random part.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Inputs, Writing, count, share};
use crate::data::draw::Draw;
use crate::data::units;
use crate::format::Holds;

/// Draw positions or games at random, in the order of the files
///
/// A count is exact and reads the files twice; with a share each position or game is drawn with
/// that probability. Formats of games take whole games alone, see --games.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data sample games.vf -o some.vf --share 0.05 --games
  nnuance data sample positions.bf -o few.bf --count 100000")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
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
    let mut written = match args.games {
        true => args.writing.create(&args.inputs)?,
        false => args.writing.create_selection(&args.inputs)?,
    };
    let mut draw = match (args.count, args.share) {
        (Some(wanted), _) => {
            args.inputs.require_files("an exact count reads twice")?;
            let mut games = 0;
            let tally = args.inputs.each("count", |_, block| {
                games += units::games(block).count() as u64;
                Ok(())
            })?;
            let all = if args.games { games } else { tally.read };
            ensure!(wanted <= all, "{wanted} are wanted, but there are only {all}; lower --count");
            Draw::count(args.seed, wanted, all)
        }
        (None, share) => Draw::share(args.seed, share.unwrap_or(1.0)),
    };
    let mut tally = args.inputs.each("sample", |source, block| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            !args.games || format.facts.games != Holds::Never,
            "{path}: {} does not tell games; leave --games out",
            format.name
        );
        written.print_losses(source);
        let mut drawn = |sample| written.write(sample);
        match args.games {
            true => units::games(block).filter(|_| draw.takes()).flatten().try_for_each(&mut drawn),
            false => block.iter().filter(|_| draw.takes()).try_for_each(&mut drawn),
        }
    })?;
    tally.without("not drawn", tally.read - written.count);
    written.finish(tally)
}
