//! `nnuance data selfplay`: games of an engine against itself.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use super::engine::{Engines, Search, Target};
use crate::engine::adjudicate::Adjudication;
use crate::engine::opening::{Openings, Start};
use crate::engine::{SelfplayJob, selfplay};

/// Let an engine play games against itself
///
/// Every move is written with its score, and every game with its result. Games are functions of
/// the seed and their number. A run that was stopped or killed goes on where it was when the same
/// command is given again.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data selfplay --games 10000 --nodes 5000 -o games.vf")]
pub struct Args {
    /// How many games
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    search: Search,
    /// Other seeds give other games
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    beginning: Beginning,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    engines: Engines,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Openings")]
struct Beginning {
    /// Random half-moves before a game, as many as that or a range [default: 8..9, or 0 with a
    /// book]
    #[arg(long, value_name = "FROM..TO", value_parser = range)]
    random_plies: Option<(u32, u32)>,
    /// Start positions, packed or not: a FEN or EPD a line, or games in PGN, of which the position
    /// after their moves counts; each serves once before any serves twice
    #[arg(long, value_name = "FILE", conflicts_with = "chess960")]
    book: Option<PathBuf>,
    /// Begin with one array of Chess960 for both sides, or with one for each
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Chess960::None)]
    chess960: Chess960,
    /// Openings that a first search scores higher than this for either side, in centipawns, are
    /// not played
    #[arg(long, value_name = "CP", default_value_t = Openings::default().bound)]
    #[arg(value_parser = score(0))]
    bound: i16,
}

#[derive(Clone, Copy, ValueEnum)]
enum Chess960 {
    None,
    Single,
    Double,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Adjudication")]
struct Rules {
    /// Won where every score of the last moves is at least this, in centipawns, for the same side
    #[arg(long, value_name = "CP", default_value_t = Adjudication::default().win_score)]
    #[arg(value_parser = score(1))]
    win_score: i16,
    /// ... of so many half-moves
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().win_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    win_plies: u32,
    /// Drawn where no score of the last moves is more than this, in centipawns, for either side
    #[arg(long, value_name = "CP", default_value_t = Adjudication::default().draw_score)]
    #[arg(value_parser = score(0))]
    draw_score: i16,
    /// ... of so many half-moves
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().draw_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    draw_plies: u32,
    /// ... but not before this half-move, counted from move number 1
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().draw_from)]
    draw_from: u32,
    /// Drawn after so many half-moves, those of the opening not counted
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().max_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_plies: u32,
}

fn score(least: i64) -> clap::builder::RangedI64ValueParser<i16> {
    clap::value_parser!(i16).range(least..)
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if from <= to && to <= 100 => Ok((from, to)),
        _ => Err("expected a number or a range such as 8..9, of 0 to 100".to_string()),
    }
}

impl Beginning {
    fn openings(self) -> Openings {
        let usual = if self.book.is_some() { (0, 0) } else { Openings::default().plies };
        let start = match (self.book, self.chess960) {
            (Some(book), _) => Start::Book(book),
            (None, Chess960::None) => Start::Standard,
            (None, Chess960::Single) => Start::Chess960,
            (None, Chess960::Double) => Start::DoubleChess960,
        };
        Openings { start, plies: self.random_plies.unwrap_or(usual), bound: self.bound }
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let Rules { win_score, win_plies, draw_score, draw_plies, draw_from, max_plies } = args.rules;
    let book = args.beginning.book.clone();
    let job = SelfplayJob {
        output: args.target.output.clone(),
        format: args.target.format()?,
        games: args.games,
        seed: args.seed,
        limit: args.search.limit(),
        openings: args.beginning.openings(),
        adjudication: Adjudication {
            win_score,
            win_plies,
            draw_score,
            draw_plies,
            draw_from,
            max_plies,
        },
        crew: args.engines.crew()?,
    };
    args.target.make((job.games, "games"), book.as_deref(), |watch| selfplay(&job, watch))
}
