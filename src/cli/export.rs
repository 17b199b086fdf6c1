//! `nnuance export`: floats to a net that engines load, or to source code.

mod scales;
mod snippet;
mod terms;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::out;
use super::shape::Shape;
use super::terminal::Terminal;
use crate::config::Config;
use crate::digits::grouped;
use crate::draw::board::whole;
use crate::export::snippet::Language;
use crate::export::tables::{Order, Style, Width};
use crate::export::{self, Bound, LEAST_GAMES, LEAST_POSITIONS, Limits, PieceValues};
use crate::input;
use crate::inspect::ROLES;
use crate::model::{Compute, Device, Level, Precision};
use crate::output::Output;
use crate::run::export::{Basis, Origin, Written, read, refuse_overwriting, write};
use crate::run::folder::BEST;
use crate::run::path::{in_folder, must_be_there, terms_to_export};
use crate::scales::Scales;

/// Quantise a checkpoint, prove that it cannot overflow, and write net, floats and manifest
///
/// Reads the trainer's own checkpoints (safetensors), bullet's weights.bin and raw.bin, and
/// quantised nets. What a file does not say about itself comes from the options. Handcrafted
/// terms, from a run or a JSON file, become source code with rounded integers: the ending of the
/// output names the language, .h or .rs; .json is there too.
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
    /// Write a net's inference code instead, one file with its own test: rust, or c, a header that
    /// C++ takes, too
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
    if terms_to_export(&args.checkpoint) {
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
    let Scales { qa, qb, scale, head_format } = source.scales;
    source.scales = Scales {
        qa: given.qa.unwrap_or(qa),
        qb: given.qb.unwrap_or(qb),
        scale: given.scale.unwrap_or(scale),
        head_format: given.head_format.unwrap_or(head_format),
    };
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
    let terminal = Terminal::default();
    let samples = origin.samples(&args.data, &terminal)?;
    let mut lines = Vec::new();
    if let Some(bound) = args.best_scales {
        let usual = Limits::default();
        let most_qa = args.most_qa.unwrap_or(usual.most_qa);
        let limits = Limits { bound, most_qa, head_format: source.scales.head_format, ..usual };
        lines.push(scales::choose(&mut source, limits, &samples)?);
    }
    let mut matched = None;
    if let Some(old) = &args.match_scale {
        let (to, text) = scales::matched(&mut source, old, &samples, &flex(), &terminal)?;
        matched = Some(to);
        lines.push(text);
    }
    let mut margins = None;
    if let Some(old) = &args.margins {
        let (against, text) = scales::margins(&source, old, &samples, &flex(), &terminal)?;
        margins = Some(against);
        lines.push(text);
    }
    lines.extend(origin.other_rounding(source.scales));
    let measured = Basis { samples: &samples, on: origin.on(&args.data), matched, margins };
    let written =
        write(&source, origin.provenance, measured, &output).with_context(|| name.to_string())?;
    lines.extend(self::lines(&written));
    out::line(lines.join("\n"))
}

/// Floats of other evaluations are computed on the CPU.
fn flex() -> (Device, Compute) {
    let compute = Compute::Fused { level: Level::detect(), precision: Precision::F32 };
    (Device::flex(), compute)
}

/// Endings of code, which a net does not become without `--snippet`.
const CODE: [(&str, &str); 5] =
    [("rs", "rust"), ("c", "c"), ("h", "c"), ("cpp", "c"), ("hpp", "c")];

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

/// What is said of a net that was written.
pub fn lines(written: &Written) -> Vec<String> {
    let Written { exported, kind, paths: [floats, net, manifest], measured } = written;
    let found = &exported.manifest;
    let mut lines = vec![
        format!("{} from a {kind}, {}", exported.architecture, found.scales),
        format!("no overflow: {}", found.proof),
    ];
    lines.extend(found.proof.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(found.provenance.base.as_ref().map(|base| {
        format!(
            "added to {}: an engine's score is the sum of both, in centipawns; the manifest has \
             {}",
            base.name,
            base.below.noun()
        )
    }));
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
        None if !measured => {}
        None => lines.push(format!(
            "no scale is fitted to results: that takes {LEAST_POSITIONS} positions of \
             {LEAST_GAMES} games whose results the net predicts"
        )),
    }
    lines.extend(found.piece_values.as_ref().map(pieces));
    lines.push(format!("floats   {}", floats.display()));
    lines.push(format!("manifest {}", manifest.display()));
    let (bytes, sha256) = (found.bytes, &found.sha256);
    lines.push(format!("net      {}, {bytes} bytes, sha256 {sha256}", net.display()));
    lines
}

fn pieces(values: &PieceValues) -> String {
    let PieceValues { pawn, knight, bishop, rook, queen, positions, on } = values;
    let worths = ROLES.iter().zip([pawn, knight, bishop, rook, queen]);
    let worths = worths.filter_map(|(role, value)| Some(format!("{role} {}", whole((*value)?))));
    let worths: Vec<String> = worths.collect();
    let place = match positions {
        1 => format!("in {on}"),
        positions => format!("on average over {} positions", grouped(*positions)),
    };
    format!(
        "the pieces are worth, in its own centipawns: {} (taken off one at a time, {place})",
        worths.join(", ")
    )
}
