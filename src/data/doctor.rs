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
    view::{LabelKind, measure_view},
};
use crate::loss::sigmoid;
use crate::sample::{DECIDED, Sample, SampleDraw, mix_hash, scores_and_results};

/// Samples stored for checks that need all of them.
const DRAWN: usize = 1 << 17;
/// Largest share of bad records; beyond, the file is probably something else.
const MOST_BAD: f64 = 0.2;
/// Largest share of games or positions in another set; beyond, its figures are not honest.
const MOST_LEAKED: f64 = 0.01;
/// Share of checks, captures and promotions from which on a filter pays off.
const MOST_NOISE: f64 = 0.01;
/// Share of repeats from which on they are noted.
const MOST_REPEATS: f64 = 0.05;

/// Games by their end, from one side's point of view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Results {
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Values between, which some text files contain.
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

/// Most distinct hashes of a kind in memory, some 32 MiB.
const MOST_KEYS: usize = 1 << 20;

/// Counts of keys whose hash has enough leading zeros; more zeros are needed when memory is full.
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
        while self.counts.len() > MOST_KEYS {
            self.level += 1;
            let level = self.level;
            self.counts.retain(|hash, _| hash.leading_zeros() >= level);
        }
    }

    /// Share of keys that occurred before; 0 without any.
    fn repeated_share(&self) -> f64 {
        let total: u64 = self.counts.values().map(|count| u64::from(*count)).sum();
        share_of(total - self.counts.len() as u64, total)
    }

    /// Share of the occurrences whose key occurs in the other set.
    fn share_within(&self, other: &Multiset) -> f64 {
        let level = self.level.max(other.level);
        let (mut total, mut common) = (0u64, 0u64);
        for (hash, count) in &self.counts {
            if hash.leading_zeros() >= level {
                total += u64::from(*count);
                common += if other.counts.contains_key(hash) { u64::from(*count) } else { 0 };
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
    /// Equal positions, counters aside; a colour-flipped position counts as equal.
    pub positions: f64,
    /// Equal positions with equal result and score.
    pub records: f64,
    /// Equal start and moves; none where games are unknown.
    pub games: Option<f64>,
}

/// Shares that also occur in another file, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overlap {
    pub positions: f64,
    /// None if games are unknown in either.
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

    /// Number of distinct games, if they are known.
    pub fn game_count(&self) -> Option<u64> {
        let once = self.games_read as f64 * (1.0 - self.games.repeated_share());
        (self.games_read > 0).then_some(once.round() as u64)
    }

    fn count_repeats(&self) -> Repeats {
        Repeats {
            positions: self.positions.repeated_share(),
            records: self.records.repeated_share(),
            games: self.game_count().map(|_| self.games.repeated_share()),
        }
    }

    /// Shares of these that occur in the others.
    pub fn measure_overlap(&self, other: &Keys) -> Overlap {
        let games = self
            .game_count()
            .and(other.game_count())
            .map(|_| self.games.share_within(&other.games));
        Overlap { positions: self.positions.share_within(&other.positions), games }
    }
}

/// The scale of the scores: `sigmoid(score / scale)` is the expected result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Centipawns a unit of logit.
    pub scale: f64,
    /// At the border of the search: the scores do not predict the results.
    pub at_border: bool,
    /// Share of the results' variance that the scores explain.
    pub explained: f64,
}

/// Fits a scale of scores to results of 0 to 1; the flag marks the border of the search.
pub type FitScale = fn(&[f64], &[f64]) -> Option<(f64, bool)>;

/// Models that positions are enough to train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    #[default]
    Nothing,
    /// Handcrafted terms; there are too few for nets.
    Terms,
    Nets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Ok,
    /// Worth knowing; training is fine.
    Note,
    /// Training on this would be a mistake.
    Problem,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub grade: Grade,
    /// The check in a word or two.
    pub about: &'static str,
    pub says: String,
    /// A remedy; none if nothing is wrong.
    pub cure: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    pub positions: u64,
    /// Distinct games; none if unknown.
    pub games: Option<u64>,
    /// Positions whose game is unknown.
    pub gameless: u64,
    pub bad_records: u64,
    /// The first bad records, with place and reason.
    pub bad_examples: Vec<String>,
    pub unfinished: u64,
    pub white_to_move: u64,
    pub side_to_move: Results,
    /// None if it is unknown who is White.
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
    /// None if too few positions have scores.
    pub scale: Option<Scale>,
    pub against: Option<Overlap>,
    pub fit_for: Fitness,
    pub findings: Vec<Finding>,
}

pub struct Exam {
    colours: bool,
    it: Diagnosis,
    white: Results,
    keys: Keys,
    draw: SampleDraw,
}

