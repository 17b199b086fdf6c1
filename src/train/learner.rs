//! The model of a run, what moves it, and what is learnt of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use burn::optim::GradientsParams;

use super::average::Average;
use super::clip::clipped;
use super::direct::Stepped;
use super::rule::Rule;
use super::{Rounded, TrainError, Training};
use crate::batch::{Choices, Inputs};
use crate::model::{Kind, Model, is_gpu};
use crate::weights::Weights;

/// Why there is a model between steps.
const WHOLE: &str = "a step gives the model back";

/// The model of a run, what moves it, and what is learnt of it.
pub struct Learner<'a> {
    job: &'a Training<'a>,
    /// What takes the steps; none only while it takes one.
    model: Option<Model>,
    /// What is learnt in its place, if it is a mean; none only while something joins it.
    average: Option<Average>,
    rule: Rule,
}

impl<'a> Learner<'a> {
    /// Goes on from what was learnt, and the record that belongs to it; the record is empty at the
    /// beginning.
    pub fn new(job: &'a Training, learnt: &Weights, record: Vec<u8>) -> Result<Self, TrainError> {
        let settings = &job.settings.optimizer;
        let device = job.device.clone().autodiff();
        let model = |weights: &Weights| Model::new(&job.kind, weights, &device, job.compute);
        let learnt = model(learnt)?;
        let (takes, record) = match settings.learns_apart() && !record.is_empty() {
            false => (learnt.clone(), record),
            true => {
                let file = Weights::from_bytes(&record)
                    .map_err(|error| TrainError::Optimizer(error.to_string()))?;
                (model(&file.weights)?, file.blob)
            }
        };
        let average = settings.average.map(|_| Average::new(learnt, job.compute));
        let rule =
            Rule::new(settings, job.compute, job.device, record).map_err(TrainError::Optimizer)?;
        Ok(Self { job, model: Some(takes), average, rule })
    }

    /// Whether it follows gradients: else it leaps.
    pub fn follows(&self) -> bool {
        matches!(self.rule, Rule::Gradient(_))
    }

    /// What takes the steps.
    pub fn model(&self) -> &Model {
        self.model.as_ref().expect(WHOLE)
    }

    /// What the gradients of a step are taken of, the so-and-so-many-th from 1: what takes the steps,
    /// or the weights that an export would make of it.
    pub fn seen(&self, step: u64) -> Cow<'_, Model> {
        match self.job.settings.rounding(step - 1) {
            Some(rounding) => Cow::Owned(self.model().rounded(rounding)),
            None => Cow::Borrowed(self.model()),
        }
    }

    /// A step down the gradients, the so-and-so-many-th from 1.
    ///
    /// # Panics
    /// If the method is direct.
    pub fn follow(&mut self, step: u64, rate: f64, gradients: GradientsParams) {
        let gradients = match self.job.settings.optimizer.clip_gradients {
            0.0 => gradients,
            most => clipped(gradients, self.model(), most),
        };
        // Nobody else holds the model, so that its tensors change in place.
        let model = self.model.take().expect(WHOLE);
        let model = self.rule.follow(rate, model, gradients);
        if let Some(share) = self.share(step) {
            let average = self.average.take().expect(WHOLE);
            self.average = Some(average.join(&model, share));
        }
        self.model = Some(model);
    }

    /// A step of a direct method. The losses count their `shares`, which are none where all positions
    /// count alike.
    ///
    /// # Panics
    /// If the method follows gradients.
    pub fn leap(
        &mut self,
        inputs: &Inputs,
        targets: &[f32],
        shares: &[f32],
        choices: Option<&Choices>,
    ) -> Result<Stepped, TrainError> {
        let weights = self.model().weights();
        let Training { kind, compute, device, ranks, .. } = self.job;
        let Rule::Direct(method) = &mut self.rule else { panic!("gradients are followed") };
        let loss = self.job.settings.loss;
        let stepped =
            method.step(kind, weights, inputs, (targets, shares, loss), choices, *ranks)?;
        let device = (*device).clone().autodiff();
        self.model = Some(Model::new(kind, &stepped.weights, &device, *compute)?);
        Ok(stepped)
    }

    /// What is measured after so many steps: what is learnt, rounded as an export will do it where
    /// the run knows of that.
    pub fn measured(&self, steps: u64) -> Result<Cow<'_, Model>, TrainError> {
        let learnt = self.learnt(steps);
        let Training { kind, compute, device, settings, .. } = self.job;
        Ok(match (&settings.rounded, kind) {
            (Some(Rounded { rounding, .. }), Kind::Net(net) | Kind::Sum(net, _))
                if is_gpu(device) =>
            {
                // There rounding is not that of an export to the last digit.
                let weights = rounding.weights(&learnt.weights(), net)?;
                Cow::Owned(Model::new(kind, &weights, device, *compute)?)
            }
            (Some(Rounded { rounding, .. }), _) => Cow::Owned(learnt.rounded(rounding)),
            (None, _) => learnt,
        })
    }

    /// What is learnt after so many steps: it is written down.
    pub fn learnt(&self, steps: u64) -> Cow<'_, Model> {
        if self.share(steps).is_some() {
            return Cow::Borrowed(&self.average.as_ref().expect(WHOLE).model);
        }
        let learnt = self.rule.learnt(self.model());
        learnt.map_or(Cow::Borrowed(self.model()), Cow::Owned)
    }

    /// What going on needs beside what is learnt: the optimiser's record, with the weights that take
    /// the steps where these are others.
    pub fn record(&self) -> Result<Vec<u8>, TrainError> {
        let record = self.rule.to_bytes().map_err(TrainError::Optimizer)?;
        if !self.job.settings.optimizer.learns_apart() {
            return Ok(record);
        }
        let bytes = self.model().weights().to_bytes(&BTreeMap::new(), &record);
        bytes.map_err(|error| TrainError::Optimizer(error.to_string()))
    }

    /// What the weights after a step have of the mean that is learnt; none where there is none, or
    /// none yet.
    fn share(&self, step: u64) -> Option<f64> {
        let settings = self.job.settings;
        let (steps, begun) = (settings.leg(step.checked_sub(1)?).steps, settings.seam_before(step));
        settings.optimizer.average?.share(step, steps, begun)
    }
}
