//! The gradients of all ranks as one.

use burn::module::{Module as _, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use super::TrainError;
use super::ranks::{Ranks, SentAs};
use crate::batch::Batch;
use crate::model::{Model, try_to_host};

/// What a batch came to, or the share of it that one rank has.
pub struct Outcome<G> {
    /// The mean over what its positions count.
    pub loss: f64,
    /// Of that mean, each in the order of the model's parameters.
    pub gradients: G,
    /// What its positions count, all together.
    pub weight: f64,
    pub positions: u64,
    /// Whether somebody wishes to stop behind this step.
    pub stop: bool,
}

/// What the positions of a batch count, all together.
pub fn weight(batch: &Batch) -> f64 {
    match batch.weights.is_empty() {
        true => batch.len() as f64,
        false => batch.weights.iter().map(|weight| f64::from(*weight)).sum(),
    }
}

/// The shares of all ranks as one. The bits are the same on all of them.
///
/// # Errors
/// Those of the ranks, and of a device that gives no gradients.
pub fn together(
    ranks: &dyn Ranks,
    sent_as: SentAs,
    own: Outcome<GradientsParams>,
    model: &Model,
) -> Result<Outcome<GradientsParams>, TrainError> {
    let Outcome { loss, gradients, weight, positions, stop } = own;
    let mut flat = Flat { gradients, values: Vec::new(), found: Vec::new(), lost: None };
    model.visit(&mut flat);
    let Flat { mut values, found, lost, .. } = flat;
    if let Some(reason) = lost {
        return Err(TrainError::Gradients(reason));
    }
    scale(&mut values, weight);
    // A share that counts nothing has no loss.
    let loss = if weight > 0.0 { weight * loss } else { 0.0 };
    let mut numbers = [loss, weight, positions as f64, f64::from(u8::from(stop))];
    ranks.sum(&mut values, sent_as, &mut numbers)?;
    let [loss, weight, positions, stop] = numbers;
    let part = if weight > 0.0 { 1.0 / weight } else { 0.0 };
    scale(&mut values, part);
    let found = found.into_iter();
    let mut shaped = Shaped { gradients: GradientsParams::new(), values: &values, found };
    model.visit(&mut shaped);
    Ok(Outcome {
        loss: loss * part,
        gradients: shaped.gradients,
        weight,
        positions: positions as u64,
        stop: stop > 0.0,
    })
}

fn scale(values: &mut [f32], factor: f64) {
    values.iter_mut().for_each(|value| *value *= factor as f32);
}

/// Gradients one behind the other.
struct Flat {
    gradients: GradientsParams,
    values: Vec<f32>,
    /// Of each parameter in their order whether it has one.
    found: Vec<bool>,
    lost: Option<String>,
}

impl ModuleVisitor for Flat {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.remove::<D>(param.id);
        self.found.push(gradient.is_some());
        match gradient.map(try_to_host) {
            Some(Ok(values)) if self.values.is_empty() => self.values = values,
            Some(Ok(values)) => self.values.extend_from_slice(&values),
            Some(Err(lost)) => self.lost = Some(lost.to_string()),
            None => {}
        }
    }
}

/// What is flat, in the shapes that it had.
struct Shaped<'a> {
    gradients: GradientsParams,
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
        let data = TensorData::new(values.to_vec(), value.shape());
        self.gradients.register(param.id, Tensor::<D>::from_data(data, &value.device()));
    }
}
