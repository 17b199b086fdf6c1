//! Stockfish's `.nnue`, of 15.1 to 19. Sources: official-stockfish/Stockfish, `src/nnue/` (`network.cpp`,
//! `nnue_feature_transformer.h`, `nnue_architecture.h`, `nnue_common.h`), of each version's tag.
//!
//! A version, a hash and a description; the transformer: its hash, biases in i16, rows of each set in
//! i16 or i8, piece-square values in i32; then a stack of layers for each output bucket: its hash, and
//! of each layer biases in i32 and weights in i8, those of an output padded to a multiple of 32 inputs.
//! Arrays of later versions are packed as LEB128. All integers are little-endian.
//!
//! The values of a net are the engine's internal units: its output of 1.0 is 600 of them.

use super::{Contents, NetError, NetFormat};
use crate::architecture::{Architecture, ArrayKind, Form};
use crate::net::{Hints, Net, Number, Numbers, stored};
use crate::scales::Scales;

pub static FORMAT: NetFormat = NetFormat {
    name: "net of Stockfish",
    recognises: |bytes, _| name_of(bytes).is_some(),
    contents: Contents::Integers(|bytes, _: &Hints| read(bytes)),
};

const VERSIONS: [u32; 2] = [0x7af3_2f20, 0x6a44_8afa];

/// What the nets of a hash have in common.
struct Generation {
    name: &'static str,
    /// Hashes of the transformer and of a stack; that of the file is their difference in bits.
    hashes: [u32; 2],
    hidden: usize,
    sets: &'static [&'static str],
    /// Whether arrays are packed, but for rows in i8.
    packed: bool,
    head: Head,
}

#[derive(Clone, Copy, PartialEq)]
enum Head {
    /// 15 neurons, squared too, and one that skips.
    Sum,
    /// The same; the piece-square values are divided apart from the output.
    Apart,
    /// 32 neurons, of which two skip as a difference; both layers, squared too, enter the output.
    Both,
}

impl Generation {
    const fn of_pieces(name: &'static str, hashes: [u32; 2], hidden: usize) -> Self {
        Self { name, hashes, hidden, sets: &["halfka-hm"], packed: true, head: Head::Apart }
    }

    fn hash(&self) -> u32 {
        self.hashes[0] ^ self.hashes[1]
    }

    fn qa(&self) -> i32 {
        if self.sets.len() > 1 { 255 } else { 127 }
    }

