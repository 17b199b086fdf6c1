//! Blocks of a file, read separately, are the file.

use nnuance::format;

use crate::formats::registry::{first, write};
use crate::support::kit::*;

fn source(path: &Path, format: &'static Format, limit: u64) -> SampleSource {
    SampleSource::open_file(path, Some(format), limit).expect("a file of this format")
}

/// Samples and bad records of all blocks in order, and the number of blocks with samples.
fn in_pieces(path: &Path, format: &'static Format) -> (Vec<Sample>, Vec<String>, usize) {
    let pieces = source(path, format, 9).file_blocks().expect("a format that is cut");
    let (mut samples, mut bad, mut count) = (Vec::new(), Vec::new(), 0);
    for number in 0..pieces.block_count() {
        let (before, mut piece) = (samples.len(), pieces.open_block(number, 9).unwrap());
        while piece.next_block(&mut samples).unwrap() {}
        bad.extend(piece.bad_records().first.iter().map(|bad| bad.to_string()));
        count += usize::from(samples.len() > before);
    }
    (samples, bad, count)
}

#[test]
fn all_pieces_are_the_file() {
    let folder = Workdir::empty();
    let games = first(GAMES, 60_000);
    let cut = format::ALL.into_iter().filter(|format| format.cut.is_some());
    for format in cut {
        let once = write(format, &games).unwrap();
        let size = format.cut.map_or(0, |cut| cut.bytes as usize);
        let bytes = once.repeat((3 * size).div_ceil(once.len()));
        let path = folder.path(format.name);
        // Damage of every kind: bytes in the middle, four zeros, and the end.
        for damage in 0..4 {
            let mut bytes = bytes.clone();
            let middle = bytes.len() / 2 / 4 * 4;
            match damage {
                1 => bytes[middle..middle + 3].copy_from_slice(b"\xff\xfe\xff"),
                2 => bytes[middle..middle + 4].fill(0),
                3 => bytes.truncate(middle + 1),
                _ => {}
            }
            fs::write(&path, &bytes).unwrap();
            let (mut whole, mut source) = (Vec::new(), source(&path, format, 9));
            while source.next_block(&mut whole).unwrap() {}
            let (samples, bad, count) = in_pieces(&path, format);
            let name = format!("{} {damage}", format.name);
            let first: Vec<String> =
                source.bad_records().first.iter().map(|it| it.to_string()).collect();
            // A chunk without its beginning ends the file for a reader from its start.
            let is_chunk = format.name == "binpack" && whole.len() < samples.len();
            assert!(is_chunk || samples == whole, "{name}: {} of {}", samples.len(), whole.len());
            assert!(is_chunk || bad == first, "{name}: {bad:?} of {first:?}");
            assert!(damage == 3 || count > 2, "{name}: {count} pieces");
        }
    }
}
