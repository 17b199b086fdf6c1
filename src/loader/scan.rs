//! Scan of the data before training: of all data if they stay in memory, else of a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::encode::TERMS_PIECE;
use super::packed::Packed;
use super::source::{FilePart, PartPositions, PlanFile, ReadCounts, in_order};
use super::{HeldOut, LoadError, ReadPlan, ScanFacts, Subset};
use crate::data_file::DataFile;
use crate::digest;
use crate::sample::{Sample, SampleDraw};
use crate::sketch::Sketch;

#[derive(Debug, Default)]
pub struct Scan {
    pub files: Vec<DataFile>,
    /// Whether all data were read.
    pub is_whole: bool,
    /// Counts of all data, or of a sample, with an estimate of all training positions.
    pub counts: ReadCounts,
    pub validation: HeldOut,
    pub test: HeldOut,
    pub validating: ValidationFacts,
    /// Smallest hashes of the games.
    pub sketch: Sketch,
    /// About `SOME` of the training positions, spread evenly.
    pub some: Vec<Sample>,
    /// All training positions, if they were to stay in memory and are few enough.
    pub kept: Option<KeptRecords>,
}

/// Facts about the files of validation positions.
#[derive(Debug, Default)]
pub struct ValidationFacts {
    /// Empty if held-out games validate.
    pub files: Vec<DataFile>,
    pub sketch: Sketch,
    pub counts: ReadCounts,
}

/// Approximate number of positions on which a file's point of view is measured.
const PROBE: usize = 50_000;
/// Maximum number of these from one part.
const PROBE_OF_PART: usize = 8192;
/// Number of sampled training positions, for a check, the fit of a scale and the training loss.
pub const SOME: usize = 1 << 17;
/// Maximum number of parts over which these are spread before they are sampled again.
const SOME_PARTS: u64 = 256;
/// Approximate size of a sample of the data in positions; smaller data are read completely.
pub const SAMPLE: u64 = 1 << 21;
/// Approximate number of a sample's positions from files without blocks.
const SAMPLE_OF_WHOLE: u64 = 1 << 19;
/// Factor above which an early estimate is surely too large.
const SURELY: u64 = 2;
/// Parts that are read before positions are counted: the minimum of a sample.
const WAVE: usize = 16;
/// Maximum number of parts of a sample, besides one of each file.
const MAX_PARTS: u64 = 1 << 12;

/// Reads all files, or a sample if they have more than `keep` training positions, and more than a
/// sample. Returns training positions if there are at most `keep`. `count` receives numbers of
/// positions read.
///
/// # Errors
///
/// Fails for the first file that cannot be read or does not fit the plan, validation files first.
/// Fails with [`LoadError::Empty`] if no positions are left to train on, if a share above 0 holds
/// none out, and if a plan with validation has none to validate with.
pub fn scan(plan: &ReadPlan, keep: u64, count: &(dyn Fn(u64) + Sync)) -> Result<Scan, LoadError> {
    let separate = plan.validation_plan().map(|plan| read_all(&plan, 0, count)).transpose()?;
    if let Some(scan) = separate.as_ref().filter(|scan| scan.validation.total == 0) {
        return Err(LoadError::Empty(format!("in `data.validation`: {}", describe_skipped(scan))));
    }
    let mut scan = read_all(plan, keep, count)?;
    check_scan(plan, &scan)?;
    if let Some(Scan { files, counts, validation, sketch, .. }) = separate {
        scan.validation = validation;
        scan.validating = ValidationFacts { files, sketch, counts };
    }
    Ok(scan)
}

fn check_scan(plan: &ReadPlan, scan: &Scan) -> Result<(), LoadError> {
    let (validation, test) = (scan.validation.group_count(), scan.test.group_count());
    let (share, ReadCounts { train, left_out, games, .. }) = (plan.split.share, &scan.counts);
    if *train == 0 {
        let (why, held_out) = (describe_skipped(scan), scan.validation.total + scan.test.total);
        Err(LoadError::Empty(format!(
            "to train on: {why}, {held_out} held out, {left_out} beyond data.share = {}",
            plan.share.0
        )))
    } else if share > 0.0 && validation + test == 0 {
        let groups = if *games > 0 { *games } else { train + left_out };
        Err(LoadError::Empty(format!(
            "to validate with: {share} of {groups} games or positions is less than one; raise \
             `data.held_out`, or set it to 0"
        )))
    } else if plan.validation.is_empty() && plan.has_validation() && validation == 0 {
        Err(LoadError::Empty(format!(
            "to validate with: all {test} held-out games are the test; raise `data.held_out`, lower \
             `data.test`, or set it to 1 to train without a validation loss"
        )))
    } else {
        Ok(())
    }
}

