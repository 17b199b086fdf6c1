//! The model of a run with its optimiser.

use std::collections::BTreeMap;

use super::direct::{Direct, DirectStep};
use super::gradients::join_mean;
use super::optimizer::ModelOptimizer;
use super::{TrainError, Training};
use crate::batch::{BatchInputs, MoveChoices};
use crate::model::{Model, TensorGradients, TouchedRows};
use crate::weights::{Weights, WeightsError};

const WHOLE: &str = "a step gives the model back";

/// Model of a run with its optimiser, and the mean of its weights if the optimiser averages.
pub struct Learner<'a> {
    job: &'a Training<'a>,
    /// Model that takes the steps; None only during a step.
    model: Option<Model>,
    /// Running mean of its weights, which is the result, if the optimiser averages.
    average: Option<Model>,
    method: StepMethod,
}

/// How a run takes its steps.
enum StepMethod {
    Gradient(Box<ModelOptimizer>),
    Direct(Box<Direct>),
}

impl<'a> Learner<'a> {
    /// Creates a learner from selected weights and a [record](Learner::record_optimizer), empty at
    /// first.
    pub fn new(job: &'a Training, selected: &Weights, record: Vec<u8>) -> Result<Self, TrainError> {
        let settings = &job.settings.optimizer;
        let wrong = |error: WeightsError| TrainError::Optimizer(error.into());
        let device = job.device.clone().autodiff();
        let model = |weights: &Weights| Model::new(&job.kind, weights, &device, job.compute);
        let selected = model(selected)?;
        let (stepping, record) = match settings.average_decay.is_some() && !record.is_empty() {
            false => (selected.clone(), record),
            true => {
                let file = Weights::from_bytes(&record).map_err(wrong)?;
                (model(&file.weights)?, file.blob)
            }
        };
        let average = settings.average_decay.map(|_| selected);
        let method = if settings.name.is_direct() {
            Direct::new(settings, &record).map(|direct| StepMethod::Direct(direct.into()))
        } else {
            let loaded = settings.build_optimizer(job.compute).load_state(&record, job.device);
            loaded.map(|optimizer| StepMethod::Gradient(optimizer.into()))
        };
        let method = method.map_err(TrainError::Optimizer)?;
        Ok(Self { job, model: Some(stepping), average, method })
    }

    pub fn uses_gradients(&self) -> bool {
        matches!(self.method, StepMethod::Gradient(_))
    }

    pub fn model(&self) -> &Model {
        self.model.as_ref().expect(WHOLE)
    }

    /// Returns the resulting model: the mean, if the optimiser averages.
    pub fn learnt_model(&mut self) -> &Model {
        self.catch_up(None);
        self.average.as_ref().unwrap_or_else(|| self.model())
    }

    /// Takes the steps that the rows of a batch missed, or all rows; needed before their gradients.
    pub fn catch_up(&mut self, batch: Option<&BatchInputs>) {
        let StepMethod::Gradient(optimizer) = &mut self.method else { return };
        let model = self.model.take().expect(WHOLE);
        let touched = batch.map(|inputs| model.touched_rows(inputs));
        self.model = Some(optimizer.catch_up(model, touched.as_ref()));
    }

    /// Applies one optimiser step, number `step` from 1. Panics if the method is direct.
    pub fn step_along(
        &mut self,
        step: u64,
        rate: f64,
        gradients: TensorGradients,
        touched: &TouchedRows,
    ) {
        let StepMethod::Gradient(optimizer) = &mut self.method else {
            panic!("no gradient is followed")
        };
        // No other reference to the model exists, so its tensors change in place.
        let model = optimizer.step_model(rate, self.model.take().expect(WHOLE), gradients, touched);
        let decay = self.job.settings.optimizer.average_decay.unwrap_or(0.0);
        // Corrected for the start at zero: the shares of all steps sum to 1.
        let share = (1.0 - decay) / (1.0 - decay.powf(step as f64));
        let level = self.job.compute.simd_level();
        self.average = self.average.take().map(|mean| join_mean(mean, &model, share, level));
        self.model = Some(model);
    }

    /// Applies one step of a direct method; `shares` are factors of losses, empty means all 1.
    /// Panics if the method follows gradients.
    pub fn step_directly(
        &mut self,
        inputs: &BatchInputs,
        targets: &[f32],
        shares: &[f32],
        choices: Option<&MoveChoices>,
    ) -> Result<DirectStep, TrainError> {
        let weights = self.model().to_weights();
        let Training { kind, compute, device, settings, .. } = self.job;
        let StepMethod::Direct(method) = &mut self.method else { panic!("gradients are followed") };
        let goal = (targets, shares, settings.loss);
        let stepped = method.step_once(kind, weights, inputs, goal, choices)?;
        let device = (*device).clone().autodiff();
        self.model = Some(Model::new(kind, &stepped.weights, &device, *compute)?);
        Ok(stepped)
    }

    /// Serialises the optimiser for resuming, with the weights that take the steps if these differ.
    pub fn record_optimizer(&mut self) -> Result<Vec<u8>, TrainError> {
        self.catch_up(None);
        let wrong = |error: WeightsError| TrainError::Optimizer(error.into());
        let record = match &self.method {
            StepMethod::Gradient(optimizer) => optimizer.to_bytes().map_err(wrong)?,
            StepMethod::Direct(direct) => direct.to_bytes(),
        };
        if self.average.is_none() {
            return Ok(record);
        }
        let bytes = self.model().to_weights().to_bytes(&BTreeMap::new(), &record);
        bytes.map_err(wrong)
    }
}
