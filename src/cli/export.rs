//! `nnuance export`: floats to a net that engines load, or to source code.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::options::DataFiles;
use super::out;
use super::terminal::Terminal;
use crate::digits::{count_noun, group_digits};
use crate::export::snippet::{Language, has_code, write_snippet};
use crate::export::tables::{Tapering, TunedTerms, write_source};
use crate::export::{
    self, ImportedWeights, LEAST_GAMES, LEAST_POSITIONS, largest_scales, with_kings, write_raw_bin,
};
use crate::input;
use crate::model::{Compute, Device, Precision, SimdLevel};
use crate::output::{self, Output};
use crate::progress::Progress as _;
use crate::report::{MatchedScale, TextTable};
use crate::run::Host;
use crate::run::export::{
    ExportOptions, Origin, WrittenNet, match_to, permute_neurons, read_source, require_distinct,
    write_export,
};
use crate::run::folder::{BEST, NET};
use crate::run::path::{FileKind, holds_terms, in_folder, kind_of, weights_file};
use crate::run::terms::read_weights;
use crate::sample::Position;
use crate::scales::{HeadFormat, Scales};

/// Quantise a net, prove that it cannot overflow, write its files
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance export runs/quickstart-net -o nets/mine.bin --licence CC0-1.0
  nnuance export runs/quickstart-net -o nets/mine.bin --match-scale nets/old.bin
  nnuance export nets/mine.bin --snippet rust -o src/nnue.rs
  nnuance export runs/hce-pst -o terms.h")]
#[command(after_help = "\
Beside NAME.bin come its manifest NAME.json and its floats NAME.safetensors.
weights.bin and raw.bin of bullet can be exported, too; NAME.toml describes what
a file does not say.")]
pub struct Args {
    /// Checkpoint, quantised net, handcrafted weights (JSON), or run folder
    checkpoint: PathBuf,
    /// File to write: NAME.bin for a net, NAME.nnue in the form of Stockfish's; .h, .rs or .json for terms; code with --snippet
    #[arg(short, long = "out", value_name = "FILE", required_unless_present = "snippet")]
    output: Option<PathBuf>,
    /// Write inference code of a net with its own test: rust, or c for C and C++
    #[arg(long, value_name = "LANGUAGE", value_parser = parse_language)]
    #[arg(conflicts_with_all = ["match_scale", "largest_scales", "licence"])]
    #[arg(conflicts_with_all = ["qa", "qb", "scale", "head", "head_shift"])]
    snippet: Option<Language>,
    /// Set SCALE so that centipawns mean what they mean in this evaluation
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "OLD", conflicts_with = "scale")]
    match_scale: Option<String>,
    /// Use the largest safe QA and QB, up to --qa (255) and --qb (4096)
    #[arg(help_heading = "Integers")]
    #[arg(long)]
    largest_scales: bool,
    /// Factor of accumulator weights [default: the checkpoint's or 255]
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "INTEGER")]
    qa: Option<i32>,
    /// Factor of the weights after the accumulators [default: the checkpoint's or 64]
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "INTEGER")]
    qb: Option<i32>,
    /// Centipawns of one unit of the output [default: the checkpoint's or 400]
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "INTEGER")]
    scale: Option<i32>,
    /// First layer after the accumulators of deep nets: float, or int8 [default: the checkpoint's
    /// or float]
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "FORMAT", value_parser = parse_head)]
    head: Option<HeadFormat>,
    /// Bits by which the inputs of an int8 head are shifted to the right [default: the checkpoint's,
    /// or as few as leave 127]
    #[arg(help_heading = "Integers")]
    #[arg(long, value_name = "BITS")]
    head_shift: Option<u32>,
    /// Put neurons that are active together side by side, so that engines can skip more blocks of
    /// four zeros in the first layer
    #[arg(help_heading = "Order of numbers")]
    #[arg(long, conflicts_with = "snippet")]
    permute: bool,
    /// Put both kings on one plane, 704 rows a king bucket for 768, as Stockfish, Viridithas and
    /// Stormphrax store them
    #[arg(help_heading = "Order of numbers")]
    #[arg(long, conflicts_with = "snippet")]
    merge_kings: bool,
    /// Write the floats alone as bullet's raw.bin: 32 bits each, in the order of its layers
    #[arg(help_heading = "Order of numbers")]
    #[arg(long, conflicts_with_all = ["snippet", "match_scale", "largest_scales", "licence", "json"])]
    #[arg(conflicts_with_all = ["qa", "qb", "scale", "head", "head_shift", "force"])]
    raw: bool,
    /// Export a net that does not know what the pieces are worth
    #[arg(long)]
    force: bool,
    /// Licence of the net, for the manifest
    #[arg(long, value_name = "NAME", value_parser = parse_licence)]
    licence: Option<String>,
    /// Replace existing files
    #[arg(long)]
    overwrite: bool,
    /// Print the manifest of a net, JSON, instead of a table
    #[arg(long, conflicts_with = "snippet")]
    json: bool,
    #[command(flatten)]
    data: DataFiles,
}

