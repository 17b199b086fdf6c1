//! The Burn modules. They use batches and weights, never files or positions. A [`Model`] computes
//! logits of a batch, or its loss with gradients, often as one operation.

mod aim;
mod device;
mod grouped;
mod hce;
mod head;
mod memory;
mod net;
pub mod ops;
mod sum;

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

pub use burn::tensor::Device;

pub use aim::{Aim, LossInputs};
pub use device::{Adapter, AdapterKind, Backend, Compute, DeviceChoice, DeviceError, is_gpu};
pub use hce::{HceModel, HceShape};
pub use memory::{Copies, DEFAULT_BUDGET, bytes_on_gpu, choose_budget};
pub use net::{NetModel, SetRows, initial_of_size, initial_weights};
pub use ops::KernelStage;
pub use ops::cpu::{Precision, SimdLevel};
pub use sum::SumModel;

use crate::architecture::{Architecture, ArrayKind, NetArray};
use crate::batch::{ActiveRows, Batch, BatchInputs, RowSet};
use crate::weights::{Weights, WeightsError};

pub struct LossGradients {
    /// `[1]`, the mean loss; undefined for upstream gradients.
    pub loss: Tensor<1>,
    pub gradients: TensorGradients,
    pub touched: TouchedRows,
}

/// Flat gradients by the numbers of the parameters.
pub type TensorGradients = BTreeMap<u64, Tensor<1>>;
/// Names of parameters in [`Weights`] and their shapes, by number.
pub type NumberedTensors = BTreeMap<u64, (String, Vec<usize>)>;
/// Rows that a batch touches in ascending order, by the number of the parameter: gradients have
/// only these rows, `[touched, N]`; all others are 0.
pub type TouchedRows = BTreeMap<u64, Arc<[u32]>>;

/// Factors from floats to the integers of arrays in a net's file: one for all, or one per column.
pub type ArrayUnits = Vec<(ArrayKind, Vec<f32>)>;

impl LossGradients {
    /// Expands to the gradients of all rows.
    pub fn expand_rows(mut self, model: &Model) -> Self {
        let arrays = model.list_arrays();
        for (id, touched) in std::mem::take(&mut self.touched) {
            let gradient = self.gradients.remove(&id).expect("touched rows have a gradient");
            self.gradients.insert(id, dense_rows(gradient, &touched, &arrays[&id].1));
        }
        self
    }
}

#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a run has one model")]
pub enum Model {
    Net(NetModel),
    Hce(HceModel),
    Sum(SumModel),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModelKind {
    Net(Architecture),
    Hce(HceShape),
    Sum(Architecture, HceShape),
}

impl Model {
    /// A model with these weights. Fails if an array is missing or has another shape.
    pub fn new(
        kind: &ModelKind,
        weights: &Weights,
        device: &Device,
        compute: Compute,
    ) -> Result<Self, WeightsError> {
        Ok(match kind {
            ModelKind::Net(net) => Model::Net(NetModel::new(net, weights, device, compute)?),
            ModelKind::Hce(shape) => {
                Model::Hce(HceModel::new(1, *shape, weights, device, compute)?)
            }
            ModelKind::Sum(net, shape) => {
                Model::Sum(SumModel::new(net, *shape, weights, device, compute)?)
            }
        })
    }

    /// Computes the outputs before the sigmoid, one per position, `[batch]`.
    pub fn logits(&self, inputs: &BatchInputs) -> Tensor<1> {
        match self {
            Model::Net(model) => model.logits(inputs),
            Model::Hce(model) => model.logits(inputs.terms()),
            Model::Sum(model) => model.logits(inputs),
        }
    }

    /// Computes the objective and its derivative with respect to every parameter. Panics if a model
    /// of plain tensor operations is not on a device for training (`Device::autodiff`).
    pub fn loss_gradients(&self, inputs: &BatchInputs, aim: Aim) -> LossGradients {
        match self {
            Model::Net(model) => model.loss_gradients(inputs, aim, None),
            Model::Hce(model) => model.loss_gradients(inputs.terms(), aim),
            Model::Sum(model) => model.loss_gradients(inputs, aim),
        }
    }

    /// Returns the rows that inputs touch, as in [`LossGradients`].
    pub fn touched_rows(&self, inputs: &BatchInputs) -> TouchedRows {
        self.net().map_or_else(TouchedRows::default, |net| net.touched_rows(inputs))
    }

