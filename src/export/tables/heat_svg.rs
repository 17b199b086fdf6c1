//! All tables as one SVG that stands alone: boards as heat-maps, other arrays as bars.

use svg::Document;
use svg::node::element::{Group, Rectangle, Style, Title};

use super::heat::{Picture, PictureError, whole};
use super::plot::{self, Anchor, Bars, label, printable};
use super::shape::Array;
use crate::draw::colour::{STEPS, class, css};
use crate::report::tenths;
use crate::terms::Kind;

/// Width and height of a square; all lengths are in pixels.
const CELL: [f64; 2] = [40.0, 32.0];
const MARGIN: f64 = 32.0;
/// Left of a board, for the numbers of ranks.
const RANKS: f64 = 18.0;
pub(super) const COLUMN: f64 = RANKS + 8.0 * CELL[0];
const GAP: f64 = 40.0;
const WIDTH: f64 = 2.0 * (MARGIN + COLUMN) + GAP;
/// From one row of boards to the next.
const BOARD: f64 = 8.0 * CELL[1] + 86.0;
/// From one single term to the next.
const LINE: f64 = 20.0;
/// A field of the legend.
const SWATCH: f64 = 14.0;
/// Characters of the name of a single term.
const NAME: usize = 30;

/// Of this picture alone: inside a page these rules hold for all of it.
const FONTS: &str = ".terms text { font-family: system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', \
    'DejaVu Sans', sans-serif; font-size: 12px; font-variant-numeric: tabular-nums; }\n\
    .terms text.title { font-size: 22px; font-weight: 600; }\n\
    .terms text.head { font-size: 14px; font-weight: 600; }\n\
    .terms text.small { font-size: 10px; }\n";

const PHASES: [&str; 2] = ["middlegame", "endgame"];

/// What remains to be placed, from the top down.
struct Page {
    body: Group,
    top: f64,
}

/// The picture. Weights are centipawns, `scale` of them a unit of logit. Each board has its own
/// colours: the faintest at its mean, the strongest at the value furthest from it, so that boards
/// with small numbers show their pattern as well as those with large ones.
///
/// # Errors
/// A list without shape, or numbers that are not one for each term.
pub fn svg(picture: &Picture, title: &str, scale: f64) -> Result<String, PictureError> {
    let arrays = picture.arrays()?;
    let mut page = Page { body: Group::new(), top: MARGIN };
    page.head(title, scale);
    for array in arrays.iter().filter(|array| array.is_board()) {
        page.boards(picture, array);
    }
    let long = arrays.iter().filter(|array| !array.axes.is_empty() && !array.is_board());
    page.bars(picture, &long.collect::<Vec<_>>());
    let single: Vec<&Array> = arrays.iter().filter(|array| array.axes.is_empty()).collect();
    page.singles(picture, &single);
    let height = page.top + MARGIN - 8.0;
    let paper = Rectangle::new().set("width", WIDTH).set("height", height).set("class", "paper");
    let document = Document::new()
        .set("viewBox", (0, 0, WIDTH, height))
        .set("width", WIDTH)
        .set("height", height)
        .set("role", "img")
        .set("class", "terms")
        .add(Title::new(printable(title)))
        .add(Style::new(format!("{FONTS}{}", css())))
        .add(paper)
        .add(page.body);
    Ok(format!("{document}\n"))
}

/// The left edge of a column.
fn left(column: usize) -> f64 {
    MARGIN + column as f64 * (COLUMN + GAP)
}

impl Page {
    fn add(&mut self, node: impl Into<Box<dyn svg::Node>>) {
        self.body = std::mem::take(&mut self.body).add(node);
    }

    /// Title, units and legend.
    fn head(&mut self, title: &str, scale: f64) {
        self.add(label(MARGIN, self.top + 12.0, Anchor::Start, "title", title));
        let units = format!(
            "Centipawns; sigmoid(cp / {scale}) is the expected result. Boards as the owner of the \
             piece sees them, a8 at the top left."
        );
        self.add(label(MARGIN, self.top + 38.0, Anchor::Start, "soft", &units));
        self.top += 56.0;
        let mut x = MARGIN;
        for step in -STEPS..=STEPS {
            let swatch = Rectangle::new()
                .set("x", x)
                .set("y", self.top)
                .set("width", SWATCH + 0.5)
                .set("height", SWATCH);
            self.add(Group::new().set("class", class(step)).add(swatch));
            x += SWATCH;
        }
        let middle = MARGIN + (x - MARGIN) / 2.0;
        let y = self.top + SWATCH + 14.0;
        self.add(label(MARGIN, y, Anchor::Start, "soft", "below"));
        self.add(label(middle, y, Anchor::Middle, "soft", "mean of the board"));
        self.add(label(x, y, Anchor::End, "soft", "above"));
        x += 24.0;
        for (phase, name) in ["mg", "eg"].into_iter().zip(PHASES) {
            let swatch = Rectangle::new()
                .set("x", x)
                .set("y", self.top)
                .set("width", SWATCH)
                .set("height", SWATCH)
                .set("class", phase);
            self.add(swatch);
            self.add(label(x + 20.0, self.top + 11.0, Anchor::Start, "", &format!("{name} bars")));
            x += 132.0;
        }
        self.top += 52.0;
    }

