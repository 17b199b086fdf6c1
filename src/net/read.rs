//! A net's file, read: the hidden size follows from the number of bytes.
//!
//! Strict: a size that does not fit is refused with what it would fit, or with what the file
//! looks like instead. Padding is looked at; what is odd about it becomes a [`Warning`].

use std::fmt::Write as _;

use super::{ALIGNMENT, Hints, Net, PADDING, check_scales, payload};
use crate::architecture::Architecture;
use crate::features::{self, Features};
use crate::sample::Position;

/// Why there is no net.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    #[error("{name} is {value}, expected 1 to {max}", max = super::MAX_SCALE)]
    Scale { name: &'static str, value: i32 },
    #[error("{found} {part}, the architecture needs {expected}")]
    Parts { part: &'static str, found: usize, expected: usize },
    #[error("not a net: {0}")]
    Other(&'static str),
    #[error(
        "{size} bytes are too few for a net: {views} with N = 1 has {smallest}; is the file whole?"
    )]
    Small { size: usize, views: &'static str, smallest: usize },
    #[error("{size} bytes fit no net of {views}: {fits}")]
    Size { size: usize, views: &'static str, fits: String },
    #[error(
        "{size} bytes fit {views} with N = {hidden}, but the padding is that of {other} with \
         N = {other_hidden}; name the right feature set: {cure}"
    )]
    Ambiguous {
        size: usize,
        views: &'static str,
        hidden: usize,
        other: &'static str,
        other_hidden: usize,
        cure: String,
    },
}

/// What is odd about a net's file, though it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The file ends with the weights.
    Unpadded,
    /// The padding is this many zeros.
    Zeros(usize),
    /// The padding, of this many bytes, is something else.
    Strange(usize),
    /// The size fits another shape too, and no padding text tells which it is.
    Also { shape: &'static str, hidden: usize },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::Unpadded => {
                write!(f, "the file is not padded to a multiple of {ALIGNMENT} bytes")
            }
            Warning::Zeros(count) => write!(f, "the padding is {count} zeros, not `bullet`"),
            Warning::Also { shape, hidden } => {
                write!(f, "the size also fits {shape} with N = {hidden}")
            }
            Warning::Strange(count) => write!(
                f,
                "the last {count} bytes are neither `bullet` nor zeros: this may be a net of \
                 another shape"
            ),
        }
    }
}

impl Net {
    /// Reads a file's bytes; the hidden size comes from their number, with or without padding.
    ///
    /// # Errors
    /// If the size fits no net of the hinted feature set, or its padding says that it is a net
    /// of another one, or a scale is out of range.
    pub fn read(bytes: &[u8], hints: &Hints) -> Result<(Self, Vec<Warning>), NetError> {
        check_scales(hints.scales)?;
        if let Some(other) = looks_like(bytes) {
            return Err(NetError::Other(other));
        }
        let &Hints { features, activation, scales } = hints;
        let (size, views) = (bytes.len(), shape(features.views));
        let Some(hidden) = hidden(size, features.inputs, features.views) else {
            let smallest = payload(features.inputs, features.views, 1);
            if size < smallest {
                return Err(NetError::Small { size, views, smallest });
            }
            if let Some(other) = packed_positions(bytes) {
                return Err(NetError::Other(other));
            }
            return Err(NetError::Size { size, views, fits: fits(size, features) });
        };
        let (integers, padding) = bytes.split_at(payload(features.inputs, features.views, hidden));
        let mut warnings = Vec::new();
        if !size.is_multiple_of(ALIGNMENT) {
            warnings.push(Warning::Unpadded);
        } else {
            let others = features::ALL.iter().copied().filter(|f| f.views != features.views);
            // The longer text is the padding: weights that spell `bullet` are no accident.
            let text = if is_text(padding) { padding.len() } else { 0 };
            let other = others.clone().find_map(|other| {
                let hidden = self::hidden(size, other.inputs, other.views)?;
                let padding = &bytes[payload(other.inputs, other.views, hidden)..];
                (is_text(padding) && padding.len() > text).then_some((other, hidden))
            });
            if let Some((other, other_hidden)) = other {
                let cure = names(others.filter(|f| f.views == other.views));
                let other = shape(other.views);
                return Err(NetError::Ambiguous { size, views, hidden, other, other_hidden, cure });
            }
            if text < padding.len() {
                let zeros = padding.iter().all(|&byte| byte == 0);
                let warning = if zeros { Warning::Zeros } else { Warning::Strange };
                warnings.push(warning(padding.len()));
                warnings.extend(others.clone().find_map(|other| {
                    let hidden = self::hidden(size, other.inputs, other.views)?;
                    Some(Warning::Also { shape: shape(other.views), hidden })
                }));
            }
        }
        let mut integers = integers
            .chunks_exact(2)
            .map(|bytes| i16::from_le_bytes(bytes.try_into().expect("chunks of two")));
        let mut take = |count| integers.by_ref().take(count).collect::<Vec<_>>();
        let net = Net::new(
            Architecture { features, hidden, activation },
            scales,
            take(features.inputs * hidden),
            take(hidden),
            take(features.views * hidden),
            take(1)[0],
        )?;
        Ok((net, warnings))
    }
}

