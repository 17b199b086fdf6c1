//! Stockfish's `.nnue`, of 15.1 to 19. Sources: official-stockfish/Stockfish, `src/nnue/` (`network.cpp`,
//! `nnue_feature_transformer.h`, `nnue_architecture.h`, `nnue_common.h`), of each version's tag.
//!
//! A file begins with a version, a hash and a description. The transformer has a hash, biases in i16,
//! rows of each set in i16 or i8, and piece-square values in i32. Each output bucket has a stack of
//! layers: a hash, and for each layer biases in i32 and weights in i8, padded to a multiple of 32
//! inputs. Arrays of later versions are packed as LEB128. All integers are little-endian.
//!
//! The values of a net are in the engine's internal units: an output of 1.0 is 600 units.

use toml::{Table, Value};

use super::{Contents, NetError, NetFormat};
use crate::architecture::{Architecture, ArrayKind, NetForm};
use crate::net::{ForeignHeader, Hints, Net, Number, Numbers, stored_arrays};
use crate::scales::Scales;

pub static FORMAT: NetFormat = NetFormat {
    name: "net of Stockfish",
    recognises: |bytes, _| recognise_generation(bytes).is_some(),
    contents: Contents::Integers(|bytes, _: &Hints| read_net(bytes)),
};

/// The prefix of names of generations in configs.
const PREFIX: &str = "stockfish-";
/// The versions of files: of all nets up to 18, and from 19 on.
const VERSIONS: [u32; 2] = [0x7af3_2f20, 0x6a44_8afa];
/// The number of internal units of an output of 1.0.
const SCALE: i32 = 600;
/// The hash of pieces on squares by the square of the own king.
const HALF_KA: u32 = 0x7f23_4cb8;
/// The maximum number of neurons of a net whose width differs from all releases.
const MAX_HIDDEN: usize = 8192;

/// The common properties of the nets of one or more versions.
#[derive(Clone, Copy)]
pub struct StockfishGeneration {
    pub name: &'static str,
    /// The hash of the feature sets.
    inputs: u32,
    /// The number of neurons of an accumulator, which is compiled into the engine.
    pub hidden: usize,
    sets: &'static [&'static str],
    /// Whether rows of pieces depend on the own king's square (HalfKAv2_hm), and kings share a plane.
    pub merges_kings: bool,
    /// Whether arrays are packed, except rows in i8.
    packed: bool,
    head: StockfishHead,
}

#[derive(Clone, Copy, PartialEq)]
enum StockfishHead {
    /// 15 neurons, also squared, and a skip neuron.
    Sum,
    /// The head `Sum`, but piece-square values are divided separately from the output.
    Apart,
    /// 32 neurons, of which two skip as a difference; both layers, also squared, enter the output.
    Both,
}

const GENERATIONS: [StockfishGeneration; 8] = [
    StockfishGeneration {
        packed: false,
        head: StockfishHead::Sum,
        ..StockfishGeneration::of_pieces("15.1", 1024)
    },
    StockfishGeneration { head: StockfishHead::Sum, ..StockfishGeneration::of_pieces("16", 1536) },
    StockfishGeneration::of_pieces("17.1", 3072),
    StockfishGeneration::of_pieces("17-small", 128),
    StockfishGeneration::of_pieces("18-lite", 256),
    StockfishGeneration {
        inputs: 0x8f23_4cb8,
        sets: &["threats-79856", "pieces"],
        ..StockfishGeneration::of_pieces("18", 1024)
    },
    StockfishGeneration {
        // The hashes of the sets, each rotated and combined with the next.
        inputs: 0xcb68_5b13,
        sets: &["threats", "pawn-pairs", "pieces"],
        head: StockfishHead::Both,
        ..StockfishGeneration::of_pieces("19", 1024)
    },
    StockfishGeneration {
        inputs: 0x6f23_4cb8,
        merges_kings: false,
        head: StockfishHead::Both,
        ..StockfishGeneration::of_pieces("19-lite", 1024)
    },
];

