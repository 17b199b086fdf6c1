//! Positions resolved: each gives way to the end of its principal variation.
//!
//! The method of Ethereal's data (A. Grant, Evaluation & Tuning in Chess Engines, section 2.2):
//! search a position, play the whole principal variation, and keep where it ends with the result
//! of the game. What hangs is taken by then, so that a static evaluation can be fitted without a
//! quiescence search.

use std::path::PathBuf;

use shakmaty::{Chess, Move, Position as _};

use super::job;
use super::journal::Journal;
use super::label::{Piece, Pieces, Records, finished, line_of};
use super::player::{Crew, Player};
use super::pool::Obstacle;
use super::search::Limit;
use super::{EngineError, Report, Watch};
use crate::format::{Format, Holds};
use crate::sample::{Position, Sample};

/// Positions between two entries in the journal.
const EVERY: u64 = 256;

/// Which positions to resolve, and how.
#[derive(Clone)]
pub struct ResolveJob {
    pub input: PathBuf,
    /// Not packed, and not there yet, unless a run before this one began it.
    pub output: PathBuf,
    /// Not one of whole games: what follows from each other in a game does not do so any more.
    pub format: &'static Format,
    pub limit: Limit,
    pub crew: Crew,
    /// So many bad records of the input may be left out.
    pub bad_records: u64,
}

/// Writes, for each position of the input, the end of the principal variation that the engine
/// finds there. Score and result are turned to the side to move at that end; the order is kept.
///
/// Ends that are not quiet are left out: those in check, those without a legal move, and those
/// where the last move took a piece and can be answered by taking back. No position of the output
/// knows its game, since no format holds games without their moves.
pub fn resolve(job: &ResolveJob, watch: &dyn Watch) -> Result<Report, EngineError> {
    if job.format.facts.moves == Holds::Always {
        let made = "the end of a variation".to_string();
        return Err(EngineError::NoMoves { format: job.format.name, made });
    }
    let limit = ("limit", job.limit.to_string());
    let searches = [vec![limit], job.crew.entrant.settings()?].concat();
    let work =
        |player: &mut dyn Player, piece: &Piece| end(player, &piece.sample.position, job.limit);
    let settings = [
        ("job", "resolve".to_string()),
        ("input", job::hash_of(&job.input)?),
        ("format", job.format.name.to_string()),
    ];
    let mut pieces = Pieces::open(&job.input, job.format, job.bad_records)?;
    let journal = Journal::open(&job.output, &[&settings[..], &searches].concat())?;
    let mut records = Records::new(&job.output, job.format, journal.progress().written)?;
    pieces.pass(journal.progress().items)?;
    let report = job::drive(
        &job.crew.workers(),
        journal,
        EVERY,
        pieces.by_ref(),
        work,
        |piece: &Piece, made: Option<Option<End>>, bytes| {
            let resolved = made.flatten().map(|end| end.of(&piece.sample));
            records.keep(piece, resolved, None, bytes)
        },
        watch,
    )?;
    finished(report, pieces, &records)
}

/// The end of a principal variation.
struct End {
    position: Position,
    /// Seen by the side to move there.
    score: i16,
    /// Half-moves that lead to it.
    played: u16,
}

impl End {
    /// As a sample in the place of the one that it is the end of.
    fn of(self, sample: &Sample) -> Sample {
        let turned = self.position.turn() != sample.position.turn();
        Sample {
            position: self.position,
            result: if turned { 1.0 - sample.result } else { sample.result },
            score: Some(self.score),
            ply: sample.ply.map(|ply| ply.saturating_add(self.played)),
            played: None,
            game: sample.game,
            source: 0,
        }
    }
}

/// The quiet end of a position's principal variation, if it has one.
fn end(
    player: &mut dyn Player,
    position: &Position,
    limit: Limit,
) -> Result<Option<End>, Obstacle> {
    let line = line_of(position)?;
    if line.chess().legal_moves().is_empty() {
        return Ok(None);
    }
    let searched = player.search_anew(&line, limit)?;
    let mut chess = line.chess().clone();
    for &legal in &searched.pv {
        chess.play_unchecked(legal);
    }
    if !is_quiet(&chess, searched.pv.last()) {
        return Ok(None);
    }
    let turned = chess.turn() != line.chess().turn();
    let score = searched.score.centipawns();
    Ok(Some(End {
        position: Position::from_chess(&chess),
        score: if turned { -score } else { score },
        played: searched.pv.len() as u16,
    }))
}

fn is_quiet(chess: &Chess, last: Option<&Move>) -> bool {
    let moves = chess.legal_moves();
    let taken = last.filter(|last| last.is_capture()).map(|last| last.to());
    let takes_back = |answer: &Move| answer.is_capture() && Some(answer.to()) == taken;
    !chess.is_check() && !moves.is_empty() && !moves.iter().any(takes_back)
}
