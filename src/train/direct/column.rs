//! Which positions a weight enters.

use std::ops::Range;

use super::problem::{Problem, ProblemError};
use crate::batch::{Rows, Terms};

/// A weight, by the positions that it enters and how often.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// With the phase: 0 for the middlegame, 1 for the endgame.
    Normal(usize, Entries<'a, i16>),
    /// Likewise.
    Safety(usize, Entries<'a, [i16; 2]>),
    Complexity(Entries<'a, i16>),
    Tempo,
}

/// Positions in rising order, none twice, and a count for each.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a, C> {
    pub positions: &'a [u32],
    pub counts: &'a [C],
}

/// The entries of one kind of terms, term by term: an inverted index of [`Rows`].
#[derive(Clone, Debug, Default)]
struct Columns<C> {
    /// The entries of each term, in the order of positions, none twice.
    ranges: Vec<Range<usize>>,
    positions: Vec<u32>,
    counts: Vec<C>,
}

/// A count, or one for each side, that can be added up.
trait Count: Copy + Default {
    /// What stands in [`Rows`].
    type Part: Copy + 'static;

    /// The sum, or `None` if it does not fit.
    fn plus(self, part: Self::Part) -> Option<Self>;
}

impl Count for i16 {
    type Part = i8;

    fn plus(self, part: i8) -> Option<Self> {
        self.checked_add(part.into())
    }
}

impl Count for [i16; 2] {
    type Part = [i8; 2];

    fn plus(self, part: [i8; 2]) -> Option<Self> {
        Some([self[0].checked_add(part[0].into())?, self[1].checked_add(part[1].into())?])
    }
}

impl<C: Count> Columns<C> {
    /// The columns of one kind of rows, empty for terms that are not `wanted`.
    ///
    /// # Errors
    /// A term that occurs so often in one position that its count does not fit.
    fn of<'a>(
        problem: &Problem<'a>,
        wanted: impl Fn(usize) -> bool,
        rows: impl Fn(&'a Terms) -> &'a Rows<C::Part>,
    ) -> Result<Self, ProblemError> {
        let mut sizes = vec![0; problem.terms()];
        for chunk in problem.chunks() {
            let rows = rows(problem.piece(chunk));
            let entries = chunk.rows.clone().flat_map(|row| rows.row(row));
            for (term, _) in entries.filter(|(term, _)| wanted(*term)) {
                sizes[term] += 1;
            }
        }
        let mut behind = 0;
        let empty = |size: &usize| {
            behind += size;
            behind - size..behind - size
        };
        let mut ranges: Vec<_> = sizes.iter().map(empty).collect();
        let (mut positions, mut counts) = (vec![0; behind], vec![C::default(); behind]);
        for chunk in problem.chunks() {
            let rows = rows(problem.piece(chunk));
            for (position, row) in (chunk.first..).zip(chunk.rows.clone()) {
                for (term, count) in rows.row(row).filter(|(term, _)| wanted(*term)) {
                    let range = &mut ranges[term];
                    let again =
                        range.end > range.start && positions[range.end - 1] == position as u32;
                    let place = if again { range.end - 1 } else { range.end };
                    counts[place] = C::plus(counts[place], count)
                        .ok_or(ProblemError::Count { term, position })?;
                    positions[place] = position as u32;
                    range.end = place + 1;
                }
            }
        }
        Ok(Self { ranges, positions, counts })
    }

    /// Where a term occurs, `None` if it does nowhere.
    fn term(&self, term: usize) -> Option<Entries<'_, C>> {
        let range = self.ranges.get(term)?.clone();
        let positions = &self.positions[range.clone()];
        (!range.is_empty()).then(|| Entries { positions, counts: &self.counts[range] })
    }
}

/// The columns of all kinds.
#[derive(Clone, Debug)]
pub struct Index {
    normal: Columns<i16>,
    safety: Columns<[i16; 2]>,
    complexity: Columns<i16>,
    terms: usize,
}

impl Index {
    /// The columns of the terms that are `wanted`; 6 bytes an entry, 8 for SAFETY terms.
    ///
    /// # Errors
    /// More positions than 32 bits can number; a term that occurs so often in one position that
    /// its count does not fit.
    pub fn new(problem: &Problem, wanted: impl Fn(usize) -> bool) -> Result<Self, ProblemError> {
        if u32::try_from(problem.len()).is_err() {
            return Err(ProblemError::Many(problem.len()));
        }
        Ok(Self {
            normal: Columns::of(problem, &wanted, |terms| &terms.normal)?,
            safety: Columns::of(problem, &wanted, |terms| &terms.safety)?,
            complexity: Columns::of(problem, &wanted, |terms| &terms.complexity)?,
            terms: problem.terms(),
        })
    }

    /// The positions that a weight enters, `None` if it enters none. The middlegame weight of a
    /// COMPLEXITY term never does.
    pub fn weight(&self, number: usize) -> Option<Column<'_>> {
        let (term, phase) = (number / 2, number % 2);
        if term == self.terms {
            return Some(Column::Tempo);
        }
        let normal = self.normal.term(term).map(|entries| Column::Normal(phase, entries));
        let safety = || self.safety.term(term).map(|entries| Column::Safety(phase, entries));
        let complexity = || {
            let entries = self.complexity.term(term).filter(|_| phase == 1);
            entries.map(Column::Complexity)
        };
        normal.or_else(safety).or_else(complexity)
    }
}