/// The reason why a net, or a `net.format`, is not one of Stockfish's.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum GenerationError {
    #[error("there is no {format:?}; expected one of {names}")]
    Unknown { format: String, names: String },
    #[error(
        "it is no net of Stockfish: of those, {name} is nearest, and differs in {keys}; train one \
         with `net.format = \"{PREFIX}{name}\"`"
    )]
    Nearest { name: &'static str, keys: String },
    #[error("{format} has other keys than this net: {keys}; remove these")]
    Keys { format: String, keys: String },
}

impl StockfishGeneration {
    const fn of_pieces(name: &'static str, hidden: usize) -> Self {
        Self {
            name,
            inputs: HALF_KA,
            hidden,
            sets: &["pieces"],
            merges_kings: true,
            packed: true,
            head: StockfishHead::Apart,
        }
    }

    /// Finds the generation that a config names.
    fn named(format: &str) -> Result<Self, GenerationError> {
        let name = format.strip_prefix(PREFIX).unwrap_or_default();
        let generation = GENERATIONS.into_iter().find(|it| it.name == name);
        generation.ok_or_else(|| {
            let names = GENERATIONS.map(|it| format!("{PREFIX}{}", it.name)).join(", ");
            GenerationError::Unknown { format: format.into(), names }
        })
    }

    /// Finds the generation of a file. Other widths than the releases' need custom engine builds.
    fn find_by_hash(hash: u32, packed: bool) -> Option<Self> {
        let generations =
            GENERATIONS.into_iter().chain((2..=MAX_HIDDEN).step_by(2).flat_map(|hidden| {
                let of_packing = GENERATIONS.into_iter().filter(move |it| it.packed == packed);
                of_packing.map(move |it| Self { hidden, ..it })
            }));
        generations.into_iter().find(|it| it.hash() == hash)
    }
    fn section_hashes(&self) -> [u32; 2] {
        let width = 2 * self.hidden as u32;
        let outputs: &[u32] =
            if self.head == StockfishHead::Both { &[32, 32, 1] } else { &[16, 32, 1] };
        let layer = |hash: u32, (number, outputs): (usize, &u32)| {
            let before = if number > 0 { hash.wrapping_add(0x538d_24c7) } else { hash };
            0xcc03_dae4_u32.wrapping_add(*outputs) ^ (before >> 1) ^ (before << 31)
        };
        [self.inputs ^ width, outputs.iter().enumerate().fold(0xec42_e90d ^ width, layer)]
    }
    fn hash(&self) -> u32 {
        let [transformer, stack] = self.section_hashes();
        transformer ^ stack
    }

    fn file_version(&self) -> u32 {
        VERSIONS[usize::from(self.head == StockfishHead::Both)]
    }

    fn qa(&self) -> i32 {
        if self.sets == ["pieces"] && self.merges_kings { 127 } else { 255 }
    }

    /// The description of the net in a config.
    fn config_text(&self) -> String {
        let head = match self.head {
            StockfishHead::Both => {
                r#"
                { name = "first", size = 32, integers = { sums = 16384, values = 128, most = 127 } },
                { name = "plus", columns = [30, 31] },
                { name = "minus", inputs = ["first"], columns = [31, 32] },
                { name = "x", inputs = ["first"], activation = "dual" },
                { name = "y", size = 32, activation = "dual",
                  integers = { sums = 8192, values = 128, most = 127 } },
                { inputs = ["x", "y"], size = 1, add = "plus", subtract = "minus",
                  integers = { sums = 16384, psqt = 9600 } }"#
            }
            _ => {
                r#"
                { size = 15, activation = "dual", integers = { sums = 8128, values = 127 } },
                { size = 32, activation = "crelu", integers = { sums = 8128, values = 127 } },
                { size = 1, integers = { sums = 9600APART } }"#
            }
        };
        let head = head
            .replace("APART", if self.head == StockfishHead::Apart { ", psqt = 9600" } else { "" });
        // (pieces - 1) / 4
        let buckets: Vec<usize> =
            (0..33_usize).map(|pieces| pieces.saturating_sub(1) / 4).collect();
        let king_buckets: Vec<usize> = (0..if self.merges_kings { 32 } else { 0 }).collect();
        format!(
            "inputs = \"perspective\"\nsets = {:?}\nmirror = true\nking_buckets = {king_buckets:?}\n\
             hidden = {}\nactivation = \"crelu\"\n\
             pairwise = true\nhead = [{head}]\nskip = {}\npsqt = true\n\
             output_buckets = {buckets:?}\nintegers = {{ {} }}\n",
            self.sets,
            self.hidden,
            self.head != StockfishHead::Both,
            if self.sets.contains(&"pawn-pairs") { "pawn-pairs = \"i8\"" } else { "" },
        )
    }

