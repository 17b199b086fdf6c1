//! The Burn modules. They use batches and weights, never files or positions.
//!
//! A [`Model`] computes logits of a batch, or its loss with gradients, often as one operation.

mod aim;
mod device;
mod hce;
mod head;
mod lists;
mod net;
pub mod ops;
mod sum;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Shape, Tensor, TensorData};

pub use burn::tensor::Device;

pub use aim::{Aim, LossInputs};
pub use device::{Adapter, AdapterKind, Backend, Compute, DeviceChoice, DeviceError, ROOM, is_gpu};
pub use hce::{HceModel, HceShape};
pub use net::{NetModel, SetRows, initial, initial_of_size};
pub use ops::Stage;
pub use ops::cpu::{Level, Precision};
pub use sum::SumModel;

use crate::architecture::{Architecture, Array};
use crate::batch::{ActiveRows, Batch, Inputs, RowSet, Terms};
use crate::weights::{Weights, WeightsError};

/// Gradients by each trained parameter.
pub struct LossGradients {
    /// `[1]`, the mean loss; undefined for forces.
    pub loss: Tensor<1>,
    pub gradients: GradientsParams,
    pub touched: TouchedRows,
}

/// Parameters of which a batch touches only some rows, by number, and these rows in order:
/// gradients have only these rows, `[touched, N]`; all others are 0.
pub type TouchedRows = BTreeMap<u64, Arc<[u32]>>;

impl LossGradients {
    /// Computes gradients by Burn's autodiff.
    fn by_autodiff<M: Module>(loss: Tensor<1>, model: &M) -> Self {
        let gradients = GradientsParams::from_grads(loss.backward(), model);
        Self { loss: loss.inner(), gradients, touched: TouchedRows::default() }
    }

    /// Expands to the gradients of all rows.
    pub fn dense(mut self, model: &Model) -> Self {
        let arrays = model.architecture().map_or(Vec::new(), Architecture::arrays);
        for Array { part, shape, .. } in arrays {
            let id = net::id(part);
            let Some(touched) = self.touched.remove(&id) else { continue };
            let Some(gradient) = self.gradients.remove::<2>(id.into()) else { continue };
            self.gradients.register(id.into(), dense_rows(gradient, &touched, shape.into()));
        }
        self
    }
}

/// Every model that can be trained.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has one model")]
pub enum Model {
    Net(NetModel),
    Hce(HceModel),
    Sum(SumModel),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Net(Architecture),
    Hce(HceShape),
    /// A net and the terms that it is added to.
    Sum(Architecture, HceShape),
}

impl Model {
    /// A model with these weights.
    ///
    /// # Errors
    /// If an array is missing or has another shape.
    pub fn new(
        kind: &Kind,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        Ok(match kind {
            Kind::Net(net) => Model::Net(NetModel::new(net, weights, device, compute)?),
            Kind::Hce(shape) => Model::Hce(HceModel::new(1, *shape, weights, device, compute)?),
            Kind::Sum(net, shape) => {
                Model::Sum(SumModel::new(net, *shape, weights, device, compute)?)
            }
        })
    }

    /// The output before the sigmoid, one a position, `[batch]`.
    pub fn logits(&self, inputs: &Inputs) -> Tensor<1> {
        match self {
            Model::Net(model) => model.logits(inputs),
            Model::Hce(model) => model.logits(pieces(inputs)),
            Model::Sum(model) => model.logits(inputs),
        }
    }

    /// The objective, and its derivative by every parameter. A GPU is sent the lists of owned
    /// inputs as they lie in memory, those of borrowed ones as a copy.
    ///
    /// # Panics
    /// If a model of plain tensor operations is not on a device for training (`Device::autodiff`).
    pub fn loss_gradients<'a>(
        &self,
        inputs: impl Into<Cow<'a, Inputs>>,
        aim: Aim,
    ) -> LossGradients {
        let inputs = inputs.into();
        match self {
            Model::Net(model) => model.loss_gradients(inputs, aim, None),
            Model::Hce(model) => model.loss_gradients(pieces(&inputs), aim),
            Model::Sum(model) => model.loss_gradients(&inputs, aim),
        }
    }

    /// The rows that inputs touch, as in [`LossGradients`].
    pub fn touched(&self, inputs: &Inputs) -> TouchedRows {
        match self {
            Model::Net(net) | Model::Sum(SumModel { net, .. }) => net.touched(inputs),
            Model::Hce(_) => TouchedRows::default(),
        }
    }

    /// The parameters on the host, in the form of [`Model::new`].
    pub fn weights(&self) -> Weights {
        self.collect(None)
    }

    /// The loss, and the derivative by every parameter in the form of [`Model::weights`].
    ///
    /// # Panics
    /// As [`Model::loss_gradients`] does.
    pub fn gradients(&self, inputs: &Inputs, aim: Aim) -> (f32, Weights) {
        let LossGradients { loss, gradients, .. } = self.loss_gradients(inputs, aim).dense(self);
        (to_host(loss)[0], self.collect(Some(&gradients)))
    }

    /// The parameters, or their derivatives.
    fn collect(&self, gradients: Option<&GradientsParams>) -> Weights {
        let mut collect =
            CollectArrays { gradients, weights: Weights::default(), path: self.names() };
        self.visit(&mut collect);
        let mut weights = collect.weights;
        if let Some(net) = self.architecture() {
            for Array { name, shape, .. } in net.arrays() {
                weights.0.get_mut(&name).expect("a net has its arrays").shape = shape;
            }
        }
        weights
    }

    fn architecture(&self) -> Option<&Architecture> {
        match self {
            Model::Net(net) | Model::Sum(SumModel { net, .. }) => Some(net.architecture()),
            Model::Hce(_) => None,
        }
    }

    /// Names of the parameters in [`Weights`].
    pub(crate) fn names(&self) -> Names {
        let arrays = self.architecture().map_or(Vec::new(), Architecture::arrays);
        let arrays = arrays.into_iter().map(|array| (net::id(array.part), array.name));
        Names { arrays: arrays.collect(), path: Vec::new() }
    }
}

