//! `nnuance match`: evaluations play against each other.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail, ensure};
use serde::Serialize;

use super::data::option;
use super::games::{Beginning, Rules};
use super::out;
use super::place::Place;
use super::progress::{bar, interrupts};
use super::shape::Shape;
use super::terminal::Terminal;
use crate::engine::{Clock, EngineSettings, Entrant, Limit};
use crate::model::Precision;
use crate::report::elo::{Anchor, Figures, Meeting, Ratings, Scale, Sprt, Verdict, ratings};
use crate::report::{Align, Table};
use crate::run::OwnPlayer;
use crate::run::arena::{Manner, Pace, Standing, play};
use crate::run::evaluator::{Evaluator, each_once};
use crate::run::path::as_engines_load;

/// Let evaluations play against each other: which one is stronger, and by how many Elo
///
/// All play with the same search, in pairs of games: each opening twice, with the colours
/// exchanged. With equal nodes for a move it is the evaluations that are compared; with equal time
/// what they cost is charged, too. At a pace of nodes the same games come for any number of
/// threads. Programs that speak UCI may take part.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance match nets/quickstart-32.bin material
  nnuance match runs/a runs/b runs/c --pairs 1000 --nodes 5000
  nnuance match runs/new runs/old --sprt 0,5 --pairs 20000
  nnuance match runs/new --engine stockfish --option UCI_LimitStrength=true \\
                --option UCI_Elo=2200 --time 1+0.01")]
pub struct Args {
    /// Nets, handcrafted weights (JSON or a run), material; or run folders: two or more, programs
    /// counted
    evaluations: Vec<String>,
    /// A program that speaks UCI and takes part; may be given several times
    #[arg(long = "engine", value_name = "PATH")]
    engines: Vec<PathBuf>,
    /// An option of these programs; may be given several times
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = option)]
    options: Vec<(String, String)>,
    /// Hash table of each player in MB [default: 16 for programs, and 4 for our own search]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    hash: Option<u32>,
    /// Pairs of games between each two
    #[arg(long, default_value_t = 200, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pairs: u64,
    /// Nodes a move [default: 1000]
    #[arg(long, value_name = "N", conflicts_with_all = ["movetime", "time"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    nodes: Option<u64>,
    /// Milliseconds a move, in place of nodes
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    movetime: Option<u64>,
    /// A clock for each side, in place of nodes: seconds for the game, and those that each move
    /// brings back, such as 10+0.1
    #[arg(long, value_name = "SECONDS+SECONDS", value_parser = clock, conflicts_with = "movetime")]
    time: Option<Clock>,
    /// Stop as soon as it is clear that the first is stronger than the second by ELO1 rather than
    /// by ELO0, or the other way round, each with 5 % of error; --pairs is the most then
    #[arg(long, value_name = "ELO0,ELO1", value_delimiter = ',', num_args = 1)]
    #[arg(allow_hyphen_values = true)]
    sprt: Option<Vec<f64>>,
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    beginning: Beginning,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

/// `10+0.1` or `10`, in seconds.
fn clock(text: &str) -> Result<Clock, String> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let milliseconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|it| (0.0..=1e6).contains(it));
        seconds.map(|seconds| (seconds * 1000.0).round() as u64)
    };
    match (milliseconds(base), milliseconds(increment)) {
        (Some(left @ 1..), Some(increment)) => Ok(Clock { left, increment }),
        _ => Err("expected seconds and what each move brings back, such as 10+0.1".into()),
    }
}

/// What a match has told, for programs.
#[derive(Serialize)]
struct Told<'a> {
    /// What a move may take.
    pace: String,
    seed: u64,
    /// Games that were lost on time, and by failures.
    late: u64,
    failed: u64,
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
    let count = names.len() + args.engines.len();
    ensure!(count >= 2, "a match is between two at least; name another evaluation, or an --engine");
    let sprt = match args.sprt.as_deref() {
        Some(&[elo0, elo1]) => {
            ensure!(count == 2, "--sprt asks about two players, not {count}");
            let test = Sprt { elo0, elo1, alpha: 0.05, beta: 0.05, scale: Scale::Logistic };
            Some(test.checked()?)
        }
        Some(_) => bail!("--sprt takes two numbers, such as 0,5"),
        None => None,
    };
    let place = args.place.open(Precision::F32)?;
    let (given, terminal) = (args.shape.given(), Terminal::default());
    let mut players: Vec<Box<dyn Entrant>> = Vec::new();
    for name in &names {
        let evaluator = Evaluator::open(name, &given, &place, &terminal)?;
        let mebibytes = args.hash.map_or(OwnPlayer::MEBIBYTES, |size| size as usize);
        players.push(Box::new(OwnPlayer::new(evaluator, mebibytes)?));
    }
    let hash = args.hash.map(|size| ("Hash".to_string(), size.to_string()));
    for program in &args.engines {
        let options = hash.iter().chain(&args.options).cloned().collect();
        players.push(Box::new(EngineSettings { options, ..EngineSettings::new(program) }));
    }
    let all: Vec<String> = players.iter().map(|player| player.name()).collect();
    let twice = (1..all.len()).find(|&i| all[..i].contains(&all[i]));
    ensure!(twice.is_none(), "two players are called {}; rename one", all[twice.unwrap_or(0)]);
    let nodes = Pace::Move(Limit::Nodes(args.nodes.unwrap_or(1000)));
    let pace = args.movetime.map(|time| Pace::Move(Limit::Movetime(time)));
    let pace = pace.or(args.time.map(Pace::Clock)).unwrap_or(nodes);
    let manner = Manner {
        pace,
        openings: args.beginning.openings(),
        adjudication: args.rules.adjudication(),
        seed: args.seed,
        boards: rayon::current_num_threads(),
    };
    let stop = interrupts();
    let bar = bar(Some(0), "pairs");
    let watch = &mut |standing: Standing| {
        bar.set_length(standing.total);
        bar.set_position(standing.done);
        let of = |meeting: &&Meeting| meeting.players == standing.players;
        if let Some(meeting) = standing.meetings.iter().find(of) {
            let [first, second] = standing.players.map(|player| &all[player]);
            bar.set_message(format!("{first} - {second}: {}", meeting.pairs.elo()));
        }
    };
    let played = play(&players, &manner, args.pairs, sprt.as_ref(), &stop, watch)?;
    let meetings = &played.meetings;
    bar.finish_and_clear();
    if let Some(fault) = &played.fault {
        eprintln!("{} games were lost by failures, the first: {fault}", played.failed);
    }
    if played.late > 0 {
        eprintln!("{} games were lost on time", played.late);
    }
    if meetings.iter().all(|meeting| meeting.pairs.is_empty()) {
        bail!("stopped before the first pairs were played");
    }
    let rated = match players.len() {
        2 => None,
        _ => Some(ratings(&all, meetings, Anchor::Mean)?),
    };
    let verdicts = match &rated {
        Some(rated) => rated.verdicts.clone(),
        None => vec![Verdict::of_match([&all[0], &all[1]], &meetings[0].pairs)],
    };
    let told = Told {
        pace: pace.to_string(),
        late: played.late,
        failed: played.failed,
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
