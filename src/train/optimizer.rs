//! Optimisers: settings, and the step of a model along its gradients.

use std::collections::BTreeMap;

use burn::backend::DispatchTensor;
use burn::module::{Module as _, ModuleMapper, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::model::ops::steps::{AdaGrad, Adam, Lion, ScheduleFree, Sgd, Step};
use crate::model::ops::take_step;
use crate::model::{Compute, Level, Model, Path, to_host};
use crate::weights::Weights;

/// About what tuned weights differ from sensible start values; on a million positions of 300,000
/// games or of 12,000 it costs nothing where the data speaks.
const PRIOR: f64 = 50.0;

/// The `[optimizer]` section of a config, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub name: Name,
    /// Decay of the mean of gradients, the momentum (SGD), what the direction of a step has of it
    /// (Lion), or of the mean of weights (schedule-free).
    pub beta1: f64,
    /// Decay of the mean of squared gradients, or of the momentum (Lion).
    pub beta2: f64,
    /// Keeps the division by roots away from zero.
    pub epsilon: f64,
    /// Times the learning rate, or added to the gradient: see [`Name::decays_apart`].
    pub weight_decay: f64,
    /// Whether Adam corrects its means for having started at zero.
    pub bias_correction: bool,
    /// Lookahead of Ranger.
    pub lookahead: Lookahead,
    /// The norm that all gradients together have at most; 0 = free.
    pub clip_gradients: f64,
    /// The mean that is learnt instead of the weights that take the steps.
    pub average: Option<Averaged>,
    /// Parameters are held within `-clip ..= clip`; 0 = free.
    pub clip: f64,
    /// Parameters with another clip, or another learning rate.
    pub layers: Layers,
    /// Centipawns that a weight is expected to move (Gauss-Newton).
    pub prior: f64,
    /// Centipawns of a step (local search).
    pub step: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    /// Adam whose weight decay does not pass through the means; the usual one for nets.
    AdamW,
    /// Steps by the running means of gradients and of their squares.
    Adam,
    /// AdamW that takes careful steps until it knows enough of the squares of gradients to divide by
    /// them (L. Liu et al., 2020).
    RAdam,
    /// RAdam that looks ahead (M. Zhang et al., 2019): slow weights follow the fast ones, which now
    /// and then go on from there.
    Ranger,
    /// Steps of one size, in the direction of a running mean of gradients (X. Chen et al., 2023). It
    /// wants a learning rate three to ten times smaller than `adamw`.
    Lion,
    /// AdamW that learns the mean of where it has been, and wants no falling learning rate (A.
    /// Defazio et al., 2024).
    #[serde(rename = "schedule-free")]
    ScheduleFree,
    /// Steps that shrink with the sum of all squared gradients so far.
    AdaGrad,
    /// Steps along the gradient, with momentum `beta1`.
    Sgd,
    /// Least squares from all positions at once, step by step; for handcrafted terms.
    #[serde(rename = "gauss-newton")]
    GaussNewton,
    /// One step up or down for each weight, as long as one helps; for handcrafted terms.
    #[serde(rename = "local-search")]
    LocalSearch,
}

impl Name {
    /// The name in configs.
    pub fn text(self) -> String {
        let name = serde_json::to_value(self).expect("a name is text");
        name.as_str().unwrap_or_default().to_string()
    }

    /// Whether it finds weights from all positions at once and ends by itself, instead of
    /// following gradients.
    pub fn is_direct(self) -> bool {
        matches!(self, Name::GaussNewton | Name::LocalSearch)
    }

    /// Whether weights decay by the learning rate, and not through the gradients.
    pub fn decays_apart(self) -> bool {
        use Name::{AdamW, Lion, RAdam, Ranger, ScheduleFree};
        matches!(self, AdamW | RAdam | Ranger | Lion | ScheduleFree)
    }
}

