//! Plain-text tables with aligned columns.

use std::fmt;

/// Which side of its column a text stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table; its [`Display`](fmt::Display) form has a header line, a rule, and a line a row.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    width: usize,
}

/// Between two columns.
const GAP: &str = "  ";

/// No column gets narrower than this to save space.
const NARROWEST: usize = 8;

impl Table {
    /// Titles and alignments of the columns; units belong in the title.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let header = columns.iter().map(|(title, align)| (title.to_string(), *align)).collect();
        Self { header, rows: Vec::new(), width: 100 }
    }

    /// The widest line allowed, in characters; left-aligned cells are cut to keep it.
    pub fn width(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// Adds a row; cells beyond the last column are dropped, missing ones are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.header.len(), String::new());
        self.rows.push(cells);
    }

    /// Titles and alignments.
    pub(super) fn header(&self) -> &[(String, Align)] {
        &self.header
    }

    /// The cells of each row.
    pub(super) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The width of each column, in characters.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> =
            self.header.iter().map(|(title, _)| title.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(self.width);
        // Names can be cut, numbers cannot.
        for (width, (_, align)) in widths.iter_mut().zip(&self.header) {
            if *align == Align::Left {
                let cut = excess.min(width.saturating_sub(NARROWEST));
                *width -= cut;
                excess -= cut;
            }
        }
        widths
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let mut line = |cells: Vec<&str>| {
            let cells: Vec<String> = cells
                .into_iter()
                .zip(&widths)
                .zip(&self.header)
                .map(|((cell, width), (_, align))| match align {
                    Align::Left => format!("{:<width$}", cut(cell, *width)),
                    Align::Right => format!("{:>width$}", cut(cell, *width)),
                })
                .collect();
            writeln!(f, "{}", cells.join(GAP).trim_end())
        };
        line(self.header.iter().map(|(title, _)| title.as_str()).collect())?;
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        line(rules.iter().map(String::as_str).collect())?;
        self.rows.iter().try_for_each(|row| line(row.iter().map(String::as_str).collect()))
    }
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
