//! Handcrafted terms as files for engines.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::cli::out;
use crate::export::snippet::Language;
use crate::export::tables::{Order, Style, Tapering, Tuned, source};
use crate::hce::Moved;
use crate::output;
use crate::run::folder::BEST;
use crate::run::tuned::with_tapering;

pub fn order(text: &str) -> Result<Order, String> {
    match text {
        "a8-first" => Ok(Order::A8First),
        "a1-first" => Ok(Order::A1First),
        _ => Err("there are a8-first and a1-first".into()),
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
    let (mut weights, units) = with_tapering(path).with_context(|| path.display().to_string())?;
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
    let origin = weights.source.clone().unwrap_or_else(|| path.display().to_string());
    let (list, values) = weights.used();
    let tuned = Tuned {
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
        Some("h") => source(&tuned, Language::C, style)?,
        Some("rs") => source(&tuned, Language::Rust, style)?,
        Some("json") => weights.clone().rounded(2).to_json(),
        _ => bail!(
            "the ending of {} names no language for handcrafted terms; there are .h (C), .rs \
             (Rust) and .json",
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
