//! Names of evaluations in tables, and the check that none is given twice.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, bail};

use super::evaluator::Evaluator;
use super::path::weights_file;
use crate::train::CHECKPOINT_FOLDER;

/// Fails if an evaluation is given twice; a run folder means its best checkpoint.
pub fn require_distinct_evaluations(given: &[String]) -> Result<()> {
    let file = |name: &String| {
        let path = weights_file(Path::new(name));
        path.canonicalize().unwrap_or(path)
    };
    for (i, name) in given.iter().enumerate() {
        if let Some(first) = given[..i].iter().find(|it| file(it) == file(name)) {
            bail!("{first} and {name} are the same evaluation; name it once, or another");
        }
    }
    Ok(())
}

/// Gives evaluations the shortest names that differ: the name of the run, alone or with its file.
/// Names that are still equal are replaced by those that were given.
pub fn make_names_distinct(evaluators: &mut [Evaluator]) {
    let names: Vec<String> = evaluators.iter().map(|it| it.name.clone()).collect();
    for (i, name) in shorten_run_names(&names).into_iter().enumerate() {
        let equal = names.iter().filter(|it| **it == names[i]).count() > 1;
        let evaluator = &mut evaluators[i];
        evaluator.name = if equal { evaluator.name_or_path.clone() } else { name };
    }
}

/// Shortens names of runs to those without their file, if they stay different: `first/net` to
/// `first`.
pub fn shorten_run_names(names: &[String]) -> Vec<String> {
    let run = |name: &str| {
        let files = ["/net", "/best", "/terms"].iter();
        files.filter_map(|file| name.strip_suffix(file)).next().unwrap_or(name).to_string()
    };
    let runs: Vec<String> = names.iter().map(|name| run(name)).collect();
    let is_unique = |short: &String| runs.iter().filter(|it| *it == short).count() == 1;
    let pairs = names.iter().zip(&runs);
    pairs.map(|(name, short)| if is_unique(short) { short } else { name }.clone()).collect()
}

/// Shortens `runs/first/best.safetensors` to `first/best`, `nets/first.bin` to `first.bin`.
pub fn short_name(path: &Path) -> String {
    let text = |name: Option<&OsStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    let stem = text(path.file_stem());
    let run =
        path.parent().filter(|folder| folder.ends_with(CHECKPOINT_FOLDER)).and_then(Path::parent);
    match run.or(path.parent()).and_then(Path::file_name) {
        Some(folder) if run.is_some() || matches!(&stem[..], "best" | "last" | "net" | "terms") => {
            format!("{}/{stem}", folder.to_string_lossy())
        }
        _ => text(path.file_name()),
    }
}
