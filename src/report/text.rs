//! Numbers and sentences as text of at most 80 columns.

use super::estimate::Estimate;

/// Characters a line.
pub const WIDTH: usize = 80;

/// The note on intervals that are lower bounds.
pub(super) const UNKNOWN: &str = "Games are unknown: positions of one game count as independent, so an interval is at least as wide \
                                  as it says.";

/// Five decimals: a difference of one in the last is within reach of a million positions.
pub(super) fn loss(value: f64) -> String {
    // Adding zero turns a negative zero into zero.
    format!("{:.5}", (value * 1e5).round() / 1e5 + 0.0)
}

/// A size of a difference, where one that is not zero is not called zero.
pub(super) fn amount(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < 5e-6 => "less than 0.00001".to_string(),
        size => loss(size),
    }
}

/// `0.08123 to 0.08456`; a dash where there is no interval.
pub(super) fn interval(estimate: &Estimate) -> String {
    match estimate.interval {
        Some([low, high]) => format!("{}{} to {}", least(estimate), loss(low), loss(high)),
        None => "-".to_string(),
    }
}

/// An interval in brackets behind a number; nothing where there is none.
pub(super) fn between(estimate: &Estimate) -> String {
    match estimate.interval {
        None => String::new(),
        Some(_) => format!(" (95 % interval {})", interval(estimate)),
    }
}

/// The words before an interval that is a lower bound.
pub(super) fn least(estimate: &Estimate) -> &'static str {
    if estimate.interval_is_lower_bound { "at least " } else { "" }
}

/// One decimal; a value that rounds to zero has no sign.
pub fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".to_string() } else { text }
}

/// [`tenths`] with a plus before positive values.
pub fn signed(value: f64) -> String {
    let text = tenths(value);
    if value > 0.0 && text != "0.0" { format!("+{text}") } else { text }
}

/// A text of so many characters at most.
pub fn cut(cell: &str, width: usize) -> String {
    if cell.chars().count() <= width {
        return cell.to_string();
    }
    cell.chars().take(width.saturating_sub(1)).chain(['…']).collect()
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
