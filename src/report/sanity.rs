//! Whether tuned terms are sane: what pieces are worth in all, odd orders, turned signs.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::before_after::{TermResult, signed, tenths};
use super::{Align, Table, wrap};
use crate::terms::Kind;

/// What tuning did to the terms as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sanity {
    /// What a reader should look at, the worst first; each a sentence.
    pub marks: Vec<String>,
    /// Effective values, pawn to queen; empty where the terms have no material.
    pub pieces: Vec<Piece>,
    /// Middlegame's share of the mean, over the positions.
    pub middlegame: f64,
    /// How many directions the data determine.
    pub rank: Option<Rank>,
}

/// What an average piece of a role brings: its material, and what the tables and other terms of
/// the role add on the squares and occasions that occur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    pub role: String,
    /// Middlegame and endgame, in centipawns.
    pub start: [f64; 2],
    pub tuned: [f64; 2],
}

/// What the data say of the weights that moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// Weights that moved, a middlegame and an endgame weight counted as two.
    pub weights: u64,
    /// Directions that the data determine rather than the prior; none without a prior.
    pub determined: Option<f64>,
    /// Groups of terms that nothing can tell apart: their names, and how many directions of them
    /// show in no position.
    pub collinear: Vec<(Vec<String>, u64)>,
}

/// A term with how often it was counted, for both sides together.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    pub result: &'a TermResult,
    pub times: f64,
}

const ROLES: [&str; 5] = ["pawn", "knight", "bishop", "rook", "queen"];

