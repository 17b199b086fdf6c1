//! `nnuance export --snippet`: a net's inference code in the engine's language.

use std::path::PathBuf;

use anyhow::{Result, ensure};

use super::Args;
use crate::cli::out;
use crate::export::snippet::{Language, snippet};
use crate::export::{self, golden};
use crate::output::{self, Output};
use crate::run::path::net_at;

pub fn language(name: &str) -> Result<Language, String> {
    Language::named(name).ok_or_else(|| {
        let names: Vec<_> = Language::ALL.iter().map(|language| language.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Writes the code of a quantised net, or of a run's, to `output`, or to the file that the
/// language expects.
pub fn write(args: &Args, language: Language) -> Result<()> {
    let Args { checkpoint, output, overwrite, shape, .. } = args;
    let (path, given) = (net_at(checkpoint)?, shape.given());
    let name = path.display();
    let output = output.clone().unwrap_or_else(|| PathBuf::from(language.file_name()));
    for file in [path.clone(), export::manifest_path(&path), export::floats_path(&path)] {
        ensure!(
            !output::same(&file, &output),
            "the code would overwrite {}; choose another name with -o",
            file.display()
        );
    }
    out::refuse_existing(&[&output], *overwrite)?;
    out::sweep(&output);
    // Opened and dropped: code that cannot be written is found before the long proof.
    Output::create(&output)?;
    let loaded = export::load(&path, &given)?;
    loaded.warnings.iter().for_each(|warning| eprintln!("{name}: {warning}"));
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let base = loaded.manifest.as_ref().and_then(|manifest| manifest.provenance.base.as_ref());
    let base = base.map(|base| base.name.clone());
    let golden = match loaded.manifest {
        Some(manifest) if !given.is_any() => manifest.golden,
        _ => golden::evaluations(&loaded.net),
    };
    let code_file = output.file_name().unwrap_or_default().to_string_lossy();
    let code = snippet(language, &loaded.net, [&file, &code_file], &golden)?;
    output::write(&output, code.as_bytes())?;
    out::line(format!(
        "{}: {} for {}; put {file} beside it, the head of the file says how to compile and test it",
        output.display(),
        language.name(),
        loaded.net.architecture()
    ))?;
    // Results on stdout are of the net alone.
    if let Some(base) = base {
        eprintln!(
            "note: this is the code of the net alone, and the score is the sum of its centipawns and \
             those of what it is added to, {base}"
        );
    }
    Ok(())
}
