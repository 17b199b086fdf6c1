//! SHA-256, in hexadecimal.

use std::fs::File;
use std::io::{Read as _, Result, Seek as _, SeekFrom};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::input::require_regular;

const BLOCK: usize = 1 << 20;
/// The number of digits of a digest that names a file, where no forgery is expected.
pub const SHORT: usize = 16;

/// The first [`SHORT`] digits of the SHA-256 of a file.
pub fn short_of_file(path: &Path) -> Result<String> {
    let mut digest = of_file(path)?;
    digest.truncate(SHORT);
    Ok(digest)
}

pub fn sha256_prefix(bytes: &[u8]) -> String {
    to_hexadecimal(Sha256::new_with_prefix(bytes))
}

/// The SHA-256 of a file.
pub fn of_file(path: &Path) -> Result<String> {
    require_regular(path)?;
    let mut input = File::open(path)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        match input.read(&mut block)? {
            0 => return Ok(to_hexadecimal(hash)),
            count => hash.update(&block[..count]),
        }
    }
}

pub struct DataDigest {
    pub bytes: u64,
    pub sha256: String,
    /// Whether the digest covers a sample of the file.
    pub is_sampled: bool,
}

/// The size of the largest file of positions, in bytes, that is hashed completely.
const WHOLE: u64 = 16 << 20;
/// The number of blocks in the sample of a larger file, spread from its beginning to its end.
const BLOCKS: u64 = 16;

/// Hashes a file of positions, or a sample of a large file, which would take minutes to read.
pub fn of_data(path: &Path) -> Result<DataDigest> {
    let bytes = require_regular(path).and_then(|()| Ok(path.metadata()?.len()))?;
    if bytes <= WHOLE {
        return Ok(DataDigest { bytes, sha256: of_file(path)?, is_sampled: false });
    }
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let size = WHOLE / BLOCKS / 16;
    let mut block = vec![0; size as usize];
    for number in 0..BLOCKS {
        let offset = u128::from(bytes - size) * u128::from(number) / u128::from(BLOCKS - 1);
        file.seek(SeekFrom::Start(offset as u64))?;
        file.read_exact(&mut block)?;
        hash.update(&block);
    }
    Ok(DataDigest { bytes, sha256: to_hexadecimal(hash), is_sampled: true })
}

fn to_hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
