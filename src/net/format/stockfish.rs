//! Stockfish's `.nnue`, of 15.1 to 19. Sources: official-stockfish/Stockfish, `src/nnue/` (`network.cpp`,
//! `nnue_feature_transformer.h`, `nnue_architecture.h`, `nnue_common.h`), of each version's tag.
//!
//! A version, a hash and a description; the transformer: its hash, biases in i16, rows of each set in
//! i16 or i8, piece-square values in i32; then a stack of layers for each output bucket: its hash, and
//! of each layer biases in i32 and weights in i8, those of an output padded to a multiple of 32 inputs.
//! Arrays of later versions are packed as LEB128. All integers are little-endian.
//!
//! The values of a net are the engine's internal units: its output of 1.0 is 600 of them.

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

/// Begins the names of generations in configs.
const PREFIX: &str = "stockfish-";
/// Versions of files: of all nets up to 18, and from 19 on.
const VERSIONS: [u32; 2] = [0x7af3_2f20, 0x6a44_8afa];
/// Internal units of an output of 1.0.
const SCALE: i32 = 600;
/// Hash of pieces on squares by the square of the own king.
const HALF_KA: u32 = 0x7f23_4cb8;
/// Most neurons of a net whose width is that of no release.
const MOST_HIDDEN: usize = 8192;

/// What nets of one or more versions have in common.
#[derive(Clone, Copy)]
pub struct StockfishGeneration {
    pub name: &'static str,
    /// Hash of the feature sets.
    inputs: u32,
    /// Neurons of an accumulator, which are compiled into the engine.
    pub hidden: usize,
    sets: &'static [&'static str],
    /// Whether rows of pieces depend on the own king's square (HalfKAv2_hm), and both kings have one
    /// plane.
    pub merges_kings: bool,
    /// Whether arrays are packed, but for rows in i8.
    packed: bool,
    head: StockfishHead,
}

