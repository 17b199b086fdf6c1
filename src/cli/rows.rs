//! `nnuance rows`: the rows of weights that positions activate.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use shakmaty::Color;

use super::eval::GivenPositions;
use super::out;
use crate::config::Config;
use crate::features::{Board, Inputs, Perspectives, Rows, Set};
use crate::report::wrap_sentence;
use crate::run::export;
use crate::run::folder::CONFIG;
use crate::run::path::in_folder;
use crate::sample::Position;

/// Show the rows of weights that positions activate
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance rows nets/quickstart-32.bin '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance rows net.toml --words '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance rows runs/quickstart-net --fens positions.epd")]
#[command(after_help = "\
Compare them with the indices of an engine. Each feature set has a sorted list
for each perspective, numbered from 0 within the set; a row that is active
twice is listed twice. Nets of plain inputs have White's perspective alone.")]
pub struct Args {
    /// Net, checkpoint, config (.toml), or run folder
    net: PathBuf,
    #[command(flatten)]
    positions: GivenPositions,
    /// Explain each row on a line
    #[arg(long)]
    words: bool,
}

pub fn run_command(args: Args) -> Result<()> {
    let inputs = read_inputs(&args.net)?;
    let text = args.positions.read_positions()?.map(|read| {
        let (fen, position) = read?;
        Ok(format!("{fen}\n{}", format_lists(&inputs, &position, args.words)))
    });
    out::print_lines(format_row_ranges(&inputs).map(Ok).into_iter().chain(text))
}

/// Reads the inputs of a net's file, or of a config's net.
fn read_inputs(path: &Path) -> Result<Inputs> {
    let path = in_folder(path, CONFIG)?;
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(export::read_source(&path)?.0.architecture.inputs);
    }
    let config = Config::read_file(&path, &[])?;
    let net = config.architecture().with_context(|| {
        format!(
            "{} trains handcrafted terms, which have no rows; name one of a net",
            path.display()
        )
    })?;
    Ok(net.inputs.clone())
}

/// Formats the rows of each set in a net of several sets.
fn format_row_ranges(inputs: &Inputs) -> Option<String> {
    let range = |(i, set): (usize, &Set)| {
        let first = inputs.first_row(i);
        format!("{} {first} to {}", set.name(), first + set.row_count() - 1)
    };
    let ranges: Vec<String> = inputs.sets().iter().enumerate().map(range).collect();
    let text = wrap_sentence(&format!("In the net, rows of {}.", ranges.join(", of ")));
    (ranges.len() > 1).then_some(text)
}

fn format_lists(inputs: &Inputs, position: &Position, words: bool) -> String {
    let board = Board::new(position);
    let perspectives: &[Color] = match inputs.perspectives {
        Perspectives::Plain => &[Color::White],
        Perspectives::SideToMove | Perspectives::Perspective => &Color::ALL,
    };
    let mut text = String::new();
    for set in inputs.sets() {
        for perspective in perspectives {
            let mut rows = Rows::default();
            set.add_active_rows(&board, *perspective, &mut rows);
            let rows = rows.sorted_rows();
            let name = format!("{}, {}:", set.name(), perspective.fold_wb("White", "Black"));
            if words {
                text += &format!("{name}\n{}", describe_rows(set, &rows));
            } else {
                let rows: Vec<String> = rows.iter().map(u32::to_string).collect();
                text += &wrap_sentence(&format!("{name} {}", rows.join(" ")));
            }
        }
    }
    text
}

fn describe_rows(set: &Set, rows: &[u32]) -> String {
    let line = |same: &[u32]| {
        let times = if same.len() > 1 { format!(", {} times", same.len()) } else { String::new() };
        format!("{:>7}  {}{times}\n", same[0], set.describe_row(same[0]))
    };
    rows.chunk_by(|a, b| a == b).map(line).collect()
}
