//! One pass over all the data before training; and positions in memory.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::encode::{EncodedTerms, TERMS_PIECE, TermsEncoder};
use super::packed::Packed;
use super::source::{FilteredFile, Turns};
use super::split::Holding;
use super::{HeldOut, LoadError, Plan, Rejected, Sketch, Subset};
use crate::data_file::DataFile;
use crate::digest;
use crate::format::Holds;
use crate::format::view::{Of, measure};
use crate::hce::Trace;
use crate::input::regular;
use crate::sample::{Sample, Spread};

/// Facts about the data.
#[derive(Debug, Default)]
pub struct Scan {
    pub files: Vec<DataFile>,
    /// Positions in the files.
    pub read: u64,
    pub rejected: Rejected,
    /// Positions to train on.
    pub train: u64,
    /// Positions of games that are neither held out nor in the share that training takes.
    pub left_out: u64,
    pub validation: HeldOut,
    pub test: HeldOut,
    /// The files that only validate.
    pub validating: Validating,
    /// By which the games are known again.
    pub sketch: Sketch,
    /// Games in the files; 0 where they are unknown.
    pub games: u64,
    /// Some of the positions to train on, spread evenly over each file: [`SOME`] at most, about.
    pub some: Vec<Sample>,
    /// All positions to train on, where they were to be kept and are no more than that many.
    pub kept: Option<KeptRecords>,
}

/// Facts about the files that only validate.
#[derive(Debug, Default)]
pub struct Validating {
    /// None, where games that are held out validate.
    pub files: Vec<DataFile>,
    /// By which their games are known again.
    pub sketch: Sketch,
    /// Games in them; 0 where they are unknown.
    pub games: u64,
    pub rejected: Rejected,
}

/// Positions of a file, about, on which its point of view is measured.
const PROBE: usize = 50_000;

/// Positions to train on that are sampled, for a look at them, for fitting a scale and for the
/// training loss.
pub const SOME: usize = 1 << 17;

/// Reads all files, several at a time. Up to `keep` positions to train on are kept, none of them if
/// there are more. `seen` gets the numbers of positions read.
///
/// # Errors
/// The first file in the order of the plan that cannot be read, those that only validate before the
/// others, and data without positions for training, validation or the test.
pub fn scan(plan: &Plan, keep: u64, seen: &(dyn Fn(u64) + Sync)) -> Result<Scan, LoadError> {
    scan_terms(plan, keep, None, seen)
}

/// Reads all files like [`scan`], and finds the terms of what is kept while the rest is read.
///
/// # Errors
/// See [`scan`].
pub fn scan_terms(
    plan: &Plan,
    keep: u64,
    encoder: Option<&TermsEncoder>,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Scan, LoadError> {
    let own = plan.validating().map(|plan| read_all(&plan, 0, None, seen)).transpose()?;
    if let Some(own) = own.as_ref().filter(|own| own.validation.total == 0) {
        return Err(LoadError::Empty(format!("in `data.validation`: {}", skipped(own))));
    }
    let mut scan = read_all(plan, keep, encoder, seen)?;
    check(plan, &scan).map_err(LoadError::Empty)?;
    if let Some(Scan { files, rejected, validation, sketch, games, .. }) = own {
        scan.validation = validation;
        scan.validating = Validating { files, sketch, games, rejected };
    }
    Ok(scan)
}

/// Checks that positions are left for each purpose.
fn check(plan: &Plan, scan: &Scan) -> Result<(), String> {
    let (validation, test) = (scan.validation.groups(), scan.test.groups());
    let (share, left_out) = (plan.split.share, scan.left_out);
    if scan.train == 0 {
        let (why, held_out) = (skipped(scan), scan.validation.total + scan.test.total);
        Err(format!(
            "to train on: {why}, {held_out} held out, {left_out} beyond data.share = {}",
            plan.share.0
        ))
    } else if share > 0.0 && validation + test == 0 {
        let groups = if scan.games > 0 { scan.games } else { scan.train + left_out };
        Err(format!(
            "to validate with: {share} of {groups} games or positions is less than one; raise \
             `data.held_out`, or set it to 0"
        ))
    } else if plan.validation.is_empty() && plan.validates() && validation == 0 {
        Err(format!(
            "to validate with: all {test} held-out games are the test; raise `data.held_out`, lower \
             `data.test`, or set it to 1 to train without a validation loss"
        ))
    } else {
        Ok(())
    }
}

/// The number of positions read, and of those that each key skipped.
fn skipped(scan: &Scan) -> String {
    let skipped = scan.rejected.counts().map(|(key, count)| format!("{count} by {key}"));
    let skipped = skipped.collect::<Vec<_>>().join(", ");
    let skipped = if skipped.is_empty() { "none" } else { &skipped };
    format!("of {} positions {skipped} were skipped", scan.read)
}

/// State that the files of a plan share while they are read.
struct Shared<'a> {
    plan: &'a Plan,
    encoder: Option<&'a TermsEncoder>,
    /// Positions to train on that may still be kept.
    keep: AtomicU64,
    validation: Holding,
    test: Holding,
    seen: &'a (dyn Fn(u64) + Sync),
}

