//! What one format yields is written as another, chosen by the second byte, and comes back.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use nnuance::format::{ALL, Fault, Format};
use nnuance::sample::Sample;

fn read(format: &Format, bytes: &[u8]) -> (Vec<Sample>, usize) {
    let mut reader = (format.reader)(Box::new(Cursor::new(bytes.to_vec())));
    let (mut samples, mut faults) = (Vec::new(), 0);
    loop {
        match reader.read(&mut samples) {
            Ok(true) => {}
            Ok(false) => return (samples, faults),
            Err(Fault::Io(error)) => panic!("{error}"),
            Err(_) => faults += 1,
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [from, to, bytes @ ..] = data else { return };
    let from = ALL[usize::from(*from) % ALL.len()];
    let to = ALL[usize::from(*to) % ALL.len()];
    let Some(writer) = to.writer else { return };
    for sample in read(from, bytes).0 {
        let (mut writer, mut written) = (writer(), Vec::new());
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
        let (mut writer, mut again) = ((to.writer.expect("it was there"))(), Vec::new());
        writer.write(&back[0], &mut again).expect("what was held can be held");
        writer.finish(&mut again);
        assert_eq!(read(to, &again).0, back, "{}", to.name);
    }
});
