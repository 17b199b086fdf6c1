//! Positions in memory, to measure evaluations on.

use rayon::prelude::*;

use super::read::Filtered;
use super::{LoadError, Plan, Subset};
use crate::sample::Sample;

/// Which positions to collect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    /// Those of games to train on.
    Train,
    /// Those that the plan's split holds out.
    HeldOut,
    /// Those by which training chooses: some of them, or all of the plan's files for validation.
    Validation,
    /// The others that are held out.
    Test,
}

impl Part {
    fn has(self, subset: Subset) -> bool {
        match self {
            Part::All => true,
            Part::Train => subset == Subset::Train,
            Part::HeldOut => matches!(subset, Subset::Validation | Subset::Test),
            Part::Validation => subset == Subset::Validation,
            Part::Test => subset == Subset::Test,
        }
    }
}

/// The positions of all files that pass the filter, in order; `seen` is told of those read.
///
/// # Errors
/// The first file that cannot be read, and files from which nothing is left.
pub fn collect(
    plan: &Plan,
    part: Part,
    seen: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Sample>, LoadError> {
    if let Some(validating) = plan.validating().filter(|_| part == Part::Validation) {
        return collect(&validating, part, seen);
    }
    let files: Vec<Result<Vec<Sample>, LoadError>> = plan
        .files
        .par_iter()
        .map(|path| {
            let mut file = Filtered::open(path, plan)?;
            let mut samples = Vec::new();
            let mut block = Vec::new();
            let mut more = true;
            while more {
                block.clear();
                let before = file.read;
                more = file.next(&mut block)?;
                let wanted = |it: &&Sample| part.has(plan.subset(it));
                samples.extend(block.iter().filter(wanted));
                seen(file.read - before);
            }
            Ok(samples)
        })
        .collect();
    let mut samples = Vec::new();
    for file in files {
        samples.extend(file?);
    }
    match samples.is_empty() {
        true => Err(LoadError::Empty("neither the filter nor the split left one".into())),
        false => Ok(samples),
    }
}
