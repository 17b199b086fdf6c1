//! Curves over two axes, and rankings with whiskers, as SVG in the colours of a page's theme.

use maud::{Markup, html};

use super::colour::SERIES;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChartLine {
    pub name: String,
    /// Colour, counted from 0; colours repeat after six.
    pub colour: usize,
    pub dashed: bool,
    /// Whether each point has a mark.
    pub dots: bool,
    /// Points, each x and y; non-finite points are left out.
    pub points: Vec<[f64; 2]>,
    /// Intervals around the curve, each x, low and high.
    pub band: Vec<[f64; 3]>,
    /// Intervals along the x axis, each y, low and high.
    pub whiskers: Vec<[f64; 3]>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart<'a> {
    /// Text for screen readers.
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Whether it shows expected against observed results: both axes from 0 to 1, and the diagonal.
    pub calibration: bool,
    /// Names of a ranking's rows from the top, at y = 0, 1 and so on. If empty, y is a number.
    pub rows: Vec<String>,
    pub lines: Vec<ChartLine>,
}

/// Width and height of usual charts, and of calibration charts.
const SIZES: [[f64; 2]; 2] = [[460.0, 300.0], [360.0, 360.0]];
/// Height of a row of a ranking.
const ROW: f64 = 26.0;
/// Longest name of a row in characters; longer ones are cut.
const NAME: usize = 22;
/// The largest number of steps between the marks of an axis.
const STEPS: f64 = 6.0;

impl Chart<'_> {
    /// Draws the picture with its legend. Without data it is a sentence.
    pub fn to_markup(&self) -> Markup {
        let Some((x, y)) = self.axis_ranges() else {
            return html! { p.soft { "Nothing to draw." } };
        };
        let [width, mut height] = SIZES[usize::from(self.calibration)];
        let (top, foot) = (8.0, 52.0);
        let y_marks = self.y_marks(y);
        let longest = y_marks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        // Marks with many decimals need space beside the name of the axis.
        let mut left = 54.0 + 8.0 * longest.saturating_sub(2).max(4) as f64;
        if !self.rows.is_empty() {
            height = top + foot + ROW * self.rows.len() as f64;
            left = 16.0 + 8.4 * longest.max(6) as f64;
        }
        let (right, bottom) = (width - 24.0, height - foot);
        let share = |[low, high]: [f64; 2], value: f64| (value - low) / (high - low);
        let x_pixel = |value: f64| left + (right - left) * share(x, value);
        let y_pixel = |value: f64| bottom + (top - bottom) * share(y, value);
        let path = |points: &mut dyn Iterator<Item = [f64; 2]>| {
            let point = |[x, y]: [f64; 2]| format!("{:.1} {:.1}", x_pixel(x), y_pixel(y));
            format!("M{}", points.map(point).collect::<Vec<_>>().join("L"))
        };
        html! {
            svg.chart viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(self.title) {
                path.axis d={ "M" (left) " " (top) "V" (bottom) "H" (right) } {}
                @for (mark, text) in axis_marks(x) {
                    path.axis d={ "M" (x_pixel(mark)) " " (top) "V" (bottom + 5.0) } {}
                    text x=(x_pixel(mark)) y=(bottom + 20.0) text-anchor="middle" { (text) }
                }
                @for (mark, text) in &y_marks {
                    path.axis d={ "M" (left - 5.0) " " (y_pixel(*mark)) "H" (right) } {}
                    text x=(left - 9.0) y=(y_pixel(*mark) + 4.0) text-anchor="end" { (text) }
                }
                text x=((left + right) / 2.0) y=(height - 10.0) text-anchor="middle" { (self.x) }
                text transform={ "translate(20 " ((top + bottom) / 2.0) ") rotate(-90)" }
                    text-anchor="middle" { (self.y) }
                @if self.calibration { path.diagonal d=(path(&mut [0, 1].map(|i| [x[i], y[i]]).into_iter())) {} }
                @for line in &self.lines {
                    g style={ "--c: var(--s" (line.colour % SERIES) ")" } {
                        @if line.band.len() > 1 {
                            @let low = line.band.iter().map(|[x, low, _]| [*x, *low]);
                            @let high = line.band.iter().rev().map(|[x, _, high]| [*x, *high]);
                            path.band d=(path(&mut low.chain(high))) {}
                        }
                        @if self.rows.is_empty() && line.finite_points().count() > 1 {
                            path.line.dashed[line.dashed] d=(path(&mut line.finite_points())) {}
                        }
                        @for [y, low, high] in &line.whiskers {
                            path.line d={
                                (path(&mut [[*low, *y], [*high, *y]].into_iter()))
                                @for end in [low, high] {
                                    "M" (x_pixel(*end)) " " (y_pixel(*y) - 5.0) "v10"
                                }
                            } {}
                        }
                        @for [x, y] in line.finite_points().filter(|_| line.dots || line.points.len() == 1) {
                            circle cx=(x_pixel(x)) cy=(y_pixel(y)) r="3" {}
                        }
                    }
                }
            }
            @if self.named_lines().next().is_some() {
                div.legend {
                    @for line in self.named_lines() {
                        span.dashed[line.dashed] style={ "--c: var(--s" (line.colour % SERIES) ")" } {
                            (line.name)
                        }
                    }
                }
            }
        }
    }

    /// Iterates over the lines with a name and points.
    fn named_lines(&self) -> impl Iterator<Item = &ChartLine> {
        self.lines.iter().filter(|line| !line.name.is_empty() && !line.points.is_empty())
    }

    /// Returns the ranges of the axes; None without points.
    fn axis_ranges(&self) -> Option<([f64; 2], [f64; 2])> {
        if self.calibration {
            return Some(([0.0, 1.0], [0.0, 1.0]));
        }
        let points = self.lines.iter().flat_map(ChartLine::finite_points);
        let bands = self.lines.iter().flat_map(|line| &line.band);
        let bands = bands.flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]);
        let whiskers = self.lines.iter().flat_map(|line| &line.whiskers);
        let whiskers = whiskers.flat_map(|[y, low, high]| [[*low, *y], [*high, *y]]);
        let all = points.chain(bands).chain(whiskers);
        let mut ends: Option<([f64; 2], [f64; 2])> = None;
        for [x, y] in all.filter(|point| point.iter().all(|it| it.is_finite())) {
            let ([x0, x1], [y0, y1]) = ends.unwrap_or(([x; 2], [y; 2]));
            ends = Some(([x0.min(x), x1.max(x)], [y0.min(y), y1.max(y)]));
        }
        let (x, y) = ends?;
        let widen = |[low, high]: [f64; 2], share: f64| {
            let span = [high - low, low.abs(), 1.0].into_iter().find(|it| *it > 0.0).unwrap_or(1.0);
            [low - share * span, high + share * span]
        };
        let wide = match x {
            // An axis that would start near zero starts at zero, so that charts of a run line up.
            [low, high] if 0.0 < low && 4.0 * low < high => [0.0, high],
            [low, high] if low < high && self.rows.is_empty() => x,
            [low, high] if low < high => widen(x, 0.05),
            _ => widen(x, 0.5),
        };
        match self.rows.len() {
            0 => Some((wide, widen(y, 0.05))),
            rows => Some((wide, [rows as f64 - 0.5, -0.5])),
        }
    }

    /// Returns marks of the y axis and their texts: round numbers, or the names of the rows.
    fn y_marks(&self, y: [f64; 2]) -> Vec<(f64, String)> {
        if self.rows.is_empty() {
            return axis_marks(y);
        }
        let is_long = |name: &String| name.chars().count() > NAME;
        let cut =
            |name: &String| name.chars().take(NAME).chain(is_long(name).then_some('…')).collect();
        self.rows.iter().enumerate().map(|(row, name)| (row as f64, cut(name))).collect()
    }
}

