//! Traces of an engine to rows of [`Terms`].

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use shakmaty::Color;

use super::distinct::Distinct;
use super::encode::{Found, Labels, TERMS_PIECE, TermsEncoder};
use super::scan::{beyond, held_out};
use super::{LoadError, Plan, Rejected, Rejection, Sketch, Store, Subset, Validating};
use crate::batch::Terms;
use crate::data_file::DataFile;
use crate::digest;
use crate::format::trace::{Checked, Entry, FORMAT, Games, TraceSource, Traced};
use crate::hce::Tally;
use crate::input::regular;
use crate::terms::{Kind, OwnTerms};

/// What files of traces hold.
#[derive(Debug)]
pub struct TraceScan {
    pub files: Vec<DataFile>,
    pub train: Store,
    pub validation: Store,
    /// The files that only validate.
    pub validating: Validating,
    /// Games that validate, and games of the test; positions, where games are unknown.
    pub groups: [usize; 2],
    /// Positions of the test.
    pub test: u64,
    /// Positions that were skipped, since they have no score and the target needs one.
    pub unscored: u64,
    /// Positions of games that are neither held out nor in the share that training takes.
    pub left_out: u64,
    /// By which the games are known again.
    pub sketch: Sketch,
    /// Games in the files; 0 where they are unknown.
    pub games: u64,
    /// How often each term was counted in the positions to train on.
    pub tally: Tally,
    /// The engine's evaluations that were found to be what the counts give; the place of the
    /// largest difference begins with its file.
    pub checked: Checked,
}

