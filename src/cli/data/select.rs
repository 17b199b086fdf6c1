//! Commands that choose positions or write them in another form: convert, filter, sample, dedup.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{ConvertFiles, OutputFile, parse_share};
use crate::data::{self, extract::Extract};
use crate::format::Presence;
use crate::loader::{CustomFilter, Filter, RejectCounts, Split};
use crate::output::{is_same, is_standard};
use crate::registry::NamedValue;
use crate::sample::{Sample, mix_hash};

/// Write positions in another format
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data convert games.pgn -o games.vf.zst
  nnuance data convert lines.epd --score-view side-to-move -o lines.bf \\
      --skip-unfit")]
#[command(after_help = "\
Scores and results are converted to the point of view of the format. A line
names the facts that the format does not hold.")]
pub struct Convert {
    #[command(flatten)]
    files: ConvertFiles,
    /// Skip positions that the format cannot hold, such as those without a score; not for formats
    /// of games
    #[arg(long)]
    skip_unfit: bool,
    /// Skip games that ended by the clock, a lost connection or a broken rule, in PGN
    #[arg(long)]
    skip_forfeits: bool,
}

pub fn convert_files(Convert { files, skip_unfit, skip_forfeits }: Convert) -> Result<ExitCode> {
    let mut written = if skip_unfit { files.create_selection()? } else { files.create_output()? };
    let format = written.format;
    let (mut scratch, mut unfit, mut forfeited) = (Vec::new(), 0, 0);
    let filter = Filter { skip_forfeits, ..Filter::default() };
    let mut counts = files.read_to_convert("convert", format, |source, block| {
        filter.check_format(source.path(), source.format())?;
        for sample in block {
            if filter.rejecting_key(sample).is_some() {
                forfeited += 1;
            } else if skip_unfit && !data::is_storable(sample, format, &mut scratch) {
                unfit += 1;
            } else {
                written.write_sample(sample)?;
            }
        }
        Ok(())
    })?;
    counts.add_skipped(&format!("unfit for {}", format.name), unfit);
    counts.add_skipped("skip_forfeits", forfeited);
    written.finish_counted(counts)
}

/// Skip positions, by the keys of [data.filter] in configs
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance data filter games.vf -o quiet.bf --min-ply 16 --skip-captures
  nnuance data filter games.pgn -o positions.epd --per-game 10 --skip-in-check")]
#[command(after_help = "\
A key that needs a fact which the format does not hold is refused.
Positions of a game share its result, so a few of each teach about as much as
all. The output is a format of single positions; .epd holds unscored ones.")]
pub struct FilterArgs {
    #[command(flatten)]
    files: ConvertFiles,
    /// Positions of each game at most, spread over it [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    per_game: Option<u64>,
    /// Seed of --per-game
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    keys: FilterKeys,
}

/// The keys of [data.filter] in configs.
#[derive(clap::Args)]
#[command(next_help_heading = "Positions to skip")]
pub struct FilterKeys {
    /// Skip half-moves of a game before this one
    #[arg(long, value_name = "N")]
    min_ply: Option<u16>,
    /// Skip positions with fewer pieces, kings included
    #[arg(long, value_name = "N")]
    min_pieces: Option<usize>,
    /// Skip positions with more pieces, kings included
    #[arg(long, value_name = "N")]
    max_pieces: Option<usize>,
    /// Skip positions whose |score| is larger, in centipawns
    #[arg(long, value_name = "CP")]
    max_score: Option<u16>,
    /// Skip positions whose side to move is in check
    #[arg(long)]
    skip_in_check: bool,
    /// Skip positions in which a capture was played
    #[arg(long)]
    skip_captures: bool,
    /// Skip positions in which a promotion was played
    #[arg(long)]
    skip_promotions: bool,
    /// Skip positions in which castling was played
    #[arg(long)]
    skip_castling: bool,
    /// Skip positions with a score of 0
    #[arg(long)]
    skip_zero_scores: bool,
    /// Skip positions where the loser's score, or any in a draw, is larger, in centipawns
    #[arg(long, value_name = "CP")]
    max_miss: Option<u16>,
    /// Skip this share of the positions at random, the same ones each time
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    random_skip: Option<f64>,
    /// Skip games that ended by the clock, a lost connection or a broken rule, in PGN
    #[arg(long)]
    skip_forfeits: bool,
    /// Skip positions that a filter of this program rejects; may be repeated
    #[arg(long, value_name = "NAME")]
    own: Vec<NamedValue<CustomFilter>>,
}

impl FilterKeys {
    /// Returns the filter, if any key was given.
    pub fn given_filter(&self) -> Option<Filter> {
        let filter = self.to_filter();
        (filter != Filter::default()).then_some(filter)
    }

