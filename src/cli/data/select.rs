//! Commands that choose positions or write them in another form: convert, filter, extract, sample,
//! dedup.

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Files, count, share};
use crate::data::draw::Draw;
use crate::data::extract::Extract;
use crate::data::{self, extract};
use crate::format::Holds;
use crate::loader::{Filter, Rejected};
use crate::sample::{Sample, mix};

/// Write positions in another format
///
/// Scores and results are turned to whoever sees them there. What the other format does not hold
/// is said first.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data convert games.pgn -o games.vf.zst
  nnuance data convert lines.epd --point-of-view side-to-move -o lines.bf --skip-unfit")]
pub struct Convert {
    #[command(flatten)]
    files: Files,
    /// Skip positions that the format cannot hold, such as those without a score; not with formats
    /// of games
    #[arg(long)]
    skip_unfit: bool,
}

pub fn convert(Convert { files, skip_unfit }: Convert) -> Result<ExitCode> {
    let written = if skip_unfit { files.create_selection()? } else { files.create()? };
    let format = written.format;
    let remedy = "; or leave out what does not fit with --skip-unfit";
    let (mut scratch, mut unfit) = (Vec::new(), 0);
    let (written, mut tally) = files.each("convert", written, |_, block, written| {
        for sample in block {
            if skip_unfit && data::fits(sample, format, &mut scratch).is_err() {
                unfit += 1;
            } else {
                written.write_or(sample, remedy)?;
            }
        }
        Ok(())
    })?;
    tally.without(format!("unfit for {}", format.name), unfit);
    written.finish(tally)
}

/// Leave out positions, by the keys of [data.filter] in configs
///
/// A key that asks for a fact which the format never tells is refused. The output is a format of
/// single positions.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data filter games.vf -o quiet.bf --min-ply 16 --min-pieces 4 --skip-in-check \\
      --skip-captures --skip-promotions --max-score 10000")]
pub struct FilterArgs {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    keys: FilterKeys,
}

/// The keys of [data.filter] in configs.
#[derive(clap::Args)]
#[command(next_help_heading = "Positions to skip")]
pub struct FilterKeys {
    /// Half-moves since the start of the game, at least
    #[arg(long, value_name = "N")]
    min_ply: Option<u16>,
    /// Pieces at least, kings included
    #[arg(long, value_name = "N")]
    min_pieces: Option<usize>,
    /// Pieces at most, kings included
    #[arg(long, value_name = "N")]
    max_pieces: Option<usize>,
    /// The largest |score| in centipawns
    #[arg(long, value_name = "CP")]
    max_score: Option<u16>,
    /// Leave out positions whose side to move is in check
    #[arg(long)]
    skip_in_check: bool,
    /// Leave out positions in which a capture was played
    #[arg(long)]
    skip_captures: bool,
    /// Leave out positions in which a promotion was played
    #[arg(long)]
    skip_promotions: bool,
}

impl FilterKeys {
    /// The filter, if a key was given.
    pub fn given(&self) -> Option<Filter> {
        let filter = self.filter();
        (filter != Filter::default()).then_some(filter)
    }

    fn filter(&self) -> Filter {
        Filter {
            min_ply: self.min_ply,
            skip_in_check: self.skip_in_check,
            skip_captures: self.skip_captures,
            skip_promotions: self.skip_promotions,
            max_score: self.max_score,
            min_pieces: self.min_pieces,
            max_pieces: self.max_pieces,
        }
    }
}

pub fn filter(FilterArgs { files, keys }: FilterArgs) -> Result<ExitCode> {
    let filter = keys.filter();
    let (written, mut rejected) = (files.create_selection()?, Rejected::default());
    let (written, mut tally) = files.each("filter", written, |source, block, written| {
        filter.check(source.path(), source.format())?;
        for sample in block {
            match filter.rejects(sample) {
                Some(rejection) => rejected.count(rejection),
                None => written.write(sample)?,
            }
        }
        Ok(())
    })?;
    rejected.counts().for_each(|(key, count)| tally.without(key, count));
    written.finish(tally)
}

/// Scores this far from zero or farther are mates.
const MATE: u16 = 31_000;