/// Reads all files of a plan but those for validation alone.
fn read_all(
    plan: &Plan,
    keep: u64,
    encoder: Option<&TermsEncoder>,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Scan, LoadError> {
    let (validation, test) = (Holding::default(), Holding::default());
    let shared = Shared { plan, encoder, keep: AtomicU64::new(keep), validation, test, seen };
    let files = (0..plan.files.len()).into_par_iter();
    let read: Vec<Result<Scan, LoadError>> = files.map(|file| scan_file(file, &shared)).collect();
    let (mut sum, mut kept) = (Scan::default(), Some(Vec::new()));
    for file in read {
        let file = file?;
        sum.files.extend(file.files);
        sum.read += file.read;
        sum.rejected.add(&file.rejected);
        sum.train += file.train;
        sum.left_out += file.left_out;
        sum.sketch.join(&file.sketch);
        sum.games += file.games;
        sum.some.extend(file.some);
        kept = kept.zip(file.kept).map(|(mut all, file)| {
            all.extend(file.0);
            all
        });
    }
    (sum.validation, sum.test) = (shared.validation.end(), shared.test.end());
    sum.kept = kept.map(KeptRecords);
    Ok(sum)
}

fn scan_file(number: usize, shared: &Shared) -> Result<Scan, LoadError> {
    let path = &shared.plan.files[number];
    let named = |error| LoadError::Hash { path: path.clone(), error };
    // It is read once to be hashed, and may be read again in each epoch.
    regular(path).map_err(named)?;
    // The end of the scope waits for all terms that are being found.
    let read = || rayon::scope(|scope| read_file(number, shared, scope));
    let (read, hash) = rayon::join(read, || digest::of_file(path));
    let mut scan = read?;
    (scan.files[0].bytes, scan.files[0].sha256) = hash.map_err(named)?;
    Ok(scan)
}

fn read_file<'a>(
    number: usize,
    shared: &'a Shared,
    scope: &rayon::Scope<'a>,
) -> Result<Scan, LoadError> {
    let &Shared { plan, encoder, .. } = shared;
    let path = &plan.files[number];
    let mut kept = Some(KeptFile::default());
    let (mut records, mut piece, mut probe) = (Vec::new(), Vec::new(), Vec::new());
    let (mut validation, mut test) = (Vec::new(), Vec::new());
    let mut last_game = None;
    let mut some = Spread::new(SOME.div_ceil(plan.files.len()));
    let mut scan = Scan::default();
    let file = each_block(path, plan, shared.seen, |block| {
        if plan.check_view && probe.len() < PROBE {
            probe.extend_from_slice(block);
        }
        records.clear();
        for sample in block {
            scan.games += u64::from(sample.game.is_some() && sample.game != last_game);
            last_game = sample.game;
            let group = sample.group();
            match plan.subset(group) {
                Subset::Validation => validation.push(*sample),
                Subset::Test => test.push(*sample),
                Subset::Train => {
                    records.push(Packed::weighed(sample, &plan.weighing));
                    some.add(sample);
                }
                Subset::Unused => {
                    scan.left_out += 1;
                    continue;
                }
            }
            scan.sketch.add(group);
        }
        shared.validation.add(number, &mut validation);
        shared.test.add(number, &mut test);
        scan.train += records.len() as u64;
        let Some(file) = kept.as_mut().filter(|_| fits(&shared.keep, records.len() as u64)) else {
            kept = None;
            return;
        };
        file.blocks.push(records.clone());
        let Some(encoder) = encoder else { return };
        for record in &records {
            piece.push(*record);
            if piece.len() == TERMS_PIECE {
                let (piece, found) = (std::mem::take(&mut piece), Arc::new(OnceLock::new()));
                file.terms.push(found.clone());
                scope.spawn(move |_| {
                    let terms = encoder.encoded(&mut Trace::default(), &piece);
                    found.set(terms).expect("each piece is filled once");
                });
            }
        }
    })?;
    let source = &file.source;
    // Data that is read wrongly ruins the model.
    let colours = source.format().facts.colours != Holds::Never;
    for of in [Of::Result, Of::Score] {
        if let Some(reason) = measure(&probe, of, colours).contradiction(source.view()) {
            return Err(LoadError::View { path: path.clone(), reason });
        }
    }
    scan.files = vec![DataFile {
        path: path.clone(),
        format: Some(source.format().name.to_string()),
        bytes: 0,
        sha256: String::new(),
        positions: Some(file.read),
        games: scan.games,
        bad_records: Some(source.bad_records().count),
    }];
    (scan.read, scan.rejected) = (file.read, file.rejected);
    scan.some = some.samples().copied().collect();
    scan.kept = kept.map(|file| KeptRecords(vec![file]));
    Ok(scan)
}

