//! Packed files: by content, in bounded memory.

use std::io::Write as _;

use nnuance::format::book;

use crate::formats::registry::{START, gz, hex, read, read_bytes, scratch};
use crate::support::kit::*;

fn line() -> String {
    format!("{START} | 3 | 0.5\n")
}

#[test]
fn endless_game_is_refused() {
    let start = "ffff00000000ffff 16422561 00000000 88888888 9ecaade9 40 00 0100 0000 02 00";
    let mut game = hex(start);
    // Both sides move a knight out and back.
    game.extend_from_slice(&hex("4605 0000 7e0b 0000 9501 0000 ad0f 0000").repeat(5000));
    let error = read_bytes(&game).unwrap_err().to_string();
    assert!(error.contains("more than 16384 moves"), "{error}");
}

/// Not a test: reads standard input and prints the result, for [`in_child`].
#[test]
#[ignore = "a reader of standard input, started by other tests"]
fn as_a_child() {
    let count = read("-").map(|samples| samples.len());
    println!("read {}", count.map_or_else(|error| error.to_string(), |count| count.to_string()));
    // Peak memory, where the system reports it.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    println!("peak {}", peak.unwrap_or("unknown"));
}

/// Output of a child process that reads these bytes, and its peak memory in kilobytes, if known.
fn in_child(bytes: &[u8]) -> (String, Option<u64>) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["formats::packed::as_a_child", "--ignored", "--exact", "--nocapture"]);
    let output = String::from_utf8(feed_command(&mut child, bytes).stdout).unwrap();
    let after = |word| output.split(word).nth(1).unwrap().lines().next().unwrap().to_string();
    (after("read "), after("peak ").parse().ok())
}

#[test]
fn standard_input() {
    let quiet = fs::read(QUIET).unwrap();
    assert_eq!(in_child(&quiet).0, "15000");
    assert_eq!(in_child(&zstd::encode_all(&quiet[..], 1).unwrap()).0, "15000");
    assert_eq!(in_child(b"").0, "- is empty");
}

#[test]
fn zstd_may_begin_with_a_frame_to_skip() {
    let line = line();
    let packed = zstd::encode_all(line.as_bytes(), 1).unwrap();
    for magic in 0x50..=0x5f {
        let skipped = [&[magic, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let bytes = [&skipped[..], &packed, &skipped].concat();
        let file = scratch("lines.txt.zst", &bytes);
        assert_eq!(read(&file.path).unwrap(), read_bytes(line.as_bytes()).unwrap());
        assert!(SampleSource::open_file(&file.path, None, 0).unwrap().file_blocks().is_none());
        assert_eq!(book::read_book(&file.path).unwrap()[0].to_fen(), START);
        let [out, _] = said(nnuance().args(["eval", "material", "--fens"]).arg(&file.path));
        assert_eq!(out, format!("{START};0\n"));
        let nested = read_bytes(&gz(&bytes)).unwrap_err().to_string();
        assert!(nested.contains("it is a zstd file; unpack it first"), "{nested}");
    }
}

#[test]
fn zeros_behind_gzip_are_padding() {
    let (line, packed) = (line(), gz(line().as_bytes()));
    let zeros = vec![0; 1 << 19];
    let both = [&packed[..], &zeros, &packed, &[0]].concat();
    assert_eq!(read_bytes(&both).unwrap(), read_bytes(line.repeat(2).as_bytes()).unwrap());
    for wrong in [&b"\0x"[..], &packed[..packed.len() - 1]] {
        let error = read_bytes(&[&packed, wrong].concat()).unwrap_err().to_string();
        assert!(error.contains("it may be damaged"), "{error}");
    }
}

#[test]
fn wide_windows_name_the_remedy() {
    // An empty frame with a window of 2 GiB.
    let wide = hex("28b52ffd 00 a8 01 0000");
    let packed = zstd::encode_all(line().as_bytes(), 1).unwrap();
    for bytes in [wide.clone(), [packed, wide].concat()] {
        let error = read_bytes(&bytes).unwrap_err().to_string();
        let remedy = "larger than 128 MiB; unpack it with `zstd -d --long=31`";
        assert!(error.ends_with(remedy), "{error}");
    }
}

#[test]
fn lines_without_end_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), line().repeat(6000)).unwrap();
    file.as_file().set_len(1 << 30).unwrap();
    let blocks = SampleSource::open_file(file.path(), None, 0).unwrap().file_blocks().unwrap();
    let error = blocks.open_block(1, 0).err().unwrap().to_string();
    assert!(error.contains("no record begins"), "{error}");
}

#[test]
fn bombs_take_little_memory() {
    // A gigabyte of spaces in few bytes: a line too long, of which little is stored.
    let mut bomb = zstd::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(line().as_bytes()).unwrap();
    for _ in 0..1024 {
        bomb.write_all(&[b' '; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 17);
    let (output, peak) = in_child(&bomb);
    assert!(output.contains("line 2: the line is longer than"), "{output}");
    if need::found("proc", "/proc/self/status", peak.is_some()) {
        assert!(peak < Some(100_000), "{peak:?} kB");
    }
}