    fn to_architecture(self) -> Architecture {
        let text = format!("{}merged_kings = {}\n", self.config_text(), self.merges_kings);
        toml::from_str(&text).expect("a generation is a net")
    }

    fn scales(&self) -> Scales {
        Scales { qa: self.qa(), scale: SCALE, ..Scales::default() }
    }

    /// The columns of a map in a file, by our columns; squares come first in files.
    pub fn file_columns(&self, map: usize, inputs: usize) -> Vec<usize> {
        let swapped = |first: usize, count: usize| {
            (first + count / 2..first + count).chain(first..first + count / 2)
        };
        match (map, self.head) {
            (0, _) | (2, StockfishHead::Sum | StockfishHead::Apart) => (0..inputs).collect(),
            (1, _) => swapped(0, inputs).collect(),
            _ => swapped(0, inputs / 2).chain(swapped(inputs / 2, inputs / 2)).collect(),
        }
    }

    /// The rows of pieces in a file, by our rows. In files, kings are on files e to h, the block of the
    /// last square comes first, and the own plane of a role is followed by the enemy's.
    fn rows_of_pieces(&self) -> Vec<usize> {
        let (buckets, planes) = if self.merges_kings { (32, 11) } else { (1, 12) };
        let row = |row: usize| {
            let bucket = row / 64 / planes;
            let kind = row / 64 % planes;
            let (block, plane) = match self.merges_kings {
                true => (31 - (bucket ^ 3), 2 * (kind % 6) + kind / 6),
                false => (bucket, kind),
            };
            64 * (planes * block + plane) + ((row % 64) ^ 7)
        };
        (0..64 * buckets * planes).map(row).collect()
    }

    /// Reorders the rows of an array from the order of a file, or to it unless `is_reading`.
    fn reorder_rows(&self, kind: ArrayKind, numbers: Numbers, is_reading: bool) -> Numbers {
        let (set, width) = match kind {
            ArrayKind::Rows(set) => (set, self.hidden),
            ArrayKind::Psqt(set) => (set, BUCKETS),
            _ => return numbers,
        };
        if self.sets[set] != "pieces" {
            return numbers;
        }
        let mut rows = self.rows_of_pieces();
        if !is_reading {
            let file_rows = std::mem::replace(&mut rows, vec![0; numbers.len() / width]);
            file_rows.into_iter().enumerate().for_each(|(row, file_row)| rows[file_row] = row);
        }
        numbers.select_rows(&rows, width)
    }

