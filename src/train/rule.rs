//! What turns a batch into a step: an optimiser that follows gradients, or a direct method.

use burn::optim::GradientsParams;
use burn::tensor::Device;

use super::direct::Direct;
use super::optimizer::{Optimizer, Settings};
use crate::model::{Compute, Model};

/// The rule of a run, with its state.
pub enum Rule {
    Gradient(Optimizer),
    Direct(Box<Direct>),
}

impl Rule {
    /// `state` is what [`Rule::to_bytes`] gave, or empty at the beginning.
    pub fn new(
        settings: &Settings,
        compute: Compute,
        device: &Device,
        state: Vec<u8>,
    ) -> Result<Self, String> {
        if settings.name.is_direct() {
            return Direct::new(settings, &state).map(|direct| Rule::Direct(Box::new(direct)));
        }
        let optimizer = settings.build(compute);
        Ok(Rule::Gradient(match state.is_empty() {
            true => optimizer,
            false => optimizer.load(&state, device)?,
        }))
    }

    /// The model a step down the gradients.
    ///
    /// # Panics
    /// If the method is direct.
    pub fn follow(&mut self, rate: f64, model: Model, gradients: GradientsParams) -> Model {
        match self {
            Rule::Gradient(optimizer) => optimizer.step(rate, model, gradients),
            Rule::Direct(_) => panic!("direct methods follow no gradient"),
        }
    }

    /// The model with what was learnt, where this is not what takes the steps.
    pub fn learnt(&self, model: &Model) -> Option<Model> {
        let Rule::Gradient(optimizer) = self else { return None };
        optimizer.learnt(model)
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Rule::Gradient(optimizer) => optimizer.to_bytes(),
            Rule::Direct(direct) => Ok(direct.to_bytes()),
        }
    }
}
