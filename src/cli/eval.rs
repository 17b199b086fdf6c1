//! `nnuance eval`: a net's opinion of positions.

mod board;
mod net;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::evaluator::{BUILT_IN_NAMES, Evaluator};
use super::folder::NET;
use super::out;
use crate::architecture::Activation;
use crate::export::{self, Given, Loaded};
use crate::features::{self, Features};
use crate::model::{Compute, Device};
use crate::sample::Position;
use crate::scales::Scales;
pub use net::{are_terms, net_at};

/// Evaluate positions with a net, in integers as an engine does; one line `FEN;cp` each
///
/// Centipawns are seen by the side to move. What the net's file does not say comes from the
/// manifest beside it (NAME.json for NAME.bin), or else from the options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance eval nets/quickstart-32.bin '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance eval nets/quickstart-32.bin --board --with runs/quickstart-hce '4k3/8/8/8/8/8/4P3/4K3 w'
  nnuance eval runs/quickstart-net --fens positions.txt
  zstdcat positions.epd.zst | nnuance eval nets/quickstart-32.bin --fens -")]
pub struct Args {
    /// The net, or a run folder for its net.bin; with --board also what --with takes
    net: PathBuf,
    /// Positions, written as in the file of --fens
    #[arg(value_name = "FEN", required_unless_present = "fens", conflicts_with = "fens")]
    positions: Vec<String>,
    /// File of lines `FEN`, `FEN;anything`, `FEN | anything` or EPD; `-` is standard input.
    ///
    /// What is read are the first four fields, and the two counters if both are numbers.
    #[arg(long, value_name = "FILE")]
    fens: Option<PathBuf>,
    /// Show each position with boards: what every man adds, and handcrafted terms taken apart
    #[arg(long)]
    board: bool,
    /// Another evaluation to show beside it: a net, a checkpoint, a run folder, handcrafted weights
    /// (JSON), material; may be repeated
    #[arg(long, value_name = "EVALUATION", requires = "board")]
    with: Vec<String>,
    #[command(flatten)]
    shape: Shape,
}

/// What a net's file does not say about itself.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "What the net is")]
pub struct Shape {
    /// Feature set [default: the manifest's, else perspective]
    #[arg(long, value_name = "NAME", value_parser = parse_features)]
    features: Option<&'static Features>,
    /// relu, crelu or screlu [default: the manifest's, else screlu]
    #[arg(long, value_name = "NAME", value_parser = parse_activation)]
    activation: Option<Activation>,
    /// Factor of the accumulator's weights [default: the manifest's, else 255]
    #[arg(long, value_name = "INTEGER")]
    qa: Option<i32>,
    /// Factor of the output weights [default: the manifest's, else 64]
    #[arg(long, value_name = "INTEGER")]
    qb: Option<i32>,
    /// Centipawns of one unit of the output [default: the manifest's, else 400]
    #[arg(long, value_name = "INTEGER")]
    scale: Option<i32>,
}

impl Shape {
    pub fn given(&self) -> Given {
        let Shape { features, activation, qa, qb, scale } = *self;
        Given { features, activation, qa, qb, scale }
    }

    pub fn is_given(&self) -> bool {
        let Shape { features, activation, qa, qb, scale } = self;
        features.is_some() || activation.is_some() || [qa, qb, scale].iter().any(|n| n.is_some())
    }
}

fn parse_features(name: &str) -> Result<&'static Features, String> {
    Features::named(name).ok_or_else(|| {
        let known: Vec<_> = features::ALL.iter().map(|features| features.name).collect();
        format!("expected one of {}", known.join(", "))
    })
}

fn parse_activation(name: &str) -> Result<Activation, String> {
    let found = Activation::ALL.into_iter().find(|activation| activation.name() == name);
    found.ok_or_else(|| "expected relu, crelu or screlu".to_string())
}

/// A file, or the one of this name in a run folder.
pub fn in_folder(path: &Path, name: &str) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let file = path.join(name);
    ensure!(file.exists(), "{} holds no {name}; name the file itself", path.display());
    Ok(file)
}