#[derive(Clone, Copy, PartialEq)]
enum StockfishHead {
    /// 15 neurons, squared too, and one that skips.
    Sum,
    /// The same; the piece-square values are divided apart from the output.
    Apart,
    /// 32 neurons, of which two skip as a difference; both layers, squared too, enter the output.
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
        // Those of the sets, each rotated and combined with the next.
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

/// Reason why a net, or a `net.format`, is none of Stockfish's.
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
        let (inputs, sets) = (HALF_KA, &["pieces"]);
        Self {
            name,
            inputs,
            hidden,
            sets,
            merges_kings: true,
            packed: true,
            head: StockfishHead::Apart,
        }
    }

    /// The generation that a config names.
    fn named(format: &str) -> Result<Self, GenerationError> {
        let name = format.strip_prefix(PREFIX).unwrap_or_default();
        let found = GENERATIONS.into_iter().find(|it| it.name == name);
        found.ok_or_else(|| {
            let names = GENERATIONS.map(|it| format!("{PREFIX}{}", it.name)).join(", ");
            GenerationError::Unknown { format: format.into(), names }
        })
    }

    /// The generation of a file. Widths of no release belong to engines that were built for them.
    fn find_by_hash(hash: u32, packed: bool) -> Option<Self> {
        let all = GENERATIONS.into_iter().chain((2..=MOST_HIDDEN).step_by(2).flat_map(|hidden| {
            let of_width = GENERATIONS.into_iter().filter(move |it| it.packed == packed);
            of_width.map(move |it| Self { hidden, ..it })
        }));
        all.into_iter().find(|it| it.hash() == hash)
    }

    /// Hashes of the transformer and of a stack.
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

    /// Hash of the file.
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

    /// Its net as configs describe it.
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

    fn to_form(self) -> NetForm {
        let text = format!("{}merged_kings = {}\n", self.config_text(), self.merges_kings);
        toml::from_str(&text).expect("it is a description")
    }

    fn to_architecture(self) -> Architecture {
        self.to_form().try_into().expect("a generation is a net")
    }

    fn scales(&self) -> Scales {
        Scales { qa: self.qa(), scale: SCALE, ..Scales::default() }
    }

    /// The columns of a map in a file, by those of ours: squares come first there.
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

    /// Rows of pieces in a file, by those of ours: kings are seen on files e to h, the last square's
    /// block first; a role's own plane is followed by the enemy's.
    fn rows_of_pieces(&self) -> Vec<usize> {
        let (buckets, planes) = if self.merges_kings { (32, 11) } else { (1, 12) };
        let row = |row: usize| {
            let (bucket, kind, square) = (row / 64 / planes, row / 64 % planes, row % 64);
            let (block, plane) = match self.merges_kings {
                true => (31 - (bucket ^ 3), 2 * (kind % 6) + kind / 6),
                false => (bucket, kind),
            };
            64 * (planes * block + plane) + (square ^ 7)
        };
        (0..64 * buckets * planes).map(row).collect()
    }

    /// An array with its rows in the order of a file, or `from` it.
    fn reorder_rows(&self, part: ArrayKind, numbers: Numbers, from: bool) -> Numbers {
        let (set, width) = match part {
            ArrayKind::Rows(set) => (set, self.hidden),
            ArrayKind::Psqt(set) => (set, BUCKETS),
            _ => return numbers,
        };
        if self.sets[set] != "pieces" {
            return numbers;
        }
        let mut rows = self.rows_of_pieces();
        if !from {
            let in_file = std::mem::replace(&mut rows, vec![0; numbers.len() / width]);
            in_file.into_iter().enumerate().for_each(|(row, in_file)| rows[in_file] = row);
        }
        numbers.select_rows(&rows, width)
    }

    /// The keys in which a net differs. Its kings may have one plane or two.
    fn differing_keys(&self, net: &Architecture, scales: Scales) -> Vec<String> {
        let own = Self { hidden: net.hidden, ..*self };
        let table = |form: NetForm| Table::try_from(form).expect("it has a TOML form");
        let found = table(NetForm {
            merged_kings: self.merges_kings,
            hidden: self.hidden,
            ..net.without_factoriser().into()
        });
        let wanted = table(self.to_architecture().into());
        let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(*key)));
        let keys = keys.filter(|key| found.get(*key) != wanted.get(*key)).map(String::as_str);
        let more = [
            // Another generation would be read from its file.
            (
                "hidden",
                Self::find_by_hash(own.hash(), own.packed).is_some_and(|it| it.name == own.name),
            ),
            ("qa", scales.qa == own.qa()),
            ("scale", scales.scale == SCALE),
            ("head_shift", scales.head_shift.is_none()),
            ("head_round", !scales.head_round),
        ];
        let more = more.into_iter().filter(|(_, fits)| !fits).map(|(key, _)| key);
        keys.chain(more).map(String::from).collect()
    }

    /// The generation of a net, of which both kings may have their planes; or why it is none.
    pub fn of_net(net: &Architecture, scales: Scales) -> Result<Self, GenerationError> {
        let differing = |it: Self| (it.differing_keys(net, scales), it);
        let nearest = GENERATIONS.map(differing).into_iter().min_by_key(|(keys, _)| keys.len());
        let (keys, it) = nearest.expect("there are generations");
        match keys[..] {
            [] => Ok(Self { hidden: net.hidden, ..it }),
            _ => Err(GenerationError::Nearest { name: it.name, keys: keys.join(", ") }),
        }
    }

    /// Internal units of a pawn: `NormalizeToPawnValue` of 15.1 and 16, later a polynomial of the
    /// material, here of all pieces (`src/uci.cpp`); fitted to the output of 19.
    fn units_of_pawn(&self) -> i32 {
        match self.name {
            "15.1" => 361,
            "16" => 328,
            "18" => 385,
            "19" | "19-lite" => 303,
            _ => 377,
        }
    }

    /// The width of its release.
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

    /// The largest sum of the neuron that skips, which the engine multiplies in 32 bits.
    pub fn most_skipped(&self) -> Option<i64> {
        (self.head != StockfishHead::Both).then_some(i64::from(i32::MAX) / 9600)
    }
}

