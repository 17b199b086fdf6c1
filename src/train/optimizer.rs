//! Optimisers: settings, and the step of a model along its gradients.

use std::collections::BTreeMap;
use std::mem::take;

use burn::backend::DispatchTensor;
use burn::module::{Module as _, ModuleMapper, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::model::ops::steps::{AdaGrad, Adam, Sgd, Step};
use crate::model::ops::{borrow_mut, take_step};
use crate::model::{
    Compute, Level, Model, Names, TouchedRows, dense_rows, is_gpu, on_host, to_host,
};
use crate::weights::Weights;

/// Typical difference of tuned weights from sensible start values; on a million positions of
/// 300,000 games or of 12,000 it costs nothing where the data are informative.
const PRIOR: f64 = 50.0;

/// The `[optimizer]` section of a config, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub name: OptimizerName,
    /// Decay of the mean of gradients, or the momentum (SGD).
    pub beta1: f64,
    /// Decay of the mean of squared gradients.
    pub beta2: f64,
    /// Keeps divisors away from zero.
    pub epsilon: f64,
    /// Multiplied by the learning rate, or added to the gradient: see
    /// [`OptimizerName::has_decoupled_decay`].
    pub weight_decay: f64,
    /// Whether Adam corrects its means for their start at zero.
    pub bias_correction: bool,
    /// Decay of the mean that is learnt instead of the weights that take the steps.
    pub average_decay: Option<f64>,
    /// Parameters are clamped to `-clip ..= clip`; 0: no clip.
    pub clip: f64,
    /// Parameters with another clip, or another learning rate.
    pub layers: Layers,
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
    /// The name in configs.
    pub fn text(self) -> String {
        let name = serde_json::to_value(self).expect("a name is text");
        name.as_str().unwrap_or_default().to_string()
    }

    /// Whether it uses all positions at once and ends by itself, without gradient steps.
    pub fn is_direct(self) -> bool {
        matches!(self, OptimizerName::GaussNewton | OptimizerName::LocalSearch)
    }

    /// Whether weights decay by the learning rate, outside of the gradients.
    pub fn has_decoupled_decay(self) -> bool {
        matches!(self, OptimizerName::AdamW | OptimizerName::RAdam | OptimizerName::Ranger)
    }
}

impl Settings {
    /// Usual values of the method, without clips.
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
            layers: Layers::default(),
            prior: PRIOR,
            step: 1,
        }
    }

    /// The optimiser, without state.
    ///
    /// # Panics
    /// If the method is direct.
    pub fn build(&self, compute: Compute) -> Optimizer {
        assert!(!self.name.is_direct(), "direct methods follow no gradient");
        Optimizer { settings: self.clone(), level: compute.level(), states: BTreeMap::new() }
    }

    /// Number of state arrays per parameter.
    fn states(&self) -> usize {
        match self.name {
            OptimizerName::Ranger => 3,
            OptimizerName::Sgd | OptimizerName::AdaGrad => 1,
            _ => 2,
        }
    }

    /// Step number `number`, from 1, of an array at learning rate `rate`.
    fn step(&self, rate: f64, layer: Layer, number: u64) -> Step {
        let &Self { name, beta1, beta2, epsilon, bias_correction, .. } = self;
        let rate = rate * layer.rate.unwrap_or(1.0);
        let clip = layer.clip.unwrap_or(self.clip);
        let weight_decay = layer.decay.unwrap_or(self.weight_decay);
        match name {
            OptimizerName::AdaGrad => AdaGrad::at(rate, epsilon, weight_decay, clip),
            OptimizerName::Sgd => Sgd::at(rate, beta1, weight_decay, clip),
            _ => {
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
                rule.at(rate, number)
            }
        }
    }
}

/// Ranger's lookahead: M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019.
/// After this many steps slow weights move by a share of the distance to the fast ones, which
/// restart from there.
const LOOKAHEAD_STEPS: u64 = 6;
const LOOKAHEAD_SHARE: f64 = 0.5;

/// Most steps that rows may miss; then all take them. Their factors fit the first-level cache.
const MOST_MISSED: usize = 256;

#[derive(Clone)]
pub struct Optimizer {
    settings: Settings,
    /// Vector instructions; `None` for Burn's tensor operations.
    level: Option<Level>,
    /// States by the number of the parameter.
    states: BTreeMap<u64, State>,
}

#[derive(Clone, Default)]
struct State {
    /// Steps so far.
    steps: u64,
    /// State arrays, flat.
    arrays: Vec<DispatchTensor>,
    /// Steps that some rows have not taken.
    missed: Vec<Step>,
    /// How many of them each row took.
    taken: Vec<u32>,
}

