//! A comparison in words: a table, and who wins.

use super::compare::{Comparison, Measured, Pair, Records};
use super::estimate::Estimate;
use super::verdict::ROUNDING;
use super::{Align, Table};
use crate::digits::grouped;

/// Characters a line.
pub(super) const WIDTH: usize = 100;

impl Comparison {
    /// The table and the sentences, as they are printed.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.table(), self.basis());
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        if let Some(games) = &self.games {
            text.push('\n');
            wrap(&games.basis(), &mut text);
            games.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        }
        text
    }

    /// One line an evaluation, the smallest loss first.
    pub fn table(&self) -> Table {
        let fixed = self.fixed_scale.map(|scale| format!("at {scale} cp"));
        let mut columns = vec![
            ("evaluation", Align::Left),
            ("loss", Align::Right),
            ("95 % interval", Align::Right),
        ];
        if self.games.is_some() {
            columns.extend([("Elo", Align::Right), ("its 95 % interval", Align::Right)]);
        }
        columns.push(("scale, cp", Align::Right));
        columns.extend(fixed.as_deref().map(|title| (title, Align::Right)));
        let targets = self.evaluations.iter().any(|one| one.loss_target.is_some());
        columns.extend(targets.then_some(("to target", Align::Right)));
        let mut table = Table::new(&columns).width(WIDTH);
        for one in &self.evaluations {
            let scale = one.scale.map_or("-".to_string(), |scale| format!("{:.0}", scale.s));
            let mark = if one.at_border { " (border)" } else { "" };
            let mut cells = vec![one.name.clone(), loss(one.loss.mean), interval(&one.loss)];
            if self.games.is_some() {
                cells.extend(one.elo.map_or(["-", "-"].map(str::to_string), |elo| elo.cells()));
            }
            cells.push(scale + mark);
            cells.extend(one.loss_fixed.map(|estimate| loss(estimate.mean)));
            cells.extend(one.loss_target.map(|estimate| loss(estimate.mean)));
            table.row(cells);
        }
        table
    }

    /// What the numbers are and where they come from.
    pub(super) fn basis(&self) -> String {
        let loss = "Loss: mean squared error of sigmoid(cp / scale) against the results";
        let noun = &self.noun;
        let scales = match self.fit_on_same {
            true => "the scales are fitted on the positions measured.".to_string(),
            false => {
                format!("each fifth of the {noun} is measured with the scale that fits the others.")
            }
        };
        let bound = match self.games_known {
            true => String::new(),
            false => format!("\n{UNKNOWN}"),
        };
        format!("{loss};\n{scales}{bound}")
    }

    /// The places of the pairs of neighbours in the ranking: pairs are sorted by the better, then
    /// by the worse, so that these begin each better's run.
    pub(super) fn neighbours(&self) -> Vec<usize> {
        let count = self.evaluations.len();
        let runs = (1..count).rev();
        runs.scan(0, |first, run| Some(std::mem::replace(first, *first + run))).collect()
    }

    /// Sentences on neighbours in the ranking.
    pub(super) fn conclude(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let on = self.records(&self.measured_on);
        if self.evaluations.len() < 2 {
            sentences.push(format!("Measured on {on}; nothing to compare with."));
        }
        let mut lead = format!("On {on}, ");
        for (rank, place) in self.neighbours().into_iter().enumerate() {
            let pair = &self.pairs[place];
            sentences.push(std::mem::take(&mut lead) + &verdict(pair, &self.evaluations[rank]));
            sentences.extend(self.fixed(pair));
        }
        for one in self.evaluations.iter().filter(|one| one.at_border) {
            sentences.push(format!(
                "The best scale of {} lies at the border of the search: its values say nothing \
                 about these results, or say the opposite.",
                one.name
            ));
        }
        sentences
    }

    /// What a comparison at one scale for all would have said, where it says something else.
    fn fixed(&self, pair: &Pair) -> Option<String> {
        let (fixed, scale) = (pair.difference_fixed?, self.fixed_scale?);
        let Pair { better, worse, .. } = pair;
        let decided = fixed.tells();
        let by = amount(fixed.mean);
        let says = match (decided, fixed.mean < 0.0) {
            (true, true) => format!("{worse} would seem to win by {by}"),
            (true, false) if !pair.decided => format!("{better} would seem to win by {by}"),
            (false, _) if pair.decided => "neither would win".to_string(),
            _ => return None,
        };
        Some(format!("At {scale} cp for both, {says}; that is a matter of units."))
    }

    pub(super) fn records(&self, records: &Records) -> String {
        let [positions, groups] =
            [records.positions, records.groups].map(|count| grouped(count as u64));
        match self.noun.ends_with("positions") {
            true => format!("{positions} {}", self.noun),
            false => format!("{positions} positions of {groups} {}", self.noun),
        }
    }
}

/// Who wins, and unless what; or why nobody does.
pub(super) fn verdict(pair: &Pair, first: &Measured) -> String {
    let Pair { better, worse, difference, .. } = pair;
    let by = amount(difference.mean);
    if difference.mean == 0.0 && difference.interval == Some([0.0; 2]) {
        return format!("{better} and {worse} have the same loss.");
    }
    let lead = format!("{better}'s loss is lower than {worse}'s by {by}{}", between(difference));
    if pair.rounding {
        return format!("{lead}; they are {ROUNDING}: no contest.");
    }
    let unless = first.doubt.as_ref().map_or(String::new(), |doubt| format!(", unless {doubt}"));
    match &pair.why {
        Some(why) => format!("{lead}; {why}: these data cannot tell."),
        None if first.bound => format!("{lead}; it is the bound, from a search, and no rival."),
        None => format!("{lead}: {better} wins{unless}."),
    }
}

/// An interval in brackets behind a number, as sentences have it; nothing where there is none.
pub(super) fn between(estimate: &Estimate) -> String {
    match estimate.interval {
        None => String::new(),
        Some(_) => format!(" (95 % interval {})", interval(estimate)),
    }
}

/// What makes intervals lower bounds.
pub(super) const UNKNOWN: &str = "Games are unknown: positions of one game may count as if they were \
                                  independent, so that an interval\nis at least as wide as it says.";

/// Stands before an interval that is at least as wide.
pub(super) fn least(estimate: &Estimate) -> &'static str {
    if estimate.interval_is_lower_bound { "at least " } else { "" }
}

pub(super) fn interval(estimate: &Estimate) -> String {
    let least = least(estimate);
    estimate
        .interval
        .map_or("-".to_string(), |[low, high]| format!("{least}{} to {}", loss(low), loss(high)))
}

/// A size of a difference for sentences, where one that is there is not called zero.
pub(super) fn amount(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < SHOWN => "less than 0.00001".to_string(),
        size => loss(size),
    }
}

/// The smallest loss that five decimals show.
pub(super) const SHOWN: f64 = 5e-6;

/// Five decimals: a difference of one in the last is within reach of a million positions.
pub(super) fn loss(value: f64) -> String {
    // Adding zero turns a negative zero into zero.
    format!("{:.5}", (value * 1e5).round() / 1e5 + 0.0)
}

/// Adds a sentence in lines of at most [`WIDTH`] characters, later ones indented.
pub fn wrap(sentence: &str, text: &mut String) {
    let mut column = 0;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
}
