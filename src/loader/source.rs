//! Files of positions: formats, filters, and parts for reading.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::packed::Packed;
use super::{Filter, LoadError, ReadPlan, RejectCounts, ScanFacts, Subset};
use crate::format::view::{GivenViews, LabelKind, ViewCheck, measure_view};
use crate::format::{BadRecords, FileBlocks, Format, Presence, ReadError, SampleSource};
use crate::input::require_regular;
use crate::sample::Sample;

#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// None: detected by the content of each file.
    pub format: Option<&'static Format>,
    pub views: GivenViews,
    pub filter: Filter,
    /// Whether positions without a score are skipped.
    pub scores: bool,
    /// Maximum number of positions of each file, the first that pass the filter.
    pub limit: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct DataSource {
    pub files: Vec<PathBuf>,
    pub reading: ReadOptions,
}

impl ReadPlan {
    /// Returns the number of a file's source, from 1, or 0 without sources, and its options.
    fn reading_of(&self, path: &Path) -> (u8, &ReadOptions) {
        match self.sources.iter().position(|source| source.files.iter().any(|file| file == path)) {
            None => (0, &self.reading),
            Some(number) => {
                let source = u8::try_from(number + 1).expect("a plan has up to 255 sources");
                (source, &self.sources[number].reading)
            }
        }
    }
}

/// A file of a plan, whose format has all the facts that the plan needs.
pub(super) struct PlanFile {
    pub path: PathBuf,
    plan: Arc<ReadPlan>,
    reading: ReadOptions,
    number: u8,
    pub format: &'static Format,
    /// None: it has no blocks, and is read from its beginning.
    pieces: Option<FileBlocks>,
    /// None: not known.
    length: Option<u64>,
}

/// Returns all results, or the first error.
pub(super) fn in_order<T: Send>(
    results: impl ParallelIterator<Item = Result<T, LoadError>>,
) -> Result<Vec<T>, LoadError> {
    results.collect::<Vec<_>>().into_iter().collect()
}

impl PlanFile {
    /// Opens the files of a plan, in order; files with a known length must have it.
    pub fn open_all(plan: &ReadPlan, facts: &ScanFacts) -> Result<Vec<Arc<Self>>, LoadError> {
        let plan = Arc::new(plan.clone());
        let open = |index: usize| {
            let length = facts.lengths.get(index).copied();
            Self::new(&plan, plan.files[index].as_path(), length).map(Arc::new)
        };
        in_order((0..plan.files.len()).into_par_iter().map(open))
    }

    fn new(plan: &Arc<ReadPlan>, path: &Path, length: Option<u64>) -> Result<Self, LoadError> {
        let (number, reading) = plan.reading_of(path);
        // It is read again in each pass.
        require_regular(path).map_err(|error| LoadError::Hash { path: path.into(), error })?;
        let source = open_source(path, reading, plan)?;
        let format = source.format();
        reading.filter.check_format(path, format)?;
        plan.weighing.check_format(path, format)?;
        if plan.needs_colours && format.facts.colours == Presence::Never {
            return Err(LoadError::NoColours { path: path.into() });
        }
        if reading.scores && format.facts.scores == Presence::Never {
            let comments = String::new();
            return Err(LoadError::NoScore { path: path.into(), comments });
        }
        let (path, plan, reading) = (path.to_path_buf(), plan.clone(), reading.clone());
        let pieces = source.file_blocks().filter(|_| reading.limit.is_none());
        Ok(Self { path, plan, reading, number, format, pieces, length })
    }

    /// Fails if the file is gone, or longer or shorter than it was.
    fn check_length(&self) -> Result<(), LoadError> {
        let Some(expected) = self.length else { return Ok(()) };
        let path = self.path.clone();
        match path.metadata().map(|it| it.len()) {
            Ok(found) if found == expected => Ok(()),
            Ok(found) => Err(LoadError::Length { path, found, expected }),
            Err(error) => Err(LoadError::Hash { path, error }),
        }
    }

    /// Fails if material shows that scores or results have the other point of view.
    pub fn check_view(&self, probe: &[Sample]) -> Result<(), LoadError> {
        for kind in LabelKind::ALL.into_iter().filter(|_| self.plan.check_view) {
            if let Some(reason) = contradict_view(&self.plan, &self.path, probe, kind)? {
                return Err(LoadError::View { path: self.path.clone(), reason });
            }
        }
        Ok(())
    }

    /// Returns the number of parts that can be read separately.
    pub fn part_count(&self) -> u64 {
        self.pieces.as_ref().map_or(1, FileBlocks::block_count)
    }

    /// Returns the size of a range of parts, in whole parts.
    pub fn size_of_parts(&self, parts: Range<u64>) -> f64 {
        self.pieces.as_ref().map_or(1.0, |pieces| pieces.size_in_blocks(parts))
    }

    pub fn is_cut(&self) -> bool {
        self.pieces.is_some()
    }

    pub fn open_part(self: &Arc<Self>, number: u64) -> Result<FilePart, LoadError> {
        self.check_length()?;
        let source = match &self.pieces {
            Some(pieces) => pieces.open_block(number, self.plan.bad_records)?,
            None => open_source(&self.path, &self.reading, &self.plan)?,
        };
        let left = self.reading.limit.unwrap_or(u64::MAX);
        Ok(FilePart { file: self.clone(), source, left, bad: 0, game: None, raw: Vec::new() })
    }

