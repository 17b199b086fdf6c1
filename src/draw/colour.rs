//! The colours of pictures and pages, in a light and a dark theme.

/// Colours for the curves of one chart.
pub const SERIES: usize = 6;

pub(super) struct Theme {
    /// Colours of paper, ink, soft ink and lines.
    plain: [u32; 4],
    /// Colours below, at and above the middle; distinct for colour-blind readers too.
    pub(super) scale: [[u8; 3]; 3],
    /// Colours of curves, after M. Okabe, K. Ito, "Color Universal Design".
    series: [u32; SERIES],
}

pub(super) const LIGHT: Theme = Theme {
    plain: [0xffffff, 0x1c1e21, 0x626870, 0xd8dbdf],
    scale: [[166, 76, 8], [245, 244, 240], [28, 98, 176]],
    series: [0x0072b2, 0xd55e00, 0x008a64, 0xb0528a, 0xb07a00, 0x4094c9],
};

pub(super) const DARK: Theme = Theme {
    plain: [0x14161a, 0xe9ebee, 0x969da7, 0x3a3f47],
    scale: [[238, 144, 62], [42, 45, 52], [92, 166, 246]],
    series: [0x5cacee, 0xf58c46, 0x46c89e, 0xe08cbe, 0xe6b846, 0x96d0f5],
};

/// Writes the themes as variables of a page: `--paper`, `--ink`, `--soft`, `--line`, `--low`,
/// `--middle` and `--high` for the scale, `--s0` and so on for curves.
pub(super) fn theme_variables() -> String {
    let variables = |theme: &Theme| {
        let scale = theme.scale.map(|[red, green, blue]| u32::from_be_bytes([0, red, green, blue]));
        let names = ["paper", "ink", "soft", "line", "low", "middle", "high"].map(String::from);
        let colours = names.into_iter().zip(theme.plain.into_iter().chain(scale));
        let series = theme.series.into_iter().enumerate().map(|(i, it)| (format!("s{i}"), it));
        colours.chain(series).map(|(name, it)| format!(" --{name}: #{it:06x};")).collect::<String>()
    };
    format!(
        ":root {{ color-scheme: light dark;{} }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{{} }} }}\n\
         @media print {{ :root {{ color-scheme: light;{} }} }}\n",
        variables(&LIGHT),
        variables(&DARK),
        variables(&LIGHT)
    )
}
