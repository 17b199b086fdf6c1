//! `nnuance eval`: what an evaluation says of positions.

mod board;
mod net;
mod positions;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use super::evaluator::Evaluator;
use super::folder::NET;
use super::out;
use super::place::Place;
use crate::architecture::{Activation, Views};
use crate::export::Given;
use crate::model::Precision;
use crate::report::Values;
use crate::sample::Sample;
use crate::scales::HeadFormat;
pub use net::{are_terms, net_at};
use positions::{Asked, of_file};

/// Positions that are evaluated at once.
const AT_ONCE: usize = 1024;

/// Evaluate positions, one line `FEN;cp` each: nets in integers as engines do, and all else
///
/// Centipawns are seen by the side to move. Of nets they are exact; of floats (checkpoints,
/// handcrafted terms) they are rounded to the nearest whole number, halves away from zero. What a
/// net's file does not say comes from the manifest beside it (NAME.json for NAME.bin), from a
/// description (NAME.toml), or from the options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance eval nets/quickstart-32.bin '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance eval nets/quickstart-32.bin --board --with runs/quickstart-hce '4k3/8/8/8/8/8/4P3/4K3 w'
  nnuance eval runs/quickstart-hce --fens positions.epd.zst
  grep 'w - -' positions.txt | nnuance eval nets/quickstart-32.bin --fens -")]
pub struct Args {
    /// A net, a checkpoint, handcrafted weights (JSON), material; or a run folder: its net.bin, or
    /// the best checkpoint where there is none
    evaluation: String,
    /// Positions, written as in the file of --fens
    #[arg(value_name = "FEN", required_unless_present = "fens", conflicts_with = "fens")]
    positions: Vec<String>,
    /// File of lines `FEN`, `FEN;anything`, `FEN | anything` or EPD, packed or not; `-` is standard
    /// input.
    ///
    /// What is read are the first four fields, and the two counters if both are numbers.
    #[arg(long, value_name = "FILE")]
    fens: Option<PathBuf>,
    /// Show each position with boards: what every piece adds, and handcrafted terms taken apart
    #[arg(long)]
    board: bool,
    /// Another evaluation to show beside it, of any kind that can stand before it; may be repeated
    #[arg(long, value_name = "EVALUATION", requires = "board")]
    with: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

/// What a net's file does not say about itself.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "What the net is")]
pub struct Shape {
    /// Feature set [default: the manifest's, else perspective]
    #[arg(long, value_name = "NAME", value_parser = parse_features)]
    features: Option<Views>,
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
    /// Numbers behind the accumulators of nets with more layers: float, or int8 for weights of the
    /// first layer in 8 bits [default: the manifest's, else float]
    #[arg(long = "head", value_name = "FORMAT", value_parser = parse_head_format)]
    head_format: Option<HeadFormat>,
}

impl Shape {
    pub fn given(&self) -> Given {
        let Shape { features, activation, qa, qb, scale, head_format } = *self;
        Given { features, activation, qa, qb, scale, head_format }
    }

    pub fn is_given(&self) -> bool {
        let Shape { features, activation, qa, qb, scale, head_format } = self;
        features.is_some()
            || activation.is_some()
            || head_format.is_some()
            || [qa, qb, scale].iter().any(|n| n.is_some())
    }
}

fn parse_features(name: &str) -> Result<Views, String> {
    let known = || format!("expected one of {}", Views::ALL.map(Views::name).join(", "));
    Views::named(name).ok_or_else(known)
}

fn parse_activation(name: &str) -> Result<Activation, String> {
    Activation::named(name).ok_or_else(|| "expected relu, crelu or screlu".to_string())
}

fn parse_head_format(name: &str) -> Result<HeadFormat, String> {
    HeadFormat::named(name).ok_or_else(|| "expected float or int8".to_string())
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

pub fn run(args: Args) -> Result<()> {
    let place = args.place.open(Precision::F32)?;
    let mut evaluators = Vec::new();
    for name in std::iter::once(&args.evaluation).chain(&args.with) {
        let evaluator = Evaluator::open(&named(name), &args.shape, &place)?;
        evaluator.knows_bare_positions()?;
        evaluators.push(evaluator);
    }
    let file = match (&args.fens, &args.positions[..]) {
        (Some(path), _) => Some(&**path),
        (None, [dash]) if dash == "-" => Some(Path::new("-")),
        _ => None,
    };
    let mut asked: Box<dyn Iterator<Item = Result<Asked>>> = match file {
        Some(path) => Box::new(of_file(path)?),
        None => Box::new(args.positions.iter().map(|text| Asked::read(text))),
    };
    if args.board {
        return out::lines(asked.map(|asked| board::page(&evaluators, &asked?.position)));
    }
    let mut ready = VecDeque::new();
    out::lines(std::iter::from_fn(|| {
        if ready.is_empty() {
            ready.extend(next(&evaluators[0], &mut asked));
        }
        ready.pop_front()
    }))
}

/// What stands for a name: of a run's folder the net, if it has one, as engines load it.
fn named(name: &str) -> String {
    let path = Path::new(name);
    match path.is_dir() && path.join(NET).exists() {
        true => path.join(NET).to_string_lossy().into_owned(),
        false => name.to_string(),
    }
}

/// The lines of the next positions, up to the first that is none.
fn next(
    evaluator: &Evaluator,
    asked: &mut dyn Iterator<Item = Result<Asked>>,
) -> Vec<Result<String>> {
    let (mut positions, mut failed) = (Vec::new(), None);
    for one in asked.take(AT_ONCE) {
        match one {
            Ok(one) => positions.push(one),
            Err(error) => {
                failed = Some(Err(error));
                break;
            }
        }
    }
    let lines = match lines(evaluator, &positions) {
        Ok(lines) => lines,
        Err(error) => vec![Err(error)],
    };
    lines.into_iter().chain(failed).collect()
}

fn lines(evaluator: &Evaluator, asked: &[Asked]) -> Result<Vec<Result<String>>> {
    let samples: Vec<Sample> = asked.iter().map(|asked| Sample::of(asked.position)).collect();
    let Values::Cp(values) = evaluator.evaluate(&samples, &[])?.values else {
        bail!("{} gives no centipawns for a position", evaluator.name);
    };
    let line = |(Asked { fen, .. }, cp): (&Asked, f64)| {
        ensure!(cp.is_finite(), "{} says {cp} of {fen}: its weights are broken", evaluator.name);
        // Adding zero turns a negative zero into zero.
        Ok(format!("{fen};{:.0}", cp.round() + 0.0))
    };
    Ok(asked.iter().zip(values).map(line).collect())
}
