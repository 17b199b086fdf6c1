//! An inspection in words and aligned columns.

mod buckets;
mod head;
mod neurons;

use super::pieces::{BANDS, ROLES, Values};
use super::{Agreement, Explained, Inspection, Likeness, Pieces, Shares, TermExplained};
use crate::digits::grouped;
use crate::draw::board::whole;
use crate::report::{Align, Table, cut, wrap};

/// Neurons, and terms at either end, that are shown.
const SHOWN: usize = 10;

/// Characters of what a large weight weighs, so that the names of arrays stay whole.
const LARGEST: usize = 31;

const LEFT: Align = Align::Left;
const RIGHT: Align = Align::Right;

/// What is said of one thing.
pub(super) struct Part {
    pub title: &'static str,
    pub about: String,
    pub tables: Vec<Table>,
    /// What to beware of.
    pub notes: Vec<String>,
}

impl Inspection {
    /// The whole report, some 80 lines of 100 characters.
    pub fn text(&self) -> String {
        let mut out = format!("{}, {}\n", self.net, self.scales);
        for part in self.parts() {
            out.push('\n');
            wrap(&part.about, &mut out);
            let tables: Vec<String> = part.tables.iter().map(Table::to_string).collect();
            out.push_str(&tables.join("\n"));
            part.notes.iter().for_each(|note| wrap(note, &mut out));
        }
        out
    }

    /// Neurons, layers, weights, king buckets, pieces, output buckets, squares, terms: those that the
    /// net has.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mut parts = vec![self.neurons()];
        parts.extend(self.head.as_ref().map(|it| self.layers_behind(it)));
        parts.push(self.weights());
        parts.extend(self.king_buckets());
        parts.push(pieces(&self.pieces));
        parts.extend(self.output_buckets());
        let beside = self.pieces.hce.as_ref();
        parts.extend(beside.map(|it| agreement(&it.by_removal, &it.as_written)));
        parts.push(match &self.terms {
            Some(terms) => explained(terms),
            None => Part {
                title: "Terms",
                about: "Terms were left out, or too few positions are there to fit.".to_string(),
                tables: Vec::new(),
                notes: Vec::new(),
            },
        });
        parts
    }

    fn weights(&self) -> Part {
        let about = format!(
            "Weights, clip {}. {} of {} rows are of {} where none can stand: no position trains \
             them (mean magnitude {:.3}, others {:.3}); {} more rows were not seen here.",
            self.clip,
            grouped(self.rows.impossible as u64),
            grouped(self.rows.rows as u64),
            if self.architecture.inputs.kings.matter() { "pawns and kings" } else { "pawns" },
            self.rows.impossible_magnitude,
            self.rows.magnitude,
            grouped(self.rows.unseen as u64),
        );
        let mut table = Table::new(&[
            ("array", LEFT),
            ("weights", RIGHT),
            ("spread", RIGHT),
            ("low", RIGHT),
            ("high", RIGHT),
            ("at clip", RIGHT),
            ("near", RIGHT),
            ("largest", LEFT),
        ]);
        let net = &self.architecture;
        let plain = !net.has_layers() && net.buckets == 1 && net.inputs.kings.count() == 1;
        for layer in &self.layers {
            let largest = layer.largest.first().map_or(String::new(), |large| {
                let neuron = large.neuron.map_or(String::new(), |it| format!(", neuron {it}"));
                let whole = format!("{}{neuron}", large.what);
                if plain { whole } else { cut(&whole, LARGEST) }
            });
            table.row([
                layer.name.to_string(),
                grouped(layer.weights as u64),
                format!("{:.3}", layer.spread),
                format!("{:.2}", layer.low),
                format!("{:.2}", layer.high),
                grouped(layer.at_clip as u64),
                grouped(layer.near_clip as u64),
                largest,
            ]);
        }
        Part { title: "Weights", about, tables: vec![table], notes: Vec::new() }
    }
}

fn pieces(pieces: &Pieces) -> Part {
    let about = format!(
        "Worth of a piece: the evaluation with it less that without it, over {} positions; mean and, \
         behind +-, standard deviation in cp, then the mean with an endgame's pawn as 100.",
        grouped(pieces.positions)
    );
    let titles: Vec<String> = BANDS.iter().map(|band| format!("{}, cp", band.name)).collect();
    let mut columns = vec![("piece", LEFT)];
    columns.extend(titles.iter().map(|title| (&title[..], RIGHT)));
    columns.extend(["op", "mid", "end"].map(|title| (title, RIGHT)));
    if pieces.hce.is_some() {
        columns.extend(["HCE op", "mid", "end"].map(|title| (title, RIGHT)));
    }
    let mut table = Table::new(&columns);
    for (place, role) in ROLES.iter().enumerate() {
        let mut row = vec![role.to_string()];
        row.extend(pieces.values[place].iter().map(|value| match value {
            Some(value) => format!("{} +- {:<3.0}", whole(value.mean), value.spread),
            None => "-".to_string(),
        }));
        row.extend(of_pawn(&pieces.values, place));
        if let Some(beside) = &pieces.hce {
            row.extend(of_pawn(&beside.values, place));
        }
        table.row(row);
    }
    let note = "A piece that goes takes its protection and its threats along, and most such \
                positions are unlike those of the training: these are values in this evaluation, \
                not in the game.";
    Part { title: "Pieces", about, tables: vec![table], notes: vec![note.to_string()] }
}

fn of_pawn(values: &Values, place: usize) -> [String; 3] {
    values[place].map(|value| value.and_then(|value| value.of_pawn).map_or("-".to_string(), whole))
}

