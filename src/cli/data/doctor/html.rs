//! A diagnosis as part of a page.

use maud::{Markup, html};

use super::page::Figure;
use super::{Examined, page};
use crate::data::doctor::{Calibration, Grade};
use crate::digits::grouped;
use crate::draw::chart::bars;
use crate::draw::page::{Side, figure, table};
use crate::draw::{Chart, Line, Section};

/// The page of all files.
pub fn whole(examined: &[Examined]) -> String {
    let sections: Vec<Section> = examined.iter().map(section).collect();
    crate::draw::page("Data doctor", &html! {}, &sections)
}

/// What is to be said of one file.
pub fn section(file: &Examined) -> Section {
    let diagnosis = &file.diagnosis;
    let examples = page::examples(file);
    let results: Vec<Vec<String>> = page::results(file)
        .into_iter()
        .map(|(whose, cells)| std::iter::once(whose.to_string()).chain(cells).collect())
        .collect();
    let header = [
        ("of", Side::Left),
        ("wins", Side::Right),
        ("draws", Side::Right),
        ("losses", Side::Right),
    ];
    let verdict = if file.fit { "fit" } else { "unfit" };
    let body = html! {
        @for line in page::about(file) { p.soft { (line) } }
        p.verdict.(verdict) { (page::verdict(file)) }
        ul.findings {
            @for finding in &diagnosis.findings {
                li {
                    span.grade.(class(finding.grade)) { (page::grade(finding.grade)) }
                    span {
                        b { (finding.about) } ": " (finding.says)
                        @if let Some(cure) = &finding.cure {
                            br; span.soft { "Cure: " (cure) }
                        }
                    }
                }
            }
        }
        @if !examples.is_empty() { h3 { "Examples" } pre { (examples.join("\n")) } }
        @if diagnosis.positions > 0 {
            h3 { "Results" }
            (table(&header, &results))
            p.soft { "Correlation of results: " (page::lags(file)) " records" }
            div.figures {
                @for shown in page::figures(file) {
                    (figure(shown.title, &shown.summary, "", &histogram(&shown)))
                }
                @if let Some(calibration) = &diagnosis.calibration {
                    (figure("calibration", &about(calibration), "square", &curve(calibration)))
                }
            }
        }
    };
    Section::new(file.file.display().to_string(), body)
}

fn class(grade: Grade) -> &'static str {
    match grade {
        Grade::Ok => "ok",
        Grade::Note => "note",
        Grade::Problem => "problem",
    }
}

/// Standing bars; each says its count where a pointer rests on it.
fn histogram(figure: &Figure) -> Markup {
    let histogram = figure.histogram;
    let range = |bar: usize| {
        let from = histogram.from + bar as i64 * histogram.width;
        match histogram.width {
            1 => from.to_string(),
            width => format!("{from} to {}", from + width - 1),
        }
    };
    let said = |bar: usize, count: u64| format!("{}: {}", range(bar), grouped(count));
    bars(figure.title, &histogram.counts, &figure.marks, &said)
}

fn about(calibration: &Calibration) -> String {
    let scale = calibration.fitted.scale;
    format!("mean result (upwards) at the expected one, sigmoid(score / {scale:.0})")
}

/// Expected against observed, with the diagonal on which they should lie.
fn curve(calibration: &Calibration) -> Markup {
    let bins = calibration.bins.iter().filter(|bin| bin.positions > 0);
    let points = bins.map(|bin| [bin.expected, bin.observed]).collect();
    Chart {
        title: "calibration",
        x: "expected result",
        y: "mean result",
        calibration: true,
        lines: vec![Line { dots: true, points, ..Line::default() }],
        ..Chart::default()
    }
    .markup()
}