impl Net {
    /// The engine of a net of another program, as it was read.
    pub fn engine_name(&self) -> Option<String> {
        let known = StockfishGeneration::of_net(&self.architecture, self.scales).ok();
        let it = known.filter(|_| self.is_foreign())?;
        let (name, hidden, usual) = (it.name, it.hidden, it.usual_hidden());
        Some(match hidden == usual {
            true => format!("Stockfish {name}"),
            false => format!("Stockfish {name} with {hidden} neurons in the place of {usual}"),
        })
    }

    /// Makes an engine's internal units centipawns, as it shows them at the beginning of a game; returns
    /// the units of a pawn.
    pub fn use_centipawns(&mut self) -> Option<i32> {
        let known = StockfishGeneration::of_net(&self.architecture, self.scales).ok();
        let pawn = known.filter(|_| self.is_foreign())?.units_of_pawn();
        self.scales.scale = (100 * SCALE + pawn / 2) / pawn;
        Some(pawn)
    }
}

/// Adds the keys of `net.format` that a config leaves out, and the scale.
pub fn complete_config(config: &mut Table) -> Result<(), GenerationError> {
    let net = config.get("net").and_then(Value::as_table);
    let Some(Value::String(format)) = net.and_then(|net| net.get("format")) else { return Ok(()) };
    let generation = StockfishGeneration::named(format)?;
    let mut keys: Table = generation.config_text().parse().expect("it is a description");
    keys.insert("qa".into(), generation.qa().into());
    let scale = Table::from_iter([("scale".to_string(), SCALE.into())]);
    for (section, keys) in [("net", keys), ("target", scale)] {
        let found = config.entry(section).or_insert_with(|| Table::new().into());
        let Some(found) = found.as_table_mut() else { continue };
        for (key, value) in keys {
            found.entry(key).or_insert(value);
        }
    }
    Ok(())
}

/// Fails with the keys in which a net differs from its `net.format`.
pub fn check_keys(format: &str, net: &Architecture, scales: Scales) -> Result<(), GenerationError> {
    let keys = StockfishGeneration::named(format)?.differing_keys(net, scales);
    match keys[..] {
        [] => Ok(()),
        _ => Err(GenerationError::Keys { format: format.into(), keys: keys.join(", ") }),
    }
}

/// The generation of a file that begins as a net of Stockfish, or the versions of one that is not read.
fn recognise_generation(bytes: &[u8]) -> Option<Result<StockfishGeneration, &'static str>> {
    let mut reader = ByteReader { rest: bytes, at: "its header" };
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
    generation.read_body(ByteReader { rest: bytes, at: "its header" }).map_err(wrong)?
}

