//! Optimisers: settings, and the step of a model along its gradients.

use std::collections::BTreeMap;
use std::mem::take;
use std::num::ParseIntError;

use burn::backend::DispatchTensor;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::model::ops::steps::{AdaGrad, Adam, OptimizerStep, Sgd};
use crate::model::ops::{borrow_mut, take_step};
use crate::model::{
    Compute, Model, SimdLevel, TensorGradients, TouchedRows, dense_rows, is_gpu, on_host, to_host,
};
use crate::weights::{Weights, WeightsError};

/// Typical difference of tuned weights from sensible start values; on a million positions of
/// 300,000 games or of 12,000 it costs nothing if the data are informative.
const PRIOR: f64 = 50.0;

/// The `[optimizer]` section of a config, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizerSettings {
    pub name: OptimizerName,
    /// Decay of the mean of gradients, or the momentum (SGD).
    pub beta1: f64,
    /// Decay of the mean of squared gradients.
    pub beta2: f64,
    /// Keeps divisors away from zero.
    pub epsilon: f64,
    /// Decay, perhaps [decoupled](OptimizerName::has_decoupled_decay) from gradients.
    pub weight_decay: f64,
    /// Whether Adam corrects its means for their start at zero.
    pub bias_correction: bool,
    /// Decay of the running mean of weights, which is then the result.
    pub average_decay: Option<f64>,
    /// Parameters are clamped to `-clip ..= clip`; 0: no clip.
    pub clip: f64,
    /// Parameters with another clip, or another learning rate.
    pub layers: LayerSettings,
    /// Centipawns that a weight is expected to change (Gauss-Newton).
    pub prior: f64,
    /// Centipawns of a step (local search).
    pub step: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerName {
    /// Adam with weight decay outside of the means; the usual one for nets.
    AdamW,
    /// Steps by the running means of gradients and of their squares.
    Adam,
    /// AdamW with small steps until its mean of squares is reliable (L. Liu et al., 2020).
    RAdam,
    /// RAdam with lookahead (M. Zhang et al., 2019), see `LOOKAHEAD_STEPS`.
    Ranger,
    /// Steps that shrink with the sum of all squared gradients so far.
    AdaGrad,
    /// Steps along the gradient, with momentum `beta1`.
    Sgd,
    /// Least squares over all positions at once, step by step; for handcrafted terms.
    #[serde(rename = "gauss-newton")]
    GaussNewton,
    /// One step up or down for each weight as long as one helps; for handcrafted terms.
    #[serde(rename = "local-search")]
    LocalSearch,
}

impl OptimizerName {
    pub fn display_name(self) -> String {
        let name = serde_json::to_value(self).expect("a name is text");
        name.as_str().unwrap_or_default().to_string()
    }

    /// Whether it uses all positions at once, and converges by itself.
    pub fn is_direct(self) -> bool {
        matches!(self, OptimizerName::GaussNewton | OptimizerName::LocalSearch)
    }

    /// Whether weights decay by the learning rate, outside of the gradients.
    pub fn has_decoupled_decay(self) -> bool {
        matches!(self, OptimizerName::AdamW | OptimizerName::RAdam | OptimizerName::Ranger)
    }
}

impl OptimizerSettings {
    /// Returns the usual values of the method, without clips.
    pub fn default_of(name: OptimizerName) -> Self {
        Self {
            name,
            beta1: if name == OptimizerName::Ranger { 0.95 } else { 0.9 },
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: if name.has_decoupled_decay() { 0.01 } else { 0.0 },
            bias_correction: true,
            average_decay: None,
            clip: 0.0,
            layers: LayerSettings::default(),
            prior: PRIOR,
            step: 1,
        }
    }

    /// Makes the optimiser, without state. Panics if the method is direct.
    pub fn build_optimizer(&self, compute: Compute) -> ModelOptimizer {
        assert!(!self.name.is_direct(), "direct methods follow no gradient");
        ModelOptimizer {
            settings: self.clone(),
            level: compute.simd_level(),
            states: BTreeMap::new(),
        }
    }

