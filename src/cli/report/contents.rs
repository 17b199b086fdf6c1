//! The parts of a report, from what was measured.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::insides;
use super::run::RunPage;
use crate::cli::eval::Shape;
use crate::cli::evaluator::Evaluator;
use crate::cli::folder;
use crate::cli::honest::{Measured, Placed};
use crate::cli::measure::Measurement;
use crate::cli::progress::bar;
use crate::draw::Section;
use crate::hce::HceWeights;
use crate::inspect as look;
use crate::model::{Compute, Device};
use crate::report::Options;
use crate::report::html::{
    Run, calibration, curves, disagreements, gaps, settings, slices, verdict,
};

/// Positions to show of each disagreement.
const BOARDS: usize = 8;

/// Evaluations to compare, and what comes out.
pub struct Contents {
    pub evaluators: Vec<Evaluator>,
    /// As the user would name them.
    given: Vec<String>,
    /// How closely to look into nets.
    pub look: look::Options,
    /// What follows, for the top of the page.
    pub lead: Vec<String>,
}

impl Contents {
    /// The evaluations of the runs, floats and integers, with material to stand beside them.
    pub fn of(runs: &[RunPage], with: &[String], place: &(Device, Compute)) -> Result<Self> {
        let mut given: Vec<String> = Vec::new();
        for run in runs {
            given.extend(run.file(folder::BEST));
            given.extend(run.file(folder::NET));
        }
        given.extend(with.iter().cloned());
        given.push("material".to_string());
        let evaluators = given
            .iter()
            .map(|name| Evaluator::open(name, &Shape::default(), place))
            .collect::<Result<_>>()?;
        Ok(Self { evaluators, given, look: look::Options::default(), lead: Vec::new() })
    }

    /// Compares with the data's own scores too, where all positions have one.
    pub fn add_score(&mut self, samples: &[Placed], place: &(Device, Compute)) -> Result<()> {
        if !samples.is_empty() && samples.iter().all(|(sample, _)| sample.score.is_some()) {
            self.evaluators.push(Evaluator::open("score", &Shape::default(), place)?);
            self.given.push("score".to_string());
        }
        Ok(())
    }

    pub fn sections(
        &mut self,
        runs: &[RunPage],
        measured: Measured,
        files: &[PathBuf],
    ) -> Result<Vec<Section>> {
        let bar = bar(None, "comparing");
        bar.enable_steady_tick(Duration::from_millis(200));
        let measurement = Measurement::of(&self.evaluators, &self.given, measured, files)?;
        let pairs = crate::cli::compare::gaps(&self.given, &self.evaluators);
        let deep = measurement.deep(&Options::default(), &pairs, BOARDS)?;
        bar.finish_and_clear();
        self.lead = deep.comparison.sentences.clone();
        let pages: Vec<Run> = runs.iter().map(|run| run.page.clone()).collect();
        let mut sections = vec![curves(&pages), settings(&pages)];
        let mut notes = measurement.notes.clone();
        notes.push(deep.caveat.clone());
        sections.push(verdict(&deep.comparison, &notes));
        sections.push(slices(&deep.slices));
        sections.push(calibration(&deep.calibrations, &deep.slices.noun));
        if !deep.disagreements.is_empty() {
            sections.push(disagreements(&deep.disagreements));
        }
        if !deep.gaps.is_empty() {
            sections.push(gaps(&deep.gaps));
        }
        for run in runs {
            let options = look::Options { hce: self.tuned(runs)?, ..self.look.clone() };
            sections.extend(insides::section(run, &measurement.samples, options)?);
        }
        Ok(sections)
    }

    /// The handcrafted weights of the first run that has some, to hold nets against.
    fn tuned(&self, runs: &[RunPage]) -> Result<Option<HceWeights>> {
        let mut ours = runs.iter().filter(|run| run.recipe.config.model.inputs == "hce");
        let Some(path) = ours.find_map(|run| run.file(folder::TERMS)) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        Ok(Some(HceWeights::from_json(&text).with_context(|| path.clone())?))
    }
}
