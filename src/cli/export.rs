//! `nnuance export`: floats to a net that engines load, or to source code.

mod pieces;
mod scales;
mod snippet;
mod terms;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::eval::{Shape, in_folder};
use super::folder::{BEST, LAST, must_be_there};
use super::out;
use super::recipe::{self, Recipe};
use crate::architecture::Views;
use crate::config::Config;
use crate::export::snippet::Language;
use crate::export::tables::source::{Order, Style, Width};
use crate::export::{
    self, Beside, Bound, DataFile, Exported, Given, LEAST_GAMES, LEAST_POSITIONS, Limits, Losses,
    Margins, MatchedTo, Provenance, Source, fitted_scale,
};
use crate::input;
use crate::loader::{self, Part, Plan};
use crate::model::{Compute, Device, Level, Precision};
use crate::net::Hints;
use crate::output::{self, Output};
use crate::sample::Sample;
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
  nnuance export runs/quickstart-net -o nets/mine.bin --match-scale nets/old.bin
  nnuance export nets/mine.bin --snippet rust -o src/nnue.rs
  nnuance export runs/hce-pst -o terms.h --squares a1-first")]
pub struct Args {
    /// The checkpoint, or a run folder for its best.safetensors; with --snippet the net, or a run
    /// folder for its net.bin
    checkpoint: PathBuf,
    /// The net to write, NAME.bin; beside it come its manifest, NAME.json, and its floats,
    /// NAME.safetensors. With --snippet the file of code
    #[arg(
        short,
        long = "out",
        alias = "output",
        value_name = "FILE",
        required_unless_present = "snippet"
    )]
    output: Option<PathBuf>,
    /// Write a net's inference code instead, one file with its own test: rust, c, cpp, csharp,
    /// java or go
    #[arg(long, value_name = "LANGUAGE", value_parser = snippet::language)]
    #[arg(conflicts_with_all = ["match_scale", "margins", "best_scales", "licence", "recipe"])]
    snippet: Option<Language>,
    /// Set SCALE so that centipawns mean what they mean in this older evaluation, and the margins
    /// of a search stay right; measured on --data, or on the run's validation
    /// games
    #[arg(long, value_name = "OLD", conflicts_with = "scale")]
    match_scale: Option<String>,
    /// Say by what factor a search's margins would have to change that were tuned for this other
    /// evaluation: a net, a checkpoint, handcrafted weights, material; SCALE stays
    #[arg(long, value_name = "OLD", conflicts_with = "match_scale")]
    margins: Option<String>,
    /// Set QA and QB to those with the smallest measured error: `sums` keeps accumulators in i16
    /// and the output in i32, `products` keeps also accumulator x output weight in i16
    #[arg(long, value_name = "BOUND", value_parser = scales::bound)]
    #[arg(conflicts_with_all = ["qa", "qb"])]
    best_scales: Option<Bound>,
    /// With --best-scales, the largest QA that the engine bears [default: 255, which a square in
    /// 16 bits bears]
    #[arg(long, value_name = "INTEGER", requires = "best_scales")]
    #[arg(value_parser = clap::value_parser!(i32).range(1..=32_767))]
    most_qa: Option<i32>,
    /// Licence of the net, for the manifest
    #[arg(long, value_name = "NAME", value_parser = licence)]
    licence: Option<String>,
    /// Config that trained it, for the manifest [default: the checkpoint's]
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Data to choose scales on, and to measure integers against floats [default: the run's
    /// validation games]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Order of tables in source code: a8-first, as a diagram shows the board, or a1-first
    #[arg(long, value_name = "ORDER", default_value = "a8-first", value_parser = terms::order)]
    squares: Order,
    /// 32-bit integers in source code instead of 16-bit ones
    #[arg(long)]
    wide: bool,
    /// Move the mean of each table of squares into the material of its piece; the evaluation stays
    /// the same. For handcrafted terms
    #[arg(long)]
    centre: bool,
    /// Replace what is there by the names of the output, the manifest's and the floats' too
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    shape: Shape,
}

fn licence(name: &str) -> Result<String, String> {
    match name.trim() {
        "" => Err("expected a name, such as CC0-1.0; leave the option out for none".to_string()),
        name => Ok(name.to_string()),
    }
}

