//! Stockfish's `.nnue`, which is recognised and not yet read.

use super::{Contents, NetError, NetFormat};

pub static FORMAT: NetFormat = NetFormat {
    name: "net of Stockfish",
    recognises: |bytes, _| version(bytes).is_some(),
    contents: Contents::Integers(|bytes, _| {
        Err(NetError::Stockfish(version(bytes).unwrap_or_default()))
    }),
};

/// The version of Stockfish whose net a file begins as, by its version and the hash of its layers.
fn version(bytes: &[u8]) -> Option<&'static str> {
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
