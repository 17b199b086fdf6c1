//! A diagnosis for the terminal.

use super::{Examined, chart, page};
use crate::digits::grouped;
use crate::report::{Align, Table};

/// Characters a line.
const WIDTH: usize = 100;
/// Where the sentences of findings begin.
const INDENT: usize = 25;

/// The page of a file.
pub fn page(file: &Examined) -> String {
    let mut lines = vec![file.file.display().to_string()];
    lines.extend(page::about(file).into_iter().map(|line| format!("  {line}")));
    lines.extend([String::new(), page::verdict(file), String::new()]);
    for finding in &file.diagnosis.findings {
        let head = format!("{:<9}{:<16}", page::grade(finding.grade), finding.about);
        lines.extend(wrapped(&head, &finding.says));
        if let Some(cure) = &finding.cure {
            lines.extend(wrapped(&" ".repeat(INDENT), &format!("-> {cure}")));
        }
    }
    let examples = page::examples(file);
    if !examples.is_empty() {
        lines.extend([String::new(), "examples".to_string()]);
        lines.extend(examples.into_iter().map(|line| format!("  {line}")));
    }
    if file.diagnosis.positions == 0 {
        return lines.join("\n");
    }
    lines.push(String::new());
    let columns = ["results of", "wins", "draws", "losses"];
    let columns: Vec<_> =
        columns.into_iter().zip([Align::Left, Align::Right, Align::Right, Align::Right]).collect();
    let mut table = Table::new(&columns).width(WIDTH);
    for (whose, cells) in page::results(file) {
        table.row(std::iter::once(whose.to_string()).chain(cells).collect::<Vec<_>>());
    }
    lines.push(table.to_string().trim_end().to_string());
    lines.push(format!("correlation of results: {} records", page::lags(file)));
    for figure in page::figures(file) {
        lines.extend([String::new(), format!("{}: {}", figure.title, figure.summary)]);
        lines.extend(chart::columns(&figure.histogram.counts, &figure.marks));
    }
    if let Some(calibration) = &file.diagnosis.calibration {
        lines.extend([
            String::new(),
            format!(
                "calibration: results at sigmoid(score / {:.0}), {} positions drawn",
                calibration.fitted.scale,
                grouped(calibration.positions)
            ),
        ]);
        for (tenth, bin) in calibration.bins.iter().enumerate() {
            let range = format!("  {:.1} to {:.1}", tenth as f64 / 10.0, (tenth + 1) as f64 / 10.0);
            let figures = match bin.positions {
                0 => format!("{:>8}  {:>8}", "-", "-"),
                _ => format!("{:>8.3}  {:>8.3}", bin.expected, bin.observed),
            };
            let bar = chart::bar(bin.observed, 40);
            let line = format!("{range} {:>10} {figures}  {bar}", grouped(bin.positions));
            lines.push(line.trim_end().to_string());
        }
        let place = lines.len() - calibration.bins.len();
        let head =
            format!("  {:<10} {:>10} {:>8}  {:>8}", "tenth", "positions", "expected", "came");
        lines.insert(place, head);
    }
    lines.join("\n")
}

/// A sentence behind a head of [`INDENT`] characters, in lines of at most [`WIDTH`].
fn wrapped(head: &str, sentence: &str) -> Vec<String> {
    let mut lines = vec![head.to_string()];
    let mut column = INDENT;
    // A percent sign stays with its number.
    let sentence = sentence.replace(" %", "\u{a0}%");
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > INDENT && column + 1 + length > WIDTH {
            lines.push(" ".repeat(INDENT));
            column = INDENT;
        }
        let line = lines.len() - 1;
        if column > INDENT {
            lines[line].push(' ');
            column += 1;
        }
        lines[line].push_str(&word.replace('\u{a0}', " "));
        column += length;
    }
    lines
}
