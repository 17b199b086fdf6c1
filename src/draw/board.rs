//! Chess boards as SVG inside a page: diagrams, and squares coloured by a number.

use maud::{Markup, html};

use super::colour::{STEPS, class, css};

/// Pixels of a square; everything scales with the page.
const CELL: usize = 40;
/// Below and left of the squares, for files and ranks.
const EDGE: usize = 16;

/// A diagram. Pieces by square, a1 = 0, as letters of a FEN.
pub fn diagram(title: &str, pieces: &[Option<char>; 64]) -> Markup {
    board(title, |square| {
        let dark = (square / 8 + square % 8) % 2 == 0;
        let piece = pieces[square].map(glyph);
        html! {
            rect class=(if dark { "dark" } else { "light" }) width="40" height="40" {}
            @if let Some((glyph, colour)) = piece {
                text.man.(colour) x="20" y="31" text-anchor="middle" { (glyph) }
            }
        }
    })
}

/// The pieces of a FEN's board by square, a1 = 0; none where its first field is no board.
pub fn pieces(fen: &str) -> Option<[Option<char>; 64]> {
    let mut pieces = [None; 64];
    let ranks: Vec<&str> = fen.split_whitespace().next()?.split('/').collect();
    let ranks: [&str; 8] = ranks.try_into().ok()?;
    for (rank, text) in ranks.into_iter().rev().enumerate() {
        let mut file = 0;
        for letter in text.chars() {
            match letter.to_digit(10) {
                Some(empty) => file += empty as usize,
                None => {
                    *pieces.get_mut(8 * rank + file).filter(|_| file < 8)? = Some(letter);
                    file += 1;
                }
            }
        }
        (file == 8).then_some(())?;
    }
    Some(pieces)
}

/// A board coloured by numbers, with the numbers in it. The faintest colour stands for `middle`,
/// the strongest for what is `span` or more away. A square without a number is blank.
pub fn heat(title: &str, values: &[Option<f64>; 64], middle: f64, span: f64) -> Markup {
    board(title, |square| match values[square] {
        None => html! { g.blank { rect x="0.5" y="0.5" width="39" height="39" {} } },
        Some(value) => {
            let share = if span > 0.0 { ((value - middle) / span).clamp(-1.0, 1.0) } else { 0.0 };
            let step = (share * f64::from(STEPS)).round() as i32;
            html! {
                g class=(class(step)) {
                    rect width="40" height="40" {}
                    text x="20" y="24" text-anchor="middle" { (whole(value)) }
                }
            }
        }
    })
}

fn board(title: &str, square: impl Fn(usize) -> Markup) -> Markup {
    let (width, height) = (EDGE + 8 * CELL, 8 * CELL + EDGE);
    html! {
        svg.squares viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(title) {
            @for number in 0..64 {
                g transform={
                    "translate(" (EDGE + number % 8 * CELL) " " ((7 - number / 8) * CELL) ")"
                } { (square(number)) }
            }
            @for rank in 0..8 {
                text.edge x="7" y=((7 - rank) * CELL + 25) text-anchor="middle" { (rank + 1) }
            }
            @for (file, name) in ('a'..='h').enumerate() {
                text.edge x=(EDGE + file * CELL + 20) y=(8 * CELL + 14) text-anchor="middle" {
                    (name)
                }
            }
        }
    }
}

/// The filled glyph serves both colours; the variation selector keeps it text on every phone.
fn glyph(piece: char) -> (String, &'static str) {
    let glyph = match piece.to_ascii_lowercase() {
        'p' => '♟',
        'n' => '♞',
        'b' => '♝',
        'r' => '♜',
        'q' => '♛',
        _ => '♚',
    };
    (format!("{glyph}\u{fe0e}"), if piece.is_uppercase() { "white" } else { "black" })
}

/// No decimals; what rounds to nothing has no sign.
pub fn whole(value: f64) -> String {
    let text = format!("{value:.0}");
    if text == "-0" { "0".to_string() } else { text }
}

/// The rules of boards. A diagram keeps its colours in both themes: white pieces are white.
pub(super) fn style() -> String {
    format!(
        ".squares text {{ font: 12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }}\n\
         {}.squares .edge {{ fill: var(--soft); }}\n\
         .squares .light {{ fill: #e9e4d8; }} .squares .dark {{ fill: #a9b4a2; }}\n\
         .squares .man {{ font: 32px 'DejaVu Sans', 'Segoe UI Symbol', 'Apple Symbols', serif; }}\n\
         .squares .man.white {{ fill: #fff; stroke: #222; stroke-width: 1.2px; }}\n\
         .squares .man.black {{ fill: #1b1b1b; stroke: #eee; stroke-width: .4px; }}\n",
        css()
    )
}
