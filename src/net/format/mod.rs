//! File formats of nets, each a [`NetFormat`] in [`ALL`]. Sizes identify files without a header.

mod bullet;
mod checkpoint;
mod quantised;
pub mod stockfish;

use std::cmp::Ordering;
use std::collections::BTreeMap;

pub use bullet::write_raw_bin;
pub use checkpoint::facts;
pub(super) use quantised::write_net;

use super::{ForeignHeader, Hints, Net, WriteNet, stored_arrays};
use crate::architecture::{Architecture, ImpossibleNet, MAX_HIDDEN};
use crate::scales::Scales;
use crate::weights::{Weights, WeightsError};

/// A file format of nets. `src/net/format/stockfish.rs` is a short example.
#[derive(Debug)]
pub struct NetFormat {
    /// The name of the format in messages.
    pub name: &'static str,
    /// Whether a file of a net described by the hints looks like this format.
    pub recognises: fn(&[u8], &Hints) -> bool,
    pub contents: Contents,
}
#[derive(Debug)]
pub enum Contents {
    /// Floats; `cure` is the remedy if integers are needed.
    Floats { read: ReadFloats, cure: &'static str },
    /// Integers; the net has the function that writes it.
    Integers(fn(&[u8], &Hints) -> Result<Net, NetError>),
}

type ReadFloats = fn(&[u8], &Hints) -> Result<ImportedWeights, ImportError>;

/// All formats; the first that recognises a file reads it.
pub static ALL: [&NetFormat; 5] = [
    &checkpoint::FORMAT,
    &bullet::WEIGHTS_BIN,
    &stockfish::FORMAT,
    &quantised::FORMAT,
    // If a size fits both, a raw.bin has floats instead of a net's padding.
    &bullet::RAW_BIN,
];

/// Finds the format of a file. Unknown files are read as quantised nets, for the error of the reader.
fn recognise_format(bytes: &[u8], hints: &Hints) -> &'static NetFormat {
    let format = ALL.into_iter().find(|format| (format.recognises)(bytes, hints));
    format.unwrap_or(&quantised::FORMAT)
}

impl Net {
    /// Reads the integers of a file. Without a header, the hidden size follows from the number of
    /// bytes.
    ///
    /// # Errors
    ///
    /// Fails as [`Net::check_architecture`] does for the hints; with [`NetError::Other`] for an
    /// empty file, a text, a program or a file of floats; with [`NetError::Size`] or
    /// [`NetError::Padding`] if the bytes are not those of such a net; with [`NetError::NotFinite`]
    /// for a float that is NaN or infinite; and with [`NetError::Stockfish`] or
    /// [`NetError::DamagedStockfish`] for a file of Stockfish that cannot be read.
    pub fn read(bytes: &[u8], hints: &Hints) -> Result<Self, NetError> {
        Self::check_architecture(&hints.net.without_factoriser(), hints.scales)?;
        if let Some(kind) = looks_like(bytes) {
            return Err(NetError::Other(kind));
        }
        match recognise_format(bytes, hints).contents {
            Contents::Floats { cure, .. } => Err(NetError::Other(cure)),
            Contents::Integers(read) => read(bytes, hints),
        }
    }
}

/// Imports a checkpoint of ours or of bullet, or a quantised net described by `hints`.
///
/// # Errors
///
/// Fails with [`ImportError::Net`] as [`Net::read`] does if the file has integers; otherwise with
/// [`ImportError::Weights`] or [`ImportError::ImpossibleNet`], and with the other variants for a
/// header or arrays that do not fit the net.
pub fn import_weights(bytes: &[u8], hints: &Hints) -> Result<ImportedWeights, ImportError> {
    let format = recognise_format(bytes, hints);
    if let Contents::Floats { read, .. } = format.contents {
        return read(bytes, hints);
    }
    let net = Net::read(bytes, hints)?;
    let architecture = net.architecture().clone();
    // An export of the weights is no longer a net of the other program.
    let write = if net.is_foreign() { write_net } else { net.write };
    let source = ImportedWeights::new(format, dequantise_net(&net), architecture, net.scales());
    Ok(ImportedWeights { write, header: net.header, ..source })
}

/// Converts a net to weights that quantise to the same net.
pub fn dequantise_net(net: &Net) -> Weights {
    let mut weights = Weights::default();
    let arrays = stored_arrays(net.architecture(), net.scales());
    for (stored, numbers) in arrays.into_iter().zip(net.numbers()) {
        let value = |index: usize| (numbers.get(index) / stored.factor_at(index)) as f32;
        let values = (0..numbers.len()).map(value).collect();
        weights.insert(&stored.array.name, &stored.array.shape, values);
    }
    weights
}