/// A mean of the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Averaged {
    /// A running one, which keeps this share of itself at each step, from 0 to below 1.
    Decaying(f64),
    /// That of the last steps, this share of the run; above 0, to 1.
    Last(f64),
}

impl Averaged {
    /// The share in the mean of the weights after a step; `None` where the mean has not begun. The
    /// run has `steps` steps, a length that counts from the step `begun`.
    pub fn share(self, step: u64, steps: u64, begun: u64) -> Option<f64> {
        match self {
            // Corrected for the start at zero: all shares together are 1 at each step.
            Averaged::Decaying(decay) => Some((1.0 - decay) / (1.0 - decay.powf(step as f64))),
            Averaged::Last(share) => {
                let before = steps - ((steps as f64 * share).ceil() as u64).clamp(1, steps);
                // Means of another length do not count.
                let taken = step.checked_sub(before.max(begun))?;
                (taken > 0).then(|| 1.0 / taken as f64)
            }
        }
    }
}

impl Settings {
    /// Usual values of the method, and weights that are free.
    pub fn usual(name: Name) -> Self {
        let [beta1, beta2] = match name {
            Name::Lion => [0.9, 0.99],
            Name::Ranger => [0.95, 0.999],
            _ => [0.9, 0.999],
        };
        Self {
            name,
            beta1,
            beta2,
            epsilon: 1e-8,
            weight_decay: if name.decays_apart() { 0.01 } else { 0.0 },
            bias_correction: true,
            lookahead: Lookahead { steps: 6, share: 0.5 },
            clip_gradients: 0.0,
            average: None,
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

    /// Numbers that are kept for each weight from step to step.
    pub fn kept(&self) -> u64 {
        // A second set of gradients, while they are made shorter.
        let clipped = u64::from(self.clip_gradients != 0.0);
        self.states() as u64 + clipped + u64::from(self.average.is_some())
    }

    /// Whether what is learnt is not the weights that take the steps.
    pub fn learns_apart(&self) -> bool {
        self.average.is_some() || self.name == Name::ScheduleFree
    }

    /// Arrays of state for each parameter.
    fn states(&self) -> usize {
        match self.name {
            Name::Ranger => 3,
            Name::Lion | Name::Sgd | Name::AdaGrad => 1,
            _ => 2,
        }
    }

    fn schedule_free(&self, clip: f64) -> ScheduleFree {
        let &Self { beta1, beta2, epsilon, weight_decay: decay, .. } = self;
        ScheduleFree { beta1, beta2, epsilon, decay, clip }
    }

    /// The step at learning rate `rate`; `state` counts it already.
    fn step(&self, rate: f64, clip: f64, state: &mut State) -> Step {
        let &Self { beta1, beta2, epsilon, weight_decay, bias_correction, .. } = self;
        match self.name {
            Name::Lion => Lion { beta1, beta2, decay: weight_decay, clip }.at(rate),
            Name::AdaGrad => AdaGrad::at(rate, epsilon, weight_decay, clip),
            Name::Sgd => Sgd::at(rate, beta1, weight_decay, clip),
            Name::ScheduleFree => {
                let [largest, sum] = &mut state.numbers;
                *largest = largest.max(rate);
                let weight = *largest * *largest;
                *sum += weight;
                let share = if *sum > 0.0 { weight / *sum } else { 0.0 };
                self.schedule_free(clip).at(rate, state.steps, share)
            }
            _ => {
                let (decay, coupled_decay) = match self.name.decays_apart() {
                    true => (weight_decay, 0.0),
                    false => (0.0, weight_decay),
                };
                let rectified = matches!(self.name, Name::RAdam | Name::Ranger);
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
                rule.at(rate, state.steps)
            }
        }
    }
}

/// Ranger's lookahead: M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back", 2019.
/// After every `steps` steps slow weights move by `share` of the distance to the fast ones, which
/// continue from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookahead {
    pub steps: u64,
    pub share: f64,
}

/// An optimiser with its state.
#[derive(Clone)]
pub struct Optimizer {
    settings: Settings,
    /// Vector instructions; `None` for Burn's tensor operations.
    level: Option<Level>,
    /// By the number of the parameter.
    states: BTreeMap<u64, State>,
}

/// State of one parameter.
#[derive(Clone, Default)]
struct State {
    /// Steps so far.
    steps: u64,
    /// Schedule-free: the largest learning rate, and the sum of the squares of such.
    numbers: [f64; 2],
    /// Flat.
    arrays: Vec<DispatchTensor>,
}

impl Optimizer {
    /// The model after a step at a learning rate. Parameters without a gradient stay.
    pub fn step(&mut self, rate: f64, model: Model, gradients: GradientsParams) -> Model {
        model.map(&mut Stepping { optimizer: self, rate, gradients, path: Path::default() })
    }

