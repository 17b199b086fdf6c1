//! Where evaluations differ: slices, calibration, single positions, integers.

use maud::{Markup, html};

use crate::draw::board::{diagram, pieces};
use crate::draw::page::figure;
use crate::draw::{Chart, Line, Section};
use crate::report::calibration::Calibration;
use crate::report::disagree::{Apart, Disagreement};
use crate::report::gap::Gap;
use crate::report::slices::Slices;

/// Losses in slices of the same positions.
pub fn slices(slices: &Slices) -> Section {
    Section::new(
        "Slices",
        html! {
            @for sentence in &slices.sentences { p.soft { (sentence) } }
            @for cut in slices.cuts.iter().filter(|cut| cut.divides()) { h3 { "By " (cut.title) } (cut.table().markup()) }
        },
    )
}

/// Expected against observed results.
pub fn calibration(calibrations: &[Calibration], noun: &str) -> Section {
    Section::new(
        "Calibration",
        html! {
            @let least = calibrations.iter().any(|it| it.bias.interval_is_lower_bound);
            p.soft {
                "What an evaluation promises, sigmoid(cp / its scale), and what came: on the \
                 diagonal, promises are kept. Bands are 95 % intervals over " (noun)
                @if least { ", too narrow, since games are unknown" } "."
            }
            div.figures.squares {
                @for (i, one) in calibrations.iter().enumerate() {
                    (figure(&one.name, &one.sentence, "square", &curve(one, i)))
                }
            }
        },
    )
}

fn curve(calibration: &Calibration, colour: usize) -> Markup {
    let bins = &calibration.bins;
    let band = bins.iter().filter_map(|bin| {
        let [low, high] = bin.observed.interval?;
        Some([bin.expected, low, high])
    });
    let line = Line {
        colour,
        dots: true,
        points: bins.iter().map(|bin| [bin.expected, bin.observed.mean]).collect(),
        band: band.collect(),
        ..Line::default()
    };
    Chart {
        title: "calibration",
        x: "expected result",
        y: "mean result",
        calibration: true,
        lines: vec![line],
        ..Chart::default()
    }
    .markup()
}

/// The positions in which two evaluations disagree most.
pub fn disagreements(disagreements: &[Disagreement]) -> Section {
    Section::new(
        "Disagreements",
        html! {
            @for one in disagreements {
                @if disagreements.len() > 1 { h3 { (one.names[0]) " and " (one.names[1]) } }
                @for sentence in &one.sentences { p { (sentence) } }
                div.boards {
                    @for apart in &one.positions { (position(apart, &one.names)) }
                }
            }
        },
    )
}

fn position(apart: &Apart, names: &[String; 2]) -> Markup {
    let turn = if apart.fen.split(' ').nth(1) == Some("b") { "Black" } else { "White" };
    let result = match apart.result {
        it if it > 0.75 => "won",
        it if it < 0.25 => "lost",
        _ => "drew",
    };
    html! {
        figure.board {
            figcaption { (turn) " to move, " (result) }
            @if let Some(pieces) = pieces(&apart.fen) { (diagram(&apart.fen, &pieces)) }
            @for (i, name) in names.iter().enumerate() {
                p.soft {
                    (name) ": " (format!("{:.2}", apart.expected[i]))
                    @if let Some(cp) = apart.cp[i] { (format!(" ({cp:+.0} cp)")) }
                    @if apart.nearer.as_ref() == Some(name) { ", nearer" }
                }
            }
            details { summary { "FEN" } p.soft { (apart.fen) } }
        }
    }
}

/// Floats against integers.
pub fn gaps(gaps: &[Gap]) -> Section {
    Section::new(
        "Integers",
        html! {
            @for gap in gaps { (gap.table().markup()) p { (gap.sentence) } }
        },
    )
}