fn parse_language(name: &str) -> Result<Language, String> {
    match name {
        "rust" => Ok(Language::Rust),
        "c" => Ok(Language::C),
        _ => Err("expected one of rust, c".to_string()),
    }
}

fn parse_head(name: &str) -> Result<HeadFormat, String> {
    HeadFormat::named(name).ok_or_else(|| "expected one of float, int8".to_string())
}

fn parse_licence(name: &str) -> Result<String, String> {
    match name.trim() {
        "" => Err("expected a name, such as CC0-1.0".to_string()),
        name => Ok(name.to_string()),
    }
}

pub fn run_command(args: Args) -> Result<()> {
    if let Some(language) = args.snippet {
        return write_code(&args, language);
    }
    let output = args.output.clone().context("name the net to write with --out")?;
    if holds_terms(&args.checkpoint) {
        return write_terms(&args, &output);
    }
    ensure!(
        !output.extension().is_some_and(|ending| ending == "h" || ending == "rs"),
        "{} has the ending of code; add --snippet, or name the net NAME.bin",
        output.display()
    );
    let path = in_folder(&args.checkpoint, BEST)?;
    let name = path.display();
    if args.raw {
        return write_raw(&args, &path, &output);
    }
    require_distinct(&path, &output)?;
    out::require_new(&export::output_paths(&output)?, args.overwrite)?;
    // Opened and dropped, so that an unwritable net fails before the long work.
    Output::create_file(&output)?;
    let (mut source, mut origin) = open_weights(&args, &path)?;
    let scales = &mut source.scales;
    scales.qa = args.qa.unwrap_or(scales.qa);
    scales.qb = args.qb.unwrap_or(scales.qb);
    scales.scale = args.scale.unwrap_or(scales.scale);
    scales.head_format = args.head.unwrap_or(scales.head_format);
    if args.head == Some(HeadFormat::Float) {
        (scales.head_shift, scales.head_round) = (None, false);
    }
    scales.head_shift = args.head_shift.or(scales.head_shift);
    if export::is_stockfish(&output) {
        if let Some(base) = &origin.provenance.base {
            bail!(
                "{name} is added to {}, which a file of Stockfish cannot hold; use .bin",
                base.name
            );
        }
        export::fit_stockfish(&mut source).with_context(|| name.to_string())?;
    }
    origin.provenance.licence = args.licence.clone().or(origin.provenance.licence);
    let terminal = Terminal::default();
    let basis = origin.load_positions(args.data.read_plan(), &path, &terminal)?;
    let mut table = TextTable::of_facts();
    if args.largest_scales {
        let Scales { qb, head_format, .. } = source.scales;
        // A head of floats does not depend on QB.
        let has_float_head = source.architecture.is_deep() && head_format == HeadFormat::Float;
        let (qa, qb) =
            (args.qa.unwrap_or(255), args.qb.unwrap_or(if has_float_head { qb } else { 4096 }));
        let limit = Scales { qa, qb, ..source.scales };
        let scales = largest_scales(&source.weights, &source.architecture, limit);
        source.scales =
            scales.context("no QA and QB are safe: train again with weights clipped")?;
    }
    let mut matched = None;
    if let Some(old) = &args.match_scale {
        // Floats of other evaluations are computed on the CPU.
        let compute =
            Compute::Fused { level: SimdLevel::detect_fastest(), precision: Precision::F32 };
        let host = Host { device: Device::flex(), compute, listener: &terminal };
        let (reference, name, scale) = match_to(&mut source, old, &basis.samples, &host)?;
        add_matched(&mut table, &name, &scale);
        matched = Some(reference);
    }
    let options = ExportOptions { permutes: args.permute, force: args.force };
    let written = write_export(&source, origin.provenance, &basis, matched, options, &output)
        .with_context(|| name.to_string())?;
    add_written(&mut table, &written);
    if export::is_stockfish(&output) {
        let name = export::official_name(&written.exported.manifest.sha256);
        terminal.report_remark(&format!("where a file is named by its hash, this one is {name}"));
    }
    for caution in &written.cautions {
        terminal.report_remark(&format!("caution: {caution}"));
    }
    let net = output.display().to_string();
    let next =
        [vec!["verify", &net], vec!["match", &net, "material"], for_an_engine(&net, &written)];
    let text = format!("{table}\n{}", out::list_next_steps(None, &next));
    out::print_result(args.json, &written.exported.manifest, text)
}

