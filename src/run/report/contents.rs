//! The parts of a report, from what was measured.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use maud::{Markup, html};

use super::{ShownRun, insides};
use crate::draw::Section;
use crate::export::Given;
use crate::hce::HceWeights;
use crate::input;
use crate::inspect;
use crate::model::{Compute, Device};
use crate::report::Options;
use crate::report::gap::Gap;
use crate::report::html::{
    Cast, Run, calibration, curves, disagreements, games, gaps, lead, settings, slices, verdict,
};
use crate::run::evaluator::{Evaluator, each_once};
use crate::run::folder;
use crate::run::honest::{Placed, Selection};
use crate::run::listener::Listener;
use crate::run::measure::{Measurement, gaps as pairs_of};
use crate::run::played::Match;

/// Positions to show of each disagreement.
const BOARDS: usize = 8;

/// Evaluations to compare, and what comes out.
pub struct Contents<'a> {
    pub evaluators: Vec<Evaluator>,
    /// As the user would name them.
    given: Vec<String>,
    /// Whether more than one run, or what it is held against, competes. Then each net competes
    /// once: its floats would be one more rival, and make every verdict harder to reach.
    several: bool,
    /// Games in which some of them played.
    pub games: Option<&'a Match>,
    /// How closely to look into nets.
    pub inside: inspect::Options,
    /// What a reader wants to know first.
    pub lead: Markup,
}

/// An evaluation in words.
fn what(evaluator: &Evaluator) -> &'static str {
    match (evaluator.is_trained(), &evaluator.name[..]) {
        (false, "material") => {
            "the pieces counted, at 100, 320, 330, 500 and 900 centipawns; what every evaluation \
             should beat"
        }
        (false, "score") => {
            "the score in the data, from the search that made them; it looks ahead, so it is a \
             bound for evaluations of a single position, and no rival"
        }
        (false, _) => "the mean result for every position: what knowing nothing costs",
        _ if evaluator.is_handcrafted() => "handcrafted terms",
        _ if evaluator.is_quantised() => "a net, in the integers that engines compute with",
        _ => "a net, in floats",
    }
}

