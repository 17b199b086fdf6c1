//! The loss in slices of the same positions: where one evaluation is better than another.
//!
//! The scales are those fitted to all positions. A slice with a scale of its own would hide what
//! is wrong in it: an evaluation that promises too much in endgames would be forgiven there.
//!
//! Slices by result are chosen by the outcome. An evaluation shrunken towards a draw looks good
//! among draws and bad elsewhere, whatever it is worth; so those slices describe, they do not
//! rank, and nothing in them is marked.
//!
//! Among many slices some intervals leave zero out by chance. A difference is marked where it
//! stands after the correction of S. Holm, "A simple sequentially rejective multiple test
//! procedure" (1979), over all differences that could have been marked.

use rayon::prelude::*;
use serde::Serialize;

use super::chance;
use super::estimate::{Estimate, FEW_GROUPS, Means};
use super::groups::Groups;
use super::text::{UNKNOWN, WIDTH, interval, loss, wrap};
use super::{Align, Table};
use crate::digits::grouped;

/// What is known of a position beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Attributes {
    /// Ethereal's: 1 a minor piece, 2 a rook, 4 a queen; 24 with all pieces, 0 with pawns only.
    pub phase: u8,
    /// Material of the side to move less that of the other, centipawns.
    pub balance: i32,
    /// Whether the side to move is in check.
    pub in_check: bool,
    /// The data's own, centipawns for the side to move.
    pub score: Option<i32>,
    /// The number of the file.
    pub source: u16,
}

/// What positions are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Phase,
    Balance,
    Score,
    Check,
    Source,
    Result,
}

impl By {
    pub const ALL: [By; 6] = [By::Phase, By::Balance, By::Score, By::Check, By::Source, By::Result];

    pub const fn name(self) -> &'static str {
        match self {
            By::Phase => "phase",
            By::Balance => "material balance",
            By::Score => "score of the data",
            By::Check => "check",
            By::Source => "file",
            By::Result => "result",
        }
    }

    /// Whether a difference in such a slice speaks for an evaluation.
    pub const fn ranks(self) -> bool {
        !matches!(self, By::Result)
    }

    fn names(self, sources: &[String]) -> Vec<String> {
        let names: &[&str] = match self {
            By::Phase => &["endgame, 0 to 8", "middlegame, 9 to 16", "opening, 17 to 24"],
            By::Balance => &["below 1 pawn", "1 to 3 pawns", "above 3 pawns"],
            By::Score => &["below 50 cp", "50 to 149 cp", "150 to 399 cp", "from 400 cp"],
            By::Check => &["not in check", "in check"],
            By::Source => return sources.to_vec(),
            By::Result => &["win", "draw", "loss"],
        };
        names.iter().map(|name| name.to_string()).collect()
    }

    /// The slice of a position. A result that is none of the three counts as the nearest.
    fn slice(self, facts: &Attributes, result: f64) -> usize {
        let band = |value: u32, starts: &[u32]| starts.iter().filter(|it| value >= **it).count();
        match self {
            By::Phase => band(facts.phase.into(), &[9, 17]),
            By::Balance => band(facts.balance.unsigned_abs(), &[100, 301]),
            By::Score => band(facts.score.unwrap_or(0).unsigned_abs(), &[50, 150, 400]),
            By::Check => usize::from(facts.in_check),
            By::Source => facts.source.into(),
            By::Result => 2 - (2.0 * result).round() as usize,
        }
    }
}

/// Every way to cut the positions, each into slices without overlap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slices {
    pub cuts: Vec<Cut>,
    /// What the groups are.
    pub noun: String,
    /// How many differences the marks are corrected for.
    pub comparisons: usize,
    pub sentences: Vec<String>,
}

/// The positions, cut by one fact.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cut {
    pub by: By,
    pub title: String,
    /// False where the slices describe only.
    pub ranks: bool,
    pub slices: Vec<Slice>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slice {
    pub name: String,
    pub positions: usize,
    pub groups: usize,
    /// Too few groups for intervals to be trusted; nothing is marked.
    pub few: bool,
    /// In the order of the evaluations given; empty without positions.
    pub evaluations: Vec<SliceLoss>,
}

