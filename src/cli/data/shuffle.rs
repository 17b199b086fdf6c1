//! `nnuance data shuffle`: positions in random order.

use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::io::{ConvertFiles, check_interrupted};
use crate::data::shuffle::Shuffle;
use crate::data::{PACKED_BYTES, pack_sample, unpack_sample};
use crate::format::Presence;
use crate::output::{is_device, is_standard, parent_folder};

/// Shuffle positions, also of files larger than memory
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance data shuffle a.bf b.bf -o shuffled.bf --seed 7 --memory 2048")]
#[command(after_help = "\
The order depends on the data, the order of the files and the seed.
Positions beyond --memory go to a temporary file beside the output, 40 bytes
each. Formats of games must be converted first.")]
pub struct Args {
    #[command(flatten)]
    files: ConvertFiles,
    /// Seed of the order
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Memory to use, about
    #[arg(long, value_name = "MB", default_value = "512")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    memory: u64,
}

pub fn run_command(Args { files, seed, memory }: Args) -> Result<ExitCode> {
    let output = &files.writing.output;
    let format = files.writing.output_format(output)?;
    ensure!(
        format.facts.moves == Presence::Never,
        "{} holds positions that follow each other, which shuffling tears apart; write \
         bulletformat, marlinformat or text",
        format.name
    );
    // Temporary files cannot be in the folder of a device.
    let folder = match is_device(output) || is_standard(output) {
        true => std::env::temp_dir(),
        false => parent_folder(output),
    };
    let mut shuffle = Shuffle::<PACKED_BYTES>::new(seed, memory << 20, &folder);
    let mut records = Vec::new();
    let mut written = files.create_output()?;
    let counts = files.read_to_convert("shuffle", format, |source, block| {
        let (path, format) = (source.path().display(), source.format());
        ensure!(
            format.facts.games == Presence::Never,
            "{path} is {}, which holds games, and shuffling tears them apart; convert it to \
             bulletformat, marlinformat or text first",
            format.name
        );
        records.clear();
        records.extend(block.iter().map(pack_sample));
        Ok(shuffle.push(&records)?)
    })?;
    shuffle.finish_shuffle(|records| -> Result<()> {
        check_interrupted()?;
        records.iter().try_for_each(|record| written.write_sample(&unpack_sample(record)?))
    })?;
    written.finish_counted(counts)
}