/// Describes the number of positions read, and of those that each key skipped.
fn describe_skipped(scan: &Scan) -> String {
    let skipped =
        scan.counts.rejected.counts_by_key().map(|(key, count)| format!("{count} by {key}"));
    let skipped = skipped.collect::<Vec<_>>().join(", ");
    let skipped = if skipped.is_empty() { "none" } else { &skipped };
    format!("of {} positions {skipped} were skipped", scan.counts.read)
}

#[derive(Default)]
struct PartRecords {
    positions: PartPositions,
    validation: Vec<Sample>,
    test: Vec<Sample>,
    sample: Vec<Sample>,
    probe: Vec<Sample>,
    /// The part, if more of it may be read.
    open: Option<FilePart>,
}

struct ScanReader<'a> {
    files: Vec<Arc<PlanFile>>,
    /// First part of each file, then the number of all parts.
    starts: Vec<u64>,
    count: &'a (dyn Fn(u64) + Sync),
    sketch: Mutex<Sketch>,
    bound: AtomicU64,
    /// Whether all training positions may stay in memory.
    keeps: bool,
}

type RecordsByPart = BTreeMap<u64, PartRecords>;

impl<'a> ScanReader<'a> {
    fn new(plan: &ReadPlan, count: &'a (dyn Fn(u64) + Sync)) -> Result<Self, LoadError> {
        let (files, mut starts) = (PlanFile::open_all(plan, &ScanFacts::default())?, vec![0]);
        files.iter().for_each(|file| starts.push(starts[starts.len() - 1] + file.part_count()));
        let (sketch, bound) = (Mutex::default(), AtomicU64::new(u64::MAX));
        Ok(Self { files, starts, count, sketch, bound, keeps: true })
    }

    fn part_count(&self) -> u64 {
        self.starts[self.files.len()]
    }

    fn file_of_part(&self, part: u64) -> usize {
        self.starts.partition_point(|start| *start <= part) - 1
    }

    /// Lists the parts of a sample: the middle one of each file, then others spread over all files.
    fn sample_parts(&self) -> Vec<u64> {
        let middle = |(start, file): (&u64, &Arc<PlanFile>)| start + file.part_count() / 2;
        let mut sample: Vec<u64> = self.starts.iter().zip(&self.files).map(middle).collect();
        let (parts, mut taken) = (self.part_count(), BTreeSet::from_iter(sample.iter().copied()));
        // Fractional parts of multiples of the golden ratio are spread evenly.
        let fraction = |i: u64| u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let spread =
            (0..MAX_PARTS.min(2 * parts)).map(|i| ((fraction(i) * u128::from(parts)) >> 64) as u64);
        sample.extend(spread.filter(|part| taken.insert(*part)));
        sample
    }

    /// Reads or continues these parts; a file without blocks up to `max_positions`.
    fn read_parts(
        &self,
        parts: &[u64],
        max_positions: u64,
        done: &mut RecordsByPart,
    ) -> Result<(), LoadError> {
        let begun: Vec<(u64, Option<PartRecords>)> =
            parts.iter().map(|part| (*part, done.remove(part))).collect();
        let read =
            |(part, begun)| self.read_part(part, begun, max_positions).map(|read| (part, read));
        done.extend(in_order(begun.into_par_iter().map(read))?);
        Ok(())
    }

    fn read_part(
        &self,
        part: u64,
        begun: Option<PartRecords>,
        max_positions: u64,
    ) -> Result<PartRecords, LoadError> {
        let file = &self.files[self.file_of_part(part)];
        let probe = match (&begun, file.part_count()) {
            (Some(_), _) => 0,
            (None, 1) => PROBE,
            (None, _) => PROBE_OF_PART,
        };
        let mut read = begun.unwrap_or_default();
        let open = read.open.take().map(Ok);
        let mut open =
            open.unwrap_or_else(|| file.open_part(part - self.starts[self.file_of_part(part)]))?;
        let mut draw = SampleDraw::new(SOME / self.part_count().min(SOME_PARTS) as usize);
        let mut more = true;
        while more && (file.is_cut() || read.positions.counts.read < max_positions) {
            let before = read.positions.counts.read;
            let PartRecords { positions, validation, test, probe: probed, .. } = &mut read;
            more = open.next(self.bound.load(Ordering::Relaxed), positions, |sample, subset| {
                if probed.len() < probe {
                    probed.push(*sample);
                }
                match subset {
                    Subset::Validation => validation.push(*sample),
                    Subset::Test => test.push(*sample),
                    Subset::Train => draw.add(sample),
                    Subset::Unused => {}
                }
            })?;
            if !self.keeps {
                positions.records = Vec::new();
            }
            (self.count)(read.positions.counts.read - before);
        }
        read.open = more.then_some(open);
        read.sample.extend(draw.samples());
        let mut sketch = self.sketch.lock().unwrap_or_else(PoisonError::into_inner);
        sketch.add_hashes(std::mem::take(&mut read.positions.hashes));
        self.bound.store(sketch.upper_bound(), Ordering::Relaxed);
        Ok(read)
    }

