//! The games of a match on their way into a file, from which the match goes on if it is stopped.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::{Manner, Pace};
use crate::digest;
use crate::engine::adjudicate::Ending;
use crate::engine::game::Game;
use crate::engine::journal::{Journal, Progress};
use crate::engine::opening::{Openings, Start};
use crate::engine::{EngineError, Entrant, Limit, Score};
use crate::format::Fault;
use crate::format::pgn::comment::{LARGEST, LONGEST_MATE, MATE};
use crate::format::pgn::{self, Annotated, Ply, Scoresheet};
use crate::run::played::{DIGESTS, Player};

/// What games of ours are called.
const EVENT: &str = "nnuance match";

/// Values of the tag `Termination` that are no end by rules or scores.
const LATE: &str = "time forfeit";
const FAILED: &str = "abandoned";

/// A file of games under way, and its journal.
#[derive(Debug)]
pub struct Recorder {
    journal: Journal,
    players: Vec<Player>,
    /// How the games are played.
    tags: Vec<(&'static str, String)>,
    begun: VecDeque<Begun>,
}

/// A pair that an earlier run played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Begun {
    /// As the first of the two that met saw them.
    pub results: [f64; 2],
    /// Games that were lost on time, and by a failure.
    pub late: u64,
    pub failed: u64,
}