/// Reads the weights, with the kings on one plane if requested.
fn open_weights(args: &Args, path: &Path) -> Result<(ImportedWeights, Origin)> {
    let (mut source, origin) = read_source(path)?;
    if args.merge_kings {
        (source.weights, source.architecture) =
            with_kings(&source.weights, &source.architecture, true)
                .with_context(|| format!("--merge-kings: {}", path.display()))?;
    }
    Ok((source, origin))
}

/// Returns the command that brings a net, in a file or a run, to an engine: its code, if any.
pub fn for_an_engine<'a>(name: &'a str, written: &WrittenNet) -> Vec<&'a str> {
    let has_code = has_code(Language::C, &written.exported.manifest.architecture);
    match has_code && !name.ends_with(".nnue") {
        true => vec!["export", name, "--snippet", "c", "-o", "nnue.h"],
        false => vec!["uci", name],
    }
}

fn add_matched(table: &mut TextTable, name: &str, matched: &MatchedScale) {
    let MatchedScale { factor, scale_before, scale_after, fitted: [old, new] } = matched;
    let half = factor.half_width().map_or(String::new(), |half| format!(" ± {half:.3}"));
    let scale = format!("{scale_before} times {:.3}{half} = {scale_after}, as {name}", factor.mean);
    table.add_row(["SCALE", &scale]);
    table.add_row(["fitted scales", &format!("{old:.0} of the old, {new:.0} of the new")]);
}

fn add_written(table: &mut TextTable, written: &WrittenNet) {
    let WrittenNet { exported, kind, paths: [floats, net, manifest_path], .. } = written;
    let manifest = &exported.manifest;
    let size = exported.net.to_bytes().len() as u64;
    let mut row = |name: &str, value: String| table.add_row([name.to_string(), value]);
    row("net", format!("{} from a {kind}", exported.architecture));
    row("scales", manifest.scales.to_string());
    if let Some(base) = &manifest.provenance.base {
        row("added to", format!("{}; an engine's score is the sum of both", base.name));
    }
    row("file", format!("{}, {} bytes", net.display(), group_digits(size)));
    row("beside it", format!("{}, {}", manifest_path.display(), floats.display()));
    row("sha256", manifest.sha256.clone());
    row("no overflow", manifest.proof.to_string());
    if let Some(zero_blocks) = manifest.zero_blocks {
        row("zero blocks", zero_blocks.to_string());
    }
    if let Some(error) = &manifest.float_error {
        let (mean, max, positions) = (error.mean_cp, error.max_cp, group_digits(error.positions));
        row(
            "quantising",
            format!("{mean:.2} cp on average, {max:.2} at most, {positions} positions"),
        );
    }
    match &manifest.fitted_scale {
        Some(fitted) => {
            let (scale, positions) = (fitted.centipawns, group_digits(fitted.positions));
            row("fitted scale", format!("sigmoid(cp / {scale:.0}), {positions} positions"));
        }
        None if manifest.float_error.is_none() => {}
        None => row(
            "fitted scale",
            format!(
                "unknown: too few positions or games ({LEAST_POSITIONS}, {LEAST_GAMES}), or no fit"
            ),
        ),
    }
}

/// Fails if the output is the source, or exists and is not to be replaced.
fn require_free(args: &Args, source: &Path, output: &Path) -> Result<()> {
    ensure!(
        !output::is_same(source, output),
        "the export would overwrite {}, which it is made from",
        source.display()
    );
    out::require_new(&[output], args.overwrite)
}

