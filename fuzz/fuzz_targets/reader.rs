//! Any bytes, through the reader that the first of them chooses: it ends, and what it yields is
//! legal chess.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use nnuance::format::{ALL, Fault};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let format = ALL[usize::from(choice) % ALL.len()];
    let mut reader = (format.reader)(Box::new(Cursor::new(bytes.to_vec())));
    let (mut samples, mut faults) = (Vec::new(), 0);
    loop {
        match reader.read(&mut samples) {
            Ok(true) => {}
            Ok(false) => break,
            Err(Fault::Io(error)) => panic!("{error}"),
            Err(Fault::Skipped(_) | Fault::CutOff(_)) => {
                faults += 1;
                assert!(faults <= bytes.len() + 1, "{} does not move on", format.name);
            }
        }
    }
    for sample in &samples {
        let chess = sample.position.to_chess().expect("a reader yields legal positions");
        if let Some(played) = sample.played {
            assert!(played.legal_move(&chess).is_some(), "{sample:?}");
        }
    }
});
