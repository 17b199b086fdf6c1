//! `nnuance export`: floats to a net that engines load, or to source code.

mod terms;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::eval::{Shape, in_folder};
use super::folder::{BEST, LAST};
use super::out;
use super::recipe::{self, Recipe};
use crate::config::Config;
use crate::export::tables::source::{Order, Style, Width};
use crate::export::{self, DataFile, Exported, Given, Losses, Provenance, Source};
use crate::loader::{Part, Plan};
use crate::net::Hints;
use crate::sample::Position;
use crate::scales::Scales;
use crate::train::checkpoint::Checkpoint;

/// Quantise a checkpoint, prove that it cannot overflow, and write net, floats and manifest
///
/// Reads the trainer's own checkpoints (safetensors), bullet's weights.bin and raw.bin, and
/// quantised nets. What a file does not say about itself comes from the options. Handcrafted
/// terms, from a run or a JSON file, become source code with rounded integers: the ending of the
/// output names the language, .h, .hpp or .rs; .json and .svg are there too.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance export runs/quickstart-net -o nets/mine.bin --licence CC0-1.0
  nnuance export runs/hce-pst -o terms.h --squares a1-first")]
pub struct Args {
    /// The checkpoint, or a run folder for its best.safetensors
    checkpoint: PathBuf,
    /// The net to write, NAME.bin; beside it come its manifest, NAME.json, and its floats,
    /// NAME.safetensors
    #[arg(short, long, value_name = "NET")]
    output: PathBuf,
    /// Licence of the net, for the manifest
    #[arg(long, value_name = "NAME")]
    licence: Option<String>,
    /// Config that trained it, for the manifest [default: the checkpoint's]
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Data to measure integers against floats on [default: what the run held out]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Order of tables in source code: a8-first, as a diagram shows the board, or a1-first
    #[arg(long, value_name = "ORDER", default_value = "a8-first", value_parser = terms::order)]
    squares: Order,
    /// 32-bit integers in source code instead of 16-bit ones
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    shape: Shape,
}

pub fn run(args: Args) -> Result<()> {
    if terms::are_at(&args.checkpoint) {
        let width = if args.wide { Width::Bits32 } else { Width::Bits16 };
        return terms::export(&args.checkpoint, &args.output, Style { order: args.squares, width });
    }
    let path = in_folder(&args.checkpoint, BEST)?;
    let name = path.display();
    refuse_overwriting(&path, &args.output)?;
    let given = args.shape.given();
    let mut source = read(&path, &given.over(Hints::default()))?;
    refuse_contradiction(&given, &source).with_context(|| name.to_string())?;
    source.scales.scale = given.scale.unwrap_or(source.scales.scale);
    for warning in &source.warnings {
        eprintln!("{name}: {warning}");
    }
    let mut origin = Origin::of(&source).with_context(|| name.to_string())?;
    origin.provenance.licence = args.licence;
    if let Some(path) = &args.recipe {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text, &path.display().to_string(), &[])?;
        origin.provenance.recipe = Some(text);
    }
    let positions = origin.positions(&args.data)?;
    let text = write(&source, origin.provenance, positions, &args.output)
        .with_context(|| name.to_string())?;
    out::line(text)
}

/// Exports a checkpoint of a run that has just ended; the lines to print.
pub fn checkpoint(
    path: &Path,
    net: &Path,
    licence: Option<String>,
    scales: Scales,
    positions: impl Iterator<Item = Position>,
) -> Result<String> {
    refuse_overwriting(path, net)?;
    let mut source = read(path, &Hints::default())?;
    source.scales = scales;
    let provenance = Provenance { licence, ..Origin::of(&source)?.provenance };
    write(&source, provenance, positions.take(MEASURED), net)
}

fn read(path: &Path, hints: &Hints) -> Result<Source> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
    export::import(&bytes, hints).with_context(|| name.to_string())
}

