//! `nnuance data shuffle`: positions in random order, more than memory holds.

use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};

use super::io::{Inputs, Pace, Tally, Writing, interrupted};
use crate::data::Record;
use crate::data::shuffle::{Part, Shuffle};
use crate::format::{Format, Holds, bulletformat, fill, marlinformat, unpack};
use crate::output::{folder, is_device, is_standard};

/// Shuffle positions, of files larger than memory too
///
/// The order depends on the data, the order of the files and the seed alone, not on --memory.
/// What memory does not hold goes to a temporary file in the folder of the output, which needs
/// as much space again: 32 bytes a position, or 40 where formats differ or files are packed.
/// Files of up to 256 times --memory can be shuffled. Formats of games must be converted first.
/// Where a disk does not hold them twice, or several machines share the work, --part makes a part
/// of the same order.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data shuffle a.bf b.bf -o shuffled.bf --seed 7 --memory 2048
  nnuance data shuffle a.bf b.bf -o second-quarter.bf --part 2/4")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    writing: Writing,
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

/// Bytes of a record of bulletformat or marlinformat.
const RAW: usize = 32;
/// Records are read in pieces of about so many bytes.
const PIECE: usize = 1 << 20;

impl Args {
    fn shuffle<const N: usize>(&self) -> Shuffle<N> {
        // The folder of a device is no place for temporary files.
        let output = &self.writing.output;
        let folder = match is_device(output) || is_standard(output) {
            true => std::env::temp_dir(),
            false => folder(output),
        };
        Shuffle::new(self.seed, self.part, self.memory << 20, &folder)
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let format = args.writing.format(&args.writing.output)?;
    ensure!(
        format.facts.moves == Holds::Never,
        "{} holds positions that follow each other, which shuffling tears apart; write \
         bulletformat, marlinformat or text",
        format.name
    );
    if raw(&args, format)? { shuffle_raw(&args) } else { shuffle_decoded(&args) }
}

/// Whether files and output are records of 32 bytes of one format: then they are not decoded.
fn raw(args: &Args, format: &Format) -> Result<bool> {
    if ![bulletformat::FORMAT.name, marlinformat::FORMAT.name].contains(&format.name) {
        return Ok(false);
    }
    for path in &args.inputs.files {
        if !path.is_file() || args.inputs.open(path)?.format().name != format.name {
            return Ok(false);
        }
    }
    Ok(true)
}

fn shuffle_raw(args: &Args) -> Result<ExitCode> {
    let mut written = args.writing.create(&args.inputs)?;
    let mut shuffle = args.shuffle::<RAW>();
    let (mut pace, mut tally) = (Pace::new("shuffle"), Tally::default());
    let (mut piece, mut cut_off) = (vec![0; PIECE], 0);
    for path in &args.inputs.files {
        let failed = || format!("cannot read {}", path.display());
        let mut input = unpack::open(path).with_context(failed)?;
        loop {
            let length = fill(&mut *input, &mut piece).with_context(failed)?;
            let (records, rest) = piece[..length].as_chunks::<RAW>();
            shuffle.push(records)?;
            tally.read += records.len() as u64;
            pace.step(records.len() as u64)?;
            if !rest.is_empty() {
                ensure!(
                    args.inputs.bad_records > 0,
                    "{}: the file ends after {} of the {RAW} bytes of a record (to leave it out, \
                     pass --bad-records 1)",
                    path.display(),
                    rest.len()
                );
                cut_off += 1;
            }
            if length < PIECE {
                break;
            }
        }
    }
    shuffle.finish(|records| -> Result<()> {
        interrupted()?;
        written.write_records(records.as_flattened(), records.len() as u64)
    })?;
    pace.finish();
    tally.without("bad records", cut_off);
    written.finish(tally)
}

fn shuffle_decoded(args: &Args) -> Result<ExitCode> {
    let mut written = args.writing.create(&args.inputs)?;
    let mut shuffle = args.shuffle::<{ Record::LENGTH }>();
    let mut records = Vec::new();
    let tally = args.inputs.each("shuffle", |source, block| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            format.facts.games == Holds::Never,
            "{path} is {}, which holds games, and shuffling tears them apart; convert it to \
             bulletformat, marlinformat or text first",
            format.name
        );
        written.print_losses(source);
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
