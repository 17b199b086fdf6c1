//! `nnuance match`: evaluations play against each other.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::out;
use super::place::Place;
use super::progress::{bar, interrupts};
use super::shape::Shape;
use super::terminal::Terminal;
use crate::engine::adjudicate::Adjudication;
use crate::engine::opening::{Openings, Start};
use crate::model::Precision;
use crate::report::elo::{Anchor, Figures, Meeting, Ratings, Scale, Sprt, Verdict, ratings};
use crate::report::{Align, Table};
use crate::run::arena::{Manner, Player, play};
use crate::run::evaluator::{Evaluator, each_once};
use crate::run::path::as_engines_load;

/// Let evaluations play against each other: which one is stronger, and by how many Elo
///
/// All play with the same search, in pairs of games: each opening twice, with the colours
/// exchanged. With equal nodes for a move it is the evaluations that are compared, not their speed.
/// The same games come for any number of threads.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance match nets/quickstart-32.bin material
  nnuance match runs/a runs/b runs/c --pairs 1000 --nodes 5000
  nnuance match runs/new runs/old --sprt 0,5 --pairs 20000")]
pub struct Args {
    /// Nets, handcrafted weights (JSON or a run), material; or run folders: two or more
    #[arg(required = true, num_args = 2..)]
    evaluations: Vec<String>,
    /// Pairs of games between each two
    #[arg(long, default_value_t = 200, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pairs: u64,
    /// Nodes a move: no iteration begins beyond them
    #[arg(long, default_value_t = 1000, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    nodes: u64,
    /// Stop as soon as it is clear that the first is stronger than the second by ELO1 rather than
    /// by ELO0, or the other way round, each with 5 % of error; --pairs is the most then
    #[arg(long, value_name = "ELO0,ELO1", value_delimiter = ',', num_args = 1)]
    #[arg(allow_hyphen_values = true)]
    sprt: Option<Vec<f64>>,
    /// Openings: a file of FEN, EPD or games in PGN; without it random moves from the start position
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Random half-moves before a game begins [default: 8, behind a book 0]
    #[arg(long, value_name = "N")]
    plies: Option<u32>,
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

/// Of each side's table.
const MEBIBYTES: usize = 4;

/// What a match has told, for programs.
#[derive(Serialize)]
struct Told<'a> {
    nodes: u64,
    seed: u64,
    meetings: Vec<Met<'a>>,
    /// Where more than two have played.
    ratings: Option<&'a Ratings>,
    verdicts: &'a [Verdict],
    sprt: Option<String>,
}

#[derive(Serialize)]
struct Met<'a> {
    players: [&'a str; 2],
    /// As the first of them sees it.
    #[serde(flatten)]
    figures: Figures,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let names: Vec<String> = args.evaluations.iter().map(|name| as_engines_load(name)).collect();
    each_once(&names)?;
    let sprt = match args.sprt.as_deref() {
        Some(&[elo0, elo1]) => {
            ensure!(names.len() == 2, "--sprt asks about two evaluations, not {}", names.len());
            let test = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05, scale: Scale::Logistic };
            Some(test.checked()?)
        }
        Some(_) => bail!("--sprt takes two numbers, such as 0,5"),
        None => None,
    };
    let place = args.place.open(Precision::F32)?;
    let (given, terminal) = (args.shape.given(), Terminal::default());
    let mut players = Vec::new();
    for name in &names {
        let evaluator = Evaluator::open(name, &given, &place, &terminal)?;
        let scale = evaluator.scale_in_search();
        players.push(Player { evaluator, scale });
    }
    let plies = args.plies.unwrap_or(if args.book.is_some() { 0 } else { 8 });
    let start = args.book.map_or(Start::Standard, Start::Book);
    let manner = Manner {
        nodes: args.nodes,
        mebibytes: MEBIBYTES,
        openings: Openings { start, plies: (plies, plies), ..Openings::default() },
        adjudication: Adjudication::default(),
        seed: args.seed,
    };
    let stop = interrupts();
    let bar = bar(Some(0), "pairs");
    let meetings = play(&players, &manner, args.pairs, sprt.as_ref(), &stop, &mut |standing| {
        bar.set_length(standing.total);
        bar.set_position(standing.done);
        let of = |meeting: &&Meeting| meeting.players == standing.players;
        if let Some(meeting) = standing.meetings.iter().find(of) {
            let [first, second] = standing.players.map(|player| &players[player].evaluator.name);
            bar.set_message(format!("{first} - {second}: {}", meeting.pairs.elo()));
        }
    })?;
    bar.finish_and_clear();
    if meetings.iter().all(|meeting| meeting.pairs.is_empty()) {
        bail!("stopped before the first pairs were played");
    }
    let all = players.iter().map(|player| player.evaluator.name.clone()).collect::<Vec<_>>();
    let rated = match players.len() {
        2 => None,
        _ => Some(ratings(&all, &meetings, Anchor::Mean)?),
    };
    let verdicts = match &rated {
        Some(rated) => rated.verdicts.clone(),
        None => vec![Verdict::of_match([&all[0], &all[1]], &meetings[0].pairs)],
    };
    let told = Told {
        nodes: args.nodes,
        seed: args.seed,
        meetings: meetings
            .iter()
            .map(|Meeting { players, pairs }| Met {
                players: players.map(|player| &all[player][..]),
                figures: pairs.figures(),
            })
            .collect(),
        ratings: rated.as_ref(),
        verdicts: &verdicts,
        sprt: sprt.as_ref().map(|sprt| sprt.sentence(&meetings[0].pairs)),
    };
    if args.json {
        out::line(serde_json::to_string_pretty(&told)?)?;
        return Ok(ended(&stop));
    }
    // A match that was stopped early, or by its test, has no length that was fixed beforehand.
    match &told.sprt {
        Some(sentence) => out::line(sentence)?,
        None => verdicts.iter().try_for_each(|verdict| out::line(verdict.sentence()))?,
    }
    if stop.load(Ordering::Relaxed) {
        out::line("Stopped early: whoever stops when it looks good is misled by the intervals.")?;
    }
    out::line("")?;
    if let Some(rated) = &rated {
        out::line(rated.table())?;
    }
    out::line(table(&told))?;
    Ok(ended(&stop))
}

fn ended(stop: &AtomicBool) -> ExitCode {
    if stop.load(Ordering::Relaxed) { ExitCode::from(130) } else { ExitCode::SUCCESS }
}

/// What each two played, as the first of them sees it.
fn table(told: &Told) -> Table {
    let columns = ["pairs", "won", "drawn", "lost", "score", "Elo", "95 % interval", "LOS"];
    let columns = columns.map(|title| (title, Align::Right));
    let names = [("player", Align::Left), ("against", Align::Left)];
    // Names that were cut would be those of several players.
    let mut table = Table::new(&[&names[..], &columns].concat()).width(160);
    for Met { players: [first, second], figures } in &told.meetings {
        let share = |share: Option<f64>| match share {
            Some(share) => format!("{:.1} %", 100.0 * share),
            None => "-".into(),
        };
        table.row([
            first.to_string(),
            second.to_string(),
            figures.pairs.to_string(),
            figures.wins.to_string(),
            figures.draws.to_string(),
            figures.losses.to_string(),
            share(figures.score),
            figures.elo.value.map_or("-".to_string(), |elo| format!("{elo:+.1}")),
            figures.elo.between(),
            share(figures.los),
        ]);
    }
    table
}
