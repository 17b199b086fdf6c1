//! `nnuance eval`: what an evaluation says of positions.

mod board;
mod positions;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};

use super::out;
use super::place::Place;
use super::shape::Shape;
use super::terminal::Terminal;
use crate::model::Precision;
use crate::report::Values;
use crate::run::Evaluator;
use crate::run::path::as_engines_load;
use crate::sample::Sample;
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

pub fn run(args: Args) -> Result<()> {
    let (given, terminal) = (args.shape.given(), Terminal::default());
    let place = args.place.open(Precision::F32)?;
    let mut evaluators = Vec::new();
    for name in std::iter::once(&args.evaluation).chain(&args.with) {
        let evaluator = Evaluator::open(&as_engines_load(name), &given, &place, &terminal)?;
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
