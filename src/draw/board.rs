//! Chess boards as SVG inside a page, squares coloured by a number.

use maud::{Markup, html};

/// Pixels of a square; everything scales with the page.
const CELL: usize = 40;
/// Below and left of the squares, for files and ranks.
const EDGE: usize = 16;

/// A board coloured by numbers, with the numbers in it. The faintest colour means `middle`, the
/// strongest `span` or more away. Squares without a number are blank.
pub fn heat(title: &str, values: &[Option<f64>; 64], middle: f64, span: f64) -> Markup {
    let square = |value: Option<f64>| match value {
        None => html! { g.blank { rect x="0.5" y="0.5" width="39" height="39" {} } },
        Some(value) => {
            let share = if span > 0.0 { ((value - middle) / span).clamp(-1.0, 1.0) } else { 0.0 };
            let (low, percent) = (share < 0.0, (10.0 * share.abs()).round() * 10.0);
            html! {
                g.low[low].high[!low].strong[percent > 60.0] style={ "--share: " (percent) "%" } {
                    rect width="40" height="40" {}
                    text x="20" y="24" text-anchor="middle" { (whole(value)) }
                }
            }
        }
    };
    let (width, height) = (EDGE + 8 * CELL, 8 * CELL + EDGE);
    html! {
        svg.squares viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(title) {
            @for (number, value) in values.iter().enumerate() {
                g transform={
                    "translate(" (EDGE + number % 8 * CELL) " " ((7 - number / 8) * CELL) ")"
                } { (square(*value)) }
            }
            @for rank in 0..8 {
                text.edge x="7" y=((7 - rank) * CELL + 25) text-anchor="middle" { (rank + 1) }
            }
            @for (file, name) in ('a'..='h').enumerate() {
                text.edge x=(EDGE + file * CELL + 20) y=(8 * CELL + 12) text-anchor="middle" {
                    (name)
                }
            }
        }
    }
}

/// Formats without decimals; zero has no sign.
pub fn whole(value: f64) -> String {
    let text = format!("{value:.0}");
    if text == "-0" { "0".to_string() } else { text }
}

/// Style rules of boards. Mixtures along a line in Oklab look even (B. Ottosson, "A perceptual color
/// space for image processing"). The ends of the scale are dark in the light theme, and light in the
/// dark one.
pub(super) const STYLE: &str = "
.squares text { font: 12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
  fill: var(--ink); }
.squares .edge { fill: var(--soft); } .squares .strong text { fill: var(--paper); }
.blank rect { fill: none; stroke: var(--line); }
.low rect { fill: color-mix(in oklab, var(--low) var(--share), var(--middle)); }
.high rect { fill: color-mix(in oklab, var(--high) var(--share), var(--middle)); }
";
