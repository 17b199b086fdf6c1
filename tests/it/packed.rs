//! Packed files: by content, in bounded memory.

use std::io::Write as _;

use crate::formats::{QUIET, START, hex, read, read_bytes};
use crate::kit::*;

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
fn lines_without_end_are_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), line().repeat(6000)).unwrap();
    file.as_file().set_len(1 << 30).unwrap();
    let blocks = Source::open(file.path(), None, 0).unwrap().pieces().unwrap();
    let error = blocks.open(1, 0).err().unwrap().to_string();
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