    /// Reads the end of each file, as it may be truncated. The last part may have no record.
    fn check_ends(&self) -> Result<(), LoadError> {
        let check_end = |file: usize| {
            for part in (self.starts[file]..self.starts[file + 1]).rev() {
                if self.read_part(part, None, 0)?.positions.counts.read > 0 {
                    break;
                }
            }
            Ok(())
        };
        in_order((0..self.files.len()).into_par_iter().map(check_end)).map(drop)
    }

    /// Estimates the number of training positions from the parts read.
    fn estimate_positions(&self, done: &RecordsByPart) -> u64 {
        let (mut estimate, mut read_size, mut total_size) = (0.0, 0.0, 0.0);
        for (start, file) in self.starts.iter().zip(&self.files) {
            let (mut train, mut share, size) = (0, 0.0, file.size_of_parts(0..file.part_count()));
            for (part, read) in done.range(*start..start + file.part_count()) {
                let number = part - start;
                train += read.positions.counts.train;
                share += match &read.open {
                    Some(open) => open.share_read(),
                    None => file.size_of_parts(number..number + 1),
                };
            }
            if share > 0.0 {
                estimate += train as f64 * size / share;
                read_size += size;
            }
            total_size += size;
        }
        (estimate * total_size / read_size).round() as u64
    }

    fn missing_parts(&self, done: &RecordsByPart) -> Vec<u64> {
        let is_missing = |part: &u64| done.get(part).is_none_or(|read| read.open.is_some());
        (0..self.part_count()).filter(is_missing).collect()
    }
}

/// Reads all files of a plan except those for validation, or a sample of them.
fn read_all(plan: &ReadPlan, keep: u64, count: &(dyn Fn(u64) + Sync)) -> Result<Scan, LoadError> {
    let (mut reader, mut done) = (ScanReader::new(plan, count)?, RecordsByPart::new());
    let max_kept = keep.max(SAMPLE);
    let sample = reader.sample_parts();
    let whole = reader.files.iter().filter(|file| !file.is_cut()).count() as u64;
    let (max_positions, mut parts_read) = (SAMPLE_OF_WHOLE / whole.max(1), 0);
    for wave in sample.chunks(WAVE) {
        let read: u64 = done.values().map(|read| read.positions.counts.read).sum();
        if parts_read >= reader.files.len() && read >= SAMPLE {
            break;
        }
        reader.read_parts(wave, max_positions, &mut done)?;
        parts_read += wave.len();
        reader.keeps &= reader.estimate_positions(&done) <= max_kept.saturating_mul(SURELY);
    }
    let (estimate, mut missing) = (reader.estimate_positions(&done), reader.missing_parts(&done));
    if reader.keeps && estimate <= max_kept {
        for wave in missing.chunks(WAVE) {
            reader.read_parts(wave, u64::MAX, &mut done)?;
        }
        missing.clear();
    }
    let is_whole = missing.is_empty();
    if !is_whole {
        reader.check_ends()?;
    }
    let ScanReader { files, starts, sketch, keeps, .. } = reader;
    let mut scan = Scan { is_whole, ..Scan::default() };
    scan.sketch = sketch.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut file_counts, mut kept) =
        (vec![ReadCounts::default(); files.len()], KeptRecords::default());
    kept.0.resize_with(files.len(), Vec::new);
    let (mut validation, mut test, mut probes) =
        (Vec::new(), Vec::new(), vec![Vec::new(); files.len()]);
    for (part, read) in done {
        let file = starts.partition_point(|start| *start <= part) - 1;
        file_counts[file].add(&read.positions.counts);
        files[file].check_bad(&file_counts[file].bad)?;
        validation.extend(read.validation);
        test.extend(read.test);
        scan.some.extend(read.sample);
        let probe: &mut Vec<Sample> = &mut probes[file];
        probe.extend(read.probe.into_iter().take(PROBE - probe.len()));
        if is_whole && keeps && keep > 0 {
            kept.0[file].push(read.positions.records);
        }
    }
    let digests: Vec<_> = files.par_iter().map(|file| digest::of_data(&file.path)).collect();
    for ((file, counts), (probe, digest)) in
        files.iter().zip(file_counts).zip(probes.into_iter().zip(digests))
    {
        if is_whole || counts.read > 0 {
            file.check_counts(&counts)?;
        }
        file.check_view(&probe)?;
        let digest = digest.map_err(|error| LoadError::Hash { path: file.path.clone(), error })?;
        scan.files.push(DataFile {
            path: file.path.clone(),
            format: Some(file.format.name.to_string()),
            bytes: digest.bytes,
            sha256: digest.sha256,
            is_sampled: digest.is_sampled,
            positions: is_whole.then_some(counts.read),
            games: if is_whole { counts.games } else { 0 },
            gameless: if is_whole && counts.games > 0 { counts.gameless } else { 0 },
            bad_records: is_whole.then_some(counts.bad.count),
        });
        scan.counts.add(&counts);
    }
    (scan.validation, scan.test) = (HeldOut::from_samples(validation), HeldOut::from_samples(test));
    let mut draw = SampleDraw::new(SOME);
    scan.some.iter().for_each(|sample| draw.add(sample));
    scan.some = draw.samples().copied().collect();
    scan.kept = (is_whole && keeps && scan.counts.train <= keep).then_some(kept);
    if !is_whole {
        scan.counts.train = estimate;
    }
    Ok(scan)
}

