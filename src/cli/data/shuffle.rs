//! `nnuance data shuffle`: positions in random order, more than memory holds.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};

use super::io::{Inputs, Pace, Tally, Writing, interrupted};
use crate::cli::out;
use crate::data::Record;
use crate::data::shuffle::{Part, Shuffle};
use crate::format::{Format, Holds, bulletformat, marlinformat};
use crate::output::{Output, folder, is_device, is_standard};

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
/// Records are handed on in pieces of about so many bytes.
const PIECE: usize = 1 << 20;

impl Args {
    fn shuffle<const N: usize>(&self) -> Shuffle<N> {
        // The folder of a device is no place for temporary files.
        let folder = match is_device(&self.writing.output) || is_standard(&self.writing.output) {
            true => std::env::temp_dir(),
            false => folder(&self.writing.output),
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

/// Whether files and output are records of 32 bytes of one format, none of them packed: then
/// records need not be decoded.
fn raw(args: &Args, format: &Format) -> Result<bool> {
    let raw = [bulletformat::FORMAT.name, marlinformat::FORMAT.name];
    let packed = |path: &Path| {
        ["gz", "zst", "xz", "zip"].iter().any(|&end| path.extension().is_some_and(|it| it == end))
    };
    if !raw.contains(&format.name)
        || packed(&args.writing.output)
        || is_standard(&args.writing.output)
    {
        return Ok(false);
    }
    for path in &args.inputs.files {
        let plain = path != Path::new("-") && path.is_file() && !unpacks(path)?;
        if !plain || args.inputs.open(path)?.format().name != format.name {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a file begins as those do that are unpacked when read: gzip, zstd, xz, zip.
fn unpacks(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    file.take(6)
        .read_to_end(&mut head)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let magic: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"PK"];
    Ok(magic.iter().any(|magic| head.starts_with(magic)))
}

fn shuffle_raw(args: &Args) -> Result<ExitCode> {
    args.writing.check(&args.writing.output, &args.inputs)?;
    let mut output = Output::create(&args.writing.output)?;
    let mut shuffle = args.shuffle::<RAW>();
    let mut tally = Tally::default();
    let mut cut_off = 0;
    let mut pace = Pace::new("shuffle");
    for path in &args.inputs.files {
        let failed = || format!("cannot read {}", path.display());
        let mut file = File::open(path).with_context(failed)?;
        let (mut piece, mut number) = (vec![0; PIECE], 0);
        loop {
            let length = fill(&mut file, &mut piece).with_context(failed)?;
            let (records, rest) = piece[..length].as_chunks::<RAW>();
            shuffle.push(records)?;
            number += records.len() as u64;
            pace.step(records.len() as u64)?;
            if !rest.is_empty() {
                ensure!(
                    args.inputs.bad_records > 0,
                    "{}, record {}: the file ends after {} of its {RAW} bytes (to leave it out, \
                     pass --bad-records 1)",
                    path.display(),
                    number + 1,
                    rest.len()
                );
                cut_off += 1;
            }
            if length < PIECE {
                break;
            }
        }
        tally.read += number;
    }
    shuffle.finish(|records| -> Result<()> {
        tally.written += records.len() as u64;
        interrupted()?;
        output.write_all(records.as_flattened()).map_err(|error| output.failed(error).into())
    })?;
    pace.finish();
    output.finish()?;
    tally.without("bad records", cut_off);
    out::line(tally)?;
    Ok(ExitCode::SUCCESS)
}

/// Fills a piece as far as the file reaches and says how far that is.
fn fill(file: &mut File, piece: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match file.read(&mut piece[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
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