impl State {
    /// The parameter after missed steps of these rows, or all; the last may have their gradient.
    fn take_missed<const D: usize>(
        &mut self,
        parameter: Tensor<D>,
        rows: Option<&[u32]>,
        gradient: Option<Tensor<D>>,
        level: Level,
    ) -> Tensor<D> {
        const ON_HOST: &str = "steps are missed on the CPU alone";
        let Self { arrays, missed, taken, .. } = self;
        let count = parameter.dims()[0];
        taken.resize(count, 0);
        let is_behind = |row: &u32| (taken[*row as usize] as usize) < missed.len();
        let behind: Vec<u32> = match rows {
            Some(rows) => rows.iter().copied().filter(is_behind).collect(),
            None => (0..count as u32).filter(is_behind).collect(),
        };
        let mut parameter = parameter.into_dispatch();
        let p = borrow_mut(&mut parameter).expect(ON_HOST);
        let states = arrays.iter_mut().map(|it| borrow_mut(it).expect(ON_HOST)).collect();
        let rows_taken = (&behind[..], &mut taken[..]);
        match gradient {
            Some(gradient) => on_host(gradient, |g| {
                Step::take_missed(missed, level, rows_taken, p, Some(g), states);
            }),
            None => Step::take_missed(missed, level, rows_taken, p, None, states),
        }
        if rows.is_none() {
            missed.clear();
            taken.clear();
        }
        Tensor::from_dispatch(parameter)
    }
}

impl Optimizer {
    /// The model after a step at a learning rate. Parameters without a gradient stay. Untouched
    /// rows miss the step if they can take it later.
    pub fn step(
        &mut self,
        rate: f64,
        model: Model,
        gradients: GradientsParams,
        touched: &TouchedRows,
    ) -> Model {
        let path = model.names();
        model.map(&mut Stepping { optimizer: self, rate, gradients, touched, path })
    }

    /// The model after the missed steps of the touched rows, or all rows, with the same bits.
    pub fn catch_up(&mut self, model: Model, touched: Option<&TouchedRows>) -> Model {
        if self.states.values().all(|state| state.missed.is_empty()) {
            return model;
        }
        model.map(&mut CatchingUp { optimizer: self, touched })
    }

    /// The instructions by which rows take missed steps with gradient 0, if allowed.
    fn can_wait(&self, device: &Device) -> Option<Level> {
        let Settings { name, average_decay, .. } = &self.settings;
        let waits = *name != OptimizerName::Ranger && average_decay.is_none() && !is_gpu(device);
        self.level.filter(|_| waits)
    }

    /// Serialises the state as a file of arrays.
    ///
    /// # Errors
    /// If a state cannot be written.
    ///
    /// # Panics
    /// If rows have missed steps.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let (mut weights, mut facts) = (Weights::default(), BTreeMap::new());
        for (id, state) in &self.states {
            assert!(state.missed.is_empty(), "all rows take their steps before");
            facts.insert(id.to_string(), state.steps.to_string());
            for (place, array) in state.arrays.iter().enumerate() {
                let values = to_host(Tensor::<1>::from_dispatch(array.clone()));
                weights.insert(&format!("{id}.{place}"), &[values.len()], values);
            }
        }
        weights.to_bytes(&facts, &[]).map_err(|error| error.to_string())
    }

    /// The optimiser with the state of a file.
    ///
    /// # Errors
    /// If the file does not belong to such an optimiser.
    pub fn load(mut self, bytes: &[u8], device: &Device) -> Result<Self, String> {
        let file = Weights::from_bytes(bytes).map_err(|error| error.to_string())?;
        for (id, steps) in &file.facts {
            let array = |place: usize| {
                let name = format!("{id}.{place}");
                let array = file.weights.0.get(&name).ok_or(format!("{name} is missing"))?;
                let data = TensorData::new(array.values.clone(), [array.values.len()]);
                Ok::<_, String>(Tensor::<1>::from_data(data, device).into_dispatch())
            };
            let arrays = (0..self.settings.states()).map(array).collect::<Result<_, _>>()?;
            let number =
                |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
            let state = State { steps: number(steps)?, arrays, ..State::default() };
            self.states.insert(number(id)?, state);
        }
        Ok(self)
    }

    fn update<const D: usize>(
        &mut self,
        id: u64,
        (rate, layer): (f64, Layer),
        mut parameter: Tensor<D>,
        mut gradient: Tensor<D>,
        mut touched: Option<&[u32]>,
    ) -> Tensor<D> {
        let mut state = self.states.remove(&id).unwrap_or_default();
        let (shape, is_ranger) = (parameter.shape(), self.settings.name == OptimizerName::Ranger);
        let waits = self.can_wait(&parameter.device());
        if let (Some(rows), None) = (touched, waits) {
            gradient = dense_rows(gradient, rows, shape.clone());
            touched = None;
        }
        let flat = |it: Tensor<D>| it.reshape([shape.num_elements()]).into_dispatch();
        if state.arrays.is_empty() {
            state.arrays = vec![flat(parameter.zeros_like()); self.settings.states()];
            if is_ranger {
                // A copy of the parameter, which changes in place.
                state.arrays[2] = flat(parameter.clone().mul_scalar(1.0));
            }
        }
        state.steps += 1;
        let step = self.settings.step(rate, layer, state.steps);
        if let Some(level) = waits.filter(|_| touched.is_some() || !state.missed.is_empty()) {
            state.missed.push(step);
            parameter = state.take_missed(parameter, touched, Some(gradient), level);
        } else {
            let shaped = |array| Tensor::<1>::from_dispatch(array).reshape(shape.clone());
            let mut arrays: Vec<_> = take(&mut state.arrays).into_iter().map(shaped).collect();
            let slow = is_ranger.then(|| arrays.pop()).flatten();
            (parameter, arrays) = take_step(parameter, gradient, arrays, step, self.level);
            if let Some(mut slow) = slow {
                if state.steps.is_multiple_of(LOOKAHEAD_STEPS) {
                    slow = slow.clone() + (parameter - slow).mul_scalar(LOOKAHEAD_SHARE);
                    parameter = slow.clone();
                }
                arrays.push(slow);
            }
            state.arrays = arrays.into_iter().map(flat).collect();
        }
        self.states.insert(id, state);
        parameter
    }
}

