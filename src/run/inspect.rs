//! Inspection of a run's evaluation.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use super::base::read_base;
use super::data_plan::{collect_samples, read_plan, unchanged_files};
use super::evaluation_names::make_names_distinct;
use super::evaluator::{Evaluator, EvaluatorKind};
use super::honest::select_positions;
use super::measure::{self, Measurement};
use super::recipe::Recipe;
use super::{Host, export};
use crate::draw::Section;
use crate::export::ImportedWeights;
use crate::inspect::{InspectedTerms, Inspection, inspect_terms, inspect_weights};
use crate::loader::{ReadPlan, Subset};
use crate::progress::{Progress, SilentProgress};
use crate::report::{Comparison, html, wrap_sentence};
use crate::sample::Sample;

/// Makes the sections of a report about the net of a run, whose name may be left out.
pub fn net_sections(
    net: &str,
    name: Option<&str>,
    samples: &[Sample],
    removed: usize,
    listener: &dyn Progress,
) -> Result<Vec<Section>> {
    let (source, _) = export::read_source(Path::new(net))?;
    let counter = listener.count(None, "inspecting");
    let inspection =
        inspect_net(&source, samples, removed, &SilentProgress).with_context(|| net.to_string())?;
    drop(counter);
    let suffix = match read_base(&source.facts)? {
        Some(_) => ", without its base",
        None => "",
    };
    Ok(add_run_name(inspection.page_sections(), name, suffix))
}

/// Adds the name of a run, if it is needed, to the titles of sections.
fn add_run_name(mut sections: Vec<Section>, name: Option<&str>, suffix: &str) -> Vec<Section> {
    let name = name.map_or(String::new(), |name| format!(" of {name}"));
    sections.iter_mut().for_each(|section| section.title += &format!("{name}{suffix}"));
    sections
}

/// Handcrafted terms, and for terms of a run the gain over the start weights.
#[derive(Serialize)]
pub struct TermsInspection {
    pub terms: InspectedTerms,
    pub tuning: Option<Comparison>,
}

impl TermsInspection {
    /// Inspects terms. Those of a run are among the evaluations `measured` on these files.
    pub fn new(tuned: &Evaluator, measured: Option<(&Measurement, &[PathBuf])>) -> Result<Self> {
        let (EvaluatorKind::Terms(_, weights) | EvaluatorKind::Traced(_, weights)) = &tuned.kind
        else {
            bail!("{} holds no terms", tuned.name_or_path)
        };
        let gain = |(measured, files): (&Measurement, &[PathBuf])| {
            let index = measured.evaluations.iter().position(|it| it.name == tuned.name);
            let pair = Evaluator::before_training(Path::new(&tuned.name_or_path))?.zip(index);
            pair.map(|(start, index)| measured.compare_with(index, &start, files)).transpose()
        };
        let tuning = measured.map(gain).transpose()?.flatten();
        Ok(Self { terms: inspect_terms(weights), tuning })
    }

    /// Opens terms, and measures those of a run on the given positions, or else on its test games.
    pub fn open_terms(path: &Path, given: Option<ReadPlan>, host: &Host) -> Result<Self> {
        let name = path.display().to_string();
        let mut tuned = [Evaluator::open_evaluation(&name, host)?];
        make_names_distinct(&mut tuned);
        let Some(recipe) = &tuned[0].recipe else { return Self::new(&tuned[0], None) };
        let plan = measure::plan_positions(given, Some(recipe), &tuned)?;
        let (samples, cautions) = measure::read_positions(&plan, host.listener)?;
        let selection = select_positions(&tuned, samples, false, false)?;
        let measured = Measurement::measure_selection(&tuned, selection, cautions, &plan.files)?;
        Self::new(&tuned[0], Some((&measured, &plan.files)))
    }

    pub fn to_text(&self) -> String {
        let tuning = self.tuning.as_ref();
        let tuning = tuning
            .map(|it| format!("\n{}{}", wrap_sentence(&it.gain_sentence()), it.to_text(false)));
        format!("{}{}", self.terms.value_table(), tuning.unwrap_or_default())
    }

    /// Makes the sections of a page, with the name of the run, if it is needed.
    pub fn page_sections(&self, name: Option<&str>) -> Vec<Section> {
        let tuning = self.tuning.as_ref().map(html::tuning_section);
        add_run_name(tuning.into_iter().chain(self.terms.page_sections()).collect(), name, "")
    }
}

/// Inspects a net over these positions. Pieces and rows are removed from `removed` of them.
pub fn inspect_net(
    source: &ImportedWeights,
    samples: &[Sample],
    removed: usize,
    listener: &dyn Progress,
) -> Result<Inspection> {
    let ImportedWeights { weights, architecture, scales, facts, .. } = source;
    if let Some(base) = read_base(facts)? {
        listener
            .report_remark(&format!("the net alone is inspected, without its base {}", base.name));
    }
    ensure!(!samples.is_empty(), "no positions to inspect with; name a file of positions");
    let _counter = listener.count(None, "inspecting");
    Ok(inspect_weights(weights, architecture, *scales, samples, removed)?)
}

/// Reads the positions of the files, or else the run's validation positions.
pub fn choose_positions(
    given: Option<ReadPlan>,
    recipe: Option<&Recipe>,
    net: &Path,
    listener: &dyn Progress,
) -> Result<Vec<Sample>> {
    if let Some(plan) = given {
        return Ok(collect_samples(&ReadPlan { needs_colours: true, ..plan }, None, listener)?);
    }
    let (net, remedy) = (net.display(), "name files of positions with --data");
    let recipe = recipe.with_context(|| format!("the data of {net} are unknown; {remedy}"))?;
    ensure!(recipe.config.file.data.has_validation(), "no game validated {net}; {remedy}");
    unchanged_files(recipe.validation_files())?;
    Ok(collect_samples(&read_plan(&recipe.config), Some(Subset::Validation), listener)?)
}
