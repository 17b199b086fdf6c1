//! Bars of Unicode blocks.

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LYING: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Rows of a column.
const HEIGHT: usize = 5;
/// Characters a column.
const WIDTH: usize = 2;

/// Standing columns, the highest five rows high, with marks below some of them. What is not zero
/// shows as at least an eighth of a row.
pub fn columns(counts: &[u64], marks: &[(usize, String)]) -> Vec<String> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let height = |count: u64| -> usize {
        let eighths = (count as f64 / most as f64 * (8 * HEIGHT) as f64).round() as usize;
        if count > 0 { eighths.max(1) } else { 0 }
    };
    let mut lines: Vec<String> = (0..HEIGHT)
        .rev()
        .map(|row| {
            let cell = |count: &u64| EIGHTHS[height(*count).saturating_sub(8 * row).min(8)];
            let row: String = counts.iter().flat_map(|count| [cell(count); WIDTH]).collect();
            format!("  {row}").trim_end().to_string()
        })
        .collect();
    lines.push(format!("  {}", "─".repeat(WIDTH * counts.len())));
    let mut below = String::new();
    for (bin, mark) in marks {
        // In the middle below its column, or as near as the mark before it allows.
        let middle = 2 + WIDTH * bin + 1;
        let from = middle.saturating_sub(mark.len().div_ceil(2));
        while below.chars().count() < from {
            below.push(' ');
        }
        below.push_str(mark);
    }
    lines.push(below);
    lines
}

/// A lying bar for a value of 0 to 1, `length` characters for 1.
pub fn bar(value: f64, length: usize) -> String {
    let eighths = (value.clamp(0.0, 1.0) * (8 * length) as f64).round() as usize;
    let mut text = "█".repeat(eighths / 8);
    text.extend((!eighths.is_multiple_of(8)).then(|| LYING[eighths % 8]));
    text
}
