//! One pass over all the data before training; and positions in memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::encode::{EncodedTerms, TERMS_PIECE, TermsEncoder};
use super::packed::Packed;
use super::source::{FilteredFile, Turns};
use super::split::{Distinct, Holding};
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
    /// Those of them that come from each source; empty where there are none.
    pub of_sources: Vec<u64>,
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

/// Reads all files, several at a time; `seen` is told of positions as they are read. Up to `keep`
/// positions to train on are kept, none of them if there are more.
///
/// # Errors
/// The first file in the order of the plan that cannot be read, those that only validate before the
/// others, and data from which nothing is left to train on or, where some is wanted, to validate or
/// to hold out.
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
    if let Some(own) = own {
        let Scan { files, rejected, validation, sketch, games, .. } = own;
        scan.validation = validation;
        scan.validating = Validating { files, sketch, games, rejected };
    }
    Ok(scan)
}

/// Checks that positions are left for each purpose.
fn check(plan: &Plan, scan: &Scan) -> Result<(), String> {
    let (validation, test) = (scan.validation.groups(), scan.test.groups());
    let share = plan.split.share;
    if scan.train == 0 {
        let held_out = scan.validation.total + scan.test.total;
        let Scan { left_out, .. } = scan;
        let why = skipped(scan);
        return Err(format!(
            "to train on: {why}, {held_out} held out, {left_out} beyond data.share = {}",
            plan.share.0
        ));
    }
    if let Some((source, _)) =
        plan.sources.iter().zip(&scan.of_sources).find(|(_, count)| **count == 0)
    {
        return Err(format!("of the source {} to train on: {}", source.name, skipped(scan)));
    }
    if share > 0.0 && validation + test == 0 {
        let groups = if scan.games > 0 { scan.games } else { scan.train + scan.left_out };
        return Err(format!(
            "to validate with: {share} of {groups} games or positions is less than one; raise \
             `data.held_out`, or set it to 0"
        ));
    }
    if plan.validation.is_empty() && plan.validates() && validation == 0 {
        return Err(format!(
            "to validate with: all {test} held-out games are the test; raise `data.held_out`, lower \
             `data.test`, or set it to 1 to train without a validation loss"
        ));
    }
    Ok(())
}

/// How many positions were read, and how many of them each key skipped.
fn skipped(scan: &Scan) -> String {
    let skipped: Vec<String> =
        scan.rejected.counts().map(|(key, count)| format!("{count} by {key}")).collect();
    let skipped = if skipped.is_empty() { "none".to_string() } else { skipped.join(", ") };
    format!("of {} positions {skipped} were skipped", scan.read)
}

/// Limits and places that the files of a plan share.
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
    let files = 0..plan.files.len();
    let read: Vec<Result<Scan, LoadError>> =
        files.into_par_iter().map(|number| scan_file(number, &shared)).collect();
    let of_sources = vec![0; plan.sources.len()];
    let mut sum = Scan { of_sources, kept: Some(KeptRecords::default()), ..Scan::default() };
    for file in read {
        sum.join(file?);
    }
    (sum.validation, sum.test) = (shared.validation.end(), shared.test.end());
    Ok(sum)
}

impl Scan {
    /// Adds what was found in the next file.
    fn join(&mut self, other: Self) {
        self.files.extend(other.files);
        self.read += other.read;
        self.rejected.add(&other.rejected);
        self.train += other.train;
        self.of_sources.iter_mut().zip(other.of_sources).for_each(|(sum, count)| *sum += count);
        self.left_out += other.left_out;
        self.sketch.join(&other.sketch);
        self.games += other.games;
        self.some.extend(other.some);
        self.kept = self.kept.take().zip(other.kept).map(|(mut all, kept)| {
            all.0.extend(kept.0);
            all
        });
    }
}

fn scan_file(number: usize, shared: &Shared) -> Result<Scan, LoadError> {
    let path = &shared.plan.files[number];
    let named = |error| LoadError::Hash { path: path.clone(), error };
    // It is read once to be hashed, and may be read again in each epoch.
    regular(path).map_err(named)?;
    // The end of the scope waits for all terms that are being found.
    let read = || rayon::scope(|scope| read_file(number, shared, scope));
    let (read, hash) = rayon::join(read, || digest::of_file(path));
    let (mut scan, (bytes, sha256)) = (read?, hash.map_err(named)?);
    scan.files[0].bytes = bytes;
    scan.files[0].sha256 = sha256;
    Ok(scan)
}