/// Training positions in memory, by file and part.
#[derive(Clone, Debug, Default)]
pub struct KeptRecords(Vec<Vec<Vec<Packed>>>);

impl KeptRecords {
    pub(super) fn read_all(plan: &ReadPlan, facts: &ScanFacts) -> Result<Self, LoadError> {
        let read_file = |file: Arc<PlanFile>| {
            let read_part = |number| {
                let (mut part, mut positions) = (file.open_part(number)?, PartPositions::default());
                while part.next(0, &mut positions, |_, _| {})? {}
                Ok(positions.records)
            };
            in_order((0..file.part_count()).into_par_iter().map(read_part))
        };
        Ok(Self(
            PlanFile::open_all(plan, facts)?
                .into_iter()
                .map(read_file)
                .collect::<Result<_, _>>()?,
        ))
    }

    /// Returns all records, file after file, in blocks of [`TERMS_PIECE`].
    pub(super) fn into_pieces(self) -> Vec<Vec<Packed>> {
        let mut pieces = Vec::new();
        for parts in self.0 {
            let mut records = parts.into_iter().flatten().peekable();
            while records.peek().is_some() {
                let mut piece = Vec::with_capacity(TERMS_PIECE);
                piece.extend(records.by_ref().take(TERMS_PIECE));
                pieces.push(piece);
            }
        }
        pieces
    }

    /// Returns all records, file after file.
    pub(super) fn into_records(self) -> Vec<Packed> {
        let count = self.0.iter().flatten().map(Vec::len).sum();
        let mut records = Vec::with_capacity(count);
        self.0.into_iter().flatten().for_each(|part| records.extend(part));
        records
    }
}

/// Collects the positions of all files that pass the filter, in order; `count` receives numbers of
/// positions read.
///
/// # Errors
///
/// Fails for the first file that cannot be read or does not fit the plan, and with
/// [`LoadError::Empty`] if no positions are left.
pub fn collect_samples(
    plan: &ReadPlan,
    subset: Option<Subset>,
    count: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Sample>, LoadError> {
    if let Some(validating) = plan.validation_plan().filter(|_| subset == Some(Subset::Validation))
    {
        return collect_samples(&validating, subset, count);
    }
    let mut samples = Vec::new();
    for file in PlanFile::open_all(plan, &ScanFacts::default())? {
        let read_part = |number| {
            let (mut open, mut samples, mut positions) =
                (file.open_part(number)?, Vec::new(), PartPositions::default());
            let mut more = true;
            while more {
                let before = positions.counts.read;
                let take = |sample: &Sample, purpose| {
                    samples.extend(subset.is_none_or(|it| it == purpose).then_some(*sample));
                };
                more = open.next(0, &mut positions, take)?;
                positions.records.clear();
                count(positions.counts.read - before);
            }
            Ok((samples, positions.counts))
        };
        let parts = (0..file.part_count()).into_par_iter().map(read_part);
        let (parts, mut file_counts): (Vec<Result<_, LoadError>>, _) =
            (parts.collect(), ReadCounts::default());
        for part in parts {
            let (part_samples, counts) = part?;
            samples.extend(part_samples);
            file_counts.add(&counts);
            file.check_bad(&file_counts.bad)?;
        }
        file.check_counts(&file_counts)?;
    }
    match samples.is_empty() {
        true => Err(LoadError::Empty("behind the filter and the split".into())),
        false => Ok(samples),
    }
}