    fn to_filter(&self) -> Filter {
        Filter {
            min_ply: self.min_ply,
            skip_in_check: self.skip_in_check,
            skip_captures: self.skip_captures,
            skip_promotions: self.skip_promotions,
            skip_forfeits: self.skip_forfeits,
            skip_castling: self.skip_castling,
            skip_zero_scores: self.skip_zero_scores,
            max_score: self.max_score,
            max_miss: self.max_miss,
            random_skip: self.random_skip,
            accept_pieces: Vec::new(),
            min_pieces: self.min_pieces,
            max_pieces: self.max_pieces,
            own: self.own.clone(),
        }
    }
}

pub fn filter_files(FilterArgs { files, per_game, seed, keys }: FilterArgs) -> Result<ExitCode> {
    let filter = keys.to_filter();
    let mut written = files.create_selection()?;
    let per_game = per_game.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut extract = Extract::new(per_game, seed);
    let (mut rejected, mut drawn) = (RejectCounts::default(), Vec::<Sample>::new());
    let mut counts = files.read_to_convert("filter", written.format, |source, block| {
        filter.check_format(source.path(), source.format())?;
        ensure!(
            per_game.is_none() || source.format().facts.games != Presence::Never,
            "{}: --per-game needs games, which {} does not hold; filter files of games",
            source.path().display(),
            source.format().name
        );
        for sample in block {
            match filter.rejecting_key(sample) {
                Some(rejection) => rejected.count_reject(rejection),
                None => extract.push(sample, &mut drawn),
            }
        }
        drawn.drain(..).try_for_each(|sample| written.write_sample(&sample))
    })?;
    extract.finish_game(&mut drawn);
    drawn.iter().try_for_each(|sample| written.write_sample(sample))?;
    rejected.counts_by_key().for_each(|(key, count)| counts.add_skipped(key, count));
    counts.add_skipped("others of the game drawn", extract.left_out);
    written.finish_counted(counts)
}

/// Draw games at random, or positions if games are unknown
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance data sample games.vf -o test.vf --share 0.1 --rest train.vf")]
#[command(after_help = "\
The same game is drawn in whichever file it is. With the share and seed of
data.held_out and data.held_out_seed, the games are those that training holds
out.")]
pub struct SampleArgs {
    #[command(flatten)]
    files: ConvertFiles,
    /// Share of the games to draw, between 0 and 1
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    share: f64,
    /// File for the games that are not drawn
    #[arg(help_heading = "Output")]
    #[arg(long, value_name = "FILE")]
    rest: Option<PathBuf>,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn sample_games(SampleArgs { files, share, rest, seed }: SampleArgs) -> Result<ExitCode> {
    let output = &files.writing.output;
    ensure!(
        rest.as_ref().is_none_or(|rest| !is_same(output, rest) && !is_standard(rest)),
        "--rest needs a file of its own; name another than that of --out"
    );
    let mut written = files.create_output()?;
    let mut rest: Option<OutputFile> = rest.map(|rest| files.create_at(&rest)).transpose()?;
    let split = Split { share, seed };
    let mut counts = files.read_to_convert("sample", written.format, |_, block| {
        for sample in block {
            match &mut rest {
                _ if split.holds_out(sample.split_group()) => written.write_sample(sample)?,
                Some(rest) => rest.write_sample(sample)?,
                None => {}
            }
        }
        Ok(())
    })?;
    counts.add_skipped("not drawn", counts.read - written.count);
    if let Some(rest) = rest {
        ensure!(
            written.count > 0 && rest.count > 0,
            "nothing is left for one of the two files ({counts}); choose another --share or --seed"
        );
        rest.close_file(&counts)?;
    }
    written.finish_counted(counts)
}

/// Keep the first of equal positions
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance data dedup a.bf b.bf -o once.bf")]
#[command(after_help = "\
Positions are equal in pieces, side to move, castling rights and en passant
square. Each takes 10 to 20 bytes of memory. The output is a format of single
positions.")]
pub struct Dedup {
    #[command(flatten)]
    files: ConvertFiles,
}

pub fn remove_duplicates(Dedup { files }: Dedup) -> Result<ExitCode> {
    let mut written = files.create_selection()?;
    let mut keys = HashSet::new();
    let mut counts = files.read_to_convert("dedup", written.format, |_, block| {
        for sample in block {
            // A position and its colour-flipped mirror image have the same key.
            let is_black = sample.position.turn().is_black();
            if keys.insert(mix_hash(sample.position.zobrist_key(), is_black.into())) {
                written.write_sample(sample)?;
            }
        }
        Ok(())
    })?;
    counts.add_skipped("seen before", counts.read - written.count);
    written.finish_counted(counts)
}