impl Exam {
    /// Starts an exam of samples from a format with these facts.
    pub fn new(facts: &Facts) -> Self {
        Self {
            colours: facts.colours != Presence::Never,
            it: Diagnosis::default(),
            white: Results::default(),
            keys: Keys::default(),
            draw: SampleDraw::new(DRAWN),
        }
    }

    pub fn add(&mut self, sample: &Sample) {
        let it = &mut self.it;
        let white = sample.position.turn().is_white();
        it.positions += 1;
        it.white_to_move += u64::from(white);
        it.side_to_move.add(sample.result);
        self.white.add(if white { sample.result } else { 1.0 - sample.result });
        if let Some(score) = sample.score {
            let [low, high] = it.scores.unwrap_or([score; 2]);
            it.scores = Some([low.min(score), high.max(score)]);
            it.scored += 1;
            it.mates += u64::from(score.unsigned_abs() > DECIDED);
        }
        let check = sample.position.in_check();
        let capture = sample.played.is_some_and(|played| played.is_capture(&sample.position));
        let promotion = sample.played.is_some_and(|played| played.promotion().is_some());
        it.in_check += u64::from(check);
        it.moves += u64::from(sample.played.is_some());
        it.captures += u64::from(capture);
        it.promotions += u64::from(promotion);
        it.forfeits += u64::from(sample.forfeit);
        it.noisy += u64::from(check || capture || promotion);
        self.keys.add(sample);
        self.draw.add(sample);
    }