impl Contents<'_> {
    /// The evaluations of the runs, floats and integers, with material to stand beside them.
    pub fn of(
        runs: &[ShownRun],
        with: &[String],
        place: &(Device, Compute),
        listener: &dyn Listener,
    ) -> Result<Self> {
        let mut given: Vec<String> = Vec::new();
        for run in runs {
            given.extend(run.file(folder::BEST));
            given.extend(run.file(folder::NET));
        }
        given.extend(with.iter().cloned());
        if !given.iter().any(|name| name == "material") {
            given.push("material".to_string());
        }
        each_once(&given)?;
        let several = runs.len() + with.len() > 1;
        let evaluators = given
            .iter()
            .map(|name| Evaluator::open(name, &Given::default(), place, listener))
            .collect::<Result<_>>()?;
        let (games, inside) = (None, inspect::Options::default());
        Ok(Self { evaluators, given, several, games, inside, lead: html! {} })
    }

    /// Compares with the data's own scores too, where all positions have one.
    pub fn add_score(
        &mut self,
        samples: &[Placed],
        place: &(Device, Compute),
        listener: &dyn Listener,
    ) -> Result<()> {
        let there = self.evaluators.iter().any(Evaluator::needs_scores);
        if !there && !samples.is_empty() && samples.iter().all(|(sample, _)| sample.score.is_some())
        {
            let score = Evaluator::open("score", &Given::default(), place, listener)?;
            self.evaluators.push(score);
            self.given.push("score".to_string());
        }
        Ok(())
    }

    pub fn sections(
        &mut self,
        runs: &[ShownRun],
        measured: Selection,
        files: &[PathBuf],
        listener: &dyn Listener,
    ) -> Result<Vec<Section>> {
        let counter = listener.count(None, "comparing");
        let options = Options::default();
        let mut measurement =
            Measurement::of(&self.evaluators, &self.given, measured, files, false)?;
        if let Some(games) = self.games {
            measurement.play(games, &self.given, &self.evaluators)?;
        }
        let pairs = pairs_of(&self.given, &self.evaluators);
        let (left, measured_gaps) = measurement.fold(&pairs, self.several, &options)?;
        let cast = self.cast(runs, &mut measurement, &pairs, &measured_gaps);
        let deep = measurement.deep(&options, &left, BOARDS)?;
        drop(counter);
        let pages: Vec<Run> = runs.iter().map(|run| run.page.clone()).collect();
        self.lead = lead(&deep, &cast, &pages);
        let mut notes = measurement.notes.clone();
        notes.push(deep.caveat.clone());
        let mut sections = vec![verdict(&deep.comparison, &cast, &notes)];
        sections.extend(games(&deep.comparison));
        sections.push(curves(&pages));
        sections.push(slices(&deep.slices));
        sections.push(calibration(&deep.calibrations, &deep.slices.noun));
        if !deep.disagreements.is_empty() {
            sections.push(disagreements(&deep.disagreements));
        }
        if !measured_gaps.is_empty() {
            sections.push(gaps(&measured_gaps));
        }
        for run in runs {
            let options = inspect::Options { hce: self.tuned(runs)?, ..self.inside.clone() };
            sections.extend(insides::section(run, &measurement.samples, options, listener)?);
        }
        sections.push(settings(&pages));
        Ok(sections)
    }

    /// Who takes part, in the order of what was measured. A run that one evaluation stands for
    /// lends it its name.
    fn cast(
        &self,
        runs: &[ShownRun],
        measurement: &mut Measurement,
        pairs: &[[usize; 2]],
        gaps: &[Gap],
    ) -> Vec<Cast> {
        let gone = |side: usize, place: usize| {
            let mut both = pairs.iter().zip(gaps);
            both.find(|(pair, gap)| pair[side] == place && (self.several || gap.is_nothing()))
                .map(|(_, gap)| gap)
        };
        let folded = |place: usize| gone(0, place).is_some();
        let left = (0..self.evaluators.len()).filter(|place| !folded(*place));
        let left: Vec<usize> = left.collect();
        let of_run = |place: usize| {
            runs.iter().find(|run| {
                let inside = |name: &str| run.file(name).as_ref() == Some(&self.given[place]);
                inside(folder::BEST) || inside(folder::NET)
            })
        };
        let names: Vec<String> = left
            .iter()
            .zip(&measurement.evaluations)
            .map(|(place, evaluation)| {
                let Some(run) = of_run(*place) else { return evaluation.name.clone() };
                let same = |other: &&usize| {
                    of_run(**other).is_some_and(|it| it.page.name == run.page.name)
                };
                match left.iter().filter(same).count() {
                    1 => run.page.name.clone(),
                    _ => evaluation.name.clone(),
                }
            })
            .collect();
        let mut cast = Vec::new();
        for ((place, name), evaluation) in left.iter().zip(names).zip(&mut measurement.evaluations)
        {
            evaluation.name.clone_from(&name);
            let evaluator = &self.evaluators[*place];
            let mut what = what(evaluator).to_string();
            if let Some(gap) = gone(1, *place) {
                let by = gap.cost.mean.abs();
                what += &match gap.is_nothing() {
                    true => format!(
                        "; the floats of the same run are the same to {by:.6} of loss, so they \
                         stand under this name too"
                    ),
                    false => format!(
                        "; the floats of the same run differ by {by:.6} of loss, see Integers"
                    ),
                };
            }
            // Floats are no rival of their own integers, which are what engines compute with.
            let floats = pairs.iter().any(|[floats, _]| floats == place);
            cast.push(Cast { name, what, rival: evaluator.is_trained() && !floats });
        }
        cast
    }

    /// The handcrafted weights of the first run that has some, to hold nets against.
    fn tuned(&self, runs: &[ShownRun]) -> Result<Option<HceWeights>> {
        let mut ours = runs.iter().filter(|run| run.recipe.config.model.inputs == "hce");
        let Some(path) = ours.find_map(|run| run.file(folder::TERMS)) else {
            return Ok(None);
        };
        let text = input::text(Path::new(&path), input::TEXT)
            .with_context(|| format!("cannot read {path}"))?;
        Ok(Some(HceWeights::from_json(&text).with_context(|| path.clone())?))
    }
}
