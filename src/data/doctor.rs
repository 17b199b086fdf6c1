//! Checks whether positions are fit to train on. An [`Exam`] stores counts, a bounded number of
//! samples, and hashes thinned by value, so that memory does not grow with the file;
//! [`Exam::diagnose`] makes a [`Diagnosis`] of them.

use std::collections::HashMap;
use std::num::NonZeroU64;

use serde::Serialize;

use crate::data_file::few_for_nets;
use crate::digits::{count_noun, format_percent, positions_of_games, share_of};
use crate::format::{
    Facts, Presence, SampleSource,
    view::{LabelKind, ViewCheck, measure_view},
};
use crate::loss::sigmoid;
use crate::sample::{DECIDED, Sample, SampleDraw, mix_hash, scores_and_results};

/// Largest number of samples stored for checks that need them together.
const DRAWN: usize = 1 << 17;
/// Largest share of bad records. A file with more is probably something else.
const MAX_BAD: f64 = 0.2;
/// Largest share of games or positions in another set. With more, its figures are not honest.
const MAX_LEAKED: f64 = 0.01;
/// Largest share of checks, captures and promotions. With more, a filter pays off.
const MAX_NOISE: f64 = 0.01;
/// Largest share of repeats. More are noted.
const MAX_REPEATS: f64 = 0.05;

/// Numbers of games by their end, from one side's point of view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Results between these, which text files may contain.
    pub between: u64,
}

impl Results {
    fn add(&mut self, result: f32) {
        *match result {
            1.0 => &mut self.wins,
            0.5 => &mut self.draws,
            0.0 => &mut self.losses,
            _ => &mut self.between,
        } += 1;
    }
}

/// Largest number of distinct hashes of a kind in memory, some 32 MiB.
const MAX_KEYS: usize = 1 << 20;

/// Counts of keys whose hash has `level` leading zeros or more. The level rises if memory is full.
#[derive(Default)]
struct Multiset {
    counts: HashMap<u64, u32>,
    level: u32,
}

impl Multiset {
    fn add(&mut self, key: u64) {
        let hash = mix_hash(1, key);
        if hash.leading_zeros() < self.level {
            return;
        }
        let count = self.counts.entry(hash).or_default();
        *count = count.saturating_add(1);
        while self.counts.len() > MAX_KEYS {
            self.level += 1;
            let level = self.level;
            self.counts.retain(|hash, _| hash.leading_zeros() >= level);
        }
    }

    /// Returns the share of keys that occurred before; 0 without keys.
    fn repeated_share(&self) -> f64 {
        let total: u64 = self.counts.values().map(|count| u64::from(*count)).sum();
        share_of(total - self.counts.len() as u64, total)
    }

    /// Returns the share of the occurrences whose key occurs in the other set.
    fn share_within(&self, reference: &Multiset) -> f64 {
        let level = self.level.max(reference.level);
        let (mut total, mut common) = (0u64, 0u64);
        for (hash, count) in &self.counts {
            if hash.leading_zeros() >= level {
                total += u64::from(*count);
                common += if reference.counts.contains_key(hash) { u64::from(*count) } else { 0 };
            }
        }
        share_of(common, total)
    }
}

/// Hashes by which positions and games are recognised.
#[derive(Default)]
pub struct Keys {
    positions: Multiset,
    /// Positions with their result and score.
    records: Multiset,
    games: Multiset,
    game: Option<NonZeroU64>,
    games_read: u64,
    gameless: u64,
}

/// Shares of repeats in the same file, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Repeats {
    /// Share of equal positions, without counters. A colour-flipped position counts as equal.
    pub positions: f64,
    /// Share of equal positions with equal result and score.
    pub records: f64,
    /// Share of games with equal start and moves; None if games are unknown.
    pub games: Option<f64>,
}

/// Shares that also occur in another file, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlap {
    pub positions: f64,
    /// Share of games; None if games are unknown in either file.
    pub games: Option<f64>,
}

