//! Decompression of files while they are read: gzip, zstd, or a zip archive of one file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek as _, SeekFrom};
use std::mem;
use std::path::Path;

use flate2::CrcReader;
use flate2::bufread::GzDecoder;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::{ByteInput, fill_buffer};
use crate::input::{self, wide_encoding};

const BUFFER: usize = 1 << 18;
/// The size of the head by which a format is recognised: many records of any format.
const HEAD: usize = 1 << 16;
/// The largest window of zstd, as a power of two: `zstd --long=31` would need 2 GiB per file.
const ZSTD_WINDOW: u32 = 27;

/// The reason why a file with these first bytes is unreadable: it is packed, or in another encoding.
fn reason_unreadable(head: &[u8]) -> Option<String> {
    let starts: [(&[u8], &str); 11] = [
        (b"\xfd7zXZ\0", "an xz file"),
        (b"LZIP\x01", "an lzip file"),
        (b"\x1f\x8b\x08", "a gzip file"),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff", "an lzma file"),
        (b"\x04\x22\x4d\x18", "an lz4 file"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"MSCF\0\0\0\0", "a cab archive"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a rar archive"),
        (b"07070", "a cpio archive"),
    ];
    let name = starts.iter().find(|(start, _)| head.starts_with(start)).map(|(_, name)| *name);
    let is_bzip2 = head.starts_with(b"BZh") && head.get(4..10) == Some(b"1AY&SY");
    let name = name.or(is_bzip2.then_some("a bzip2 file"));
    let name = name.or(is_zstd(head).then_some("a zstd file"));
    match name.or(is_tar(head).then_some("a tar archive")) {
        Some(name) => Some(format!("it is {name}; unpack it first")),
        None => wide_encoding(head).map(|name| format!("it is {name} text; save it as UTF-8 text")),
    }
}

/// Whether the checksum of a tar header is right.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.first_chunk::<512>() else { return false };
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    // The field itself counts as spaces.
    let expected = sum(header) - sum(&header[148..156]) + 8 * u32::from(b' ');
    let text = std::str::from_utf8(&header[148..156]).unwrap_or_default();
    u32::from_str_radix(text.trim_matches([' ', '\0']), 8) == Ok(expected)
}

/// Whether the first four bytes are those of a compressed file.
pub fn is_packed(head: &[u8]) -> bool {
    is_zstd(head) || head.starts_with(b"\x1f\x8b") || head.starts_with(b"PK\x03\x04")
}