fn pieces(inputs: &Inputs) -> &[Arc<Terms>] {
    let Inputs::Terms(pieces) = inputs else {
        panic!("handcrafted terms are no one-hot inputs");
    };
    pieces
}

struct CollectArrays<'a> {
    gradients: Option<&'a GradientsParams>,
    weights: Weights,
    path: Names,
}

/// Visitor for the names of parameters in [`Weights`]: a net's arrays, or paths of fields.
pub(crate) struct Names {
    /// Names of arrays by the number of the parameter.
    arrays: BTreeMap<u64, String>,
    path: Vec<String>,
}

impl Names {
    pub fn enter(&mut self, name: &str, container: &str) {
        // Enum variants and the parts of a sum are not part of names.
        let nameless = container.starts_with("Enum") || container.ends_with("SumModel");
        self.path.push(if nameless { String::new() } else { name.into() });
    }

    pub fn exit(&mut self) {
        self.path.pop();
    }

    pub fn name(&self, id: ParamId) -> String {
        self.arrays.get(&id.val()).cloned().unwrap_or_else(|| {
            let parts = self.path.iter().map(String::as_str).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(".")
        })
    }
}

impl ModuleVisitor for CollectArrays<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = match self.gradients {
            None => param.val(),
            Some(gradients) => gradients.get(param.id).unwrap_or_else(|| param.val().zeros_like()),
        };
        let shape = tensor.dims();
        self.weights.insert(&self.path.name(param.id), &shape, to_host(tensor));
    }
}

/// The backend's own tensor, for operations that compute their own gradients.
pub(crate) fn inner<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    if tensor.device().is_autodiff() { tensor.inner() } else { tensor }
}

/// Values of a tensor, row-major, from a device that may have been lost.
///
/// # Errors
/// The error that the device reports.
pub fn try_to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, DeviceError> {
    let lost = |reason: String| DeviceError::Lost(reason);
    let data = tensor.try_into_data().map_err(|error| lost(error.to_string()))?;
    data.try_into_vec().map_err(|error| lost(format!("{error:?}")))
}

/// Calls `see` with the values of a tensor, row-major; values on the host are not copied.
pub fn on_host<const D: usize>(tensor: Tensor<D>, see: impl FnOnce(&[f32])) {
    let tensor = tensor.into_dispatch();
    match ops::borrow(&tensor) {
        Some(values) => see(values),
        None => see(&to_host(Tensor::<D>::from_dispatch(tensor))),
    }
}

/// Expands a gradient of some rows, `[touched, N]`, to `[rows, N]`; all others are 0.
pub fn dense_rows<const D: usize>(gradient: Tensor<D>, touched: &[u32], shape: Shape) -> Tensor<D> {
    let (device, width) = (gradient.device(), shape.num_elements() / shape[0]);
    let mut dense = vec![0.0; shape.num_elements()];
    on_host(gradient, |gradient| {
        for (&row, gradient) in touched.iter().zip(gradient.chunks_exact(width)) {
            dense[row as usize * width..][..width].copy_from_slice(gradient);
        }
    });
    Tensor::from_data(TensorData::new(dense, shape), &device)
}

/// Logits of a batch on the host, including its base.
///
/// # Errors
/// The error that the device reports.
pub fn outputs(model: &Model, batch: &Batch) -> Result<Vec<f32>, DeviceError> {
    let mut logits = try_to_host(model.logits(&batch.inputs))?;
    logits.iter_mut().zip(&batch.base[..]).for_each(|(logit, base)| *logit += base);
    Ok(logits)
}

/// The values of a tensor, row-major.
pub fn to_host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("all tensors of these models are f32")
}

/// A parameter with a fixed number, by which a checkpoint's optimiser state finds it.
fn param<const D: usize>(
    id: u64,
    values: Vec<f32>,
    shape: Vec<usize>,
    device: &Device,
) -> Param<Tensor<D>> {
    let tensor = constant(id, values, shape, device);
    if device.is_autodiff() { tensor.map(Tensor::require_grad) } else { tensor }
}

/// A tensor of the model that is never trained.
fn constant<const D: usize>(
    id: u64,
    values: Vec<f32>,
    shape: Vec<usize>,
    device: &Device,
) -> Param<Tensor<D>> {
    Param::initialized(id.into(), Tensor::from_data(TensorData::new(values, shape), device))
}

/// Counts of the active rows of a perspective, as a dense matrix.
///
/// # Shapes
/// Output: `[batch, rows]`, or `[batch, touched]`
fn dense(active: &ActiveRows, view: usize, touched: Option<&RowSet>, device: &Device) -> Tensor<2> {
    let ActiveRows { rows, views, places, indices, .. } = active;
    let columns = touched.map_or(*rows, |touched| touched.rows().len());
    let mut dense = vec![0.0_f32; active.len() * columns];
    for (place, row) in indices.iter().enumerate().filter(|(_, row)| row < rows) {
        let list = place / places;
        if list % views == view {
            let column = touched.map_or(row, |touched| touched.place(row));
            dense[list / views * columns + column] += 1.0;
        }
    }
    Tensor::from_data(TensorData::new(dense, [active.len(), columns]), device)
}
