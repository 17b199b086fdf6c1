//! How many of the moves that were played a run has found, round after round.

use maud::html;

use super::Run;
use crate::draw::page::{Side, figure, table};
use crate::draw::{Chart, Line, Section};
use crate::report::found::titles;
use crate::report::rounds::FoundAt;

/// A picture of the rounds, and the histograms of the first and the last one; none where no run has
/// learnt moves.
pub fn rounds(runs: &[Run]) -> Option<Section> {
    let learnt: Vec<&Run> = runs.iter().filter(|run| !run.found.is_empty()).collect();
    (!learnt.is_empty()).then_some(())?;
    let alone = runs.len() == 1;
    let mut lines = Vec::new();
    let mut rows = Vec::new();
    for run in &learnt {
        for games in ["training", "validation"] {
            let of: Vec<&FoundAt> = run.found.iter().filter(|it| it.games_of == games).collect();
            let name = if alone { games.into() } else { format!("{}, {games}", run.name) };
            let points = of.iter().map(|it| [it.step as f64, 100.0 * it.first]).collect();
            let band = of.iter().filter_map(|it| {
                let [low, high] = it.interval?;
                Some([it.step as f64, 100.0 * low, 100.0 * high])
            });
            let dashed = games == "training";
            let colour = lines.len();
            let band = if dashed { Vec::new() } else { band.collect() };
            lines.push(Line {
                name: name.clone(),
                colour,
                dashed,
                points,
                band,
                ..Line::default()
            });
            let ends = of.first().into_iter().chain(of.get(1..).and_then(<[_]>::last));
            for at in ends {
                let shares = at.histogram.iter().map(|share| format!("{:.1}", 100.0 * share));
                let start = [name.clone(), at.step.to_string(), format!("{:.2}", at.place)];
                rows.push(start.into_iter().chain(shares).collect::<Vec<_>>());
            }
        }
    }
    let titles = titles();
    let mut header =
        vec![("moves of", Side::Left), ("step", Side::Right), ("mean place", Side::Right)];
    header.extend(titles.iter().map(|title| (&title[..], Side::Right)));
    let chart =
        Chart { title: "Moves put first", x: "step", y: "per cent", lines, ..Chart::default() };
    Some(Section::new(
        "Moves found",
        html! {
            p {
                "Each legal move by the score of its quiescence search, with the weights of that \
                 step: the share of the moves at each place that were played, in per cent. Moves of \
                 the same score share their places."
            }
            div.figures { (figure("Moves put first", "", "", &chart.markup())) }
            (table(&header, &rows))
        },
    ))
}
