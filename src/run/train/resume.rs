//! Going on with a run: as it was, or longer.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::{Finished, Means, data, how, join, length, train};
use crate::config::{Config, Difference, Earlier};
use crate::progress::Progress;
use crate::run::folder::{self, RunFolder};
use crate::run::recipe::{self, COMPUTE, Recipe};
use crate::train::checkpoint::Checkpoint;
use crate::{input, output};

/// What a run that goes on may have set.
const SETTABLE: [&str; 4] =
    ["schedule.epochs", "schedule.positions", "schedule.superbatches", "schedule.patience"];

/// The header entry of a checkpoint that made its run longer: the text of config.toml until then.
const BEFORE: &str = "config_before";

/// Goes on with a run; what it leaves, or none if it was interrupted again.
pub fn resume(path: &Path, overrides: &[String], means: &Means) -> Result<Option<Finished>> {
    let listener = means.listener;
    let folder = RunFolder::of_run(path, listener)?;
    let (mut checkpoint, mut recipe) = recipe::open(&folder.file(folder::LAST))?;
    if let Some(before) = checkpoint.facts.remove(BEFORE)
        && input::text(&folder.file(folder::CONFIG), input::TEXT).is_ok_and(|it| it == before)
    {
        listener.remark("this run was killed while it was made longer; that is done now");
        hand_on(&recipe, &checkpoint, &folder)?;
    }
    stands(&folder, &recipe.config, listener)?;
    let longer = extended(&recipe.config, overrides, &checkpoint)?;
    recipe.reachable_data()?;
    best_stands(&folder, &checkpoint)?;
    let place = means.place.open_for(&recipe.config)?;
    let now = how(&place.1);
    if let Some(begun) = checkpoint.facts.get(COMPUTE).filter(|begun| **begun != now) {
        listener.remark(&format!(
            "this run began with {begun} and goes on with {now}: its last bits will differ"
        ));
    }
    let mut config = recipe.config.clone();
    let term_list = recipe.term_list.as_deref();
    let begun = Some(&checkpoint.weights);
    let base = recipe.base.as_ref();
    let last = Some(&checkpoint);
    join::invite(means.ranks, &config, &folder.path, term_list, base, &place.1, last)?;
    let (data, _) = data::open(&mut config, term_list, begun, base, &place, listener)?;
    if let Some(path) = recipe.changed([&data.summary.files, &data.summary.validating.files]) {
        let path = path.display();
        bail!("{path} has changed since the run began; restore it, or begin anew");
    }
    if let Some(config) = longer {
        let then = recipe.config.steps(data.summary.train);
        recipe.config = config;
        lengthen(&recipe, &mut checkpoint, &folder, [then, data.summary.train], listener)?;
    }
    train(&recipe, data, checkpoint, &folder, &place, means)
}

/// An error where the best weights so far are not there any more: at its end the run may need them.
fn best_stands(folder: &RunFolder, last: &Checkpoint) -> Result<()> {
    let Some(best) = last.state.best else { return Ok(()) };
    let path = folder.file(folder::BEST);
    let cure = || {
        format!(
            "{} has the best weights so far, of step {} or later; restore it, or begin a new run, which \
             may start from the last ones: net.start = \"{}\"",
            path.display(),
            best.step,
            folder.file(folder::LAST).display()
        )
    };
    let found = Checkpoint::read(&path).with_context(cure)?;
    let shapes = |checkpoint: &Checkpoint| {
        let arrays = checkpoint.weights.0.iter();
        arrays.map(|(name, array)| (name.clone(), array.shape.clone())).collect::<Vec<_>>()
    };
    ensure!(shapes(&found) == shapes(last), "these are weights of another run: {}", cure());
    Ok(())
}