    /// The keys in which a net differs, apart from the planes of its kings.
    fn differing_keys(&self, net: &Architecture, scales: Scales) -> Vec<String> {
        let resized = Self { hidden: net.hidden, ..*self };
        let table = |form: NetForm| Table::try_from(form).expect("it has a TOML form");
        let actual = table(NetForm {
            merged_kings: self.merges_kings,
            hidden: self.hidden,
            ..net.without_factoriser().into()
        });
        let expected = table(self.to_architecture().into());
        let keys = expected.keys().chain(actual.keys().filter(|key| !expected.contains_key(*key)));
        let keys = keys.filter(|key| actual.get(*key) != expected.get(*key)).map(String::as_str);
        let checks = [
            // Otherwise the file would be read as another generation.
            (
                "hidden",
                Self::find_by_hash(resized.hash(), resized.packed)
                    .is_some_and(|it| it.name == resized.name),
            ),
            ("qa", scales.qa == resized.qa()),
            ("scale", scales.scale == SCALE),
            ("head_shift", scales.head_shift.is_none()),
            ("head_round", !scales.head_round),
        ];
        let failed = checks.into_iter().filter(|(_, fits)| !fits).map(|(key, _)| key);
        keys.chain(failed).map(String::from).collect()
    }

    /// Finds a net's generation; kings may have separate planes. The error names the differing keys.
    pub fn of_net(net: &Architecture, scales: Scales) -> Result<Self, GenerationError> {
        let differing = |generation: Self| (generation.differing_keys(net, scales), generation);
        let nearest = GENERATIONS.map(differing).into_iter().min_by_key(|(keys, _)| keys.len());
        let (keys, generation) = nearest.expect("there are generations");
        match keys[..] {
            [] => Ok(Self { hidden: net.hidden, ..generation }),
            _ => Err(GenerationError::Nearest { name: generation.name, keys: keys.join(", ") }),
        }
    }

    /// The internal units of a pawn: `NormalizeToPawnValue` of 15.1 and 16, later a polynomial of the
    /// material, here with all pieces (`src/uci.cpp`); fitted to the output of 19.
    fn units_of_pawn(&self) -> i32 {
        match self.name {
            "15.1" => 361,
            "16" => 328,
            "18" => 385,
            "19" | "19-lite" => 303,
            _ => 377,
        }
    }
    pub fn usual_hidden(&self) -> usize {
        Self::named(&format!("{PREFIX}{}", self.name)).map_or(0, |it| it.hidden)
    }

    /// Whether engines with SSSE3 to AVX2 add pairs of products in 16 bits.
    pub fn saturates_sums(&self) -> bool {
        self.name == "15.1"
    }

    /// Whether the engine doubles accumulators in 16 bits.
    pub fn doubles_accumulators(&self) -> bool {
        self.head == StockfishHead::Apart && self.sets == ["pieces"]
    }

    /// The largest sum of the skip neuron, which the engine multiplies in 32 bits.
    pub fn most_skipped(&self) -> Option<i64> {
        (self.head != StockfishHead::Both).then_some(i64::from(i32::MAX) / 9600)
    }
}

impl Net {
    /// The engine of a net that was read from a file of Stockfish.
    pub fn engine_name(&self) -> Option<String> {
        let known = StockfishGeneration::of_net(&self.architecture, self.scales).ok();
        let generation = known.filter(|_| self.is_foreign())?;
        let usual = generation.usual_hidden();
        let StockfishGeneration { name, hidden, .. } = generation;
        Some(match hidden == usual {
            true => format!("Stockfish {name}"),
            false => format!("Stockfish {name} with {hidden} neurons in the place of {usual}"),
        })
    }

    /// Sets the scale so that an engine's internal units become centipawns, as the engine shows them
    /// at the beginning of a game. Returns the units of a pawn.
    pub fn use_centipawns(&mut self) -> Option<i32> {
        let known = StockfishGeneration::of_net(&self.architecture, self.scales).ok();
        let pawn = known.filter(|_| self.is_foreign())?.units_of_pawn();
        self.scales.scale = (100 * SCALE + pawn / 2) / pawn;
        Some(pawn)
    }
}

