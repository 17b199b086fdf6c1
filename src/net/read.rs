//! Reader of a net's file: the hidden size follows from the number of bytes.

use std::cmp::Ordering;

use super::definition::payload;
use super::{ALIGNMENT, Hints, Net, PADDING, Padding, StoredArray, stored};
use crate::architecture::{Architecture, ImpossibleNet, MOST_HIDDEN};
use crate::scales::Scales;

/// Reason why a file, or numbers, are no net.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum NetError {
    #[error(transparent)]
    ImpossibleNet(#[from] ImpossibleNet),
    #[error("{name} is {value}, expected 1 to {max}", max = super::MAX_SCALE)]
    Scale { name: &'static str, value: i32 },
    #[error("{name} has {found}, expected {expected}")]
    Parts { name: String, found: String, expected: String },
    #[error("{name}[{place}] is not finite: the net has another shape, or the file is damaged")]
    NotFinite { name: String, place: usize },
    #[error(
        "an int8 head needs an activation with an upper end; use the float head, or train with \
         crelu or screlu"
    )]
    Unbounded,
    #[error(
        "an int8 head needs layers behind the accumulators or pairwise products, which this net \
         lacks; remove the head's format"
    )]
    NoHead,
    #[error(
        "`head_format` is for heads of f32, and layers of this net have `integers`; remove one of \
         both"
    )]
    TwoFormats,
    #[error("`head_shift` is for int8 heads; add `head_format = \"int8\"`, or remove the key")]
    ShiftOfFloats,
    #[error("`head_round` is for int8 heads; add `head_format = \"int8\"`, or remove the key")]
    RoundOfFloats,
    #[error(
        "with a shift of {shift} the inputs of the first map are 0 to {most_input}, expected at \
         most 255; use a `head_shift` of {least} to {most}"
    )]
    Shift { shift: u32, most_input: i64, least: u32, most: u32 },
    #[error("not a net: {0}")]
    Other(&'static str),
    #[error(
        "it is a net of Stockfish ({0}), which cannot be read yet; `nnuance match --engine` takes \
         Stockfish itself"
    )]
    Stockfish(&'static str),
    #[error(
        "no net of this shape has {size} bytes; the nearest sizes are {nearest}. Check that the \
         file is complete, or describe another shape in a file beside it with the ending .toml"
    )]
    Size { size: usize, nearest: String },
    #[error(
        "the last {0} bytes are not padding (`bullet` or zeros); describe the shape of the net in \
         a file beside it with the ending .toml, or cut them off"
    )]
    Padding(usize),
}

impl Net {
    /// Reads a net from bytes; their number determines the hidden size, with or without padding.
    pub fn read(bytes: &[u8], hints: &Hints) -> Result<Self, NetError> {
        let Hints { net, scales } = hints;
        let net = net.merged();
        Self::check(&net, *scales)?;
        if let Some(other) = looks_like(bytes) {
            return Err(NetError::Other(other));
        }
        if let Some(version) = stockfish_version(bytes) {
            return Err(NetError::Stockfish(version));
        }
        let size = bytes.len();
        let hidden = hidden(size, &net, *scales).ok_or_else(|| match raw_hidden(size, &net) {
            Some(_) => NetError::Other("it is bullet's raw.bin; convert it with `nnuance export`"),
            None => NetError::Size { size, nearest: nearest(size, &net, *scales) },
        })?;
        let net = net.with_hidden(hidden);
        let (mut rest, padding) = bytes.split_at(payload(&net, *scales));
        let filled = if padding.iter().eq(PADDING.iter().cycle().take(padding.len())) {
            Padding::Text
        } else if padding.iter().all(|&byte| byte == 0) {
            Padding::Zeros
        } else {
            return Err(NetError::Padding(padding.len()));
        };
        let mut numbers = Vec::new();
        for StoredArray { array, number, .. } in stored(&net, *scales) {
            let (these, behind) = rest.split_at(array.len() * number.bytes());
            numbers.push(number.read(these));
            rest = behind;
        }
        Ok(Self::of(&net, *scales, numbers)?.padded_with(filled))
    }
}

