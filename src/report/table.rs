//! Tables, as text with aligned columns and as HTML.

use std::fmt;

use maud::{Markup, html};

use super::chance;
use super::estimate::Estimate;

/// A table. Its [`Display`](fmt::Display) form has a header line and a line per row.
#[derive(Clone, Debug)]
pub struct TextTable {
    /// Titles of the columns; all are empty if there is no header.
    titles: Vec<String>,
    /// Whether each column is aligned left.
    is_left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

const GAP: &str = "  ";
const NARROWEST: usize = 8;
pub const NO_BREAK: char = '\u{a0}';

impl TextTable {
    /// Creates a table of these columns. Titles have the units; `<` before a title aligns left.
    pub fn with_titles(titles: &[impl AsRef<str>]) -> Self {
        let titles = titles.iter().map(AsRef::as_ref);
        let is_left = titles.clone().map(|title| title.starts_with('<')).collect();
        let text = |title: &str| title.strip_prefix('<').unwrap_or(title).to_string();
        Self { titles: titles.map(text).collect(), is_left, rows: Vec::new() }
    }

    /// Creates a table of facts without a header; a row is a name and a value.
    pub fn of_facts() -> Self {
        Self::with_titles(&["<"; 2])
    }

    /// Adds a row; cells beyond the last column are dropped, missing ones are empty.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.titles.len(), String::new());
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table in HTML, with nothing cut. It scrolls sideways if the page is too narrow.
    pub fn to_markup(&self) -> Markup {
        let class = |column: usize| self.is_left[column].then_some("left");
        html! {
            div.wide {
                table {
                    tr { @for (i, title) in self.titles.iter().enumerate() {
                        th class=[class(i)] { (title.replace("± 95 %", "±\u{a0}95\u{a0}%")) }
                    } }
                    @for row in &self.rows {
                        tr { @for (i, cell) in row.iter().enumerate() {
                            td class=[class(i)] { (cell) }
                        } }
                    }
                }
            }
        }
    }

    fn column_widths(&self) -> Vec<usize> {
        let titles: Vec<usize> = self.titles.iter().map(|title| title.chars().count()).collect();
        let longest = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let cells: Vec<usize> = (0..titles.len()).map(longest).collect();
        let mut widths: Vec<usize> = titles.iter().zip(&cells).map(|it| *it.0.max(it.1)).collect();
        let last = widths.len() - 1;
        let mut excess = (widths.iter().sum::<usize>() + GAP.len() * last).saturating_sub(WIDTH);
        // Names can be cut, then titles; numbers cannot.
        let is_left = |column: &usize| self.is_left[*column];
        let columns = || [last].into_iter().chain(0..last);
        let to_titles = columns().filter(is_left).map(|it| (it, titles[it]));
        let to_cells = |it| if is_left(&it) { (it, 0) } else { (it, cells[it]) };
        for (column, narrowest) in to_titles.chain(columns().map(to_cells)) {
            let cut = excess.min(widths[column].saturating_sub(narrowest.max(NARROWEST)));
            widths[column] -= cut;
            excess -= cut;
        }
        widths
    }
}

/// Formats aligned columns. Left cells and titles are cut to fit; the last column is wrapped.
impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.column_widths();
        let has_header = self.titles.iter().any(|title| !title.is_empty());
        let header = has_header.then_some(&self.titles);
        let last = self.titles.len() - 1;
        for row in header.into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row[..last].iter().enumerate() {
                line += &fit_cell(cell, widths[column], self.is_left[column]);
                line += GAP;
            }
            let indent = format!("\n{}", " ".repeat(line.chars().count()));
            line += &match self.is_left[last] {
                true => join_lines(row[last].split(' '), widths[last]).join(&indent),
                false => fit_cell(&row[last], widths[last], false),
            };
            writeln!(f, "{}", line.trim_end().replace(NO_BREAK, " "))?;
        }
        Ok(())
    }
}

/// Joins words to lines of at most `width` characters. A longer word has a line to itself.
pub fn join_lines<'a>(words: impl IntoIterator<Item = &'a str>, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_string());
        } else {
            *line += &format!(" {word}");
        }
    }
    lines
}

pub const WIDTH: usize = 80;

/// Formats with five decimals: a million positions can resolve the last one.
pub(super) fn format_loss(value: f64) -> String {
    // Adding zero removes the sign of a negative zero.
    format!("{:.5}", (value * 1e5).round() / 1e5 + 0.0)
}

/// Formats a number from 0 to 1 as `.0859`.
pub(super) fn format_share(value: f64) -> String {
    format!("{value:.4}").trim_start_matches('0').to_string()
}

/// Formats a loss and half of its 95 % interval; a dash if there is none.
pub(super) fn with_half_width(estimate: &Estimate) -> [String; 2] {
    [format_loss(estimate.mean), estimate.half_width().map_or("-".to_string(), format_loss)]
}

/// Writes the lines below a table: the meaning of "better" with the number of tested pairs, and
/// reasons for "unclear" other than the numbers.
pub(super) fn legend_lines<'a>(
    better: Option<(&str, usize)>,
    whys: impl Iterator<Item = &'a Option<String>>,
) -> Vec<String> {
    let better = better.map(|(meaning, pairs)| match pairs {
        1 => format!("better: {meaning}"),
        _ => format!("better: {meaning}, Holm over {pairs} pairs"),
    });
    let mut lines = Vec::from_iter(better);
    for why in whys.flatten().filter(|why| !chance::OPEN.contains(&&why[..])) {
        let line = format!("unclear: {why}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Cuts a cell to the width of its column, or fills it up with spaces.
fn fit_cell(cell: &str, width: usize, is_left: bool) -> String {
    if cell.chars().count() > width {
        return cell.chars().take(width.saturating_sub(1)).chain(['…']).collect();
    }
    if is_left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
}

/// Joins lines of text, each [wrapped](wrap_sentence).
pub fn wrap_all(lines: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    lines.into_iter().map(|line| wrap_sentence(line.as_ref())).collect()
}

/// Wraps a sentence to lines of at most [`WIDTH`] characters; all but the first are indented.
pub fn wrap_sentence(sentence: &str) -> String {
    join_lines(sentence.split(' '), WIDTH - 2).join("\n  ") + "\n"
}