fn read_file<'a>(
    number: usize,
    shared: &'a Shared,
    scope: &rayon::Scope<'a>,
) -> Result<Scan, LoadError> {
    let &Shared { plan, encoder, .. } = shared;
    let path = &plan.files[number];
    let mut kept = Some(KeptFile { path: path.clone(), ..KeptFile::default() });
    let (mut records, mut piece) = (Vec::new(), Vec::new());
    let (mut validation, mut test) = (Vec::new(), Vec::new());
    let (mut games, mut sketch) = (Distinct::default(), Sketch::default());
    let mut probe = Vec::new();
    let mut some = Spread::new(SOME.div_ceil(plan.files.len()));
    let (mut train, mut left_out) = (0, 0);
    let file = each_block(path, plan, shared.seen, |block| {
        if plan.check_view && probe.len() < PROBE {
            probe.extend_from_slice(block);
        }
        records.clear();
        for sample in block {
            games.add(sample.game);
            match plan.subset(sample) {
                Subset::Validation => validation.push(*sample),
                Subset::Test => test.push(*sample),
                Subset::Train => {
                    records.push(Packed::weighed(sample, &plan.weighing));
                    some.add(sample);
                }
                Subset::Unused => {
                    left_out += 1;
                    continue;
                }
            }
            sketch.add(sample);
        }
        shared.validation.add(number, &mut validation);
        shared.test.add(number, &mut test);
        train += records.len() as u64;
        if let Some(file) = kept.as_mut().filter(|_| fits(&shared.keep, records.len() as u64)) {
            file.blocks.push(records.clone());
            for record in records.iter().filter(|_| encoder.is_some()) {
                piece.push(*record);
                if piece.len() == TERMS_PIECE {
                    let (piece, found) = (std::mem::take(&mut piece), Arc::new(OnceLock::new()));
                    file.terms.push(found.clone());
                    scope.spawn(move |_| {
                        let encoder = encoder.expect("terms are found");
                        let terms = encoder.encoded(&mut Trace::default(), &piece);
                        found.set(terms).expect("each piece is filled once");
                    });
                }
            }
        } else {
            kept = None;
        }
    })?;
    check_view(path, &file, &probe)?;
    let source = file.source();
    let data_file = DataFile {
        path: path.clone(),
        format: Some(source.format().name.to_string()),
        bytes: 0,
        sha256: String::new(),
        positions: Some(file.read),
        games: games.count(),
        bad_records: Some(source.bad_records().count),
    };
    let mut of_sources = vec![0; plan.sources.len()];
    if let Some(source) = usize::from(plan.reading_of(path).0).checked_sub(1) {
        of_sources[source] = train;
    }
    Ok(Scan {
        files: vec![data_file],
        read: file.read,
        rejected: file.rejected,
        train,
        of_sources,
        left_out,
        sketch,
        games: games.count(),
        some: some.samples().copied().collect(),
        kept: kept.map(|file| KeptRecords(vec![file])),
        ..Scan::default()
    })
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

/// Checks the point of view of results and scores against material: data that is read wrongly ruins
/// the model.
fn check_view(path: &Path, file: &FilteredFile, probe: &[Sample]) -> Result<(), LoadError> {
    let source = file.source();
    let colours = source.format().facts.colours != Holds::Never;
    for of in [Of::Result, Of::Score] {
        if let Some(reason) = measure(probe, of, colours).contradiction(source.view()) {
            return Err(LoadError::View { path: path.to_path_buf(), reason });
        }
    }
    Ok(())
}

/// The positions to train on, as they were read.
#[derive(Clone, Debug, Default)]
pub struct KeptRecords(Vec<KeptFile>);

#[derive(Clone, Debug, Default)]
struct KeptFile {
    path: PathBuf,
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

    /// Takes the records of some files, in the order in which
    /// [`blocks`](super::source::blocks) reads them.
    pub(super) fn take(&mut self, files: &[PathBuf]) -> Vec<Packed> {
        let wanted: HashSet<&PathBuf> = files.iter().collect();
        let all = std::mem::take(&mut self.0).into_iter();
        let (taken, left) = all.partition(|file: &KeptFile| wanted.contains(&file.path));
        self.0 = left;
        let count = taken.iter().flat_map(|file: &KeptFile| &file.blocks).map(Vec::len).sum();
        let mut records = Vec::with_capacity(count);
        let blocks = taken.into_iter().map(|file: KeptFile| file.blocks.into_iter());
        Turns::new(blocks).for_each(|block| records.extend(block));
        records
    }
}

/// Positions to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    /// Those of games to train on.
    Train,
    /// Those that the plan's split holds out.
    HeldOut,
    /// Those by which training chooses: some of them, or all of the plan's files for validation.
    Validation,
    /// The others that are held out.
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
            samples.extend(block.iter().filter(|it| part.has(plan.subset(it))));
        })?;
        Ok(samples)
    };
    let files: Vec<Result<Vec<Sample>, LoadError>> = plan.files.par_iter().map(of_file).collect();
    let mut samples = Vec::new();
    for file in files {
        samples.extend(file?);
    }
    match samples.is_empty() {
        true => Err(LoadError::Empty("behind the filter and the split".into())),
        false => Ok(samples),
    }
}
