//! Games of an engine against itself, to learn from.

use std::path::PathBuf;

use super::adjudicate::Adjudication;
use super::game::{Game, Manner};
use super::job::{self, Kept};
use super::journal::Journal;
use super::opening::{Opener, Openings, Start};
use super::pool::Crew;
use super::search::Limit;
use super::{EngineError, Report, Watch};
use crate::format::{Format, Holds, Writer};

/// Which games to play, and how.
#[derive(Clone, Debug)]
pub struct SelfplayJob {
    /// Not packed, and not there yet, unless a run before this one began it.
    pub output: PathBuf,
    /// One that holds the moves played.
    pub format: &'static Format,
    pub games: u64,
    /// A game is a function of this seed, its number, the engine and the settings below.
    pub seed: u64,
    pub limit: Limit,
    pub openings: Openings,
    pub adjudication: Adjudication,
    pub crew: Crew,
}

/// Plays games and writes them whole, in order, each as soon as it and all before it are over.
pub fn selfplay(job: &SelfplayJob, watch: &dyn Watch) -> Result<Report, EngineError> {
    let Format { name, writer, facts, .. } = *job.format;
    let (Some(writer), true) = (writer, facts.moves != Holds::Never) else {
        return Err(EngineError::NoGames(name));
    };
    let opener = Opener::new(&job.openings, job.seed, job.games)?;
    let start = match &job.openings.start {
        Start::Book(path) => format!("book {}", job::hash_of(path)?),
        start => format!("{start:?}"),
    };
    let (least, most) = job.openings.plies;
    let settings = [
        ("job", "selfplay".to_string()),
        ("format", name.to_string()),
        ("games", job.games.to_string()),
        ("seed", job.seed.to_string()),
        ("limit", job.limit.to_string()),
        ("start", start),
        ("plies", format!("{least} to {most}")),
        ("bound", job.openings.bound.to_string()),
        ("adjudication", format!("{:?}", job.adjudication)),
    ];
    let engine = job::engine_settings(&job.crew)?;
    let journal = Journal::open(&job.output, &[settings.to_vec(), engine].concat())?;
    let next = journal.progress().items;
    let Openings { bound, .. } = job.openings;
    let manner = Manner { limit: job.limit, bound, adjudication: job.adjudication };
    let report = job::drive(
        &job.crew,
        journal,
        1,
        (next..job.games).map(Ok),
        |engine, &number: &u64| Game::play(engine, &opener, number, &manner),
        |&number, game, bytes| {
            let written = game.is_some().into();
            if let Some(game) = game {
                write(job, writer(), &game, number, bytes)?;
            }
            Ok(Kept { written, whole: true })
        },
        watch,
    )?;
    if report.written == 0 && !report.stopped {
        let reason = report.skipped.first().map_or("no games were asked for", |skip| &skip.reason);
        let reason = reason.to_string();
        return Err(EngineError::Nothing { path: job.output.clone(), reason });
    }
    Ok(Report { games_lost: facts.games == Holds::Never, ..report })
}

fn write(
    job: &SelfplayJob,
    mut writer: Box<dyn Writer>,
    game: &Game,
    number: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), EngineError> {
    for sample in game.samples() {
        writer.write(&sample, bytes).map_err(|reason| EngineError::Write {
            path: job.output.clone(),
            format: job.format.name,
            number: number + 1,
            reason,
        })?;
    }
    writer.finish(bytes);
    Ok(())
}
