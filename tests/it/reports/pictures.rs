//! Pictures and pages: correct, complete, self-contained.

use maud::html;
use nnuance::draw::page::render_document;
use nnuance::draw::sprite::Sprite;
use nnuance::draw::{Chart, ChartLine, Section, board, page};
use nnuance::log::LogRow;
use nnuance::report::TextTable;
use nnuance::report::html::{ReportRun, curves_section};

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

fn line(points: &[[f64; 2]]) -> ChartLine {
    ChartLine { name: "net".into(), points: points.to_vec(), ..ChartLine::default() }
}

#[test]
fn names_are_escaped() {
    let mut table = TextTable::with_titles(&["<<i>"]);
    table.add_row(["<b>&\""]);
    let body = table.to_markup();
    let html = page("<script>alert(1)</script>", &html! {}, &[Section::new("a & b", body)]);
    assert!(!html.contains("<script>") && !html.contains("<b>") && !html.contains("<i>"));
    assert!(html.contains("&lt;script&gt;") && html.contains("a &amp; b"));
    let chart =
        Chart { title: "\"<x>", lines: vec![line(&[[0.0, 0.0], [1.0, 1.0]])], ..Chart::default() };
    let svg = chart.to_markup().into_string();
    assert!(svg.contains("aria-label=\"&quot;&lt;x&gt;\""), "{}", &svg[..200]);
}

#[test]
fn long_titles_are_cut() {
    let name = "n".repeat(60);
    let mut table = TextTable::with_titles(&["result", &name, &name, "<position"]);
    table.add_row(["0.5", "12", "-1234567890", "a b c d e f g h i j k l"]);
    let text = table.to_string();
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("-1234567890"));
}

#[test]
fn charts_bear_any_numbers() {
    let nothing: [&[[f64; 2]]; 3] = [&[], &[[f64::NAN, 1.0]], &[[0.0, f64::INFINITY]]];
    for points in nothing {
        let chart = Chart { lines: vec![line(points)], ..Chart::default() };
        assert!(chart.to_markup().into_string().contains("Nothing to draw"));
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
        let svg = chart.to_markup().into_string();
        assert!(svg.contains("<svg") && !svg.contains("NaN"), "{points:?}");
    }
}

#[test]
fn sprite_is_a_pixel_a_number() {
    let mut squares = [0.0_f32; 64];
    squares[0] = 2.0;
    squares[63] = -4.0;
    let mut sprite = Sprite::new(9, 8);
    sprite.draw_board(0, 0, &squares, 4.0);
    let bytes = sprite.encode_png();
    let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (9, 8));
    let at = |column: usize, row: usize| pixels[row * 9 + column];
    // a1 lies at the lower left, h8 at the upper right; entry 128 of the palette is zero.
    assert_eq!((at(0, 7), at(7, 0), at(3, 3), at(8, 4)), (128 + 64, 1, 128, 128));
    assert!(sprite.data_address().starts_with("data:image/png;base64,iVBOR"));
}

#[test]
fn rankings_have_a_row_a_name() {
    let rows = vec!["first".to_string(), "a name of more than 22 letters".to_string()];
    let whiskers = vec![[0.0, 0.07, 0.09], [1.0, 0.08, 0.12]];
    let points = vec![[0.08, 0.0], [0.1, 1.0]];
    let line = ChartLine { points, whiskers, dots: true, ..ChartLine::default() };
    let svg = Chart { rows, lines: vec![line], ..Chart::default() }.to_markup().into_string();
    assert!(svg.contains(">first<") && svg.contains(">a name of more than 22…<"), "{svg}");
    let heights = |start: &str, end: &str| -> Vec<f64> {
        svg.split(start).skip(1).map(|it| it.split(end).next().unwrap().parse().unwrap()).collect()
    };
    // A point a row, from the top, each on the line of its name and within its whisker.
    let points = heights("cy=\"", "\"");
    assert!(points.len() == 2 && points[0] < points[1], "{svg}");
    let x = heights("cx=\"", "\"");
    let whiskers = svg.split("class=\"line\" d=\"M").skip(1);
    for (i, path) in whiskers.enumerate() {
        let (ends, _) = path.split_once('M').unwrap();
        let numbers: Vec<f64> = ends.split(['L', ' ']).map(|it| it.parse().unwrap()).collect();
        assert!(numbers[0] < x[i] && x[i] < numbers[2], "{ends}");
        assert!((numbers[1] - points[i]).abs() < 0.1, "{ends}");
    }
    assert_eq!(svg.matches("class=\"line\"").count(), 2);
}

#[test]
fn loss_axis_begins_after_the_first_tenth() {
    let losses = [(0, 0.5), (5, 0.3), (20, 0.1), (50, 0.09), (100, 0.08)];
    let row = |(step, loss)| LogRow {
        step,
        positions: 1000 * step,
        held_out_loss: Some(loss),
        learning_rate: Some(0.5 - step as f64 / 500.0),
        positions_per_second: (step > 0).then_some(500.0),
        ..LogRow::default()
    };
    let run = ReportRun { rows: losses.map(row).to_vec(), ..ReportRun::default() };
    assert_eq!(run.training_seconds(), Some(200.0));
    let html = curves_section(&[run]).body.into_string();
    let points = |title: &str| {
        let (_, chart) = html.split_once(&format!("<figcaption>{title}<")).unwrap();
        let (_, path) = chart.split_once("class=\"line\" d=\"M").unwrap();
        path.split('"').next().unwrap().split('L').count()
    };
    assert_eq!([points("Loss"), points("Learning rate")], [3, 5]);
}

#[test]
fn boards_have_the_pieces_of_the_fen() {
    let svg = board::position_board("4k3/8/8/8/8/8/P7/4K2r w - - 0 1").into_string();
    let pieces = [
        "<use x=\"160\" y=\"0\" href=\"#piece-k\">",
        "<use class=\"white\" x=\"0\" y=\"240\" href=\"#piece-p\">",
        "<use class=\"white\" x=\"160\" y=\"280\" href=\"#piece-k\">",
        "<use x=\"280\" y=\"280\" href=\"#piece-r\">",
    ];
    assert!(pieces.iter().all(|piece| svg.contains(piece)), "{svg}");
    assert_eq!(svg.matches("<use").count(), pieces.len());
    let shapes = board::piece_outlines().into_string();
    assert!("pnbrqk".chars().all(|it| shapes.contains(&format!("id=\"piece-{it}\""))));
}

#[test]
fn only_pages_of_unfinished_runs_reload() {
    let refresh =
        |reloads| render_document("title", &html! {}, &[], reloads).contains("\"refresh\"");
    assert_eq!([refresh(true), refresh(false)], [true, false]);
}
