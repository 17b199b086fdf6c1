//! What text and HTML say alike: sentences and the histograms to show.

use super::Examined;
use crate::data::doctor::{Grade, Histogram, Results};
use crate::digits::{counted, grouped, percent, share};

/// The first lines: what the file is and what is in it.
pub fn about(file: &Examined) -> Vec<String> {
    let Examined { format, packed, bytes, seen_by, limited, diagnosis, .. } = file;
    let packed = packed.map_or("not packed".to_string(), |packed| format!("packed with {packed}"));
    let bytes = bytes.map_or(String::new(), |bytes| format!(", {}", counted(bytes, "byte")));
    let seen_by = if *seen_by == "white" { "White" } else { "the side to move" };
    let first = if *limited { "the first " } else { "" };
    let games = match diagnosis.games {
        Some(games) => format!(" of {}", counted(games, "game")),
        None => ", games unknown".to_string(),
    };
    vec![
        format!("{format}, {packed}{bytes}; scores and results seen by {seen_by}"),
        format!("{first}{}{games}", counted(diagnosis.positions, "position")),
    ]
}

/// Fit or not, with the number of findings.
pub fn verdict(file: &Examined) -> String {
    let [notes, problems] =
        [Grade::Note, Grade::Problem].map(|grade| file.diagnosis.count(grade) as u64);
    let notes = match notes {
        0 => "nothing to note".to_string(),
        count => counted(count, "note"),
    };
    match problems {
        0 => format!("FIT TO TRAIN ON, {notes}"),
        count => format!("NOT FIT TO TRAIN ON: {}, {notes}", counted(count, "problem")),
    }
}

pub fn grade(grade: Grade) -> &'static str {
    match grade {
        Grade::Ok => "ok",
        Grade::Note => "note",
        Grade::Problem => "PROBLEM",
    }
}

/// Results as rows of a table: whose, then wins, draws and losses.
pub fn results(file: &Examined) -> Vec<(&'static str, [String; 3])> {
    let cells = |it: &Results| {
        let total = it.total();
        [it.wins, it.draws, it.losses]
            .map(|count| format!("{} ({})", grouped(count), percent(share(count, total))))
    };
    let mut rows = vec![("side to move", cells(&file.diagnosis.side_to_move))];
    rows.extend(file.diagnosis.white.as_ref().map(|white| ("White", cells(white))));
    rows
}

/// A histogram to show.
pub struct Figure<'a> {
    pub title: &'static str,
    pub summary: String,
    pub histogram: &'a Histogram,
    /// What to write below which bin.
    pub marks: Vec<(usize, String)>,
}

/// The histograms of a file; what the format does not know is left out.
pub fn figures(file: &Examined) -> Vec<Figure<'_>> {
    let it = &file.diagnosis;
    let scores = &it.scores;
    let mut all = Vec::new();
    if scores.known() > 0 {
        let summary = format!(
            "centipawns, {}; {} have none, {} are mates",
            range(&scores.histogram),
            percent(share(scores.missing, it.positions)),
            percent(share(scores.mates, scores.known()))
        );
        let marks = ["-2000", "-1000", "0", "+1000", "+2000"];
        let marks = (0..).step_by(10).zip(marks.map(String::from)).collect();
        all.push(Figure { title: "scores", summary, histogram: &scores.histogram, marks });
    }
    let numbers = |bins: &[usize], histogram: &Histogram| {
        let label = |bin: usize| (histogram.from + bin as i64 * histogram.width).to_string();
        bins.iter().map(|bin| (*bin, label(*bin))).collect::<Vec<_>>()
    };
    all.push(Figure {
        title: "pieces",
        summary: format!("kings included, {}", range(&it.pieces)),
        histogram: &it.pieces,
        marks: numbers(&[0, 6, 14, 22, 30], &it.pieces),
    });
    all.push(Figure {
        title: "phase",
        summary: format!("minor pieces 1, rooks 2, queens 4; {}", range(&it.phase)),
        histogram: &it.phase,
        marks: numbers(&[0, 8, 16, 24], &it.phase),
    });
    if it.plies.total() > 0 {
        all.push(Figure {
            title: "plies",
            summary: format!("half-moves since the start of the game, {}", range(&it.plies)),
            histogram: &it.plies,
            marks: numbers(&[0, 5, 10, 15, 20, 25, 30], &it.plies),
        });
    }
    all
}

fn range(histogram: &Histogram) -> String {
    match histogram.range {
        Some([low, high]) => format!("{low} to {high}, mean {:.1}", histogram.mean),
        None => "none".to_string(),
    }
}

/// Correlations of results some records apart.
pub fn lags(file: &Examined) -> String {
    let lags = file.diagnosis.order.lags.iter().map(|lag| {
        let value = lag.correlation.map_or("-".to_string(), |it| match (it * 100.0).round() {
            0.0 => "0".to_string(),
            _ => format!("{it:+.2}"),
        });
        format!("{value} at {}", grouped(lag.lag as u64))
    });
    lags.collect::<Vec<_>>().join(", ")
}

/// Bad records and impossible positions, the first few of them.
pub fn examples(file: &Examined) -> Vec<String> {
    let it = &file.diagnosis;
    let boards = it.sound.examples.iter().map(|example| {
        format!("position {}: {}: {}", grouped(example.position), example.reason, example.fen)
    });
    it.bad.first.iter().cloned().chain(boards).collect()
}
