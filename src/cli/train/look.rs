//! Reading all data once, and saying what is there.

use crate::cli::progress::{bar, grouped};
use crate::loader::{DataFile, LoadError, Plan, Scan, scan};
use crate::sample::Sample;

/// Reads all data and says what is there; up to `keep` positions to train on are kept.
pub fn look(plan: &Plan, keep: u64) -> Result<Scan, LoadError> {
    let bar = bar(None, "reading");
    let scan = scan(plan, keep, &|positions| bar.inc(positions));
    bar.finish_and_clear();
    let scan = scan?;
    files(&scan.files, plan.split.share > 0.0);
    for (key, count) in scan.rejected.counts() {
        eprintln!("{:>13} turned away by {key}", grouped(count));
    }
    counts(scan.train, scan.held_out_total, scan.games);
    left_out(scan.left_out, plan);
    if (scan.held_out.len() as u64) < scan.held_out_total {
        eprintln!("{:>13} of these are looked at", grouped(scan.held_out.len() as u64));
    }
    for Sample { position, score, result, .. } in scan.first.iter().take(3) {
        let score = score.map_or("no score".into(), |score| format!("{score:+} cp"));
        eprintln!("  {}  {score}, result {result} for the side to move", position.fen());
    }
    Ok(scan)
}

/// What is in each file.
pub fn files(files: &[DataFile], held_out: bool) {
    for file in files {
        let (path, count) = (file.path.display(), grouped(file.positions));
        eprintln!("{path}: {}, {count} positions, sha256 {}", file.format, &file.sha256[..16]);
        if file.bad_records > 0 {
            eprintln!("{path}: {} bad records left out", file.bad_records);
        }
        if file.games == 0 && held_out {
            eprintln!(
                "{path}: its games are unknown, so positions are held out; where they come from \
                 the same games as those trained on, losses look better than they are"
            );
        }
    }
    for (i, file) in files.iter().enumerate() {
        if let Some(twin) = files[..i].iter().find(|twin| twin.sha256 == file.sha256) {
            let (path, twin) = (file.path.display(), twin.path.display());
            eprintln!("{path} is the same file as {twin}: its positions count twice");
        }
    }
}

/// How many positions there are to train on and to measure on.
pub fn counts(train: u64, held_out: u64, games: u64) {
    eprintln!("{:>13} to train on", grouped(train));
    let games = match games {
        0 => String::new(),
        games => format!(", by game, of {} games", grouped(games)),
    };
    eprintln!("{:>13} held out{games}", grouped(held_out));
}

/// How many positions the share of the training games leaves out.
pub fn left_out(positions: u64, plan: &Plan) {
    if positions > 0 {
        let share = plan.share.0;
        eprintln!("{:>13} left out: data.share takes {share} of the games", grouped(positions));
    }
}
