//! Traces of an engine to rows of [`Terms`].

use std::mem::take;
use std::path::Path;

use rayon::prelude::*;

use super::encode::{EncodedTerms, Label, TERMS_PIECE, TermsEncoder};
use super::packed::Packed;
use super::{LoadError, Plan, Store, Subset};
use crate::batch::Terms;
use crate::format::trace::{self, Entry, Traced};
use crate::hce::Tally;
use crate::point_of_view::PointOfView;
use crate::terms::{Kind, OwnTerms};

/// The rows of the traces that a [scan](super::scan) of the plan has found: those to train on, those
/// that validate, and how often each term was counted in the former.
///
/// # Errors
/// The first file in the order of the plan that cannot be read, or has too many lines that do not go
/// with the term list.
pub fn read_traces(
    plan: &Plan,
    own: &OwnTerms,
    encoder: &TermsEncoder,
) -> Result<([Store; 2], Tally), LoadError> {
    let mut tally = Tally::new(own.list.len());
    let mut found: [EncodedTerms; 2] = Default::default();
    for (plan, trains) in [(Some(plan.clone()), true), (plan.validating(), false)] {
        let Some(plan) = plan else { continue };
        let read = |path| read(path, &plan, own, encoder);
        let files: Vec<Result<([Side; 2], Tally), LoadError>> =
            plan.files.par_iter().map(|path| read(path)).collect();
        for file in files {
            let ([train, validation], of_file) = file?;
            found[1] = take(&mut found[1]).join(validation.found);
            if trains {
                found[0] = take(&mut found[0]).join(train.found);
                tally.join(&of_file);
            }
        }
    }
    Ok((found.map(Store::new), tally))
}

/// Positions on their way to a store.
#[derive(Default)]
struct Side {
    open: Terms,
    labels: Vec<Label>,
    found: EncodedTerms,
}

impl Side {
    fn push(&mut self, traced: &Traced, own: &OwnTerms, encoder: &TermsEncoder) {
        push(traced, own, &mut self.open);
        self.labels.push(Label::of(&Packed::from(&traced.sample), PointOfView::White));
        if self.open.len() == TERMS_PIECE {
            self.close(encoder);
        }
    }

    fn close(&mut self, encoder: &TermsEncoder) {
        if !self.open.is_empty() {
            let (terms, labels) = (take(&mut self.open), take(&mut self.labels));
            self.found = take(&mut self.found).join(encoder.piece(terms, labels));
        }
    }
}

fn read(
    path: &Path,
    plan: &Plan,
    own: &OwnTerms,
    encoder: &TermsEncoder,
) -> Result<([Side; 2], Tally), LoadError> {
    let mut sides: [Side; 2] = Default::default();
    let mut tally = Tally::new(own.list.len());
    let mut left = plan.reading.limit.unwrap_or(u64::MAX);
    trace::read(path, own, plan.bad_records, |traced| {
        let unscored = plan.reading.scores && traced.sample.score.is_none();
        if left == 0 || unscored || plan.reading.filter.rejects(&traced.sample).is_some() {
            return;
        }
        left -= 1;
        match plan.subset(&traced.sample) {
            Subset::Train => {
                for Entry { term, white, black } in &traced.entries {
                    let times = u64::from(white.unsigned_abs()) + u64::from(black.unsigned_abs());
                    tally.times[usize::from(*term)] += times;
                }
                tally.middlegame += own.shares(traced.phase, traced.scale)[0];
                tally.positions += 1;
                sides[0].push(traced, own, encoder);
            }
            Subset::Validation => sides[1].push(traced, own, encoder),
            Subset::Test | Subset::Unused => {}
        }
    })?;
    sides.iter_mut().for_each(|side| side.close(encoder));
    Ok((sides, tally))
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
    terms.turn.push(traced.sample.position.turn().fold_wb(1, -1));
}

/// Pairs of small counts that add up to this one, none of them zero for both.
fn parts(mut left: [i32; 2]) -> impl Iterator<Item = [i8; 2]> {
    std::iter::from_fn(move || {
        let part = left.map(|count| count.clamp(-127, 127) as i8);
        left = [left[0] - i32::from(part[0]), left[1] - i32::from(part[1])];
        (part != [0, 0]).then_some(part)
    })
}