    /// One row for each board of an array: middlegame, endgame.
    fn boards(&mut self, picture: &Picture, array: &Array) {
        for (name, terms) in array.blocks(1) {
            let phases = if array.kind == Kind::Complexity { 1..2 } else { 0..2 };
            for phase in phases {
                let values: Vec<Option<f64>> =
                    terms.iter().map(|term| picture.value(*term, phase)).collect();
                self.board(left(phase), &name, PHASES[phase], &values);
            }
            self.top += BOARD;
        }
    }

    fn board(&mut self, x: f64, name: &str, phase: &str, values: &[Option<f64>]) {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let span = known.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        let note = match known.len() {
            0 => format!("{phase}, never seen"),
            _ => format!("{phase}, mean {}, colours ± {}", tenths(mean), whole(span)),
        };
        self.add(label(x + RANKS, self.top + 4.0, Anchor::Start, "head", name));
        self.add(label(x + RANKS, self.top + 21.0, Anchor::Start, "soft", &note));
        let top = self.top + 29.0;
        for (square, value) in values.iter().enumerate() {
            let (file, rank) = (square % 8, square / 8);
            let corner = [x + RANKS + file as f64 * CELL[0], top + (7 - rank) as f64 * CELL[1]];
            self.add(cell(corner, *value, mean, span));
        }
        for rank in 0..8 {
            let y = top + (7 - rank) as f64 * CELL[1] + CELL[1] / 2.0 + 4.0;
            self.add(label(x + 6.0, y, Anchor::Middle, "soft", &(rank + 1).to_string()));
        }
        for (place, file) in ('a'..='h').enumerate() {
            let x = x + RANKS + (place as f64 + 0.5) * CELL[0];
            let y = top + 8.0 * CELL[1] + 15.0;
            self.add(label(x, y, Anchor::Middle, "soft", &file.to_string()));
        }
    }

    /// Charts in two columns, one for each row of an array.
    fn bars(&mut self, picture: &Picture, arrays: &[&Array]) {
        let mut column = 0;
        for array in arrays {
            let axis = array.axes.last().expect("an array with axes has a last one");
            let labels: Vec<String> = (0..axis.len()).map(|place| axis.label(place)).collect();
            for (name, terms) in array.blocks(1) {
                let value = |term: &usize| [0, 1].map(|phase| picture.value(*term, phase));
                let bars = Bars {
                    name: &name,
                    labels: &labels,
                    values: &terms.iter().map(value).collect::<Vec<_>>(),
                    endgame_only: array.kind == Kind::Complexity,
                };
                self.add(bars.chart(left(column), self.top, COLUMN));
                column = (column + 1) % 2;
                if column == 0 {
                    self.top += plot::HEIGHT;
                }
            }
        }
        if column == 1 {
            self.top += plot::HEIGHT;
        }
    }

    /// Terms that belong to no array, in two columns of lines.
    fn singles(&mut self, picture: &Picture, arrays: &[&Array]) {
        if arrays.is_empty() {
            return;
        }
        let lines = arrays.len().div_ceil(2);
        for (place, array) in arrays.iter().enumerate() {
            let (column, line) = (place / lines, place % lines);
            let end = left(column) + COLUMN;
            let y = self.top + 24.0 + LINE * line as f64;
            self.add(label(left(column) + RANKS, y, Anchor::Start, "", &shortened(&array.name)));
            for phase in 0..2 {
                let shown = phase == 1 || array.kind != Kind::Complexity;
                let value = picture.value(array.terms[0], phase).filter(|_| shown);
                let text = value.map_or_else(|| "–".to_string(), tenths);
                let x = end - 64.0 * (1 - phase) as f64;
                self.add(label(x, y, Anchor::End, "", &text));
            }
        }
        for column in 0..arrays.len().min(2) {
            let end = left(column) + COLUMN;
            self.add(label(left(column) + RANKS, self.top, Anchor::Start, "head", "single terms"));
            self.add(label(end - 64.0, self.top, Anchor::End, "soft", PHASES[0]));
            self.add(label(end, self.top, Anchor::End, "soft", PHASES[1]));
        }
        self.top += 24.0 + LINE * lines as f64;
    }
}

/// A name cut to the room beside two numbers.
fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_string();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

/// A square in the colour of its value, with the value in it.
fn cell([x, y]: [f64; 2], value: Option<f64>, mean: f64, span: f64) -> Group {
    let square = Rectangle::new()
        .set("x", x + 0.5)
        .set("y", y + 0.5)
        .set("width", CELL[0] - 1.0)
        .set("height", CELL[1] - 1.0)
        .set("rx", 3);
    let Some(value) = value else {
        return Group::new().set("class", "blank").add(square);
    };
    let share = if span > 0.0 { (value - mean) / span } else { 0.0 };
    let step = (share * f64::from(STEPS)).round() as i32;
    let text = whole(value);
    let size = if text.len() > 5 { "small" } else { "" };
    let text = label(x + CELL[0] / 2.0, y + CELL[1] / 2.0 + 4.0, Anchor::Middle, size, &text);
    Group::new().set("class", class(step)).add(square).add(text)
}
