//! Pictures and pages: right, whole, and without anything to load.

use maud::html;
use nnuance::draw::chart::bars;
use nnuance::draw::sprite::Sprite;
use nnuance::draw::{Chart, Line, Section, board, page};
use nnuance::report::{Align, Table};

/// Everything that a page may not do: load, run, or name a place elsewhere.
pub fn stands_alone(html: &str) {
    for forbidden in ["<script", "@import", "src=\"http", "href=\"http", "url(", "<iframe"] {
        assert!(!html.contains(forbidden), "the page has {forbidden}");
    }
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("width=device-width"));
    // Every opened element of the kinds that hold others is closed.
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
fn what_a_user_named_is_text_and_nothing_else() {
    let mut table = Table::new(&[("<i>", Align::Left)]);
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
fn a_chart_takes_its_colours_from_the_theme() {
    let chart = Chart { lines: vec![line(&[[0.0, 1.0], [1.0, 2.0]])], ..Chart::default() };
    let html = page("chart", &html! {}, &[Section::new("", chart.markup())]);
    let svg = &html[html.find("<svg").unwrap()..html.find("</svg>").unwrap()];
    for (place, _) in svg.match_indices("=\"#") {
        let colour = &svg[place + 2..place + 9];
        let rule = format!("[stroke=\"{colour}\"]");
        assert!(html.contains(&rule), "no rule turns {colour} into a colour of the theme");
    }
    stands_alone(&html);
}

#[test]
fn the_men_of_a_board() {
    let pieces = board::pieces("r3k3/8/8/8/8/8/4P3/7K w - - 0 1").unwrap();
    let placed: Vec<(usize, char)> =
        pieces.iter().enumerate().filter_map(|(square, piece)| Some((square, (*piece)?))).collect();
    assert_eq!(placed, [(7, 'K'), (12, 'P'), (56, 'r'), (60, 'k')]);
    for wrong in
        ["", "8/8/8/8/8/8/8", "9/8/8/8/8/8/8/8", "ppppppppp/8/8/8/8/8/8/8", "7/8/8/8/8/8/8/8"]
    {
        assert_eq!(board::pieces(wrong), None, "{wrong}");
    }
}

#[test]
fn a_sprite_is_a_pixel_a_number() {
    let mut squares = [0.0_f32; 64];
    squares[0] = 2.0;
    squares[63] = -4.0;
    let mut sprite = Sprite::new(9, 8);
    sprite.board(0, 0, &squares, 4.0);
    let bytes = sprite.png(1, true);
    let decoder = png::Decoder::new(std::io::Cursor::new(&bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (9, 8));
    let at = |column: usize, row: usize| pixels[row * 9 + column];
    // a1 lies at the lower left, h8 at the upper right; entry 128 of the palette is zero.
    assert_eq!((at(0, 7), at(7, 0), at(3, 3), at(8, 4)), (128 + 64, 1, 128, 128));
    assert!(sprite.address().starts_with("data:image/png;base64,iVBOR"));
    assert_eq!(sprite.png(4, false).get(16..24), Some(&[0, 0, 0, 36, 0, 0, 0, 32][..]));
}

/// A long mark below the first or the last bar is held by its end.
#[test]
fn marks_of_bars_stay_inside() {
    let marks = [(0, "below -1.88"), (20, "0.00"), (39, "from 2.88 on")];
    let marks = marks.map(|(bar, mark)| (bar, mark.to_string()));
    let svg = bars("b", &[1; 40], &marks, &|_, _| String::new()).into_string();
    for part in [
        "x=\"0\" y=\"190\" text-anchor=\"start\"",
        "text-anchor=\"middle\">0.00",
        "x=\"460\" y=\"190\" text-anchor=\"end\"",
    ] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
}

/// Charts of one run begin at zero where their data begin near it; others keep their range.
#[test]
fn what_begins_near_zero_begins_there() {
    let svg = |from: f64| {
        let lines = vec![line(&[[from, 1.0], [100.0, 2.0]])];
        Chart { lines, ..Chart::default() }.markup().into_string()
    };
    let zero = |svg: &str| svg.contains(">\n0\n</text>") || svg.contains(">\n0.0\n</text>");
    assert!(zero(&svg(5.0)) && !zero(&svg(50.0)), "{}", svg(5.0));
}
