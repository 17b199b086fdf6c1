//! `nnuance inspect`: what is inside a net.

mod terms;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use maud::html;

use super::out;
use super::shape::Shape;
use super::terminal::Terminal;
use crate::draw::page;
use crate::hce::{self, HceWeights};
use crate::inspect::Options;
use crate::output;
use crate::run::folder::BEST;
use crate::run::inspect::{look, positions};
use crate::run::path::{in_folder, terms_to_inspect};
use crate::run::{Recipe, export, tuned};

/// Look into a net: neurons, weights, piece values, squares, and what it knows of handcrafted terms
///
/// Reads what `export` reads. The positions through which it looks are those of the run's
/// validation games, or those of --data. Of handcrafted terms it shows what the tuning did:
/// effective values of pieces, odd orders, turned signs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance inspect runs/quickstart-net
  nnuance inspect runs/quickstart-net -o net.html
  nnuance inspect runs/quickstart-hce
  nnuance inspect nets/quickstart-32.bin --data data/selfplay-sf15.vf -o neurons.png")]
pub struct Args {
    /// The net or checkpoint, or a run folder for its best.safetensors
    net: PathBuf,
    /// Files of positions [default: the run's validation games]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Handcrafted weights to compare piece values and tables with: a JSON file or a run folder
    /// [default: the start values of the built-in terms]
    #[arg(long, value_name = "TERMS")]
    hce: Option<PathBuf>,
    /// Positions to look at, at most
    #[arg(long, default_value = "100000", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    positions: u64,
    /// Pictures: a page (NAME.html), or the neurons' feature maps alone (NAME.png)
    #[arg(short, long = "out", alias = "output", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a NAME.png that is there; a page of ours is replaced in any case
    #[arg(long)]
    overwrite: bool,
    /// Everything as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shape: Shape,
}

pub fn run(args: Args) -> Result<()> {
    let kind = args.output.as_deref().map(Kind::of).transpose()?;
    if terms_to_inspect(&args.net) {
        return terms::show(&args);
    }
    let path = in_folder(&args.net, BEST)?;
    let name = path.display().to_string();
    if let Some(output) = &args.output {
        refuse_overwriting(output, [&path].into_iter().chain(&args.hce).chain(&args.data))?;
        match kind {
            Some(Kind::Page) => out::may_be_page(output)?,
            _ => {
                out::refuse_existing(&[output], args.overwrite)?;
                // Opened and dropped: what cannot be written is found before the long work.
                output::Output::create(output)?;
            }
        }
    }
    let source = export::read(&path, &args.shape.given())?;
    for warning in &source.warnings {
        eprintln!("{name}: {warning}");
    }
    let terminal = Terminal::default();
    let recipe = Recipe::read(&source.facts).with_context(|| name.clone())?;
    let mut samples = positions(&args.data, recipe.as_ref(), &path, &terminal)?;
    samples.truncate(args.positions as usize);
    let hce = match &args.hce {
        None => HceWeights::of_list(hce::terms::list(), source.scales.scale.into()),
        Some(path) => tuned::weights(path)?,
    };
    let options = Options { hce: Some(hce), ..Options::default() };
    let inspection = look(&source, &samples, &options, &terminal).with_context(|| name.clone())?;
    if let (Some(kind), Some(path)) = (kind, &args.output) {
        let bytes = match kind {
            Kind::Page => {
                page(&name, &html! { p { (inspection.net) } }, &inspection.pictures()).into_bytes()
            }
            Kind::Maps => inspection.sheet(),
        };
        output::write(path, &bytes)?;
    }
    match args.json {
        true => out::line(serde_json::to_string_pretty(&inspection)?)?,
        false => out::line(inspection.text().trim_end())?,
    }
    if let Some(path) = &args.output {
        eprintln!("pictures: {}", path.display());
    }
    Ok(())
}

/// Pictures must not take the place of what they are made from, by whatever path.
fn refuse_overwriting<'a>(picture: &Path, inputs: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    for input in inputs {
        ensure!(
            !output::same(input, picture),
            "the pictures would overwrite {}, which they are made from; choose another name",
            input.display()
        );
    }
    Ok(())
}

enum Kind {
    Page,
    Maps,
}

impl Kind {
    fn of(path: &Path) -> Result<Self> {
        match path.extension() {
            Some(it) if it.eq_ignore_ascii_case("html") => Ok(Self::Page),
            Some(it) if it.eq_ignore_ascii_case("png") => Ok(Self::Maps),
            _ => bail!("{}: pictures are a page (.html) or feature maps (.png)", path.display()),
        }
    }
}
