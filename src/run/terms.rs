//! Handcrafted terms of a config: which exist, which are trained, and where they start.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};

use super::folder::BEST;
use super::path::{FileKind, in_folder, kind_of};
use super::recipe::{self, list_names};
use crate::config::Config;
use crate::hce::{self, Coding, HceWeights};
use crate::input;
use crate::loader::TermsEncoder;
use crate::model::HceShape;
use crate::scales::Scales;
use crate::terms::{EngineTerms, TermList, TermSelection};
use crate::weights::Weights;

#[derive(Clone, Debug)]
pub struct RunTerms {
    pub list: Arc<TermList>,
    /// Format of an engine's traces; None for the built-in terms.
    pub engine: Option<EngineTerms>,
    /// The terms that the evaluation has.
    pub present: TermSelection,
    pub chosen: TermSelection,
    /// Number of positions with a term from which on it is trained.
    pub rare: u64,
}

impl RunTerms {
    /// Reads the terms of a config; None for nets. `term_list` is the text of an engine's list.
    /// Fails if a pattern matches no term, or a list of terms cannot be read.
    pub fn from_config(config: &Config, term_list: Option<&str>) -> Result<Option<Self>> {
        let (section, used, tune, rare, engine) = match (&config.file.terms, &config.file.traces) {
            (Some(terms), _) => ("terms", &terms.used, &terms.tune, terms.rare, None),
            (_, Some(traces)) => {
                let text = term_list.context("the list of the engine's terms is missing")?;
                let engine = EngineTerms::parse(text, &traces.list)?;
                ("traces", &traces.used, &traces.tune, traces.rare, Some(engine))
            }
            (None, None) => return Ok(None),
        };
        let list = match &engine {
            Some(engine) => Arc::new(engine.list.clone()),
            None => hce::terms::built_in_list(),
        };
        let choose = |key: &str, patterns: &[String]| {
            list.choose(patterns).map_err(|error| anyhow!("`{section}.{key}`: {error}"))
        };
        let present = match used {
            Some(patterns) => choose("use", patterns)?,
            None => TermSelection::all(list.len()),
        };
        let mut chosen = match tune {
            Some(patterns) => choose("tune", patterns)?,
            None => present.clone(),
        };
        chosen.terms.iter_mut().zip(&present.terms).for_each(|(it, present)| *it &= present);
        chosen.tempo &= present.tempo;
        Ok(Some(Self { list, engine, present, chosen, rare }))
    }

    /// Selects the terms of a base evaluation that are trained with its net: those with any weight.
    pub fn of_base(weights: &HceWeights) -> Self {
        let present = TermSelection {
            terms: weights.values.iter().map(|weight| *weight != [0.0; 2]).collect(),
            tempo: true,
            scale_factor: weights.scale_factor,
        };
        let (list, chosen) = (weights.list.clone(), present.clone());
        Self { list, engine: None, present, chosen, rare: 0 }
    }

    /// Returns the weights at the start of training: the start values of the terms, or given weights.
    /// Terms that the evaluation lacks are zero.
    pub fn start_weights(&self, given: Option<&str>) -> Result<HceWeights> {
        let mut weights = match given {
            None => HceWeights::of_list(self.list.clone(), Scales::default().scale.into()),
            Some("zero") => HceWeights::zeros_with_scale(Scales::default().scale.into()),
            Some("material") => HceWeights::material_only(),
            Some(path) => {
                let text = input::read_text(Path::new(path), input::TEXT)
                    .with_context(|| format!("cannot read the start weights {path}"))?;
                HceWeights::from_json(&text).with_context(|| path.to_string())?
            }
        };
        for (weight, present) in weights.values.iter_mut().zip(&self.present.terms) {
            if !present {
                *weight = [0.0; 2];
            }
        }
        if !self.present.tempo {
            weights.tempo = 0.0;
        }
        weights.scale_factor = self.present.scale_factor;
        Ok(weights)
    }

    /// Reads the terms of a checkpoint: as `trained`, or as they were before.
    pub fn read_weights(&self, weights: &Weights, scale: f64, trained: bool) -> Result<HceWeights> {
        let weights = HceWeights::from_weights(weights, self.list.clone(), scale, trained)?;
        Ok(HceWeights { scale_factor: self.present.scale_factor, ..weights })
    }

    /// Makes an encoder of positions as these terms; frozen terms have `weights`.
    pub fn terms_encoder(&self, weights: &HceWeights) -> TermsEncoder {
        TermsEncoder {
            coding: Coding::new(&self.present.terms, self.present.scale_factor),
            chosen: self.chosen.clone(),
            weights: weights.values.clone(),
        }
    }

    pub fn hce_shape(&self, config: &Config) -> HceShape {
        HceShape { terms: self.list.len(), scale: config.scale as f32, tempo: self.chosen.tempo }
    }
}

pub fn of_json(bytes: &[u8]) -> Result<HceWeights> {
    Ok(HceWeights::from_json(&input::decode_utf8(bytes.to_vec())?)?)
}

/// Reads weights from a JSON file or a run, and the phase and scale factor of a term list.
pub fn read_weights(path: &Path) -> Result<(HceWeights, Option<[f64; 2]>)> {
    let path = in_folder(path, BEST)?;
    let bytes = input::read_bytes(&path, input::WEIGHTS)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if let FileKind::Json = kind_of(&bytes) {
        return Ok((of_json(&bytes)?, None));
    }
    let (checkpoint, recipe) = recipe::open_checkpoint(&path)?;
    let terms = recipe.run_terms()?.context("these weights belong to a net")?;
    let mut weights = terms.read_weights(&checkpoint.weights, recipe.config.scale, true)?;
    weights.source = Some(format!("trained by nnuance on {}", list_names(&recipe.data)));
    Ok((weights, terms.engine.map(|engine| [engine.phase, engine.scale])))
}
