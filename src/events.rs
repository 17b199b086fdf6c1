//! Event files of TensorBoard: the rows of a run's log, to stand beside those of other tools.
//!
//! A file is records one after another: the length of the data (u64, little-endian), the masked
//! CRC-32C of these eight bytes, the data, its masked CRC-32C. The data are `Event`s of protobuf, of
//! which only the fields that are used stand here. Sources: TensorFlow's `record_writer.h`,
//! `event.proto`, `summary.proto`, `tensor.proto`.
//!
//! A file only grows, or is cut behind a whole record: who shows it while the run goes on keeps it
//! open, and would not see another in its place.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use prost::Message;

use crate::input;
use crate::log::Row;

/// What TensorBoard wants to read first.
const VERSION: &str = "brain.Event:2";

/// The tag of the config's text.
const CONFIG: &str = "config";

/// Something that happened.
#[derive(Clone, PartialEq, Message)]
struct Event {
    /// Seconds since 1970.
    #[prost(double, tag = "1")]
    wall_time: f64,
    #[prost(int64, tag = "2")]
    step: i64,
    #[prost(string, optional, tag = "3")]
    file_version: Option<String>,
    #[prost(message, optional, tag = "5")]
    summary: Option<Summary>,
}

#[derive(Clone, PartialEq, Message)]
struct Summary {
    #[prost(message, repeated, tag = "1")]
    values: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    scalar: Option<f32>,
    #[prost(message, optional, tag = "8")]
    tensor: Option<Tensor>,
    #[prost(message, optional, tag = "9")]
    metadata: Option<Metadata>,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    /// 7: strings.
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    strings: Vec<Vec<u8>>,
}

/// Nothing in it: a single number or text.
#[derive(Clone, PartialEq, Message)]
struct Shape {}

#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(message, optional, tag = "1")]
    plugin: Option<Plugin>,
    /// 2: a tensor a step.
    #[prost(int32, tag = "4")]
    class: i32,
}

/// Which part of TensorBoard shows it.
#[derive(Clone, PartialEq, Message)]
struct Plugin {
    #[prost(string, tag = "1")]
    name: String,
}

/// An event file, open for appending.
pub struct Events {
    file: File,
}

impl Events {
    /// Opens the file of a run, or begins it. Of what is there the rows stay that stand in the log,
    /// with the times at which they were written; others go, and those that are missing come with
    /// the times that stand beside them. A text of the config that is not there yet comes with the
    /// time `now`. Times are seconds since 1970.
    ///
    /// # Errors
    /// Also if what is there is no event file.
    pub fn open(path: &Path, config: &str, rows: &[(Row, f64)], now: f64) -> io::Result<Self> {
        let there = match input::read(path, input::TEXT) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            there => there?,
        };
        let version = Some(VERSION.to_string());
        let begin = record(&Event { wall_time: now, file_version: version, ..Event::default() });
        // Times differ, lengths do not.
        if !begin.starts_with(&there[..there.len().min(LENGTH)]) {
            let reason = "what is there is no event file; move it away";
            return Err(io::Error::new(ErrorKind::AlreadyExists, reason));
        }
        let kept = Kept::of(&there, rows);
        let mut file = OpenOptions::new().create(true).write(true).truncate(false).open(path)?;
        file.set_len(kept.bytes as u64)?;
        file.seek(SeekFrom::End(0))?;
        let mut missing = if kept.bytes == 0 { begin } else { Vec::new() };
        let last = rows[..kept.rows].last();
        let config = text(config, last.map_or(0, |(row, _)| row.positions), now);
        if kept.config != config.summary {
            missing.extend(record(&config));
        }
        rows[kept.rows..].iter().for_each(|(row, time)| missing.extend(of_row(row, *time)));
        file.write_all(&missing)?;
        Ok(Self { file })
    }

    /// Adds a row of the log, written at `time`, in seconds since 1970.
    pub fn add(&mut self, row: &Row, time: f64) -> io::Result<()> {
        self.file.write_all(&of_row(row, time))
    }
}

/// How much of a file stays.
#[derive(Default)]
struct Kept {
    bytes: usize,
    /// Of the log's.
    rows: usize,
    /// The last one that was told.
    config: Option<Summary>,
}

impl Kept {
    fn of(there: &[u8], rows: &[(Row, f64)]) -> Self {
        let mut kept = Self::default();
        while let Some((event, record)) = first(&there[kept.bytes..]) {
            let values = event.summary.iter().flat_map(|summary| &summary.values);
            if values.into_iter().any(|value| value.tag == CONFIG) {
                kept.config = event.summary;
            } else if event.file_version.is_none() {
                let row = rows.get(kept.rows).map(|(row, _)| of_row(row, event.wall_time));
                if row.as_deref() != Some(record) {
                    break;
                }
                kept.rows += 1;
            }
            kept.bytes += record.len();
        }
        kept
    }
}

/// Bytes of the length of a record, and of each checksum.
const LENGTH: usize = 8;
const CHECK: usize = 4;

/// An event as it stands in the file.
fn record(event: &Event) -> Vec<u8> {
    let data = event.encode_to_vec();
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), &data, &masked(&data)].concat()
}

/// The first event of these bytes, and its record; none where it is not whole.
fn first(bytes: &[u8]) -> Option<(Event, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
    let rest = rest.strip_prefix(&masked(length))?;
    let (data, rest) = rest.split_at_checked(u64::from_le_bytes(*length).try_into().ok()?)?;
    rest.strip_prefix(&masked(data))?;
    let whole = LENGTH + CHECK + data.len() + CHECK;
    Some((Event::decode(data).ok()?, &bytes[..whole]))
}

/// The checksum of bytes, changed so that checksums of data that hold checksums stay good.
fn masked(bytes: &[u8]) -> [u8; CHECK] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// A row, with the digits that it has in the log. Positions are the steps: batches differ from run
/// to run.
fn of_row(row: &Row, wall_time: f64) -> Vec<u8> {
    let row = Row::parse(row.line().trim_end()).expect("a row reads what it wrote");
    let values = [
        ("loss/train", row.train_loss),
        ("loss/validation", row.held_out_loss),
        ("loss/validation_result", row.held_out_result_loss),
        ("schedule/learning_rate", row.learning_rate),
        ("schedule/step", Some(row.step as f64)),
        ("schedule/wdl", Some(row.wdl)),
        ("speed/positions_per_second", row.positions_per_second),
    ];
    let value = |(tag, value): (&str, Option<f64>)| {
        let scalar = Some(value? as f32);
        Some(Value { tag: tag.into(), scalar, ..Value::default() })
    };
    let summary = Some(Summary { values: values.into_iter().filter_map(value).collect() });
    record(&Event { wall_time, step: row.positions as i64, summary, ..Event::default() })
}

/// The config of a run, as it is from these positions on; the blanks keep Markdown from it.
fn text(config: &str, positions: u64, wall_time: f64) -> Event {
    let lines: String = config.lines().map(|line| format!("    {line}\n")).collect();
    let tensor = Tensor { kind: 7, shape: Some(Shape {}), strings: vec![lines.into_bytes()] };
    let plugin = Some(Plugin { name: "text".into() });
    let value = Value {
        tag: CONFIG.into(),
        scalar: None,
        tensor: Some(tensor),
        metadata: Some(Metadata { plugin, class: 2 }),
    };
    let summary = Some(Summary { values: vec![value] });
    Event { wall_time, step: positions as i64, summary, ..Event::default() }
}
