//! Selection of positions for a comparison: never games that an evaluation was trained on.

use anyhow::{Result, ensure};

use super::evaluator::Evaluator;
use super::recipe::Recipe;
use crate::digits::group_digits;
use crate::loader::TestShare;
use crate::sample::{Sample, games_known};
use crate::sketch::Sketch;

/// Positions for a comparison, with notes about them and cautions about evaluations.
#[derive(Debug, Default)]
pub struct Selection {
    pub samples: Vec<Sample>,
    /// Whether they are test games; else all positions are used.
    pub is_test: bool,
    /// Positions that are left out.
    pub notes: Vec<String>,
    /// Which games are measured.
    pub details: Vec<String>,
    /// By evaluation, other explanations of a low loss; any leaves its verdict open.
    pub cautions: Vec<Vec<String>>,
    /// Whether a few games may be left that an evaluation was trained on.
    pub is_shared: bool,
}

impl Selection {
    /// Leaves out the positions known to be in the data of an evaluation, if they are few.
    fn drop_few(&mut self, name: &str, sketch: &Sketch) {
        let share = sketch.known_share(self.samples.iter().map(Sample::split_group));
        if share == 0.0 || share >= FEW {
            return;
        }
        let all = self.samples.len();
        self.samples.retain(|sample| !sketch.contains_hash(sample.split_group()));
        let [left_out, all] =
            [all - self.samples.len(), all].map(|count| group_digits(count as u64));
        let known = if sketch.is_whole() { "" } else { " that are known" };
        self.notes.push(format!(
            "{name} was trained on {:.2} % of {all} positions: the {left_out}{known} are left out",
            100.0 * share
        ));
        self.is_shared |= !sketch.is_whole();
    }

    /// Leaves out positions without a score, which `who` needs, for all evaluations alike.
    pub fn skip_unscored(&mut self, who: &str) -> Result<()> {
        let all = self.samples.len();
        self.samples.retain(|sample| sample.score.is_some());
        ensure!(
            !self.samples.is_empty(),
            "none of the {} positions has a score, which {who} needs; label the positions \
             (nnuance data label), or compare without it",
            group_digits(all as u64)
        );
        let without = all - self.samples.len();
        if without > 0 {
            let without = group_digits(without as u64);
            self.notes.push(format!("{without} positions without a score are left out"));
        }
        Ok(())
    }
}

/// Smallest share of known positions with which the others count as the data of training.
const FEW: f64 = 0.01;

/// The caution about an evaluation whose checkpoint was chosen on the measured games.
pub fn chosen_on_these(name: &str) -> String {
    format!("{name} chose its checkpoint on these games too")
}

/// Leaves out games that an evaluation was trained on, unless `all`.
///
/// Games are recognised by their content, whatever file they are in. If an evaluation was trained
/// on a few of these, those that are known are left out. If it was trained on more, the filter of
/// its training is applied, and its test games are left. Runs without a test chose their
/// checkpoints on all held-out games; they are measured on the same games as others, with a caution.
/// `chosen` positions passed a filter of the user, which replaces that of the training. Fails if
/// two evaluations held out different games, or one held out none.
pub fn select_positions(
    evaluators: &[Evaluator],
    samples: Vec<Sample>,
    all: bool,
    chosen: bool,
) -> Result<Selection> {
    let games = games_known(&samples);
    let mut found = Selection { samples, ..Selection::default() };
    let mut cautions = vec![Vec::new(); evaluators.len()];
    let mut known: Vec<(usize, &str, &Recipe)> = Vec::new();
    for (place, evaluator) in evaluators.iter().enumerate().filter(|(_, it)| it.is_trained()) {
        let name = &evaluator.name[..];
        if let Some(why) = evaluator.reason_unlearnt() {
            cautions[place].push(format!("{name}: {why}"));
        }
        cautions[place].extend(evaluator.cautions.iter().cloned());
        match &evaluator.recipe {
            Some(recipe) => known.push((place, name, recipe)),
            None => cautions[place].push(format!("the training data of {name} are unknown")),
        }
    }
    if !all {
        for (_, name, recipe) in &known {
            found.drop_few(name, &recipe.sketch);
            found.drop_few(name, &recipe.validation_sketch);
        }
    }
    let mut seen = known.clone();
    seen.retain(|(.., recipe)| {
        found.samples.iter().any(|it| recipe.sketch.contains_hash(it.split_group()))
    });
    let is_seen = |place: usize| seen.iter().any(|it| it.0 == place);
    for &(place, name, recipe) in &known {
        if is_seen(place) {
            if all {
                let share =
                    recipe.sketch.known_share(found.samples.iter().map(Sample::split_group));
                let why =
                    format!("the training data of {name} have {:.1} % of these", 100.0 * share);
                cautions[place].push(why);
            }
        } else if recipe.data.iter().any(|file| file.games > 0) != games {
            let why = "games are known on one side only";
            cautions[place].push(format!("whether {name} was trained on these: {why}"));
        }
        let start = recipe.start.as_ref().and_then(|start| start.doubt.as_ref());
        let base = recipe.base.as_ref().and_then(|base| base.doubt.as_ref());
        for (how, doubt) in [("started from another net", start), ("is added to another", base)] {
            cautions[place].extend(doubt.map(|doubt| format!("{name} {how}: {doubt}")));
        }
    }
    if let Some((first, name, recipe)) = seen.first().filter(|_| !all) {
        let split = recipe.config.game_split();
        for (_, other, others) in &seen[1..] {
            let of = others.config.game_split();
            ensure!(
                of == split,
                "{name} and {other} were trained on these games with different ones held out \
                 (held_out {} and {}, held_out_seed {} and {}); train them with the same, name \
                 other data, or compare on everything with --all",
                split.share,
                of.share,
                split.seed,
                of.seed
            );
            if !chosen && others.config.file.data.filter != recipe.config.file.data.filter {
                let why = format!("{name} gains by its filter, which differs from that of {other}");
                cautions[*first].push(why);
            }
        }
        ensure!(
            split.share > 0.0,
            "{name} was trained on all of these games: no loss on them would be honest. Name other \
             data with --data; `nnuance compare --all` measures on them all the same"
        );
        // The smallest test is a part of all the others.
        let tests = seen.iter().map(|(_, _, it)| it.config.test_share.0).filter(|test| *test > 0.0);
        let test = TestShare(tests.reduce(f64::min).unwrap_or(TestShare::DEFAULT.0));
        let filter = &recipe.config.file.data.filter;
        found.samples.retain(|it| {
            let group = it.split_group();
            split.holds_out(group)
                && test.takes_group(group)
                && (chosen || filter.rejecting_key(it).is_none())
        });
        found.is_test = true;
        ensure!(
            !found.samples.is_empty(),
            "none of these games is in the test of {name} (held_out {}, test {}), or its filter \
             leaves none; name more data with --data, or measure on everything with --all",
            split.share,
            test.0
        );
        let games = format!("test games: {} of the {} that {name} held out", test.0, split.share);
        found.details.push(games);
        // Training has skipped positions that its target cannot use; they are skipped for all.
        if let Some((_, name, _)) = seen.iter().find(|(_, _, it)| it.config.needs_scores()) {
            found.skip_unscored(&format!("the target of {name}"))?;
        }
    }
    for (place, name, recipe) in known {
        let validated = |it: &Sample| recipe.validation_sketch.contains_hash(it.split_group());
        let without_test = is_seen(place) && recipe.config.test_share.0 == 0.0 && !all;
        if without_test || found.samples.iter().any(validated) {
            cautions[place].push(chosen_on_these(name));
        }
    }
    Ok(Selection { cautions, ..found })
}