/// The hidden size that gives a file of this size, padded or not.
fn hidden(size: usize, inputs: usize, views: usize) -> Option<usize> {
    let per_neuron = payload(inputs, views, 1) - payload(inputs, views, 0);
    let hidden = size.checked_sub(2)? / per_neuron;
    let payload = payload(inputs, views, hidden);
    let fits = payload == size || payload.next_multiple_of(ALIGNMENT) == size;
    (hidden > 0 && fits).then_some(hidden)
}

fn is_text(padding: &[u8]) -> bool {
    padding.iter().eq(PADDING.iter().cycle().take(padding.len()))
}

fn shape(views: usize) -> &'static str {
    if views == 1 { "768 -> N -> 1" } else { "(768 -> N)x2 -> 1" }
}

fn names(features: impl Iterator<Item = &'static Features>) -> String {
    features.map(|features| features.name).collect::<Vec<_>>().join(" or ")
}

/// What a size would fit instead, or the sizes nearest to it.
fn fits(size: usize, features: &Features) -> String {
    let others = features::ALL.iter().copied().filter(|other| other.views != features.views);
    let fitting: Vec<_> =
        others.filter_map(|f| Some((f, hidden(size, f.inputs, f.views)?))).collect();
    if let Some(&(other, hidden)) = fitting.first() {
        let names = names(fitting.iter().map(|(features, _)| *features));
        return format!(
            "they fit {} with N = {hidden}; name its feature set: {names}",
            shape(other.views)
        );
    }
    if size.is_multiple_of(2) && hidden(size / 2, features.inputs, features.views).is_some() {
        return "they fit the floats of bullet's raw.bin; make a net of them with `nnuance export`"
            .to_string();
    }
    // Engines choose one of several output layers by the number of men; each has its own bias.
    for buckets in 2..=8 {
        let fits = |hidden: &usize| {
            let payload = 2 * ((features.inputs + 1 + buckets * features.views) * hidden + buckets);
            payload == size || payload.next_multiple_of(ALIGNMENT) == size
        };
        if let Some(hidden) = (1..=size / 2 / features.inputs).find(fits) {
            return format!(
                "they would fit N = {hidden} with {buckets} output buckets, which \
                            this program does not know"
            );
        }
    }
    let payload = |hidden| payload(features.inputs, features.views, hidden);
    let below = (size / payload(1)).max(1);
    let mut nearest = String::from("the nearest sizes are");
    for (hidden, joint) in [(below, " and"), (below + 1, "; is the file whole?")] {
        let padded = payload(hidden).next_multiple_of(ALIGNMENT);
        let _ = write!(nearest, " {padded} (N = {hidden}){joint}");
    }
    nearest
}

/// What a file is if its first bytes say that it is no net.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    const SEEN: usize = 1024;
    let head = &bytes[..bytes.len().min(SEEN)];
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let is_text = head.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let contains = |text: &str| head.windows(text.len()).any(|bytes| bytes == text.as_bytes());
    Some(match bytes {
        [] => "the file is empty; export it again",
        _ if starts(&[0x1f, 0x8b]) => "it is compressed with gzip; unpack it first",
        _ if starts(&[0x28, 0xb5, 0x2f, 0xfd]) => "it is compressed with zstd; unpack it first",
        _ if starts(b"PK\x03\x04") => "it is a zip archive; unpack it first",
        _ if starts(b"\xfd7zXZ\0") => "it is compressed with xz; unpack it first",
        _ if starts(b"BINP") => "it is a binpack of training positions",
        _ if starts(&0x7af3_2f20_u32.to_le_bytes()) => {
            "it is a net of Stockfish's own format, which this program does not read"
        }
        _ if bytes.get(8) == Some(&b'{') && starts_small(bytes) => {
            "it is a safetensors file of floats; make a net of it with `nnuance export`"
        }
        _ if starts(b"l0b\n") || starts(b"l0w\n") => {
            "it is a checkpoint of floats; make a net of it with `nnuance export`"
        }
        _ if is_text && contains("[Event ") => "it is a PGN file of games",
        _ if is_text && starts(b"version https://git-lfs") => {
            "it is a Git LFS pointer; fetch the file itself with `git lfs pull`"
        }
        _ if is_text => "it is a text file",
        _ => return None,
    })
}

/// Whether the first eight bytes are a length that the file has, as in safetensors.
fn starts_small(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|length| length < bytes.len() as u64)
}

/// Whether the first record is a board of marlinformat or its kin.
fn packed_positions(bytes: &[u8]) -> Option<&'static str> {
    let occupied = u64::from_le_bytes(*bytes.first_chunk()?);
    let men = *bytes.get(8..)?.first_chunk()?;
    // The side to move is stored elsewhere in each of them: one of the two must be legal.
    let legal = shakmaty::Color::ALL.into_iter().any(|turn| {
        Position::from_parts(occupied, men, turn, None, 0, 1)
            .is_ok_and(|position| position.to_chess().is_ok())
    });
    (legal && occupied.count_ones() > 1).then_some(
        "it looks like packed training positions (viriformat, marlinformat, bulletformat)",
    )
}
