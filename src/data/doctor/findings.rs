//! What the figures mean for training: a grade, one sentence, and the cure.

use serde::Serialize;

use super::size::{Verdict, clauses};
use super::{Diagnosis, Material, Overlap};
use crate::digits::{counted, grouped, percent, share};

/// More bad records than this and a file is not what it seems.
const BAD: f64 = 0.2;
/// More of the games or positions than this in another set and its figures are not honest.
const LEAK: f64 = 0.01;
/// More positions in check, captures and promotions than this are worth a filter.
const NOISE: f64 = 0.01;
/// More repeats than this are worth a word.
const REPEATS: f64 = 0.05;
/// Fewer positions than this train nothing but the smallest evaluation.
const FEW: u64 = 10_000;
/// Bins of the calibration with fewer positions are not judged.
const BIN: u64 = 500;

/// What a finding means for training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Ok,
    /// Worth knowing; training is fine.
    Note,
    /// Training on this would be a mistake.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub grade: Grade,
    /// What was looked at, in a word or two.
    pub about: &'static str,
    /// One sentence.
    pub says: String,
    /// What to do; none where there is nothing to do.
    pub cure: Option<String>,
}

impl Finding {
    fn ok(about: &'static str, says: impl Into<String>) -> Self {
        Self { grade: Grade::Ok, about, says: says.into(), cure: None }
    }

    fn note(about: &'static str, says: impl Into<String>, cure: &str) -> Self {
        let cure = (!cure.is_empty()).then(|| cure.to_string());
        Self { grade: Grade::Note, about, says: says.into(), cure }
    }

    fn problem(about: &'static str, says: impl Into<String>, cure: &str) -> Self {
        Self { grade: Grade::Problem, ..Self::note(about, says, cure) }
    }
}

/// All findings, those on the reading first; only those where nothing was read.
pub(super) fn all(it: &Diagnosis, colours: bool) -> Vec<Finding> {
    let mut all = vec![reading(it)];
    if it.positions == 0 {
        return all;
    }
    all.extend([amount(it), size(it), boards(it), results(it)]);
    all.extend(views(it, colours));
    all.extend(it.material.as_ref().map(material));
    all.extend([scores(it)]);
    all.extend(calibration(it));
    all.extend([noise(it), repeats(it), order(it)]);
    all.extend(castling(it, colours));
    all.extend(it.against.as_ref().map(leakage));
    all
}

fn reading(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "records";
    let Diagnosis { bad, unfinished, .. } = it;
    let first = bad.first.first().map_or(String::new(), |first| format!(" (first: {first})"));
    if let Some(ended) = &it.ended {
        let cure = match unfinished {
            0 => "fetch or make the file anew",
            _ => "label the positions, or finish the games, before training on them",
        };
        return Finding::problem(ABOUT, format!("{ended}{first}"), cure);
    }
    let unfinished = match unfinished {
        0 => String::new(),
        count => format!("; {} without a result passed over", counted(*count, "game")),
    };
    if bad.count == 0 {
        return Finding::ok(ABOUT, format!("every record could be read{unfinished}"));
    }
    let says = format!(
        "{} could not be read, {} of all{first}{unfinished}",
        counted(bad.count, "record"),
        percent(bad.share)
    );
    match bad.share > BAD {
        true => Finding::problem(
            ABOUT,
            says,
            "so many are no accident: look at the program that wrote the file, or name its format",
        ),
        false => {
            let cure = format!("data.bad_records = {} lets training go on without them", bad.count);
            Finding::note(ABOUT, says, &cure)
        }
    }
}

fn amount(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "amount";
    let says = match it.games {
        Some(games) => {
            format!("{} of {}", counted(it.positions, "position"), counted(games, "game"))
        }
        None => format!("{}; games are unknown", counted(it.positions, "position")),
    };
    let cure = "small nets want a million positions, handcrafted terms a hundred thousand";
    match it.positions < FEW {
        true => Finding::note(ABOUT, format!("only {says}"), cure),
        false => Finding::ok(ABOUT, says),
    }
}

