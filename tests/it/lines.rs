//! Lines of any length, in blocks of any size.

use std::io::{BufReader, Cursor};

use nnuance::format::{Fault, Reader, text};
use proptest::prelude::*;

const LINE: &str = "7k/8/8/8/8/8/8/K7 w - - 0 1 | 5 | 0.5";
const LONGEST: usize = 4096;

fn read(bytes: &[u8], piece: usize) -> (usize, Vec<String>) {
    let input = BufReader::with_capacity(piece, Cursor::new(bytes.to_vec()));
    let mut reader: Box<dyn Reader> = (text::FORMAT.reader)(Box::new(input));
    let (mut samples, mut faults) = (Vec::new(), Vec::new());
    loop {
        match reader.read(&mut samples) {
            Ok(true) => {}
            Ok(false) => return (samples.len(), faults),
            Err(Fault::Skipped(bad)) => faults.push(bad.place.to_string()),
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

/// A line of so many bytes, all of them spaces if it is too short for more.
fn padded(length: usize) -> String {
    let spaces = " ".repeat(length.saturating_sub(LINE.len()));
    if length < LINE.len() { " ".repeat(length) } else { spaces + LINE }
}
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn lines_are_counted_however_they_arrive(
        lines in prop::collection::vec(
            prop_oneof![0..100usize, LONGEST - 2..LONGEST + 4, 9000..9100usize],
            1..8,
        ),
        ended: bool,
        piece in 1..9000usize,
    ) {
        let text: Vec<String> = lines.iter().map(|&length| padded(length)).collect();
        let bytes = text.join("\n") + if ended { "\n" } else { "" };
        let samples = lines.iter().filter(|&&line| (LINE.len()..=LONGEST).contains(&line)).count();
        let faults: Vec<String> = (1..)
            .zip(&lines)
            .filter(|&(_, &line)| line > LONGEST)
            .map(|(number, _)| format!("line {number}"))
            .collect();
        assert_eq!(read(bytes.as_bytes(), piece), (samples, faults));
    }
}
