//! A comparison in words: a table, and who wins.

use super::bootstrap::Estimate;
use super::compare::{Comparison, Pair, Records};
use super::{Align, Table};

/// Percentile intervals from fewer groups than this are visibly too narrow.
pub(super) const FEW_GROUPS: usize = 30;

/// Characters a line.
pub(super) const WIDTH: usize = 100;

impl Comparison {
    /// The table and the sentences, as they are printed.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.table(), self.basis());
        self.sentences.iter().for_each(|sentence| wrap(sentence, &mut text));
        text
    }

    /// One line an evaluation, the smallest loss first.
    pub fn table(&self) -> Table {
        let fixed = self.fixed_scale.map(|scale| format!("at {scale} cp"));
        let mut columns = vec![
            ("evaluation", Align::Left),
            ("loss", Align::Right),
            ("95 % interval", Align::Right),
            ("scale, cp", Align::Right),
        ];
        columns.extend(fixed.as_deref().map(|title| (title, Align::Right)));
        let targets = self.evaluations.iter().any(|one| one.loss_target.is_some());
        columns.extend(targets.then_some(("to target", Align::Right)));
        let mut table = Table::new(&columns).width(WIDTH);
        for one in &self.evaluations {
            let scale = one.scale.map_or("-".to_string(), |scale| format!("{:.0}", scale.s));
            let mark = if one.at_border { " (border)" } else { "" };
            let mut cells =
                vec![one.name.clone(), loss(one.loss.mean), interval(&one.loss), scale + mark];
            cells.extend(one.loss_fixed.map(|estimate| loss(estimate.mean)));
            cells.extend(one.loss_target.map(|estimate| loss(estimate.mean)));
            table.row(cells);
        }
        table
    }

    /// What the numbers are and where they come from.
    pub(super) fn basis(&self) -> String {
        let loss = "Loss: mean squared error of sigmoid(cp / scale) against the results";
        if self.fit_on_same {
            return format!("{loss};\nthe scales are fitted on the positions measured.");
        }
        let noun = &self.noun;
        format!(
            "{loss};\neach half of the {noun} is measured with the scale that fits the other half."
        )
    }

    /// Sentences on neighbours in the ranking.
    pub(super) fn conclude(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let on = self.records(&self.measured_on);
        if self.evaluations.len() < 2 {
            sentences.push(format!("Measured on {on}; nothing to compare with."));
        }
        // Pairs are sorted by the better, then by the worse: neighbours begin each better's run.
        let (mut first, mut lead) = (0, format!("On {on}, "));
        for rank in 1..self.evaluations.len() {
            if let Some(pair) = self.pairs.get(first) {
                sentences.push(std::mem::take(&mut lead) + &verdict(pair));
                sentences.extend(self.fixed(pair));
            }
            first += self.evaluations.len() - rank;
        }
        for one in self.evaluations.iter().filter(|one| one.at_border) {
            sentences.push(format!(
                "The best scale of {} lies at the border of the search: its values say nothing \
                 about these results, or say the opposite.",
                one.name
            ));
        }
        let groups = self.measured_on.groups;
        if (2..FEW_GROUPS).contains(&groups) && self.evaluations.len() > 1 {
            sentences.push(format!(
                "Only {groups} {}: intervals from so few are too narrow.",
                self.noun
            ));
        }
        sentences
    }

    /// What a comparison at one scale for all would have said, where it says something else.
    fn fixed(&self, pair: &Pair) -> Option<String> {
        let (fixed, scale) = (pair.difference_fixed?, self.fixed_scale?);
        let Pair { better, worse, .. } = pair;
        let decided = !fixed.contains_zero();
        let by = loss(fixed.mean.abs());
        let says = match (decided, fixed.mean < 0.0) {
            (true, true) => format!("{worse} would seem to win by {by}"),
            (true, false) if !pair.decided => format!("{better} would seem to win by {by}"),
            (false, _) if pair.decided => "neither would win".to_string(),
            _ => return None,
        };
        Some(format!("At {scale} cp for both, {says}; that is a matter of units."))
    }

    fn records(&self, records: &Records) -> String {
        let [positions, groups] = [records.positions, records.groups].map(thousands);
        match self.noun.ends_with("positions") {
            true => format!("{positions} {}", self.noun),
            false => format!("{positions} positions of {groups} {}", self.noun),
        }
    }
}

fn verdict(pair: &Pair) -> String {
    let Pair { better, worse, difference, .. } = pair;
    let by = loss(difference.mean);
    let Some([low, high]) = difference.interval else {
        return format!(
            "{better}'s loss is lower than {worse}'s by {by}; there is no interval from a single \
             group: these data cannot tell."
        );
    };
    if difference.mean == 0.0 && low == 0.0 && high == 0.0 {
        return format!("{better} and {worse} have the same loss.");
    }
    let between = format!("95 % interval {} to {}", loss(low), loss(high));
    if pair.decided {
        format!("{better}'s loss is lower than {worse}'s by {by} ({between}): {better} wins.")
    } else {
        format!(
            "{better}'s loss is lower than {worse}'s by {by}, but the interval contains zero \
             ({between}): these data cannot tell."
        )
    }
}

pub(super) fn interval(estimate: &Estimate) -> String {
    estimate
        .interval
        .map_or("-".to_string(), |[low, high]| format!("{} to {}", loss(low), loss(high)))
}

/// Five decimals: a difference of one in the last is within reach of a million positions. What
/// would look like zero is written out.
pub(super) fn loss(value: f64) -> String {
    if value != 0.0 && value.abs() < 5e-6 {
        return format!("{value:.0e}");
    }
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

pub(super) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