/// Weighs games and scores against the weights of evaluations.
fn size(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "size of model";
    let amount = it.amount();
    let results = match amount.games {
        Some(games) => format!("the results of {}", counted(games, "game")),
        None => format!("the results of {}, games unknown,", counted(amount.positions, "position")),
    };
    let mut says = format!("{results} are {}", clauses(&it.sizes, |size| size.by_results));
    if amount.scored > 0 {
        let scored = counted(amount.scored, "quiet position");
        says += &format!("; the scores of {scored}: {}", clauses(&it.sizes, |size| size.by_scores));
    }
    // The first two are handcrafted terms; who has less than they want should know.
    let enough = |size: &super::size::Size| {
        size.by_results == Verdict::Enough || size.by_scores == Verdict::Enough
    };
    let cure = "a weight wants about 5 games (positions of a game share its result) or 30 scored \
                positions: add games, label positions, or train what is small";
    match it.sizes.iter().take(2).all(enough) {
        true => Finding::ok(ABOUT, says),
        false => Finding::note(ABOUT, says, cure),
    }
}

fn boards(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "boards";
    let sound = &it.sound;
    let Some(first) = sound.examples.first() else {
        return Finding::ok(ABOUT, "both kings stand everywhere, and games can reach every board");
    };
    let part = share(sound.impossible, it.positions);
    let says = format!(
        "no game reaches {} ({}); the first is position {}, where {}",
        counted(sound.impossible, "position"),
        percent(part),
        grouped(first.position),
        first.reason
    );
    match part > BAD {
        true => Finding::problem(ABOUT, says, "look at the program that wrote the file"),
        false => Finding::note(ABOUT, says, "leave them out if no variant was meant"),
    }
}

fn results(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "results";
    let own = it.white.unwrap_or(it.side_to_move);
    let total = own.total();
    let whose = if it.white.is_some() { "White" } else { "the side to move" };
    let same = [(own.wins, "wins"), (own.draws, "draws"), (own.losses, "losses")];
    if let Some((_, what)) = same.into_iter().find(|(count, _)| *count == total) {
        return Finding::problem(
            ABOUT,
            format!("all results are {what} of {whose}: they teach nothing"),
            "take the results from the games, or train on scores alone (target.wdl = 0)",
        );
    }
    let part = |count: u64| share(count, total);
    let says = format!(
        "{whose} wins {}, draws {}, loses {}",
        percent(part(own.wins)),
        percent(part(own.draws)),
        percent(part(own.losses))
    );
    let draws = part(own.draws);
    if draws > 0.8 {
        let cure = "play from less balanced openings: draws teach little";
        return Finding::note(ABOUT, format!("nearly all games are drawn: {says}"), cure);
    }
    if own.draws == 0 && own.between == 0 {
        let cure = "an evaluation that never saw a draw thinks every advantage wins; add drawn \
                    games unless that is wanted";
        return Finding::note(ABOUT, format!("there are no draws: {says}"), cure);
    }
    let (more, less) = (own.wins.max(own.losses), own.wins.min(own.losses));
    if it.white.is_some() && more as f64 > 1.5 * less as f64 {
        let cure = "perspective nets do not see colours, so this is no harm; a plain net learns it";
        return Finding::note(ABOUT, format!("one side wins much more often: {says}"), cure);
    }
    Finding::ok(ABOUT, says)
}

fn views(it: &Diagnosis, colours: bool) -> Vec<Finding> {
    let one_sided = colours && it.to_move.contains(&0);
    let finding = |seen: &super::Seen| {
        let about = if seen.of == "results" { "view, results" } else { "view, scores" };
        match (&seen.contradiction, &seen.evidence) {
            (Some(why), _) => Finding::problem(about, why.clone(), ""),
            (None, Some(evidence)) => {
                Finding::ok(about, format!("they go with material as they should: {evidence}"))
            }
            (None, None) if one_sided => Finding::note(
                about,
                "the same side is always to move, so nothing shows from which point of view they are",
                "add positions with the other side to move, or make sure by hand",
            ),
            (None, None) => Finding::note(
                about,
                "too little goes with material to tell from which point of view they are",
                "look at more positions, or make sure by hand",
            ),
        }
    };
    it.views.iter().map(finding).collect()
}

