//! A diagnosis as a page that stands alone: no script, nothing to load, light and dark.

use svg::Document;
use svg::node::element::{Circle, Group, Line, Polyline, Rectangle, Text, Title};

use super::page::Figure;
use super::{Patient, page};
use crate::data::doctor::words::grouped;
use crate::data::doctor::{Calibration, Grade};

/// Lengths within a picture.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 150.0;
const MARGIN: f64 = 20.0;
/// Below a picture, for marks.
const FOOT: f64 = 22.0;
/// The calibration is a square.
const SQUARE: f64 = 240.0;

const STYLE: &str = "
:root { color-scheme: light dark; --paper: #fbfbfa; --ink: #1d1f23; --soft: #5d636d;
  --line: #d9dbdf; --bar: #2f6db5; --ok: #1d7a45; --note: #8a5a00; --problem: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181c; --ink: #e7e8ea; --soft: #a2a8b2;
  --line: #363b44; --bar: #6ea8ea; --ok: #63c48d; --note: #e0ad4b; --problem: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; margin: 1rem 0 .2rem; }
h2 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p { margin: .2rem 0; } .soft { color: var(--soft); font-size: .9rem; }
.verdict { font-weight: 700; margin: 1rem 0; padding: .6rem .8rem; border-left: .4rem solid; }
.fit { border-color: var(--ok); } .unfit { border-color: var(--problem); }
ul { list-style: none; margin: 0; padding: 0; }
li { display: grid; grid-template-columns: 5.2rem 1fr; gap: 0 .6rem; padding: .45rem 0;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.grade { font-weight: 600; } .ok { color: var(--ok); } .note { color: var(--note); }
.problem { color: var(--problem); } .about { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
.wide { overflow-x: auto; } td, th { padding: .15rem .9rem .15rem 0; text-align: right; }
td:first-child, th:first-child { text-align: left; } th { color: var(--soft); font-weight: 500; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
  gap: 0 2rem; } figure { margin: 1.2rem 0 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; margin-top: .4rem; } .square svg { max-width: 20rem; }
.bar { fill: var(--bar); } .axis { stroke: var(--line); fill: none; }
.curve { stroke: var(--bar); stroke-width: 2; fill: none; } .mark { fill: var(--soft);
  font: 12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
pre { overflow-x: auto; font-size: .8rem; }
";

/// The page of all files.
pub fn page(patients: &[Patient]) -> String {
    let body: String = patients.iter().map(patient).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>nnuance data doctor</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\
         </body>\n</html>\n"
    )
}

fn patient(patient: &Patient) -> String {
    let mut html = format!("<h1>{}</h1>\n", safe(&patient.file.display().to_string()));
    for line in page::about(patient) {
        html += &format!("<p class=\"soft\">{}</p>\n", safe(&line));
    }
    let fit = if patient.fit { "fit" } else { "unfit" };
    html += &format!("<p class=\"verdict {fit}\">{}</p>\n<ul>\n", safe(&page::verdict(patient)));
    for finding in &patient.diagnosis.findings {
        let class = match finding.grade {
            Grade::Ok => "ok",
            Grade::Note => "note",
            Grade::Problem => "problem",
        };
        let cure = finding.cure.as_ref().map_or(String::new(), |cure| {
            format!("<br><span class=\"about\">Cure: {}</span>", safe(cure))
        });
        html += &format!(
            "<li><span class=\"grade {class}\">{}</span><span><b>{}</b>: {}{cure}</span></li>\n",
            page::grade(finding.grade),
            finding.about,
            safe(&finding.says)
        );
    }
    html += "</ul>\n";
    let examples = page::examples(patient);
    if !examples.is_empty() {
        html += &format!("<h2>Examples</h2>\n<pre>{}</pre>\n", safe(&examples.join("\n")));
    }
    if patient.diagnosis.positions == 0 {
        return html;
    }
    html += "<h2>Results</h2>\n<div class=\"wide\"><table><tr><th>of</th><th>wins</th>\
             <th>draws</th><th>losses</th></tr>\n";
    for (whose, [wins, draws, losses]) in page::results(patient) {
        html +=
            &format!("<tr><td>{whose}</td><td>{wins}</td><td>{draws}</td><td>{losses}</td></tr>\n");
    }
    html += &format!(
        "</table></div>\n<p class=\"soft\">Correlation of results: {} records</p>\n\
         <div class=\"figures\">\n",
        page::lags(patient)
    );
    for figure in page::figures(patient) {
        let picture = columns(&figure);
        html += &framed(figure.title, &figure.summary, "", &picture);
    }
    if let Some(calibration) = &patient.diagnosis.calibration {
        let summary = format!(
            "mean result (upwards) at the expected one, sigmoid(score / {:.0})",
            calibration.fitted.scale
        );
        html += &framed("calibration", &summary, "square", &curve(calibration));
    }
    html + "</div>\n"
}

fn framed(title: &str, summary: &str, class: &str, picture: &Document) -> String {
    format!(
        "<figure class=\"{class}\"><figcaption>{title}</figcaption>\n<p class=\"soft\">{}</p>\n\
         {picture}\n</figure>\n",
        safe(summary)
    )
}

/// A histogram as standing bars; each says its count where a pointer rests on it.
fn columns(figure: &Figure) -> Document {
    let histogram = figure.histogram;
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = (WIDTH - 2.0 * MARGIN) / histogram.counts.len() as f64;
    let mut body = Group::new();
    for (bin, count) in histogram.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (*count as f64 / most * HEIGHT).max(1.0);
        let from = histogram.from + bin as i64 * histogram.width;
        let range = match histogram.width {
            1 => from.to_string(),
            width => format!("{from} to {}", from + width - 1),
        };
        let bar = Rectangle::new()
            .set("x", tenth(MARGIN + bin as f64 * step + 0.5))
            .set("y", tenth(HEIGHT - height))
            .set("width", tenth((step - 1.0).max(1.0)))
            .set("height", tenth(height))
            .set("class", "bar")
            .add(Title::new(format!("{range}: {}", grouped(*count))));
        body = body.add(bar);
    }
    for (bin, mark) in &figure.marks {
        body = body.add(label(MARGIN + (*bin as f64 + 0.5) * step, HEIGHT + 17.0, mark));
    }
    let axis = line([MARGIN, HEIGHT], [WIDTH - MARGIN, HEIGHT]);
    picture(WIDTH, HEIGHT + FOOT, figure.title).add(body).add(axis)
}

/// Expected against observed, with the diagonal on which they should lie.
fn curve(calibration: &Calibration) -> Document {
    let left = 30.0;
    let x = |value: f64| left + value * (SQUARE - left - MARGIN);
    let y = |value: f64| MARGIN + (1.0 - value) * (SQUARE - 2.0 * MARGIN);
    let bins: Vec<_> = calibration.bins.iter().filter(|bin| bin.positions > 0).collect();
    let points: Vec<String> = bins
        .iter()
        .map(|bin| format!("{},{}", tenth(x(bin.expected)), tenth(y(bin.observed))))
        .collect();
    let mut body = Group::new()
        .add(line([x(0.0), y(0.0)], [x(1.0), y(1.0)]))
        .add(line([x(0.0), y(0.0)], [x(1.0), y(0.0)]))
        .add(line([x(0.0), y(0.0)], [x(0.0), y(1.0)]))
        .add(Polyline::new().set("points", points.join(" ")).set("class", "curve"));
    for bin in bins {
        let said = format!(
            "expected {:.3}, came {:.3}, {} positions",
            bin.expected,
            bin.observed,
            grouped(bin.positions)
        );
        let dot = Circle::new()
            .set("cx", tenth(x(bin.expected)))
            .set("cy", tenth(y(bin.observed)))
            .set("r", 4)
            .set("class", "bar");
        body = body.add(dot.add(Title::new(said)));
    }
    for (value, mark) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
        body = body.add(label(x(value), y(0.0) + 18.0, mark));
        body = body.add(label(left - 14.0, y(value) + 4.0, mark));
    }
    picture(SQUARE, SQUARE + 8.0, "calibration").add(body)
}

fn picture(width: f64, height: f64, title: &str) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("role", "img")
        .set("aria-label", title)
}

fn line(from: [f64; 2], to: [f64; 2]) -> Line {
    let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(tenth);
    Line::new().set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2).set("class", "axis")
}

fn label(x: f64, y: f64, text: &str) -> Text {
    Text::new(text)
        .set("x", tenth(x))
        .set("y", tenth(y))
        .set("class", "mark")
        .set("text-anchor", "middle")
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Text that means itself in HTML.
fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
