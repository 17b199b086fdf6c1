//! Chess boards as SVG inside a page, squares coloured by a number.

use maud::{Markup, html};

/// Pixels per square; everything scales with the page.
const CELL: usize = 40;
/// Pixels below and left of the squares, for the names of files and ranks.
const EDGE: usize = 16;

/// Draws a board coloured by numbers, a1 first, with the numbers in it. The faintest colour means
/// their mean, the strongest the largest distance from it. Squares without a number are blank.
pub fn heat_board(title: &str, values: &[Option<f64>]) -> Markup {
    let known = || values.iter().flatten();
    let mean = known().sum::<f64>() / known().count().max(1) as f64;
    let span = known().fold(0.0, |span: f64, value| span.max((value - mean).abs()));
    let square = |value: Option<f64>| match value {
        None => html! { g.blank { rect x="0.5" y="0.5" width="39" height="39" {} } },
        Some(value) => {
            let share = if span > 0.0 { (value - mean) / span } else { 0.0 };
            let low = share < 0.0;
            let percent = (10.0 * share.abs()).round() * 10.0;
            html! {
                g.low[low].high[!low].strong[percent > 60.0] style={ "--share: " (percent) "%" } {
                    rect width="40" height="40" {}
                    text x="20" y="24" text-anchor="middle" { (format_whole(value)) }
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

/// Lower-case letters of pieces, and their outlines on a square of [`CELL`].
const PIECES: [(char, &str); 6] = [
    (
        'p',
        "M20 9a5 5 0 0 1 3 9c3 2 3.5 5 2.5 8 2.5 1.5 4 4 4.5 7H10c.5-3 2-5.5 4.5-7-1-3-.5-6 2.5-8a5 5 0 0 1 3-9z",
    ),
    ('n', "M13 33c0-7 3-9 6-13-3 0-5 2.5-8 3.5l-2-3c3-3 4.5-8 9-10.5L18 7l4 2c7 2 9 9 8 24z"),
    (
        'b',
        "M20 6a2.5 2.5 0 0 1 2 4c4.5 3.5 6.5 8 3.5 13.5l1.5 4.5 4 1.5V33H9v-3.5l4-1.5 1.5-4.5c-3-5.5-1-10 3.5-13.5a2.5 2.5 0 0 1 2-4z",
    ),
    ('r', "M11 9h4v3h3V9h4v3h3V9h4v7l-3 3v8l3 3v3H11v-3l3-3v-8l-3-3z"),
    ('q', "M8 12l5.5 9L15 9l5 12 5-12 1.5 12 5.5-9-3 14 1 3v4H10v-4l1-3z"),
    (
        'k',
        "M18.5 5h3v3h3v3h-3v3.5c5-3.5 10-.5 9 4-.5 3-2.5 5.5-3.5 7.5l1 3v4H12v-4l1-3c-1-2-3-4.5-3.5-7.5-1-4.5 4-7.5 9-4V11h-3V8h3z",
    ),
];

/// Draws the outlines of pieces that [positions](position_board) on the same page refer to.
pub fn piece_outlines() -> Markup {
    html! {
        svg.shapes aria-hidden="true" {
            @for (letter, outline) in PIECES { path id={ "piece-" (letter) } d=(outline) {} }
        }
    }
}

/// Draws the board of a FEN, with White below. [`piece_outlines`] must be on the page.
pub fn position_board(fen: &str) -> Markup {
    let ranks = fen.split(' ').next().unwrap_or_default().split('/').enumerate();
    let pieces = ranks.flat_map(|(row, rank)| {
        let place_letter = move |column: &mut usize, letter: char| {
            let x = *column * CELL;
            *column += letter.to_digit(10).map_or(1, |empty| empty as usize);
            Some((x, row * CELL, letter))
        };
        rank.chars().scan(0, place_letter).filter(|(.., letter)| letter.is_alphabetic())
    });
    let dark: String = (0..8)
        .map(|row| {
            let column =
                |i: usize| format!("M{} {}h40v40h-40z", (2 * i + 1 - row % 2) * CELL, row * CELL);
            (0..4).map(column).collect::<String>()
        })
        .collect();
    html! {
        svg.position viewBox="0 0 320 320" role="img" aria-label=(fen) {
            rect width="320" height="320" {}
            path d=(dark) {}
            @for (x, y, letter) in pieces {
                use class=[letter.is_ascii_uppercase().then_some("white")] x=(x) y=(y)
                    href={ "#piece-" (letter.to_ascii_lowercase()) } {}
            }
        }
    }
}

/// Formats without decimals; zero has no sign.
pub fn format_whole(value: f64) -> String {
    let text = format!("{value:.0}");
    if text == "-0" { "0".to_string() } else { text }
}

/// Style rules of boards. Mixtures along a line in Oklab look even (B. Ottosson, "A perceptual color
/// space for image processing"). The ends of the scale contrast with the paper of each theme.
pub(super) const STYLE: &str = "
.shapes { position: absolute; width: 0; height: 0; }
.position rect { fill: #e6e2da; } .position path { fill: #b4aa9c; }
.position use { fill: #24262b; stroke: #f4f2ee; stroke-width: .8; }
.position .white { fill: #fff; stroke: #24262b; stroke-width: 1.4; }
.squares text { font: 12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
  fill: var(--ink); }
.squares .edge { fill: var(--soft); } .squares .strong text { fill: var(--paper); }
.blank rect { fill: none; stroke: var(--line); }
.low rect { fill: color-mix(in oklab, var(--low) var(--share), var(--middle)); }
.high rect { fill: color-mix(in oklab, var(--high) var(--share), var(--middle)); }
";
