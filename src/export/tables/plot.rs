//! Bars of a small array, middlegame and endgame side by side.

use svg::node::element::{Group, Line, Rectangle, Text};

/// Pixels from one chart to the next below it.
pub(super) const HEIGHT: f64 = 196.0;

/// Above and below the bars, and left of them.
const HEAD: f64 = 18.0;
const PLOT: f64 = 128.0;
const AXIS: f64 = 36.0;

/// The narrowest room for a number or a word of one letter.
const LETTER: f64 = 7.5;

/// Where a text stands from its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The numbers of one chart.
pub(super) struct Bars<'a> {
    pub(super) name: &'a str,
    pub(super) labels: &'a [String],
    /// Middlegame and endgame by label; None draws no bar.
    pub(super) values: &'a [[Option<f64>; 2]],
    pub(super) endgame_only: bool,
}

/// A text at a point; `class` may be empty.
pub(super) fn label(x: f64, y: f64, anchor: Anchor, class: &str, text: &str) -> Text {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let node =
        Text::new(printable(text)).set("x", pixel(x)).set("y", pixel(y)).set("text-anchor", anchor);
    if class.is_empty() { node } else { node.set("class", class) }
}

/// XML has no way to write control characters.
pub(super) fn printable(text: &str) -> String {
    text.replace(|c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'), " ")
}

/// A hundredth of a pixel is all that can be seen.
fn pixel(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl Bars<'_> {
    fn phases(&self) -> std::ops::Range<usize> {
        if self.endgame_only { 1..2 } else { 0..2 }
    }

    /// The chart with its top left corner at `x`, `y`.
    pub(super) fn chart(&self, x: f64, y: f64, width: f64) -> Group {
        let shown = self.values.iter().flat_map(|pair| &pair[self.phases()]).flatten();
        let (low, high) =
            shown.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(*value), high.max(*value)));
        let step = tick(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let height = |value: f64| y + HEAD + PLOT * (high - value) / (high - low).max(step);
        let mut group =
            Group::new().add(label(x + AXIS, y + 4.0, Anchor::Start, "head", self.name));
        let ticks = ((high - low) / step).round() as usize;
        for at in 0..=ticks {
            let value = low + at as f64 * step;
            let line = Line::new()
                .set("x1", pixel(x + AXIS))
                .set("x2", pixel(x + width))
                .set("y1", pixel(height(value)))
                .set("y2", pixel(height(value)))
                .set("class", "line")
                .set("stroke-width", if value.abs() < step / 2.0 { 2 } else { 1 });
            group = group.add(line);
            let text = number(value, step);
            let (x, y) = (x + AXIS - 6.0, height(value) + 4.0);
            group = group.add(label(x, y, Anchor::End, "soft", &text));
        }
        let each = (width - AXIS) / self.labels.len() as f64;
        let bar = (each * 0.8 / self.phases().len() as f64).min(22.0);
        let longest = self.labels.iter().map(|label| label.chars().count()).max().unwrap_or(1);
        let room = LETTER * (longest + 1) as f64;
        // Every second, third, ... word where there is no room for all.
        let skip = (room / each).ceil().max(1.0) as usize;
        for (place, (word, pair)) in self.labels.iter().zip(self.values).enumerate() {
            let middle = x + AXIS + (place as f64 + 0.5) * each;
            for (nth, phase) in self.phases().enumerate() {
                let Some(value) = pair[phase] else { continue };
                let first = middle - bar * self.phases().len() as f64 / 2.0;
                let (top, bottom) = (height(value.max(0.0)), height(value.min(0.0)));
                let bar = Rectangle::new()
                    .set("x", pixel(first + nth as f64 * bar))
                    .set("y", pixel(top))
                    .set("width", pixel((bar - 1.0).max(bar * 0.8)))
                    .set("height", pixel(bottom - top))
                    .set("class", ["mg", "eg"][phase]);
                group = group.add(bar);
            }
            if place % skip == 0 {
                let y = y + HEAD + PLOT + 17.0;
                group = group.add(label(middle, y, Anchor::Middle, "soft", word));
            }
        }
        group
    }
}

/// A step of 1, 2 or 5 times a power of ten that parts a span into two to five.
fn tick(span: f64) -> f64 {
    if span <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf((span / 4.0).log10().floor());
    let rest = span / 4.0 / power;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| rest <= *factor).unwrap_or(10.0);
    factor * power
}

/// A value on an axis with as many decimals as its step has.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
    // Adding zero takes the sign off a negative zero.
    format!("{:.decimals$}", (value / step).round() * step + 0.0)
}