impl Keys {
    /// Adds the next sample of a file; samples of a game are neighbours.
    pub fn add(&mut self, sample: &Sample) {
        let key = sample.position.zobrist_key();
        self.positions.add(key);
        let score = sample.score.map_or(u64::MAX, |score| u64::from(score as u16));
        self.records.add(mix_hash(mix_hash(key, score), sample.result.to_bits().into()));
        if let Some(game) = sample.game
            && self.game.replace(game) != Some(game)
        {
            self.games_read += 1;
            self.games.add(game.get());
        }
        self.gameless += u64::from(sample.game.is_none());
    }

    /// Estimates the number of distinct games, if they are known.
    pub fn game_count(&self) -> Option<u64> {
        let distinct = self.games_read as f64 * (1.0 - self.games.repeated_share());
        (self.games_read > 0).then_some(distinct.round() as u64)
    }

    fn count_repeats(&self) -> Repeats {
        Repeats {
            positions: self.positions.repeated_share(),
            records: self.records.repeated_share(),
            games: self.game_count().map(|_| self.games.repeated_share()),
        }
    }

    /// Measures the shares of these positions and games that occur in the other file.
    pub fn measure_overlap(&self, reference: &Keys) -> Overlap {
        let games = self
            .game_count()
            .and(reference.game_count())
            .map(|_| self.games.share_within(&reference.games));
        Overlap { positions: self.positions.share_within(&reference.positions), games }
    }
}

/// The scale of the scores: `sigmoid(score / scale)` is the expected result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Centipawns per logit.
    pub scale: f64,
    /// Whether the scale lies at the border of the search: the scores do not predict the results.
    pub at_border: bool,
    /// Share of the results' variance that the scores explain.
    pub explained: f64,
}

/// A fit of a scale of scores to results of 0 to 1. The flag marks the border of the search.
pub type FitScale = fn(&[f64], &[f64]) -> Option<(f64, bool)>;

/// The models that positions are enough to train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    #[default]
    Nothing,
    /// Handcrafted terms; there are too few positions for nets.
    Terms,
    Nets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Ok,
    /// A fact worth knowing. Training is fine.
    Note,
    /// A reason not to train on the file.
    Problem,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub grade: Grade,
    /// Check in a word or two.
    pub about: &'static str,
    pub says: String,
    /// Remedy; None if nothing is wrong.
    pub cure: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    pub positions: u64,
    /// Distinct games; None if unknown.
    pub games: Option<u64>,
    /// Positions whose game is unknown.
    pub gameless: u64,
    pub bad_records: u64,
    /// First bad records, with location and reason.
    pub bad_examples: Vec<String>,
    pub unfinished: u64,
    pub white_to_move: u64,
    pub side_to_move: Results,
    /// Results for White; None if it is unknown who is White.
    pub white: Option<Results>,
    pub scored: u64,
    pub mates: u64,
    pub scores: Option<[i16; 2]>,
    pub in_check: u64,
    /// Positions with a known move; captures and promotions among these moves.
    pub moves: u64,
    pub captures: u64,
    pub promotions: u64,
    /// Positions of games that ended by the clock, a lost connection or a broken rule.
    pub forfeits: u64,
    /// Positions in check, with a capture or with a promotion.
    pub noisy: u64,
    pub repeats: Repeats,
    /// Scale of the scores; None if too few positions have any.
    pub scale: Option<Scale>,
    pub against: Option<Overlap>,
    pub fit_for: Fitness,
    pub findings: Vec<Finding>,
}

pub struct Exam {
    diagnosis: Diagnosis,
    keys: Keys,
    draw: SampleDraw,
}

impl Exam {
    /// Starts an exam of samples from a format with these facts.
    pub fn new(facts: &Facts) -> Self {
        let white = (facts.colours != Presence::Never).then(Results::default);
        let diagnosis = Diagnosis { white, ..Diagnosis::default() };
        Self { diagnosis, keys: Keys::default(), draw: SampleDraw::new(DRAWN) }
    }

