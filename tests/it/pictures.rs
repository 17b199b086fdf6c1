use std::collections::HashMap;

use nnuance::export::tables::heat::Picture;
use nnuance::export::tables::heat_svg::svg;
use nnuance::terms::Kind;

use crate::tables::{list, realistic, squares, weights};

#[test]
fn text_shows_boards_as_white_sees_them() {
    let list = list(squares().iter().map(|square| (format!("at.{square}"), Kind::Normal)));
    let weights: Vec<[f64; 2]> = (0..64).map(|square| [square as f64, -7.5]).collect();
    let mut seen = vec![true; 64];
    seen[0] = false;
    let picture = Picture { list: &list, weights: &weights, seen: Some(&seen) };
    let text = picture.text().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("at mg, mean 32.0") && lines[0].contains("at eg, mean -7.5"));
    assert!(lines[1].starts_with("8 56██ 57██") && lines[1].contains("8 -8   -8"), "{}", lines[1]);
    assert!(lines[8].starts_with("1  ·    1  "), "{}", lines[8]);
    let short = Picture { list: &list, weights: &weights[1..], seen: None };
    assert!(short.text().unwrap_err().to_string().contains("63 weights"));
}

/// The colours of the rules such as `.p3 text { fill: #000000; }`, by what stands before the brace.
fn colours(css: &str) -> HashMap<&str, [f64; 3]> {
    let rules = css.lines().filter_map(|line| line.split_once(" { fill: #"));
    let channel = |hex: &str, at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    rules.map(|(rule, hex)| (rule, [0, 2, 4].map(|at| channel(hex, at)))).collect()
}

#[test]
fn numbers_are_readable_on_every_colour_of_both_themes() {
    let list = list([("a", Kind::Normal)]);
    let picture = Picture { list: &list, weights: &[[1.0, 2.0]], seen: None };
    let svg = svg(&picture, "t", 400.0).unwrap();
    let css = &svg[svg.find("<style>").unwrap()..svg.find("</style>").unwrap()];
    let (light, dark) = css.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let luminance = |[r, g, b]: [f64; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    for theme in [light, dark] {
        let colours = colours(theme);
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(colours[a]), luminance(colours[b]));
            a.max(b) / a.min(b)
        };
        for step in 0..=10 {
            for side in ["n", "p"].into_iter().filter(|side| step > 0 || *side == "p") {
                let class = format!(".{side}{step}");
                assert!(contrast(&format!("{class} rect"), &format!("{class} text")) >= 4.5);
            }
        }
        assert!(contrast("text", ".paper") >= 7.0);
        assert!(contrast("text.soft", ".paper") >= 4.5);
        assert!(contrast(".mg", ".paper") >= 3.0 && contrast(".eg", ".paper") >= 3.0);
        assert!(
            contrast(".p10 rect", ".p0 rect") >= 3.0 && contrast(".n10 rect", ".p0 rect") >= 3.0
        );
    }
}

#[test]
fn the_picture_shows_every_value_once() {
    let mut terms = realistic();
    terms.terms.retain(|entry| entry.name.starts_with("psqt.") || entry.name.contains("at."));
    let odd =
        list([("a<b>&\u{1}", Kind::Complexity), ("m.0", Kind::Normal), ("m.1", Kind::Normal)]);
    terms.terms.extend(odd.terms);
    let weights = weights(&terms);
    let rare = |name: &str| name.starts_with("psqt.pawn.") && name.ends_with(['1', '8']);
    let seen: Vec<bool> = terms.terms.iter().map(|entry| !rare(&entry.name)).collect();
    let picture = Picture { list: &terms, weights: &weights, seen: Some(&seen) };
    let svg = svg(&picture, "1 < 2", 123.5).unwrap();
    let count = |text: &str| svg.matches(text).count();
    assert_eq!(count("class=\"blank\""), 2 * 16);
    // Six boards of two phases and one of one, 64 squares each; 16 squares blank; the legend.
    assert_eq!(count("<g class=\"p") + count("<g class=\"n"), 13 * 64 - 2 * 16 + 21);
    assert_eq!(count("class=\"mg\"") + count("class=\"eg\""), 4 + 2);
    assert!(svg.contains("1 &lt; 2") && svg.contains("a&lt;b&gt;&amp; ") && !svg.contains('\u{1}'));
    assert!(svg.contains("123.5"));
    assert_eq!(count("–"), 1);
    // White's left rook begins in the lower left corner.
    let a1 = terms.terms.iter().position(|entry| entry.name == "psqt.rook.a1").unwrap();
    let board = &svg[svg.find("psqt.rook").unwrap()..];
    let square = |text: &str| -> Vec<f64> {
        let value = format!("\n{}\n", text);
        let end = board.find(&value).unwrap();
        let tag = &board[board[..end].rfind("<text").unwrap()..end];
        ["x", "y"]
            .map(|key| {
                let from = tag.find(&format!(" {key}=\"")).unwrap() + 4;
                tag[from..].split('"').next().unwrap().parse().unwrap()
            })
            .to_vec()
    };
    let value = |term: usize| format!("{}", weights[term][0].round());
    let (a1, h8) = (square(&value(a1)), square(&value(a1 + 63)));
    assert_eq!((h8[0] - a1[0], a1[1] - h8[1]), (7.0 * 40.0, 7.0 * 32.0));
    let nowhere = Picture { list: &terms, weights: &[], seen: None };
    assert!(svg_error(&nowhere).contains("0 weights"));
}

fn svg_error(picture: &Picture) -> String {
    svg(picture, "", 400.0).unwrap_err().to_string()
}

#[test]
fn odd_numbers_make_no_trouble() {
    let names = squares().into_iter().map(|square| format!("at.{square}"));
    let list = list(names.chain(["m.0".into(), "m.1".into()]).map(|name| (name, Kind::Normal)));
    for odd in [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN, 5e-324, -0.0] {
        let mut weights = vec![[odd; 2]; list.len()];
        weights[1] = [-odd, 0.0];
        weights[65] = [-odd, 1.0];
        let picture = Picture { list: &list, weights: &weights, seen: None };
        assert!(svg(&picture, "", f64::NAN).unwrap().ends_with("</svg>\n"));
        assert!(picture.text().unwrap().contains("at mg"));
    }
}