    /// Returns the number of state arrays per parameter.
    pub fn state_count(&self) -> usize {
        match self.name {
            OptimizerName::Ranger => 3,
            OptimizerName::Sgd | OptimizerName::AdaGrad => 1,
            OptimizerName::AdamW | OptimizerName::Adam | OptimizerName::RAdam => 2,
            OptimizerName::GaussNewton | OptimizerName::LocalSearch => 0,
        }
    }

    /// Makes step number `number`, from 1, of an array at learning rate `rate`.
    fn step_for(&self, rate: f64, layer: ArraySettings, number: u64) -> OptimizerStep {
        let &Self { name, beta1, beta2, epsilon, bias_correction, .. } = self;
        let rate = rate * layer.rate.unwrap_or(1.0);
        let clip = layer.clip.unwrap_or(self.clip);
        let weight_decay = layer.decay.unwrap_or(self.weight_decay);
        match name {
            OptimizerName::AdaGrad => AdaGrad::step_at(rate, epsilon, weight_decay, clip),
            OptimizerName::Sgd => Sgd::step_at(rate, beta1, weight_decay, clip),
            OptimizerName::GaussNewton | OptimizerName::LocalSearch => {
                unreachable!("direct methods follow no gradient")
            }
            OptimizerName::AdamW
            | OptimizerName::Adam
            | OptimizerName::RAdam
            | OptimizerName::Ranger => {
                let (decay, coupled_decay) = match name.has_decoupled_decay() {
                    true => (weight_decay, 0.0),
                    false => (0.0, weight_decay),
                };
                let rectified = matches!(name, OptimizerName::RAdam | OptimizerName::Ranger);
                let rule = Adam {
                    beta1,
                    beta2,
                    epsilon,
                    decay,
                    coupled_decay,
                    bias_correction,
                    rectified,
                    clip,
                };
                rule.step_at(rate, number)
            }
        }
    }
}

/// Ranger's lookahead (M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019):
/// steps after which slow weights move by a share towards the fast ones, which restart there.
const LOOKAHEAD_STEPS: u64 = 6;
const LOOKAHEAD_SHARE: f64 = 0.5;
/// Maximum number of steps that rows may miss. Their factors fit the first-level cache.
const MAX_MISSED: usize = 256;

#[derive(Clone)]
pub struct ModelOptimizer {
    settings: OptimizerSettings,
    /// Vector instructions; `None` for Burn's tensor operations.
    level: Option<SimdLevel>,
    /// States by the number of the parameter.
    states: BTreeMap<u64, ArrayState>,
}

