//! `nnuance inspect`: contents of a net or of handcrafted terms.

use std::path::PathBuf;

use anyhow::{Context, Result};
use maud::html;

use super::options::DataFiles;
use super::out;
use super::terminal::Terminal;
use crate::draw::page;
use crate::output;
use crate::progress::Progress;
use crate::report::html::facts_line;
use crate::run::folder::BEST;
use crate::run::inspect::{TermsInspection, choose_positions, inspect_net};
use crate::run::path::{holds_terms, in_folder};
use crate::run::{DeviceOptions, Recipe, export};

/// Show what a net or handcrafted terms hold: piece values, squares, neurons, mobility
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance inspect runs/quickstart-net
  nnuance inspect runs/quickstart-net -o net.html
  nnuance inspect runs/quickstart-hce -o terms.html
  nnuance inspect nets/quickstart-32.bin --data data/selfplay-sf15.vf")]
#[command(after_help = "\
Positions are the validation games of the run, or those of --data.")]
pub struct Args {
    /// Net, checkpoint, handcrafted weights (JSON), or run folder
    net: PathBuf,
    /// Positions to inspect at most
    #[arg(long, default_value = "100000", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    positions: u64,
    /// Write a page with pictures (.html)
    #[arg(short, long = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataFiles,
}

pub fn run_command(args: Args) -> Result<()> {
    let terminal = Terminal::default();
    let path = in_folder(&args.net, BEST)?;
    let name = path.display().to_string();
    if let Some(page) = &args.output {
        out::require_page(page)?;
    }
    let (lead, pictures) = if holds_terms(&path) {
        let host = DeviceOptions::default().open_host(&terminal)?;
        let inspection = TermsInspection::open_terms(&path, args.data.read_plan(), &host)?;
        out::print_result(args.json, &inspection, inspection.to_text())?;
        (html! {}, inspection.page_sections(None))
    } else {
        let (source, origin) = export::read_source(&path)?;
        let recipe = origin.recipe.or_else(|| Recipe::of_manifest(&origin.provenance));
        let mut samples =
            choose_positions(args.data.read_plan(), recipe.as_ref(), &path, &terminal)?;
        samples.truncate(args.positions as usize);
        let inspection =
            inspect_net(&source, &samples, 50_000, &terminal).with_context(|| name.clone())?;
        out::print_result(args.json, &inspection, inspection.to_text())?;
        (html! { p { (inspection.net) } }, inspection.page_sections())
    };
    if let Some(path) = &args.output {
        let program = concat!("nnuance ", env!("CARGO_PKG_VERSION")).to_string();
        let made = facts_line([program].into_iter().chain(terminal.current_date()));
        output::write_file(path, page(&name, &html! { (made) (lead) }, &pictures).as_bytes())?;
        eprintln!("page: {}", path.display());
    }
    Ok(())
}
