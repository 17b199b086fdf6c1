//! Stages of a config: runs one after the other, each from the end of the one before. The last
//! stage has the folder of the run, earlier ones have folders in it. A stage is a run whose config
//! has the stage before it as `net.start`, and `net.start_optimizer`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::data::scan_data;
use super::{FinishedRun, RunContext, begin_or_resume, begin_run, check_run};
use crate::config::Config;
use crate::output;
use crate::run::data_plan::read_plan;
use crate::run::folder::{self, RunFolder, is_finished};
use crate::run::recipe::{self, Recipe};

/// Lists the runs of a config, each with its folder: one per stage, or a single one.
fn list_runs(config: &Config, folder: &Path) -> Result<Vec<(Config, PathBuf)>> {
    let stages = config.list_stages();
    let last = stages.len();
    let run = |(number, stage): (usize, Config)| {
        let path =
            if number == last { folder.into() } else { folder::stage_folder(folder, number) };
        let before = (number > 1).then(|| folder::stage_folder(folder, number - 1));
        let stage = stage.with_changes(|file| {
            // Another seed: data that two stages share are in another order.
            file.seed = file.seed.wrapping_add(number as u64 - 1);
            if let (Some(before), Some(net)) = (before, &mut file.net) {
                (net.start, net.start_optimizer) = (Some(before.display().to_string()), true);
            }
        })?;
        Ok((stage, path))
    };
    (1..).zip(stages).map(run).collect()
}

/// Checks the data of all stages and trains them. Returns the result, or None if interrupted.
pub(super) fn begin_stages(
    config: &Config,
    folder: &RunFolder,
    context: &RunContext,
) -> Result<Option<FinishedRun>> {
    ensure!(
        context.ranks.is_alone(),
        "stages run in one process; start it without mpirun, or start each stage as a run with \
         `net.start` and `net.start_optimizer`"
    );
    for (number, stage) in (1..).zip(config.list_stages()) {
        let checked = scan_data(&read_plan(&stage), 0, &stage, context.listener)
            .map_err(anyhow::Error::from)
            .and_then(|scan| check_run(&stage, scan.counts.train, context));
        checked.with_context(|| format!("stage {number}"))?;
    }
    folder.clear_runs()?;
    // A folder of a stage may have another run of the user.
    require_same(config, &folder.path)?;
    output::write_file(&folder.path.join(folder::STAGES), config.to_toml().as_bytes())?;
    go_on(config, folder, context)
}

/// Trains the stages that are not finished. The last stage has not begun.
pub(super) fn go_on(
    config: &Config,
    folder: &RunFolder,
    context: &RunContext,
) -> Result<Option<FinishedRun>> {
    let mut runs = list_runs(config, &folder.path)?;
    let (last, _) = runs.pop().context("a config has a run")?;
    for (number, (stage, path)) in (1..).zip(&runs) {
        let recipe = require_same(stage, path)?;
        if recipe.is_some() && is_finished(path) {
            continue;
        }
        context.listener.report_remark(&format!("stage {number} of {}", runs.len() + 1));
        if !begin_or_resume(stage, path, context)? {
            return Ok(None);
        }
    }
    context.listener.report_remark(&format!("stage {0} of {0}", runs.len() + 1));
    begin_run(last, folder, context, RunFolder::clear_run)
}

/// Returns the recipe of the run in a folder, if its last stage has begun. Fails if the run or an
/// earlier stage has another config.
pub fn require_same(config: &Config, path: &Path) -> Result<Option<Recipe>> {
    let mut last = None;
    for (wanted, path) in list_runs(config, path)? {
        let file = path.join(folder::LAST);
        last = None;
        if !file.exists() {
            continue;
        }
        let recipe = last.insert(recipe::open_checkpoint(&file)?.1);
        let config = &recipe.config;
        // Facts that change the data of a run.
        let wanted = wanted.with_changes(|file| {
            file.data.window = file.data.window.or(config.file.data.window);
            file.data.positions = file.data.positions.or(config.file.data.positions);
            file.target.scale = file.target.scale.or(config.file.target.scale);
        })?;
        ensure!(
            wanted.to_toml() == config.to_toml() && recipe.term_list == recipe::term_list(&wanted)?,
            "{}",
            foreign_run_error(&path)
        );
    }
    Ok(last)
}

/// Writes the error of a folder with the run of another config.
pub fn foreign_run_error(path: &Path) -> String {
    format!(
        "{} holds a run of another config or other data; choose another folder with --out",
        path.display()
    )
}