/// Reason why the state of an optimiser cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "its messages describe them")]
pub enum StateError {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Direct(#[from] serde_json::Error),
    #[error("{0} is missing")]
    Missing(String),
    #[error("{0}: {1}")]
    Number(String, ParseIntError),
}

#[derive(Clone, Default)]
struct ArrayState {
    steps: u64,
    arrays: Vec<DispatchTensor>,
    /// Steps that not all rows have taken.
    missed: Vec<OptimizerStep>,
    /// Number of them that each row has taken.
    taken: Vec<u32>,
}

impl ArrayState {
    /// Takes missed steps of these rows, or all; the last step may have a gradient.
    fn take_missed(
        &mut self,
        parameter: Tensor<1>,
        rows: Option<&[u32]>,
        gradient: Option<Tensor<1>>,
        level: SimdLevel,
    ) -> Tensor<1> {
        const ON_HOST: &str = "steps are missed on the CPU alone";
        let Self { arrays, missed, taken, .. } = self;
        let has_missed = |row: &u32| (taken[*row as usize] as usize) < missed.len();
        let late_rows: Vec<u32> = match rows {
            Some(rows) => rows.iter().copied().filter(has_missed).collect(),
            None => (0..taken.len() as u32).filter(has_missed).collect(),
        };
        let mut parameter = parameter.into_dispatch();
        let p = borrow_mut(&mut parameter).expect(ON_HOST);
        let states = arrays.iter_mut().map(|it| borrow_mut(it).expect(ON_HOST)).collect();
        let rows_taken = (&late_rows[..], &mut taken[..]);
        match gradient {
            Some(gradient) => on_host(gradient, |g| {
                OptimizerStep::take_missed(missed, level, rows_taken, p, Some(g), states);
            }),
            None => OptimizerStep::take_missed(missed, level, rows_taken, p, None, states),
        }
        if rows.is_none() {
            missed.clear();
            taken.clear();
        }
        Tensor::from_dispatch(parameter)
    }
}

impl ModelOptimizer {
    /// Takes a step of a model at a learning rate. Parameters without a gradient stay. Untouched
    /// rows miss the step if they can take it later.
    pub fn step_model(
        &mut self,
        rate: f64,
        model: Model,
        mut gradients: TensorGradients,
        touched: &TouchedRows,
    ) -> Model {
        let arrays = model.list_arrays();
        model.map_arrays(|id, parameter| {
            let Some(gradient) = gradients.remove(&id) else { return parameter };
            let (name, shape) = &arrays[&id];
            let rate = (rate, self.settings.layers.layer_of(name));
            let touched = touched.get(&id).map(|rows| &rows[..]);
            self.update_parameter(id, rate, parameter, gradient, (touched, shape))
        })
    }

    /// Takes the missed steps of the touched rows, or all rows, with the bits of immediate steps.
    pub fn catch_up(&mut self, model: Model, touched: Option<&TouchedRows>) -> Model {
        if self.states.values().all(|state| state.missed.is_empty()) {
            return model;
        }
        model.map_arrays(|id, parameter| {
            let (Some(level), Some(state)) = (self.level, self.states.get_mut(&id)) else {
                return parameter;
            };
            if state.missed.is_empty() {
                return parameter;
            }
            let touched = touched.filter(|_| state.missed.len() < MAX_MISSED);
            let rows = touched.map(|it| it.get(&id).map_or(&[][..], |rows| rows));
            state.take_missed(parameter, rows, None, level)
        })
    }

    /// Serialises the state as a file of arrays. Fails if a state cannot be written. Panics if rows
    /// have missed steps.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WeightsError> {
        let (mut weights, mut facts) = (Weights::default(), BTreeMap::new());
        for (id, state) in &self.states {
            assert!(state.missed.is_empty(), "all rows take their steps before");
            facts.insert(id.to_string(), state.steps.to_string());
            for (index, array) in state.arrays.iter().enumerate() {
                let values = to_host(Tensor::<1>::from_dispatch(array.clone()));
                weights.insert(&format!("{id}.{index}"), &[values.len()], values);
            }
        }
        weights.to_bytes(&facts, &[])
    }

    /// Loads the state of a file; a new optimiser has no bytes and no state. Fails if the file does
    /// not belong to such an optimiser.
    pub fn load_state(mut self, bytes: &[u8], device: &Device) -> Result<Self, StateError> {
        if bytes.is_empty() {
            return Ok(self);
        }
        let file = Weights::from_bytes(bytes)?;
        for (id, steps) in &file.facts {
            let array = |index: usize| {
                let name = format!("{id}.{index}");
                let array = file.weights.0.get(&name).ok_or(StateError::Missing(name))?;
                let data = TensorData::new(array.values.clone(), [array.values.len()]);
                Ok::<_, StateError>(Tensor::<1>::from_data(data, device).into_dispatch())
            };
            let arrays = (0..self.settings.state_count()).map(array).collect::<Result<_, _>>()?;
            let number = |text: &str| {
                text.parse::<u64>().map_err(|error| StateError::Number(text.into(), error))
            };
            let state = ArrayState { steps: number(steps)?, arrays, ..ArrayState::default() };
            self.states.insert(number(id)?, state);
        }
        Ok(self)
    }