    /// Copies the model with weights rounded as in a net's file, half away from 0. `units` are
    /// those of the arrays that are integers there. Rows are rounded with their factor.
    pub fn round_weights(&self, units: &[(ArrayKind, Vec<f32>)]) -> Self {
        let factors = self.factors_of_rows();
        self.clone().map_arrays(|id, values| {
            let Some((_, units)) = units.iter().find(|(kind, _)| net::array_id(*kind) == id) else {
                return values;
            };
            let factor = factors.get(&id).cloned();
            let whole = match &factor {
                Some(factor) => values + factor.clone(),
                None => values,
            };
            let round = |whole: Tensor<1>| (whole.clone().abs() + 0.5).floor() * whole.sign();
            let rounded = match units[..] {
                [unit] => round(whole * unit) / unit,
                _ => {
                    let [length] = whole.dims();
                    let units = units.iter().copied().cycle().take(length).collect::<Vec<_>>();
                    let units = TensorData::new(units, [length]);
                    let units = Tensor::from_data(units, &whole.device());
                    round(whole * units.clone()) / units
                }
            };
            match factor {
                Some(factor) => rounded - factor,
                None => rounded,
            }
        })
    }

    /// Returns the factor of each row, flat, by the number of the array of rows.
    fn factors_of_rows(&self) -> BTreeMap<u64, Tensor<1>> {
        let Some(net) = self.net() else { return BTreeMap::new() };
        let sets = net.sets.iter().zip(net.architecture().inputs.sets()).enumerate();
        let factors = sets.filter_map(|(number, (rows, set))| {
            let all: Vec<i32> = (0..set.row_count() as i32).collect();
            let factor = inner_tensor(rows.factor_of_rows(set, &all)?);
            Some((net::array_id(ArrayKind::Rows(number)), flatten(factor)))
        });
        factors.collect()
    }

    /// Copies the parameters to the host, in the form of [`Model::new`].
    pub fn to_weights(&self) -> Weights {
        self.collect_weights(None)
    }

    /// Computes the loss, and its derivative with respect to every parameter in the form of
    /// [`Model::to_weights`]. Panics as [`Model::loss_gradients`] does.
    pub fn compute_gradients(&self, inputs: &BatchInputs, aim: Aim) -> (f32, Weights) {
        let LossGradients { loss, gradients, .. } =
            self.loss_gradients(inputs, aim).expand_rows(self);
        (to_host(loss)[0], self.collect_weights(Some(gradients)))
    }

    fn collect_weights(&self, mut gradients: Option<TensorGradients>) -> Weights {
        let (arrays, mut weights) = (self.list_arrays(), Weights::default());
        self.visit_arrays(|id, values| {
            let (name, shape) = &arrays[&id];
            let values = match &mut gradients {
                None => values,
                Some(gradients) => gradients.remove(&id).unwrap_or_else(|| values.zeros_like()),
            };
            weights.insert(name, shape, to_host(values));
        });
        weights
    }

    fn net(&self) -> Option<&NetModel> {
        match self {
            Model::Net(net) | Model::Sum(SumModel { net, .. }) => Some(net),
            Model::Hce(_) => None,
        }
    }

    pub(crate) fn list_arrays(&self) -> NumberedTensors {
        let net = self.net().map_or(Vec::new(), |net| net.architecture().list_arrays()).into_iter();
        let net =
            net.map(|NetArray { kind, name, shape, .. }| (net::array_id(kind), (name, shape)));
        match self {
            Model::Net(_) => net.collect(),
            Model::Hce(terms) | Model::Sum(SumModel { terms, .. }) => {
                net.chain(terms.list_arrays()).collect()
            }
        }
    }

    /// Calls `see` with the number and the values of each parameter, in a fixed order.
    pub(crate) fn visit_arrays(&self, see: impl FnMut(u64, Tensor<1>)) {
        self.visit(&mut VisitArrays(see));
    }

    /// Changes the values of each parameter; in place unless the tensor is shared.
    pub(crate) fn map_arrays(self, change: impl FnMut(u64, Tensor<1>) -> Tensor<1>) -> Self {
        self.map(&mut MapArrays(change))
    }
}

struct VisitArrays<F>(F);

impl<F: FnMut(u64, Tensor<1>)> ModuleVisitor for VisitArrays<F> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        (self.0)(param.id.val(), flatten(inner_tensor(param.val())));
    }
}

struct MapArrays<F>(F);