pub fn run(args: Args) -> Result<()> {
    must_be_there(&args.checkpoint)?;
    if let Some(language) = args.snippet {
        return snippet::write(&args, language);
    }
    let output = args.output.clone().context("name the net to write with --out")?;
    if terms::are_at(&args.checkpoint) {
        let width = if args.wide { Width::Bits32 } else { Width::Bits16 };
        let style = Style { order: args.squares, width };
        let (centre, overwrite) = (args.centre, args.overwrite);
        return terms::export(&args.checkpoint, &output, style, centre, overwrite);
    }
    ensure!(!args.centre, "--centre is for handcrafted terms; a net has no tables of squares");
    let path = in_folder(&args.checkpoint, BEST)?;
    let name = path.display();
    refuse_code(&args.checkpoint, &output)?;
    refuse_overwriting(&path, &output)?;
    out::refuse_existing(
        &export::paths(&output)?.each_ref().map(PathBuf::as_path),
        args.overwrite,
    )?;
    out::sweep(&output);
    // Opened and dropped: a net that cannot be written is found before the long work.
    Output::create(&output)?;
    let given = args.shape.given();
    let mut source = read(&path, &given)?;
    source.scales.scale = given.scale.unwrap_or(source.scales.scale);
    source.scales.head_format = given.head_format.unwrap_or(source.scales.head_format);
    for warning in &source.warnings {
        eprintln!("{name}: {warning}");
    }
    let mut origin = Origin::of(&source).with_context(|| name.to_string())?;
    origin.provenance.licence = args.licence.clone();
    if let Some(path) = &args.recipe {
        let text = input::text(path, input::TEXT);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Config::parse(&text, &path.display().to_string(), &[])?;
        origin.provenance.recipe = Some(text);
    }
    let samples = origin.samples(&args.data)?;
    let mut lines = Vec::new();
    if let Some(bound) = args.best_scales {
        let usual = Limits::default();
        let most_qa = args.most_qa.unwrap_or(usual.most_qa);
        let limits = Limits { bound, most_qa, head_format: source.scales.head_format, ..usual };
        lines.push(scales::choose(&mut source, limits, &samples)?);
    }
    let mut matched = None;
    if let Some(old) = &args.match_scale {
        let (to, text) = scales::matched(&mut source, old, &samples, &flex())?;
        matched = Some(to);
        lines.push(text);
    }
    let mut margins = None;
    if let Some(old) = &args.margins {
        let (against, text) = scales::margins(&source, old, &samples, &flex())?;
        margins = Some(against);
        lines.push(text);
    }
    let measured = Measured { samples: &samples, on: origin.on(&args.data), matched, margins };
    let text =
        write(&source, origin.provenance, measured, &output).with_context(|| name.to_string())?;
    lines.push(text);
    out::line(lines.join("\n"))
}

/// Floats of other evaluations are computed on the CPU.
fn flex() -> (Device, Compute) {
    let compute = Compute::Fused { level: Level::detect(), precision: Precision::F32 };
    (Device::flex(), compute)
}

/// Exports a checkpoint of a run that has just ended; the lines to print.
pub fn checkpoint(
    path: &Path,
    net: &Path,
    licence: Option<String>,
    scales: Scales,
    validation: &[Sample],
) -> Result<String> {
    refuse_overwriting(path, net)?;
    let mut source = read(path, &Given::default())?;
    source.scales = scales;
    let origin = Origin::of(&source)?;
    let on = origin.on(&[]);
    let samples = &validation[..validation.len().min(MEASURED)];
    let provenance = Provenance { licence, ..origin.provenance };
    write(&source, provenance, Measured { samples, on, matched: None, margins: None }, net)
}