    pub fn add(&mut self, sample: &Sample) {
        let diagnosis = &mut self.diagnosis;
        let white = sample.position.turn().is_white();
        diagnosis.positions += 1;
        diagnosis.white_to_move += u64::from(white);
        diagnosis.side_to_move.add(sample.result);
        if let Some(results) = &mut diagnosis.white {
            results.add(if white { sample.result } else { 1.0 - sample.result });
        }
        if let Some(score) = sample.score {
            let [low, high] = diagnosis.scores.unwrap_or([score; 2]);
            diagnosis.scores = Some([low.min(score), high.max(score)]);
            diagnosis.scored += 1;
            diagnosis.mates += u64::from(score.unsigned_abs() > DECIDED);
        }
        let check = sample.position.in_check();
        let capture = sample.played.is_some_and(|played| played.is_capture(&sample.position));
        let promotion = sample.played.is_some_and(|played| played.promotion().is_some());
        diagnosis.in_check += u64::from(check);
        diagnosis.moves += u64::from(sample.played.is_some());
        diagnosis.captures += u64::from(capture);
        diagnosis.promotions += u64::from(promotion);
        diagnosis.forfeits += u64::from(sample.forfeit);
        diagnosis.noisy += u64::from(check || capture || promotion);
        self.keys.add(sample);
        self.draw.add(sample);
    }

    /// Completes the diagnosis of what was read of a source: whether it has more, why reading failed,
    /// a fit of scales, and the keys of files that must not have the same positions.
    pub fn diagnose(
        self,
        source: &SampleSource,
        (limited, ended): (bool, Option<String>),
        fit: FitScale,
        against: Option<&Keys>,
    ) -> Diagnosis {
        let mut diagnosis = self.diagnosis;
        diagnosis.games = self.keys.game_count();
        diagnosis.gameless = self.keys.gameless;
        let bad = source.bad_records();
        diagnosis.bad_records = bad.count;
        diagnosis.bad_examples = bad.first.iter().map(ToString::to_string).collect();
        diagnosis.unfinished = source.unfinished_games();
        diagnosis.repeats = self.keys.count_repeats();
        diagnosis.against = against.map(|keys| self.keys.measure_overlap(keys));
        let drawn: Vec<Sample> = self.draw.samples().copied().collect();
        diagnosis.scale = fit_scale(&drawn, fit);
        let few = !limited && few_for_nets(diagnosis.games.unwrap_or(0), diagnosis.gameless);
        diagnosis.findings.push(check_records(&diagnosis, ended));
        if diagnosis.positions > 0 {
            let views = check_views(&drawn, source, diagnosis.white.is_some());
            let checks = [
                check_amount(&diagnosis, few),
                check_results(&diagnosis),
                check_scores(&diagnosis, source),
                check_noise(&diagnosis),
                check_repeats(&diagnosis),
            ];
            diagnosis.findings.extend(checks.into_iter().chain(views));
            diagnosis.findings.extend(check_calibration(&diagnosis));
            diagnosis.findings.extend(check_forfeits(&diagnosis));
            diagnosis.findings.extend(diagnosis.against.map(check_leakage));
        }
        let is_problem = diagnosis.findings.iter().any(|finding| finding.grade == Grade::Problem);
        diagnosis.fit_for = match (is_problem, few) {
            (true, _) => Fitness::Nothing,
            (false, true) => Fitness::Terms,
            (false, false) => Fitness::Nets,
        };
        diagnosis
    }
}

fn fit_scale(samples: &[Sample], fit: FitScale) -> Option<Scale> {
    let (scores, results) = scores_and_results(samples)?;
    let count = results.len() as f64;
    let mean = results.iter().sum::<f64>() / count;
    let variance = results.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    let (scale, at_border) = fit(&scores, &results)?;
    let error = |(score, result): (&f64, &f64)| (sigmoid(score / scale) - result).powi(2);
    let loss = scores.iter().zip(&results).map(error).sum::<f64>() / count;
    (variance > 0.0).then(|| Scale { scale, at_border, explained: 1.0 - loss / variance })
}