impl<F: FnMut(u64, Tensor<1>) -> Tensor<1>> ModuleMapper for MapArrays<F> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let (shape, is_autodiff) = (tensor.shape(), tensor.device().is_autodiff());
        let is_trained = is_autodiff && tensor.is_require_grad();
        let tensor = (self.0)(id.val(), flatten(inner_tensor(tensor))).reshape(shape);
        let tensor = if is_autodiff { Tensor::from_inner(tensor) } else { tensor };
        let tensor = if is_trained { tensor.require_grad() } else { tensor };
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// Removes the gradients of a module's parameters from the gradients of all tensors.
fn collect_gradients(all: &mut burn::tensor::Gradients, module: &impl Module) -> TensorGradients {
    struct Collect<'a>(&'a mut burn::tensor::Gradients, TensorGradients);
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = param.val().grad_remove(self.0);
            self.1.extend(gradient.map(|gradient| (param.id.val(), flatten(gradient))));
        }
    }
    let mut collect = Collect(all, TensorGradients::new());
    module.visit(&mut collect);
    collect.1
}

fn flatten<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let len = tensor.shape().num_elements();
    tensor.reshape([len])
}

/// Returns the backend's tensor, for operations that compute their own gradients.
pub(crate) fn inner_tensor<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    if tensor.device().is_autodiff() { tensor.inner() } else { tensor }
}

/// Reads the values of a tensor, row-major. Fails with the error that a lost device reports.
pub fn try_to_host<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, DeviceError> {
    let lost = |reason: String| DeviceError::Lost(reason);
    let data = tensor.try_into_data().map_err(|error| lost(error.to_string()))?;
    data.try_into_vec().map_err(|error| lost(format!("{error:?}")))
}

/// Calls `see` with the values of a tensor, row-major; values on the host are not copied.
pub fn on_host<const D: usize>(tensor: Tensor<D>, see: impl FnOnce(&[f32])) {
    let tensor = tensor.into_dispatch();
    match ops::borrow_values(&tensor) {
        Some(values) => see(values),
        None => see(&to_host(Tensor::<D>::from_dispatch(tensor))),
    }
}

/// Expands a gradient of touched rows, `[touched, N]`, to all rows; the others are 0.
pub fn dense_rows(gradient: Tensor<1>, touched: &[u32], shape: &[usize]) -> Tensor<1> {
    let (device, width) = (gradient.device(), shape[1]);
    let mut dense = vec![0.0; shape[0] * width];
    on_host(gradient, |gradient| {
        for (&row, gradient) in touched.iter().zip(gradient.chunks_exact(width)) {
            dense[row as usize * width..][..width].copy_from_slice(gradient);
        }
    });
    let len = dense.len();
    Tensor::from_data(TensorData::new(dense, [len]), &device)
}

/// Computes logits on the host, including the base. Fails with the error that the device reports.
pub fn host_outputs(model: &Model, batch: &Batch) -> Result<Vec<f32>, DeviceError> {
    let mut logits = try_to_host(model.logits(&batch.inputs))?;
    logits.iter_mut().zip(&batch.base[..]).for_each(|(logit, base)| *logit += base);
    Ok(logits)
}

/// Reads the values of a tensor, row-major.
pub fn to_host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("all tensors of these models are f32")
}

/// Makes a parameter with a fixed number, which identifies it in a checkpoint's optimiser state.
fn new_param<const D: usize>(
    id: u64,
    values: Vec<f32>,
    shape: Vec<usize>,
    device: &Device,
) -> Param<Tensor<D>> {
    let tensor = new_constant(id, values, shape, device);
    if device.is_autodiff() { tensor.map(Tensor::require_grad) } else { tensor }
}

/// Makes a tensor of the model that is never trained.
fn new_constant<const D: usize>(
    id: u64,
    values: Vec<f32>,
    shape: Vec<usize>,
    device: &Device,
) -> Param<Tensor<D>> {
    Param::initialized(id.into(), Tensor::from_data(TensorData::new(values, shape), device))
}

/// Counts the active rows of a perspective, `[batch, rows]`, or `[batch, touched]`.
fn dense_counts(
    active: &ActiveRows,
    perspective: usize,
    touched: Option<&RowSet>,
    device: &Device,
) -> Tensor<2> {
    let ActiveRows { rows, perspectives, width, indices, .. } = active;
    let columns = touched.map_or(*rows, |touched| touched.all_rows().len());
    let mut dense = vec![0.0_f32; active.len() * columns];
    for (entry, row) in indices.iter().enumerate().filter(|(_, row)| row < rows) {
        let list = entry / width;
        if list % perspectives == perspective {
            let column = touched.map_or(row, |touched| touched.index_of(row));
            dense[list / perspectives * columns + column] += 1.0;
        }
    }
    Tensor::from_data(TensorData::new(dense, [active.len(), columns]), device)
}
