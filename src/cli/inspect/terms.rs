//! Handcrafted terms looked into: what their tuning did.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};

use super::{Args, positions};
use crate::cli::eval::{are_terms, in_folder};
use crate::cli::folder::{BEST, JUDGEMENT, TERMS};
use crate::cli::out;
use crate::cli::recipe;
use crate::cli::train::judge::Judgement;
use crate::hce::{HceFileError, HceWeights, Tally};
use crate::input;
use crate::report::before_after::TermResult;
use crate::report::sanity::{Counted, Sanity};

/// Whether a path is that of handcrafted terms: a file of them, or the folder of their run.
pub fn are_at(path: &Path) -> bool {
    are_terms(&if path.is_dir() { path.join(BEST) } else { path.to_path_buf() })
}

/// Says what a run made of its terms, or what a file of terms is worth in the positions of
/// `--data`.
pub fn show(args: &Args) -> Result<()> {
    let name = args.net.display();
    if args.output.is_some() {
        bail!("{name} has handcrafted terms; `nnuance export {name} -o terms.svg` draws them");
    }
    let kept = args.net.join(JUDGEMENT);
    let judgement = match (args.data.is_empty(), kept.exists()) {
        (true, true) => {
            let text = input::text(&kept, input::TEXT)
                .with_context(|| format!("cannot read {}", kept.display()))?;
            serde_json::from_str(&text).with_context(|| kept.display().to_string())?
        }
        (true, false) if !args.net.is_dir() => bail!(
            "{name} tells the weights alone; name files of positions with --data, to see what \
             pieces are worth where they stand"
        ),
        _ => Judgement { terms: Some(measured(args)?), ..Judgement::default() },
    };
    if args.json {
        return out::line(serde_json::to_string_pretty(&judgement)?);
    }
    let mut text = judgement.terms.map_or(String::new(), |terms| terms.text());
    if let Some(overfitting) = judgement.overfitting {
        text.push('\n');
        crate::report::wrap(&overfitting.text(), &mut text);
    }
    out::line(text.trim_end())
}

/// The terms against their start values, in these positions.
fn measured(args: &Args) -> Result<Sanity> {
    let weights = weights(&args.net)?;
    let best = args.net.join(BEST);
    let recipe = match best.exists() {
        true => Some(recipe::open(&best)?.1),
        false => None,
    };
    let mut samples = positions(&args.data, recipe.as_ref(), &args.net)?;
    samples.truncate(args.positions as usize);
    let tally = Tally::of(&samples);
    let terms = weights.list.terms.iter().zip(&weights.values);
    let results: Vec<TermResult> = terms
        .map(|(term, value)| TermResult {
            name: term.name.clone(),
            kind: term.kind,
            count: None,
            start: term.start,
            tuned: *value,
            error: None,
            held: None,
        })
        .collect();
    let counted: Vec<Counted> = results
        .iter()
        .zip(&tally.times)
        .map(|(result, times)| Counted { result, times: *times as f64 })
        .collect();
    Ok(Sanity::of(&counted, tally.phase(), None))
}

/// The handcrafted weights of a JSON file or a run.
pub fn weights(path: &Path) -> Result<HceWeights> {
    let path = in_folder(path, TERMS)?;
    let name = path.display();
    let bytes =
        input::read(&path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.trim_start().starts_with('{'));
    let text = text.with_context(|| {
        format!("{name} is no JSON of handcrafted weights; name {TERMS} of a run of such terms")
    })?;
    HceWeights::from_json(&text).map_err(|error| match error {
        HceFileError::Own => anyhow!(
            "{name} has the weights of an engine's own terms, which only the engine can count; \
             name weights of the built-in terms with --hce"
        ),
        error => Error::from(error).context(name.to_string()),
    })
}
