//! A climb: from no data at all to an evaluation, by games against itself.
//!
//! ```text
//!  best so far ─ selfplay ─▶ games ─ train, the last few generations' ─▶ evaluation
//!       ▲                                                                    │
//!       └───────────── kept where it scores more than a half ─── match ◀─────┘
//! ```
//!
//! All of it follows from the config: games and matches are functions of its seed, at paces of
//! nodes, and a training on the CPU is one of its data. So a climb that was killed goes on to the
//! same files, with any number of threads.

mod folder;
mod generation;
mod ladder;
mod page;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};

pub use folder::ClimbFolder;
use generation::{Games, Generation, Met, Trained};
pub use ladder::Ladder;

use super::arena::{Manner, Pace, Standing, play};
use super::folder::{BEST, LAST, NET, RunFolder};
use super::recipe::POSITIONS;
use super::train::{Means, begin, resume};
use super::{OwnPlayer, export};
use crate::config::{Climb, Config};
use crate::digits::{counted, grouped};
use crate::engine::adjudicate::Adjudication;
use crate::engine::journal::Journal;
use crate::engine::opening::Openings;
use crate::engine::{Crew, Entrant, Limit, SelfplayJob, Watch, selfplay};
use crate::export::Given;
use crate::format::viriformat;
use crate::model::{Compute, Device, initial_of_size};
use crate::sample::mix;
use crate::train::checkpoint::Checkpoint;

/// Sees games being played, and has a clock.
pub trait Spectator {
    /// Since any moment, the same one each time.
    fn seconds(&self) -> f64;

    /// So many `noun`s, games or pairs, are about to be played; they are when it is dropped. They
    /// may go on behind those of an earlier command.
    fn watch(&self, total: u64, noun: &'static str, resumes: bool) -> Box<dyn Watch + '_>;
}

/// Climbs to the last generation of the config, from wherever the folder stands. None if it was
/// interrupted; the same call goes on.
///
/// # Errors
/// If an evaluation cannot play, a training fails, or something cannot be read or written.
pub fn climb(
    config: &Config,
    folder: &ClimbFolder,
    means: &Means,
    spectator: &dyn Spectator,
) -> Result<Option<Ladder>> {
    let settings = config.climb.as_ref().context("the config has no section [climb]")?;
    let place = means.place.open_for(config)?;
    let climber = Climber { config, settings, folder, means, spectator, place };
    // A start that cannot play leaves nothing in the folder.
    let given = (settings.start != RANDOM).then(|| climber.player(0)).transpose()?;
    folder.begin(config)?;
    let start = match given {
        Some(player) => player,
        None => climber.random_player()?,
    };
    let digest = start.digest();
    let mut ladder = Ladder::new(climber.named(0));
    for number in 1.. {
        let begun = folder.generation(number)?;
        let known = begun.as_ref().is_some_and(Generation::is_done);
        if !known && number > settings.generations {
            break;
        }
        let best = ladder.best();
        let fresh = || Generation { best, start: digest.clone(), ..Generation::default() };
        let mut generation = begun.unwrap_or_else(fresh);
        ensure!(
            generation.start == digest,
            "{} has changed since the climb began; restore it, or climb anew in another folder",
            settings.start
        );
        if !climber.finish(number, &mut generation)? {
            return Ok(None);
        }
        ladder.add(generation)?;
        if !known {
            means.listener.remark(&ladder.news());
            ladder.write(folder)?;
        }
    }
    ladder.write(folder)?;
    Ok(Some(ladder))
}

/// The start that is a net with weights of chance.
const RANDOM: &str = "random";

struct Climber<'a> {
    config: &'a Config,
    settings: &'a Climb,
    folder: &'a ClimbFolder,
    means: &'a Means<'a>,
    spectator: &'a dyn Spectator,
    place: (Device, Compute),
}

