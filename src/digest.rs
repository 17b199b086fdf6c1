//! SHA-256, in hexadecimal.

use std::fs::File;
use std::io::{BufReader, Read, Result};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::input::regular;

/// Files are read in pieces of this many bytes.
const PIECE: usize = 1 << 20;

/// Digits that name a file, where no forgery is expected.
pub const SHORT: usize = 16;

/// The first [`SHORT`] digits of the SHA-256 of a file.
pub fn short_of_file(path: &Path) -> Result<String> {
    let (_, mut digest) = of_file(path)?;
    digest.truncate(SHORT);
    Ok(digest)
}

pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

/// The length of a file, and its SHA-256.
pub fn of_file(path: &Path) -> Result<(u64, String)> {
    regular(path)?;
    let mut input = BufReader::with_capacity(PIECE, File::open(path)?);
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    let mut bytes = 0;
    loop {
        let count = input.read(&mut piece)?;
        if count == 0 {
            return Ok((bytes, hexadecimal(hash)));
        }
        hash.update(&piece[..count]);
        bytes += count as u64;
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
