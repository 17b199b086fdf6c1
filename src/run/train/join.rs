//! Joining a run that rank 0 begins or resumes. Only rank 0 reads and writes the run folder. Before
//! it reads the data it broadcasts a checkpoint with the recipe, so that all ranks read at the same
//! time; afterwards it broadcasts the checkpoint from which all train.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{OpenRun, RunContext};
use crate::config::Objective;
use crate::run::Host;
use crate::run::recipe::{COMPUTE, Recipe};
use crate::train::End;
use crate::train::checkpoint::Checkpoint;
use crate::train::ranks::Ranks;

/// Broadcasts the recipe of a run from rank 0, with the checkpoint of a resumed run.
pub fn broadcast_recipe(
    recipe: &Recipe,
    resumed: Option<&Checkpoint>,
    host: &Host,
    ranks: &dyn Ranks,
) -> Result<()> {
    if ranks.is_alone() {
        return Ok(());
    }
    let config = &recipe.config;
    let count = ranks.count();
    ensure!(
        config.file.target.learn == Objective::Values && !config.optimizer.name.is_direct(),
        "`target.learn` with searches, `gauss-newton` and `local-search` run in one process; start \
         it without mpirun"
    );
    ensure!(
        config.batch_size.is_none_or(|batch| batch >= count),
        "`schedule.batch` has fewer positions than there are ranks, {count}"
    );
    let mut draft = match resumed {
        Some(resumed) => resumed.clone(),
        None => Checkpoint { facts: recipe.header_facts()?, ..Checkpoint::default() },
    };
    draft.facts.insert(COMPUTE.into(), host.describe_compute());
    ranks.broadcast_bytes(&mut draft.to_bytes());
    Ok(())
}

/// Joins the run of rank 0 as another rank. Returns how it ended.
///
/// # Errors
///
/// Fails if this rank has another device or other data than rank 0, and as
/// [`begin_training`](super::begin_training) does.
pub fn join_run(context: &RunContext) -> Result<End> {
    let receive = || {
        let mut bytes = Vec::new();
        context.ranks.broadcast_bytes(&mut bytes);
        let received = Checkpoint::from_bytes(&bytes, Path::new("the checkpoint of rank 0"))?;
        let recipe = Recipe::read_header(&received.facts)?;
        Ok::<_, anyhow::Error>((received, recipe.context("rank 0 sends no config")?))
    };
    let (draft, recipe) = receive()?;
    let host = context.open_host(&recipe.config)?;
    let compute = host.describe_compute();
    let first = draft.facts.get(COMPUTE);
    ensure!(
        first == Some(&compute),
        "this machine computes with {compute}, that of rank 0 with {}: their weights would drift apart; \
         name what both have with --simd",
        first.map_or("nothing", String::as_str)
    );
    let resumed = Some(&draft.weights).filter(|weights| !weights.0.is_empty());
    let (mut run, _) = OpenRun::open(recipe, resumed, host, context)?;
    let checkpoint;
    (checkpoint, run.recipe) = receive()?;
    run.require_same_data()?;
    let settings = run.run_settings()?;
    let (end, _) = run.take_steps(checkpoint, &settings, Path::new(""), context.listener)?;
    Ok(end)
}