    /// The model with the learnt parameters in place of those that take the steps, where these
    /// differ: the mean of schedule-free AdamW.
    pub fn learnt(&self, model: &Model) -> Option<Model> {
        let is_mean = self.settings.name == Name::ScheduleFree;
        is_mean.then(|| model.clone().map(&mut Learnt { optimizer: self, path: Path::default() }))
    }

    /// The state as a file of arrays.
    ///
    /// # Errors
    /// If a state cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let (mut weights, mut facts) = (Weights::default(), BTreeMap::new());
        for (id, state) in &self.states {
            let numbers = serde_json::to_string(&(state.steps, state.numbers));
            facts.insert(id.to_string(), numbers.map_err(|error| error.to_string())?);
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
        for (id, numbers) in &file.facts {
            let (steps, numbers) =
                serde_json::from_str(numbers).map_err(|error| error.to_string())?;
            let array = |place: usize| {
                let name = format!("{id}.{place}");
                let array = file.weights.0.get(&name).ok_or(format!("{name} is missing"))?;
                let data = TensorData::new(array.values.clone(), [array.values.len()]);
                Ok::<_, String>(Tensor::<1>::from_data(data, device).into_dispatch())
            };
            let arrays = (0..self.settings.states()).map(array).collect::<Result<_, _>>()?;
            let id = id.parse().map_err(|_| format!("{id} is no parameter"))?;
            self.states.insert(id, State { steps, numbers, arrays });
        }
        Ok(self)
    }

    /// Clip and factor of the learning rate of a parameter.
    fn layer(&self, name: &str) -> (f64, f64) {
        let Layer { clip, rate } = self.settings.layers.of(name);
        (clip.unwrap_or(self.settings.clip), rate.unwrap_or(1.0))
    }

    fn update<const D: usize>(
        &mut self,
        id: u64,
        (rate, clip): (f64, f64),
        parameter: Tensor<D>,
        gradient: Tensor<D>,
    ) -> Tensor<D> {
        let mut state = self.states.remove(&id).unwrap_or_default();
        let (shape, count) = (parameter.shape(), self.settings.states());
        let mut arrays: Vec<Tensor<D>> = match state.arrays.is_empty() {
            false => state
                .arrays
                .drain(..)
                .map(|array| Tensor::<1>::from_dispatch(array).reshape(shape.clone()))
                .collect(),
            // Copies of the parameter: it changes in place.
            true => (0..count)
                .map(|place| match (self.settings.name, place) {
                    (Name::ScheduleFree, 0) | (Name::Ranger, 2) => {
                        parameter.clone().mul_scalar(1.0)
                    }
                    _ => gradient.zeros_like(),
                })
                .collect(),
        };
        state.steps += 1;
        let step = self.settings.step(rate, clip, &mut state);
        let slow = (self.settings.name == Name::Ranger).then(|| arrays.pop()).flatten();
        let (mut parameter, mut arrays) = take_step(parameter, gradient, arrays, step, self.level);
        if let Some(mut slow) = slow {
            let Lookahead { steps, share } = self.settings.lookahead;
            if state.steps.is_multiple_of(steps) {
                slow = slow.clone() + (parameter - slow).mul_scalar(share);
                parameter = slow.clone();
            }
            arrays.push(slow);
        }
        let len = shape.num_elements();
        state.arrays = arrays.into_iter().map(|it| it.reshape([len]).into_dispatch()).collect();
        self.states.insert(id, state);
        parameter
    }
}

/// A step of each parameter of a module.
struct Stepping<'a> {
    optimizer: &'a mut Optimizer,
    rate: f64,
    gradients: GradientsParams,
    path: Path,
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
        let (clip, factor) = self.optimizer.layer(&self.path.name());
        let rate = self.rate * factor;
        changed(param, |id, tensor| self.optimizer.update(id.val(), (rate, clip), tensor, gradient))
    }
}

