//! The colours of pictures and pages, in a light and a dark theme.

use std::fmt::Write;

/// Steps of the diverging scale on either side of its middle.
pub const STEPS: i32 = 10;

/// Colours that tell the curves of one chart apart.
pub const SERIES: usize = 6;

pub(super) type Rgb = [u8; 3];

pub(super) struct Theme {
    pub(super) paper: Rgb,
    pub(super) ink: Rgb,
    pub(super) soft: Rgb,
    pub(super) line: Rgb,
    /// Bars of the middlegame and of the endgame.
    phases: [Rgb; 2],
    /// Furthest below, at, and furthest above the middle of the scale. Orange and blue are told
    /// apart by colour-blind readers too.
    pub(super) scale: [Rgb; 3],
    /// Of curves; told apart by colour-blind readers too (M. Okabe, K. Ito, "Color Universal
    /// Design").
    pub(super) series: [Rgb; SERIES],
    /// Good, worth a note, and bad.
    verdicts: [Rgb; 3],
}

pub(super) const LIGHT: Theme = Theme {
    paper: [255, 255, 255],
    ink: [28, 30, 33],
    soft: [98, 104, 112],
    line: [216, 219, 223],
    phases: [[84, 84, 168], [22, 152, 132]],
    scale: [[166, 76, 8], [245, 244, 240], [28, 98, 176]],
    series: [
        [0, 114, 178],
        [213, 94, 0],
        [0, 138, 100],
        [176, 82, 138],
        [176, 122, 0],
        [64, 148, 201],
    ],
    verdicts: [[29, 122, 69], [138, 90, 0], [179, 38, 30]],
};

pub(super) const DARK: Theme = Theme {
    paper: [20, 22, 26],
    ink: [233, 235, 238],
    soft: [150, 157, 167],
    line: [58, 63, 71],
    phases: [[150, 150, 240], [66, 196, 172]],
    scale: [[238, 144, 62], [42, 45, 52], [92, 166, 246]],
    series: [
        [92, 172, 238],
        [245, 140, 70],
        [70, 200, 158],
        [224, 140, 190],
        [230, 184, 70],
        [150, 208, 245],
    ],
    verdicts: [[99, 196, 141], [224, 173, 75], [255, 138, 128]],
};

/// The class of a step of the scale, `-STEPS..=STEPS`.
pub fn class(step: i32) -> String {
    if step < 0 { format!("n{}", -step) } else { format!("p{step}") }
}

/// The style sheet: the light theme, and the dark one where the reader asks for it.
pub fn css() -> String {
    format!("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", theme(&LIGHT), theme(&DARK))
}

/// The themes as variables of a page: `--paper`, `--ink`, `--soft`, `--line`, `--s0` and so on
/// for curves, `--ok`, `--note` and `--problem`, `--low` and `--high` for the ends of the scale.
pub(super) fn variables() -> String {
    let of = |theme: &Theme| {
        let mut css = String::new();
        let mut set = |name: &str, colour: Rgb| {
            let _ = write!(css, " --{name}: {};", hex(colour));
        };
        set("paper", theme.paper);
        set("ink", theme.ink);
        set("soft", theme.soft);
        set("line", theme.line);
        theme.series.iter().enumerate().for_each(|(i, colour)| set(&format!("s{i}"), *colour));
        ["ok", "note", "problem"].iter().zip(theme.verdicts).for_each(|(name, it)| set(name, it));
        set("low", theme.scale[0]);
        set("high", theme.scale[2]);
        css
    };
    format!(
        ":root {{ color-scheme: light dark;{} }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{{} }} }}\n\
         @media print {{ :root {{ color-scheme: light;{} }} }}\n",
        of(&LIGHT),
        of(&DARK),
        of(&LIGHT)
    )
}

fn theme(theme: &Theme) -> String {
    let mut css = String::new();
    let mut rule = |place: &str, colour: Rgb| {
        let _ = writeln!(css, "{place}: {}; }}", hex(colour));
    };
    rule(".paper { fill", theme.paper);
    rule("text { fill", theme.ink);
    rule("text.soft { fill", theme.soft);
    rule(".line { stroke", theme.line);
    rule(".blank rect { fill: none; stroke", theme.line);
    rule(".mg { fill", theme.phases[0]);
    rule(".eg { fill", theme.phases[1]);
    for step in -STEPS..=STEPS {
        let [low, middle, high] = theme.scale;
        let end = if step < 0 { low } else { high };
        let colour = mix(middle, end, f64::from(step.abs()) / f64::from(STEPS));
        let class = class(step);
        rule(&format!(".{class} rect {{ fill"), colour);
        rule(&format!(".{class} text {{ fill"), ink(colour));
    }
    css
}

pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Black or white, whichever is easier to read on a colour: the contrast of WCAG 2 is the ratio of
/// luminances, 0.05 added to each.
fn ink(colour: Rgb) -> Rgb {
    let [red, green, blue] = colour.map(linear);
    let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) { [0; 3] } else { [255; 3] }
}

/// A mixture that looks even: along a straight line in Oklab (B. Ottosson, "A perceptual color
/// space for image processing").
fn mix(from: Rgb, to: Rgb, share: f64) -> Rgb {
    let (from, to) = (oklab(from), oklab(to));
    let [l, a, b] = [0, 1, 2].map(|i| from[i] + (to[i] - from[i]) * share);
    let cube = |x: f64| x * x * x;
    let long = cube(l + 0.3963377774 * a + 0.2158037573 * b);
    let medium = cube(l - 0.1055613458 * a - 0.0638541728 * b);
    let short = cube(l - 0.0894841775 * a - 1.2914855480 * b);
    [
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    ]
    .map(|light| {
        let value = match light {
            light if light <= 0.0031308 => 12.92 * light,
            light => 1.055 * light.powf(1.0 / 2.4) - 0.055,
        };
        (value * 255.0).round().clamp(0.0, 255.0) as u8
    })
}

fn oklab(colour: Rgb) -> [f64; 3] {
    let [red, green, blue] = colour.map(linear);
    let long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue).cbrt();
    let medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue).cbrt();
    let short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue).cbrt();
    [
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    ]
}

/// Light of a channel of sRGB, 0 to 1.
fn linear(channel: u8) -> f64 {
    let value = f64::from(channel) / 255.0;
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}