    fn architecture(&self) -> Architecture {
        let head = match self.head {
            Head::Both => {
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
        let head =
            head.replace("APART", if self.head == Head::Apart { ", psqt = 9600" } else { "" });
        // (pieces - 1) / 4
        let buckets: Vec<usize> =
            (0..33_usize).map(|pieces| pieces.saturating_sub(1) / 4).collect();
        let text = format!(
            "inputs = \"perspective\"\nsets = {:?}\nmerged_kings = true\nhidden = {}\n\
             activation = \"crelu\"\npairwise = true\nhead = [{head}]\nskip = {}\npsqt = true\n\
             output_buckets = {buckets:?}\nintegers = {{ {} }}\n",
            self.sets,
            self.hidden,
            self.head != Head::Both,
            if self.sets.contains(&"pawn-pairs") { "pawn-pairs = \"i8\"" } else { "" },
        );
        let form: Form = toml::from_str(&text).expect("it is a description");
        form.try_into().expect("a generation is a net")
    }

    fn scales(&self) -> Scales {
        Scales { qa: self.qa(), scale: 600, ..Scales::default() }
    }

    /// The columns of a map in a file, by those of ours: squares come first there.
    fn columns(&self, map: usize, inputs: usize) -> Vec<usize> {
        let swapped = |first: usize, count: usize| {
            (first + count / 2..first + count).chain(first..first + count / 2)
        };
        match (map, self.head) {
            (0, _) | (2, Head::Sum | Head::Apart) => (0..inputs).collect(),
            (1, _) => swapped(0, inputs).collect(),
            _ => swapped(0, inputs / 2).chain(swapped(inputs / 2, inputs / 2)).collect(),
        }
    }
}

const GENERATIONS: [Generation; 8] = [
    Generation {
        packed: false,
        head: Head::Sum,
        ..Generation::of_pieces("15.1", [0x7f23_44b8, 0x6333_6a4a], 1024)
    },
    Generation { head: Head::Sum, ..Generation::of_pieces("16", [0x7f23_40b8, 0x6333_6bca], 1536) },
    Generation::of_pieces("17 or 17.1", [0x7f23_54b8, 0x6333_744a], 3072),
    Generation::of_pieces("17 or 18, small", [0x7f23_4db8, 0x6333_712a], 128),
    Generation::of_pieces("17.1 or 18, lite", [0x7f23_4eb8, 0x6333_700a], 256),
    Generation {
        sets: &["threats-79856", "halfka-hm"],
        ..Generation::of_pieces("18", [0x8f23_44b8, 0x6333_6a4a], 1024)
    },
    Generation {
        sets: &["threats", "pawn-pairs", "halfka-hm"],
        head: Head::Both,
        ..Generation::of_pieces("19", [0xcb68_5313, 0x6333_7116], 1024)
    },
    // Never a file's: its rows are numbered in another way.
    Generation {
        sets: &["pieces"],
        head: Head::Both,
        ..Generation::of_pieces("19, lite", [0x6f23_44b8, 0x6333_7116], 1024)
    },
];

/// The versions of Stockfish whose net a file begins as.
fn name_of(bytes: &[u8]) -> Option<&'static str> {
    let mut reader = Reader { rest: bytes, at: "its header" };
    let [version, hash] = [reader.word().ok()?, reader.word().ok()?];
    let found = GENERATIONS.iter().find(|generation| generation.hash() == hash);
    match (VERSIONS.contains(&version), found) {
        (true, Some(generation)) => Some(generation.name),
        (true, None) => Some("another version"),
        _ => (version == 0x7af3_2f16).then_some("12 or 13"),
    }
}

fn read(bytes: &[u8]) -> Result<Net, NetError> {
    let name = name_of(bytes).unwrap_or_default();
    let generation = GENERATIONS.iter().find(|it| it.name == name && it.sets != ["pieces"]);
    let Some(generation) = generation else { return Err(NetError::Stockfish(name)) };
    let wrong = |reason| NetError::DamagedStockfish { name, reason };
    generation.read(Reader { rest: bytes, at: "its header" }).map_err(wrong)?
}

type Damage = String;

impl Generation {
    fn read(&self, mut from: Reader) -> Result<Result<Net, NetError>, Damage> {
        let (net, scales) = (self.architecture(), self.scales());
        let version = from.word()?;
        from.word()?;
        let length = from.word()? as usize;
        let description = from.take(length)?.to_vec();
        from.at = "the transformer";
        from.expect(self.hashes[0])?;
        let arrays = stored(&net, scales);
        let mut numbers: Vec<Option<Numbers>> = vec![None; arrays.len()];
        let place = |part| arrays.iter().position(|it| it.array.part == part).expect("it has it");
        for parts in self.blocks() {
            let lens: Vec<usize> = parts.iter().map(|it| arrays[place(*it)].array.len()).collect();
            let number = arrays[place(parts[0])].number;
            let packed = self.packed && number != Number::I8;
            let mut all = from.numbers(number, lens.iter().sum(), packed)?.into_iter();
            for (part, len) in parts.into_iter().zip(lens) {
                numbers[place(part)] = Some(number.exactly(all.by_ref().take(len)));
            }
        }
        let maps = net.maps();
        let mut of_maps = vec![[Vec::new(), Vec::new()]; maps.len()];
        for _ in 0..net.buckets {
            from.at = "a stack of layers";
            from.expect(self.hashes[1])?;
            for (map, &[inputs, outputs]) in maps.iter().enumerate() {
                let columns = self.columns(map, inputs);
                of_maps[map][1].extend(from.numbers(Number::I32, outputs, false)?);
                let padded = inputs.next_multiple_of(PADDED);
                let weights = from.numbers(Number::I8, outputs * padded, false)?;
                for row in weights.chunks_exact(padded) {
                    of_maps[map][0].extend(columns.iter().map(|column| row[*column]));
                }
            }
        }
        if !from.rest.is_empty() {
            return Err(format!("{} bytes follow its last layer", from.rest.len()));
        }
        // Version 15 has the same hashes, and no squares.
        if self.name == "15.1" && of_maps[1][0].chunks_exact(30).all(|row| row[15..] == [0.0; 15]) {
            return Ok(Err(NetError::Stockfish("15")));
        }
        for (map, [weights, biases]) in of_maps.into_iter().enumerate() {
            let [of_weights, of_biases] = net.parts_of_map(map);
            numbers[place(of_weights)] = Some(Number::I8.exactly(weights.into_iter()));
            numbers[place(of_biases)] = Some(Number::I32.exactly(biases.into_iter()));
        }
        let numbers = numbers.into_iter().map(|array| array.expect("all are read")).collect();
        let mut header = version.to_le_bytes().to_vec();
        header.extend(description);
        Ok(Net::of(&net, scales, numbers).map(|net| net.written_by(write).with_header(header)))
    }

