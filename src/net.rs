//! The quantised net: its numbers, its file and its evaluation ([`Net`]).
//! The file is bullet's `quantised.bin`, without a header. It has little-endian arrays in the order
//! of [`stored_arrays`]: the weights of each feature set, `[row][neuron]`, i16 or i8 by set, and i16
//! biases of the accumulators, both times QA; i16 output weights `[bucket][perspective * N + neuron]`
//! times QB and biases times QA * QB, or for each map f32 weights `[bucket][output][input]` and
//! biases, with the first map in i8 times QB for [`HeadFormat::Int8`](crate::scales::HeadFormat) and
//! the skip neuron last; i32 piece-square values `[row][bucket]` times QA * QB, if the net has them.
//! The text `bullet` pads the file to a multiple of 64 bytes.

mod accumulator;
#[doc(hidden)]
mod definition;
#[doc(hidden)]
pub mod format;
mod many;

pub use accumulator::{Accumulator, Evaluate};
pub use definition::{
    Number, Numbers, StoredArray, fixed_point, has_bytes, stored_arrays, transpose,
};
pub use format::NetError;
pub use many::PositionEvaluator;

use crate::architecture::{Activation, Architecture, FixedPoint, Graph, Perspectives};
use crate::scales::{HeadFormat, Scales};

/// The alignment of the file size, to which [`PADDING`] fills the file.
pub const ALIGNMENT: usize = 64;
/// The text that is repeated as padding.
pub const PADDING: &[u8] = b"bullet";
/// The largest QA, QB and SCALE: every product of the evaluation then fits an i64.
pub const MAX_SCALE: i32 = i16::MAX as i32;
/// The largest input of an `int8` map unless its shift is chosen: two products with i8 fit an i16.
pub const MAX_INPUT: i64 = 127;

/// Facts about a net that its file does not contain.
#[derive(Clone, Debug, PartialEq)]
pub struct Hints {
    /// The net; its hidden size follows from the size of the file.
    pub net: Architecture,
    /// The quantisation factors.
    pub scales: Scales,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            net: Architecture::simple(Perspectives::Perspective, 1, Activation::SCReLU),
            scales: Scales::default(),
        }
    }
}

/// A function that writes the file of a net, in its format and with its padding.
pub type WriteNet = fn(&Net) -> Vec<u8>;

/// The contents of a Stockfish file besides the numbers of a net.
#[derive(Clone, Debug)]
pub struct ForeignHeader {
    /// Free text.
    pub description: Vec<u8>,
    /// The bytes that pad the weights of each output to a multiple of 32, without effect; empty: zeros.
    pub padding: Vec<u8>,
}

impl Default for ForeignHeader {
    fn default() -> Self {
        // Engines take at most 64 bytes.
        Self { description: "A net trained by nnuance".into(), padding: Vec::new() }
    }
}

/// A quantised net. Its factoriser is merged.
#[derive(Clone, Debug)]
pub struct Net {
    architecture: Architecture,
    scales: Scales,
    write: WriteNet,
    /// The contents of the file besides the numbers, if it is a net of another program.
    header: Option<ForeignHeader>,
    /// The arrays in file order: rows of each set, accumulator biases, weights and biases of maps.
    numbers: Vec<Numbers>,
    maps: Vec<[usize; 2]>,
    graph: Graph,
    fixed: FixedPoint,
    /// The transposed float weights of each map, `[bucket][input][output]`.
    columns: Vec<Vec<f32>>,
    /// The values of [`Net::shift_and_unit`].
    unit: (u32, f32),
}

impl Net {
    /// Makes a net of arrays, each row-major, in the order, types and units of [`stored_arrays`].
    ///
    /// # Errors
    ///
    /// Fails as [`Net::check_architecture`] does, with [`NetError::Parts`] if an array has another
    /// length or type, and with [`NetError::NotFinite`] for a float that is NaN or infinite.
    ///
    /// # Panics
    ///
    /// Panics if the number of arrays is not that of [`stored_arrays`].
    pub fn from_arrays(
        architecture: &Architecture,
        scales: Scales,
        numbers: Vec<Numbers>,
    ) -> Result<Self, NetError> {
        let architecture = architecture.without_factoriser();
        Self::check_architecture(&architecture, scales)?;
        let arrays = stored_arrays(&architecture, scales);
        assert_eq!(numbers.len(), arrays.len(), "arrays of a net");
        for (StoredArray { array, number, .. }, values) in arrays.iter().zip(&numbers) {
            let name = array.name.clone();
            let expected = array.len();
            if values.len() != expected || values.number_type() != *number || expected == 0 {
                let found = format!("{} of {}", values.len(), values.number_type().name());
                let expected = format!("{expected} of {}", number.name());
                return Err(NetError::Parts { name, found, expected });
            }
            if let Numbers::F32(floats) = values
                && let Some(index) = floats.iter().position(|it| !it.is_finite())
            {
                return Err(NetError::NotFinite { name, index });
            }
        }
        let maps = architecture.maps();
        let first_map = architecture.inputs.sets().len() + 1;
        let columns = maps.iter().zip(numbers[first_map..].iter().step_by(2));
        let columns =
            columns.map(|(map, weights)| definition::transpose_buckets(*map, weights)).collect();
        let graph = architecture.graph();
        let unit = definition::shift_and_unit(&architecture, scales);
        let fixed = fixed_point(&architecture, scales)?;
        let write = format::write_net;
        let header = None;
        Ok(Self { architecture, scales, write, header, numbers, maps, graph, fixed, columns, unit })
    }

