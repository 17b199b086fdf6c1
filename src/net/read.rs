//! A net's file, read: the hidden size follows from the number of bytes, which must fit.

use std::cmp::Ordering;

use super::definition::payload;
use super::{ALIGNMENT, Hints, Net, PADDING, Padding, Stored, stored};
use crate::architecture::{Architecture, Impossible, Views};
use crate::sample::Position;
use crate::scales::HeadFormat;

/// Hidden sizes up to this are tried.
const MOST_HIDDEN: usize = 1 << 16;

#[derive(Debug, thiserror::Error)]
pub enum NetError {
    #[error("there is no such net: {0}")]
    Impossible(#[from] Impossible),
    #[error("{name} is {value}, expected 1 to {max}", max = super::MAX_SCALE)]
    Scale { name: &'static str, value: i32 },
    #[error("{found} arrays, the architecture needs {expected}")]
    Arrays { found: usize, expected: usize },
    #[error("{name} has {found}, the architecture needs {expected}")]
    Parts { name: String, found: String, expected: String },
    #[error(
        "{name}[{place}] is no finite number: this is a net of another shape, or the file is \
         damaged"
    )]
    NotFinite { name: String, place: usize },
    #[error(
        "an int8 head takes what accumulators hand on as 0 to 127, and relu has no upper end; take \
         the float head, or train with crelu or screlu"
    )]
    Unbounded,
    #[error(
        "an int8 head is for nets with layers behind the accumulators or pairwise products; this \
         net's output follows at once, in i16: leave the head's format out"
    )]
    NoHead,
    #[error("not a net: {0}")]
    Other(&'static str),
    #[error("{size} bytes fit no net of {views}: {fits}")]
    Size { size: usize, views: String, fits: String },
    #[error(
        "{size} bytes fit {views} with N = {hidden}, but the padding is that of {other} with \
         N = {other_hidden}; name the right feature set: {cure}"
    )]
    Ambiguous {
        size: usize,
        views: String,
        hidden: usize,
        other: String,
        other_hidden: usize,
        cure: String,
    },
}

/// Oddity of a net's file that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    Unpadded,
    Zeros(usize),
    /// The padding, of this many bytes, is something else.
    Strange(usize),
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::Unpadded => {
                write!(f, "the file is not padded to a multiple of {ALIGNMENT} bytes")
            }
            Warning::Zeros(count) => write!(f, "the padding is {count} zeros, not `bullet`"),
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
    pub fn read(bytes: &[u8], hints: &Hints) -> Result<(Self, Vec<Warning>), NetError> {
        let Hints { net, scales } = hints;
        let (net, head) = (&net.merged(), scales.head_format);
        Self::check(net, *scales)?;
        if let Some(other) = looks_like(bytes) {
            return Err(NetError::Other(other));
        }
        let (size, views) = (bytes.len(), net.sizes());
        let Some(hidden) = hidden(size, net, head) else {
            if let Some(other) = packed_positions(bytes) {
                return Err(NetError::Other(other));
            }
            return Err(NetError::Size { size, views, fits: fits(size, net, head) });
        };
        let net = &net.with_hidden(hidden);
        let (mut rest, padding) = bytes.split_at(payload(net, head));
        let mut warnings = Vec::new();
        let mut filled = Padding::Text;
        if !size.is_multiple_of(ALIGNMENT) {
            warnings.push(Warning::Unpadded);
        } else {
            let others = others(net);
            // The longer text is the padding: weights that spell `bullet` are no accident.
            let text = if is_text(padding) { padding.len() } else { 0 };
            let other = others.iter().find_map(|other| {
                let hidden = self::hidden(size, other, head)?;
                let padding = &bytes[payload(&other.with_hidden(hidden), head)..];
                (is_text(padding) && padding.len() > text).then_some((other, hidden))
            });
            if let Some((other, other_hidden)) = other {
                let cure = names(others.iter().filter(|it| it.views() == other.views()));
                let other = other.sizes();
                return Err(NetError::Ambiguous { size, views, hidden, other, other_hidden, cure });
            }
            if text < padding.len() {
                let zeros = padding.iter().all(|&byte| byte == 0);
                let warning = if zeros { Warning::Zeros } else { Warning::Strange };
                filled = if zeros { Padding::Zeros } else { Padding::Text };
                warnings.push(warning(padding.len()));
            }
        }
        let mut numbers = Vec::new();
        for Stored { array, number } in stored(net, head) {
            let (these, behind) = rest.split_at(array.len() * number.bytes());
            numbers.push(number.read(these));
            rest = behind;
        }
        let net = Net::of(net, *scales, numbers)?.padded_with(filled);
        Ok((net, warnings))
    }
}

/// The fewest neurons that there can be.
fn least(net: &Architecture) -> usize {
    if net.pairwise { 2 } else { 1 }
}

fn hidden(size: usize, net: &Architecture, head: HeadFormat) -> Option<usize> {
    let payload = |hidden| payload(&net.with_hidden(hidden), head);
    hidden_of(net, |hidden| {
        let (least, most) = (payload(hidden), payload(hidden).next_multiple_of(ALIGNMENT));
        if size == least || size == most { Ordering::Equal } else { least.cmp(&size) }
    })
}