/// Adds the missing keys of `net.format` to a config, and the scale.
pub fn complete_config(config: &mut Table) -> Result<(), GenerationError> {
    let net = config.get("net").and_then(Value::as_table);
    let Some(Value::String(format)) = net.and_then(|net| net.get("format")) else { return Ok(()) };
    let generation = StockfishGeneration::named(format)?;
    let mut keys: Table = generation.config_text().parse().expect("it is a description");
    keys.insert("qa".into(), generation.qa().into());
    let scale = Table::from_iter([("scale".to_string(), SCALE.into())]);
    for (section, keys) in [("net", keys), ("target", scale)] {
        let table = config.entry(section).or_insert_with(|| Table::new().into());
        let Some(table) = table.as_table_mut() else { continue };
        for (key, value) in keys {
            table.entry(key).or_insert(value);
        }
    }
    Ok(())
}

/// Checks a net against its `net.format`. The error names the keys that differ.
pub fn check_keys(format: &str, net: &Architecture, scales: Scales) -> Result<(), GenerationError> {
    let keys = StockfishGeneration::named(format)?.differing_keys(net, scales);
    match keys[..] {
        [] => Ok(()),
        _ => Err(GenerationError::Keys { format: format.into(), keys: keys.join(", ") }),
    }
}

/// Finds the generation of a file that begins as a net of Stockfish; the error names an unread version.
fn recognise_generation(bytes: &[u8]) -> Option<Result<StockfishGeneration, &'static str>> {
    let mut reader = ByteReader { rest: bytes, section: "its header" };
    let [version, hash] = [reader.read_word().ok()?, reader.read_word().ok()?];
    let mut is_packed = || -> Result<bool, Damage> {
        let length = reader.read_word()? as usize;
        reader.take_bytes(length)?;
        reader.read_word()?;
        Ok(reader.rest.starts_with(LEB128))
    };
    match VERSIONS.contains(&version) {
        true => Some(
            StockfishGeneration::find_by_hash(hash, is_packed().unwrap_or(true))
                .ok_or("another version"),
        ),
        false => (version == 0x7af3_2f16).then_some(Err("12 or 13")),
    }
}

fn read_net(bytes: &[u8]) -> Result<Net, NetError> {
    let generation =
        recognise_generation(bytes).expect("it was recognised").map_err(NetError::Stockfish)?;
    let name = generation.name;
    let wrong = |reason| NetError::DamagedStockfish { name, reason };
    generation.read_body(ByteReader { rest: bytes, section: "its header" }).map_err(wrong)?
}