/// The learnt value of each parameter of a module.
struct Learnt<'a> {
    optimizer: &'a Optimizer,
    path: Path,
}

impl ModuleMapper for Learnt<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(state) = self.optimizer.states.get(&param.id.val()) else { return param };
        let (clip, _) = self.optimizer.layer(&self.path.name());
        let [of_y, of_z] = self.optimizer.settings.schedule_free(clip).mean();
        changed(param, |_, y| {
            let z = Tensor::<1>::from_dispatch(state.arrays[0].clone()).reshape(y.shape());
            let x = y.mul_scalar(of_y) - z.mul_scalar(of_z);
            if clip == 0.0 { x } else { x.clamp(-clip, clip) }
        })
    }
}

/// A parameter with another value, computed on the backend itself. The tensor changes in place where
/// nothing else holds it.
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

/// Clips and factors of the learning rate by the names of arrays, as checkpoints have them. A name
/// stands for everything below it: `head` for `head.0`, and `head.0` for `head.0.weight`.
///
/// In a config `head.0 = { .. }` (nested tables) and `"head.0" = { .. }` are the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, toml::Value>")]
pub struct Layers(pub BTreeMap<String, Layer>);

/// Settings of an array; what is missing is as for all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// The numbers stay within `-clip ..= clip`; 0 = free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Factor of the learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl Layers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings of an array. Of several names that stand for it the longest counts.
    pub fn of(&self, name: &str) -> Layer {
        let above = self.0.iter().filter(|(it, _)| stands_for(it, name));
        // In their order the longer ones come later.
        above.fold(Layer::default(), |layer, (_, own)| Layer {
            clip: own.clip.or(layer.clip),
            rate: own.rate.or(layer.rate),
        })
    }

    fn add(&mut self, name: &str, keys: BTreeMap<String, toml::Value>) -> Result<(), String> {
        let (below, own): (BTreeMap<_, _>, BTreeMap<_, _>) =
            keys.into_iter().partition(|(_, value)| value.is_table());
        if below.is_empty() || !own.is_empty() {
            let own = toml::Table::from_iter(own);
            let layer = Layer::deserialize(own).map_err(|error| error.message().to_string())?;
            self.0.insert(name.into(), layer);
        }
        for (key, value) in below {
            let toml::Value::Table(keys) = value else { continue };
            let name = if name.is_empty() { key } else { format!("{name}.{key}") };
            self.add(&name, keys.into_iter().collect())?;
        }
        Ok(())
    }
}

impl TryFrom<BTreeMap<String, toml::Value>> for Layers {
    type Error = String;

    fn try_from(keys: BTreeMap<String, toml::Value>) -> Result<Self, String> {
        let mut layers = Self::default();
        if keys.values().any(|value| !value.is_table()) {
            return Err("expected a table of keys: `clip` and `rate` belong to an array, such as \
                        `output = { clip = 1.5 }`"
                .into());
        }
        if !keys.is_empty() {
            layers.add("", keys)?;
        }
        Ok(layers)
    }
}

impl JsonSchema for Layers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Layers".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "object" } })
    }
}

/// Whether a name is that of an array, or of something above it.
pub fn stands_for(name: &str, array: &str) -> bool {
    array.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
