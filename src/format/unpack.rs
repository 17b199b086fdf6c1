//! Files unpacked while they are read: gzip or zstd, recognised by their first bytes.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use super::{Input, fill};
use crate::input;

const BUFFER: usize = 1 << 18;
/// The largest window of zstd, as a power of two: `zstd --long=31` would take 2 GiB a file.
const ZSTD_WINDOW: u32 = 27;

/// Opens a file, `-` for standard input, and unpacks it.
pub fn open(path: &Path) -> io::Result<Input> {
    if path == Path::new("-") {
        return unpacked(io::stdin());
    }
    if input::found(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    unpacked(File::open(path)?)
}

fn unpacked(input: impl Read + Send + 'static) -> io::Result<Input> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut magic = [0; 4];
    let length = fill(&mut input, &mut magic)?;
    let input = Cursor::new(magic[..length].to_vec()).chain(input);
    Ok(match magic[..length] {
        [0x1f, 0x8b, ..] => buffered(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            buffered(decoder)
        }
        _ => Box::new(input),
    })
}

fn buffered(input: impl Read + Send + 'static) -> Input {
    Box::new(BufReader::with_capacity(BUFFER, input))
}
