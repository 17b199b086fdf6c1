//! Operations on all gradients of a model: sums over ranks, means of parameters.

use burn::tensor::{Tensor, TensorData};

use super::ranks::Ranks;
use crate::model::ops::steps::{Mean, OptimizerStep};
use crate::model::ops::take_step;
use crate::model::{Model, SimdLevel, TensorGradients, on_host};

/// Loss and gradients of a batch, or of a rank's share of it.
pub struct BatchGradients {
    /// Weighted mean over its positions.
    pub loss: f64,
    pub gradients: TensorGradients,
    /// The sum of the weights of its positions.
    pub weight: f64,
    pub positions: u64,
    /// Whether a rank should stop after this step.
    pub stop: bool,
}

/// Combines the shares of all ranks, with the same bits on each of them. `values` is a buffer.
pub fn combine_ranks(
    ranks: &dyn Ranks,
    share: BatchGradients,
    model: &Model,
    values: &mut Vec<f32>,
) -> BatchGradients {
    let BatchGradients { loss, mut gradients, weight, positions, stop } = share;
    values.clear();
    model.visit_arrays(|id, _| {
        if let Some(gradient) = gradients.get(&id) {
            on_host(gradient.clone(), |it| values.extend(it.iter().map(|it| it * weight as f32)));
        }
    });
    // A share without weight has no loss.
    let loss = if weight > 0.0 { weight * loss } else { 0.0 };
    let mut numbers = [loss, weight, positions as f64, f64::from(u8::from(stop))];
    ranks.sum_over_ranks(values, &mut numbers);
    let [loss, weight, positions, stop] = numbers;
    let unit = if weight > 0.0 { 1.0 / weight } else { 0.0 };
    let mut rest = &values[..];
    model.visit_arrays(|id, _| {
        let Some(gradient) = gradients.get_mut(&id) else { return };
        let len = gradient.shape().num_elements();
        let values = rest.split_off(..len).expect("numbers of all gradients");
        let values: Vec<f32> = values.iter().map(|value| value * unit as f32).collect();
        let data = TensorData::new(values, gradient.shape());
        *gradient = Tensor::from_data(data, &gradient.device());
    });
    let (positions, stop) = (positions as u64, stop > 0.0);
    BatchGradients { loss: loss * unit, gradients, weight, positions, stop }
}

/// Adds a model to a mean of models, with a share above 0, up to 1.
pub fn join_mean(mean: Model, model: &Model, share: f64, level: Option<SimdLevel>) -> Model {
    let mut joining = TensorGradients::new();
    model.visit_arrays(|id, values| drop(joining.insert(id, values)));
    mean.map_arrays(|id, mean| {
        let joining = joining.remove(&id).expect("both have the same parameters");
        let step = OptimizerStep::Mean(Mean { share: share as f32 });
        if share == 1.0 { joining } else { take_step(mean, joining, Vec::new(), step, level).0 }
    })
}