impl Climber<'_> {
    /// Makes of a generation what it lacks, and writes down each part that is there. False if it
    /// was interrupted.
    fn finish(&self, number: u64, generation: &mut Generation) -> Result<bool> {
        let best = generation.best;
        if generation.games.is_none() {
            let begun = self.spectator.seconds();
            if !self.play_games(number, best)? {
                return Ok(false);
            }
            generation.games = Some(Games { seconds: self.spectator.seconds() - begun });
            self.folder.write(number, generation)?;
        }
        if generation.training.is_none() {
            let begun = self.spectator.seconds();
            let Some(trained) = self.train(number)? else { return Ok(false) };
            let seconds = self.spectator.seconds() - begun;
            generation.training = Some(Trained { seconds, ..trained });
            self.folder.write(number, generation)?;
        }
        if generation.against_best.is_none() {
            let Some(met) = self.meet(number, best)? else { return Ok(false) };
            generation.against_best = Some(met);
            self.folder.write(number, generation)?;
        }
        if best > 0 && generation.against_start.is_none() {
            let Some(met) = self.meet(number, 0)? else { return Ok(false) };
            generation.against_start = Some(met);
            self.folder.write(number, generation)?;
        }
        Ok(true)
    }

    /// Games of the best so far against itself; false if they were interrupted.
    fn play_games(&self, number: u64, best: u64) -> Result<bool> {
        let output = self.folder.games(number);
        let resumes = Journal::path_of(&output).exists();
        // The journal goes when the games are whole.
        if output.exists() && !resumes {
            return Ok(true);
        }
        let &Climb { games, soft_nodes, generations, .. } = self.settings;
        let named = self.named(best);
        self.means.listener.remark(&format!(
            "\ngeneration {number} of {generations}: {} of {named}",
            counted(games, "game")
        ));
        let job = SelfplayJob {
            output,
            format: &viriformat::FORMAT,
            games,
            seed: mix(self.config.seed, number),
            limit: Limit::SoftNodes { soft: soft_nodes, hard: soft_nodes.saturating_mul(10) },
            openings: self.openings(),
            adjudication: Adjudication::default(),
            crew: Crew {
                entrant: Arc::new(self.player(best)?),
                players: rayon::current_num_threads(),
                retries: 0,
            },
        };
        let watch = self.spectator.watch(games, "games", resumes);
        let report = selfplay(&job, &*watch)?;
        Ok(!report.stopped)
    }

    /// Trains on the games of the last generations; none if it was interrupted. The seconds are
    /// still to be filled in.
    fn train(&self, number: u64) -> Result<Option<Trained>> {
        let path = self.folder.run(number);
        let first = number.saturating_sub(self.settings.window - 1).max(1);
        self.means.listener.remark(&format!(
            "generation {number} learns from the games of {}",
            counted(number - first + 1, "generation")
        ));
        let ended = match path.join(LAST).exists() {
            true => resume(&path, &[], self.means)?,
            false => {
                let mut config = self.config.clone();
                config.climb = None;
                config.data.files = (first..=number).map(|it| self.folder.games(it)).collect();
                let folder = RunFolder::take(&path, false, self.means.listener)?;
                begin(config, &folder, self.means)?
            }
        };
        if ended.is_none() {
            return Ok(None);
        }
        let Checkpoint { facts, state, .. } = Checkpoint::read(&path.join(BEST))?;
        let positions = facts.get(POSITIONS).and_then(|it| it.parse().ok()).unwrap_or_default();
        let validation_loss = state.best.map(|best| best.loss);
        Ok(Some(Trained { positions, validation_loss, seconds: 0.0 }))
    }

    /// The match of a generation against another, or the start; none if it was interrupted.
    fn meet(&self, number: u64, other: u64) -> Result<Option<Met>> {
        let begun = self.spectator.seconds();
        let &Climb { pairs, nodes, .. } = self.settings;
        let named = self.named(other);
        self.means.listener.remark(&format!(
            "generation {number} meets {named}: {} pairs of games",
            grouped(pairs)
        ));
        let players: [Box<dyn Entrant>; 2] =
            [Box::new(self.player(number)?), Box::new(self.player(other)?)];
        let manner = Manner {
            pace: Pace::Move(Limit::Nodes(nodes)),
            openings: self.openings(),
            adjudication: Adjudication::default(),
            // Not the openings of any games that were trained on, nor of the other match.
            seed: mix(mix(self.config.seed, number), 1 + other),
            boards: rayon::current_num_threads(),
        };
        let watch = self.spectator.watch(pairs, "pairs", false);
        let stop = AtomicBool::new(watch.stop());
        let played =
            play(&players, &manner, pairs, None, None, &stop, &mut |standing: Standing| {
                watch.progress(standing.done);
                stop.store(watch.stop(), Ordering::Relaxed);
            })?;
        let pairs_played = played.meetings[0].pairs;
        // A part of a match says nothing: whoever stops when it looks good is misled.
        let whole = pairs_played.len() == pairs;
        let seconds = self.spectator.seconds() - begun;
        Ok(whole.then_some(Met { pairs: pairs_played, seconds }))
    }

    fn openings(&self) -> Openings {
        let [least, most] = self.settings.random_plies;
        Openings { plies: (least, most), ..Openings::default() }
    }

    /// Who plays for a generation; for 0 the start.
    fn player(&self, number: u64) -> Result<OwnPlayer> {
        let name = match (number, &self.settings.start[..]) {
            (0, RANDOM) => self.chance().to_string_lossy().into_owned(),
            (0, name) => name.to_string(),
            _ => self.folder.run(number).to_string_lossy().into_owned(),
        };
        let (given, listener) = (Given::default(), self.means.listener);
        OwnPlayer::open(&name, &given, &self.place, listener)
    }

    fn named(&self, number: u64) -> String {
        match (number, &self.settings.start[..]) {
            (0, RANDOM) => "random weights".into(),
            (0, name) => name.into(),
            _ => format!("generation {number}"),
        }
    }

    /// The net of chance.
    fn chance(&self) -> PathBuf {
        self.folder.path().join("start").join(NET)
    }

    /// Who plays with the net of chance, which is made where it is not there.
    fn random_player(&self) -> Result<OwnPlayer> {
        let path = self.chance();
        // The manifest comes last.
        if path.with_extension("json").exists() {
            return self.player(0);
        }
        let net = self.config.architecture()?.context("only nets start from chance")?;
        let scales = self.config.scales();
        let facts = crate::export::facts(&net, scales);
        let weights = initial_of_size(&net, self.config.seed, self.config.start_size());
        let floats = path.with_file_name(BEST);
        Checkpoint { weights, facts, ..Checkpoint::default() }.write(&floats)?;
        export::checkpoint(&floats, &path, None, scales, &[])?;
        self.player(0)
    }
}
