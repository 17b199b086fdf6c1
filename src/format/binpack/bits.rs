//! Bits of movetext, the highest of a byte first.

/// Takes bits off bytes.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits taken.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, at most 8 of them; none where the bytes end before them.
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let first = self.at / 8;
        let shift = self.at % 8;
        self.at += count as usize;
        if self.at > 8 * self.bytes.len() {
            return None;
        }
        let byte = |at: usize| u32::from(self.bytes.get(at).copied().unwrap_or(0));
        let two = byte(first) << 8 | byte(first + 1);
        Some((two << shift & 0xffff) >> (16 - count))
    }

    /// A number in blocks of four bits, the lowest first, each after a bit that tells whether
    /// another one follows; none where the bytes end or the number is longer than 16 bits.
    pub fn number(&mut self) -> Option<u16> {
        let mut number = 0;
        for shift in [0, 4, 8, 12] {
            let block = self.take(5)?;
            number |= (block as u16 & 15) << shift;
            if block < 16 {
                return Some(number);
            }
        }
        None
    }

    /// Bytes of which bits were taken.
    pub fn bytes_taken(&self) -> usize {
        self.at.div_ceil(8)
    }
}

/// Puts bits behind each other.
#[derive(Default)]
pub struct BitWriter {
    pub bytes: Vec<u8>,
    /// Bits of the last byte that are free.
    free: u32,
}

impl BitWriter {
    /// Appends so many bits of a value, at most 8.
    pub fn put(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            self.free -= 1;
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> bit & 1) as u8) << self.free;
        }
    }

    /// Appends a number as [`BitReader::number`] takes it.
    pub fn number(&mut self, mut number: u16) {
        loop {
            let more = u32::from(number > 15);
            self.put(u32::from(number & 15) | more << 4, 5);
            number >>= 4;
            if more == 0 {
                return;
            }
        }
    }
}

/// How many bits tell apart so many choices.
pub fn width(choices: u32) -> u32 {
    u32::BITS - choices.saturating_sub(1).leading_zeros()
}

/// A signed number as an unsigned one with the sign in the lowest bit.
pub fn folded(number: i16) -> u16 {
    let bits = number.cast_unsigned();
    (if number < 0 { bits ^ 0x7fff } else { bits }).rotate_left(1)
}

/// The other way.
pub fn unfolded(bits: u16) -> i16 {
    let turned = bits.rotate_right(1).cast_signed();
    if turned < 0 { turned ^ 0x7fff } else { turned }
}
