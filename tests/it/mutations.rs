//! Valid files of every format, changed at random: no panic, no hang, little memory.

use nnuance::format;
use proptest::prelude::*;

use crate::formats::{exhaust, real, write};
use crate::kit::*;

fn seeds() -> Vec<(&'static Format, Vec<u8>)> {
    let real = real();
    let games: Vec<Sample> = real[3000..3120].to_vec();
    let trace = b"nnuance-trace 1\n1.0 w 24 128 cp=3 | 0:5:4 17:1:0 | \
                  rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n";
    format::ALL
        .into_iter()
        .map(|format| match format.writer {
            Some(_) => (format, write(format, &games).unwrap()),
            None => (format, trace.repeat(20)),
        })
        .collect()
}

#[derive(Clone, Debug)]
enum Change {
    Flip(usize, u8),
    Cut(usize),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = 0..1usize << 20;
    prop_oneof![
        6 => (at.clone(), 1..=255u8).prop_map(|(at, bits)| Change::Flip(at, bits)),
        1 => at.clone().prop_map(Change::Cut),
        1 => (at.clone(), 1..64usize).prop_map(|(at, count)| Change::Remove(at, count)),
        2 => (at.clone(), prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        1 => (at, 1..64usize, 1..20usize)
            .prop_map(|(at, count, times)| Change::Repeat(at, count, times)),
    ]
}

fn apply(change: &Change, bytes: &mut Vec<u8>) {
    let length = bytes.len() + 1;
    match change {
        Change::Flip(at, bits) => {
            let at = at % length;
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bits);
        }
        Change::Cut(at) => bytes.truncate(at % length),
        Change::Remove(at, count) => {
            let at = at % length;
            bytes.drain(at..(at + count).min(length - 1));
        }
        Change::Insert(at, new) => {
            let at = at % length;
            bytes.splice(at..at, new.iter().copied());
        }
        Change::Repeat(at, count, times) => {
            let at = at % length;
            let part = bytes[at..(at + count).min(length - 1)].repeat(*times);
            bytes.splice(at..at, part);
        }
    }
}

#[test]
fn changed_files_of_every_format() {
    let seeds = seeds();
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
    proptest!(config, |(changes in prop::collection::vec(change(), 1..6))| {
        for (format, bytes) in &seeds {
            let mut bytes = bytes.clone();
            changes.iter().for_each(|change| apply(change, &mut bytes));
            let (samples, faults) = exhaust(format, &bytes);
            // No record has less than a byte or so.
            prop_assert!(samples.len() + faults <= bytes.len() + 1);
            for other in format::ALL {
                (other.recognises)(&bytes);
            }
            // Samples that were read are valid, and can be written and read again.
            for sample in samples.iter().step_by(17) {
                prop_assert!(sample.position.to_chess().is_ok());
                let single = Sample { game: Some(1.try_into().unwrap()), ..*sample };
                if format.writer.is_some() && let Ok(bytes) = write(format, &[single]) {
                    let (back, faults) = exhaust(format, &bytes);
                    prop_assert_eq!(faults, 0);
                    let back: Vec<_> =
                        back.iter().map(|back| Sample { game: single.game, ..*back }).collect();
                    prop_assert_eq!(&back[..], &[single][..]);
                }
            }
        }
    });
}
