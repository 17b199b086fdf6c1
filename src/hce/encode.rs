//! Encoding of positions to the sparse counts on which handcrafted terms are trained.

use super::evaluate::{Parts, TermBoard, evaluate_board};
use super::terms::{COMPLEXITY, SAFETY, TERMS, used_parts};
use super::{Phase, Trace};
use crate::batch::{FrozenSums, TermBatch, TermRows};
use crate::sample::Position;
use crate::terms::TermSelection;

#[derive(Clone, Debug)]
pub struct Coding {
    wanted: Vec<bool>,
    parts: Parts,
    scale_factor: bool,
}

impl Coding {
    /// Creates an encoder of the model's terms. A scale factor is part of the endgame's share.
    pub fn new(wanted: &[bool], scale_factor: bool) -> Self {
        let wanted: Vec<bool> =
            (0..TERMS).map(|term| wanted.get(term).copied().unwrap_or(false)).collect();
        let parts = used_parts(|term| wanted[term]);
        Self { wanted, parts, scale_factor }
    }

    /// Appends a position to a batch, its terms in rising order. Counts beyond a byte are split.
    pub fn encode_position(&self, position: &Position, trace: &mut Trace, batch: &mut TermBatch) {
        let board = TermBoard::from_position(position);
        trace.clear();
        trace.parts = self.parts;
        evaluate_board(&board, trace);
        let rows = batch.len();
        let TermBatch { normal, safety, complexity, .. } = batch;
        trace.drain_counts(|term, [white, black]| {
            if !self.wanted[term] {
                return;
            }
            let [white, black] = [i32::from(white), i32::from(black)];
            if term < SAFETY {
                split_counts([white - black], |[count]| add(normal, term, count));
            } else if term < COMPLEXITY {
                split_counts([white, black], |counts| add(safety, term, counts));
            } else {
                split_counts([white], |[count]| add(complexity, term, count));
            }
        });
        // The entries exist, so only the ends of the rows are added.
        normal.push(rows, std::iter::empty());
        safety.push(rows, std::iter::empty());
        complexity.push(rows, std::iter::empty());
        let phase = Phase::from_board(&board, self.scale_factor);
        let [middlegame, endgame] = phase.phase_shares();
        batch.middlegame.push(middlegame as f32);
        batch.endgame.push(endgame as f32);
        batch.turn.push(position.turn().fold_wb(1, -1));
    }
}

fn add<C>(rows: &mut TermRows<C>, term: usize, count: C) {
    rows.term.push(term as u16);
    rows.count.push(count);
}

/// Splits counts into bytes that add up to them. Makes no bytes if all counts are zero.
#[inline]
fn split_counts<const N: usize>(mut counts: [i32; N], mut each: impl FnMut([i8; N])) {
    while counts != [0; N] {
        // Nearly all counts fit.
        if counts.iter().all(|count| i8::try_from(*count).is_ok()) {
            return each(counts.map(|count| count as i8));
        }
        let bytes = counts.map(|count| count.clamp(-128, 127));
        counts = std::array::from_fn(|i| counts[i] - bytes[i]);
        each(bytes.map(|count| count as i8));
    }
}

/// Converts the entries of terms that are not chosen into sums, and adds them to the frozen sums.
pub fn freeze_terms(terms: TermBatch, chosen: &TermSelection, weights: &[[f64; 2]]) -> TermBatch {
    let rows = terms.len();
    let has_unchosen =
        |entries: &[u16]| entries.iter().any(|term| !chosen.terms[usize::from(*term)]);
    let [normal, safety, complexity] =
        [&terms.normal.term, &terms.safety.term, &terms.complexity.term].map(|it| has_unchosen(it));
    let mut frozen_sums = FrozenSums::default();
    let mut masked = weights.to_vec();
    for (weight, chosen) in masked.iter_mut().zip(&chosen.terms) {
        if *chosen {
            *weight = [0.0; 2];
        }
    }
    for row in 0..rows {
        let sums = terms.sum_row(row, &masked);
        if normal || !terms.frozen.normal.is_empty() {
            frozen_sums.normal.push(sums.normal.map(|sum| sum as f32));
        }
        if safety || !terms.frozen.safety.is_empty() {
            let [white, black] = sums.safety;
            frozen_sums.safety.push([white[0], white[1], black[0], black[1]].map(|sum| sum as f32));
        }
        if complexity || !terms.frozen.complexity.is_empty() {
            frozen_sums.complexity.push(sums.complexity as f32);
        }
    }
    TermBatch {
        normal: choose_entries(terms.normal, rows, chosen),
        safety: choose_entries(terms.safety, rows, chosen),
        complexity: choose_entries(terms.complexity, rows, chosen),
        frozen: frozen_sums,
        columns: Vec::new(),
        ..terms
    }
}

fn choose_entries<C: Copy + Default>(
    entries: TermRows<C>,
    rows: usize,
    chosen: &TermSelection,
) -> TermRows<C> {
    let mut chosen_entries = TermRows::default();
    for row in 0..rows {
        let entries = entries.entries_of_row(row).filter(|(term, _)| chosen.terms[*term]);
        chosen_entries.push(row, entries.map(|(term, count)| (term as u16, count)));
    }
    chosen_entries
}
