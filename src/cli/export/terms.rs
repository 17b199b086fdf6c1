//! Handcrafted terms as files for engines.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::cli::evaluator::{FileKind, kind_of};
use crate::cli::folder::{BEST, TERMS};
use crate::cli::out;
use crate::cli::recipe::{self, Recipe};
use crate::export::tables::heat::Picture;
use crate::export::tables::heat_svg::svg;
use crate::export::tables::source::{Order, Style, Tapering, Tuned};
use crate::export::tables::{c, cpp, rust};
use crate::hce::{HceWeights, Moved};
use crate::input;
use crate::output;

pub fn order(text: &str) -> Result<Order, String> {
    match text {
        "a8-first" => Ok(Order::A8First),
        "a1-first" => Ok(Order::A1First),
        _ => Err("there are a8-first and a1-first".into()),
    }
}

/// Whether a file, or the best weights of a run folder, are handcrafted terms.
pub fn are_at(path: &Path) -> bool {
    if path.is_dir() {
        // A run that has not ended has a best checkpoint, and no tables yet.
        return path.join(TERMS).exists() || are_at(&path.join(BEST));
    }
    let Ok(bytes) = input::read(path, input::WEIGHTS) else { return false };
    match kind_of(&bytes) {
        FileKind::Json => path.extension().is_some_and(|extension| extension == "json"),
        FileKind::Weights => recipe::open(path).is_ok_and(|(_, recipe)| !recipe.config.is_net()),
        FileKind::Other => false,
    }
}

/// Writes the terms as the ending of the output says.
///
/// With `centre` the means of tables go into material first.
pub fn export(
    path: &Path,
    output: &Path,
    style: Style,
    centre: bool,
    overwrite: bool,
) -> Result<()> {
    let from = if path.is_dir() { path.join(BEST) } else { path.to_path_buf() };
    ensure!(
        !output::same(&from, output),
        "the export would overwrite {}, which it is made from",
        from.display()
    );
    out::refuse_existing(&[output], overwrite)?;
    out::sweep(output);
    let (mut weights, units) = read(path).with_context(|| path.display().to_string())?;
    let mut moved = None;
    if centre {
        let centred = weights.centred().with_context(|| {
            format!(
                "{}: --centre knows the squares of the built-in terms alone, not those of another \
                 engine",
                path.display()
            )
        })?;
        (weights, moved) = (centred.0, Some(centred.1));
    }
    let source = weights.source.clone().unwrap_or_else(|| path.display().to_string());
    let (list, values) = weights.used();
    let tuned = Tuned {
        list: &list,
        weights: &values,
        tempo: weights.tempo,
        scale: weights.scale,
        source: &source,
        tapering: match weights.is_ours() {
            true => Tapering::Ours { scale_factor: weights.scale_factor },
            false => Tapering::Engine(units),
        },
    };
    let text = match output.extension().and_then(|extension| extension.to_str()) {
        Some("h") => c::source(&tuned, style)?,
        Some("hpp" | "hh" | "hxx") => cpp::source(&tuned, style)?,
        Some("rs") => rust::source(&tuned, style)?,
        Some("json") => weights.clone().rounded(2).to_json(),
        Some("svg") => {
            let picture = Picture { list: &list, weights: &values, seen: None };
            svg(&picture, "Handcrafted terms", weights.scale)?
        }
        _ => bail!(
            "the ending of {} names no language for handcrafted terms; there are .h (C), .hpp \
             (C++), .rs (Rust), .json and .svg",
            output.display()
        ),
    };
    output::write(output, text.as_bytes())?;
    if let Some(moved) = moved {
        let moved = moved.iter().map(|Moved { role, centipawns: [mg, eg] }| {
            format!("{} {mg:+}/{eg:+}", format!("{role:?}").to_lowercase())
        });
        eprintln!(
            "the mean of each table, over the squares where the piece can stand, went into \
             material (mg/eg cp): {}",
            moved.collect::<Vec<_>>().join(", ")
        );
    }
    out::line(output.display())
}

/// The weights, and an engine's phase and scale factor where its list is there.
fn read(path: &Path) -> Result<(HceWeights, Option<[f64; 2]>)> {
    let best = path.join(BEST);
    let path = if path.is_dir() { &best } else { path };
    let bytes = input::read(path, input::WEIGHTS)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if let FileKind::Json = kind_of(&bytes) {
        let text = std::str::from_utf8(&bytes).context("not UTF-8 text")?;
        return Ok((HceWeights::from_json(text)?, None));
    }
    let (checkpoint, recipe) = recipe::open(path)?;
    let terms = recipe.terms()?.context("these weights belong to a net")?;
    let mut weights = terms.trained(&checkpoint.weights, recipe.config.scale())?;
    let Recipe { data, .. } = &recipe;
    let files: Vec<String> = data.iter().map(|file| file.path.display().to_string()).collect();
    weights.source = Some(format!("trained by nnuance on {}", files.join(", ")));
    Ok((weights, terms.own.map(|own| [own.phase, own.scale])))
}