/// Writes the merged floats of a net, array after array in the order of bullet's layers.
fn write_raw(args: &Args, path: &Path, output: &Path) -> Result<()> {
    require_free(args, path, output)?;
    let (mut source, origin) = open_weights(args, path)?;
    let mut table = TextTable::of_facts();
    if args.permute {
        let terminal = Terminal::default();
        let samples = origin.load_positions(args.data.read_plan(), path, &terminal)?.samples;
        let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
        let (weights, zero_blocks) = permute_neurons(&source, &positions)?;
        source.weights = weights;
        table.add_row(["zero blocks", &zero_blocks.to_string()]);
    }
    let bytes = write_raw_bin(&source.weights, &source.architecture)?;
    output::write_file(output, &bytes)?;
    let size = format!("{}, {} bytes", output.display(), group_digits(bytes.len() as u64));
    table.add_row(["net", &source.architecture.without_factoriser().to_string()]);
    table.add_row(["file", &size]);
    out::print_line(table.to_string().trim_end())
}

/// Writes handcrafted terms in the language of the output's ending.
fn write_terms(args: &Args, output: &Path) -> Result<()> {
    let path = &args.checkpoint;
    ensure!(!args.json, "{} holds terms, which have no manifest; leave out --json", path.display());
    require_free(args, &weights_file(path), output)?;
    let (weights, units) = read_weights(path).with_context(|| path.display().to_string())?;
    let origin = weights.source.clone().unwrap_or_else(|| path.display().to_string());
    let (list, values) = weights.used_terms();
    let tuned = TunedTerms {
        list: &list,
        weights: &values,
        tempo: weights.tempo,
        scale: weights.scale,
        source: &origin,
        tapering: match weights.is_ours() {
            true => Tapering::Ours { scale_factor: weights.scale_factor },
            false => Tapering::Engine(units),
        },
    };
    let text = match output.extension().and_then(|extension| extension.to_str()) {
        Some("h") => write_source(&tuned, Language::C)?,
        Some("rs") => write_source(&tuned, Language::Rust)?,
        Some("json") => weights.clone().round_values(2).to_json(),
        _ => bail!(
            "{} has no ending of handcrafted terms: .h (C), .rs (Rust) or .json",
            output.display()
        ),
    };
    output::write_file(output, text.as_bytes())?;
    let terms = count_noun(list.terms.len() as u64, "term");
    out::print_line(format!("file  {}, {terms}", output.display()))
}

/// Writes the code of a quantised net or a run's net to `output`, or the language's usual file.
fn write_code(args: &Args, language: Language) -> Result<()> {
    let Args { checkpoint, output, overwrite, .. } = args;
    ensure!(
        !holds_terms(checkpoint),
        "{} holds terms, whose code needs no --snippet; export them with -o terms.h",
        checkpoint.display()
    );
    let path = in_folder(checkpoint, NET)?;
    let name = path.display();
    let bytes =
        input::read_bytes(&path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    ensure!(
        matches!(kind_of(&bytes), FileKind::Other),
        "{name} is no quantised net; `nnuance export {name} -o NET` makes one of a checkpoint"
    );
    let output = output.clone().unwrap_or_else(|| PathBuf::from(language.file_name()));
    for file in [path.clone(), export::manifest_path(&path), export::floats_path(&path)] {
        ensure!(
            !output::is_same(&file, &output),
            "the code would overwrite {}; choose another name with -o",
            file.display()
        );
    }
    out::require_new(&[&output], *overwrite)?;
    // Opened and dropped, so that an unwritable file fails before the long proof.
    Output::create_file(&output)?;
    let loaded = export::load_net(&path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let base = loaded.manifest.as_ref().and_then(|manifest| manifest.provenance.base.as_ref());
    let base = base.map(|base| base.name.clone());
    let golden = export::golden_evaluations(&loaded.net);
    let code_file = output.file_name().unwrap_or_default().to_string_lossy();
    let code = write_snippet(language, &loaded.net, [&file, &code_file], &golden)?;
    output::write_file(&output, code.as_bytes())?;
    let mut table = TextTable::of_facts();
    let mut row = |name: &str, value: String| table.add_row([name.to_string(), value]);
    row("file", format!("{}, {}", output.display(), language.name()));
    row("net", format!("{file}, {}", loaded.net.architecture()));
    if let Some(base) = base {
        row("base", format!("{base}: not in this code, its centipawns are added to the net's"));
    }
    let copy = match path.parent() == output.parent() {
        true => String::new(),
        false => format!("copy {name} beside it; "),
    };
    row("next", format!("{copy}its first lines compile and test it"));
    out::print_line(table.to_string().trim_end())
}
