//! What the fuzz targets do, on stable Rust: `tests/it/fuzz.rs` runs it too.

use std::io::Cursor;

use nnuance::format::{ALL, Fault, Format};
use nnuance::sample::Sample;

/// Drives a reader to its end over whatever bytes; the samples and the number of faults.
pub fn read(format: &Format, bytes: &[u8]) -> (Vec<Sample>, usize) {
    let mut reader = (format.reader)(Box::new(Cursor::new(bytes.to_vec())));
    let (mut samples, mut faults) = (Vec::new(), 0);
    loop {
        match reader.read(&mut samples) {
            Ok(true) => {}
            Ok(false) => return (samples, faults),
            Err(Fault::Io(error)) => panic!("{error}"),
            Err(Fault::Skipped(bad) | Fault::CutOff(bad)) => {
                assert!(!bad.to_string().is_empty() && !bad.reason.is_empty());
                faults += 1;
                // An empty file may lack a header.
                assert!(faults <= bytes.len() + 1, "{} does not move on", format.name);
            }
        }
    }
}

/// Any bytes, through the reader that the first of them chooses: it ends, and what it yields is
/// legal chess.
pub fn reader(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let (samples, _) = read(ALL[usize::from(choice) % ALL.len()], bytes);
    for sample in &samples {
        let chess = sample.position.to_chess().expect("a reader yields legal positions");
        if let Some(played) = sample.played {
            assert!(played.legal_move(&chess).is_some(), "{sample:?}");
        }
    }
}

/// Any bytes as the head of a file: no recogniser panics.
pub fn sniff(data: &[u8]) {
    for format in ALL {
        (format.recognises)(data);
    }
}

/// What one format yields is written as another, chosen by the second byte, and comes back.
pub fn round_trip(data: &[u8]) {
    let [from, to, bytes @ ..] = data else { return };
    let from = ALL[usize::from(*from) % ALL.len()];
    let to = ALL[usize::from(*to) % ALL.len()];
    let Some(new) = to.writer else { return };
    for sample in read(from, bytes).0 {
        let (mut writer, mut written) = (new(), Vec::new());
        if writer.write(&sample, &mut written).is_err() {
            continue;
        }
        writer.finish(&mut written);
        let (back, faults) = read(to, &written);
        assert_eq!((back.len(), faults), (1, 0), "{sample:?} as {}", to.name);
        assert_eq!(
            (back[0].result, back[0].position.count()),
            (sample.result, sample.position.count())
        );
        // Written again, it is the same.
        let (mut writer, mut again) = (new(), Vec::new());
        writer.write(&back[0], &mut again).expect("what was held can be held");
        writer.finish(&mut again);
        assert_eq!(read(to, &again).0, back, "{}", to.name);
    }
}

/// A trace, which only engines write.
const TRACE: &str = "nnuance-trace 1\n1.0 w 24 128 cp=3 | 0:5:4 17:1:0 | \
                     rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n";

/// Small valid files of every format, by its name, to start from.
pub fn corpus(samples: &[Sample]) -> Vec<(&'static str, Vec<u8>)> {
    let file = |format: &&'static Format| {
        let Some(writer) = format.writer else { return (format.name, TRACE.into()) };
        let (mut writer, mut bytes) = (writer(), Vec::new());
        for sample in samples {
            writer.write(sample, &mut bytes).expect("whole games can be held");
        }
        writer.finish(&mut bytes);
        (format.name, bytes)
    };
    ALL.iter().map(file).collect()
}