impl ChartLine {
    fn finite_points(&self) -> impl Iterator<Item = [f64; 2]> {
        self.points.iter().copied().filter(|point| point.iter().all(|it| it.is_finite()))
    }
}

/// Returns round numbers on an axis, evenly spaced, and their texts.
fn axis_marks([low, high]: [f64; 2]) -> Vec<(f64, String)> {
    let rough = (high - low) / STEPS;
    let power = 10_f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0].into_iter().find(|it| it * power >= rough).unwrap_or(10.0);
    let first = (low / step - 1e-6).ceil();
    let digits = (-(step * 1.0001).log10().floor()).clamp(0.0, 8.0) as usize;
    let marks = (0..20).map(|i| (first + f64::from(i)) * step);
    let marks = marks.take_while(|mark| *mark <= high + 1e-6 * step);
    // Adding zero removes the sign of a negative zero.
    marks.map(|mark| (mark, format_mark(mark + 0.0, digits))).collect()
}

/// Formats a mark of an axis: "12.3 k", "1.23 M", or with `digits` decimals.
fn format_mark(value: f64, digits: usize) -> String {
    let (unit, name) = match value.abs() {
        it if it >= 1e9 => (1e9, " G"),
        it if it >= 1e6 => (1e6, " M"),
        it if it >= 1e4 => (1e3, " k"),
        _ => return format!("{value:.digits$}"),
    };
    let scaled = value / unit;
    let decimals = 2_usize.saturating_sub(scaled.abs().log10() as usize);
    let text = format!("{scaled:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{name}")
}

pub(super) const STYLE: &str = "
svg.chart text { fill: var(--soft); font-size: 13px; }
.chart path { fill: none; stroke: var(--c); } .chart circle { fill: var(--c); }
.chart .axis { stroke: var(--line); } .chart .diagonal { stroke: var(--soft); }
.chart .band { fill: var(--c); stroke: none; opacity: .15; }
.chart .line { stroke-width: 2; } .chart .dashed { stroke-dasharray: 6 4; }
@media (max-width: 40rem) { svg.chart text { font-size: 15px; } }
";