/// An export must not take the name of what it is made from, by whatever path or link.
fn refuse_overwriting(checkpoint: &Path, net: &Path) -> Result<()> {
    let Ok(input) = checkpoint.canonicalize() else { return Ok(()) };
    for path in export::paths(net)? {
        ensure!(
            path.canonicalize().ok().as_ref() != Some(&input),
            "the export would overwrite {}, which it is made from; choose another name than {}",
            path.display(),
            net.display()
        );
        ensure!(
            ![LAST, BEST].iter().any(|name| path.ends_with(name)),
            "{} is the name of a run's checkpoint; choose another name than {}",
            path.display(),
            net.display()
        );
    }
    Ok(())
}

/// Options may say what a file does not say, but not the opposite of what it says.
fn refuse_contradiction(given: &Given, source: &Source) -> Result<()> {
    let found = &source.architecture;
    let features = (given.features.map(|features| features.name), found.features.name);
    let activation =
        (given.activation.map(|activation| activation.name()), found.activation.name());
    for (option, (given, found)) in [("features", features), ("activation", activation)] {
        if let Some(given) = given.filter(|given| *given != found) {
            bail!("it says that its {option} is {found}, not {given}; leave --{option} out");
        }
    }
    Ok(())
}

/// Positions to measure integers against floats on: enough for the mean and for rare extremes.
const MEASURED: usize = 100_000;

/// What a checkpoint's header says of its origin.
struct Origin {
    provenance: Provenance,
    recipe: Option<Recipe>,
}

impl Origin {
    /// Everything is empty for files that are no checkpoints of this program.
    fn of(source: &Source) -> Result<Self> {
        let recipe = Recipe::read(&source.facts)?;
        let state = Checkpoint::state(&source.facts).unwrap_or_default();
        let data = recipe.iter().flat_map(|recipe| &recipe.data).map(|file| DataFile {
            file: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
            games: file.games,
        });
        let provenance = Provenance {
            licence: None,
            recipe: recipe.as_ref().map(|recipe| recipe.config.to_toml()),
            data: data.collect(),
            sketch: recipe.as_ref().map(|recipe| recipe.sketch.clone().into()),
            positions: (state.positions > 0).then_some(state.positions),
            losses: Losses { train: state.train_loss, held_out: state.best.map(|best| best.loss) },
        };
        Ok(Self { provenance, recipe })
    }

    /// Positions of the files, or else those that the run held out, if its data is still there.
    fn positions(&self, files: &[PathBuf]) -> Result<Vec<Position>> {
        let samples = match (files, &self.recipe) {
            ([], Some(recipe)) if recipe.split().share > 0.0 => match recipe.unchanged_data() {
                Ok(_) => recipe::collect(&recipe.plan()?, Part::HeldOut)?,
                Err(error) => {
                    eprintln!("integers are not measured against floats: {error:#}");
                    Vec::new()
                }
            },
            ([], _) => Vec::new(),
            (files, _) => recipe::collect(&Plan::reading(files.to_vec()), Part::All)?,
        };
        Ok(samples.into_iter().take(MEASURED).map(|sample| sample.position).collect())
    }
}

fn write(
    source: &Source,
    provenance: Provenance,
    positions: impl IntoIterator<Item = Position>,
    path: &Path,
) -> Result<String> {
    let Source { weights, architecture, scales, facts, kind, .. } = source;
    let mut exported: Exported =
        export::export(weights, architecture, *scales, provenance, positions)?;
    let [floats, net, manifest] = exported.write(path, weights, facts)?;
    let found = &exported.manifest;
    let mut lines = vec![
        format!("{architecture} from a {kind}, {scales}"),
        format!("no overflow: {}", found.proof),
    ];
    lines.extend(found.proof.notes.iter().map(|note| format!("note: {note}")));
    if let Some(error) = &found.float_error {
        lines.push(format!(
            "integers against floats: {:.2} cp on average, {:.2} cp at most, over {} positions",
            error.mean_cp, error.max_cp, error.positions
        ));
    }
    lines.push(format!("floats   {}", floats.display()));
    lines.push(format!("manifest {}", manifest.display()));
    let (bytes, sha256) = (found.bytes, &found.sha256);
    lines.push(format!("net      {}, {bytes} bytes, sha256 {sha256}", net.display()));
    Ok(lines.join("\n"))
}
