//! Curves over two axes, as SVG inside a page.
//!
//! plotters writes colours as attributes, which any rule of a style sheet overrules: [`style`] maps
//! them to the page's theme, so that one picture works for light, dark and paper.

use maud::{Markup, PreEscaped, html};
use plotters::chart::ChartBuilder;
use plotters::prelude::{
    Circle, DashedLineSeries, IntoDrawingArea, IntoFont, LineSeries, PathElement, Polygon,
    RGBColor, SVGBackend,
};
use plotters::style::{Color, ShapeStyle, TextStyle};

use super::colour::{LIGHT, Rgb, SERIES, hex};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub name: String,
    /// Colour, counted from 0; colours repeat after six.
    pub colour: usize,
    pub dashed: bool,
    /// Whether each point has a mark.
    pub dots: bool,
    /// x and y; non-finite points are left out.
    pub points: Vec<[f64; 2]>,
    /// x, low and high: an interval around the curve.
    pub band: Vec<[f64; 3]>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart<'a> {
    /// Text for screen readers.
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Expected against observed: both axes from 0 to 1, and the diagonal.
    pub calibration: bool,
    pub lines: Vec<Line>,
}

const SIZE: (u32, u32) = (460, 300);
const SQUARE: (u32, u32) = (360, 360);
/// Size of the font; plotters scales it to some 13 pixels.
const FONT: f64 = 16.0;

impl Chart<'_> {
    /// The picture with its legend; a sentence if there is no data.
    pub fn markup(&self) -> Markup {
        let Some((x, y)) = self.ranges() else {
            return html! { p.soft { "Nothing to draw." } };
        };
        let mut text = String::new();
        let size = if self.calibration { SQUARE } else { SIZE };
        let drawn = self.draw(&mut text, size, x, y);
        // Only the back end can fail, and writing to a string cannot.
        drawn.expect("an SVG in memory can always be written");
        let role =
            format!("<svg role=\"img\" aria-label=\"{}\" class=\"chart\" ", safe(self.title));
        let text = text.replacen("<svg ", &role, 1);
        html! {
            (PreEscaped(text))
            @if self.lines.iter().any(|line| !line.name.is_empty()) {
                div.legend {
                    @for line in self.lines.iter().filter(|line| !line.name.is_empty()) {
                        span.dashed[line.dashed] style={ "--c: var(--s" (line.colour % SERIES) ")" } {
                            (line.name)
                        }
                    }
                }
            }
        }
    }

    /// Ranges of the axes; none without points.
    fn ranges(&self) -> Option<([f64; 2], [f64; 2])> {
        if self.calibration {
            return Some(([0.0, 1.0], [0.0, 1.0]));
        }
        let points = self.lines.iter().flat_map(Line::finite);
        let bands = self.lines.iter().flat_map(|line| &line.band);
        let all = points.chain(bands.flat_map(|[x, low, high]| [[*x, *low], [*x, *high]]));
        let mut ends: Option<([f64; 2], [f64; 2])> = None;
        for [x, y] in all.filter(|point| point.iter().all(|it| it.is_finite())) {
            let ([x0, x1], [y0, y1]) = ends.unwrap_or(([x; 2], [y; 2]));
            ends = Some(([x0.min(x), x1.max(x)], [y0.min(y), y1.max(y)]));
        }
        let (x, y) = ends?;
        let room = |[low, high]: [f64; 2], share: f64| {
            let span = if high > low { high - low } else { low.abs().max(1.0) };
            [low - share * span, high + share * span]
        };
        let wide = match x {
            // Axes that start near zero start there, so that charts of a run line up.
            [low, high] if 0.0 < low && 4.0 * low < high => [0.0, high],
            [low, high] if low < high => x,
            _ => room(x, 0.5),
        };
        Some((wide, room(y, 0.05)))
    }

    fn draw(&self, text: &mut String, size: (u32, u32), x: [f64; 2], y: [f64; 2]) -> DrawResult {
        let area = SVGBackend::with_string(text, size).into_drawing_area();
        let mut builder = ChartBuilder::on(&area);
        // Marks with many decimals need space beside the name of the axis.
        let marks = 46 + 8 * digits(y[1] - y[0]).max(4) as u32;
        builder.margin(8).margin_right(24).x_label_area_size(44).y_label_area_size(marks);
        let mut chart = builder.build_cartesian_2d(x[0]..x[1], y[0]..y[1])?;
        let text = |colour: Rgb| -> TextStyle<'static> {
            ("sans-serif", FONT).into_font().color(&rgb(colour))
        };
        let [x_digits, y_digits] = [x, y].map(|[low, high]| digits(high - low));
        chart
            .configure_mesh()
            .axis_style(rgb(LIGHT.line))
            .bold_line_style(rgb(LIGHT.line))
            .light_line_style(plotters::style::TRANSPARENT)
            .label_style(text(LIGHT.soft))
            .axis_desc_style(text(LIGHT.soft))
            .x_labels(5)
            .y_labels(6)
            .x_label_formatter(&|value| short(*value, x_digits))
            .y_label_formatter(&|value| short(*value, y_digits))
            .x_desc(self.x)
            .y_desc(self.y)
            .draw()?;
        if self.calibration {
            chart.draw_series([PathElement::new([(0.0, 0.0), (1.0, 1.0)], rgb(LIGHT.soft))])?;
        }
        for line in &self.lines {
            let colour = rgb(LIGHT.series[line.colour % SERIES]);
            if line.band.len() > 1 {
                let low = line.band.iter().map(|[x, low, _]| (*x, *low));
                let high = line.band.iter().rev().map(|[x, _, high]| (*x, *high));
                let around: Vec<_> = low.chain(high).collect();
                chart.draw_series([Polygon::new(around, colour.mix(0.15))])?;
            }
            let points: Vec<_> = line.finite().map(|[x, y]| (x, y)).collect();
            let points = || points.iter().copied();
            let stroke: ShapeStyle = colour.stroke_width(2);
            match line.dashed {
                true => chart.draw_series(DashedLineSeries::new(points(), 6, 4, stroke))?,
                false => chart.draw_series(LineSeries::new(points(), stroke))?,
            };
            if line.dots || line.points.len() == 1 {
                chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        area.present()?;
        Ok(())
    }
}

