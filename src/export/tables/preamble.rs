//! The comments of source code: where numbers come from and how an engine adds them up.

use super::source::{Order, Rounded, Style, Tapering, Tuned};
use crate::sums::{SAFETY_ENDGAME, SAFETY_MIDDLEGAME};
use crate::terms::Kind;

/// Characters a line of a comment may have beyond its mark.
const WIDTH: usize = 92;

/// What stands above the arrays, in lines without marks of comments. `tempo` is the identifier of
/// its constant.
pub(super) fn lines(tuned: &Tuned, style: Style, all: &[Rounded], tempo: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |text: String| lines.extend(wrapped(&text));
    say("Terms of a handcrafted evaluation, in centipawns: middlegame (mg) and endgame (eg)."
        .into());
    if !tuned.source.trim().is_empty() {
        say(format!("Source: {}", tuned.source));
    }
    let scale = tuned.scale;
    say(format!("Scale: {scale}; the expected score is 1 / (1 + exp(-value / {scale}))."));
    say(String::new());
    tapering(tuned.tapering, tempo).into_iter().for_each(&mut say);
    for kind in Kind::ALL {
        if all.iter().any(|rounded| rounded.array.kind == kind) {
            meaning(kind).into_iter().for_each(&mut say);
        }
    }
    if all.iter().any(|rounded| rounded.array.is_board()) {
        say(String::new());
        say(match style.order {
            Order::A1First => {
                "Boards begin with a1, b1, ... and end with h8. With a1 = 0, b1 = 1, ... h8 = 63: \
                 [square] for White's pieces, [square ^ 56] for Black's."
            }
            Order::A8First => {
                "Boards begin with a8, b8, ... and end with h1, as a diagram shows them. With \
                 a1 = 0, b1 = 1, ... h8 = 63: [square ^ 56] for White's pieces, [square] for Black's."
            }
        }
        .into());
    }
    lines
}

/// How mg and eg become a value, in short lines.
fn tapering(tapering: Tapering, tempo: &str) -> Vec<String> {
    let moves = format!("{tempo} is added for the side to move, whatever the phase.");
    let phase = [
        "rho   = (256 * (24 - phase) + 12) / 24, integer division".to_string(),
        "phase = knights + bishops + 2 * rooks + 4 * queens of both sides, at most 24".to_string(),
    ];
    let [begin, end] = match tapering {
        Tapering::Ours { scale_factor: true } => [
            "value = (256 - rho) / 256 * mg + ksi * rho / 256 * eg for White".to_string(),
            format!("ksi is 1, or less in endgames that are hard to win. {moves}"),
        ],
        Tapering::Ours { scale_factor: false } => {
            ["value = (256 - rho) / 256 * mg + rho / 256 * eg for White".to_string(), moves]
        }
        Tapering::Engine(units) => {
            let [phase, factor] = match units {
                Some(units) => units.map(|unit| unit.to_string()),
                None => ["(the list's phase)", "(the list's scale)"].map(String::from),
            };
            return vec![
                "value = share * mg + factor * (1 - share) * eg for White".to_string(),
                format!("share = phase / {phase}, factor = scale factor / {factor}"),
                format!(
                    "Phase and scale factor are the engine's own, as it printed them in its \
                     traces. {moves}"
                ),
            ];
        }
    };
    [vec![begin], phase.to_vec(), vec![end]].concat()
}

/// How terms of a kind enter mg and eg, in short lines.
fn meaning(kind: Kind) -> Vec<String> {
    match kind {
        Kind::Normal => {
            vec!["normal: the count of White minus that of Black, times the pair.".to_string()]
        }
        Kind::Safety => vec![
            "safety: a side's counts times the pairs add up to the danger (x, y) of its king;"
                .into(),
            format!("mg gains -x * max(0, x) / {SAFETY_MIDDLEGAME} of White minus that of Black,"),
            format!("eg gains -max(0, y) / {SAFETY_ENDGAME} of White minus that of Black."),
        ],
        Kind::Complexity => vec![
            "complexity: the counts times the numbers, which have no mg, add up to c; last of all"
                .into(),
            "eg gains sign(eg) * max(-|eg|, c), which never turns its sign.".to_string(),
        ],
    }
}

/// The words of a text on lines of at most [`WIDTH`] characters, longer words apart, safe in a
/// `//` comment of any language.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in safe(text).split(' ') {
        let line = lines.last_mut().expect("it begins with a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A backslash would join lines, and so would the trigraph `??/` in C; other languages refuse
/// invisible characters.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '\\' => '/',
            c if c.is_whitespace() => ' ',
            c if c.is_ascii_graphic() || c.is_alphanumeric() => c,
            _ => '?',
        };
        if !(c == '?' && safe.ends_with('?')) {
            safe.push(c);
        }
    }
    safe.trim().to_string()
}

/// Lines with the mark of a comment before them.
pub(super) fn marked(mark: &str, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", format!("{mark} {line}").trim_end())).collect()
}