/// Reads all files, several at a time; `seen` is told of positions as they are read. Of the plan
/// count the files, the split, the share, the limit, the bad records and whether scores are needed.
///
/// # Errors
/// The first file in the order of the plan that cannot be read, and data from which nothing is
/// left to train on or, where some is wanted, to hold out.
pub fn scan_traces(
    plan: &Plan,
    own: &OwnTerms,
    encoder: &TermsEncoder,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<TraceScan, LoadError> {
    let own_files = match plan.validating() {
        Some(plan) => Some(read_all(&plan, own, encoder, seen)?),
        None => None,
    };
    if let Some(Traces { files, unscored, sides, .. }) = &own_files
        && sides[1].results.is_empty()
    {
        let positions: u64 = files.iter().filter_map(|file| file.positions).sum();
        let why = format!("of {positions} positions {unscored} have no score");
        return Err(LoadError::EmptyValidation(why));
    }
    let all = read_all(plan, own, encoder, seen)?;
    let games = all.games();
    let Traces { files, mut sides, mut groups, test, unscored, left_out, sketch, mut checked } =
        all;
    let tally = sides[0].tally.take().unwrap_or_else(|| Tally::new(own.list.len()));
    if sides[0].results.is_empty() {
        let held = sides[1].results.len() as u64 + test;
        let why = format!("the traces hold none to train on, {held} were held out");
        return Err(LoadError::Empty(why + &beyond(plan.share, left_out)));
    }
    let known = if games > 0 { games } else { sides[0].results.len() as u64 + left_out };
    held_out(plan, groups.each_ref().map(HashSet::len), known)?;
    let mut validating = Validating::default();
    if let Some(found) = own_files {
        let games = found.games();
        let Traces { files, sides: [_, side], groups: [validation, _], sketch, .. } = found;
        (sides[1], groups[0]) = (side, validation);
        checked.join(found.checked);
        let rejected = Rejected::of(Rejection::NoScore, found.unscored);
        validating = Validating { files, sketch, games, rejected };
    }
    let [train, validation] = sides.map(Side::store);
    Ok(TraceScan {
        files,
        train,
        validation,
        validating,
        groups: groups.map(|groups| groups.len()),
        test,
        unscored,
        left_out,
        sketch,
        games,
        tally,
        checked,
    })
}

/// What a file holds, or all that are not for validation alone.
#[derive(Default)]
struct Traces {
    files: Vec<DataFile>,
    sides: Sides,
    groups: [HashSet<u64>; 2],
    test: u64,
    unscored: u64,
    left_out: u64,
    sketch: Sketch,
    checked: Checked,
}

impl Traces {
    fn join(&mut self, other: Self) {
        self.files.extend(other.files);
        self.sides.iter_mut().zip(other.sides).for_each(|(all, side)| all.join(side));
        self.groups.iter_mut().zip(other.groups).for_each(|(all, groups)| all.extend(groups));
        self.test += other.test;
        self.unscored += other.unscored;
        self.left_out += other.left_out;
        self.sketch.join(&other.sketch);
        self.checked.join(other.checked);
    }

    fn games(&self) -> u64 {
        self.files.iter().map(|file| file.games).sum()
    }
}

fn read_all(
    plan: &Plan,
    own: &OwnTerms,
    encoder: &TermsEncoder,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Traces, LoadError> {
    let files: Vec<Result<Traces, LoadError>> = plan
        .files
        .par_iter()
        .map(|path| {
            let named = |error| LoadError::Hash { path: path.clone(), error };
            regular(path).map_err(named)?;
            let (read, hash) =
                rayon::join(|| read(path, plan, own, encoder, seen), || digest::of_file(path));
            let (mut read, (bytes, sha256)) = (read?, hash.map_err(named)?);
            (read.files[0].bytes, read.files[0].sha256) = (bytes, sha256);
            Ok(read)
        })
        .collect();
    let mut sum = Traces::default();
    for read in files {
        sum.join(read?);
    }
    Ok(sum)
}

/// To train on, and to validate.
type Sides = [Side; 2];

/// Positions on their way to a store.
#[derive(Default)]
struct Side {
    pieces: Vec<Arc<Terms>>,
    open: Terms,
    results: Vec<f32>,
    scores: Vec<f32>,
    counts: Vec<u64>,
    tally: Option<Tally>,
}

impl Side {
    fn push(&mut self, traced: &Traced, own: &OwnTerms, encoder: &TermsEncoder) {
        push(traced, own, &mut self.open);
        let tally = self.tally.get_or_insert_with(|| Tally::new(own.list.len()));
        for Entry { term, white, black } in &traced.entries {
            let times = u64::from(white.unsigned_abs()) + u64::from(black.unsigned_abs());
            tally.times[usize::from(*term)] += times;
        }
        tally.middlegame += own.shares(traced.phase, traced.scale)[0];
        tally.positions += 1;
        self.results.push(traced.result);
        self.scores.push(traced.score.map_or(f32::NAN, f32::from));
        if self.open.len() == TERMS_PIECE {
            self.close(encoder);
        }
    }

    fn close(&mut self, encoder: &TermsEncoder) {
        if !self.open.is_empty() {
            let (piece, counts) = encoder.piece(std::mem::take(&mut self.open));
            self.pieces.push(piece);
            self.add(counts);
        }
    }

    fn join(&mut self, other: Side) {
        self.pieces.extend(other.pieces);
        self.results.extend(other.results);
        self.scores.extend(other.scores);
        self.add(other.counts);
        match (&mut self.tally, other.tally) {
            (Some(tally), Some(other)) => tally.join(&other),
            (None, other) => self.tally = other,
            (Some(_), None) => {}
        }
    }

    fn add(&mut self, counts: Vec<u64>) {
        self.counts.resize(self.counts.len().max(counts.len()), 0);
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    fn store(self) -> Store {
        let Side { pieces, results, scores, counts, .. } = self;
        let labels = Labels { results, scores, ..Labels::default() };
        Store::new(Found { pieces, labels, counts })
    }
}

fn read(
    path: &Path,
    plan: &Plan,
    own: &OwnTerms,
    encoder: &TermsEncoder,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Traces, LoadError> {
    let mut source = TraceSource::open(path, own, plan.bad_records)?;
    let (mut sides, mut sketch) = (Sides::default(), Sketch::default());
    let mut traced = Traced::default();
    let (mut ids, mut games) = (Games::default(), Distinct::default());
    let (mut positions, mut unscored, mut left_out, mut test) = (0, 0, 0, 0);
    let mut groups: [HashSet<u64>; 2] = Default::default();
    while positions - unscored < plan.limit.unwrap_or(u64::MAX) && source.next(&mut traced)? {
        positions += 1;
        traced.game = ids.id(&traced);
        if plan.scores && traced.score.is_none() {
            unscored += 1;
            continue;
        }
        games.add(traced.game);
        let group = group(&traced);
        let subset = plan.subset_of(group);
        match subset {
            Subset::Train => sides[0].push(&traced, own, encoder),
            Subset::Validation => {
                sides[1].push(&traced, own, encoder);
                groups[0].insert(group);
            }
            Subset::Test => {
                test += 1;
                groups[1].insert(group);
            }
            Subset::Unused => left_out += 1,
        }
        if subset != Subset::Unused {
            sketch.add_group(group);
        }
        if positions % 4096 == 0 {
            seen(4096);
        }
    }
    if unscored > 0 && unscored == positions {
        return Err(LoadError::NoScore { path: path.to_path_buf() });
    }
    sides.iter_mut().for_each(|side| side.close(encoder));
    let file = DataFile {
        path: path.to_path_buf(),
        format: Some(FORMAT.name.to_string()),
        bytes: 0,
        sha256: String::new(),
        positions: Some(positions),
        games: games.count(),
        bad_records: Some(source.bad_records().count),
    };
    let mut checked = source.checked().clone();
    checked.place = format!("{}, {}", path.display(), checked.place);
    let files = vec![file];
    Ok(Traces { files, sides, groups, test, unscored, left_out, sketch, checked })
}

/// The game of a position; without one the board, or else the counts, stand for it. A board is
/// known again in files of other formats.
fn group(traced: &Traced) -> u64 {
    if let Some(game) = traced.game {
        return game.get();
    }
    match traced.sample() {
        Ok(sample) => sample.group(),
        Err(_) => traced.hash(),
    }
}

/// Adds a position to the rows.
///
/// Counts that do not fit the rows stand there in several entries, which add up.
///
/// # Panics
/// If an entry's term is not in the list, which a reader that was given the list does not let
/// through.
pub fn push(traced: &Traced, own: &OwnTerms, terms: &mut Terms) {
    let rows = terms.len();
    let of = |kind| {
        let is = move |entry: &&Entry| own.list.terms[usize::from(entry.term)].kind == kind;
        traced.entries.iter().filter(is)
    };
    let normal = of(Kind::Normal).flat_map(|&Entry { term, white, black }| {
        parts([i32::from(white) - i32::from(black), 0]).map(move |[count, _]| (term, count))
    });
    terms.normal.push(rows, normal);
    let safety = of(Kind::Safety).flat_map(|&Entry { term, white, black }| {
        parts([white.into(), black.into()]).map(move |counts| (term, counts))
    });
    terms.safety.push(rows, safety);
    let complexity = of(Kind::Complexity).flat_map(|&Entry { term, white, .. }| {
        parts([white.into(), 0]).map(move |[count, _]| (term, count))
    });
    terms.complexity.push(rows, complexity);
    let [middlegame, endgame] = own.shares(traced.phase, traced.scale);
    terms.middlegame.push(middlegame as f32);
    terms.endgame.push(endgame as f32);
    terms.turn.push(if traced.turn == Color::White { 1 } else { -1 });
}

/// Pairs of small counts that add up to this one, none of them zero for both.
fn parts(mut left: [i32; 2]) -> impl Iterator<Item = [i8; 2]> {
    std::iter::from_fn(move || {
        let part = left.map(|count| count.clamp(-127, 127) as i8);
        left = [left[0] - i32::from(part[0]), left[1] - i32::from(part[1])];
        (part != [0, 0]).then_some(part)
    })
}