/// A file of weights, or a quantised net turned back into floats. What it is, the file, the
/// manifest or the description beside it says; what all leave open is what was given.
///
/// # Errors
/// Also if what was given contradicts the file or its manifest.
pub fn read(path: &Path, given: &Given) -> Result<Source> {
    let name = path.display();
    let bytes = input::read(path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let beside = export::beside_net(path, &bytes)?;
    let hints = match &beside {
        Beside::Manifest(manifest) => {
            let said = manifest.hints();
            // The format of the head is that of the file, whatever is asked for.
            let Scales { head_format, .. } = said.scales;
            Hints { scales: Scales { head_format, ..given.over(said.clone()).scales }, ..said }
        }
        Beside::Description(said) => given.over(said.clone()),
        Beside::Nothing => given.over(Hints::default()),
    };
    let source = export::import(&bytes, &hints).with_context(|| name.to_string())?;
    if let Beside::Description(said) = &beside {
        export::agrees(path, said, &source.architecture)?;
    }
    refuse_contradiction(given, &source).with_context(|| name.to_string())?;
    Ok(source)
}

/// Endings of code, which a net does not become without `--snippet`.
const CODE: [(&str, &str); 11] = [
    ("rs", "rust"),
    ("c", "c"),
    ("h", "cpp"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cxx", "cpp"),
    ("hpp", "cpp"),
    ("hh", "cpp"),
    ("cs", "csharp"),
    ("java", "java"),
    ("go", "go"),
];

fn refuse_code(given: &Path, net: &Path) -> Result<()> {
    let ending = net.extension().unwrap_or_default();
    if let Some((_, language)) = CODE.iter().find(|(code, _)| ending.eq_ignore_ascii_case(code)) {
        bail!(
            "{} is a name for code, and {} is a net, not handcrafted terms; its code is written \
             by `nnuance export NET --snippet {language}`, and the net itself with -o NAME.bin",
            net.display(),
            given.display()
        );
    }
    Ok(())
}

/// An export must not take the name of what it is made from, by whatever path or link.
fn refuse_overwriting(checkpoint: &Path, net: &Path) -> Result<()> {
    for path in export::paths(net)? {
        ensure!(
            !output::is_device(&path),
            "{} is no regular file, and a net is one of three files; name another",
            path.display()
        );
        ensure!(
            !output::same(checkpoint, &path),
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
    let features = (given.features.map(Views::name), found.inputs.views.name());
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

/// Positions that QA and QB are chosen on.
const SCALED_ON: usize = 20_000;

/// What an export is measured on.
struct Measured<'a> {
    samples: &'a [Sample],
    /// Where they come from, in words.
    on: String,
    matched: Option<MatchedTo>,
    margins: Option<Margins>,
}

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
        let file = |file: &loader::DataFile| DataFile {
            file: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
            games: file.games,
        };
        let chosen = recipe.as_ref().map(|recipe| &recipe.validation_sketch);
        let provenance = Provenance {
            licence: None,
            recipe: recipe.as_ref().map(|recipe| recipe.config.to_toml()),
            data: recipe.iter().flat_map(|recipe| &recipe.data).map(file).collect(),
            sketch: recipe.as_ref().map(|recipe| recipe.sketch.clone().into()),
            validation: recipe.iter().flat_map(|recipe| &recipe.validation).map(file).collect(),
            validation_sketch: chosen
                .filter(|sketch| !sketch.is_empty())
                .map(|sketch| sketch.clone().into()),
            start: recipe.as_ref().and_then(|recipe| recipe.start.clone()),
            positions: (state.positions > 0).then_some(state.positions),
            losses: Losses {
                train: state.train_loss,
                validation: state.best.map(|best| best.loss),
            },
        };
        Ok(Self { provenance, recipe })
    }

    /// Where [`Origin::samples`] come from, in words.
    fn on(&self, files: &[PathBuf]) -> String {
        let names = |files: &mut dyn Iterator<Item = &PathBuf>| {
            let names: Vec<String> = files.map(|file| file.display().to_string()).collect();
            names.join(", ")
        };
        match (files, &self.recipe) {
            ([], Some(recipe)) => {
                let files = names(&mut recipe.validating().iter().map(|file| &file.path));
                format!("validation games of {files}")
            }
            (files, _) => names(&mut files.iter()),
        }
    }

    /// Positions of the files, or else those that validated the run, if its data is still there:
    /// scales are chosen on them, and what is chosen must not be chosen on the test.
    fn samples(&self, files: &[PathBuf]) -> Result<Vec<Sample>> {
        let mut samples = match (files, &self.recipe) {
            ([], Some(recipe)) if recipe.config.validates() => {
                match recipe.unchanged_validation() {
                    Ok(_) => recipe::collect(&recipe.plan()?, Part::Validation)?,
                    Err(error) => {
                        eprintln!("integers are not measured against floats: {error:#}");
                        Vec::new()
                    }
                }
            }
            ([], _) => Vec::new(),
            (files, _) => recipe::collect(&Plan::reading(files.to_vec()), Part::All)?,
        };
        samples.truncate(MEASURED);
        Ok(samples)
    }
}

fn write(
    source: &Source,
    provenance: Provenance,
    measured: Measured,
    path: &Path,
) -> Result<String> {
    let Source { weights, architecture, scales, padding, facts, kind, .. } = source;
    let Measured { samples, on, matched, margins } = measured;
    let positions = samples.iter().map(|sample| sample.position);
    let quantised = export::quantise(weights, architecture, *scales)?.padded_with(*padding);
    let mut exported = Exported::of(quantised, weights, architecture, provenance, positions)?;
    exported.manifest.fitted_scale = fitted_scale(&exported.net, samples, &on);
    exported.manifest.matched = matched;
    exported.manifest.margins = margins;
    let values = pieces::values(&exported.net, samples, &on);
    exported.manifest.piece_values = Some(values.clone());
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
    match &found.fitted_scale {
        Some(fitted) => lines.push(format!(
            "results are predicted best by sigmoid(cp / {:.0}), over {} positions",
            fitted.centipawns, fitted.positions
        )),
        None if samples.is_empty() => {}
        None => lines.push(format!(
            "no scale is fitted to results: that takes {LEAST_POSITIONS} positions of \
             {LEAST_GAMES} games whose results the net predicts"
        )),
    }
    lines.push(pieces::sentence(&values));
    lines.push(format!("floats   {}", floats.display()));
    lines.push(format!("manifest {}", manifest.display()));
    let (bytes, sha256) = (found.bytes, &found.sha256);
    lines.push(format!("net      {}, {bytes} bytes, sha256 {sha256}", net.display()));
    Ok(lines.join("\n"))
}