/// Reason why a file that begins as a net of Stockfish cannot be read.
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
    fn read_body(&self, mut from: ByteReader) -> Result<Result<Net, NetError>, Damage> {
        let (net, scales) = (self.to_architecture(), self.scales());
        let (version, expected) = (from.read_word()?, self.file_version());
        if version != expected {
            return Err(Damage::Version(version, expected));
        }
        from.read_word()?;
        let length = from.read_word()? as usize;
        let description = from.take_bytes(length)?.to_vec();
        from.at = "the transformer";
        let [transformer, stack] = self.section_hashes();
        from.expect_hash(transformer)?;
        let arrays = stored_arrays(&net, scales);
        let mut numbers: Vec<Option<Numbers>> = vec![None; arrays.len()];
        let place = |part| arrays.iter().position(|it| it.array.kind == part).expect("it has it");
        for parts in self.transformer_blocks() {
            let lens: Vec<usize> = parts.iter().map(|it| arrays[place(*it)].array.len()).collect();
            let number = arrays[place(parts[0])].number;
            let packed = self.packed && number != Number::I8;
            for (part, found) in parts.into_iter().zip(from.read_arrays(number, &lens, packed)?) {
                numbers[place(part)] = Some(self.reorder_rows(part, found, true));
            }
        }
        let maps = net.maps();
        let mut padding = Vec::new();
        let mut of_maps = vec![[Vec::new(), Vec::new()]; maps.len()];
        for _ in 0..net.buckets {
            from.at = "a stack of layers";
            from.expect_hash(stack)?;
            for (map, &[inputs, outputs]) in maps.iter().enumerate() {
                let columns = self.file_columns(map, inputs);
                let padded = inputs.next_multiple_of(PADDED);
                let biases = Number::I32.read(from.take_bytes(4 * outputs)?);
                of_maps[map][1].extend((0..outputs).map(|output| biases.get(output)));
                for row in from.take_bytes(outputs * padded)?.chunks_exact(padded) {
                    let weights = columns.iter().map(|column| f64::from(row[*column] as i8));
                    of_maps[map][0].extend(weights);
                    padding.extend(&row[inputs..]);
                }
            }
        }
        if !from.rest.is_empty() {
            return Err(Damage::Rest(from.rest.len()));
        }
        // Version 15 has the same hashes, and no squares.
        if self.name == "15.1" && of_maps[1][0].chunks_exact(30).all(|row| row[15..] == [0.0; 15]) {
            return Ok(Err(NetError::Stockfish("15")));
        }
        for (map, [weights, biases]) in of_maps.into_iter().enumerate() {
            let [of_weights, of_biases] = net.parts_of_map(map);
            numbers[place(of_weights)] = Some(Number::I8.convert_exactly(weights.into_iter()));
            numbers[place(of_biases)] = Some(Number::I32.convert_exactly(biases.into_iter()));
        }
        let numbers = numbers.into_iter().map(|array| array.expect("all are read")).collect();
        let (net, header) =
            (Net::from_arrays(&net, scales, numbers), ForeignHeader { description, padding });
        Ok(net.map(|net| net.written_by(write_net).with_header(Some(header))))
    }

    /// The arrays of the transformer, those that share a block together.
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

/// Inputs of an output's weights, padded to a multiple of this.
const PADDED: usize = 32;
const BUCKETS: usize = 8;
const LEB128: &[u8] = b"COMPRESSED_LEB128";

struct ByteReader<'a> {
    rest: &'a [u8],
    /// What is read, for errors.
    at: &'static str,
}

impl<'a> ByteReader<'a> {
    fn take_bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damage::Ends(self.at))?;
        self.rest = rest;
        Ok(taken)
    }

    fn read_word(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.take_bytes(4)?.try_into().expect("four bytes")))
    }

    fn expect_hash(&mut self, hash: u32) -> Result<(), Damage> {
        let found = self.read_word()?;
        match found == hash {
            true => Ok(()),
            false => Err(Damage::Hash(self.at, found, hash)),
        }
    }

    /// Arrays of so many numbers, one after the other; in one block if they are packed.
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
            return Err(Damage::NotPacked(self.at));
        }
        let length = self.read_word()? as usize;
        let mut bytes = self.take_bytes(length)?.iter();
        let [least, most] = number.value_range().expect("they are integers").map(|end| end as i64);
        let mut next = || -> Option<i32> {
            let (mut value, mut shift) = (0_i64, 0);
            loop {
                let byte = *bytes.next()?;
                value |= i64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    let value = value | if byte & 64 != 0 { -1_i64 << shift } else { 0 };
                    return (least..=most).contains(&value).then_some(value as i32);
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
        arrays.ok_or(Damage::Numbers(self.at))
    }
}

/// Writes a net of one of the generations. Panics if it is none.
pub fn write_net(net: &Net) -> Vec<u8> {
    let architecture = net.architecture();
    // A file says nothing of the scale.
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
    let numbers_of = |part| {
        let place = arrays.iter().position(|it| it.array.kind == part).expect("it has it");
        &net.numbers()[place]
    };
    for parts in generation.transformer_blocks() {
        let block = |part| generation.reorder_rows(part, numbers_of(part).clone(), false);
        let blocks: Vec<Numbers> = parts.into_iter().map(block).collect();
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
        for place in 0..numbers.len() {
            let mut value = numbers.get(place) as i64;
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
