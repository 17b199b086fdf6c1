//! Files of a corpus, changed at random from a seed: bytes, and words where they are text.

use nnuance::sample::mix_hash;

/// Longest input in bytes.
const MAX_BYTES: usize = 1 << 15;

/// Words that are the ends of something, or mean something to a parser.
const WORDS: &str = "0 -1 1 2 64 255 256 32767 -32768 32768 65535 65536 2147483647 -2147483648 \
     4294967296 9223372036854775807 -9223372036854775808 18446744073709551615 1e308 -1e308 1e999 \
     1e-320 0.5 -0.0 nan inf -inf true null \"\" [] {} \n \t \u{e9} \\ \" # ; <b> '&\" \
     \u{1b}[2J \u{202e} ../../a";

struct Random(u64, u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.1 += 1;
        mix_hash(self.0, self.1)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end.max(1)
    }

    /// A small length, seldom a large one.
    fn length(&mut self) -> usize {
        let most = self.below(8);
        1 + self.below(1 << most)
    }

    fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A file of the corpus with up to eight changes.
pub fn mutated(corpus: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut random = Random(mix_hash(seed, 0), 0);
    let mut bytes = random.one(corpus).clone();
    let is_text = std::str::from_utf8(&bytes).is_ok();
    for _ in 0..1 << random.below(4) {
        if is_text && random.below(3) > 0 {
            change_word(&mut bytes, corpus, &mut random);
        } else {
            change_bytes(&mut bytes, corpus, &mut random);
        }
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

fn change_bytes(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.length()).min(bytes.len());
    let other = random.one(corpus);
    let from = random.below(other.len());
    let new = match random.below(10) {
        0 => return bytes.truncate(at),
        1 => return drop(bytes.drain(at..end)),
        2 => bytes[at..end].repeat(1 + random.below(8)),
        3 => (0..random.length()).map(|_| random.next() as u8).collect(),
        4 => other[from..(from + end - at).min(other.len())].to_vec(),
        5 => return drop(bytes.splice(at.., other[from..].iter().copied())),
        6 | 7 => {
            let edge = *random.one(&[0, 1, 1 << 7, 1 << 15, 1 << 31, 1 << 63, u64::MAX]);
            let number = u64::wrapping_sub(edge, random.next() & 1).to_le_bytes();
            number[..1 << random.below(4)].to_vec()
        }
        _ => {
            let bit = 1 << random.below(8);
            return bytes[at..].iter_mut().take(1).for_each(|byte| *byte ^= bit);
        }
    };
    // In the place of as many bytes, or between two.
    let end = if random.below(4) > 0 { (at + new.len().max(1)).min(bytes.len()) } else { at };
    bytes.splice(at..end, new);
}

/// The bounds of the word, or of the single other letter, at a place.
fn word(bytes: &[u8], at: usize) -> (usize, usize) {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+.".contains(byte);
    let before = bytes[..at].iter().rev().take_while(|byte| part(byte)).count();
    let behind = bytes[at..].iter().take_while(|byte| part(byte)).count();
    (at - before, (at + behind).max((at - before + 1).min(bytes.len())))
}

fn change_word(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let (from, to) = word(bytes, random.below(bytes.len()));
    let new = match random.below(4) {
        // Seldom an empty one.
        0 => WORDS.split(' ').nth(random.below(46)).unwrap_or_default().as_bytes().to_vec(),
        1 => {
            let other = random.one(corpus);
            let (from, to) = word(other, random.below(other.len()));
            other[from..to].to_vec()
        }
        2 => bytes[from..to].repeat(random.below(3)),
        _ => {
            let (first, last) = word(bytes, random.below(bytes.len()));
            bytes[first..last].to_vec()
        }
    };
    bytes.splice(from..to, new);
}
