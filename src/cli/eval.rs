//! `nnuance eval`: the values of an evaluation for positions.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, anyhow, ensure};

use super::options::DeviceArgs;
use super::out;
use super::terminal::Terminal;
use crate::format::lines::{LONGEST, Text};
use crate::format::{fen_of_line, unpack};
use crate::run::Evaluator;
use crate::run::path::evaluated_file;
use crate::sample::{Position, Sample};

/// Evaluate positions, one line `FEN;cp` each
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance eval nets/quickstart-32.bin '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance eval runs/quickstart-hce --fens positions.epd.zst
  grep 'w - -' positions.txt | nnuance eval nets/quickstart-32.bin --fens -")]
#[command(after_help = "\
Centipawns are those of the side to move: exact for nets, which are computed
in integers as engines do, and rounded for floats. A run folder stands for its
net.bin, else for its best checkpoint. The architecture of a net is in NAME.json
or NAME.toml, or follows from its size. The first four fields of a position are
read, and both counters if they are numbers.")]
pub struct Args {
    /// Net, checkpoint, handcrafted weights (JSON), material, or run folder
    evaluation: String,
    #[command(flatten)]
    positions: GivenPositions,
    #[command(flatten)]
    device: DeviceArgs,
}

#[derive(clap::Args)]
pub struct GivenPositions {
    /// Positions
    #[arg(value_name = "FEN", required_unless_present = "fens", conflicts_with = "fens")]
    positions: Vec<String>,
    /// File of lines `FEN`, `FEN;...`, `FEN | ...` or EPD, packed or not; - is standard input
    #[arg(long, value_name = "FILE")]
    fens: Option<PathBuf>,
}

/// Number of positions that are evaluated together.
const BLOCK: usize = 1024;
/// A FEN as it was written, and its position.
pub type GivenPosition = (String, Position);

pub fn run_command(args: Args) -> Result<()> {
    let terminal = Terminal::default();
    let host = args.device.open_host(&terminal)?;
    let evaluator = Evaluator::open_evaluation(&evaluated_file(&args.evaluation), &host)?;
    evaluator.ensure_needs_only_position()?;
    let mut positions = args.positions.read_positions()?;
    let blocks = std::iter::from_fn(|| {
        let block: Vec<Result<GivenPosition>> = positions.by_ref().take(BLOCK).collect();
        (!block.is_empty()).then(|| evaluate_block(&evaluator, block))
    });
    out::print_lines(blocks.flatten())
}

impl GivenPositions {
    /// Reads the positions of the file, or else of the command line.
    pub fn read_positions(&self) -> Result<Box<dyn Iterator<Item = Result<GivenPosition>> + '_>> {
        Ok(match &self.fens {
            Some(path) => Box::new(read_lines(path)?),
            None => Box::new(self.positions.iter().map(|text| parse_position(text))),
        })
    }
}

/// Evaluates a block to lines, up to the first error.
fn evaluate_block(evaluator: &Evaluator, block: Vec<Result<GivenPosition>>) -> Vec<Result<String>> {
    let good = block.iter().map_while(|read| Some(Sample::from_position(read.as_ref().ok()?.1)));
    let cp = evaluator.predict_samples(&good.collect::<Vec<Sample>>(), &[]).and_then(|values| {
        values.cp.with_context(|| format!("{} gives no centipawns for a position", values.name))
    });
    let values = match cp {
        Ok(values) => values,
        Err(error) => return vec![Err(error)],
    };
    // The value after the last good position belongs to the error.
    let values = values.into_iter().chain([f64::NAN]);
    // Adding zero removes the sign of a negative zero.
    let line = |(read, cp): (Result<GivenPosition>, f64)| {
        Ok(format!("{};{:.0}", read?.0, cp.round() + 0.0))
    };
    block.into_iter().zip(values).map(line).collect()
}

/// Reads positions from a file, one per line; `-` is standard input. Errors name the line.
fn read_lines(path: &Path) -> Result<impl Iterator<Item = Result<GivenPosition>>> {
    let name = match path.as_os_str() == "-" {
        true => "standard input".to_string(),
        false => path.display().to_string(),
    };
    let input = unpack::open_unpacked(path).with_context(|| format!("cannot read {name}"))?;
    let (mut text, file, mut failed) = (Text::new(input, LONGEST), name.clone(), false);
    let mut next = move || -> Result<Option<GivenPosition>> {
        // After a wrong line, the input may have no end.
        while !failed && text.read_line().with_context(|| file.clone())? {
            let line = text.current_line().map_err(Error::msg);
            if !matches!(line, Ok("")) {
                let read = line.and_then(parse_position);
                failed = read.is_err();
                let locate = |error| anyhow!("{file}, {}: {error:#}", text.record_place());
                return read.map(Some).map_err(locate);
            }
        }
        Ok(None)
    };
    let mut lines = std::iter::from_fn(move || next().transpose()).peekable();
    ensure!(lines.peek().is_some(), "{name} holds no positions; give one a line");
    Ok(lines)
}

fn parse_position(text: &str) -> Result<GivenPosition> {
    let fen = fen_of_line(text);
    let position = Position::from_fen(&fen).with_context(|| format!("{fen:?}"))?;
    Ok((fen, position))
}
