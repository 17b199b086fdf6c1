//! The content of a file, unpacked as its first bytes say: gzip, zstd or xz. It is unpacked while
//! it is read.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use liblzma::stream::{CONCATENATED, Stream};

use super::{Input, fill};
use crate::input;

const BUFFER: usize = 1 << 18;
/// Memory for unpacking xz: more than `xz -9` needs.
const XZ_MEMORY: u64 = 1 << 30;
/// The largest window of zstd, as a power of two: that of `zstd -d`. Several files are open at a
/// time, and `zstd --long=31` would take 2 GiB for each.
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
    let mut magic = [0; 6];
    let length = fill(&mut input, &mut magic)?;
    let input = Cursor::new(magic[..length].to_vec()).chain(input);
    Ok(match magic[..length] {
        [0x1f, 0x8b, ..] => buffered(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            buffered(decoder)
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            buffered(liblzma::bufread::XzDecoder::new_stream(input, stream))
        }
        _ => Box::new(input),
    })
}

fn buffered(input: impl Read + Send + 'static) -> Input {
    Box::new(BufReader::with_capacity(BUFFER, input))
}
