//! Weights as an export will write them.
//!
//! An export makes integers of the weights of a net: those of the accumulators times QA, and so on.
//! A net that is to know it takes loss and gradients at the floats that such integers stand for, and
//! follows the gradients with the weights that were rounded, as if rounding changed nothing: the
//! straight-through estimator (Y. Bengio et al., "Estimating or Propagating Gradients Through
//! Stochastic Neurons for Conditional Computation", 2013), for nets in integers B. Jacob et al.,
//! "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference",
//! 2018.

use std::collections::BTreeMap;

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;

use super::{inner, is_gpu, to_host};
use crate::architecture::{Architecture, Part};
use crate::weights::{Weights, WeightsError};

/// Factors of the integers of each array, such as QA; other arrays stay floats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rounding(pub BTreeMap<Part, i32>);

impl Rounding {
    /// The weights that an export's integers stand for, in the shape in which they are trained: what
    /// is rounded is the sum of a row and what king buckets share, which stands in the rows, and
    /// what they share is zero. What is no array of the net stays as it is.
    ///
    /// # Errors
    /// If an array is missing or has another shape than the architecture's.
    pub fn weights(&self, weights: &Weights, net: &Architecture) -> Result<Weights, WeightsError> {
        let mut rounded = weights.clone();
        for array in net.arrays() {
            let mut values = weights.get(&array.name, &array.shape)?.to_vec();
            match (array.part, net.array(Part::Factoriser)) {
                (Part::Factoriser, _) => values.fill(0.0),
                (Part::Accumulator, Some(shared)) => {
                    merge(&mut values, weights.get(&shared.name, &shared.shape)?);
                }
                _ => {}
            }
            if let Some(factor) = self.0.get(&array.part) {
                round(&mut values, *factor);
            }
            rounded.insert(&array.name, &array.shape, values);
        }
        Ok(rounded)
    }

    /// The same of one parameter, of which `shared` is added to each 768 rows. It stays on its
    /// device; on a GPU see [`round_there`].
    pub(super) fn param<const D: usize>(
        &self,
        part: Part,
        param: &Param<Tensor<D>>,
        shared: Option<Tensor<D>>,
    ) -> Param<Tensor<D>> {
        let Some(factor) = self.0.get(&part) else { return param.clone() };
        let tensor = inner(param.val());
        let tensor = match is_gpu(&tensor.device()) {
            true => {
                let merged = match shared {
                    None => tensor,
                    Some(shared) => {
                        let times = tensor.dims()[0] / shared.dims()[0];
                        tensor + shared.repeat_dim(0, times)
                    }
                };
                round_there(merged, *factor)
            }
            false => {
                let (shape, device) = (tensor.dims(), tensor.device());
                let mut values = to_host(tensor);
                if let Some(shared) = shared {
                    merge(&mut values, &to_host(shared));
                }
                round(&mut values, *factor);
                Tensor::from_data(TensorData::new(values, shape), &device)
            }
        };
        trained(param, tensor)
    }
}

/// A parameter with other values of the backend itself.
pub(super) fn trained<const D: usize>(
    param: &Param<Tensor<D>>,
    values: Tensor<D>,
) -> Param<Tensor<D>> {
    let values = match param.val().device().is_autodiff() {
        true => Tensor::from_inner(values).require_grad(),
        false => values,
    };
    Param::initialized(param.id, values)
}

/// Adds what king buckets share to the rows of each.
fn merge(rows: &mut [f32], shared: &[f32]) {
    rows.par_chunks_mut(shared.len()).for_each(|rows| {
        rows.iter_mut().zip(shared).for_each(|(to, it)| *to += it);
    });
}

/// Each number becomes the nearest multiple of one over the factor, as an f32; of two that are as
/// near the one further from zero. What is no number stays none.
pub fn round(values: &mut [f32], factor: i32) {
    /// Numbers for a thread.
    const PIECE: usize = 1 << 14;
    let factor = f64::from(factor);
    // No integer is a negative zero.
    let nearest = |value: f32| ((f64::from(value) * factor).round() / factor + 0.0) as f32;
    let each = |values: &mut [f32]| values.iter_mut().for_each(|it| *it = nearest(*it));
    match values.len() <= PIECE {
        true => each(values),
        false => values.par_chunks_mut(PIECE).for_each(each),
    }
}

/// [`round`] by tensor operations, in f32: a number that lies between two multiples, as far as f32
/// can tell, may become the other one.
pub fn round_there<const D: usize>(values: Tensor<D>, factor: i32) -> Tensor<D> {
    let products = values.mul_scalar(factor);
    let nearest = products.clone().abs().add_scalar(0.5).floor() * products.sign();
    nearest.div_scalar(factor)
}