    /// The arrays of the transformer, those that share a block together.
    fn blocks(&self) -> Vec<Vec<ArrayKind>> {
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
const LEB128: &[u8] = b"COMPRESSED_LEB128";

struct Reader<'a> {
    rest: &'a [u8],
    /// What is read, for errors.
    at: &'static str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or_else(|| format!("the file ends within {}; is it complete?", self.at))?;
        self.rest = rest;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn expect(&mut self, hash: u32) -> Result<(), Damage> {
        let found = self.word()?;
        match found == hash {
            true => Ok(()),
            false => Err(format!("{} has the hash {found:08x}, expected {hash:08x}", self.at)),
        }
    }

    fn numbers(&mut self, number: Number, count: usize, packed: bool) -> Result<Vec<f64>, Damage> {
        if !packed {
            let numbers = number.read(self.take(count * number.bytes())?);
            return Ok((0..count).map(|place| numbers.get(place)).collect());
        }
        if self.take(LEB128.len())? != LEB128 {
            return Err(format!("{} is not packed as LEB128", self.at));
        }
        let length = self.word()? as usize;
        let mut bytes = self.take(length)?.iter();
        let [least, most] = number.range().expect("they are integers");
        let mut next = || -> Option<f64> {
            let (mut value, mut shift) = (0_i64, 0);
            loop {
                let byte = *bytes.next()?;
                value |= i64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    let sign = if byte & 64 != 0 { -1_i64 << shift } else { 0 };
                    let value = (value | sign) as f64;
                    return (least..=most).contains(&value).then_some(value);
                }
                if shift > 35 {
                    return None;
                }
            }
        };
        let numbers: Option<Vec<f64>> = (0..count).map(|_| next()).collect();
        match numbers {
            Some(numbers) if bytes.len() == 0 => Ok(numbers),
            _ => Err(format!("{} has a block of numbers that are not its own", self.at)),
        }
    }
}

/// Writes a net as it was read.
fn write(net: &Net) -> Vec<u8> {
    let (version, description) = net.header().split_at(4);
    let architecture = net.architecture();
    let is_this = |it: &&Generation| it.architecture() == *architecture;
    let generation = GENERATIONS.iter().find(is_this).expect("it was read as one");
    let mut bytes = version.to_vec();
    bytes.extend(generation.hash().to_le_bytes());
    bytes.extend((description.len() as u32).to_le_bytes());
    bytes.extend(description);
    bytes.extend(generation.hashes[0].to_le_bytes());
    let arrays = stored(architecture, net.scales());
    let numbers_of = |part| {
        let place = arrays.iter().position(|it| it.array.part == part).expect("it has it");
        &net.numbers()[place]
    };
    for parts in generation.blocks() {
        let blocks: Vec<&Numbers> = parts.into_iter().map(numbers_of).collect();
        match generation.packed && blocks[0].number() != Number::I8 {
            true => write_packed(&blocks, &mut bytes),
            false => blocks.iter().for_each(|numbers| numbers.write(&mut bytes)),
        }
    }
    for bucket in 0..architecture.buckets {
        bytes.extend(generation.hashes[1].to_le_bytes());
        for (map, [inputs, outputs]) in architecture.maps().into_iter().enumerate() {
            let [weights, biases] = net.map_numbers(map);
            let columns = generation.columns(map, inputs);
            biases.i32s()[bucket * outputs..][..outputs]
                .iter()
                .for_each(|bias| bytes.extend(bias.to_le_bytes()));
            let rows = weights.i8s().chunks_exact(inputs).skip(bucket * outputs).take(outputs);
            for row in rows {
                let mut padded = vec![0; inputs.next_multiple_of(PADDED)];
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

fn write_packed(blocks: &[&Numbers], bytes: &mut Vec<u8>) {
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