/// The reason why a file that begins as a net of Stockfish cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum Damage {
    #[error("its version is {0:08x}, expected {1:08x}")]
    Version(u32, u32),
    #[error("{0} bytes follow its last layer")]
    Rest(usize),
    #[error("the file ends within {0}; is it complete?")]
    Ends(&'static str),
    #[error("{0} has the hash {1:08x}, expected {2:08x}")]
    Hash(&'static str, u32, u32),
    #[error("{0} is not packed as LEB128")]
    NotPacked(&'static str),
    #[error("{0} has a block of numbers that are not its own")]
    Numbers(&'static str),
}

impl StockfishGeneration {
    fn read_body(&self, mut reader: ByteReader) -> Result<Result<Net, NetError>, Damage> {
        let net = self.to_architecture();
        let scales = self.scales();
        let [version, expected] = [reader.read_word()?, self.file_version()];
        if version != expected {
            return Err(Damage::Version(version, expected));
        }
        reader.read_word()?;
        let length = reader.read_word()? as usize;
        let description = reader.take_bytes(length)?.to_vec();
        reader.section = "the transformer";
        let [transformer, stack] = self.section_hashes();
        reader.expect_hash(transformer)?;
        let arrays = stored_arrays(&net, scales);
        let mut numbers: Vec<Option<Numbers>> = vec![None; arrays.len()];
        let index_of =
            |kind| arrays.iter().position(|it| it.array.kind == kind).expect("it has it");
        for kinds in self.transformer_blocks() {
            let lens: Vec<usize> =
                kinds.iter().map(|it| arrays[index_of(*it)].array.len()).collect();
            let number = arrays[index_of(kinds[0])].number;
            let packed = self.packed && number != Number::I8;
            for (kind, array) in kinds.into_iter().zip(reader.read_arrays(number, &lens, packed)?) {
                numbers[index_of(kind)] = Some(self.reorder_rows(kind, array, true));
            }
        }
        let maps = net.maps();
        let mut padding = Vec::new();
        let mut map_numbers: Vec<(Vec<i8>, Vec<i32>)> = vec![Default::default(); maps.len()];
        for _ in 0..net.buckets {
            reader.section = "a stack of layers";
            reader.expect_hash(stack)?;
            for (map, &[inputs, outputs]) in maps.iter().enumerate() {
                let (weights, biases) = &mut map_numbers[map];
                let columns = self.file_columns(map, inputs);
                let padded = inputs.next_multiple_of(PADDED);
                for _ in 0..outputs {
                    biases.push(reader.read_word()? as i32);
                }
                for row in reader.take_bytes(outputs * padded)?.chunks_exact(padded) {
                    weights.extend(columns.iter().map(|column| row[*column] as i8));
                    padding.extend(&row[inputs..]);
                }
            }
        }
        if !reader.rest.is_empty() {
            return Err(Damage::Rest(reader.rest.len()));
        }
        // Version 15 has the same hashes, but no squares.
        if self.name == "15.1" && map_numbers[1].0.chunks_exact(30).all(|row| row[15..] == [0; 15])
        {
            return Ok(Err(NetError::Stockfish("15")));
        }
        for (map, (weights, biases)) in map_numbers.into_iter().enumerate() {
            let [weights_kind, biases_kind] = net.parts_of_map(map);
            numbers[index_of(weights_kind)] = Some(Numbers::I8(weights));
            numbers[index_of(biases_kind)] = Some(Numbers::I32(biases));
        }
        let numbers = numbers.into_iter().map(|array| array.expect("all are read")).collect();
        let header = ForeignHeader { description, padding };
        let net = Net::from_arrays(&net, scales, numbers);
        Ok(net.map(|net| net.written_by(write_net).with_header(Some(header))))
    }

    /// The arrays of the transformer, grouped by the block that they share.
    fn transformer_blocks(&self) -> Vec<Vec<ArrayKind>> {
        let sets = 0..self.sets.len();
        let mut blocks = vec![vec![ArrayKind::AccumulatorBias]];
        if self.name == "18" {
            blocks.extend(sets.clone().map(|set| vec![ArrayKind::Rows(set)]));
            blocks.push(sets.map(ArrayKind::Psqt).collect());
            return blocks;
        }
        blocks
            .extend(sets.flat_map(|set| [vec![ArrayKind::Rows(set)], vec![ArrayKind::Psqt(set)]]));
        blocks
    }
}

/// The alignment of the number of inputs of an output's weights.
const PADDED: usize = 32;
const BUCKETS: usize = 8;
const LEB128: &[u8] = b"COMPRESSED_LEB128";

struct ByteReader<'a> {
    rest: &'a [u8],
    /// The section that is read, for errors.
    section: &'static str,
}

impl<'a> ByteReader<'a> {
    fn take_bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damage::Ends(self.section))?;
        self.rest = rest;
        Ok(taken)
    }

    fn read_word(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.take_bytes(4)?.try_into().expect("four bytes")))
    }

    fn expect_hash(&mut self, hash: u32) -> Result<(), Damage> {
        let found = self.read_word()?;
        if found == hash { Ok(()) } else { Err(Damage::Hash(self.section, found, hash)) }
    }

    /// Reads successive arrays of the given lengths, in one block if they are packed.
    fn read_arrays(
        &mut self,
        number: Number,
        lens: &[usize],
        packed: bool,
    ) -> Result<Vec<Numbers>, Damage> {
        if !packed {
            let arrays =
                lens.iter().map(|len| Ok(number.read(self.take_bytes(len * number.byte_size())?)));
            return arrays.collect();
        }
        if self.take_bytes(LEB128.len())? != LEB128 {
            return Err(Damage::NotPacked(self.section));
        }
        let length = self.read_word()? as usize;
        let mut bytes = self.take_bytes(length)?.iter();
        let [min, max] = number.value_range().expect("they are integers").map(|end| end as i64);
        let mut next = || -> Option<i32> {
            let mut value = 0_i64;
            let mut shift = 0;
            loop {
                let byte = *bytes.next()?;
                value |= i64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    let value = value | if byte & 64 != 0 { -1_i64 << shift } else { 0 };
                    return (min..=max).contains(&value).then_some(value as i32);
                }
                if shift > 35 {
                    return None;
                }
            }
        };
        let mut array = |len: &usize| -> Option<Numbers> {
            let values = (0..*len).map(|_| next()).collect::<Option<Vec<i32>>>()?;
            Some(number.convert_exactly(values.into_iter().map(f64::from)))
        };
        let arrays: Option<Vec<Numbers>> = lens.iter().map(&mut array).collect();
        let arrays = arrays.filter(|_| bytes.len() == 0);
        arrays.ok_or(Damage::Numbers(self.section))
    }
}

