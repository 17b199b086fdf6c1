//! Event files of TensorBoard, read by their definition.

use std::collections::BTreeMap;
use std::path::Path;

use nnuance::events::Events;
use nnuance::log::Row;
use nnuance::train::log;

use crate::runs::kill_at_checkpoint;
use crate::tuning::{complaint, nnuance, said, train, written};

const FILE: &str = "events.out.tfevents.nnuance";

const CONFIG: &str = "version = 1\n[data]\nfiles = [\"data/selfplay_sf151_scored.txt\"]\nlimit = 10000\n\
    [model]\ninputs = \"perspective\"\nhidden = 8\n[target]\nscore_scale = 126.0\nwdl = 0.2\n\
    [schedule]\nepochs = 4\nbatch = 256\ncheckpoints = 8\nvalidations = 16\nlearning_rate = 0.01\n";

/// A field of a protobuf message.
#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Varint(u64),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
    Four([u8; 4]),
}

impl<'a> Field<'a> {
    fn bytes(self) -> &'a [u8] {
        let Field::Bytes(bytes) = self else { panic!("{self:?}") };
        bytes
    }

    fn text(self) -> &'a str {
        std::str::from_utf8(self.bytes()).unwrap()
    }
}

/// The fields of a message by their numbers.
fn message(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(byte & 127) << shift;
            if *byte < 128 {
                break;
            }
        }
        number
    }
    fn taken<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(count);
        *bytes = rest;
        taken
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)),
            1 => Field::Eight(taken(&mut bytes, 8).try_into().unwrap()),
            2 => {
                let length = varint(&mut bytes) as usize;
                Field::Bytes(taken(&mut bytes, length))
            }
            5 => Field::Four(taken(&mut bytes, 4).try_into().unwrap()),
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// The polynomial of Castagnoli, bit by bit.
fn masked_crc(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The data of the records of a file; it must end with one.
fn records(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>().unwrap();
        let (check, rest) = rest.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*check), masked_crc(length));
        let (data, rest) = rest.split_at(u64::from_le_bytes(*length) as usize);
        let (check, rest) = rest.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*check), masked_crc(data));
        found.push(data);
        bytes = rest;
    }
    found
}

/// What a file tells.
#[derive(Debug, Default)]
struct Told {
    /// The text of the config with the step from which on it holds.
    configs: Vec<(u64, String)>,
    /// Step, wall time and scalars by their tags.
    rows: Vec<(u64, f64, BTreeMap<String, f32>)>,
}