    /// The net with another writer of its file.
    pub fn written_by(self, write: WriteNet) -> Self {
        Self { write, ..self }
    }

    pub(crate) fn with_header(self, header: Option<ForeignHeader>) -> Self {
        Self { header, ..self }
    }

    /// Whether its file has a header: the net of another program, with that program's units.
    pub fn is_foreign(&self) -> bool {
        self.header.is_some()
    }

    /// The architecture of the net.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The quantisation factors.
    pub fn scales(&self) -> Scales {
        self.scales
    }

    /// All numbers, in the order of [`stored_arrays`].
    pub fn numbers(&self) -> &[Numbers] {
        &self.numbers
    }

    /// The accumulator biases, `[hidden]`, times QA.
    pub fn accumulator_bias(&self) -> &[i16] {
        self.numbers[self.set_count()].i16s()
    }

    fn set_count(&self) -> usize {
        self.architecture.inputs.sets().len()
    }

    /// The piece-square values of a feature set, `[rows][buckets]`, times QA * QB.
    ///
    /// # Panics
    ///
    /// May panic if the net has no such set, or no [piece-square values](Architecture::psqt).
    pub fn psqt_values(&self, set: usize) -> &[i32] {
        self.numbers[self.numbers.len() - self.set_count() + set].i32s()
    }

    /// Weights and biases of a map after the accumulators.
    pub fn map_numbers(&self, map: usize) -> [&Numbers; 2] {
        let first = self.set_count() + 1 + 2 * map;
        [&self.numbers[first], &self.numbers[first + 1]]
    }

    /// Weights and biases of a map, and the first output of a bucket.
    fn map_numbers_of_bucket(&self, map: usize, bucket: usize) -> (&Numbers, &Numbers, usize) {
        let [weights, biases] = self.map_numbers(map);
        (weights, biases, bucket * self.maps[map][1])
    }

    /// The integers of a head in fixed point.
    pub fn fixed_point(&self) -> &FixedPoint {
        &self.fixed
    }

    /// The shift that reduces the product, square or value of accumulators to 0 to 127 for an `int8`
    /// head, and the value of one unit of a sum of its first map.
    pub fn shift_and_unit(&self) -> (u32, f32) {
        self.unit
    }

    /// The largest product, square or value of accumulators, clamped at QA.
    pub fn largest_product(&self) -> i64 {
        definition::largest_input(&self.architecture, self.scales.qa)
    }

    /// The number of bytes of the file before the padding.
    pub fn payload_bytes(&self) -> usize {
        definition::payload_bytes(&self.architecture, self.scales)
    }

    /// Writes the file to bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        (self.write)(self)
    }

    /// Checks that an architecture and its scales are possible together.
    ///
    /// # Errors
    ///
    /// Fails with [`NetError::ImpossibleNet`] as [`Architecture::check_layers`] does, or if the
    /// integers of layers contradict each other; with [`NetError::Scale`] if a scale is not 1 to
    /// [`MAX_SCALE`]; and with the variant for a head format, rounding or shift that the net cannot
    /// have.
    pub fn check_architecture(net: &Architecture, scales: Scales) -> Result<(), NetError> {
        net.check_layers()?;
        for (name, value) in [("QA", scales.qa), ("QB", scales.qb), ("SCALE", scales.scale)] {
            if !(1..=MAX_SCALE).contains(&value) {
                return Err(NetError::Scale { name, value });
            }
        }
        fixed_point(net, scales)?;
        if scales.head_format == HeadFormat::Int8 && net.is_fixed_point() {
            return Err(NetError::TwoFormats);
        }
        if has_bytes(net, scales) {
            if !net.is_deep() {
                return Err(NetError::NoHead);
            }
            if !net.activation.curve().bounded {
                return Err(NetError::Unbounded);
            }
        }
        if scales.head_round && !has_bytes(net, scales) {
            return Err(NetError::RoundOfFloats);
        }
        if let Some(shift) = scales.head_shift {
            let top = definition::largest_input(net, scales.qa);
            let max_input = |shift: u32| {
                (top + definition::rounding_half(shift, scales)).checked_shr(shift).unwrap_or(0)
            };
            let fits = |shift: &u32| (1..=u8::MAX.into()).contains(&max_input(*shift));
            if !has_bytes(net, scales) {
                return Err(NetError::ShiftOfFloats);
            }
            if !fits(&shift) {
                let possible: Vec<u32> = (0..64).filter(fits).collect();
                let [least, most] = [possible[0], possible[possible.len() - 1]];
                return Err(NetError::Shift { shift, most_input: max_input(shift), least, most });
            }
        }
        Ok(())
    }
}