/// Writes a net of one of the generations. Panics if the net fits none.
pub fn write_net(net: &Net) -> Vec<u8> {
    let architecture = net.architecture();
    // A file does not contain the scale.
    let scales = Scales { scale: SCALE, ..net.scales() };
    let generation = StockfishGeneration::of_net(architecture, scales).expect("it is one");
    let ForeignHeader { description, padding } = net.header.clone().unwrap_or_default();
    let mut padding = padding.into_iter();
    let [transformer, stack] = generation.section_hashes();
    let [version, hash] = [generation.file_version(), generation.hash()];
    let mut bytes = [version, hash, description.len() as u32].map(u32::to_le_bytes).concat();
    bytes.extend(description);
    bytes.extend(transformer.to_le_bytes());
    let arrays = stored_arrays(architecture, net.scales());
    let numbers_of = |kind| {
        let index = arrays.iter().position(|it| it.array.kind == kind).expect("it has it");
        &net.numbers()[index]
    };
    for kinds in generation.transformer_blocks() {
        let block = |kind| generation.reorder_rows(kind, numbers_of(kind).clone(), false);
        let blocks: Vec<Numbers> = kinds.into_iter().map(block).collect();
        match generation.packed && blocks[0].number_type() != Number::I8 {
            true => write_packed(&blocks, &mut bytes),
            false => blocks.iter().for_each(|numbers| numbers.write(&mut bytes)),
        }
    }
    for bucket in 0..architecture.buckets {
        bytes.extend(stack.to_le_bytes());
        for (map, [inputs, outputs]) in architecture.maps().into_iter().enumerate() {
            let [weights, biases] = net.map_numbers(map);
            let columns = generation.file_columns(map, inputs);
            biases.i32s()[bucket * outputs..][..outputs]
                .iter()
                .for_each(|bias| bytes.extend(bias.to_le_bytes()));
            let rows = weights.i8s().chunks_exact(inputs).skip(bucket * outputs).take(outputs);
            for row in rows {
                let mut padded = vec![0; inputs.next_multiple_of(PADDED)];
                padded[inputs..].fill_with(|| padding.next().unwrap_or(0));
                columns
                    .iter()
                    .zip(row)
                    .for_each(|(column, weight)| padded[*column] = *weight as u8);
                bytes.extend(padded);
            }
        }
    }
    bytes
}

fn write_packed(blocks: &[Numbers], bytes: &mut Vec<u8>) {
    let mut packed = Vec::new();
    for numbers in blocks {
        for index in 0..numbers.len() {
            let mut value = numbers.get(index) as i64;
            loop {
                let byte = (value & 127) as u8;
                value >>= 7;
                let is_last = value == if byte & 64 != 0 { -1 } else { 0 };
                packed.push(if is_last { byte } else { byte | 128 });
                if is_last {
                    break;
                }
            }
        }
    }
    bytes.extend(LEB128);
    bytes.extend((packed.len() as u32).to_le_bytes());
    bytes.extend(packed);
}
