//! Commands that order positions or spread them over files: shuffle, interleave, split.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{Files, Pace, Tally, interrupted, positions_in, share};
use crate::cli::out;
use crate::data::draw::Interleave;
use crate::data::extract::Borders;
use crate::data::shuffle::{BUCKETS, Shuffle};
use crate::data::{Record, extract};
use crate::digits::grouped;
use crate::engine::Part;
use crate::format::{BLOCK, Holds, Source};
use crate::loader::Split;
use crate::output::{folder, is_device, is_standard, same};
use crate::sample::Sample;

/// Shuffle positions, of files larger than memory too
///
/// The order depends on the data, the order of the files and the seed alone, not on --memory.
/// What memory does not hold goes to a temporary file in the folder of the output: 40 bytes a
/// position.
/// Files of up to 256 times --memory can be shuffled. Formats of games must be converted first.
/// Where a disk does not hold them twice, or several machines share the work, --part makes a part
/// of the same order.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data shuffle a.bf b.bf -o shuffled.bf --seed 7 --memory 2048
  nnuance data shuffle a.bf b.bf -o second-quarter.bf --part 2/4")]
pub struct ShuffleArgs {
    #[command(flatten)]
    files: Files,
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Memory to use, about
    #[arg(long, value_name = "MB", default_value = "512")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    memory: u64,
    /// Write only this part of what would be written, the second of four; all parts, one behind the
    /// other, are the whole. Each reads all files, and needs the room of its own part alone
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    part: Part,
}

pub fn shuffle(args: ShuffleArgs) -> Result<ExitCode> {
    let ShuffleArgs { files, seed, memory, part } = args;
    let output = &files.writing.output;
    let format = files.writing.format(output)?;
    ensure!(
        format.facts.moves == Holds::Never,
        "{} holds positions that follow each other, which shuffling tears apart; write \
         bulletformat, marlinformat or text",
        format.name
    );
    // The folder of a device is no place for temporary files.
    let temporary = match is_device(output) || is_standard(output) {
        true => std::env::temp_dir(),
        false => folder(output),
    };
    let buckets = part.range(BUCKETS as u64);
    let buckets = buckets.start as usize..buckets.end as usize;
    let mut shuffle = Shuffle::new(seed, buckets, memory << 20, &temporary);
    let mut records = Vec::new();
    let (mut written, tally) = files.each("shuffle", files.create()?, |source, block, _| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            format.facts.games == Holds::Never,
            "{path} is {}, which holds games, and shuffling tears them apart; convert it to \
             bulletformat, marlinformat or text first",
            format.name
        );
        records.clear();
        records.extend(block.iter().map(|sample| Record::pack(sample).0));
        Ok(shuffle.push(&records)?)
    })?;
    shuffle.finish(|records| -> Result<()> {
        interrupted()?;
        records.iter().try_for_each(|record| written.write(&Record(*record).unpack()?))
    })?;
    written.finish(tally)
}

/// Merge files, each in proportion to its positions
///
/// The order within a file stays, and the positions of a game stay together. Reads the files
/// twice, first to count.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data interleave old.vf new.vf -o both.vf --seed 1")]
pub struct InterleaveArgs {
    #[command(flatten)]
    files: Files,
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn interleave(args: InterleaveArgs) -> Result<ExitCode> {
    args.files.inputs.require_files("files are counted first")?;
    let mut written = args.files.create()?;
    let mut streams = Vec::new();
    let mut counts = Vec::new();
    let mut pace = Pace::new("count");
    for path in &args.files.inputs.files {
        counts.push(positions_in(args.files.inputs.open(path)?, |count| pace.step(count))?);
        let source = args.files.inputs.open(path)?;
        written.print_losses(&source);
        streams.push(Stream { source, block: Vec::new(), at: 0 });
    }
    pace.finish();

    let mut pace = Pace::new("interleave");
    let mut tally = Tally::default();
    let mut draw = Interleave::new(args.seed, counts);
    let (mut game, mut untold) = (Vec::new(), 0);
    while let Some(drawn) = draw.draw() {
        game.clear();
        let count = streams[drawn].game(&mut game)?;
        draw.took(drawn, count);
        game.iter().try_for_each(|sample| written.write(sample))?;
        tally.read += count;
        untold += count;
        if untold >= BLOCK as u64 {
            pace.step(std::mem::take(&mut untold))?;
        }
    }
    pace.step(untold)?;
    pace.finish();
    streams.iter().for_each(|stream| tally.bad(&stream.source));
    written.finish(tally)
}

/// A file, game by game.
struct Stream {
    source: Source,
    block: Vec<Sample>,
    at: usize,
}

impl Stream {
    /// Appends the next game, or the next position where games are unknown, and returns the number
    /// of positions; none at the end.
    fn game(&mut self, out: &mut Vec<Sample>) -> Result<u64> {
        loop {
            if let Some(game) = extract::games(&self.block[self.at..]).next() {
                self.at += game.len();
                out.extend_from_slice(game);
                return Ok(game.len() as u64);
            }
            self.block.clear();
            self.at = 0;
            if !self.source.next_block(&mut self.block)? {
                return Ok(0);
            }
        }
    }
}

/// Split files by game, as training holds games out
///
/// A game is known by its moves, so the same game goes to the same side whichever file it lies
/// in. Where the format does not know games, the position stands for the game, and positions of
/// one game may come apart.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data split games.vf -o train.bf --held-out held-out.bf --share 0.1 --seed 0")]
pub struct SplitArgs {
    #[command(flatten)]
    files: Files,
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

pub fn split(args: SplitArgs) -> Result<ExitCode> {
    let output = &args.files.writing.output;
    for path in [output, &args.held_out] {
        ensure!(!is_standard(path), "two outputs cannot both be standard output; name two files");
    }
    ensure!(
        !same(output, &args.held_out),
        "both outputs are the same file, {} and {}; name two files",
        output.display(),
        args.held_out.display()
    );
    let rest = args.files.create()?;
    let mut held_out = args.files.create_at(&args.held_out)?;
    let split = Split { share: args.share, seed: args.seed };
    let mut borders = Borders::default();
    // Games of both sides, the held-out ones second.
    let mut games = [0u64; 2];
    let mut blind = None;
    let (rest, mut tally) = args.files.each("split", rest, |source, block, rest| {
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