    /// Takes a step of a parameter, given the rows that have a gradient, and its shape.
    fn update_parameter(
        &mut self,
        id: u64,
        (rate, layer): (f64, ArraySettings),
        mut parameter: Tensor<1>,
        mut gradient: Tensor<1>,
        (mut touched, shape): (Option<&[u32]>, &[usize]),
    ) -> Tensor<1> {
        let mut state = self.states.remove(&id).unwrap_or_default();
        let is_ranger = self.settings.name == OptimizerName::Ranger;
        // Level at which rows take missed steps later, with gradient 0.
        let lazy_level = self.level.filter(|_| {
            let averages = self.settings.average_decay.is_some();
            !is_ranger && !averages && !is_gpu(&parameter.device())
        });
        if let (Some(rows), None) = (touched, lazy_level) {
            gradient = dense_rows(gradient, rows, shape);
            touched = None;
        }
        if state.arrays.is_empty() {
            state.arrays =
                vec![parameter.zeros_like().into_dispatch(); self.settings.state_count()];
            if is_ranger {
                // A copy of the parameter, which changes in place.
                state.arrays[2] = parameter.clone().mul_scalar(1.0).into_dispatch();
            }
        }
        state.steps += 1;
        let step = self.settings.step_for(rate, layer, state.steps);
        if let Some(level) = lazy_level.filter(|_| touched.is_some() || !state.missed.is_empty()) {
            state.missed.push(step);
            state.taken.resize(shape[0], 0);
            parameter = state.take_missed(parameter, touched, Some(gradient), level);
        } else {
            let arrays = take(&mut state.arrays).into_iter();
            let mut arrays: Vec<_> = arrays.map(Tensor::from_dispatch).collect();
            let slow = is_ranger.then(|| arrays.pop()).flatten();
            (parameter, arrays) = take_step(parameter, gradient, arrays, step, self.level);
            if let Some(mut slow) = slow {
                if state.steps.is_multiple_of(LOOKAHEAD_STEPS) {
                    slow = slow.clone() + (parameter - slow).mul_scalar(LOOKAHEAD_SHARE);
                    parameter = slow.clone();
                }
                arrays.push(slow);
            }
            state.arrays = arrays.into_iter().map(Tensor::into_dispatch).collect();
        }
        self.states.insert(id, state);
        parameter
    }
}

/// Settings by names of arrays in checkpoints, or of their prefixes: `head` for `head.0`, and
/// `head.0` for `head.0.weight`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerSettings(pub BTreeMap<String, ArraySettings>);

/// Settings of an array; missing ones are those of the optimiser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArraySettings {
    /// The numbers are clamped to `-clip ..= clip`; 0: no clip.
    pub clip: Option<f64>,
    pub rate: Option<f64>,
    pub decay: Option<f64>,
}

impl LayerSettings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the clip of an array, unless it has one.
    pub fn set_missing_clip(&mut self, name: &str, clip: f64) {
        if self.layer_of(name).clip.is_none() {
            self.0.entry(name.to_string()).or_default().clip = Some(clip);
        }
    }

    /// Returns the settings of an array. The longest matching name takes precedence.
    pub fn layer_of(&self, name: &str) -> ArraySettings {
        let matching = self.0.iter().filter(|(it, _)| stands_for(it, name));
        // In this order longer names come later.
        matching.fold(ArraySettings::default(), |shorter, (_, settings)| ArraySettings {
            clip: settings.clip.or(shorter.clip),
            rate: settings.rate.or(shorter.rate),
            decay: settings.decay.or(shorter.decay),
        })
    }
}

/// Whether a name is that of an array, or of a prefix of it.
pub fn stands_for(name: &str, array: &str) -> bool {
    array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
