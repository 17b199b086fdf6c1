//! `nnuance match`: games between evaluations.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use serde_json::json;

use super::data::engine::{open_engine, parse_option, start_or_resume};
use super::options::{Beginning, DeviceArgs, Rules};
use super::terminal::Terminal;
use super::{INTERRUPTED, out};
use crate::digits::count_noun;
use crate::engine::{EngineError, JobPart, PlayerFactory, journal};
use crate::interface::Clock;
use crate::progress::Progress as _;
use crate::report::elo::{PlayerDifference, Sprt, meetings_table, rate_players};
use crate::report::wrap_all;
use crate::run::SearchPlayer;
use crate::run::arena::{MatchResult, MatchRules, Recorder, TimeControl, play_match};
use crate::run::evaluation_names::shorten_run_names;
use crate::run::played::{self, Match};

/// Play games between evaluations and measure Elo
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance match nets/quickstart-32.bin material
  nnuance match runs/a runs/b runs/c --pairs 1000 --nodes 5000 --pgn match.pgn
  nnuance match runs/new runs/old --sprt 0,5 --pairs 20000
  nnuance match runs/new --engine stockfish --option UCI_LimitStrength=true \\
      --option UCI_Elo=2200 --time 1+0.01
  nnuance match --from match-1.pgn match-2.pgn")]
#[command(after_help = "\
All evaluations play with the same search, each opening twice with colours
exchanged. Equal nodes compare evaluations; equal time charges their cost, too.
Games by nodes do not depend on the number of threads.")]
pub struct Args {
    /// Nets, handcrafted weights (JSON), material, run folders or checkpoints; two players or more,
    /// engines included
    evaluations: Vec<String>,
    /// UCI program that plays; may be repeated
    #[arg(help_heading = "Players")]
    #[arg(long = "engine", value_name = "PATH")]
    engines: Vec<PathBuf>,
    /// Argument of these programs; may be repeated
    #[arg(help_heading = "Players")]
    #[arg(long = "argument", value_name = "TEXT", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// UCI option of these programs; may be repeated
    #[arg(help_heading = "Players")]
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
    /// Hash table of each player in MB [default: 16 for programs, 4 for evaluations]
    #[arg(help_heading = "Players")]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    hash: Option<u32>,
    /// Pairs of games between each two players; with --sprt at most
    #[arg(help_heading = "Games")]
    #[arg(long, default_value_t = 200, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pairs: u64,
    /// Nodes of a move [default: 1000]
    #[arg(help_heading = "Games")]
    #[arg(long, value_name = "N", conflicts_with = "time")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    nodes: Option<u64>,
    /// Clock of each side: seconds and seconds per move, such as 10+0.1
    #[arg(help_heading = "Games")]
    #[arg(long, value_name = "SECONDS+SECONDS", value_parser = parse_clock)]
    time: Option<Clock>,
    /// Stop when the first player is found stronger by ELO1 or by ELO0, with 5 % of error each
    #[arg(help_heading = "Games")]
    #[arg(long, value_name = "ELO0,ELO1", value_parser = parse_sprt, allow_hyphen_values = true)]
    sprt: Option<Sprt>,
    /// Seed of the openings
    #[arg(help_heading = "Games")]
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Write the games in PGN; the same command resumes a match that was stopped
    #[arg(help_heading = "Output")]
    #[arg(long, value_name = "FILE")]
    pgn: Option<PathBuf>,
    /// Play part I of N of the pairs; --from rates all parts together
    #[arg(help_heading = "Games")]
    #[arg(long, value_name = "I/N", default_value = "1/1", conflicts_with = "sprt")]
    part: JobPart,
    /// Rate games that were played, in PGN
    #[arg(help_heading = "Games")]
    #[arg(long, value_name = "GAMES", num_args = 1.., conflicts_with_all = ["evaluations", "engines", "pgn"])]
    from: Vec<PathBuf>,
    /// Replace the file of a complete match
    #[arg(help_heading = "Output")]
    #[arg(long, requires = "pgn")]
    overwrite: bool,
    /// Add the results of each two players
    #[arg(help_heading = "Output")]
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(help_heading = "Output")]
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    beginning: Beginning,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Parses `10+0.1` or `10`, in seconds.
fn parse_clock(text: &str) -> Result<Clock, String> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let milliseconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|it| (0.0..=1e6).contains(it));
        seconds.map(|seconds| (seconds * 1000.0).round() as u64)
    };
    match (milliseconds(base), milliseconds(increment)) {
        (Some(time @ 1..), Some(increment)) => Ok(Clock { time, increment, moves_to_go: None }),
        _ => Err("expected seconds and what each move brings back, such as 10+0.1".into()),
    }
}

/// Parses `0,5`, in Elo.
fn parse_sprt(text: &str) -> Result<Sprt, String> {
    let sprt = text
        .split_once(',')
        .and_then(|(elo0, elo1)| Sprt::new(elo0.trim().parse().ok()?, elo1.trim().parse().ok()?));
    sprt.ok_or("expected ELO0 below ELO1, both within 1000, such as 0,5".into())
}