fn hidden_of(net: &Architecture, size: impl Fn(usize) -> Ordering) -> Option<usize> {
    let step = least(net);
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

/// The other simple nets whose files have another size; none for nets that are not simple.
fn others(net: &Architecture) -> Vec<Architecture> {
    let simple = |views| Architecture::simple(views, net.hidden, net.activation);
    if *net != simple(net.inputs.views) {
        return Vec::new();
    }
    let others = Views::ALL.into_iter().map(simple);
    others.filter(|other| other.views() != net.views()).collect()
}

fn is_text(padding: &[u8]) -> bool {
    padding.iter().eq(PADDING.iter().cycle().take(padding.len()))
}

fn names<'a>(nets: impl Iterator<Item = &'a Architecture>) -> String {
    nets.map(|net| net.inputs.views.name()).collect::<Vec<_>>().join(" or ")
}

fn fits(size: usize, net: &Architecture, head: HeadFormat) -> String {
    let others = others(net);
    let fitting: Vec<_> =
        others.iter().filter_map(|other| Some((other, hidden(size, other, head)?))).collect();
    if let Some(&(other, hidden)) = fitting.first() {
        let names = names(fitting.iter().map(|(net, _)| *net));
        return format!(
            "they fit {} with N = {hidden}; name its feature set: {names}",
            other.sizes()
        );
    }
    if raw_hidden(size, net).is_some() {
        return "they fit the floats of bullet's raw.bin; make a net of them with `nnuance export`"
            .to_string();
    }
    // Engines choose one of several output layers by the number of pieces; those in use first.
    for buckets in [8, 4, 2, 16, 6, 7, 5, 3].into_iter().filter(|_| net.buckets == 1) {
        let bucketed = Architecture { buckets, ..net.clone() };
        if let Some(hidden) = hidden(size, &bucketed, head) {
            return format!(
                "they would fit N = {hidden} with {buckets} output buckets; describe the net in a \
                 file beside it that ends in .toml"
            );
        }
    }
    let step = least(net);
    let payload = |hidden| payload(&net.with_hidden(hidden), head);
    if size < payload(step) {
        return format!("too few, N = {step} has {}; is the file whole?", payload(step));
    }
    let below = (size - payload(0)) / (payload(step) - payload(0)) * step;
    let [low, high] =
        [below, below + step].map(|hidden| payload(hidden).next_multiple_of(ALIGNMENT));
    format!(
        "the nearest sizes are {low} (N = {below}) and {high} (N = {}); is the file whole?",
        below + step
    )
}

/// The kind of a file whose first bytes are no net's.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(1024)];
    let starts: [(&[u8], &str); 7] = [
        (&[0x1f, 0x8b], "it is compressed with gzip; unpack it first"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "it is compressed with zstd; unpack it first"),
        (b"\xfd7zXZ\0", "it is compressed with xz; unpack it first"),
        (b"PK\x03\x04", "it is a zip archive; unpack it first"),
        (b"BINP", "it is a binpack of training positions"),
        (&[0x20, 0x2f, 0xf3, 0x7a], "it is a net of Stockfish's own format, which is not read"),
        (b"[Event ", "it is a PGN file of games"),
    ];
    let is_text = head.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    match starts.iter().find(|(start, _)| bytes.starts_with(start)) {
        _ if bytes.is_empty() => Some("the file is empty; export it again"),
        Some((_, looks)) => Some(looks),
        None if bytes.get(8) == Some(&b'{') && starts_small(bytes)
            || holds_floats_by_name(bytes) =>
        {
            Some(
                "it is a checkpoint (safetensors, weights.bin); make a net of it with `nnuance export`",
            )
        }
        None => is_text.then_some("it is a text file"),
    }
}

/// Whether a file opens as bullet's checkpoints: an id, a newline, a number of floats.
pub fn holds_floats_by_name(bytes: &[u8]) -> bool {
    let is_id = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(byte);
    let Some(end) = bytes.iter().take(32).position(|&byte| byte == b'\n') else { return false };
    let count = bytes[end + 1..].first_chunk().map_or(u64::MAX, |it| u64::from_le_bytes(*it));
    end > 0 && bytes[..end].iter().all(is_id) && count < bytes.len() as u64
}

/// Whether the first eight bytes are a length that the file has, as in safetensors.
fn starts_small(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|length| length < bytes.len() as u64)
}

/// Whether the first record is a board of marlinformat or its kin.
fn packed_positions(bytes: &[u8]) -> Option<&'static str> {
    let occupied = u64::from_le_bytes(*bytes.first_chunk()?);
    let nibbles = *bytes.get(8..)?.first_chunk()?;
    // The side to move is stored elsewhere in each of them: one of the two must be legal.
    let legal = shakmaty::Color::ALL.into_iter().any(|turn| {
        Position::from_parts(occupied, nibbles, turn, None, 0, 1)
            .is_ok_and(|position| position.to_chess().is_ok())
    });
    (legal && occupied.count_ones() > 1).then_some(
        "it looks like packed training positions (viriformat, marlinformat, bulletformat)",
    )
}

/// The hidden size of a `raw.bin` of bullet of so many bytes, for nets of one output.
pub fn raw_hidden(size: usize, net: &Architecture) -> Option<usize> {
    let numbers = |hidden| -> usize {
        net.merged().with_hidden(hidden).arrays().iter().map(|array| array.len()).sum()
    };
    let hidden = hidden_of(net, |hidden| (4 * numbers(hidden)).cmp(&size))?;
    (!net.is_deep() && net.buckets == 1).then_some(hidden)
}