/// Whether the bytes begin a frame of zstd, perhaps a skippable one, as in files of pzstd.
fn is_zstd(head: &[u8]) -> bool {
    matches!(head, [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Opens a file, `-` for standard input, and decompresses it.
pub fn open_unpacked(path: &Path) -> io::Result<ByteInput> {
    open_input(path).map(|(input, _)| input)
}

/// Opens as [`open_unpacked`] does, and returns the file, whose position shows the progress.
pub(super) fn open_input(path: &Path) -> io::Result<(ByteInput, Option<File>)> {
    if path == Path::new("-") {
        return Ok((unpack_input(io::stdin())?, None));
    }
    if input::read_metadata(path)?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let file = File::open(path)?;
    let position = file.try_clone()?;
    let mut file = BufReader::new(file);
    // The index of an archive is at its end, so it must be a regular file.
    let is_zip = path.is_file() && file.fill_buf()?.starts_with(b"PK\x03\x04");
    let input = if is_zip { open_member(file)? } else { unpack_input(file)? };
    Ok((input, Some(position)))
}

/// Fails for content that must be converted before it is read.
fn require_content(head: &[u8]) -> io::Result<()> {
    reason_unreadable(head).map_or(Ok(()), |it| Err(io::Error::new(io::ErrorKind::InvalidData, it)))
}

fn open_member(file: BufReader<File>) -> io::Result<ByteInput> {
    let mut archive = ZipArchive::new(file)?;
    let is_file = |index: &usize| match archive.name_for_index(*index) {
        // macOS adds files of attributes.
        Some(Ok(name)) => !name.ends_with('/') && !name.starts_with("__MACOSX/"),
        _ => true,
    };
    let files: Vec<usize> = (0..archive.len()).filter(is_file).collect();
    let [index] = files[..] else {
        let reason =
            format!("the zip archive has {} files, expected 1; extract one first", files.len());
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    };
    let member = archive.by_index_raw(index)?;
    let start = member.data_start().unwrap_or(0);
    let packed_size = member.compressed_size();
    let size = member.size();
    let crc = member.crc32();
    let method = member.compression();
    let readable = [CompressionMethod::STORE, CompressionMethod::DEFLATE].contains(&method);
    if member.encrypted() || !readable {
        let reason = "the zip archive has a password or an unknown method; extract it first";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    drop(member);
    let mut file = archive.into_inner();
    file.seek(SeekFrom::Start(start))?;
    let packed = file.take(packed_size);
    let content: Box<dyn Read + Send> = match method {
        CompressionMethod::STORE => Box::new(packed),
        _ => Box::new(DeflateDecoder::new(packed)),
    };
    decompress_input(CheckedInput { content: CrcReader::new(content), size, crc })
}

/// A content whose length and checksum are checked at its end.
struct CheckedInput {
    content: CrcReader<Box<dyn Read + Send>>,
    size: u64,
    crc: u32,
}

impl Read for CheckedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        let crc = self.content.crc();
        // Lengths are compared modulo 2^32, as the archive stores them.
        if count == 0
            && !buffer.is_empty()
            && (crc.sum() != self.crc || crc.amount() != self.size as u32)
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the zip archive is damaged"));
        }
        Ok(count)
    }
}

/// The first bytes of an input, and the whole input.
pub(super) fn peek_start(mut input: ByteInput) -> io::Result<(Vec<u8>, ByteInput)> {
    let mut head = vec![0; HEAD];
    let length = fill_buffer(&mut *input, &mut head)?;
    head.truncate(length);
    let whole = Cursor::new(head.clone()).chain(input);
    Ok((head, buffer_input(whole)))
}

fn unpack_input(input: impl Read + Send + 'static) -> io::Result<ByteInput> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    // The first bytes may be the header of a tar archive.
    let mut head = [0; 512];
    let length = fill_buffer(&mut input, &mut head)?;
    let input = Cursor::new(head[..length].to_vec()).chain(input);
    let head = &head[..length];
    if head.starts_with(b"\x1f\x8b") {
        decompress_input(GzMembers(GzDecoder::new(Box::new(input))))
    } else if is_zstd(head) {
        let mut decoder = zstd::Decoder::with_buffer(input)?;
        decoder.window_log_max(ZSTD_WINDOW)?;
        decompress_input(ZstdFrames(decoder))
    } else {
        require_content(head).map(|()| Box::new(input) as ByteInput)
    }
}

/// The content of all members of a gzip file; zeros after a member are padding.
struct GzMembers(GzDecoder<ByteInput>);

impl Read for GzMembers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let input = self.0.get_mut();
            while input.fill_buf()?.first() == Some(&0) {
                input.consume(1);
            }
            if input.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let next = mem::replace(input, Box::new(io::empty()));
            self.0.reset(next);
        }
    }
}
struct ZstdFrames<R: BufRead>(zstd::Decoder<'static, R>);

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.to_string().contains("too much memory") {
            true => io::Error::new(
                io::ErrorKind::Unsupported,
                "its zstd window is larger than 128 MiB; unpack it with `zstd -d --long=31`",
            ),
            false => error,
        })
    }
}

fn decompress_input(input: impl Read + Send + 'static) -> io::Result<ByteInput> {
    let mut input = buffer_input(input);
    require_content(input.fill_buf()?)?;
    Ok(input)
}

fn buffer_input(input: impl Read + Send + 'static) -> ByteInput {
    Box::new(BufReader::with_capacity(BUFFER, input))
}
