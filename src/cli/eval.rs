//! `nnuance eval`: the values of an evaluation for positions.

use std::io::{BufRead, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::options::{Place, Shape};
use super::out;
use super::terminal::Terminal;
use crate::format::unpack;
use crate::model::Precision;
use crate::report::Values;
use crate::report::board::{board, side_by_side};
use crate::run::Evaluator;
use crate::run::path::as_engines_load;
use crate::sample::{Position, Sample};

/// Evaluate positions, one line `FEN;cp` each: nets in integers as engines do, and all else
///
/// Centipawns are seen by the side to move. Of nets they are exact; of floats (checkpoints,
/// handcrafted terms) they are rounded to the nearest whole number, halves away from zero. A net's
/// shape comes from the manifest beside it (NAME.json for NAME.bin), from a description
/// (NAME.toml), or from the options.
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
    /// The first four fields are read, and the two counters if both are numbers.
    #[arg(long, value_name = "FILE")]
    fens: Option<PathBuf>,
    /// Show each position as a board with the contribution of every piece
    #[arg(long)]
    board: bool,
    /// Another evaluation to show beside it; may be repeated
    #[arg(long, value_name = "EVALUATION", requires = "board")]
    with: Vec<String>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shape: Shape,
}

/// Positions that are evaluated at once.
const AT_ONCE: usize = 1024;

/// Bytes of the longest line.
const LONGEST: usize = 4096;

/// A FEN as it was written, and its position.
type Read = (String, Position);

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
    let mut positions: Box<dyn Iterator<Item = Result<Read>>> = match file {
        Some(path) => Box::new(lines(path)?),
        None => Box::new(args.positions.iter().map(|text| parse(text))),
    };
    if args.board {
        return out::lines(positions.map(|it| boards(&evaluators, &it?.1)));
    }
    let blocks = std::iter::from_fn(|| {
        let mut failed = None;
        let good = positions
            .by_ref()
            .take(AT_ONCE)
            .map_while(|it| it.map_err(|error| failed = Some(error)).ok());
        let block: Vec<Read> = good.collect();
        let texts = match values(&evaluators[0], block.iter().map(|(_, position)| *position)) {
            Ok(values) => block
                .iter()
                .zip(values)
                .map(|((fen, _), cp)| {
                    // Adding zero turns a negative zero into zero.
                    Ok(format!("{fen};{:.0}", cp.round() + 0.0))
                })
                .chain(failed.map(Err))
                .collect(),
            Err(error) => vec![Err(error)],
        };
        (!texts.is_empty()).then_some(texts)
    });
    out::lines(blocks.flatten())
}

fn values(evaluator: &Evaluator, positions: impl Iterator<Item = Position>) -> Result<Vec<f64>> {
    let samples: Vec<Sample> = positions.map(Sample::of).collect();
    match evaluator.evaluate(&samples, &[])?.values {
        Values::Cp(values) => Ok(values),
        Values::Constant => bail!("{} gives no centipawns for a position", evaluator.name),
    }
}

/// A board for each evaluation, with the value less that without each piece, and a table of all.
fn boards(evaluators: &[Evaluator], position: &Position) -> Result<String> {
    let white = position.turn().is_white();
    let (mut text, mut all) = (format!("{}\n\n", position.fen()), Vec::new());
    for evaluator in evaluators {
        let name = &evaluator.name;
        let without = position
            .pieces()
            .into_iter()
            .filter_map(|piece| Some((piece.square, position.without(piece.square)?)));
        let (squares, without): (Vec<_>, Vec<Position>) = without.unzip();
        let cp = values(evaluator, std::iter::once(*position).chain(without))?;
        let mut pieces = [None; 64];
        for (square, value) in squares.into_iter().zip(&cp[1..]) {
            pieces[square as usize] = Some(if white { cp[0] - value } else { value - cp[0] });
        }
        let board = board(&position.letters(), &pieces);
        text += &format!("{name}: centipawns that each piece adds for White\n\n{board}\n");
        all.push((name.clone(), cp[0], evaluator.fitted));
    }
    Ok(text + &side_by_side(&all, white).to_string())
}

/// The positions of a file, one a line, packed or not; `-` is standard input. An error names its
/// line and is the last item.
fn lines(path: &Path) -> Result<impl Iterator<Item = Result<Read>>> {
    let name = match path.as_os_str() == "-" {
        true => "standard input".to_string(),
        false => path.display().to_string(),
    };
    let mut input = unpack::open(path).with_context(|| format!("cannot read {name}"))?;
    let (mut number, mut some, mut ended) = (0, false, false);
    Ok(std::iter::from_fn(move || {
        while !ended {
            number += 1;
            let read = line(&mut input);
            let empty = matches!(&read, Ok(Some(line)) if line.trim().is_empty());
            ended = !matches!(read, Ok(Some(_)));
            let item = match read.and_then(|line| line.map(|line| parse(&line)).transpose()) {
                _ if empty => continue,
                Ok(None) if some => return None,
                Ok(None) => Err(anyhow::anyhow!("{name} holds no positions; give one a line")),
                Ok(Some(read)) => Ok(read),
                Err(error) => Err(error.context(format!("{name}, line {number}"))),
            };
            (some, ended) = (true, item.is_err());
            return Some(item);
        }
        None
    }))
}

/// The next line; none at the end.
fn line(input: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = Vec::new();
    input.take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
    ensure!(line.len() <= LONGEST, "the line is longer than {LONGEST} bytes");
    let text = String::from_utf8(line).ok().context("the line is not UTF-8")?;
    // Editors on Windows put a byte order mark before the first line.
    Ok((!text.is_empty()).then(|| text.trim_start_matches('\u{feff}').to_string()))
}

/// The FEN at the beginning of a line: four fields, and the two counters if both are numbers. The
/// rest, such as the operations of EPD, is passed over.
fn parse(text: &str) -> Result<Read> {
    let head = text.split([';', '|']).next().unwrap_or_default();
    let mut fields: Vec<&str> = head.split_whitespace().take(6).collect();
    let number = |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit());
    if fields.len() < 6 || !fields[4..].iter().all(number) {
        fields.truncate(4);
    }
    let fen = fields.join(" ");
    let position = Position::from_fen(&fen).with_context(|| format!("{fen:?}"))?;
    Ok((fen, position))
}
