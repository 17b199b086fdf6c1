//! `nnuance data interleave`: several files into one.

use std::process::ExitCode;

use anyhow::Result;

use super::io::{Inputs, Pace, Tally, Writing};
use crate::data::interleave::Interleave;
use crate::data::units;
use crate::format::{BLOCK, Source};
use crate::sample::Sample;

/// Merge files, each in proportion to its positions
///
/// The order within a file stays, and the positions of a game stay together. Reads the files
/// twice, first to count.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data interleave old.vf new.vf -o both.vf --seed 1")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.inputs.require_files("files are counted first")?;
    let mut written = args.writing.create(&args.inputs)?;
    let mut streams = Vec::new();
    let mut counts = Vec::new();
    let mut pace = Pace::new("count");
    for path in &args.inputs.files {
        let (mut source, mut block, mut count) = (args.inputs.open(path)?, Vec::new(), 0);
        while source.next_block(&mut block)? {
            count += block.len() as u64;
            pace.step(block.len() as u64)?;
            block.clear();
        }
        counts.push(count);
        let source = args.inputs.open(path)?;
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
            if let Some(game) = units::games(&self.block[self.at..]).next() {
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
