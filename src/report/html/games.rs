//! What games say: who is stronger, and whether a lower loss is more Elo.

use maud::html;

use crate::draw::page::figure;
use crate::draw::{Chart, Line, Section};
use crate::report::Comparison;
use crate::report::compare::Measured;
use crate::report::elo::Met;

/// The games of a comparison; none where nobody played.
pub fn games(comparison: &Comparison) -> Option<Section> {
    let games = comparison.games.as_ref()?;
    let (title, lines) = ("Elo against loss", points(comparison));
    let chart = Chart { title, x: "loss", y: "Elo", lines, ..Chart::default() };
    Some(Section::new(
        "Games",
        html! {
            @for sentence in &games.sentences { p { (sentence) } }
            @if let Some(ratings) = &games.ratings { (ratings.table().markup()) }
            (Met::table(&games.meetings).markup())
            p.soft { (games.basis()) }
            @if !chart.lines.is_empty() {
                div.figures {
                    (figure(
                        title,
                        "Each evaluation that played and was measured: further left predicts \
                         results better, further up plays better. Bars are 95 % intervals.",
                        "",
                        &chart.markup()
                    ))
                }
            }
        },
    ))
}

/// A point an evaluation, with a name and a colour of its own.
fn points(comparison: &Comparison) -> Vec<Line> {
    let line = |one: &Measured| {
        let (elo, x) = (one.elo?, one.loss.mean);
        let interval = elo.low.zip(elo.high);
        Some(Line {
            name: one.name.clone(),
            points: vec![[x, elo.value?]],
            whiskers: interval.map(|(low, high)| [x, low, high]).into_iter().collect(),
            ..Line::default()
        })
    };
    let points = comparison.evaluations.iter().filter_map(line).enumerate();
    points.map(|(colour, point)| Line { colour, ..point }).collect()
}