/// One evaluation in one slice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceLoss {
    pub name: String,
    pub loss: Estimate,
    /// What it is compared with.
    pub other: Option<String>,
    /// Its loss minus that of the other: negative where it is better.
    pub difference: Option<Estimate>,
    /// How often chance alone would give as large a difference, before the correction; none where
    /// nothing may be marked.
    pub p: Option<f64>,
    /// The difference stands after the correction for many comparisons.
    pub marked: bool,
}

/// What slices are made of.
pub(super) struct Input<'a> {
    pub names: &'a [String],
    /// Squared errors of each evaluation, one a position.
    pub losses: &'a [Vec<f64>],
    pub results: &'a [f64],
    pub facts: &'a [Attributes],
    pub sources: &'a [String],
    pub groups: &'a Groups,
    pub noun: &'a str,
    /// What each evaluation is compared with.
    pub others: &'a [Option<usize>],
}

impl Slices {
    pub(super) fn of(input: &Input) -> Self {
        let scored = input.facts.iter().all(|facts| facts.score.is_some());
        let shown = By::ALL.into_iter().filter(|by| *by != By::Score || scored);
        let mut cuts: Vec<Cut> = shown.map(|by| Cut::of(by, input)).collect();
        let comparisons = mark(&mut cuts, input.others);
        let mut slices =
            Self { cuts, noun: input.noun.to_string(), comparisons, sentences: Vec::new() };
        slices.sentences = slices.conclude(input, scored);
        slices
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for cut in self.cuts.iter().filter(|cut| cut.divides()) {
            text.push_str(&format!("{}\n", cut.table()));
        }
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        text
    }

    fn conclude(&self, input: &Input, scored: bool) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.comparisons > 0 || input.others.iter().any(Option::is_some) {
            sentences.push(format!("Difference: the loss minus that {}.", versus(input)));
            sentences.push(match input.groups.are_known() {
                false => format!("{} Nothing is marked.", UNKNOWN.replace('\n', " ")),
                true => format!(
                "* marks what stands among {} differences (Holm, 5 % for all together); without a \
                 mark, an interval that leaves zero out may be chance.",
                self.comparisons
            )});
        }
        sentences.push(
            "The scales are those fitted to all positions: a slice with a scale of its own would \
             hide what is wrong in it."
                .to_string(),
        );
        sentences.push(
            "Slices by result are chosen by the outcome: an evaluation that never promises much \
             looks good among draws. They describe, they do not rank, and carry no marks."
                .to_string(),
        );
        if !scored {
            sentences.push("Not by score: not all positions have one.".to_string());
        }
        let all = || self.cuts.iter().flat_map(|cut| cut.slices.iter().map(move |it| (cut, it)));
        let named = |(cut, slice): (&Cut, &Slice)| format!("{} ({})", slice.name, cut.title);
        let list = |wanted: &dyn Fn(&Slice) -> bool| -> Vec<String> {
            all().filter(|(_, slice)| wanted(slice)).map(named).collect()
        };
        let empty = list(&|slice| slice.positions == 0);
        if !empty.is_empty() {
            sentences.push(format!("No positions: {}.", empty.join(", ")));
        }
        let few = list(&|slice| slice.few && slice.positions > 0);
        if !few.is_empty() {
            sentences.push(format!(
                "Fewer than {FEW_GROUPS} {}, too few for intervals to be trusted: {}.",
                self.noun,
                few.join(", ")
            ));
        }
        sentences
    }
}

impl Cut {
    fn of(by: By, input: &Input) -> Self {
        let names = by.names(input.sources);
        let mut records: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
        for (i, (facts, result)) in input.facts.iter().zip(input.results).enumerate() {
            records[by.slice(facts, *result)].push(i as u32);
        }
        let slices =
            names.into_par_iter().zip(records).map(|(name, on)| Slice::of(name, by, &on, input));
        Self { by, title: by.name().to_string(), ranks: by.ranks(), slices: slices.collect() }
    }

