//! A step of a run, by one rank or by all of them.

use std::borrow::Cow;

use burn::optim::GradientsParams;

use super::leg::Leg;
use super::target::targets;
use super::together::{Outcome, together, weight};
use super::unread::Step;
use super::{Progress, State, TrainError, Trainer};
use crate::batch::{Batch, Choices};
use crate::model::{Aim, Evaluation as _, Judged, Slope, is_gpu, outputs, steps_ahead};

impl Trainer<'_> {
    /// Does something on a thread of the pool: parallel loops that begin elsewhere are waited for
    /// asleep. A GPU keeps what each thread asks for apart.
    pub(super) fn on_pool<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        match is_gpu(self.job.device) {
            true => work(self),
            false => rayon::scope(|_| work(self)),
        }
    }

    pub(super) fn step(&mut self, batch: &Batch, wish: bool) -> Result<Progress, TrainError> {
        let settings = self.job.settings;
        if settings.is_seam(self.state.step) {
            self.state.unimproved = 0;
        }
        let (leg, done) = self.leg();
        let learning_rate = leg.learning_rate.at(done);
        let taken = Step { number: self.state.step + 1, learning_rate };
        let mut converged = false;
        let mut positions = batch.len() as u64;
        if self.learner.follows() {
            positions = self.descend(batch, taken, wish)?;
        } else {
            let (shares, targets) = (batch.shares(), self.wanted(batch));
            let inputs = &batch.inputs;
            let choices = batch.choices.as_deref();
            let stepped = self.learner.leap(inputs, &targets, &shares, choices)?;
            let mut numbers = [positions as f64, f64::from(u8::from(wish))];
            self.job.ranks.sum(&mut [], &mut numbers);
            (positions, self.stop) = (numbers[0] as u64, numbers[1] > 0.0);
            self.count(taken, stepped.loss)?;
            converged = stepped.converged;
        }
        self.state.converged = converged;
        self.state.step += 1;
        self.state.positions += positions;
        let State { step, positions, .. } = self.state;
        let loss = self.loss.unwrap_or(f64::NAN);
        Ok(Progress { step, positions, loss, learning_rate, converged })
    }

    /// What the outputs of a batch are to be, at this step.
    fn wanted<'a>(&self, batch: &'a Batch) -> Cow<'a, [f32]> {
        let (leg, done) = self.leg();
        targets(batch, leg.wdl.at(done), &self.job.settings.worths)
    }

    /// The leg of the schedule that the run is in, and the share of it that is done.
    fn leg(&self) -> (Leg, f64) {
        let leg = self.job.settings.leg(self.state.step);
        let done = self.state.step as f64 / leg.steps as f64;
        (leg, done)
    }

    /// Follows the gradients of a batch. Gives how many positions all ranks had.
    fn descend(&mut self, batch: &Batch, taken: Step, wish: bool) -> Result<u64, TrainError> {
        let Step { number: step, learning_rate } = taken;
        let mut positions = batch.len() as u64;
        let gradients = match &batch.choices {
            None => {
                let loss = self.job.settings.loss;
                let (shares, wanted) = (batch.shares(), self.wanted(batch));
                let targets = &wanted[..];
                let (base, weights) = (&batch.base[..], &shares[..]);
                let aim = Aim::Judged(Judged { targets, base, weights, loss });
                let Slope { loss, gradients } = self.learner.seen(step).slope(&batch.inputs, aim);
                self.unread.push(taken, loss);
                if self.job.ranks.is_alone() {
                    let waits = is_gpu(self.job.device) && self.loss.is_some();
                    if !waits || self.unread.len() >= steps_ahead(batch.len()) {
                        self.read()?;
                    }
                    gradients
                } else {
                    let all = self.join(batch, gradients, wish)?;
                    (positions, self.stop) = (all.positions, all.stop);
                    self.count(taken, all.loss)?;
                    all.gradients
                }
            }
            Some(choices) => {
                let pulled = self.pull(step, batch, choices);
                let (loss, gradients) = pulled.map_err(|lost| self.failed(&lost))?;
                self.count(taken, loss)?;
                gradients
            }
        };
        self.learner.follow(step, learning_rate, gradients);
        Ok(positions)
    }

    /// What the step comes to with the shares of the other ranks.
    fn join(
        &mut self,
        batch: &Batch,
        gradients: GradientsParams,
        stop: bool,
    ) -> Result<Outcome, TrainError> {
        let loss = self.unread.read().map_err(|causes| self.failed(&causes))?;
        let loss = loss.last().map_or(f64::NAN, |(_, loss)| *loss);
        let positions = batch.len() as u64;
        let own = Outcome { loss, gradients, weight: weight(batch), positions, stop };
        together(self.job.ranks, own, self.learner.model(), &mut self.sums)
    }

    /// The loss of a step that learns moves, and its gradients; or an error of the device.
    fn pull(
        &self,
        step: u64,
        batch: &Batch,
        choices: &Choices,
    ) -> Result<(f64, GradientsParams), String> {
        let seen = self.learner.seen(step);
        let logits = outputs(&seen, batch).map_err(|lost| lost.to_string())?;
        let [sum, count] = choices.reported(&logits);
        let forces = choices.pull(&logits);
        let loss = if count > 0.0 { sum / count } else { 0.0 };
        Ok((loss, seen.slope(&batch.inputs, Aim::Forces(&forces)).gradients))
    }
}