/// Choose positions from games: PGN, viriformat, binpack
///
/// Neighbouring positions of a game share its result and are nearly the same, so a few of each
/// game teach about as much as all. The choice depends on a game's moves and the seed alone. The
/// output is a format of single positions; .epd holds those without a score.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data extract games.pgn -o positions.epd --skip-plies 16 --per-game 10 --quiet")]
pub struct ExtractArgs {
    #[command(flatten)]
    files: Files,
    /// The first half-moves of each game that are left out
    #[arg(long, value_name = "N", default_value = "0")]
    skip_plies: u16,
    /// Positions of each game at most, spread over it [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    per_game: Option<u64>,
    /// Only where the side to move is not in check and plays neither capture nor promotion
    #[arg(long)]
    quiet: bool,
    /// Leave out positions with the score of a mate
    #[arg(long)]
    no_mates: bool,
    /// Pieces at least, kings included
    #[arg(long, value_name = "N", default_value = "0")]
    min_pieces: usize,
    /// Seed of what is drawn from games with more positions than wanted
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn extract(args: ExtractArgs) -> Result<ExitCode> {
    let filter = Filter {
        min_ply: (args.skip_plies > 0).then_some(args.skip_plies),
        skip_in_check: args.quiet,
        skip_captures: args.quiet,
        skip_promotions: args.quiet,
        max_score: args.no_mates.then_some(MATE - 1),
        min_pieces: (args.min_pieces > 0).then_some(args.min_pieces),
        max_pieces: None,
    };
    let written = args.files.create_selection()?;
    let per_game = args.per_game.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let mut extract = Extract::new(per_game, args.seed);
    let (mut rejected, mut drawn) = (Rejected::default(), Vec::<Sample>::new());
    let (mut written, mut tally) = args.files.each("extract", written, |source, block, out| {
        filter.check(source.path(), source.format())?;
        ensure!(
            per_game.is_none() || source.format().facts.games != Holds::Never,
            "{}: --per-game needs to know games, which {} does not tell; extract from games",
            source.path().display(),
            source.format().name
        );
        for sample in block {
            match filter.rejects(sample) {
                Some(rejection) => rejected.count(rejection),
                None => extract.push(sample, &mut drawn),
            }
        }
        drawn.drain(..).try_for_each(|sample| out.write(&sample))
    })?;
    extract.finish(&mut drawn);
    drawn.iter().try_for_each(|sample| written.write(sample))?;
    rejected.counts().for_each(|(key, count)| tally.without(key, count));
    tally.without("others of the game drawn", extract.left_out);
    written.finish(tally)
}

/// Draw positions or games at random, in the order of the files
///
/// A count is exact and reads the files twice; with a share each position or game is drawn with
/// that probability. Formats of games take whole games alone, see --games.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data sample games.vf -o some.vf --share 0.05 --games
  nnuance data sample positions.bf -o few.bf --count 100000")]
pub struct SampleArgs {
    #[command(flatten)]
    files: Files,
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

pub fn sample(args: SampleArgs) -> Result<ExitCode> {
    let SampleArgs { files, games, seed, .. } = &args;
    let written = if *games { files.create()? } else { files.create_selection()? };
    let mut draw = match (args.count, args.share) {
        (Some(wanted), _) => {
            files.inputs.require_files("an exact count reads twice")?;
            let mut count = 0;
            let tally = files.inputs.each("count", |_, block| {
                count += extract::games(block).count() as u64;
                Ok(())
            })?;
            let all = if *games { count } else { tally.read };
            ensure!(wanted <= all, "{wanted} are wanted, but there are only {all}; lower --count");
            Draw::count(*seed, wanted, all)
        }
        (None, share) => Draw::share(*seed, share.unwrap_or(1.0)),
    };
    let (written, mut tally) = files.each("sample", written, |source, block, written| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            !games || format.facts.games != Holds::Never,
            "{path}: {} does not tell games; leave --games out",
            format.name
        );
        let mut drawn = |sample| written.write(sample);
        match games {
            true => {
                extract::games(block).filter(|_| draw.takes()).flatten().try_for_each(&mut drawn)
            }
            false => block.iter().filter(|_| draw.takes()).try_for_each(&mut drawn),
        }
    })?;
    tally.without("not drawn", tally.read - written.count);
    written.finish(tally)
}

/// Keep every position once, as it comes first
///
/// Positions are the same if pieces, side to move, castling rights and en passant square are. About
/// 16 bytes of memory a position, up to 32 while the table grows. The output is a format of single
/// positions.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data dedup a.bf b.bf -o once.bf")]
pub struct Dedup {
    #[command(flatten)]
    files: Files,
}

pub fn dedup(Dedup { files }: Dedup) -> Result<ExitCode> {
    let (mut seen, mut twice) = (HashSet::new(), 0);
    let written = files.create_selection()?;
    let (written, mut tally) = files.each("dedup", written, |_, block, written| {
        for sample in block {
            match seen.insert(key(sample)) {
                true => written.write(sample)?,
                false => twice += 1,
            }
        }
        Ok(())
    })?;
    tally.without("seen before", twice);
    written.finish(tally)
}

/// A hash of a position: among a thousand million, two are the same with a chance of one in 37.
fn key(sample: &Sample) -> u64 {
    // The key of a position is also that of its mirror image with colours swapped.
    mix(sample.position.key(), sample.position.turn().is_black().into())
}
