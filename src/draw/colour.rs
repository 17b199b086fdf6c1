//! The colours of pictures and pages, in a light and a dark theme.

use std::fmt::Write;

/// Colours for the curves of one chart.
pub const SERIES: usize = 6;
pub(super) type Rgb = [u8; 3];

pub(super) struct Theme {
    pub(super) paper: Rgb,
    pub(super) ink: Rgb,
    pub(super) soft: Rgb,
    pub(super) line: Rgb,
    /// Colours below, at and above the middle, also distinct for colour-blind readers.
    pub(super) scale: [Rgb; 3],
    /// Colours of curves in hexadecimal, after M. Okabe, K. Ito, "Color Universal Design".
    series: [u32; SERIES],
}

pub(super) const LIGHT: Theme = Theme {
    paper: [255, 255, 255],
    ink: [28, 30, 33],
    soft: [98, 104, 112],
    line: [216, 219, 223],
    scale: [[166, 76, 8], [245, 244, 240], [28, 98, 176]],
    series: [0x0072b2, 0xd55e00, 0x008a64, 0xb0528a, 0xb07a00, 0x4094c9],
};

pub(super) const DARK: Theme = Theme {
    paper: [20, 22, 26],
    ink: [233, 235, 238],
    soft: [150, 157, 167],
    line: [58, 63, 71],
    scale: [[238, 144, 62], [42, 45, 52], [92, 166, 246]],
    series: [0x5cacee, 0xf58c46, 0x46c89e, 0xe08cbe, 0xe6b846, 0x96d0f5],
};

/// The themes as variables of a page: `--paper`, `--ink`, `--soft`, `--line`, `--s0` and so on
/// for curves, `--low`, `--middle` and `--high` for the scale.
pub(super) fn variables() -> String {
    let of = |theme: &Theme| {
        let mut css = String::new();
        let mut set = |name: &str, [red, green, blue]: Rgb| {
            let _ = write!(css, " --{name}: #{red:02x}{green:02x}{blue:02x};");
        };
        set("paper", theme.paper);
        set("ink", theme.ink);
        set("soft", theme.soft);
        set("line", theme.line);
        ["low", "middle", "high"].iter().zip(theme.scale).for_each(|(name, it)| set(name, it));
        for (i, colour) in theme.series.iter().enumerate() {
            let _ = write!(css, " --s{i}: #{colour:06x};");
        }
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