pub fn run(mut args: Args) -> Result<()> {
    if args.board {
        return boards(&args);
    }
    refuse_built_in(&args.net)?;
    args.net = net_at(&args.net)?;
    let loaded = export::load(&args.net, &args.shape.given())?;
    for warning in &loaded.warnings {
        eprintln!("{}: {warning}", args.net.display());
    }
    say_what_it_is(&args, &loaded);
    let evaluate = |text: &str| -> Result<String> {
        let fen = fen(text);
        let position = Position::from_fen(&fen).with_context(|| format!("{fen:?}"))?;
        Ok(format!("{fen};{}", loaded.net.evaluate(&position)))
    };
    match (&args.fens, &args.positions[..]) {
        (Some(path), _) => file(path, evaluate),
        (None, [dash]) if dash == "-" => file(Path::new("-"), evaluate),
        _ => out::lines(args.positions.iter().map(|text| evaluate(text))),
    }
}

/// The references have no integers, and without boards only these are shown.
fn refuse_built_in(net: &Path) -> Result<()> {
    let known = net.to_str().filter(|name| BUILT_IN_NAMES.contains(name) && !net.exists());
    match known {
        Some(material @ "material") => {
            bail!("{material} is built in, no net; `nnuance eval {material} --board FEN` shows it")
        }
        Some(name) => bail!("{}", says_nothing(name)),
        None => Ok(()),
    }
}

fn says_nothing(built_in: &str) -> String {
    let why = match built_in {
        "score" => "a position alone has no score",
        _ => "it is the mean result of many positions",
    };
    format!("{built_in} has nothing to say here: {why}; it is there for `nnuance compare`")
}

/// Each position as a page of boards.
fn boards(args: &Args) -> Result<()> {
    let place = (Device::flex(), Compute::Plain);
    let mut names = vec![args.net.to_string_lossy().into_owned()];
    if args.net.is_dir() && args.net.join(NET).exists() {
        names = vec![args.net.join(NET).to_string_lossy().into_owned()];
    }
    names.extend(args.with.iter().cloned());
    if let Some(name) = names.iter().find(|name| matches!(&name[..], "score" | "constant")) {
        bail!("{}", says_nothing(name));
    }
    let evaluators: Vec<Evaluator> = names
        .iter()
        .map(|name| Evaluator::open(name, &args.shape, &place))
        .collect::<Result<_>>()?;
    let page = |text: &str| -> Result<String> {
        let fen = fen(text);
        let position = Position::from_fen(&fen).with_context(|| format!("{fen:?}"))?;
        board::page(&evaluators, &position)
    };
    match (&args.fens, &args.positions[..]) {
        (Some(path), _) => file(path, page),
        (None, [dash]) if dash == "-" => file(Path::new("-"), page),
        _ => out::lines(args.positions.iter().map(|text| page(text))),
    }
}

/// Says on standard error what the net was taken for, where its manifest does not say so.
fn say_what_it_is(args: &Args, loaded: &Loaded) {
    let Scales { qa, qb, scale } = loaded.net.scales();
    let architecture = loaded.net.architecture();
    let features = architecture.features.name;
    let why = match &loaded.manifest {
        None => "no manifest; N follows from the size",
        Some(_) if args.shape.is_given() => "options over the manifest",
        Some(_) => return,
    };
    eprintln!(
        "{}: {architecture}, {features} features, QA {qa}, QB {qb}, SCALE {scale} ({why})",
        args.net.display()
    );
}

fn file(path: &Path, evaluate: impl Fn(&str) -> Result<String>) -> Result<()> {
    let (name, input): (String, Box<dyn BufRead>) = if path.as_os_str() == "-" {
        ("standard input".into(), Box::new(io::stdin().lock()))
    } else {
        let name = path.display().to_string();
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
        (name, Box::new(BufReader::new(file)))
    };
    let mut empty = true;
    out::lines(input.lines().enumerate().filter_map(|(i, text)| {
        let evaluated = match text {
            Ok(text) if text.trim().is_empty() => return None,
            Ok(text) => evaluate(&text),
            Err(error) => Err(error.into()),
        };
        empty = false;
        Some(evaluated.with_context(|| format!("{name}, line {}", i + 1)))
    }))?;
    ensure!(!empty, "{name} holds no positions; give one a line");
    Ok(())
}

/// The FEN at the beginning of a line: four fields, and the two counters if both are numbers.
/// Everything else, such as the operations of EPD, is passed over.
fn fen(text: &str) -> String {
    let head = text.split([';', '|']).next().unwrap_or_default();
    let mut fields: Vec<&str> = head.split_whitespace().take(6).collect();
    let number = |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit());
    if fields.len() < 6 || !fields[4..].iter().all(number) {
        fields.truncate(4);
    }
    fields.join(" ")
}
