//! Handcrafted terms: the effective values of pieces.

use anyhow::{Result, bail};

use super::Args;
use crate::cli::out;
use crate::cli::terminal::Terminal;
use crate::run::inspect::effective_values;

/// Prints the value of each piece in the positions that validated a run, or of `--data`.
pub fn show(args: &Args) -> Result<()> {
    let name = args.net.display();
    if args.output.is_some() {
        bail!("{name} has handcrafted terms, of which there are no pictures; leave --out away");
    }
    let most = args.positions as usize;
    let values = effective_values(&args.net, &args.data, most, &Terminal::default())?;
    match args.json {
        true => out::line(serde_json::to_string_pretty(&values)?),
        false => out::line(values.table().to_string().trim_end()),
    }
}