    /// Completes the diagnosis of what was read of a source: whether it has more, why reading
    /// stopped before its end, a fit of scales, and the keys of files that must not contain the
    /// same positions.
    pub fn diagnose(
        self,
        source: &SampleSource,
        (limited, ended): (bool, Option<String>),
        fit: FitScale,
        against: Option<&Keys>,
    ) -> Diagnosis {
        let mut it = self.it;
        it.games = self.keys.game_count();
        it.gameless = self.keys.gameless;
        let bad = source.bad_records();
        it.bad_records = bad.count;
        it.bad_examples = bad.first.iter().map(ToString::to_string).collect();
        it.unfinished = source.unfinished_games();
        it.white = self.colours.then_some(self.white);
        it.repeats = self.keys.count_repeats();
        it.against = against.map(|other| self.keys.measure_overlap(other));
        let drawn: Vec<Sample> = self.draw.samples().copied().collect();
        it.scale = fit_scale(&drawn, fit);
        let few = !limited && few_for_nets(it.games.unwrap_or(0), it.gameless);
        it.findings.push(check_records(&it, ended));
        if it.positions > 0 {
            let views = check_views(&drawn, source, self.colours);
            let checks = [
                check_amount(&it, few),
                check_results(&it),
                check_scores(&it, source),
                check_noise(&it),
                check_repeats(&it),
            ];
            it.findings.extend(checks.into_iter().chain(views));
            it.findings.extend(check_calibration(&it));
            it.findings.extend(check_forfeits(&it));
            it.findings.extend(it.against.map(check_leakage));
        }
        let is_problem = it.findings.iter().any(|finding| finding.grade == Grade::Problem);
        it.fit_for = match (is_problem, few) {
            (true, _) => Fitness::Nothing,
            (false, true) => Fitness::Terms,
            (false, false) => Fitness::Nets,
        };
        it
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

/// A note if `noted`, else ok.
fn note_finding(noted: bool, about: &'static str, says: String, cure: &str) -> Finding {
    new_finding(if noted { Grade::Note } else { Grade::Ok }, about, says, cure)
}

fn check_records(it: &Diagnosis, ended: Option<String>) -> Finding {
    let bad = it.bad_records;
    if let Some(ended) = ended {
        let cure = match it.unfinished {
            0 => "fetch or make the file again",
            _ => "label the positions, or finish the games, before training on them",
        };
        return new_finding(Grade::Problem, "records", ended, cure);
    }
    // Records are games where these are known.
    let part = share_of(bad, bad + it.games.unwrap_or(it.positions));
    let mut says = format!("{} bad, {} of all", count_noun(bad, "record"), format_percent(part));
    if it.unfinished > 0 {
        says += &format!("; {} without a result passed over", count_noun(it.unfinished, "game"));
    }
    match (bad, part > MOST_BAD) {
        (0, _) => new_finding(Grade::Ok, "records", says, ""),
        (_, true) => {
            new_finding(Grade::Problem, "records", says, "check the program that wrote them")
        }
        _ => new_finding(Grade::Note, "records", says, &format!("data.bad_records = {bad}")),
    }
}

fn check_amount(it: &Diagnosis, few: bool) -> Finding {
    let says = positions_of_games(it.positions, it.games.unwrap_or(0), it.gameless);
    let cure = "for a net play 1,000 games or more (nnuance data selfplay)";
    note_finding(few, "amount", says, cure)
}

fn check_results(it: &Diagnosis) -> Finding {
    let own = it.white.unwrap_or(it.side_to_move);
    let whose = if it.white.is_some() { "White" } else { "the side to move" };
    let [wins, draws, losses] =
        [own.wins, own.draws, own.losses].map(|count| share_of(count, it.positions));
    let [w, d, l] = [wins, draws, losses].map(format_percent);
    let says = format!("{whose} wins {w}, draws {d}, loses {l}");
    if [wins, draws, losses].contains(&1.0) {
        let cure = "take the results from the games, or train on scores alone (target.wdl = 0)";
        return new_finding(Grade::Problem, "results", says + ": all alike teach nothing", cure);
    }
    let cure = if draws > 0.8 {
        "nearly all are draws: play from less balanced openings"
    } else if own.draws + own.between == 0 {
        "no draws: an evaluation trained on these takes every advantage for a win"
    } else {
        ""
    };
    note_finding(!cure.is_empty(), "results", says, cure)
}

fn check_scores(it: &Diagnosis, source: &SampleSource) -> Finding {
    let unread = source.unread_comments().map_or(String::new(), |it| format!("; {it}"));
    let Some([low, high]) = it.scores else {
        let results = "train on results (target.wdl = 1), or label the positions with an engine";
        let cure = source.unread_comments().map_or(results, |it| it.cure);
        return new_finding(
            Grade::Note,
            "scores",
            format!("no position has a score{unread}"),
            cure,
        );
    };
    let (missing, mates) = (it.positions - it.scored, share_of(it.mates, it.scored));
    let says = format!(
        "{low} to {high} cp; {} mates, {} without a score{unread}",
        format_percent(mates),
        format_percent(share_of(missing, it.positions))
    );
    let cure = if low == high {
        "all scores are alike: train on results (target.wdl = 1), or label the positions"
    } else if mates > MOST_NOISE {
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

fn check_noise(it: &Diagnosis) -> Finding {
    let mut says = format!("{} in check", format_percent(share_of(it.in_check, it.positions)));
    let mut cure = "set data.filter.skip_in_check = true".to_string();
    if it.moves > 0 {
        let [captures, promotions] =
            [it.captures, it.promotions].map(|count| format_percent(share_of(count, it.moves)));
        says += &format!("; of the moves played {captures} captures, {promotions} promotions");
        cure += ", skip_captures = true, skip_promotions = true";
    }
    note_finding(share_of(it.noisy, it.positions) > MOST_NOISE, "noise", says, &cure)
}

fn check_forfeits(it: &Diagnosis) -> Option<Finding> {
    let part = share_of(it.forfeits, it.positions);
    let says =
        format!("{} of positions are of games lost on time or by a fault", format_percent(part));
    let finding =
        note_finding(part > MOST_NOISE, "forfeits", says, "set data.filter.skip_forfeits = true");
    (it.forfeits > 0).then_some(finding)
}

fn check_repeats(it: &Diagnosis) -> Finding {
    let Repeats { positions, records, games } = it.repeats;
    let mut says = format!(
        "{} of positions came before, {} with the same result and score",
        format_percent(positions),
        format_percent(records)
    );
    says += &games.map_or(String::new(), |games| format!("; {} of games", format_percent(games)));
    let many = records.max(games.unwrap_or(0.0)) > MOST_REPEATS;
    note_finding(many, "repeats", says, "`nnuance data dedup` leaves them out")
}

/// Checks the point of view of results and scores.
fn check_views(samples: &[Sample], source: &SampleSource, colours: bool) -> Vec<Finding> {
    let scored = samples.iter().any(|sample| sample.score.is_some());
    let of = [(LabelKind::Result, "view, results"), (LabelKind::Score, "view, scores")];
    let check = |(of, about): (LabelKind, &'static str)| {
        let verdict = measure_view(samples, of, colours);
        match (verdict.explain_contradiction(source.read_view(of), "data"), verdict.find_evidence())
        {
            (Some(why), _) => new_finding(Grade::Problem, about, why, ""),
            (None, Some(evidence)) => new_finding(Grade::Ok, about, evidence.to_string(), ""),
            (None, None) => {
                let says = "material does not show the point of view".to_string();
                new_finding(Grade::Note, about, says, "check more positions, or by hand")
            }
        }
    };
    of.into_iter().take(1 + usize::from(scored)).map(check).collect()
}

fn check_calibration(it: &Diagnosis) -> Option<Finding> {
    let Scale { scale, at_border, explained } = it.scale?;
    let part = format_percent(explained.max(0.0));
    let says = format!("score_scale {scale:.0} explains {part} of the results' variance");
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
    match overlap.games.unwrap_or(overlap.positions) > MOST_LEAKED {
        true => new_finding(Grade::Problem, "leakage", says, cure),
        false => new_finding(Grade::Ok, "leakage", says, ""),
    }
}