/// A run goes on with the config that its checkpoint has. An error where its config.toml says
/// another one by now; if it is gone, it is written again.
fn stands(folder: &RunFolder, config: &Config, listener: &dyn Progress) -> Result<()> {
    let path = folder.file(folder::CONFIG);
    let name = path.display();
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            listener.remark(&format!(
                "{name} is gone; it is written again, from the run's last checkpoint"
            ));
            return Ok(output::write(&path, config.to_toml().as_bytes())?);
        }
        _ => {}
    }
    const AGAIN: &str = "remove it to go on as before, and it is written again";
    let text = input::text(&path, input::TEXT).with_context(|| format!("cannot read {name}"))?;
    let written = Config::parse(&text, &name.to_string(), &[])
        .with_context(|| format!("{name} was changed since the run began; {AGAIN}"))?;
    let differences = written.differences(config);
    if differences.is_empty() {
        return Ok(());
    }
    let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
    let line = |Difference { key, here, there }: &Difference| {
        format!("\n  {key}: {} in the file, {} in the run", said(here), said(there))
    };
    let lines: String = differences.iter().map(line).collect();
    bail!(
        "{name} was changed since the run began, and a run goes on as it began:{lines}\n{AGAIN}; to \
         make the run longer, add --set schedule.epochs=N; for anything else begin a new run, which \
         may start from these weights: net.start = \"{}\"",
        folder.path.display()
    );
}

/// The config of a run that is made longer; none where it stays as it is.
fn extended(
    config: &Config,
    overrides: &[String],
    checkpoint: &Checkpoint,
) -> Result<Option<Config>> {
    for set in overrides {
        let key = set.split('=').next().unwrap_or_default().trim();
        ensure!(
            SETTABLE.contains(&key),
            "--set {set}: a run that goes on can be made longer and more patient ({}), nothing \
             else; begin a new run, which may start from this one's weights with net.start",
            SETTABLE.join(", ")
        );
    }
    let longer = Config::parse(&config.to_toml(), "the run's config", overrides)?;
    if longer == *config {
        return Ok(None);
    }
    ensure!(
        !checkpoint.state.converged,
        "this run has converged: no step makes its loss fall, and a longer one would be the same"
    );
    let length = |config: &Config| {
        let plan = &config.schedule;
        (plan.epochs, plan.positions, plan.superbatches)
    };
    if length(&longer) != length(config) {
        let (epochs, positions, superbatches) = length(config);
        let until_step = checkpoint.state.step;
        let longer = longer.with(|file| {
            // Made longer twice at one place, only the last length counts.
            file.schedule.extended.retain(|earlier| earlier.until_step < until_step);
            if until_step > 0 {
                let earlier = Earlier { epochs, positions, superbatches, until_step };
                file.schedule.extended.push(earlier);
            }
        })?;
        return Ok(Some(longer));
    }
    Ok(Some(longer))
}

/// Records the new length and says what it means. One write does it; where a kill comes before the
/// others, the entry [`BEFORE`] tells that they are still to be done.
fn lengthen(
    recipe: &Recipe,
    checkpoint: &mut Checkpoint,
    folder: &RunFolder,
    [then, positions]: [u64; 2],
    listener: &dyn Progress,
) -> Result<()> {
    let settings = length::settings(&recipe.config, positions)?;
    let (step, steps) = (checkpoint.state.step, settings.steps);
    ensure!(
        steps > step,
        "this run has done {step} steps already, and its new length is {steps}; ask for more"
    );
    for (key, value) in recipe.facts()? {
        checkpoint.facts.insert(key, value);
    }
    let path = folder.file(folder::CONFIG);
    let before = input::text(&path, input::TEXT)
        .with_context(|| format!("cannot read {}", path.display()))?;
    checkpoint.facts.insert(BEFORE.into(), before);
    checkpoint.write(&folder.file(folder::LAST))?;
    checkpoint.facts.remove(BEFORE);
    hand_on(recipe, checkpoint, folder)?;
    if steps != then {
        listener.remark(&format!(
            "the run has {steps} steps now instead of {then}: from step {} on, rates are those of a \
             run of this length",
            step + 1
        ));
    }
    Ok(())
}

/// Hands the length that the last checkpoint has on to the other files of its run, config.toml at
/// the end. The best weights stay what they are; their header tells of the run as it is now.
fn hand_on(recipe: &Recipe, last: &Checkpoint, folder: &RunFolder) -> Result<()> {
    let best = folder.file(folder::BEST);
    if best.exists() {
        let read = Checkpoint::read(&best)?;
        Checkpoint { facts: last.facts.clone(), ..read }.write(&best)?;
    }
    Ok(output::write(&folder.file(folder::CONFIG), recipe.config.to_toml().as_bytes())?)
}
