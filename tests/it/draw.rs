//! Pictures and pages: correct, complete, self-contained.

use maud::html;
use nnuance::draw::sprite::Sprite;
use nnuance::draw::{Chart, Line, Section, page};
use nnuance::report::Table;

/// Checks that a page loads nothing, runs nothing and closes its elements.
pub fn stands_alone(html: &str) {
    for forbidden in ["<script", "@import", "src=\"http", "href=\"http", "url(", "<iframe"] {
        assert!(!html.contains(forbidden), "the page has {forbidden}");
    }
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("width=device-width"));
    // Every element with contents is closed.
    for element in ["section", "figure", "table", "div", "svg", "g", "details", "p", "tr"] {
        let opened = html.matches(&format!("<{element}>")).count()
            + html.matches(&format!("<{element} ")).count();
        let shut = html.matches(&format!("</{element}>")).count();
        assert_eq!(opened, shut, "<{element}>");
    }
}

fn line(points: &[[f64; 2]]) -> Line {
    Line { name: "net".into(), points: points.to_vec(), ..Line::default() }
}

#[test]
fn names_are_escaped() {
    let mut table = Table::titled(&["<<i>"]);
    table.row(["<b>&\""]);
    let body = table.markup();
    let html = page("<script>alert(1)</script>", &html! {}, &[Section::new("a & b", body)]);
    assert!(!html.contains("<script>") && !html.contains("<b>") && !html.contains("<i>"));
    assert!(html.contains("&lt;script&gt;") && html.contains("a &amp; b"));
    let chart =
        Chart { title: "\"<x>", lines: vec![line(&[[0.0, 0.0], [1.0, 1.0]])], ..Chart::default() };
    let svg = chart.markup().into_string();
    assert!(svg.contains("aria-label=\"&quot;&lt;x&gt;\""), "{}", &svg[..200]);
}

#[test]
fn long_titles_are_cut() {
    let name = "n".repeat(60);
    let mut table = Table::titled(&["result", &name, &name, "<position"]);
    table.row(["0.5", "12", "-1234567890", "a b c d e f g h i j k l"]);
    let text = table.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("-1234567890"));
}

#[test]
fn charts_bear_any_numbers() {
    let nothing: [&[[f64; 2]]; 3] = [&[], &[[f64::NAN, 1.0]], &[[0.0, f64::INFINITY]]];
    for points in nothing {
        let chart = Chart { lines: vec![line(points)], ..Chart::default() };
        assert!(chart.markup().into_string().contains("Nothing to draw"));
    }
    let some: [&[[f64; 2]]; 6] = [
        &[[1.0, 1.0]],
        &[[0.0, 0.0], [0.0, 0.0]],
        &[[-1e300, -1e300], [1e300, 1e300]],
        &[[1.0, 1e-300], [2.0, 2e-300]],
        &[[5e8, 0.1], [1e9, 0.2], [f64::NAN, 7.0]],
        &[[1e-9, 1e9], [2e-9, 1e9 + 1e-6]],
    ];
    for points in some {
        let chart = Chart { lines: vec![line(points)], ..Chart::default() };
        let svg = chart.markup().into_string();
        assert!(svg.contains("<svg") && !svg.contains("NaN"), "{points:?}");
    }
}

#[test]
fn sprite_is_a_pixel_a_number() {
    let mut squares = [0.0_f32; 64];
    squares[0] = 2.0;
    squares[63] = -4.0;
    let mut sprite = Sprite::new(9, 8);
    sprite.board(0, 0, &squares, 4.0);
    let bytes = sprite.png();
    let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (9, 8));
    let at = |column: usize, row: usize| pixels[row * 9 + column];
    // a1 lies at the lower left, h8 at the upper right; entry 128 of the palette is zero.
    assert_eq!((at(0, 7), at(7, 0), at(3, 3), at(8, 4)), (128 + 64, 1, 128, 128));
    assert!(sprite.address().starts_with("data:image/png;base64,iVBOR"));
}