    /// Fails if the whole file has no positions, or none with a score if scores are needed.
    pub fn check_counts(&self, counts: &ReadCounts) -> Result<(), LoadError> {
        let (path, skipped) = (self.path.clone(), counts.bad.count);
        if counts.read == 0 {
            return Err(ReadError::NoPositions { path, skipped, unfinished: 0 }.into());
        }
        let unscored =
            counts.rejected.counts_by_key().any(|(key, _)| key == RejectCounts::NO_SCORE);
        if !unscored || counts.scored {
            return Ok(());
        }
        let mut source = open_source(&self.path, &self.reading, &self.plan)?;
        source.next_block(&mut Vec::new())?;
        let comments =
            source.unread_comments().map_or(String::new(), |it| format!("; {it}; {}", it.cure));
        Err(LoadError::NoScore { path, comments })
    }

    /// Fails if the file has more bad records than the plan allows.
    pub fn check_bad(&self, bad: &BadRecords) -> Result<(), LoadError> {
        match bad.first.last() {
            Some(last) if bad.count > self.plan.bad_records => Err(ReadError::Bad {
                path: self.path.clone(),
                bad: last.clone(),
                limit: self.plan.bad_records,
            }
            .into()),
            _ => Ok(()),
        }
    }
}

fn open_source(
    path: &Path,
    reading: &ReadOptions,
    plan: &ReadPlan,
) -> Result<SampleSource, LoadError> {
    Ok(SampleSource::open_file(path, reading.format, plan.bad_records)?.seen_by(reading.views)?)
}

/// Explains why material contradicts the point of view in which a file is read; None if it does
/// not.
pub fn contradict_view(
    plan: &ReadPlan,
    path: &Path,
    probe: &[Sample],
    kind: LabelKind,
) -> Result<Option<String>, LoadError> {
    let (number, reading) = plan.reading_of(path);
    let check = measure_view(probe, kind, true);
    if let ViewCheck::Holds(_) | ViewCheck::Unsure = check {
        return Ok(None);
    }
    let (mut source, mut samples) = (open_source(path, reading, plan)?, Vec::new());
    // Comments decide how scores are read.
    while samples.len() < probe.len() && source.next_block(&mut samples)? {}
    let table = if number == 0 { "data" } else { "data.source" };
    Ok(check.explain_contradiction(source.read_view(kind), table))
}

/// A part of a file that is being read: a block, or all of it.
pub(super) struct FilePart {
    pub file: Arc<PlanFile>,
    source: SampleSource,
    /// Remaining limit of positions.
    left: u64,
    bad: u64,
    game: Option<std::num::NonZeroU64>,
    raw: Vec<Sample>,
}

/// Numbers of positions, games and bad records that were read.
#[derive(Clone, Debug, Default)]
pub struct ReadCounts {
    pub read: u64,
    pub rejected: RejectCounts,
    /// Training positions.
    pub train: u64,
    /// Positions of games that are neither held out nor in the training share.
    pub left_out: u64,
    pub games: u64,
    /// Positions of unknown games.
    pub gameless: u64,
    pub scored: bool,
    pub bad: BadRecords,
}

impl ReadCounts {
    pub fn add(&mut self, counts: &Self) {
        self.read += counts.read;
        self.rejected.add(&counts.rejected);
        self.train += counts.train;
        self.left_out += counts.left_out;
        self.games += counts.games;
        self.gameless += counts.gameless;
        self.scored |= counts.scored;
        self.bad.add(&counts.bad);
    }
}

#[derive(Default)]
pub(super) struct PartPositions {
    pub counts: ReadCounts,
    pub records: Vec<Packed>,
    /// Hashes of games, or of positions without games, below a bound.
    pub hashes: Vec<u64>,
}

impl FilePart {
    /// Returns the share of the file that was read, above 0; of compressed files in compressed
    /// bytes.
    pub fn share_read(&self) -> f64 {
        self.source.share_read()
    }

    /// Reads the next block; returns false at the end. `each` receives the positions that pass the
    /// filter, with their purpose, in order. Hashes from `bound` on are left out.
    pub fn next(
        &mut self,
        bound: u64,
        positions: &mut PartPositions,
        mut each: impl FnMut(&Sample, Subset),
    ) -> Result<bool, LoadError> {
        let PlanFile { plan, reading, number, path, .. } = &*self.file;
        self.raw.clear();
        let more = self.source.next_block(&mut self.raw);
        self.file.check_length()?;
        let more = more?;
        let needs_hash = bound > 0 || plan.split.share > 0.0 || plan.share.0 < 1.0;
        let counts = &mut positions.counts;
        for sample in &mut self.raw {
            if self.left == 0 {
                break;
            }
            counts.read += 1;
            counts.scored |= sample.score.is_some();
            counts.gameless += u64::from(sample.game.is_none());
            if let Some(key) = reading.filter.rejecting_key(sample) {
                counts.rejected.count_reject(key);
                continue;
            } else if reading.scores && sample.score.is_none() {
                counts.rejected.count_reject(RejectCounts::NO_SCORE);
                continue;
            }
            plan.weighing.check_own(path, sample)?;
            self.left -= 1;
            sample.source = *number;
            counts.games += u64::from(sample.game.is_some() && sample.game != self.game);
            self.game = sample.game;
            let game = if needs_hash { sample.split_group() } else { 0 };
            let subset = plan.subset_of_game(game);
            match subset {
                Subset::Train => {
                    counts.train += 1;
                    positions.records.push(Packed::with_weight(sample, &plan.weighing));
                }
                Subset::Unused => counts.left_out += 1,
                Subset::Validation | Subset::Test => {}
            }
            if game < bound && subset != Subset::Unused && positions.hashes.last() != Some(&game) {
                positions.hashes.push(game);
            }
            each(sample, subset);
        }
        let bad = self.source.bad_records();
        if bad.count > self.bad {
            counts.bad.add(&bad.after_first(self.bad));
            self.bad = bad.count;
        }
        Ok(more && self.left > 0)
    }
}
