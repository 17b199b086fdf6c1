//! Numbers in readable form.

/// Formats a share from 0 to 1 as "3.4 %", with two significant digits.
pub fn format_percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".to_string(),
        p if p < 0.01 => "under 0.01 %".to_string(),
        p if p < 0.1 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p if p > 99.9 && p < 100.0 => "over 99.9 %".to_string(),
        p => format!("{p:.0} %"),
    }
}

/// A share of 0 to 1 as "3.40 %", with so many decimals.
pub fn format_decimal_percent(share: f64, decimals: usize) -> String {
    format!("{:.decimals$} %", 100.0 * share)
}

/// Divides `count` by `total`; 0 if `total` is 0.
pub fn share_of(count: u64, total: u64) -> f64 {
    count as f64 / total.max(1) as f64
}

/// Formats 1234567 as "1,234,567".
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number and its noun: "1 game", "2,000 games".
pub fn count_noun(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", group_digits(number))
}

/// Formats a number of positions with the number of their games, which may be unknown in part.
pub fn positions_of_games(positions: u64, games: u64, gameless: u64) -> String {
    let format_positions =
        |games: String, positions| format!("{} of {games}", count_noun(positions, "position"));
    let unknown = format_positions("unknown games".into(), gameless);
    let known = format_positions(count_noun(games, "game"), positions.saturating_sub(gameless));
    match (games, gameless) {
        (0, _) => format_positions("unknown games".into(), positions),
        (_, 0) => known,
        _ => format!("{known}, and {unknown}"),
    }
}

/// Formats seconds as "0.4 s", "12 s", "3 min 20 s" or "2 h 10 min".
pub fn format_duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

pub fn format_gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Formats 1234567 as "1.23 M".
pub fn format_short(number: f64) -> String {
    match number.abs() {
        n if n >= 1e9 => format!("{:.2} G", number / 1e9),
        n if n >= 1e6 => format!("{:.2} M", number / 1e6),
        n if n >= 1e4 => format!("{:.1} k", number / 1e3),
        _ => format!("{number:.0}"),
    }
}
