//! A climb as a page: the curve, and its table.

use maud::{Markup, html};

use super::ladder::{Ladder, Rung};
use crate::draw::page::figure;
use crate::draw::{self, Chart, Line, Section};
use crate::report::elo::Elo;

/// Colours of a chart, by what they stand for.
const KEPT: usize = 0;
const DROPPED: usize = 1;

/// The page of a climb of this name.
pub fn page(name: &str, ladder: &Ladder, start: &str) -> String {
    let lead = html! { p { (ladder.sentence()) } };
    let sections = [
        Section::new("The climb", curve(ladder, start)),
        Section::new("Generations", table(ladder)),
    ];
    draw::page(name, &lead, &sections)
}

fn curve(ladder: &Ladder, start: &str) -> Markup {
    let y = format!("Elo above {start}");
    let mut kept = Line {
        name: "kept".into(),
        colour: KEPT,
        dots: true,
        points: vec![[0.0, 0.0]],
        ..Line::default()
    };
    let mut others = Vec::new();
    let mut named = false;
    for Rung { number, generation, elo, .. } in ladder.rungs() {
        let x = number as f64;
        let colour = if generation.is_kept() { KEPT } else { DROPPED };
        if let Elo { low: Some(low), high: Some(high), .. } = elo {
            let points = vec![[x, low], [x, high]];
            others.push(Line { colour, points, ..Line::default() });
        }
        let Some(value) = elo.value else { continue };
        if generation.is_kept() {
            kept.points.push([x, value]);
        } else {
            // A line of one point is a dot.
            let name = if named { String::new() } else { "dropped".into() };
            named = true;
            others.push(Line { name, colour, points: vec![[x, value]], ..Line::default() });
        }
    }
    let lines = [vec![kept], others].concat();
    let chart = Chart { title: &y, x: "generation", y: &y, lines, ..Chart::default() };
    let about = "All that have met are rated together, the start at 0, with 95 % intervals. What is \
                 kept was chosen by a match that counts here, so that the curve leans upwards a \
                 little; nobody has chosen what `nnuance match` says of two of them.";
    figure(&y, about, "", &chart.markup())
}

fn table(ladder: &Ladder) -> Markup {
    html! {
        (ladder.table().markup())
        p.soft {
            "Elo: in the match with the best before it, \"met\"; it is kept where it scored more \
             than a half, which an equal one does half of the time. Positions: those trained on. \
             Loss: the lowest validation loss; those of different games do not compare."
        }
        p.soft {
            "The runs: "
            @for Rung { number, .. } in ladder.rungs() {
                a href={ (format!("{number:03}/run/report.html")) } { (number) } " "
            }
        }
    }
}
