//! `nnuance curve`: what more data, or more neurons, are worth.

mod measure;
mod member;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use super::folder::{self, RunFolder};
use super::place::Place;
use super::progress::{Eyes, bar, interrupts};
use super::recipe;
use super::{out, train};
use crate::config::Config;
use crate::loader::{Scan, scan};
use measure::Curve;
use member::{Member, members};

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

fn power_of_two(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(number) if number.is_power_of_two() && number <= 65_536 => Ok(number),
        _ => Err("expected 1, 2, 4, 8 and so on, up to 65536".to_string()),
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let eyes = Eyes { stop: interrupts(), chart: args.chart, page: false };
    let config = Config::read(&args.config, &args.overrides)?;
    ensure!(
        config.data.held_out > 0.0 && config.test().0 > 0.0,
        "a curve is measured on test games; raise `data.held_out` and `data.test`"
    );
    let out = args.out.clone().unwrap_or_else(|| default_folder(&args.config));
    let bar = bar(None, "reading");
    let scan = scan(&recipe::plan(&config)?, 0, &|positions| bar.inc(positions));
    bar.finish_and_clear();
    let scan = scan?;
    let members = members(&config, &args, scan.train)?;
    // Whatever cannot go on is found before the long work.
    let stages = members
        .iter()
        .map(|member| stage(member, &out.join(&member.name), &args, &scan))
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
                train::resume(&path, &[], &args.place, eyes.clone())?
            }
            Stage::New => {
                eprintln!("\n{place}");
                let folder = RunFolder::take(&path, args.overwrite)?;
                train::begin(member.config.clone(), &folder, &args.place, eyes.clone())?
            }
        };
        if ended.is_none() {
            eprintln!("or go on with the curve: the same command again, without --overwrite");
            return Ok(ExitCode::from(130));
        }
    }
    eprintln!();
    let curve = Curve::measure(&members, &out, &scan, &args.place)?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&curve)?)?,
        false => out::line(curve.text().trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn default_folder(config: &Path) -> PathBuf {
    let name = config.file_stem().unwrap_or(config.as_os_str()).to_string_lossy();
    Path::new("runs").join(format!("curve-{name}"))
}

/// How far a run of the curve has come.
enum Stage {
    New,
    Begun,
    Finished,
}

/// What lies in the folder of a run.
///
/// # Errors
/// If it is a run of another config, or of data that has changed.
fn stage(member: &Member, path: &Path, args: &Args, scan: &Scan) -> Result<Stage> {
    let last = path.join(folder::LAST);
    if args.overwrite || !last.exists() {
        return Ok(Stage::New);
    }
    let (_, recipe) = recipe::open(&last)?;
    let config = &recipe.config;
    let same = member.becomes(config) && recipe.term_list == recipe::term_list(&member.config)?;
    ensure!(
        same,
        "{} holds a run of another config than this curve's; choose another folder with --out, or \
         begin anew with --overwrite",
        path.display()
    );
    if let Some(changed) = recipe.changed([&scan.files, &scan.validating.files]) {
        bail!(
            "{} has changed since {} was trained; restore it, or begin anew with --overwrite",
            changed.display(),
            path.display()
        );
    }
    // The last thing that a run writes, or nearly so: then its training has ended.
    let result = if config.is_net() { folder::NET } else { folder::TERMS_SVG };
    match path.join(result).try_exists().with_context(|| path.display().to_string())? {
        true => Ok(Stage::Finished),
        false => Ok(Stage::Begun),
    }
}
