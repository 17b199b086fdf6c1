//! Formats of one record of 32 bytes per position.

use std::io::{BufRead as _, ErrorKind};

use super::{
    BLOCK, BadRecord, ByteInput, Fault, RecordError, RecordPlace, RecordStarts, SampleReader,
    fill_buffer,
};
use crate::sample::Sample;

pub const LENGTH: usize = 32;
pub const CUT: RecordStarts = RecordStarts { bytes: 1 << 18, border: |_| Some(0) };

/// A reader of records, with a function that decodes a record.
pub struct Records<D> {
    input: ByteInput,
    decode: D,
    records: u64,
}

impl<D: Fn(&[u8; LENGTH]) -> Result<Sample, RecordError>> Records<D> {
    pub fn new(input: ByteInput, decode: D) -> Self {
        Self { input, decode, records: 0 }
    }

    fn bad_record(&self, reason: RecordError) -> BadRecord {
        BadRecord { location: RecordPlace::Record(self.records), reason }
    }

    /// Reads a record across the border of two slices of the input; false at the end.
    fn read_across_border(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let mut record = [0; LENGTH];
        let length = fill_buffer(&mut *self.input, &mut record)?;
        if length == 0 {
            return Ok(false);
        }
        self.records += 1;
        if length < LENGTH {
            let reason = format!("the file ends after {length} of its 32 bytes");
            return Err(Fault::CutOff(self.bad_record(reason.into())));
        }
        out.push((self.decode)(&record).map_err(|reason| Fault::Skipped(self.bad_record(reason)))?);
        Ok(true)
    }
}

impl<D: Fn(&[u8; LENGTH]) -> Result<Sample, RecordError> + Send> SampleReader for Records<D> {
    fn read_samples(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        let mut left = BLOCK;
        while left > 0 {
            let (records, _) = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes?.as_chunks(),
            };
            if records.is_empty() {
                if !self.read_across_border(out)? {
                    return Ok(false);
                }
                left -= 1;
                continue;
            }
            let before = out.len();
            let decoded = records.iter().take(left).map(&self.decode);
            let fault = decoded.map(|it| it.map(|sample| out.push(sample))).find_map(Result::err);
            let read = out.len() - before + usize::from(fault.is_some());
            self.input.consume(read * LENGTH);
            self.records += read as u64;
            left -= read;
            if let Some(reason) = fault {
                return Err(Fault::Skipped(self.bad_record(reason)));
            }
        }
        Ok(true)
    }
}

/// Whether most of the first records are valid.
pub fn is_mostly_sound(
    head: &[u8],
    decode: impl Fn(&[u8; LENGTH]) -> Result<Sample, RecordError>,
) -> bool {
    let (records, _) = head.as_chunks::<LENGTH>();
    let first = &records[..records.len().min(1024)];
    let sound = first.iter().filter(|record| decode(record).is_ok()).count();
    2 * sound > first.len()
}