fn material(it: &Material) -> Finding {
    const ABOUT: &str = "material";
    let says = format!(
        "with a pawn more the mean result is {:+.3} in the middlegame, {:+.3} in the endgame",
        it.middlegame, it.endgame
    );
    let cure = "middlegame values tuned on these results come out far below the endgame's: hold \
                material (model.tune), keep optimizer.prior small, or mix scores in";
    match it.is_flat() {
        true => Finding::note(ABOUT, says, cure),
        false => Finding::ok(ABOUT, says),
    }
}

fn scores(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "scores";
    let scores = &it.scores;
    let known = scores.known();
    if known == 0 {
        let cure = "train on results (target.wdl = 1), or label the positions with an engine";
        return Finding::note(ABOUT, "no position has a score", cure);
    }
    if let Some([low, high]) = scores.histogram.range
        && low == high
    {
        let cure = "train on results (target.wdl = 1), or label the positions with an engine";
        return Finding::note(ABOUT, format!("every score is {low} cp"), cure);
    }
    if scores.missing > 0 {
        let missing = percent(share(scores.missing, it.positions));
        let cure = "training on scores skips and counts them; label them to use them";
        return Finding::note(ABOUT, format!("{missing} of the positions have no score"), cure);
    }
    let mates = share(scores.mates, known);
    if mates > NOISE {
        let says = format!("{} of the scores are mates or table bases", percent(mates));
        return Finding::note(ABOUT, says, "set data.filter.max_score = 10000");
    }
    Finding::ok(ABOUT, format!("every position has one; {} are mates", percent(mates)))
}

fn calibration(it: &Diagnosis) -> Option<Finding> {
    const ABOUT: &str = "calibration";
    let calibration = it.calibration.as_ref()?;
    let fitted = &calibration.fitted;
    // What a fit against so few results finds is chance.
    if calibration.positions < 4 * BIN || fitted.constant == 0.0 {
        return None;
    }
    let explained = 1.0 - fitted.loss / fitted.constant;
    if fitted.at_border && explained > 0.02 {
        let says = format!(
            "no scale of centipawns fits: at sigmoid(score / {:.0}), the border of the search, scores \
             explain {} of the results' variance",
            fitted.scale,
            percent(explained)
        );
        let cure = "scores seem to be results, signs or pawns: convert them to centipawns";
        return Some(Finding::note(ABOUT, says, cure));
    }
    if fitted.at_border || explained < 0.02 {
        return Some(Finding::note(
            ABOUT,
            "the scores say next to nothing about the results",
            "train on either, not on a mixture; look at where both come from",
        ));
    }
    let mut says = format!(
        "sigmoid(score / {:.0}) fits the results best, and explains {} of their variance",
        fitted.scale,
        percent(explained)
    );
    if let Some(draws) = calibration.draws {
        says += &format!(
            "; with room for draws score_offset {:.0} and score_scale {:.0} are the most likely, and \
             explain {}",
            draws.offset,
            draws.scale,
            percent(1.0 - draws.loss / fitted.constant)
        );
    }
    if !(50.0..=1000.0).contains(&fitted.scale) {
        let cure = "scores seem not to be centipawns: convert them, or set target.score_scale";
        return Some(Finding::note(ABOUT, says, cure));
    }
    let off = calibration.worst(BIN).filter(|bin| (bin.expected - bin.observed).abs() > 0.1);
    Some(match off {
        Some(bin) => {
            let says = format!(
                "{says}, but where {:.2} is expected {:.2} came",
                bin.expected, bin.observed
            );
            let cure = "scores of several engines may be mixed, or one game weighs heavily; mix \
                        results into the target (target.wdl)";
            Finding::note(ABOUT, says, cure)
        }
        None => Finding::ok(ABOUT, says),
    })
}

