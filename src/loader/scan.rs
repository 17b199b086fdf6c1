//! One look at all the data before training.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::distinct::Distinct;
use super::encode::TermsEncoder;
use super::held::Holding;
use super::packed::Packed;
use super::read::Filtered;
use super::{Held, Kept, LoadError, Plan, Rejected, Share, Sketch, Subset};
use crate::data_file::DataFile;
use crate::digest;
use crate::format::Holds;
use crate::format::view::{Of, measure};
use crate::hce::Trace;
use crate::input::regular;
use crate::sample::{Sample, Spread};

/// What the data holds.
#[derive(Debug, Default)]
pub struct Scan {
    pub files: Vec<DataFile>,
    /// Positions in the files.
    pub read: u64,
    pub rejected: Rejected,
    /// Positions to train on.
    pub train: u64,
    /// Those of them that come from each source; empty where there are none.
    pub of_feeds: Vec<u64>,
    /// Positions of games that are neither held out nor in the share that training takes.
    pub left_out: u64,
    pub validation: Held,
    pub test: Held,
    /// The files that only validate.
    pub validating: Validating,
    /// By which the games are known again.
    pub sketch: Sketch,
    /// Games in the files; 0 where they are unknown.
    pub games: u64,
    /// Some of the positions to train on, spread evenly over each file: [`SOME`] at most, about.
    pub some: Vec<Sample>,
    /// All positions to train on, where they were to be kept and are no more than that many.
    pub kept: Option<Kept>,
}

/// What the files hold that only validate.
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

/// What is kept of the others, for a look at them, for fitting a scale and for the training loss.
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
    let own = match plan.validating() {
        Some(plan) => Some(read_all(&plan, 0, None, seen)?),
        None => None,
    };
    if let Some(own) = own.as_ref().filter(|own| own.validation.total == 0) {
        return Err(LoadError::EmptyValidation(skipped(own)));
    }
    let mut scan = read_all(plan, keep, encoder, seen)?;
    if scan.train == 0 {
        let held_out = scan.validation.total + scan.test.total;
        let why = format!("{} and {held_out} held out", skipped(&scan));
        return Err(LoadError::Empty(why + &beyond(plan.share, scan.left_out)));
    }
    if let Some((feed, _)) = plan.feeds.iter().zip(&scan.of_feeds).find(|(_, count)| **count == 0) {
        return Err(LoadError::EmptySource(feed.name.clone(), skipped(&scan)));
    }
    let groups = if scan.games > 0 { scan.games } else { scan.train + scan.left_out };
    held_out(plan, [scan.validation.groups(), scan.test.groups()], groups)?;
    if let Some(own) = own {
        let Scan { files, rejected, validation, sketch, games, .. } = own;
        scan.validation = validation;
        scan.validating = Validating { files, sketch, games, rejected };
    }
    Ok(scan)
}

/// How many positions were read, and what skipped how many of them.
fn skipped(scan: &Scan) -> String {
    let skipped: Vec<String> =
        scan.rejected.counts().map(|(key, count)| format!("{count} by {key}")).collect();
    let skipped = if skipped.is_empty() { "none".to_string() } else { skipped.join(", ") };
    format!("of {} positions {skipped} were skipped", scan.read)
}

/// What is known of a file that was read.
struct OfFile {
    file: DataFile,
    rejected: Rejected,
    train: u64,
    left_out: u64,
    sketch: Sketch,
    some: Vec<Sample>,
    kept: Option<Kept>,
}

/// Reads all files that are not for validation alone.
fn read_all(
    plan: &Plan,
    keep: u64,
    encoder: Option<&TermsEncoder>,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Scan, LoadError> {
    let (validation, test) = (Holding::default(), Holding::default());
    let room = Room { positions: AtomicU64::new(keep), validation: &validation, test: &test };
    let places = (0..plan.files.len()).into_par_iter();
    let read: Vec<Result<OfFile, LoadError>> =
        places.map(|place| scan_file(place, plan, &room, encoder, seen)).collect();
    let mut sum = Scan {
        of_feeds: vec![0; plan.feeds.len()],
        kept: Some(Kept::default()),
        ..Scan::default()
    };
    for (path, read) in plan.files.iter().zip(read) {
        let OfFile { file, rejected, train, left_out, sketch, some, kept } = read?;
        if let Some(feed) = usize::from(plan.reading_of(path).source).checked_sub(1) {
            sum.of_feeds[feed] += train;
        }
        sum.read += file.positions.unwrap_or(0);
        sum.games += file.games;
        sum.files.push(file);
        sum.rejected.add(&rejected);
        sum.train += train;
        sum.left_out += left_out;
        sum.sketch.join(&sketch);
        sum.some.extend(some);
        sum.kept = sum.kept.zip(kept).map(|(mut all, kept)| {
            all.join(kept);
            all
        });
    }
    (sum.validation, sum.test) = (validation.end(), test.end());
    Ok(sum)
}

/// Where positions go.
struct Room<'a> {
    /// To train on, that may still be kept.
    positions: AtomicU64,
    validation: &'a Holding,
    test: &'a Holding,
}

