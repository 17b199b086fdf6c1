//! Operations on all gradients of a model: clipping, sums over ranks, means of parameters.

use burn::module::{Module as _, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::optimizer::changed;
use super::ranks::Ranks;
use crate::model::ops::steps::{Mean, Step};
use crate::model::ops::take_step;
use crate::model::{Level, Model, is_gpu, on_host, to_host};

/// The values of a parameter, outside of autodiff.
fn value<const D: usize>(param: &Param<Tensor<D>>) -> Tensor<D> {
    let value = param.val();
    if value.device().is_autodiff() { value.inner() } else { value }
}

/// Scales the gradients of a model by one factor where their common norm exceeds `most`: R. Pascanu
/// et al., "On the difficulty of training recurrent neural networks", 2013.
pub fn clipped(gradients: GradientsParams, model: &Model, most: f64) -> GradientsParams {
    let mut norm = Norm { gradients: &gradients, squared: None };
    model.visit(&mut norm);
    let Some(squared) = norm.squared else { return gradients };
    let norm = squared.sqrt(); // [1]
    let mut factor = norm.clone().recip() * most as f32;
    if is_gpu(&norm.device()) {
        // Reading the norm would block.
        factor = factor.clamp_max(1.0);
    } else if f64::from(to_host(norm)[0]) <= most {
        return gradients;
    }
    let mut scale = Scale { from: gradients, to: GradientsParams::new(), factor };
    model.visit(&mut scale);
    scale.to
}

struct Norm<'a> {
    gradients: &'a GradientsParams,
    /// `[1]`
    squared: Option<Tensor<1>>,
}

impl ModuleVisitor for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.get::<D>(param.id) else { return };
        let len = gradient.shape().num_elements();
        // A product of matrices adds up in a fixed order; Burn's `sum` as threads finish.
        let row = gradient.reshape([1, len]);
        let squared = row.clone().matmul(row.transpose()).reshape([1]);
        self.squared = Some(match self.squared.take() {
            None => squared,
            Some(sum) => sum + squared,
        });
    }
}

struct Scale {
    from: GradientsParams,
    to: GradientsParams,
    factor: Tensor<1>,
}

impl ModuleVisitor for Scale {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.from.remove::<D>(param.id) {
            let factor = self.factor.clone().unsqueeze::<D>();
            self.to.register(param.id, gradient * factor);
        }
    }
}

/// Results of a batch, or of the share of it that one rank has.
pub struct Outcome {
    /// The weighted mean over its positions.
    pub loss: f64,
    /// Gradients of that mean.
    pub gradients: GradientsParams,
    /// The sum of the weights of its positions.
    pub weight: f64,
    pub positions: u64,
    /// Whether a rank was asked to stop after this step.
    pub stop: bool,
}

/// Combines the shares of all ranks, with the same bits on each of them. `values` is a buffer.
///
/// # Errors
/// Those of a device that gives no gradients.
pub fn together(
    ranks: &dyn Ranks,
    own: Outcome,
    model: &Model,
    values: &mut Vec<f32>,
) -> Result<Outcome, String> {
    let Outcome { loss, gradients, weight, positions, stop } = own;
    values.clear();
    let mut flat = Flat { gradients, weight: weight as f32, values, found: Vec::new(), lost: None };
    model.visit(&mut flat);
    let Flat { values, found, lost, .. } = flat;
    if let Some(reason) = lost {
        return Err(reason);
    }
    // A share without weight has no loss.
    let loss = if weight > 0.0 { weight * loss } else { 0.0 };
    let mut numbers = [loss, weight, positions as f64, f64::from(u8::from(stop))];
    ranks.sum(values, &mut numbers);
    let [loss, weight, positions, stop] = numbers;
    let part = if weight > 0.0 { 1.0 / weight } else { 0.0 };
    let (gradients, found) = (GradientsParams::new(), found.into_iter());
    let mut shaped = Shaped { gradients, part: part as f32, values, found };
    model.visit(&mut shaped);
    let (gradients, positions, stop) = (shaped.gradients, positions as u64, stop > 0.0);
    Ok(Outcome { loss: loss * part, gradients, weight, positions, stop })
}

/// Concatenates gradients, each times the weight.
struct Flat<'a> {
    gradients: GradientsParams,
    weight: f32,
    values: &'a mut Vec<f32>,
    /// Whether each parameter, in their order, has a gradient.
    found: Vec<bool>,
    lost: Option<String>,
}

impl ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.remove::<D>(param.id);
        self.found.push(gradient.is_some());
        let Some(gradient) = gradient else { return };
        let (all, weight) = (&mut *self.values, self.weight);
        let add = |values: &[f32]| all.extend(values.iter().map(|value| value * weight));
        if let Err(lost) = on_host(gradient, add) {
            self.lost = Some(lost.to_string());
        }
    }
}

/// Cuts concatenated gradients into their shapes again, each times `part`.
struct Shaped<'a> {
    gradients: GradientsParams,
    part: f32,
    values: &'a [f32],
    found: std::vec::IntoIter<bool>,
}

impl ModuleVisitor for Shaped<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.found.next() != Some(true) {
            return;
        }
        let value = value(param);
        let (values, rest) = self.values.split_at(value.shape().num_elements());
        self.values = rest;
        let values: Vec<f32> = values.iter().map(|value| value * self.part).collect();
        let data = TensorData::new(values, value.shape());
        self.gradients.register(param.id, Tensor::<D>::from_data(data, &value.device()));
    }
}

/// Adds a model to a mean of models; its share is above 0, up to 1.
pub fn join_mean(mean: Model, model: &Model, share: f64, level: Option<Level>) -> Model {
    let mut collect = Collect(GradientsParams::new());
    model.visit(&mut collect);
    mean.map(&mut Joining { parameters: collect.0, share, level })
}

/// The parameters of a model in the place of gradients.
struct Collect(GradientsParams);

impl ModuleVisitor for Collect {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.register(param.id, value(param));
    }
}

struct Joining {
    parameters: GradientsParams,
    share: f64,
    level: Option<Level>,
}

impl ModuleMapper for Joining {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(joining) = self.parameters.remove::<D>(param.id) else { return param };
        changed(param, |_, mean| match self.share {
            1.0 => joining,
            share => {
                let step = Step::Mean(Mean { share: share as f32 });
                take_step(mean, joining, Vec::new(), step, self.level).0
            }
        })
    }
}