impl Recorder {
    /// Begins a file, or goes on with one that was begun with the same players, the same manner and
    /// the same `settings`.
    ///
    /// # Errors
    /// If the file is there without a journal, was begun otherwise, or was changed since; if a
    /// program does not start, or a book cannot be read.
    pub fn open(
        path: &Path,
        entrants: &[Box<dyn Entrant + '_>],
        manner: &Manner,
        settings: &[(&'static str, String)],
    ) -> Result<Self, EngineError> {
        let (players, mut all) = self::settings(entrants, manner)?;
        let tags = tags(manner);
        all.extend(settings.iter().cloned());
        let journal = Journal::open(path, &all)?;
        let begun = begun(path, journal.progress().items)?;
        Ok(Self { journal, players, tags, begun })
    }

    /// The pairs that are in the file.
    pub fn pairs(&self) -> u64 {
        self.journal.progress().items
    }

    /// The next pair that an earlier run played, None once all were asked for. They come in the
    /// order in which they were added.
    pub fn begun(&mut self) -> Option<Begun> {
        self.begun.pop_front()
    }

    /// Writes a pair, first the game in which the first of the two players has White, and brings
    /// it to the disk. `number` counts the pairs of the same two from 0.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(
        &mut self,
        two: [usize; 2],
        number: u64,
        games: [&Game; 2],
    ) -> Result<(), EngineError> {
        let mut bytes = Vec::new();
        for (which, game) in games.into_iter().enumerate() {
            let [white, black] = if which == 0 { two } else { [two[1], two[0]] };
            let players = [white, black].map(|place| &self.players[place]);
            let digests = DIGESTS
                .into_iter()
                .zip(players)
                .filter_map(|(tag, player)| Some((tag, player.digest.clone()?)));
            let end = ("Termination", termination(game.ending).to_string());
            let noted = game.plies.iter().map(|ply| Ply {
                played: ply.played,
                score: Some(noted(ply.score)),
                depth: ply.depth,
            });
            let annotated = Annotated {
                event: EVENT,
                round: format!("{}.{}", number + 1, which + 1),
                players: players.map(|player| &player.name[..]),
                tags: digests.chain(self.tags.iter().cloned()).chain([end]).collect(),
                start: &game.start,
                plies: &noted.collect::<Vec<_>>(),
                white_result: game.ending.white_result(),
            };
            annotated.write(&mut bytes).map_err(EngineError::Match)?;
        }
        let Progress { items, written, .. } = self.journal.progress();
        let progress = Progress { items: items + 1, written: written + 2, ..Progress::default() };
        Ok(self.journal.commit(&bytes, progress, &[])?)
    }

    /// The file is whole: the match has ended.
    ///
    /// # Errors
    /// If the journal cannot be removed.
    pub fn finish(self) -> Result<(), EngineError> {
        Ok(self.journal.finish()?)
    }
}

/// Names and values.
type Settings = Vec<(&'static str, String)>;

/// The players, and all that games depend on.
fn settings(
    entrants: &[Box<dyn Entrant + '_>],
    manner: &Manner,
) -> Result<(Vec<Player>, Settings), EngineError> {
    let mut all = vec![("job", "match".to_string())];
    let mut players = Vec::new();
    for entrant in entrants {
        let own = entrant.settings()?;
        let digest = own.iter().find(|(name, value)| *name == "digest" && !value.is_empty());
        let digest = digest.map(|(_, digest)| digest.chars().take(digest::SHORT).collect());
        players.push(Player { name: entrant.name(), digest });
        all.push(("player", entrant.name()));
        all.extend(own);
    }
    all.extend(tags(manner));
    all.extend([
        ("start", start(&manner.openings)?),
        ("bound", manner.openings.bound.to_string()),
        ("seed", manner.seed.to_string()),
    ]);
    Ok((players, all))
}

/// The tags that tell how a game was played.
fn tags(manner: &Manner) -> Vec<(&'static str, String)> {
    let seconds = |milliseconds: u64| milliseconds as f64 / 1000.0;
    let pace = match manner.pace {
        Pace::Move(Limit::Nodes(nodes)) => ("Nodes", nodes.to_string()),
        Pace::Move(Limit::Movetime(time)) => ("TimeControl", format!("{}/move", seconds(time))),
        Pace::Move(limit) => ("TimeControl", limit.to_string()),
        Pace::Clock(clock) => {
            ("TimeControl", format!("{}+{}", seconds(clock.left), seconds(clock.increment)))
        }
    };
    let (least, most) = manner.openings.plies;
    let plies = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let from = match &manner.openings.start {
        Start::Standard => String::new(),
        Start::Chess960 => "Chess960, ".to_string(),
        Start::DoubleChess960 => "double Chess960, ".to_string(),
        Start::Book(path) => {
            format!("{}, ", path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
        }
    };
    let openings = ("Openings", format!("{from}{plies} random half-moves"));
    vec![pace, openings, ("Adjudication", manner.adjudication.to_string())]
}

/// What games begin from; a book by its content.
fn start(openings: &Openings) -> Result<String, EngineError> {
    let Start::Book(path) = &openings.start else { return Ok(format!("{:?}", openings.start)) };
    let failed = |error| EngineError::Input { path: path.clone(), error };
    Ok(format!("book {}", digest::of_file(path).map_err(failed)?.1))
}

/// How a game ended, in the words of PGN.
fn termination(ending: Ending) -> &'static str {
    match ending {
        Ending::Won(_) | Ending::Level | Ending::TooLong => "adjudication",
        Ending::Late(_) => LATE,
        Ending::Failed(_) => FAILED,
        _ => "normal",
    }
}

/// The pairs with which a file begins and ends.
fn begun(path: &Path, pairs: u64) -> Result<VecDeque<Begun>, EngineError> {
    let changed = |why: &str| {
        let path = path.display();
        EngineError::Match(format!(
            "{path} was changed since it was begun{why}; delete it and its journal to begin anew"
        ))
    };
    let file = File::open(path);
    let failed = |error| EngineError::Input { path: PathBuf::from(path), error };
    let sheets = pgn::scoresheets(Box::new(BufReader::new(file.map_err(failed)?)));
    let sheets = sheets.map_err(|fault| match fault {
        Fault::Io(error) => failed(error),
        Fault::Skipped(bad) | Fault::CutOff(bad) => changed(&format!(" ({bad})")),
    })?;
    let whole = sheets.len() as u64 == 2 * pairs;
    let pair = |two: &[Scoresheet]| {
        let count = |ended: &str| {
            two.iter().filter(|sheet| sheet.tag("Termination") == Some(ended)).count() as u64
        };
        let results = [two[0].white_result?, 1.0 - two[1].white_result?];
        Some(Begun { results, late: count(LATE), failed: count(FAILED) })
    };
    let begun: Option<VecDeque<Begun>> = sheets.chunks_exact(2).map(pair).collect();
    begun.filter(|_| whole).ok_or_else(|| changed(""))
}

/// A score for a comment: mates count half-moves there, and nothing else is as far from zero.
pub fn noted(score: Score) -> i16 {
    let most = i32::from(LARGEST - LONGEST_MATE);
    let score = match score {
        Score::Centipawns(score) => score.clamp(-most, most),
        Score::Mate(moves) => {
            // Who mates makes the last move, so it takes one half-move less.
            let plies = moves.saturating_abs().saturating_mul(2) - i32::from(moves > 0);
            let size = i32::from(MATE) - plies.clamp(1, LONGEST_MATE.into());
            if moves > 0 { size } else { -size }
        }
    };
    score as i16
}
