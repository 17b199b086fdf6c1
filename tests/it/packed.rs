//! Packed files: by content, one member, bounded memory.

use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::process::{Command, Stdio};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use nnuance::format::{ReadError, Sink, epd};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::formats::{QUIET, START, hex, open, read, read_bytes, scratch};
use crate::need;

fn line() -> String {
    format!("{START} | 3 | 0.5\n")
}

/// A zip archive of plain members.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in members {
        if name.ends_with('/') {
            zip.add_directory(*name, stored).unwrap();
        } else {
            zip.start_file(*name, stored).unwrap();
            zip.write_all(content).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn xz_in_several_parts() {
    let mut packed = Vec::new();
    liblzma::read::XzEncoder::new(line().as_bytes(), 6).read_to_end(&mut packed).unwrap();
    assert_eq!(read_bytes(&packed.repeat(3)).unwrap().len(), 3);
    for cut in 7..packed.len() {
        assert!(read_bytes(&packed[..cut]).is_err(), "{cut}");
    }
    for at in 12..packed.len() - 12 {
        let mut bytes = packed.clone();
        bytes[at] ^= 4;
        assert!(read_bytes(&bytes).is_err(), "{at}");
    }
}

#[test]
fn zip_archives_of_one_file() {
    let bytes = archive(&[("folder/", b""), ("folder/lines.txt", line().repeat(5).as_bytes())]);
    assert_eq!(read_bytes(&bytes).unwrap().len(), 5);
    // Members are checked against their sums.
    let at = bytes.windows(5).position(|window| window == b"| 3 |").unwrap();
    let mut wrong = bytes.clone();
    wrong[at + 2] = b'4';
    let error = read_bytes(&wrong).unwrap_err().to_string();
    assert!(error.contains("sum it should have"), "{error}");
    for cut in (5..bytes.len()).step_by(7) {
        assert!(read_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    let several = archive(&[("a.txt", b"a"), ("b.txt", b"b"), ("c.txt", b"c")]);
    let error = read_bytes(&several).unwrap_err().to_string();
    assert!(error.contains("zip archive of 3 files, expected 1: a.txt, b.txt, c.txt"), "{error}");
    let none = archive(&[]);
    assert!(read_bytes(&none).unwrap_err().to_string().contains("0 files"));
    let error = Sink::create(&scratch("x", b"").path.with_extension("zip"), &epd::FORMAT);
    assert!(error.err().unwrap().to_string().contains("only read"));
}

#[test]
fn zip_archives_packed_by_others() {
    let path = "../shared/data/books/noob_3moves.epd.zip";
    if need::shared(path) {
        // Openings have no results; the line that is shown was unpacked.
        let error = read(path).unwrap_err().to_string();
        assert!(
            error.contains("its first line is `rn") || error.contains("FEN [result]"),
            "{error}"
        );
    }
    let path = "../shared/data/books/8moves_v3.pgn.zip";
    if need::shared(path) {
        let samples = read(path).unwrap();
        // Eight moves a game, all of them called draws.
        assert!(samples.len() > 100_000 && samples.len().is_multiple_of(16), "{}", samples.len());
        assert!(samples.iter().all(|sample| sample.result == 0.5));
    }
}

/// An archive of one deflated member, as zip tools write it.
fn deflated(name: &str, content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    let packed = encoder.finish().unwrap();
    let mut crc = Crc::new();
    crc.update(content);
    // Version, flags, method, time, date, sum, both lengths, length of the name, no extras.
    let mut fields = vec![20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0];
    for word in [crc.sum(), packed.len() as u32, content.len() as u32, name.len() as u32] {
        fields.extend_from_slice(&word.to_le_bytes());
    }
    let local = [b"PK\x03\x04", &fields[..], name.as_bytes(), &packed].concat();
    // Comment, disk, attributes, and the place of the member are zero.
    let central = [b"PK\x01\x02\x14\0", &fields[..], &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend_from_slice(&(central.len() as u32).to_le_bytes());
    end.extend_from_slice(&(local.len() as u32).to_le_bytes());
    end.extend_from_slice(&[0, 0]);
    [local, central, end].concat()
}

#[test]
fn deflated_members() {
    let bytes = deflated("lines.txt", line().repeat(5000).as_bytes());
    assert!(bytes.len() < 10_000);
    assert_eq!(read_bytes(&bytes).unwrap().len(), 5000);
    for at in (60..bytes.len() - 100).step_by(37) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x10;
        assert!(read_bytes(&wrong).is_err(), "{at}");
    }
}

#[test]
fn a_game_without_an_end_is_refused() {
    let start = "ffff00000000ffff 16422561 00000000 88888888 9ecaade9 40 00 0100 0000 02 00";
    let mut game = hex(start);
    // Both sides move a knight out and back.
    game.extend_from_slice(&hex("4605 0000 7e0b 0000 9501 0000 ad0f 0000").repeat(5000));
    let error = read_bytes(&game).unwrap_err().to_string();
    assert!(error.contains("more than 16384 moves"), "{error}");
}

/// Not a test: reads standard input and tells what came of it, when [`told`] starts it.
#[test]
#[ignore = "a reader of standard input, started by other tests"]
fn as_a_child() {
    let count = read("-").map(|samples| samples.len());
    println!("told {}", count.map_or_else(|error| error.to_string(), |count| count.to_string()));
    // The most memory that was held, where the system tells.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    println!("peak {}", peak.unwrap_or("unknown"));
}

/// What a process of its own tells of these bytes, and the kilobytes it needed at most, if known.
fn told(bytes: &[u8]) -> (String, Option<u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["packed::as_a_child", "--ignored", "--exact", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It may stop reading early.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let after = |word| output.split(word).nth(1).unwrap().lines().next().unwrap().to_string();
    (after("told "), after("peak ").parse().ok())
}

#[test]
fn standard_input() {
    let quiet = fs::read(QUIET).unwrap();
    assert_eq!(told(&quiet).0, "15000");
    assert_eq!(told(&zstd::encode_all(&quiet[..], 1).unwrap()).0, "15000");
    assert!(told(&archive(&[("a", &quiet)])).0.contains("cannot be read from standard input"));
    assert_eq!(told(b"").0, "- is empty");
}

#[test]
fn bombs_are_read_in_little_memory() {
    // A gigabyte of spaces in few bytes: a line too long, of which little is held.
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(line().as_bytes()).unwrap();
    for _ in 0..1024 {
        bomb.write_all(&[b' '; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 17);
    let (told, peak) = told(&bomb);
    assert!(told.contains("line 2: the line is longer than"), "{told}");
    if need::found("proc", "/proc/self/status", peak.is_some()) {
        assert!(peak < Some(100_000), "{peak:?} kB");
    }
}

#[test]
fn a_missing_file_is_told() {
    assert!(matches!(open("data/none.xz".as_ref()), Err(ReadError::Open { .. })));
}