fn agreement(removal: &Agreement, written: &Agreement) -> Part {
    let factor = match removal.factor {
        Some(factor) => format!("1 cp of the HCE is {factor:.2} cp of the net"),
        None => "The positions are too few to tell what 1 cp of the HCE is".to_string(),
    };
    let mut all = written.roles.iter().flat_map(|role| &role.phases);
    let as_written = all.any(|likeness| likeness.correlation.is_some());
    let and_written = match as_written {
        true => " (and as written, where other terms hold a part of the worth)",
        false => "",
    };
    let about = format!(
        "Squares: tables fitted to the worths, beside the HCE's, found likewise{and_written}. \
         {factor}; a king's table is known but for a constant.",
    );
    let mut notes = Vec::new();
    if !as_written {
        notes.push(
            "The HCE's tables as written are not beside them: they are the same on every square, \
             as untuned ones are, or the positions are too few."
                .to_string(),
        );
    }
    let mut columns = vec![("piece", LEFT), ("correlation mg", RIGHT), ("eg", RIGHT)];
    if as_written {
        columns.extend([("written mg", RIGHT), ("eg", RIGHT)]);
    }
    columns.extend(
        ["mean mg, cp", "less HCE's", "mean eg, cp", "less HCE's"].map(|title| (title, RIGHT)),
    );
    let mut table = Table::new(&columns);
    for (role, written) in removal.roles.iter().zip(&written.roles) {
        let two = |of: fn(&Likeness) -> Option<f64>, phases: &[Likeness; 2]| {
            phases.each_ref().map(|it| of(it).map_or("-".to_string(), |it| format!("{it:.2}")))
        };
        let mut cells = vec![role.role.to_string()];
        cells.extend(two(|it| it.correlation, &role.phases));
        if as_written {
            cells.extend(two(|it| it.correlation, &written.phases));
        }
        let cp = |value: Option<f64>| value.map_or("-".to_string(), whole);
        let [of_mg, of_eg] = &role.phases;
        cells.extend([of_mg.mean, of_mg.difference, of_eg.mean, of_eg.difference].map(cp));
        table.row(cells);
    }
    Part { title: "Squares", about, tables: vec![table], notes }
}

fn explained(terms: &Explained) -> Part {
    let others = if terms.of_other_games { "of other games" } else { "others" };
    let about = format!(
        "Terms of a handcrafted evaluation: the share of their variance that a linear function of \
         the activations of {} neurons explains, and one of the pieces on their squares. Fitted on {} \
         positions, measured on {} {others}; 1 is all, 0 or less nothing. First the mean over \
         a group's terms one by one, then, in cp, what the HCE makes of all of them.",
        terms.neurons,
        grouped(terms.fitted_on),
        grouped(terms.measured_on),
    );
    let share = |value: f64| format!("{value:.2}");
    let columns = [("terms", LEFT), ("hidden", RIGHT), ("inputs", RIGHT)];
    let in_all = [("in cp", RIGHT), ("inputs", RIGHT)];
    let mut table = Table::new(&[&columns[..], &in_all, &columns, &in_all].concat());
    let whole = terms.whole.iter().map(|it| {
        let none = || "-".to_string();
        [it.name.clone(), none(), none(), share(it.hidden), share(it.linear)]
    });
    let groups = terms.groups.iter().map(|it| {
        let value = |of: fn(Shares) -> f64| it.value.map_or("-".to_string(), |it| share(of(it)));
        let [hidden, linear] = [value(|it| it.hidden), value(|it| it.linear)];
        [it.name.clone(), share(it.hidden), share(it.linear), hidden, linear]
    });
    let rows: Vec<[String; 5]> = whole.chain(groups).collect();
    let half = rows.len().div_ceil(2);
    for (place, row) in rows.iter().enumerate().take(half) {
        let beside = rows.get(place + half).cloned().unwrap_or_default();
        table.row(row.iter().cloned().chain(beside));
    }
    let groups = table;
    let mut sorted: Vec<_> = terms.terms.iter().collect();
    sorted.sort_by(|one, other| other.hidden.total_cmp(&one.hidden));
    let mut columns = [columns, columns].concat();
    (columns[0].0, columns[3].0) = ("best known", "least known");
    let mut ends = Table::new(&columns);
    for (best, worst) in sorted.iter().zip(sorted.iter().rev()).take(SHOWN) {
        let cells =
            [best, worst].map(|term| [term.name.clone(), share(term.hidden), share(term.linear)]);
        ends.row(cells.concat());
    }
    let mut notes = Vec::new();
    let gain = |term: &TermExplained| term.hidden - term.linear.max(0.0);
    sorted.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
    let gained: Vec<String> = sorted
        .iter()
        .take(SHOWN / 2)
        .filter(|term| gain(term) > 0.0)
        .map(|term| format!("{} {:+.2}", term.name, gain(term)))
        .collect();
    if !gained.is_empty() {
        notes.push(format!("Most beyond the inputs: {}.", gained.join(", ")));
    }
    notes.push(
        "What is explained can be read off the activations, which are fewer than the inputs; \
         whether the net's output makes use of it, this does not say."
            .to_string(),
    );
    Part { title: "Terms", about, tables: vec![groups, ends], notes }
}

/// Whole, with its sign unless that leaves zero.
fn signed(value: f64) -> String {
    match whole(value) {
        zero if zero == "0" => zero,
        _ => format!("{value:+.0}"),
    }
}

/// So many of something have, or one has.
fn have(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what} has"),
        _ => format!("{count} {what}s have"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
