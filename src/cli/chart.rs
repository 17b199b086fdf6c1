//! The losses of a run as a chart of characters.

use textplots::{Chart, Plot, Shape};

use crate::digits::short;
use crate::log::Row;

/// Lines of the drawing itself.
const HEIGHT: usize = 12;

/// Characters before the drawing: a loss and a blank.
const MARGIN: usize = 9;

/// Narrower than this a chart shows nothing.
pub const NARROWEST: usize = 40;

/// The lines of a chart, at most 15 of at most `width` characters: training losses as dots,
/// validation losses as a line, over the positions of the whole run. None from fewer than two rows with a
/// loss, or where the width is less than [`NARROWEST`].
///
/// The first rows do not stretch the chart: an untrained model's loss would press all others into
/// one line. What lies above the chart is left out.
pub fn chart(rows: &[Row], total: u64, width: usize) -> Option<Vec<String>> {
    let training = points(rows, |row| row.train_loss);
    let held_out = points(rows, |row| row.held_out_loss);
    if training.len().max(held_out.len()) < 2 || width < NARROWEST {
        return None;
    }
    let [low, high] = range(&training, &held_out);
    let shown = |mut points: Vec<(f32, f32)>| {
        points.retain(|(_, loss)| *loss <= high);
        points
    };
    let (training, held_out) = (shown(training), shown(held_out));
    // A character has two dots across and four down; both ends of a range get a dot.
    let (across, down) = (2 * (width - MARGIN) as u32 - 1, 4 * HEIGHT as u32 - 1);
    let last = rows.last().map_or(0, |row| row.positions);
    let end = total.max(last).max(1) as f32;
    let (dots, line) = (Shape::Points(&training), Shape::Lines(&held_out));
    let mut drawing = Chart::new_with_y_range(across, down, 0.0, end, low, high);
    let drawing = drawing.lineplot(&line).lineplot(&dots);
    drawing.figures();
    let frame = drawing.frame();

    let mut lines = vec![legend(rows, width)];
    for (i, row) in frame.lines().take(HEIGHT).enumerate() {
        let share = i as f32 / (HEIGHT - 1) as f32;
        let label = match i % 4 == 0 || i + 1 == HEIGHT {
            true => format!("{:.6}", high - share * (high - low)),
            false => String::new(),
        };
        lines.push(format!("{label:>8} {row}").trim_end().to_string());
    }
    let right = format!("{} positions", short(end.into()));
    lines.push(format!("{:MARGIN$}0{right:>rest$}", "", rest = width - MARGIN - 1));
    Some(lines)
}

fn points(rows: &[Row], loss: impl Fn(&Row) -> Option<f64>) -> Vec<(f32, f32)> {
    let point = |row: &Row| Some((row.positions as f32, loss(row)? as f32));
    rows.iter().filter_map(point).filter(|(_, loss)| loss.is_finite()).collect()
}

/// The losses that the chart shows, without those of the start where there are others.
fn range(training: &[(f32, f32)], held_out: &[(f32, f32)]) -> [f32; 2] {
    let later = |points: &[(f32, f32)]| match points.len() {
        0..3 => points.to_vec(),
        length => points[1 + length / 8..].to_vec(),
    };
    let losses = [later(training), later(held_out)].concat();
    let low = losses.iter().map(|point| point.1).fold(f32::MAX, f32::min);
    let high = losses.iter().map(|point| point.1).fold(f32::MIN, f32::max);
    // Equal losses lie in the middle.
    let border = if high > low { 0.0 } else { 0.1 * low.abs().max(1e-3) };
    [low - border, high + border]
}

/// What is drawn; the lowest loss only where it can be told whole.
fn legend(rows: &[Row], width: usize) -> String {
    let with_loss = |row: &&Row| row.held_out_loss.is_some_and(f64::is_finite);
    let loss = |row: &Row| row.held_out_loss.unwrap_or(f64::NAN);
    let best = rows.iter().filter(with_loss).min_by(|one, other| loss(one).total_cmp(&loss(other)));
    let Some(row) = best else { return "dots: training loss".to_string() };
    let drawn = "dots: training loss; line: validation";
    let whole = format!("{drawn}, lowest {:.6} at step {}", loss(row), row.step);
    if whole.chars().count() <= width { whole } else { drawn.to_string() }
}
