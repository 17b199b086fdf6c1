//! Formats of one record of 32 bytes a position.

use super::{BLOCK, BadRecord, Cut, Fault, Input, Place, Reader, fill};
use crate::sample::Sample;

pub const LENGTH: usize = 32;

pub const CUT: Cut = Cut { bytes: 1 << 17, border: |_| Some(0) };

type Decode = fn(&[u8; LENGTH]) -> Result<Sample, String>;

/// Reads records, with what turns one into a sample.
pub struct Records {
    input: Input,
    decode: Decode,
    records: u64,
}

impl Records {
    pub fn new(input: Input, decode: Decode) -> Self {
        Self { input, decode, records: 0 }
    }
}

impl Reader for Records {
    fn read(&mut self, out: &mut Vec<Sample>) -> Result<bool, Fault> {
        for _ in 0..BLOCK {
            let mut record = [0; LENGTH];
            let length = fill(&mut *self.input, &mut record)?;
            if length == 0 {
                return Ok(false);
            }
            self.records += 1;
            let place = || Place::Record(self.records);
            if length < LENGTH {
                let reason = format!("the file ends after {length} of its {LENGTH} bytes");
                return Err(Fault::CutOff(BadRecord { place: place(), reason }));
            }
            match (self.decode)(&record) {
                Ok(sample) => out.push(sample),
                Err(reason) => return Err(Fault::Skipped(BadRecord { place: place(), reason })),
            }
        }
        Ok(true)
    }
}

/// Whether most of the first records are sound.
pub fn recognises(head: &[u8], decode: Decode) -> bool {
    let (records, _) = head.as_chunks::<LENGTH>();
    let first = &records[..records.len().min(1024)];
    let sound = first.iter().filter(|record| decode(record).is_ok()).count();
    2 * sound > first.len()
}
