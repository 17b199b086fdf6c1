//! What is said of data that was read once.

use crate::cli::out;
use crate::data_file::DataFile;
use crate::digits::grouped;
use crate::loader::{HeldOut, Plan, Scan, Sketch, Validating};
use crate::sample::Sample;

/// Says what is in the data of a run.
pub fn scanned(plan: &Plan, scan: &Scan) {
    files(&scan.files, plan.split.share > 0.0);
    let skipped = scan
        .rejected
        .counts()
        .map(|(key, count)| format!("{:>13} skipped by {key}", grouped(count)));
    tell_once(skipped.collect());
    validating(&scan.validating, &scan.sketch, scan.games);
    let held = [&scan.validation, &scan.test];
    let groups = held.map(HeldOut::groups);
    let games = of_games(&scan.validating, scan.games);
    counts(scan.train, held.map(|held| held.total), groups, games);
    sources(plan, scan);
    left_out(scan.left_out, plan);
    for (held, what) in held.iter().zip(["validation", "test"]) {
        if (held.samples.len() as u64) < held.total {
            let count = grouped(held.samples.len() as u64);
            eprintln!("{count:>13} of the positions for {what} are used, of whole games");
        }
    }
    few(plan, groups, games);
    let shown = |Sample { position, score, result, .. }: &Sample| {
        let score = score.map_or("no score".into(), |score| format!("{score:+} cp"));
        format!("  {}  {score}, result {result} for the side to move", position.fen())
    };
    tell_once(scan.some.iter().take(3).map(shown).collect());
}

/// Tells what another run of this process may have told of the same data.
fn tell_once(lines: Vec<String>) {
    if out::is_news(&lines.join("\n")) {
        lines.iter().for_each(|line| eprintln!("{line}"));
    }
}

/// Games that tell little.
const FEW: usize = 60;

/// What is in each file.
fn files(files: &[DataFile], held_out: bool) {
    for file in files {
        let path = file.path.display();
        if let (Some(format), Some(positions)) = (&file.format, file.positions) {
            let count = grouped(positions);
            eprintln!("{path}: {format}, {count} positions, sha256 {}", &file.sha256[..16]);
        }
        if let Some(bad @ 1..) = file.bad_records {
            eprintln!("{path}: {bad} bad records left out");
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

/// What is in the files that only validate, if there are some, and whether the others share games
/// with them.
fn validating(own: &Validating, sketch: &Sketch, games: u64) {
    if own.files.is_empty() {
        return;
    }
    files(&own.files, false);
    for (key, count) in own.rejected.counts() {
        eprintln!("{:>13} of these skipped by {key}", grouped(count));
    }
    let shared = own.sketch.shared(sketch);
    if shared > 0 {
        let of = if own.games > 0 { "games" } else { "positions" };
        eprintln!(
            "caution: `data.validation` and `data.files` share {of} ({shared} or more): the \
             validation loss looks better than it is, and the test is not left alone; take them out \
             of one of the two"
        );
    } else if (own.games > 0) != (games > 0) || own.games == 0 {
        eprintln!(
            "whether `data.validation` and `data.files` come from the same games cannot be told: \
             games are unknown; where they do, the validation loss looks better than it is"
        );
    }
}

/// The games of the files of which those are a part that validate, and those of the test; 0 where
/// they are unknown.
fn of_games(own: &Validating, games: u64) -> [u64; 2] {
    [if own.files.is_empty() { games } else { own.games }, games]
}

/// How many positions there are to train on, and held out: for validation and for the test.
fn counts(train: u64, held_out: [u64; 2], groups: [usize; 2], games: [u64; 2]) {
    eprintln!("{:>13} to train on", grouped(train));
    let uses = ["to validate with", "kept for the test, which training never reads"];
    for (((positions, groups), games), what) in held_out.iter().zip(groups).zip(games).zip(uses) {
        let groups = groups as u64;
        // Of files without games each position counts as one.
        let of = match games > 0 && groups <= games {
            true => format!(": {} of {} games", grouped(groups), grouped(games)),
            false => String::new(),
        };
        eprintln!("{:>13} {what}{of}", grouped(*positions));
    }
}

/// What each source gives, if there are several.
fn sources(plan: &Plan, scan: &Scan) {
    let shares = plan.shares();
    for (i, (source, &count)) in plan.sources.iter().zip(&scan.of_sources).enumerate() {
        let given = shares.as_ref().map(|shares| shares[i] as f64 / plan.batch as f64);
        let of_batch = given.map_or(String::new(), |given| {
            let passes = given * scan.train as f64 / count as f64;
            format!(", {:.1} % of each batch, {passes:.2} passes an epoch", 100.0 * given)
        });
        eprintln!("{:>13} from {}{of_batch}", grouped(count), source.name);
    }
}

/// Says where there are too few games to choose by, or to measure on.
fn few(plan: &Plan, [validation, test]: [usize; 2], games: [u64; 2]) {
    let [first, of] = games.map(|games| if games > 0 { "games" } else { "positions" });
    let cure = "raise data.held_out, or add games";
    if !plan.validation.is_empty() && validation < FEW {
        eprintln!(
            "only {validation} {first} validate: the validation loss can hardly tell checkpoints \
             apart; name more files in data.validation"
        );
    } else if plan.validates() && validation < FEW {
        eprintln!(
            "only {validation} {of} validate: the validation loss can hardly tell checkpoints \
             apart; {cure}"
        );
    }
    if plan.split.share > 0.0 && plan.test.0 > 0.0 && test < FEW {
        eprintln!("only {test} {of} are kept for the test: compare can hardly tell; {cure}");
    }
}

/// How many positions the share of the training games leaves out.
fn left_out(positions: u64, plan: &Plan) {
    if positions > 0 {
        let share = plan.share.0;
        eprintln!("{:>13} left out: data.share takes {share} of the games", grouped(positions));
    }
}
