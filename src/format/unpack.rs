//! The content of a file, unpacked as its first bytes say: gzip, zstd, xz, or a zip archive of one
//! member. Unpacking is done bit by bit while the content is read; nothing is held but windows.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use zip::{CompressionMethod, ZipArchive};

use super::pipe::Pipe;
use super::{Input, fill};
use crate::input;

const BUFFER: usize = 1 << 18;
/// What unpacking xz may use: more than `xz -9` asks for.
const XZ_MEMORY: u64 = 1 << 30;
/// The window of zstd, as a power of two: what `zstd -d` allows too. Several files are open at a
/// time, and `zstd --long=31` would take 2 GiB for each.
const ZSTD_WINDOW: u32 = 27;

/// Opens a file, `-` for standard input, and unpacks it.
pub fn open(path: &Path) -> io::Result<Input> {
    let no_zip = |from: &'static str| {
        move || Err(invalid(format!("a zip archive cannot be read from {from}; unpack it first")))
    };
    if path == Path::new("-") {
        return unpacked(Pipe::new(|| Ok(io::stdin())), no_zip("standard input"));
    }
    let found = input::found(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        let path = path.to_path_buf();
        return unpacked(Pipe::new(|| File::open(path)), no_zip("a pipe"));
    }
    unpacked(File::open(path)?, || only_member(File::open(path)?))
}

/// Unpacks a stream; `zip` opens the file anew, since an archive is read from its end.
fn unpacked(
    input: impl Read + Send + 'static,
    zip: impl FnOnce() -> io::Result<Input>,
) -> io::Result<Input> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut magic = [0; 6];
    let length = fill(&mut input, &mut magic)?;
    let magic = &magic[..length];
    let input = Cursor::new(magic.to_vec()).chain(input);
    Ok(match magic {
        [0x1f, 0x8b, ..] => buffered(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            buffered(Zstd(decoder))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            buffered(liblzma::bufread::XzDecoder::new_stream(input, stream))
        }
        [b'P', b'K', 3 | 5, 4 | 6, ..] => zip()?,
        _ => Box::new(input),
    })
}

/// What zstd packed; its own words for a window that is too large name no cure.
struct Zstd<R: BufRead>(zstd::Decoder<'static, R>);

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.to_string().contains("too much memory") {
            true => io::Error::new(
                io::ErrorKind::Unsupported,
                "it was packed with a window of more than 128 MiB; unpack it with `zstd -d \
                 --long=31`, or pack it anew with `--long=27` at most",
            ),
            false => error,
        })
    }
}

fn buffered(input: impl Read + Send + 'static) -> Input {
    Box::new(BufReader::with_capacity(BUFFER, input))
}

/// The only file of a zip archive.
fn only_member(file: File) -> io::Result<Input> {
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).transpose().map_err(damaged)?;
        files.extend(
            name.filter(|name| !name.ends_with('/')).map(|name| (index, name.into_owned())),
        );
    }
    let [(index, _)] = files[..] else {
        let names: Vec<_> = files.iter().take(10).map(|(_, name)| name.as_str()).collect();
        let more = if files.len() > names.len() { ", ..." } else { "" };
        return Err(invalid(format!(
            "a zip archive of {} files, expected 1: {}{more}; unpack it first",
            files.len(),
            names.join(", ")
        )));
    };
    let (start, packed, whole, crc, method) = {
        let member = archive.by_index_raw(index).map_err(damaged)?;
        if member.encrypted() {
            return Err(invalid("a zip archive with a password; unpack it first"));
        }
        let start = member.data_start().ok_or_else(|| invalid("a damaged zip archive"))?;
        (start, member.compressed_size(), member.size(), member.crc32(), member.compression())
    };
    let mut file = archive.into_inner();
    file.seek(SeekFrom::Start(start))?;
    let packed = file.take(packed);
    match method {
        CompressionMethod::STORE => Ok(checked(packed, whole, crc)),
        CompressionMethod::DEFLATE => Ok(checked(DeflateDecoder::new(packed), whole, crc)),
        other => Err(invalid(format!(
            "a zip archive packed with {other:?}, expected deflate; unpack it first"
        ))),
    }
}

fn invalid(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

fn damaged(error: zip::result::ZipError) -> io::Error {
    invalid(format!("a damaged zip archive ({error})"))
}

/// A member whose length and sum are those that the archive tells.
struct Member<R> {
    input: CrcReader<R>,
    read: u64,
    whole: u64,
    crc: u32,
}

fn checked(input: impl Read + Send + 'static, whole: u64, crc: u32) -> Input {
    buffered(Member { input: CrcReader::new(input), read: 0, whole, crc })
}

impl<R: Read> Read for Member<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read += count as u64;
        let ended = count == 0 && !buffer.is_empty();
        if self.read > self.whole || ended && self.read < self.whole {
            return Err(invalid("the member of the zip archive has not the length it should have"));
        }
        if ended && self.input.crc().sum() != self.crc {
            return Err(invalid("the member of the zip archive has not the sum it should have"));
        }
        Ok(count)
    }
}