#[derive(Debug)]
pub struct ImportedWeights {
    pub weights: Weights,
    pub architecture: Architecture,
    pub scales: Scales,
    /// The function that writes the net; integers are written as they were read.
    pub write: WriteNet,
    pub header: Option<ForeignHeader>,
    /// The header of a checkpoint; empty for other files.
    pub facts: BTreeMap<String, String>,
    pub format: &'static NetFormat,
}

impl ImportedWeights {
    fn new(
        format: &'static NetFormat,
        weights: Weights,
        net: Architecture,
        scales: Scales,
    ) -> Self {
        let facts = BTreeMap::new();
        Self { weights, architecture: net, scales, write: write_net, header: None, facts, format }
    }

    /// Whether the weights come from integers, whose bytes an export does not change.
    pub fn is_quantised(&self) -> bool {
        matches!(self.format.contents, Contents::Integers(_))
    }
}

/// Finds the hidden size for which a file is neither too small (`Less`) nor too large.
fn find_hidden(net: &Architecture, size: impl Fn(usize) -> Ordering) -> Option<usize> {
    let step = 1 + usize::from(net.pairwise);
    let [mut lower, mut upper] = [0, MAX_HIDDEN / step + 1];
    while upper - lower > 1 {
        let middle = lower + (upper - lower) / 2;
        match size(middle * step) {
            Ordering::Equal => return Some(middle * step),
            Ordering::Less => lower = middle,
            Ordering::Greater => upper = middle,
        }
    }
    None
}

/// The kind of a file that cannot be a net by its first bytes.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if bytes.is_empty() {
        Some("the file is empty; export it again")
    } else if bytes.iter().take(1024).all(is_text) {
        Some("it is a text file")
    } else if [&b"\x7fELF"[..], b"MZ", b"\xcf\xfa\xed\xfe"].iter().any(|it| bytes.starts_with(it)) {
        Some("it is a program, which `nnuance match` takes with --engine")
    } else {
        None
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("the checkpoint says {key} = {value:?}, expected {expected}")]
    Fact { key: &'static str, value: String, expected: String },
    #[error(transparent)]
    ImpossibleNet(#[from] ImpossibleNet),
    #[error("the checkpoint ends within {at}; is the file complete?")]
    Truncated { at: String },
    #[error("the checkpoint has no {id}, only {held}")]
    Missing { id: String, held: String },
    #[error("{id} has {found} values, expected {expected} for a net of {shape}; check the shape")]
    Count { id: String, found: usize, expected: usize, shape: String },
    #[error(
        "the checkpoint also has {ids}, which {shape} lacks; describe the net in a file beside it \
         with the ending .toml"
    )]
    More { ids: String, shape: String },
}

/// The reason why a file, or numbers, are not a net.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum NetError {
    #[error(transparent)]
    ImpossibleNet(#[from] ImpossibleNet),
    #[error("{name} is {value}, expected 1 to {max}", max = super::MAX_SCALE)]
    Scale { name: &'static str, value: i32 },
    #[error("{name} has {found}, expected {expected}")]
    Parts { name: String, found: String, expected: String },
    #[error("{name}[{index}] is not finite: the net has another shape, or the file is damaged")]
    NotFinite { name: String, index: usize },
    #[error(
        "an int8 head, or one in fixed point, needs an activation with an upper end; use the float \
         head, or train with crelu or screlu"
    )]
    Unbounded,
    #[error(
        "an int8 head, or one in fixed point, needs layers behind the accumulators or pairwise \
         products, which this net lacks; remove the head's format"
    )]
    NoHead,
    #[error(
        "`head_format` is for heads of f32, and layers of this net have `integers`; remove one of \
         both"
    )]
    TwoFormats,
    #[error("`head_round` is for int8 heads; add `head_format = \"int8\"`, or remove the key")]
    RoundOfFloats,
    #[error("`head_shift` is for int8 heads; add `head_format = \"int8\"`, or remove the key")]
    ShiftOfFloats,
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
    #[error("it begins as a net of Stockfish {name}, but {reason}")]
    DamagedStockfish { name: &'static str, reason: stockfish::Damage },
    #[error(
        "no net of this shape has {size} bytes; the nearest sizes are {nearest}. Check that the \
         file is complete, or describe another shape in a file beside it with the ending .toml"
    )]
    Size { size: usize, nearest: String },
    #[error(
        "the last {0} bytes are not padding (`bullet` or zeros); check that the file is complete, \
         describe the shape of the net in a file beside it with the ending .toml, or cut them off"
    )]
    Padding(usize),
}