impl Line {
    fn finite(&self) -> impl Iterator<Item = [f64; 2]> {
        self.points.iter().copied().filter(|point| point.iter().all(|it| it.is_finite()))
    }
}

type DrawResult = Result<(), Box<dyn std::error::Error>>;

fn rgb([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

/// Decimals needed to distinguish the marks of an axis.
fn digits(span: f64) -> usize {
    (1.5 - span.log10()).ceil().clamp(0.0, 8.0) as usize
}

/// Formats a mark of an axis: "12.3 k", "1.23 M", or with `digits` decimals.
fn short(value: f64, digits: usize) -> String {
    let (unit, name) = match value.abs() {
        it if it >= 1e9 => (1e9, " G"),
        it if it >= 1e6 => (1e6, " M"),
        it if it >= 1e4 => (1e3, " k"),
        _ => return format!("{value:.digits$}"),
    };
    let scaled = value / unit;
    let places = 2_usize.saturating_sub(scaled.abs().log10() as usize);
    let text = format!("{scaled:.places$}");
    let text = if places > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{name}")
}

fn safe(text: &str) -> String {
    html! { (text) }.into_string().replace('"', "&quot;")
}

/// Style rules that map the colours of charts to the page's theme.
pub(super) fn style() -> String {
    let mut css = String::new();
    let mut rule = |colour: Rgb, name: &str| {
        let colour = hex(colour).to_uppercase();
        css += &format!(
            ".chart [fill=\"{colour}\"] {{ fill: var(--{name}); }}\n\
             .chart [stroke=\"{colour}\"] {{ stroke: var(--{name}); }}\n"
        );
    };
    rule(LIGHT.line, "line");
    rule(LIGHT.soft, "soft");
    LIGHT.series.iter().enumerate().for_each(|(i, colour)| rule(*colour, &format!("s{i}")));
    css + ".chart text { font-family: inherit; }\n"
}
