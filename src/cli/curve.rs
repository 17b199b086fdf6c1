//! `nnuance curve`: what more data, or more neurons, are worth.

mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::out;
use super::place::Place;
use super::terminal::Terminal;
use crate::config::Config;
use crate::loader::scan;
use crate::run::curve::{Curve, Points, members};
use crate::run::folder::RunFolder;
use crate::run::train::{Means, begin, resume};
use crate::run::{Listener as _, Stage, recipe};
use crate::train::ranks::Alone;
use text::text;

/// Train on 1/16, 1/8, ... of the games, and say what doubling the data or the neurons is worth
///
/// Each share of the training games is a part of the next, and the test games are the same for
/// all. All runs make as many steps as the config asks for on all of the data: a small share is
/// passed over more often, and each run counts with its best checkpoint by validation loss, which is
/// its best number of passes. (Methods without a length, such as gauss-newton, run until their
/// loss falls no more.) Small shares can reach their best while the learning rate is still high,
/// which overstates what more data is worth: a quarter of the games in data/ has a loss of 0.0964
/// like this, 0.0954 with 8 passes, and all of them 0.0878.
///
/// A curve that was stopped goes on with the same command; finished runs are not trained again.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance curve configs/quickstart-net.toml
  nnuance curve configs/quickstart-net.toml --hidden 16,32,64 --seeds 2 --out runs/curve-sizes

Each run has its own folder in that of the curve, for example share-1-16 or, where the size or the \
seed is not the config's, share-1-1-hidden-64-seed-2. All of them are runs like those of `nnuance \
train`.")]
pub struct Args {
    /// The config of all runs (TOML)
    config: PathBuf,
    /// Change a key of the config, for example schedule.epochs=4; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// The smallest share is one N-th of the training games, the largest all of them; a power of 2
    #[arg(long, default_value = "16", value_name = "N", value_parser = power_of_two)]
    shares: u32,
    /// Sizes of the hidden layer, each with all shares [default: the config's]
    #[arg(long, value_name = "NEURONS", value_delimiter = ',')]
    hidden: Vec<usize>,
    /// Seeds of training, from the config's on; their losses are averaged
    #[arg(long, default_value = "1", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// The curve's folder [default: runs/curve- and the config's name]
    #[arg(short, long, alias = "output", value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Train anew what the folder holds already
    #[arg(long)]
    overwrite: bool,
    /// The curve as JSON
    #[arg(long)]
    json: bool,
    /// Draw the losses above the progress line; only where stderr is a terminal
    #[arg(long)]
    chart: bool,
    #[command(flatten)]
    place: Place,
}

/// What to do about a folder that holds something else.
const CURE: &str = "choose another folder with --out, or begin anew with --overwrite";

fn power_of_two(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(number) if number.is_power_of_two() && number <= 65_536 => Ok(number),
        _ => Err("expected 1, 2, 4, 8 and so on, up to 65536".to_string()),
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let terminal = Terminal::that_stops(args.chart);
    let place = args.place.named();
    let means = Means { place: &place, listener: &terminal, page: false, ranks: &Alone };
    let config = Config::read(&args.config, &args.overrides)?;
    ensure!(
        config.data.held_out > 0.0 && config.test().0 > 0.0,
        "a curve is measured on test games; raise `data.held_out` and `data.test`"
    );
    let out = args.out.clone().unwrap_or_else(|| default_folder(&args.config));
    let counter = terminal.count(None, "reading");
    let scan = scan(&recipe::plan(&config)?, 0, &*counter);
    drop(counter);
    let scan = scan?;
    let points = Points { shares: args.shares, hidden: &args.hidden, seeds: args.seeds };
    let members = members(&config, &points, scan.train)?;
    // Whatever cannot go on is found before the long work.
    let stages = members
        .iter()
        .map(|member| match args.overwrite {
            true => Ok(Stage::New),
            false => Stage::of(&member.config, &out.join(&member.name), &scan, CURE),
        })
        .collect::<Result<Vec<_>>>()?;
    for (number, (member, stage)) in members.iter().zip(stages).enumerate() {
        let path = out.join(&member.name);
        let place = format!("{} ({} of {})", path.display(), 1 + number, members.len());
        let ended = match stage {
            Stage::Finished => {
                eprintln!("{place} is trained already");
                continue;
            }
            Stage::Begun => {
                eprintln!("\n{place} goes on");
                resume(&path, &[], &means)?
            }
            Stage::New => {
                eprintln!("\n{place}");
                let folder = RunFolder::take(&path, args.overwrite, &terminal)?;
                begin(member.config.clone(), &folder, &means)?
            }
        };
        if ended.is_none() {
            eprintln!("or go on with the curve: the same command again, without --overwrite");
            return Ok(ExitCode::from(130));
        }
    }
    eprintln!();
    let curve = Curve::measure(&members, &out, &scan, &place, &terminal)?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&curve)?)?,
        false => out::line(text(&curve).trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn default_folder(config: &Path) -> PathBuf {
    let name = config.file_stem().unwrap_or(config.as_os_str()).to_string_lossy();
    Path::new("runs").join(format!("curve-{name}"))
}