/// Takes a step of each parameter of a module.
struct Stepping<'a> {
    optimizer: &'a mut Optimizer,
    rate: f64,
    gradients: GradientsParams,
    touched: &'a TouchedRows,
    path: Names,
}

impl ModuleMapper for Stepping<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else { return param };
        let layer = self.optimizer.settings.layers.of(&self.path.name(param.id));
        changed(param, |id, tensor| {
            let touched = self.touched.get(&id.val()).map(|rows| &rows[..]);
            self.optimizer.update(id.val(), (self.rate, layer), tensor, gradient, touched)
        })
    }
}

/// Takes missed steps of each parameter of a module.
struct CatchingUp<'a> {
    optimizer: &'a mut Optimizer,
    /// None: all rows.
    touched: Option<&'a TouchedRows>,
}

impl ModuleMapper for CatchingUp<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Optimizer { level, states, .. } = &mut *self.optimizer;
        let (Some(level), Some(state)) = (*level, states.get_mut(&param.id.val())) else {
            return param;
        };
        if state.missed.is_empty() {
            return param;
        }
        let touched = self.touched.filter(|_| state.missed.len() < MOST_MISSED);
        let rows = touched.map(|it| it.get(&param.id.val()).map_or(&[][..], |rows| rows));
        changed(param, |_, tensor| state.take_missed(tensor, rows, None, level))
    }
}

/// A parameter with a value from `change`, in place unless the tensor is shared.
pub(super) fn changed<const D: usize>(
    param: Param<Tensor<D>>,
    change: impl FnOnce(ParamId, Tensor<D>) -> Tensor<D>,
) -> Param<Tensor<D>> {
    let (id, tensor, mapper) = param.consume();
    let tensor = match tensor.device().is_autodiff() {
        true => {
            let trained = tensor.is_require_grad();
            let tensor = Tensor::from_inner(change(id, tensor.inner()));
            if trained { tensor.require_grad() } else { tensor }
        }
        false => change(id, tensor),
    };
    Param::from_mapped_value(id, tensor, mapper)
}

/// Clips, factors of the learning rate and weight decays by the names of arrays in checkpoints. A
/// name includes everything below it: `head` for `head.0`, and `head.0` for `head.0.weight`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layers(pub BTreeMap<String, Layer>);

/// Settings of an array; missing ones are as for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The numbers are clamped to `-clip ..= clip`; 0: no clip.
    pub clip: Option<f64>,
    pub rate: Option<f64>,
    pub decay: Option<f64>,
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings of an array. The longest matching name takes precedence.
    pub fn of(&self, name: &str) -> Layer {
        let above = self.0.iter().filter(|(it, _)| stands_for(it, name));
        // In this order longer names come later.
        above.fold(Layer::default(), |layer, (_, own)| Layer {
            clip: own.clip.or(layer.clip),
            rate: own.rate.or(layer.rate),
            decay: own.decay.or(layer.decay),
        })
    }
}

/// Whether a name is that of an array, or of a group above it.
pub fn stands_for(name: &str, array: &str) -> bool {
    array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
