//! The positions to train on, as they were read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::encode::{Encoded, TERMS_PIECE};
use super::packed::Packed;
use super::read::SIDE_BY_SIDE;

/// The records of files, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Kept(Vec<OfFile>);

#[derive(Debug, Default)]
struct OfFile {
    path: PathBuf,
    /// Pieces that are dropped one by one.
    pieces: Vec<Vec<Packed>>,
    /// The terms of the first pieces, where they were found while the others were read; whoever is
    /// handed the records finds them once more.
    terms: Vec<Room>,
    /// How many records each block of the file had.
    blocks: Vec<usize>,
    /// The same of the block under way.
    block: usize,
}

/// Where the terms of a piece will be.
pub(super) type Room = Arc<OnceLock<Encoded>>;

/// Without the terms.
impl Clone for OfFile {
    fn clone(&self) -> Self {
        let (path, pieces, blocks) = (self.path.clone(), self.pieces.clone(), self.blocks.clone());
        Self { path, pieces, terms: Vec::new(), blocks, block: self.block }
    }
}

impl Kept {
    /// None of a file yet.
    pub(super) fn none_of(path: &Path) -> Self {
        Self(vec![OfFile { path: path.to_path_buf(), ..OfFile::default() }])
    }

    /// The next record of the last file.
    pub(super) fn push(&mut self, record: Packed) {
        let OfFile { pieces, block, .. } = self.0.last_mut().expect("a file is being read");
        match pieces.last_mut() {
            Some(piece) if piece.len() < TERMS_PIECE => piece.push(record),
            _ => pieces.push(vec![record]),
        }
        *block += 1;
    }

    /// The last piece, if the record that came last has filled it, and room for its terms. Who asks
    /// once asks after each record.
    pub(super) fn filled(&mut self) -> Option<(Vec<Packed>, Room)> {
        let OfFile { pieces, terms, .. } = self.0.last_mut().expect("a file is being read");
        let piece = pieces.last().filter(|piece| piece.len() == TERMS_PIECE)?;
        let room = Room::default();
        terms.push(room.clone());
        Some((piece.clone(), room))
    }

    /// The last file's block ends here.
    pub(super) fn end_block(&mut self) {
        let OfFile { blocks, block, .. } = self.0.last_mut().expect("a file is being read");
        blocks.push(std::mem::take(block));
    }

    pub(super) fn join(&mut self, other: Kept) {
        self.0.extend(other.0);
    }

    /// All records, file after file, in pieces; with their terms, where these are found.
    pub(super) fn into_pieces(self) -> Vec<(Vec<Packed>, Option<Encoded>)> {
        let found = |room: Room| Arc::into_inner(room).and_then(OnceLock::into_inner);
        let of_file = |OfFile { pieces, terms, .. }: OfFile| {
            let terms = terms.into_iter().map(found).chain(std::iter::repeat_with(|| None));
            pieces.into_iter().zip(terms)
        };
        self.0.into_iter().flat_map(of_file).collect()
    }

    /// Those of some files alone; the others are left.
    pub(super) fn split_off(&mut self, files: &[PathBuf]) -> Self {
        let files: HashSet<&PathBuf> = files.iter().collect();
        let all = std::mem::take(&mut self.0).into_iter();
        let (taken, left) = all.partition(|file| files.contains(&file.path));
        self.0 = left;
        Self(taken)
    }

    /// All records in the order in which [`Interleaved`](super::read::Interleaved) reads the files.
    pub(super) fn interleaved(self, files: &[PathBuf]) -> Vec<Packed> {
        let records = |file: &OfFile| file.blocks.iter().sum::<usize>();
        let mut all = Vec::with_capacity(self.0.iter().map(records).sum());
        let found = self.0.into_iter().map(|file| (file.path.clone(), file));
        let mut found: HashMap<PathBuf, OfFile> = found.collect();
        let mut waiting = files.iter().map(|path| {
            let OfFile { pieces, blocks, .. } = found.remove(path).unwrap_or_default();
            (blocks.into_iter(), pieces.into_iter().flatten())
        });
        let mut open: Vec<_> = waiting.by_ref().take(SIDE_BY_SIDE).collect();
        let mut turn = 0;
        while !open.is_empty() {
            turn %= open.len();
            let (blocks, records) = &mut open[turn];
            match blocks.next() {
                Some(block) => {
                    all.extend(records.take(block));
                    turn += 1;
                }
                None => {
                    drop(open.remove(turn));
                    open.extend(waiting.next());
                }
            }
        }
        all
    }
}