fn new_finding(grade: Grade, about: &'static str, says: String, cure: &str) -> Finding {
    let cure = (grade != Grade::Ok && !cure.is_empty()).then(|| cure.to_string());
    Finding { grade, about, says, cure }
}

/// Makes a note if `noted`, else ok.
fn note_finding(noted: bool, about: &'static str, says: String, cure: &str) -> Finding {
    new_finding(if noted { Grade::Note } else { Grade::Ok }, about, says, cure)
}

fn check_records(facts: &Diagnosis, ended: Option<String>) -> Finding {
    let bad = facts.bad_records;
    if let Some(ended) = ended {
        let cure = match facts.unfinished {
            0 => "fetch or make the file again",
            _ => "label the positions, or finish the games, before training on them",
        };
        return new_finding(Grade::Problem, "records", ended, cure);
    }
    // If games are known, records are games.
    let share = share_of(bad, bad + facts.games.unwrap_or(facts.positions));
    let mut says = format!("{} bad, {} of all", count_noun(bad, "record"), format_percent(share));
    if facts.unfinished > 0 {
        says += &format!("; {} without a result passed over", count_noun(facts.unfinished, "game"));
    }
    match (bad, share > MAX_BAD) {
        (0, _) => new_finding(Grade::Ok, "records", says, ""),
        (_, true) => {
            new_finding(Grade::Problem, "records", says, "check the program that wrote them")
        }
        _ => new_finding(Grade::Note, "records", says, &format!("data.bad_records = {bad}")),
    }
}

fn check_amount(facts: &Diagnosis, few: bool) -> Finding {
    let says = positions_of_games(facts.positions, facts.games.unwrap_or(0), facts.gameless);
    let cure = "for a net play 1,000 games or more (nnuance data selfplay)";
    note_finding(few, "amount", says, cure)
}

fn check_results(facts: &Diagnosis) -> Finding {
    let results = facts.white.unwrap_or(facts.side_to_move);
    let side = if facts.white.is_some() { "White" } else { "the side to move" };
    let [wins, draws, losses] =
        [results.wins, results.draws, results.losses].map(|count| share_of(count, facts.positions));
    let [w, d, l] = [wins, draws, losses].map(format_percent);
    let says = format!("{side} wins {w}, draws {d}, loses {l}");
    if [wins, draws, losses].contains(&1.0) {
        let cure = "take the results from the games, or train on scores alone (target.wdl = 0)";
        return new_finding(Grade::Problem, "results", says + ": all alike teach nothing", cure);
    }
    let cure = if draws > 0.8 {
        "nearly all are draws: play from less balanced openings"
    } else if results.draws + results.between == 0 {
        "no draws: an evaluation trained on these takes every advantage for a win"
    } else {
        ""
    };
    note_finding(!cure.is_empty(), "results", says, cure)
}

fn check_scores(facts: &Diagnosis, source: &SampleSource) -> Finding {
    let unread = source.unread_comments().map_or(String::new(), |it| format!("; {it}"));
    let Some([low, high]) = facts.scores else {
        let results = "train on results (target.wdl = 1), or label the positions with an engine";
        let cure = source.unread_comments().map_or(results, |it| it.cure);
        let says = format!("no position has a score{unread}");
        return new_finding(Grade::Note, "scores", says, cure);
    };
    let missing = facts.positions - facts.scored;
    let mates = share_of(facts.mates, facts.scored);
    let [mated, unscored] = [mates, share_of(missing, facts.positions)].map(format_percent);
    let says = format!("{low} to {high} cp; {mated} mates, {unscored} without a score{unread}");
    let cure = if low == high {
        "all scores are alike: train on results (target.wdl = 1), or label the positions"
    } else if mates > MAX_NOISE {
        "set data.filter.max_score = 10000, or target.clamp_score = 10000 to keep these positions"
    } else if let Some(unread) = source.unread_comments() {
        unread.cure
    } else if missing > 0 {
        "training on scores skips positions without one"
    } else {
        ""
    };
    note_finding(!cure.is_empty(), "scores", says, cure)
}

