//! The processes that `mpirun` started, as ranks of one run.

#[cfg(feature = "mpi")]
mod world;

use anyhow::{Error, Result, ensure};

use crate::train::ranks::{Ranks, SingleRank};

/// Returns the number of processes started together, as Open MPI, MPICH and Slurm report it.
fn process_count() -> Option<usize> {
    read_number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
}

/// Returns whether this process prints: it is rank 0, or the only one.
pub fn is_first() -> bool {
    read_number(&["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"]).unwrap_or(0) == 0
}

fn read_number(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()?.parse().ok())
}

/// Fails if several processes were started together and cannot share the work.
pub fn require_single_process(trains: bool) -> Result<()> {
    let count = process_count().unwrap_or(1);
    ensure!(
        count == 1 || cfg!(feature = "mpi"),
        "{count} processes were started together, and this nnuance was built without MPI; build it with \
         `cargo install --path . --features mpi`, or start one"
    );
    ensure!(
        count == 1 || trains,
        "{count} processes were started together, and only `train` shares its work; start one without \
         mpirun"
    );
    Ok(())
}

/// Returns the ranks of this run. A rank is lost after `silence` seconds without an answer.
pub fn ranks(silence: u16) -> Result<&'static dyn Ranks> {
    #[cfg(feature = "mpi")]
    if process_count().is_some() {
        return Ok(world::World::join(silence)?);
    }
    let _ = silence;
    Ok(&SingleRank)
}

pub fn leave() {
    #[cfg(feature = "mpi")]
    if let Some(world) = world::World::joined() {
        world.leave();
    }
}

/// Joins an error and its causes; causes that the text before them quotes are left out.
fn join_causes(error: &Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        match (text.is_empty(), text.contains(&cause)) {
            (true, _) => cause,
            (false, true) => text,
            (false, false) => format!("{text}: {cause}"),
        }
    })
}

/// Prints this process's error, and ends all others.
pub fn fail(error: &Error) {
    let text = join_causes(error);
    #[cfg(feature = "mpi")]
    if let Some(world) = world::World::joined() {
        world.fail(&text);
    }
    if is_first() {
        eprintln!("error: {text}");
    }
}