/// Takes so many positions from those that may still be kept. Once there are too many, none may.
fn fits(keep: &AtomicU64, count: u64) -> bool {
    let taken = |left: u64| left.checked_sub(count);
    let fits = keep.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
    if !fits {
        keep.store(0, Ordering::Relaxed);
    }
    fits
}

/// Reads a file block by block; `seen` is told of positions as they are read.
fn each_block<'a>(
    path: &'a Path,
    plan: &'a Plan,
    seen: &dyn Fn(u64),
    mut take: impl FnMut(&[Sample]),
) -> Result<FilteredFile<'a>, LoadError> {
    let mut file = FilteredFile::open(path, plan)?;
    let (mut block, mut more) = (Vec::new(), true);
    while more {
        block.clear();
        let before = file.read;
        more = file.next(&mut block)?;
        take(&block);
        seen(file.read - before);
    }
    Ok(file)
}

/// The positions to train on, as they were read.
#[derive(Clone, Debug, Default)]
pub struct KeptRecords(Vec<KeptFile>);

#[derive(Clone, Debug, Default)]
struct KeptFile {
    blocks: Vec<Vec<Packed>>,
    /// The terms of the first pieces, where they were found while the rest was read.
    terms: Vec<Arc<OnceLock<EncodedTerms>>>,
}

impl KeptRecords {
    /// All records, file after file, in pieces; with their terms, where these were found.
    pub(super) fn into_pieces(self) -> Vec<(Vec<Packed>, Option<EncodedTerms>)> {
        let mut pieces = Vec::new();
        for KeptFile { blocks, terms, .. } in self.0 {
            let mut records = blocks.into_iter().flatten().peekable();
            let mut terms = terms.into_iter();
            while records.peek().is_some() {
                let mut piece = Vec::with_capacity(TERMS_PIECE);
                piece.extend(records.by_ref().take(TERMS_PIECE));
                let found = terms.next().and_then(Arc::into_inner).and_then(OnceLock::into_inner);
                pieces.push((piece, found));
            }
        }
        pieces
    }

    /// The records in the order in which [`blocks`](super::source::blocks) reads them.
    pub(super) fn into_records(self) -> Vec<Packed> {
        let count = self.0.iter().flat_map(|file| &file.blocks).map(Vec::len).sum();
        let mut records = Vec::with_capacity(count);
        let blocks = self.0.into_iter().map(|file| file.blocks.into_iter());
        Turns::new(blocks).for_each(|block| records.extend(block));
        records
    }
}

/// Positions to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    Train,
    /// Validation and test games.
    HeldOut,
    /// Those of validation games, or of the plan's files for validation.
    Validation,
    Test,
}

impl Part {
    fn has(self, subset: Subset) -> bool {
        match self {
            Part::All => true,
            Part::Train => subset == Subset::Train,
            Part::HeldOut => matches!(subset, Subset::Validation | Subset::Test),
            Part::Validation => subset == Subset::Validation,
            Part::Test => subset == Subset::Test,
        }
    }
}

/// The positions of all files that pass the filter, in order; `seen` is told of those read.
///
/// # Errors
/// The first file that cannot be read, and files from which nothing is left.
pub fn collect(
    plan: &Plan,
    part: Part,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Sample>, LoadError> {
    if let Some(validating) = plan.validating().filter(|_| part == Part::Validation) {
        return collect(&validating, part, seen);
    }
    let of_file = |path: &PathBuf| {
        let mut samples = Vec::new();
        each_block(path, plan, seen, |block| {
            samples.extend(block.iter().filter(|it| part.has(plan.subset(it.group()))));
        })?;
        Ok(samples)
    };
    let files: Vec<Result<Vec<Sample>, LoadError>> = plan.files.par_iter().map(of_file).collect();
    let samples = files.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    match samples.is_empty() {
        true => Err(LoadError::Empty("behind the filter and the split".into())),
        false => Ok(samples),
    }
}
