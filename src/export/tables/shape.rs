//! Which terms make one array together, from their names alone.
//!
//! The words of a name are the steps of a path. Terms that follow each other, share the beginning
//! of the path and form a full grid beyond it become one array; all others stay single.

use std::collections::HashSet;
use std::ops::Range;

use crate::terms::{Kind, TermList};

/// One dimension of an [`Array`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// a1 = 0 to h8 = 63.
    Squares,
    /// `first`, `first + 1`, ...
    Numbers { first: u32, len: usize },
    /// Words, in the order of the list.
    Labels(Vec<String>),
}

/// Terms that make one array, or, without axes, a single term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// What the names of its terms have in common, such as `psqt`; of a single term, its name.
    pub name: String,
    /// The same for all its terms.
    pub kind: Kind,
    pub axes: Vec<Axis>,
    /// The numbers of its terms, last axis fastest.
    pub terms: Vec<usize>,
}

/// Why a list has no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("term {term} is named {name:?}, which has an empty word; put a word between dots")]
    Empty { term: usize, name: String },
    #[error("terms {first} and {second} are both named {name:?}; rename one")]
    Twice { first: usize, second: usize, name: String },
}

/// The fewest words in a row that look like the letters of files.
const FILES: usize = 4;

const ROLES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

impl Axis {
    pub fn len(&self) -> usize {
        match self {
            Axis::Squares => 64,
            Axis::Numbers { len, .. } => *len,
            Axis::Labels(labels) => labels.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The word of a place on the axis, `place < self.len()`.
    pub fn label(&self, place: usize) -> String {
        match self {
            Axis::Squares => square_name(place),
            Axis::Numbers { first, .. } => (u64::from(*first) + place as u64).to_string(),
            Axis::Labels(labels) => labels[place].clone(),
        }
    }

    /// The axis that words make, and the place of each word on it. Squares and numbers may come in
    /// any order as long as none is missing.
    fn of(labels: &[&str]) -> (Axis, Vec<usize>) {
        let squares: Option<Vec<usize>> = labels.iter().map(|label| square(label)).collect();
        if let Some(squares) = squares.filter(|_| labels.len() == 64) {
            return (Axis::Squares, squares);
        }
        let numbers: Option<Vec<u32>> = labels.iter().map(|label| number(label)).collect();
        if let Some(numbers) = numbers {
            let first = numbers.iter().copied().min().unwrap_or(0);
            let places: Vec<usize> = numbers.iter().map(|n| (n - first) as usize).collect();
            if places.iter().all(|place| *place < labels.len()) {
                return (Axis::Numbers { first, len: labels.len() }, places);
            }
        }
        let axis = Axis::Labels(labels.iter().map(|label| label.to_string()).collect());
        (axis, (0..labels.len()).collect())
    }

    /// Whether the words alone say that they belong together: squares, even where some are missing,
    /// numbers, roles, and the letters of files. Others, such as `isolated` and
    /// `doubled`, only make an axis where a grid beyond them repeats.
    fn natural(&self) -> bool {
        match self {
            Axis::Squares | Axis::Numbers { .. } => true,
            Axis::Labels(labels) => {
                let files = ('a'..='h').zip(labels).all(|(file, label)| *label == file.to_string());
                labels.iter().all(|label| ROLES.contains(&&label[..]))
                    || labels.iter().all(|label| square(label).is_some())
                    || (files && (FILES..=8).contains(&labels.len()))
            }
        }
    }
}

impl Array {
    /// Whether its last axis is a board.
    pub fn is_board(&self) -> bool {
        self.axes.last() == Some(&Axis::Squares)
    }

    /// Splits off the last `inner` axes: the words that lead to each block, and its terms.
    pub fn blocks(&self, inner: usize) -> Vec<(String, &[usize])> {
        let outer = &self.axes[..self.axes.len().saturating_sub(inner)];
        let count: usize = outer.iter().map(Axis::len).product();
        let blocks = self.terms.chunks(self.terms.len() / count);
        let named = blocks.enumerate().map(|(mut block, terms)| {
            let mut words = Vec::new();
            for axis in outer.iter().rev() {
                words.push(axis.label(block % axis.len()));
                block /= axis.len();
            }
            words.push(self.name.clone());
            words.reverse();
            (words.join("."), terms)
        });
        named.collect()
    }
}

/// The arrays of a list, in its order.
///
/// # Errors
/// A name with an empty word, or two terms of one name.
pub fn arrays(list: &TermList) -> Result<Vec<Array>, ShapeError> {
    let mut seen = HashSet::new();
    for (term, entry) in list.terms.iter().enumerate() {
        if entry.name.split('.').any(str::is_empty) {
            return Err(ShapeError::Empty { term, name: entry.name.clone() });
        }
        if !seen.insert(&entry.name) {
            let first = list.terms.iter().position(|other| other.name == entry.name);
            let first = first.expect("the name was seen before");
            return Err(ShapeError::Twice { first, second: term, name: entry.name.clone() });
        }
    }
    let paths = list.terms.iter().map(|entry| entry.name.split('.').collect()).collect();
    let mut shaper = Shaper { list, paths, arrays: Vec::new() };
    // The first word is a name, never a place on an axis.
    for run in shaper.runs(0..list.len(), 0) {
        shaper.split(run, 1);
    }
    Ok(shaper.arrays)
}

struct Shaper<'a> {
    list: &'a TermList,
    paths: Vec<Vec<&'a str>>,
    arrays: Vec<Array>,
}

/// A full grid of terms.
struct Grid {
    kind: Kind,
    axes: Vec<Axis>,
    terms: Vec<usize>,
}

impl Shaper<'_> {
    /// The terms that follow each other with the same word at `depth`; each that has none there is
    /// alone.
    fn runs(&self, terms: Range<usize>, depth: usize) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for term in terms {
            let word = self.paths[term].get(depth);
            match runs.last_mut() {
                Some(run) if word.is_some() && self.paths[run.start].get(depth) == word => {
                    run.end = term + 1;
                }
                _ => runs.push(term..term + 1),
            }
        }
        runs
    }

    /// Makes arrays of terms that share the words before `depth`.
    fn split(&mut self, terms: Range<usize>, depth: usize) {
        if let Some(grid) = self.grid(terms.clone(), depth) {
            // Axes with a single place in front belong to the name.
            let single = grid.axes.iter().take_while(|axis| axis.len() == 1).count();
            let axes = grid.axes[single..].to_vec();
            let wide = axes.iter().filter(|axis| axis.len() > 1).count();
            if wide != 1 || axes.iter().any(|axis| axis.len() > 1 && axis.natural()) {
                let name = self.paths[terms.start][..depth + single].join(".");
                let Grid { kind, terms, .. } = grid;
                self.arrays.push(Array { name, kind, axes, terms });
                return;
            }
        }
        for run in self.runs(terms, depth) {
            // A term that ends here next to longer ones is a grid without axes.
            let depth = if self.paths[run.start].len() == depth { depth } else { depth + 1 };
            self.split(run, depth);
        }
    }

    /// The grid that terms form beyond `depth`, if they do.
    fn grid(&self, terms: Range<usize>, depth: usize) -> Option<Grid> {
        let first = terms.start;
        if terms.len() == 1 && self.paths[first].len() == depth {
            let kind = self.list.terms[first].kind;
            return Some(Grid { kind, axes: Vec::new(), terms: vec![first] });
        }
        let runs = self.runs(terms, depth);
        let mut words = Vec::with_capacity(runs.len());
        for run in &runs {
            words.push(*self.paths[run.start].get(depth)?);
        }
        let grids: Option<Vec<Grid>> =
            runs.into_iter().map(|run| self.grid(run, depth + 1)).collect();
        let grids = grids?;
        let same = |grid: &Grid| grid.kind == grids[0].kind && grid.axes == grids[0].axes;
        let distinct = words.iter().collect::<HashSet<_>>().len() == words.len();
        if !distinct || !grids.iter().all(same) {
            return None;
        }
        let (axis, places) = Axis::of(&words);
        let mut order: Vec<usize> = (0..grids.len()).collect();
        order.sort_by_key(|run| places[*run]);
        let mut axes = vec![axis];
        axes.extend(grids[0].axes.iter().cloned());
        let terms = order.into_iter().flat_map(|run| grids[run].terms.iter().copied()).collect();
        Some(Grid { kind: grids[0].kind, axes, terms })
    }
}

/// The number of a square, a1 = 0 to h8 = 63.
fn square(name: &str) -> Option<usize> {
    match *name.as_bytes() {
        [file @ b'a'..=b'h', rank @ b'1'..=b'8'] => {
            Some(8 * usize::from(rank - b'1') + usize::from(file - b'a'))
        }
        _ => None,
    }
}

fn square_name(square: usize) -> String {
    let file = char::from(b'a' + (square % 8) as u8);
    format!("{file}{}", square / 8 + 1)
}

/// A number as programs write it: `7`, but neither `07` nor `+7`, which would not come back.
fn number(word: &str) -> Option<u32> {
    word.parse().ok().filter(|number: &u32| number.to_string() == word)
}