/// Who should be worth less than whom.
const ORDER: [[usize; 2]; 6] = [[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [0, 3]];

const PHASES: [&str; 2] = ["middlegame", "endgame"];

/// An endgame value outside this range of middlegame values is odd; engines' lie between 0.9 and
/// 1.7.
const RATIO: [f64; 2] = [0.5, 2.5];

/// Signs turn where the tuned weight is so many standard errors from zero. More than two, since
/// these take the positions of a game as independent.
const ERRORS: f64 = 3.0;

/// Turned signs that are named.
const NAMED: usize = 6;

/// Siblings whose names end in a number, a letter or a square are a table from here on.
const TABLE: usize = 3;

/// Names of a group that make a short list.
const LIST: usize = 6;

/// Groups of collinear terms that are named.
const GROUPS: usize = 8;

impl Sanity {
    /// Judges terms. `middlegame` is the mean share of the middlegame in their positions.
    pub fn of(terms: &[Counted], middlegame: f64, rank: Option<Rank>) -> Self {
        let pieces = pieces(terms);
        let mut marks = orders(&pieces);
        marks.extend(ratios(&pieces));
        marks.extend(signs(terms));
        Self { marks, pieces, middlegame, rank }
    }

    /// A short block, the marks first.
    pub fn text(&self) -> String {
        let mut text = String::from("What the tuning did\n");
        for mark in &self.marks {
            wrap(&format!("! {mark}"), &mut text);
        }
        match (self.marks.is_empty(), self.pieces.is_empty()) {
            (true, false) => {
                text += "The values of pieces are in order, and no sign has turned.\n";
            }
            (true, true) => text += "No sign has turned.\n",
            (false, _) => wrap(CURE, &mut text),
        }
        if !self.pieces.is_empty() {
            wrap(
                "Effective values: material, and what tables and other terms of a piece add on \
                 average where it stands.",
                &mut text,
            );
            text += &self.table();
        }
        if let Some(rank) = &self.rank {
            rank.say(&mut text);
        }
        text
    }

    fn table(&self) -> String {
        use Align::{Left, Right};
        let mean =
            |value: [f64; 2]| self.middlegame * value[0] + (1.0 - self.middlegame) * value[1];
        let mut table = Table::new(&[
            ("piece", Left),
            ("mg", Right),
            ("eg", Right),
            ("mean", Right),
            ("change", Right),
            ("in pawns", Right),
        ]);
        let pawn = self.pieces.iter().find(|piece| piece.role == ROLES[0]);
        let pawn = pawn.map_or(f64::NAN, |pawn| mean(pawn.tuned));
        for piece in &self.pieces {
            let Piece { role, start, tuned } = piece;
            let pawns = mean(*tuned) / pawn;
            table.row([
                role.clone(),
                tenths(tuned[0]),
                tenths(tuned[1]),
                tenths(mean(*tuned)),
                signed(mean(*tuned) - mean(*start)),
                if pawns.is_finite() { format!("{pawns:.2}") } else { String::new() },
            ]);
        }
        table.to_string()
    }
}

const CURE: &str = "Weights can predict results well and still play badly: hold what is odd \
                    (model.tune), lower optimizer.prior, mix scores in (target.wdl below 1), or \
                    tune on games of your own engine.";

impl Rank {
    fn say(&self, text: &mut String) {
        let weights = self.weights;
        match self.determined {
            Some(determined) => wrap(
                &format!(
                    "Of {weights} weights that move the data determine about {determined:.0} \
                     directions; the prior holds the rest near the start."
                ),
                text,
            ),
            None => wrap(&format!("{weights} weights move."), text),
        }
        let missing: u64 = self.collinear.iter().map(|(_, missing)| missing).sum();
        if missing == 0 {
            return;
        }
        wrap(
            &format!(
                "{missing} directions show in no position: within these groups a term can give to \
                 the others what it has, and only their sums mean anything (`nnuance export \
                 --centre` moves the means of tables into material):"
            ),
            text,
        );
        for (names, missing) in self.collinear.iter().take(GROUPS) {
            wrap(&format!("  {} ({missing})", names.join(", ")), text);
        }
        if self.collinear.len() > GROUPS {
            *text += &format!("  and {} more\n", self.collinear.len() - GROUPS);
        }
    }
}

/// The role that a term belongs to: one of the first two words of its name is the role, or the
/// first is its plural. Threats are those of the other side, dangers those of the king.
pub fn role(name: &str) -> Option<usize> {
    let mut words = name.split('.');
    let (first, second) = (words.next()?, words.next());
    if matches!(first, "threats" | "king" | "space") {
        return None;
    }
    ROLES.into_iter().position(|role| {
        first == role || second == Some(role) || first.strip_suffix('s') == Some(role)
    })
}

/// What the terms of each role add up to, for each piece that there was.
fn pieces(terms: &[Counted]) -> Vec<Piece> {
    let normal = || terms.iter().filter(|term| term.result.kind == Kind::Normal);
    let piece = |(number, role): (usize, &str)| {
        let name = format!("material.{role}");
        let material = normal().find(|term| term.result.name == name)?;
        if material.times <= 0.0 {
            return None;
        }
        let mut piece = Piece { role: role.to_string(), start: [0.0; 2], tuned: [0.0; 2] };
        for Counted { result, times } in
            normal().filter(|term| self::role(&term.result.name) == Some(number))
        {
            for phase in 0..2 {
                piece.start[phase] += result.start[phase] * times / material.times;
                piece.tuned[phase] += result.tuned[phase] * times / material.times;
            }
        }
        Some(piece)
    };
    ROLES.into_iter().enumerate().filter_map(piece).collect()
}

/// Pieces that are worth nothing, or as much as larger ones.
fn orders(pieces: &[Piece]) -> Vec<String> {
    let mut marks = Vec::new();
    let find = |role: usize| pieces.iter().find(|piece| piece.role == ROLES[role]);
    for (phase, name) in PHASES.into_iter().enumerate() {
        for piece in pieces.iter().filter(|piece| piece.tuned[phase] <= 0.0) {
            marks.push(format!(
                "a {} is worth {} in the {name}",
                piece.role,
                tenths(piece.tuned[phase])
            ));
        }
        for [small, large] in ORDER {
            let (Some(small), Some(large)) = (find(small), find(large)) else { continue };
            if small.tuned[phase] >= large.tuned[phase] {
                marks.push(format!(
                    "in the {name} a {} ({}) is worth as much as a {} ({})",
                    small.role,
                    tenths(small.tuned[phase]),
                    large.role,
                    tenths(large.tuned[phase])
                ));
            }
        }
    }
    marks
}

/// Pieces whose worth in the two phases is far apart.
fn ratios(pieces: &[Piece]) -> Vec<String> {
    let [low, high] = RATIO;
    let odd = pieces.iter().filter(|piece| {
        let [mg, eg] = piece.tuned;
        mg > 0.0 && eg > 0.0 && !(low..=high).contains(&(eg / mg))
    });
    odd.map(|Piece { role, tuned: [mg, eg], .. }| {
        format!(
            "a {role} is worth {} in the middlegame and {} in the endgame, {:.1} times as much; \
             engines' values differ by less than {high} times",
            tenths(*mg),
            tenths(*eg),
            eg / mg
        )
    })
    .collect()
}

/// Weights that went across zero and are sure to be there. Tables are left out: what all their
/// weights have in common is shared with material.
fn signs(terms: &[Counted]) -> Vec<String> {
    let tables = tables(terms);
    let mut turned: Vec<(f64, String)> = Vec::new();
    for Counted { result, .. } in terms {
        if tables.contains(parent(&result.name)) && is_place(&result.name) {
            continue;
        }
        let Some(errors) = result.error else { continue };
        for phase in 0..2 {
            let (start, tuned, error) = (result.start[phase], result.tuned[phase], errors[phase]);
            let sure = tuned.abs() / error;
            if start * tuned < 0.0 && error > 0.0 && sure >= ERRORS {
                let what = match (result.kind, tuned > 0.0) {
                    (Kind::Normal, true) => "a penalty became a bonus",
                    (Kind::Normal, false) => "a bonus became a penalty",
                    _ => "its sign has turned",
                };
                let name = &result.name;
                let [start, tuned] = [start, tuned].map(signed);
                turned.push((
                    sure,
                    format!(
                        "{name}, {}: {what}, {start} to {tuned}, {sure:.0} standard errors from \
                         zero",
                        PHASES[phase]
                    ),
                ));
            }
        }
    }
    turned.sort_by(|one, other| other.0.total_cmp(&one.0));
    let more = turned.len().saturating_sub(NAMED);
    let mut marks: Vec<String> = turned.into_iter().take(NAMED).map(|(_, mark)| mark).collect();
    if more > 0 {
        marks.push(format!("{more} more signs have turned; see terms.csv"));
    }
    marks
}

fn parent(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// Whether the last word of a name is a place in a table: a number, a letter, a square.
fn is_place(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.len() <= 2
}

/// The names above the places of tables.
fn tables<'a>(terms: &[Counted<'a>]) -> HashSet<&'a str> {
    let mut counts = std::collections::HashMap::new();
    for term in terms.iter().filter(|term| is_place(&term.result.name)) {
        *counts.entry(parent(&term.result.name)).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count >= TABLE).map(|(name, _)| name).collect()
}

/// Names in fewer words: those that begin alike become `beginning.*`, with as long beginnings as
/// make a short list.
pub fn gathered(names: &[String]) -> Vec<String> {
    let begins = |name: &str, words: usize| match name.match_indices('.').nth(words - 1) {
        Some((end, _)) => name[..end].to_string(),
        None => name.to_string(),
    };
    let longest = names.iter().map(|name| name.split('.').count()).max().unwrap_or(1);
    let mut gathered = Vec::new();
    for words in (1..longest.max(2)).rev() {
        gathered.clear();
        for name in names {
            let begin = begins(name, words);
            let alike = names.iter().filter(|other| begins(other, words) == begin).count();
            let name = if alike > 1 { format!("{begin}.*") } else { name.clone() };
            if !gathered.contains(&name) {
                gathered.push(name);
            }
        }
        if gathered.len() <= LIST {
            break;
        }
    }
    gathered
}