fn hidden(size: usize, net: &Architecture, scales: Scales) -> Option<usize> {
    let payload = |hidden| payload(&net.with_hidden(hidden), scales);
    hidden_of(net, |hidden| {
        let (least, most) = (payload(hidden), payload(hidden).next_multiple_of(ALIGNMENT));
        if size == least || size == most { Ordering::Equal } else { least.cmp(&size) }
    })
}

fn hidden_of(net: &Architecture, size: impl Fn(usize) -> Ordering) -> Option<usize> {
    let step = 1 + usize::from(net.pairwise);
    let (mut below, mut above) = (0, MOST_HIDDEN / step + 1);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        match size(middle * step) {
            Ordering::Equal => return Some(middle * step),
            Ordering::Less => below = middle,
            Ordering::Greater => above = middle,
        }
    }
    None
}

/// The largest smaller size of a file, and the next larger one, with their nets.
fn nearest(size: usize, net: &Architecture, scales: Scales) -> String {
    let step = 1 + usize::from(net.pairwise);
    let payload = |hidden| payload(&net.with_hidden(hidden), scales);
    let below = size.saturating_sub(payload(0)) / (payload(step) - payload(0)) * step;
    let below = below.max(step);
    let of = |hidden: usize| {
        let size = payload(hidden).next_multiple_of(ALIGNMENT);
        format!("{size} ({})", net.with_hidden(hidden))
    };
    format!("{} and {}", of(below), of(below + step))
}

/// Kind of a file whose first bytes are not a net's.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if bytes.is_empty() {
        Some("the file is empty; export it again")
    } else if is_safetensors(bytes) || holds_floats_by_name(bytes) {
        Some("it is a checkpoint (safetensors, weights.bin); convert it with `nnuance export`")
    } else if bytes.iter().take(1024).all(is_text) {
        Some("it is a text file")
    } else if [&b"\x7fELF"[..], b"MZ", b"\xcf\xfa\xed\xfe"].iter().any(|it| bytes.starts_with(it)) {
        Some("it is a program, which `nnuance match` takes with --engine")
    } else {
        None
    }
}

/// The version of Stockfish whose net a file begins as, by its version and the hash of its layers.
fn stockfish_version(bytes: &[u8]) -> Option<&'static str> {
    let word = |at| bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    Some(match (word(0)?, word(4)?) {
        (0x7af3_2f16, _) => "12 or 13",
        (0x7af3_2f20, 0x1c10_2ef2) => "15 or 15.1",
        (0x7af3_2f20, 0x1c10_2b72) => "16",
        (0x7af3_2f20, 0x1c10_3072) => "16.1",
        (0x7af3_2f20, 0x1c10_20f2) => "17 or 17.1",
        (0x7af3_2f20, 0x1c10_3c92) => "the small net of 17 or 18",
        (0x7af3_2f20, 0x1c10_3eb2) => "the lite net of 17.1 or 18",
        (0x7af3_2f20, 0xec10_2ef2) => "18",
        (0x6a44_8afa, 0xa85b_2205) => "19",
        (0x6a44_8afa, 0x0c10_35ae) => "the lite net of 19",
        (0x7af3_2f20 | 0x6a44_8afa, _) => "another version",
        _ => return None,
    })
}

/// Whether a file begins with the length of a JSON header, as no weights do.
pub fn is_safetensors(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
    bytes.get(8) == Some(&b'{') && length < 1 << 32
}

/// Whether a file begins as bullet's checkpoints: an id, a newline, a number of floats.
pub fn holds_floats_by_name(bytes: &[u8]) -> bool {
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(byte);
    let Some(end) = bytes.iter().take(32).position(|&byte| byte == b'\n') else { return false };
    let count = bytes[end + 1..].first_chunk().map_or(u64::MAX, |it| u64::from_le_bytes(*it));
    end > 0 && bytes[..end].iter().all(is_id) && count < bytes.len() as u64
}

/// The hidden size of bullet's `raw.bin` of this size, for nets of one output.
pub fn raw_hidden(size: usize, net: &Architecture) -> Option<usize> {
    let numbers = |hidden| -> usize {
        net.merged().with_hidden(hidden).arrays().iter().map(|array| array.len()).sum()
    };
    let hidden = hidden_of(net, |hidden| (4 * numbers(hidden)).cmp(&size))?;
    (!net.is_deep() && net.buckets == 1).then_some(hidden)
}