pub fn run_command(args: Args) -> Result<ExitCode> {
    if !args.from.is_empty() {
        let Match { played, notes, forfeits, .. } = played::read_matches(&args.from)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        let result = MatchResult { meetings: played.meetings, forfeits, fault: None };
        return print_result(&played.names, &result, None, (args.json, args.verbose));
    }
    let count = args.evaluations.len() + args.engines.len();
    ensure!(count >= 2, "a match is between two at least; name another evaluation, or an --engine");
    ensure!(args.sprt.is_none() || count == 2, "--sprt is for two players, not {count}");
    let terminal = Terminal::default();
    let host = args.device.open_host(&terminal)?;
    let mut players: Vec<Box<dyn PlayerFactory>> = Vec::new();
    for name in &args.evaluations {
        players.push(Box::new(SearchPlayer::open_player(name, args.hash, &host)?));
    }
    for program in &args.engines {
        let settings = open_engine(program, &args.arguments, &args.options, args.hash);
        players.push(Box::new(settings));
    }
    let names: Vec<String> = players.iter().map(|player| player.player_name()).collect();
    if let Some(i) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
        bail!("two players are called {}; rename one", names[i]);
    }
    let rules = MatchRules {
        pace: args.time.map_or(TimeControl::Nodes(args.nodes.unwrap_or(1000)), TimeControl::Clock),
        openings: args.beginning.into_match_openings()?,
        adjudication: args.rules.to_adjudication(),
        seed: args.seed,
    };
    let pairs = (args.pairs, args.part);
    let recorder = args.pgn.as_ref().map(|path| {
        let open = || Recorder::open_match_file(path, &players, &rules, pairs, args.sprt.as_ref());
        start_or_resume(path, args.overwrite, open)
    });
    let recorder = match recorder.transpose() {
        Err(error) if matches!(error.downcast_ref(), Some(EngineError::MatchComplete(_))) => {
            let Match { played, forfeits, .. } = played::read_matches(args.pgn.as_slice())?;
            let result = MatchResult { meetings: played.meetings, forfeits, fault: None };
            return print_result(&names, &result, args.sprt.as_ref(), (args.json, args.verbose));
        }
        recorder => recorder?,
    };
    let terminal = Terminal::stoppable();
    let result = play_match(&players, &rules, pairs, args.sprt.as_ref(), recorder, &terminal)?;
    if let Some(forfeits @ 1..) = result.forfeits {
        let fault = result.fault.as_ref().map(|fault| format!("; the first failure: {fault}"));
        let fault = fault.unwrap_or_default();
        eprintln!("{} lost on time or by failures{fault}", count_noun(forfeits, "game"));
    }
    ensure!(
        result.meetings.iter().any(|meeting| !meeting.pairs.is_empty()),
        "stopped before the first pairs were played"
    );
    let stopped = terminal.should_stop();
    if let (true, Some(path)) = (stopped, &args.pgn)
        && journal::path_of(path).exists()
    {
        eprintln!("stopped; the same command goes on with {}", path.display());
    }
    print_result(&names, &result, args.sprt.as_ref(), (args.json, args.verbose))?;
    if stopped && !args.json {
        out::print_line(
            "Stopped early: the intervals hold only if the results did not decide when.",
        )?;
    }
    Ok(if stopped { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}

fn print_result(
    names: &[String],
    result: &MatchResult,
    sprt: Option<&Sprt>,
    (json, verbose): (bool, bool),
) -> Result<ExitCode> {
    let meetings = &result.meetings;
    let verdict =
        |names: &[String]| PlayerDifference::from_match([&names[0], &names[1]], &meetings[0].pairs);
    let rated = |names: &[String]| (names.len() > 2).then(|| rate_players(names, meetings, None));
    let sentence = sprt.map(|sprt| sprt.decision_sentence(&meetings[0].pairs));
    if json {
        let rated = rated(names);
        let value = json!({
            "players": names,
            "forfeits": result.forfeits,
            "meetings": meetings,
            "verdicts": rated.as_ref().map_or_else(|| vec![verdict(names)], |it| it.verdicts.clone()),
            // Null for two players.
            "ratings": rated,
            "sprt": sentence,
        });
        out::print_result(true, &value, "")?;
        return Ok(ExitCode::SUCCESS);
    }
    let names = &shorten_run_names(names)[..];
    if let Some(rated) = rated(names) {
        out::print_line(rated.to_table())?;
        out::print_line(wrap_all(rated.legend_lines()).trim_end())?;
    } else {
        let mut verdict = verdict(names);
        // The length of a match that its test ended was not fixed in advance.
        if let Some(sentence) = &sentence {
            out::print_line(sentence)?;
            (verdict.decided, verdict.why) = (false, None);
        }
        out::print_line(wrap_all([verdict.format_line(&meetings[0].pairs)]).trim_end())?;
    }
    if verbose {
        out::print_line(format!("\n{}", meetings_table(names, meetings)).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