fn noise(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "noise";
    let noise = &it.noise;
    let checks = share(noise.in_check, it.positions);
    let mut says = format!("{} of the positions are in check", percent(checks));
    let mut cure = "set data.filter.skip_in_check = true".to_string();
    if noise.moves > 0 {
        let captures = percent(share(noise.captures, noise.moves));
        let promotions = percent(share(noise.promotions, noise.moves));
        says += &format!("; of the moves played {captures} are captures, {promotions} promotions");
        cure += ", skip_captures = true, skip_promotions = true";
    } else {
        says += "; the moves played are unknown";
    }
    match share(noise.any, it.positions) > NOISE {
        true => Finding::note(ABOUT, says, &cure),
        false => Finding::ok(ABOUT, says),
    }
}

fn repeats(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "repeats";
    let repeats = &it.repeats;
    let mut says = format!(
        "{} of the positions came before, {} with the same result and score",
        percent(repeats.positions),
        percent(repeats.records)
    );
    if let Some(games) = repeats.games {
        says += &format!("; {} of the games did", percent(games));
    }
    let many = repeats.records > REPEATS || repeats.games.is_some_and(|games| games > REPEATS);
    match many {
        true => Finding::note(
            ABOUT,
            says,
            "they cost time and weigh twice; `nnuance data dedup` leaves them out",
        ),
        false => Finding::ok(ABOUT, says),
    }
}

fn order(it: &Diagnosis) -> Finding {
    const ABOUT: &str = "order";
    let order = &it.order;
    let shuffle = "training shuffles within data.window, up to 16 M positions; a larger file \
                   wants `nnuance data shuffle` beforehand";
    let neighbours = order.neighbours();
    if order.lags.iter().any(|lag| lag.lag > 1024 && lag.correlation.is_some_and(|it| it > 0.1)) {
        let says = "sorted: results are alike over more than 16,000 records";
        return Finding::note(ABOUT, says, shuffle);
    }
    if order.by_game() {
        let says = format!(
            "not shuffled: {} of the neighbours come from one game",
            percent(order.same_game.unwrap_or(order.close))
        );
        return Finding::note(ABOUT, says, shuffle);
    }
    match neighbours > 0.1 {
        true => {
            let says = format!(
                "not shuffled: the results of neighbours are alike (correlation {neighbours:.2})"
            );
            Finding::note(ABOUT, says, shuffle)
        }
        false => Finding::ok(ABOUT, "shuffled: neighbours have nothing to do with each other"),
    }
}

fn castling(it: &Diagnosis, colours: bool) -> Option<Finding> {
    const ABOUT: &str = "castling";
    let sound = &it.sound;
    // Without colours there are no rights; without rooks at home there is nothing to say.
    if !colours || sound.at_home + sound.castling == 0 {
        return None;
    }
    let part = percent(share(sound.castling, it.positions));
    if sound.castling == 0 {
        let says = format!(
            "nobody may castle, though a king and a rook stand at home in {} of the positions",
            percent(share(sound.at_home, it.positions))
        );
        return Some(Finding::note(ABOUT, says, "the rights were lost; inputs do not see them"));
    }
    let mut says = format!("somebody may castle in {part} of the positions");
    if sound.chess960 > 0 {
        says += &format!(", in {} as in Chess960", percent(share(sound.chess960, it.positions)));
    }
    Some(Finding::ok(ABOUT, says))
}

fn leakage(overlap: &Overlap) -> Finding {
    const ABOUT: &str = "leakage";
    let positions = percent(overlap.positions);
    let (judged, says) = match overlap.games {
        Some(games) => {
            let games_text = percent(games);
            (games, format!("{games_text} of the games and {positions} of the positions"))
        }
        None => (overlap.positions, format!("{positions} of the positions")),
    };
    let says = format!("{says} also occur in the other set");
    let cure = "divide by game before anything else, and leave out what both sets hold";
    match (judged > LEAK, overlap.positions > LEAK) {
        (true, _) => Finding::problem(ABOUT, says, cure),
        (false, true) => {
            Finding::note(ABOUT, format!("{says}, as openings that both played would"), "")
        }
        (false, false) => Finding::ok(ABOUT, says),
    }
}