fn told(bytes: &[u8]) -> Told {
    let records = records(bytes);
    let version = message(records[0]);
    assert!(version.iter().any(|(number, field)| *number == 3 && field.text() == "brain.Event:2"));
    let mut told = Told::default();
    for record in &records[1..] {
        let (mut step, mut time, mut scalars) = (0, f64::NAN, BTreeMap::new());
        let mut config = None;
        for (number, field) in message(record) {
            match (number, field) {
                (1, Field::Eight(bytes)) => time = f64::from_le_bytes(bytes),
                (2, Field::Varint(number)) => step = number,
                (5, Field::Bytes(summary)) => {
                    for (number, value) in message(summary) {
                        assert_eq!(number, 1);
                        let value: BTreeMap<u64, Field> =
                            message(value.bytes()).into_iter().collect();
                        let tag = value[&1].text().to_string();
                        match value.get(&2) {
                            Some(Field::Four(bytes)) => {
                                scalars.insert(tag, f32::from_le_bytes(*bytes));
                            }
                            None => config = Some(text(&value)),
                            Some(other) => panic!("{other:?}"),
                        }
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(time > 0.0);
        match config {
            Some(config) => told.configs.push((step, config)),
            None => told.rows.push((step, time, scalars)),
        }
    }
    told
}

/// The text of a value for the text plugin.
fn text(value: &BTreeMap<u64, Field>) -> String {
    let metadata: BTreeMap<u64, Field> = message(value[&9].bytes()).into_iter().collect();
    assert_eq!(message(metadata[&1].bytes())[0].1.text(), "text");
    let tensor: BTreeMap<u64, Field> = message(value[&8].bytes()).into_iter().collect();
    assert!(matches!(tensor[&1], Field::Varint(7)));
    let lines = tensor[&8].text().lines();
    lines.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap())).collect()
}

/// Holds a file against the log of its run.
fn agrees(run: &Path) -> Told {
    let told = told(&std::fs::read(run.join(FILE)).unwrap());
    let rows = log::read(&run.join("log.csv")).unwrap();
    assert_eq!(told.rows.len(), rows.len());
    assert!(told.rows.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1), "{told:?}");
    for (row, (step, _, scalars)) in rows.iter().zip(&told.rows) {
        assert_eq!(*step, row.positions);
        let expected = [
            ("loss/train", row.train_loss),
            ("loss/validation", row.held_out_loss),
            ("loss/validation_result", row.held_out_result_loss),
            ("schedule/learning_rate", row.learning_rate),
            ("schedule/step", Some(row.step as f64)),
            ("schedule/wdl", Some(row.wdl)),
            ("speed/positions_per_second", row.positions_per_second),
        ];
        let expected = expected.into_iter().filter_map(|(tag, value)| Some((tag, value? as f32)));
        let expected: BTreeMap<String, f32> =
            expected.map(|(tag, value)| (tag.to_string(), value)).collect();
        assert_eq!(*scalars, expected);
    }
    let config = std::fs::read_to_string(run.join("config.toml")).unwrap();
    assert_eq!(told.configs.last().unwrap().1, config);
    told
}

#[test]
fn the_log_is_told_and_a_killed_run_tells_each_row_once() {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (written(&folder, CONFIG), folder.path().join("out"));
    let mut command = train(&config, &out);
    command.arg("--tensorboard");
    kill_at_checkpoint(command, &out);
    // What was done after the checkpoint, and the half of a row.
    let cut = out.join(FILE);
    let mut bytes = std::fs::read(&cut).unwrap();
    let before: Vec<f64> = told(&bytes).rows.iter().map(|row| row.1).collect();
    assert!(!before.is_empty());
    bytes.extend([1, 2, 3]);
    std::fs::write(&cut, bytes).unwrap();
    said(nnuance().args(["train", "--resume"]).arg(&out));
    let told = agrees(&out);
    assert!(told.rows.len() > 10 && told.rows[0].1 == before[0]);
    assert_eq!(told.configs.len(), 1);

    // Longer, its config is another.
    said(nnuance().args(["train", "--set", "schedule.epochs=5", "--resume"]).arg(&out));
    let longer = agrees(&out);
    assert!(longer.rows.len() > told.rows.len() && longer.configs.len() == 2);
    assert_eq!(longer.rows[..told.rows.len()], told.rows);
    assert_eq!(longer.configs[1].0, told.rows.last().unwrap().0);

    // Begun anew without, nothing of it stays; made of the log, it is the same but for the times.
    said(train(&config, &out).arg("--overwrite"));
    assert!(!out.join(FILE).exists());
    let report = || {
        let mut command = nnuance();
        command.arg("report").arg(&out).arg("--tensorboard");
        command
    };
    let [stdout, _] = said(&mut report());
    let made = agrees(&out);
    assert!(stdout.contains(&format!("{FILE}: {} rows", made.rows.len())), "{stdout}");
    let bytes = std::fs::read(out.join(FILE)).unwrap();
    said(&mut report());
    assert!(bytes == std::fs::read(out.join(FILE)).unwrap());
    let refused = complaint(nnuance().args(["report", "data", "--tensorboard"]));
    assert!(refused.contains("there is no run in data"), "{refused}");
}

#[test]
fn however_much_is_left_all_of_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let rows: Vec<(Row, f64)> = (0..4u64)
        .map(|step| {
            let loss = (step > 0).then_some(1.0 / 3.0 / step as f64);
            let row = Row { step, positions: 100 * step, train_loss: loss, ..Row::default() };
            (row, 1e9 + step as f64)
        })
        .collect();
    let open = |rows: &[(Row, f64)], now| Events::open(&path, "version = 1\n", rows, now);
    let mut events = open(&rows[..2], 5.0).unwrap();
    rows[2..].iter().for_each(|(row, time)| events.add(row, *time).unwrap());
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(told(&whole).rows.len(), 4);
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        open(&rows, 5.0).unwrap();
        assert!(std::fs::read(&path).unwrap() == whole, "{length} bytes left");
    }
    // Rows that the log has no more, or has otherwise.
    open(&rows[..3], 7.0).unwrap();
    let cut = std::fs::read(&path).unwrap();
    assert!(whole.starts_with(&cut) && told(&cut).rows.len() == 3);
    let mut other = rows.clone();
    other[1].0.wdl = 0.5;
    open(&other, 7.0).unwrap();
    let wdl = told(&std::fs::read(&path).unwrap())
        .rows
        .iter()
        .map(|row| row.2["schedule/wdl"])
        .collect::<Vec<_>>();
    assert_eq!(wdl, [0.0, 0.5, 0.0, 0.0]);
    // Somebody else's file stays.
    std::fs::write(&path, "step,loss\n").unwrap();
    let error = open(&rows, 5.0).err().unwrap().to_string();
    assert!(error.contains("no event file; move it away"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"step,loss\n");
}
