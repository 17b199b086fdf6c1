//! `nnuance export`: floats to a net that engines load.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::eval::Shape;
use super::recipe::{self, Recipe};
use crate::export::{self, DataFile, Exported, Losses, Provenance, Source};
use crate::loader::{Part, Plan};
use crate::net::Hints;
use crate::sample::Position;
use crate::scales::Scales;
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;

/// Quantise a checkpoint, prove that it cannot overflow, and write net, floats and manifest
///
/// Reads the trainer's own checkpoints (safetensors), bullet's weights.bin and raw.bin, and
/// quantised nets. What a file does not say about itself comes from the options.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance export runs/first/last.safetensors -o nets/first.bin --licence CC0-1.0")]
pub struct Args {
    /// The checkpoint
    checkpoint: PathBuf,
    /// The net to write; manifest and floats get the same name, ending in .json and .safetensors
    #[arg(short, long, value_name = "NET")]
    output: PathBuf,
    /// Licence of the net, for the manifest
    #[arg(long, value_name = "NAME")]
    licence: Option<String>,
    /// Config that trained it, for the manifest
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Data: its hash goes into the manifest, its positions measure integers against floats
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    shape: Shape,
}

pub fn run(args: Args) -> Result<()> {
    let name = args.checkpoint.display();
    let bytes = std::fs::read(&args.checkpoint).with_context(|| format!("cannot read {name}"))?;
    let given = args.shape.given();
    let mut source =
        export::import(&bytes, &given.over(Hints::default())).with_context(|| name.to_string())?;
    source.scales.scale = given.scale.unwrap_or(source.scales.scale);
    for warning in &source.warnings {
        eprintln!("{name}: {warning}");
    }
    let mut origin = Origin::of(&bytes)?;
    origin.provenance.licence = args.licence;
    if let Some(path) = &args.recipe {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        origin.provenance.recipe = Some(text);
    }
    if !args.data.is_empty() {
        origin.provenance.data =
            args.data.iter().map(|path| DataFile::of(path)).collect::<Result<_, _>>()?;
    }
    let positions = origin.positions(&args.data)?;
    let text = write(&source, origin.provenance, positions, &args.output)
        .with_context(|| args.checkpoint.display().to_string())?;
    println!("{text}");
    Ok(())
}

/// Exports a checkpoint of a run that has just ended; the lines to print.
pub fn checkpoint(
    path: &Path,
    net: &Path,
    licence: Option<String>,
    scales: Scales,
    positions: impl Iterator<Item = Position>,
) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut source = export::import(&bytes, &Hints::default())?;
    source.scales = scales;
    let provenance = Provenance { licence, ..Origin::of(&bytes)?.provenance };
    write(&source, provenance, positions.take(MEASURED), net)
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
    fn of(bytes: &[u8]) -> Result<Self> {
        let facts = Weights::from_bytes(bytes).map(|packed| packed.facts).unwrap_or_default();
        let recipe = Recipe::read(&facts)?;
        let state = Checkpoint::state(&facts).unwrap_or_default();
        let data = recipe.iter().flat_map(|recipe| &recipe.data).map(|file| DataFile {
            file: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        });
        let provenance = Provenance {
            licence: None,
            recipe: recipe.as_ref().map(|recipe| recipe.config.to_toml()),
            data: data.collect(),
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
    let Source { weights, architecture, scales, kind, .. } = source;
    let mut exported: Exported =
        export::export(weights, architecture, *scales, provenance, positions)?;
    let [floats, net, manifest] = exported.write(path, weights)?;
    let found = &exported.manifest;
    let mut lines = vec![
        format!("{architecture} from a {kind}, {scales}"),
        format!("accumulators {} of i16", found.proof.intermediate),
        format!("output sum   {} of i32", found.proof.output),
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
