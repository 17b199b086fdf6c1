//! The gradients of all ranks as one.

use burn::module::{Module as _, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::TrainError;
use super::ranks::Ranks;
use crate::batch::Batch;
use crate::model::{Model, on_host};

/// Results of a batch, or of the share of it that one rank has.
pub struct Outcome {
    /// The weighted mean over its positions.
    pub loss: f64,
    /// Of that mean, each in the order of the model's parameters.
    pub gradients: GradientsParams,
    /// The sum of the weights of its positions.
    pub weight: f64,
    pub positions: u64,
    /// Whether a rank was asked to stop after this step.
    pub stop: bool,
}

/// The sum of the weights of a batch.
pub fn weight(batch: &Batch) -> f64 {
    match batch.weights.is_empty() {
        true => batch.len() as f64,
        false => batch.weights.iter().map(|weight| f64::from(*weight)).sum(),
    }
}

/// The shares of all ranks as one. The bits are the same on all of them. `values` is a buffer.
///
/// # Errors
/// Those of a device that gives no gradients.
pub fn together(
    ranks: &dyn Ranks,
    own: Outcome,
    model: &Model,
    values: &mut Vec<f32>,
) -> Result<Outcome, TrainError> {
    let Outcome { loss, gradients, weight, positions, stop } = own;
    values.clear();
    let mut flat = Flat { gradients, weight: weight as f32, values, found: Vec::new(), lost: None };
    model.visit(&mut flat);
    let Flat { values, found, lost, .. } = flat;
    if let Some(reason) = lost {
        return Err(TrainError::Gradients(reason));
    }
    // A share that counts nothing has no loss.
    let loss = if weight > 0.0 { weight * loss } else { 0.0 };
    let mut numbers = [loss, weight, positions as f64, f64::from(u8::from(stop))];
    ranks.sum(values, &mut numbers);
    let [loss, weight, positions, stop] = numbers;
    let part = if weight > 0.0 { 1.0 / weight } else { 0.0 };
    let (gradients, found) = (GradientsParams::new(), found.into_iter());
    let mut shaped = Shaped { gradients, part: part as f32, values, found };
    model.visit(&mut shaped);
    Ok(Outcome {
        loss: loss * part,
        gradients: shaped.gradients,
        weight,
        positions: positions as u64,
        stop: stop > 0.0,
    })
}

/// Puts gradients one behind the other, each times the weight.
struct Flat<'a> {
    gradients: GradientsParams,
    weight: f32,
    values: &'a mut Vec<f32>,
    /// Of each parameter in their order whether it has one.
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

/// A part of what is flat, in the shapes that it had.
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
        let value = param.val();
        let value = if value.device().is_autodiff() { value.inner() } else { value };
        let (values, rest) = self.values.split_at(value.shape().num_elements());
        self.values = rest;
        let values: Vec<f32> = values.iter().map(|value| value * self.part).collect();
        let data = TensorData::new(values, value.shape());
        self.gradients.register(param.id, Tensor::<D>::from_data(data, &value.device()));
    }
}
