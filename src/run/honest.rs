//! Selection of positions for a comparison: never games that an evaluation was trained on.

use anyhow::{Result, ensure};

use super::evaluator::Evaluator;
use super::recipe::Recipe;
use crate::digits::{format_decimal_percent, group_digits};
use crate::loader::TestShare;
use crate::sample::{Sample, games_known};
use crate::sketch::Sketch;

/// Positions for a comparison, with notes about them and cautions about evaluations.
#[derive(Debug, Default)]
pub struct Selection {
    pub samples: Vec<Sample>,
    /// Whether the positions are test games; else all positions are used.
    pub is_test: bool,
    /// Notes on positions that are left out.
    pub notes: Vec<String>,
    /// Notes on the games that are measured.
    pub details: Vec<String>,
    /// Other explanations of a low loss, by evaluation. Any of them leaves the verdict open.
    pub cautions: Vec<Vec<String>>,
    /// Whether an evaluation may have been trained on a few of the games.
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
            "{name} was trained on {} of {all} positions: the {left_out}{known} are left out",
            format_decimal_percent(share, 2)
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

/// Share of known positions from which on all count as training data.
const FEW: f64 = 0.01;

/// Writes the caution about an evaluation whose checkpoint was chosen on the measured games.
pub fn chosen_on_these(name: &str) -> String {
    format!("{name} chose its checkpoint on these games too")
}

/// Leaves out games that an evaluation was trained on, unless `all`.
///
/// Games are recognised by their content, in any file. If an evaluation was trained on a few of
/// them, the known ones are left out. If it was trained on more, the filter of its training is
/// applied, and only its test games are measured. Runs without a test chose their checkpoints on
/// all held-out games; they are measured on the same games as others, with a caution. `chosen`
/// positions passed a filter of the user, which replaces the filter of the training. Fails if two
/// evaluations held out different games, or one held out none.
pub fn select_positions(
    evaluators: &[Evaluator],
    samples: Vec<Sample>,
    all: bool,
    chosen: bool,
) -> Result<Selection> {
    let games = games_known(&samples);
    let mut selection = Selection { samples, ..Selection::default() };
    let mut cautions = vec![Vec::new(); evaluators.len()];
    let mut known: Vec<(usize, &str, &Recipe)> = Vec::new();
    for (evaluation, evaluator) in evaluators.iter().enumerate().filter(|(_, it)| it.is_trained()) {
        let name = &evaluator.name[..];
        cautions[evaluation]
            .extend(evaluator.explain_untrained().map(|why| format!("{name}: {why}")));
        cautions[evaluation].extend(evaluator.caution.clone());
        match &evaluator.recipe {
            Some(recipe) => known.push((evaluation, name, recipe)),
            None => cautions[evaluation].push(format!("the training data of {name} are unknown")),
        }
    }
    if !all {
        for (_, name, recipe) in &known {
            selection.drop_few(name, &recipe.sketch);
            selection.drop_few(name, &recipe.validation_sketch);
        }
    }
    let mut trained_on = known.clone();
    trained_on.retain(|(.., recipe)| {
        selection.samples.iter().any(|it| recipe.sketch.contains_hash(it.split_group()))
    });
    let has_trained = |evaluation: usize| trained_on.iter().any(|it| it.0 == evaluation);
    for &(evaluation, name, recipe) in &known {
        if has_trained(evaluation) {
            if all {
                let share =
                    recipe.sketch.known_share(selection.samples.iter().map(Sample::split_group));
                let share = format_decimal_percent(share, 1);
                cautions[evaluation]
                    .push(format!("the training data of {name} have {share} of these"));
            }
        } else if recipe.data.iter().any(|file| file.games > 0) != games {
            let why = "games are known on one side only";
            cautions[evaluation].push(format!("whether {name} was trained on these: {why}"));
        }
        let origins = ["started from another net", "is added to another"];
        for (how, doubt) in origins.into_iter().zip(recipe.doubts()) {
            cautions[evaluation].extend(doubt.map(|doubt| format!("{name} {how}: {doubt}")));
        }
    }
    if let Some((first, name, recipe)) = trained_on.first().filter(|_| !all) {
        let split = recipe.config.game_split();
        for (_, other_name, other_recipe) in &trained_on[1..] {
            let other_split = other_recipe.config.game_split();
            ensure!(
                other_split == split,
                "{name} and {other_name} were trained on these games with different ones held out \
                 (held_out {} and {}, held_out_seed {} and {}); train them with the same, name \
                 other data, or compare on everything with --all",
                split.share,
                other_split.share,
                split.seed,
                other_split.seed
            );
            if !chosen && other_recipe.config.file.data.filter != recipe.config.file.data.filter {
                cautions[*first].push(format!(
                    "{name} gains by its filter, which differs from that of {other_name}"
                ));
            }
        }
        ensure!(
            split.share > 0.0,
            "{name} was trained on all of these games: no loss on them would be honest. Name other \
             data with --data; `nnuance compare --all` measures on them all the same"
        );
        // The smallest test is a part of all others.
        let tests =
            trained_on.iter().map(|(_, _, it)| it.config.test_share.0).filter(|test| *test > 0.0);
        let test = TestShare(tests.reduce(f64::min).unwrap_or(TestShare::DEFAULT.0));
        let filter = &recipe.config.file.data.filter;
        selection.samples.retain(|sample| {
            let group = sample.split_group();
            split.holds_out(group)
                && test.takes_group(group)
                && (chosen || filter.rejecting_key(sample).is_none())
        });
        selection.is_test = true;
        ensure!(
            !selection.samples.is_empty(),
            "none of these games is in the test of {name} (held_out {}, test {}), or its filter \
             leaves none; name more data with --data, or measure on everything with --all",
            split.share,
            test.0
        );
        let games = format!("test games: {} of the {} that {name} held out", test.0, split.share);
        selection.details.push(games);
        // Positions that the target of a training cannot use are skipped for all.
        if let Some((_, name, _)) = trained_on.iter().find(|(_, _, it)| it.config.needs_scores()) {
            selection.skip_unscored(&format!("the target of {name}"))?;
        }
    }
    for (evaluation, name, recipe) in known {
        let validated = |it: &Sample| recipe.validation_sketch.contains_hash(it.split_group());
        let without_test = has_trained(evaluation) && recipe.config.test_share.0 == 0.0 && !all;
        if without_test || selection.samples.iter().any(validated) {
            cautions[evaluation].push(chosen_on_these(name));
        }
    }
    Ok(Selection { cautions, ..selection })
}