fn check_noise(facts: &Diagnosis) -> Finding {
    let mut says =
        format!("{} in check", format_percent(share_of(facts.in_check, facts.positions)));
    let mut cure = "set data.filter.skip_in_check = true".to_string();
    if facts.moves > 0 {
        let [captures, promotions] = [facts.captures, facts.promotions]
            .map(|count| format_percent(share_of(count, facts.moves)));
        says += &format!("; of the moves played {captures} captures, {promotions} promotions");
        cure += ", skip_captures = true, skip_promotions = true";
    }
    note_finding(share_of(facts.noisy, facts.positions) > MAX_NOISE, "noise", says, &cure)
}

fn check_forfeits(facts: &Diagnosis) -> Option<Finding> {
    let share = share_of(facts.forfeits, facts.positions);
    let says =
        format!("{} of positions are of games lost on time or by a fault", format_percent(share));
    let finding =
        note_finding(share > MAX_NOISE, "forfeits", says, "set data.filter.skip_forfeits = true");
    (facts.forfeits > 0).then_some(finding)
}

fn check_repeats(facts: &Diagnosis) -> Finding {
    let Repeats { positions, records, games } = facts.repeats;
    let [before, same] = [positions, records].map(format_percent);
    let mut says =
        format!("{before} of positions came before, {same} with the same result and score");
    says += &games.map_or(String::new(), |games| format!("; {} of games", format_percent(games)));
    let many = records.max(games.unwrap_or(0.0)) > MAX_REPEATS;
    note_finding(many, "repeats", says, "`nnuance data dedup` leaves them out")
}

/// Checks the point of view of results and scores.
fn check_views(samples: &[Sample], source: &SampleSource, colours: bool) -> Vec<Finding> {
    let scored = samples.iter().any(|sample| sample.score.is_some());
    let labels = [(LabelKind::Result, "view, results"), (LabelKind::Score, "view, scores")];
    let check = |(label, about): (LabelKind, &'static str)| {
        let verdict = measure_view(samples, label, colours);
        let contradiction = verdict.explain_contradiction(source.read_view(label), "data");
        match (contradiction, verdict) {
            (Some(why), _) => new_finding(Grade::Problem, about, why, ""),
            (None, ViewCheck::Holds(evidence)) => {
                new_finding(Grade::Ok, about, evidence.to_string(), "")
            }
            (None, _) => {
                let says = "material does not show the point of view".to_string();
                new_finding(Grade::Note, about, says, "check more positions, or by hand")
            }
        }
    };
    labels.into_iter().take(1 + usize::from(scored)).map(check).collect()
}

fn check_calibration(facts: &Diagnosis) -> Option<Finding> {
    let Scale { scale, at_border, explained } = facts.scale?;
    let share = format_percent(explained.max(0.0));
    let says = format!("score_scale {scale:.0} explains {share} of the results' variance");
    let cure = if explained < 0.02 {
        "the scores say next to nothing about the results: train on either, not on a mixture"
    } else if at_border || !(50.0..=1000.0).contains(&scale) {
        "the scores seem not to be centipawns: convert them, or set target.score_scale"
    } else {
        ""
    };
    Some(note_finding(!cure.is_empty(), "calibration", says, cure))
}

fn check_leakage(overlap: Overlap) -> Finding {
    let positions = format_percent(overlap.positions);
    let games = overlap
        .games
        .map_or(String::new(), |games| format!("{} of games and ", format_percent(games)));
    let says = format!("{games}{positions} of positions also occur in the other set");
    let cure = "split by game before anything else, and leave out what both sets hold";
    let leaks = overlap.games.unwrap_or(overlap.positions) > MAX_LEAKED;
    new_finding(if leaks { Grade::Problem } else { Grade::Ok }, "leakage", says, cure)
}