    /// Whether more than one slice has positions: else it says what the whole says.
    pub fn divides(&self) -> bool {
        self.slices.iter().filter(|slice| slice.positions > 0).count() > 1
    }

    /// One line an evaluation and slice.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&[
            (&self.title, Align::Left),
            ("positions", Align::Right),
            ("evaluation", Align::Left),
            ("loss", Align::Right),
            ("difference", Align::Right),
            ("95 % interval", Align::Right),
            ("", Align::Left),
        ])
        .width(WIDTH);
        for slice in &self.slices {
            let first = [slice.name.clone(), grouped(slice.positions as u64)];
            if slice.evaluations.is_empty() {
                table.row(first.clone());
            }
            for (i, one) in slice.evaluations.iter().enumerate() {
                let mut cells = if i == 0 { first.to_vec() } else { vec![String::new(); 2] };
                cells.extend([one.name.clone(), loss(one.loss.mean)]);
                cells.extend(one.difference.iter().flat_map(|it| [loss(it.mean), interval(it)]));
                cells.resize(6, String::new());
                cells.push(if one.marked { "*" } else { "" }.to_string());
                table.row(cells);
            }
        }
        table
    }
}

impl Slice {
    fn of(name: String, by: By, records: &[u32], input: &Input) -> Self {
        let groups = input.groups.of_records(records);
        let few = groups.len() < FEW_GROUPS;
        let mut slice = Self {
            name,
            positions: records.len(),
            groups: groups.len(),
            few,
            evaluations: Vec::new(),
        };
        if records.is_empty() {
            return slice;
        }
        let column = |losses: &Vec<f64>| groups.sums(records.iter().map(|i| losses[*i as usize]));
        let columns: Vec<Vec<f64>> = input.losses.iter().map(column).collect();
        let means = Means::new(&groups, &columns);
        slice.evaluations = (0..columns.len())
            .map(|i| {
                let difference = input.others[i].map(|other| means.difference(i, other));
                let ranked = difference.filter(|it| by.ranks() && it.can_tell());
                SliceLoss {
                    name: input.names[i].clone(),
                    loss: means.mean(i),
                    other: input.others[i].map(|other| input.names[other].clone()),
                    difference,
                    p: ranked.and_then(|difference| difference.p),
                    marked: false,
                }
            })
            .collect();
        slice
    }
}

/// What each evaluation is compared with: most of them with the same one.
fn versus(input: &Input) -> String {
    let others = || (0..input.names.len()).filter_map(|i| Some((i, input.others[i]?)));
    let shared = |other: usize| others().filter(|(_, it)| *it == other).count();
    let most = others().map(|(_, other)| other).max_by_key(|other| (shared(*other), !other));
    let exceptions = others().filter(|(_, other)| Some(*other) != most);
    let mut text = most.map_or(String::new(), |most| format!("of {}", input.names[most]));
    for (i, other) in exceptions {
        text.push_str(&format!(", for {} that of {}", input.names[i], input.names[other]));
    }
    text
}

/// Marks the differences that stand together; returns how many could have been marked. Two
/// evaluations compared with each other are one difference.
fn mark(cuts: &mut [Cut], others: &[Option<usize>]) -> usize {
    let mirrored = |i: usize| others[i].is_some_and(|other| other < i && others[other] == Some(i));
    let slices = || cuts.iter().flat_map(|cut| &cut.slices);
    let tests = |slice: &Slice| -> Vec<f64> {
        let each = slice.evaluations.iter().enumerate();
        each.filter(|(i, _)| !mirrored(*i)).filter_map(|(_, one)| one.p).collect()
    };
    let found: Vec<f64> = slices().flat_map(tests).collect();
    let limit = chance::holm(&found, 0.05);
    for slice in cuts.iter_mut().flat_map(|cut| &mut cut.slices) {
        for one in &mut slice.evaluations {
            one.marked = one.p.is_some_and(|p| limit.is_some_and(|limit| p <= limit));
        }
    }
    found.len()
}
