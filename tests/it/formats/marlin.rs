//! marlinformat, and its distinction from bulletformat.

use std::io::{BufReader, Cursor};

use nnuance::format::{BLOCK, bulletformat, marlinformat, viriformat};

use crate::formats::registry::{START, exhaust, hex, read_as, read_bytes, real, samples, write};

const EXAMPLE: &str = "ffff00000000ffff 16422561 00000000 88888888 9ecaade9 40 00 0100 0a00 02 00";

#[test]
fn golden_bytes() {
    let bytes = hex(EXAMPLE);
    let sample = samples(&format!("{START} | 10 | 1.0"))[0];
    assert_eq!(write(&marlinformat::FORMAT, &[sample]).unwrap(), bytes);
    assert_eq!(read_bytes(&bytes).unwrap(), [sample]);
    // Score and result are White's.
    let black = samples("r3k2r/8/8/8/3Pp3/8/4P3/4K3 b kq d3 7 300 | 35 | 0.0")[0];
    assert_eq!((black.score, black.result), (Some(-35), 1.0));
    let bytes = write(&marlinformat::FORMAT, &[black]).unwrap();
    assert_eq!(bytes[24..], [0x80 | 19, 7, 300u16 as u8, 1, 35, 0, 0, 0]);
    assert_eq!(read_bytes(&bytes).unwrap(), [black]);
}
#[test]
fn contradicted_castling_rights_are_dropped() {
    // Castling rooks without a king, in mid-board, two on one side; en passant without a pawn.
    let plain = samples("4k3/8/8/8/8/8/8/R3K2R w - - 0 1 | 0 | 0.5")[0];
    let bytes = write(&marlinformat::FORMAT, &[plain]).unwrap();
    let changed = |changes: &[(usize, u8)]| {
        let mut bytes = bytes.clone();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        read_as(&marlinformat::FORMAT, &bytes).unwrap()[0]
    };
    assert_eq!(changed(&[]), plain);
    // The pieces are a rook on a1, a king on e1, a rook on h1, and Black's king.
    assert_eq!(changed(&[(8, 0x56)]).position.to_fen(), "4k3/8/8/8/8/8/8/R3K2R w Q - 0 1");
    assert_eq!(changed(&[(24, 0x80 | 40)]).position.ep_square(), None);
    let moved = samples("4k3/8/8/8/8/8/4K3/R6R w - - 0 1 | 0 | 0.5")[0];
    let mut bytes = write(&marlinformat::FORMAT, &[moved]).unwrap();
    (bytes[8], bytes[9]) = (0x66, 0xd5);
    assert_eq!(read_bytes(&bytes).unwrap(), [moved]);
}

#[test]
fn slices_of_any_length() {
    // Two blocks and some records, of which two are bad, and a part of one.
    let mut bytes = hex(EXAMPLE).repeat(BLOCK * 2 + 100);
    for record in [7, BLOCK + 3] {
        bytes[record * 32 + 8] = 0x73;
    }
    bytes.truncate(bytes.len() - 5);
    let calls = |slice: usize| {
        let input = BufReader::with_capacity(slice, Cursor::new(bytes.clone()));
        let mut reader = (marlinformat::FORMAT.reader)(Box::new(input));
        let mut samples = Vec::new();
        let calls = std::iter::repeat_with(|| {
            let read = reader.read_samples(&mut samples);
            (samples.len(), read.map_err(|fault| format!("{fault:?}")))
        });
        calls.take_while(|(_, read)| *read != Ok(false)).collect::<Vec<_>>()
    };
    let whole = calls(bytes.len());
    assert_eq!(whole.len(), 4);
    for slice in [1, 31, 33, 1000] {
        assert!(calls(slice) == whole, "{slice}");
    }
}

#[test]
fn unsound_records_are_refused() {
    let sound = hex(EXAMPLE);
    for (at, byte, reason) in [
        (8, 0x73, "nibble 7"),
        (8, 0x55, "White has 3 kings"),
        (10, 0x22, "White has 0 kings"),
        (8, 0x06, "a pawn stands on the first or last rank"),
        (0, 0xfe, "there are more pieces"),
        (24, 0x41, "en passant square number 65"),
        (30, 3, "result byte 3"),
        (29, 0x80, "score"),
    ] {
        let mut bytes = sound.repeat(3);
        bytes[32 + at] = byte;
        if at == 29 {
            bytes[32 + 28] = 0;
        }
        let error = read_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("record 2: ") && error.contains(reason), "{error}");
        assert_eq!(exhaust(&marlinformat::FORMAT, &bytes).0.len(), 2);
    }
    let cut = &sound.repeat(2)[..63];
    let error = read_as(&marlinformat::FORMAT, cut).unwrap_err().to_string();
    assert!(error.contains("record 2: the file ends after 31"), "{error}");
}

#[test]
fn quick_rules_equal_slow_rules() {
    // Near valid positions: accepted ones are legal, with the rights of the slow path.
    let real: Vec<_> = real().into_iter().filter(|sample| sample.score.is_some()).collect();
    let bytes = write(&marlinformat::FORMAT, &real[..5000]).unwrap();
    let mut passed = 0;
    for (i, record) in bytes.chunks(32).enumerate() {
        let mut record = record.to_vec();
        for round in 0..8u64 {
            let random = nnuance::sample::mix_hash(i as u64, round);
            record[8 + random as usize % 17] ^= 1 << (random >> 61);
            let mut turn_ep = record[24] & 127;
            if turn_ep > 64 {
                turn_ep = 64;
            }
            record[24] = record[24] & 128 | turn_ep;
            let (quick, _) = exhaust(&marlinformat::FORMAT, &record);
            let start = [&record[..], &[0; 4]].concat();
            // viriformat checks the rules; a start without a move yields no sample.
            let (_, faults) = exhaust(&viriformat::FORMAT, &start);
            assert_eq!(quick.is_empty(), faults == 1, "{record:02x?}");
            for sample in quick {
                passed += 1;
                let slow = sample.position.to_chess().unwrap();
                assert_eq!(nnuance::sample::Position::from_chess(&slow), sample.position);
            }
        }
    }
    assert!(passed > 1000, "{passed}");
}

#[test]
fn marlinformat_and_bulletformat_are_distinguished() {
    let real: Vec<_> = real().into_iter().filter(|sample| sample.score.is_some()).collect();
    for count in [1, 3, 1000] {
        for from in (0..20_000).step_by(997) {
            let part = &real[from..(from + count).min(real.len())];
            for format in [&marlinformat::FORMAT, &bulletformat::FORMAT] {
                let bytes = write(format, part).unwrap();
                let recognised: Vec<_> = nnuance::format::ALL
                    .into_iter()
                    .filter(|format| (format.recognises)(&bytes[..bytes.len().min(1 << 16)]))
                    .map(|format| format.name)
                    .collect();
                // A score of 64 in the only records reads as `no en passant`.
                if count > 10 {
                    assert_eq!(recognised, [format.name], "{count} from {from}");
                } else {
                    assert!(recognised.contains(&format.name));
                }
            }
        }
    }
}