/// Whether games of the files are held out, where some are wanted, of those that validate and of
/// those of the test.
pub(super) fn held_out(
    plan: &Plan,
    [validation, test]: [usize; 2],
    groups: u64,
) -> Result<(), LoadError> {
    if plan.split.share > 0.0 && validation + test == 0 {
        return Err(LoadError::NoHeldOut { share: plan.split.share, groups });
    }
    if plan.validation.is_empty() && plan.validates() && validation == 0 {
        return Err(LoadError::NoValidation { test: plan.test.0, held_out: test });
    }
    Ok(())
}

/// What to do about a share that leaves nothing, behind what else was left out.
pub(super) fn beyond(share: Share, left_out: u64) -> String {
    match left_out {
        0 => String::new(),
        _ => format!(
            ", and none of the other {left_out} are of the games that data.share = {} takes; \
             raise it",
            share.0
        ),
    }
}

fn scan_file(
    place: usize,
    plan: &Plan,
    room: &Room,
    encoder: Option<&TermsEncoder>,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<OfFile, LoadError> {
    let path = &plan.files[place];
    let named = |error| LoadError::Hash { path: path.clone(), error };
    // It is read once to be hashed, and may be read again in each epoch.
    regular(path).map_err(named)?;
    let read = || match encoder {
        None => read_file(place, plan, room, &mut |_| (), seen),
        // Its end waits for all that was begun.
        Some(encoder) => rayon::scope(|scope| {
            let mut find = |kept: &mut Kept| {
                if let Some((records, room)) = kept.filled() {
                    scope.spawn(move |_| {
                        let found = encoder.encoded(&mut Trace::default(), &records);
                        room.set(found).expect("each piece is filled once");
                    });
                }
            };
            read_file(place, plan, room, &mut find, seen)
        }),
    };
    let (read, hash) = rayon::join(read, || digest::of_file(path));
    let (mut of_file, (bytes, sha256)) = (read?, hash.map_err(named)?);
    of_file.file.bytes = bytes;
    of_file.file.sha256 = sha256;
    Ok(of_file)
}

/// `with_kept` hears of each record that is kept.
fn read_file(
    place: usize,
    plan: &Plan,
    room: &Room,
    with_kept: &mut dyn FnMut(&mut Kept),
    seen: &(dyn Fn(u64) + Sync),
) -> Result<OfFile, LoadError> {
    let path = &plan.files[place];
    let mut file = Filtered::open(path, plan)?;
    let mut kept = Some(Kept::none_of(path));
    let mut block = Vec::new();
    let (mut validation, mut test) = (Vec::new(), Vec::new());
    let mut games = Distinct::default();
    let mut sketch = Sketch::default();
    let mut probe = Vec::new();
    let mut some = Spread::new(SOME.div_ceil(plan.files.len()));
    let (mut train, mut left_out) = (0, 0);
    loop {
        block.clear();
        let (before, trained) = (file.read, train);
        let more = file.next(&mut block)?;
        if plan.check_view && probe.len() < PROBE {
            probe.extend_from_slice(&block);
        }
        for sample in &block {
            games.add(sample.game);
            match plan.subset(sample) {
                Subset::Validation => validation.push(*sample),
                Subset::Test => test.push(*sample),
                Subset::Train => {
                    train += 1;
                    if let Some(kept) = &mut kept {
                        kept.push(Packed::weighed(sample, &plan.weighing));
                        with_kept(kept);
                    }
                    some.add(sample);
                }
                Subset::Unused => {
                    left_out += 1;
                    continue;
                }
            }
            sketch.add(sample);
        }
        for (held, holding) in [(&mut validation, room.validation), (&mut test, room.test)] {
            if !held.is_empty() {
                holding.add(place, held);
                held.clear();
            }
        }
        if let Some(kept) = &mut kept {
            kept.end_block();
        }
        // One too many, and nobody keeps any.
        let positions = &room.positions;
        let most = positions.load(Ordering::Relaxed).saturating_add(1);
        let trained = (train - trained).min(most);
        if positions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(trained))
            .is_err()
        {
            positions.store(0, Ordering::Relaxed);
            kept = None;
        }
        seen(file.read - before);
        if !more {
            break;
        }
    }
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
    let some = some.samples().copied().collect();
    let rejected = file.rejected;
    Ok(OfFile { file: data_file, rejected, train, left_out, sketch, some, kept })
}

/// Whether material bears out from whose point of view results and scores are: read wrongly, data
/// ruins what learns from it.
fn check_view(path: &Path, file: &Filtered, probe: &[Sample]) -> Result<(), LoadError> {
    let source = file.source();
    let colours = source.format().facts.colours != Holds::Never;
    for of in [Of::Result, Of::Score] {
        if let Some(reason) = measure(probe, of, colours).contradiction(source.view()) {
            return Err(LoadError::View { path: path.to_path_buf(), reason });
        }
    }
    Ok(())
}
