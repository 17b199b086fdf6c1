//! The fused operations on Burn's CPU backend.

use std::sync::{MutexGuard, PoisonError};

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Flex, TensorMetadata};
use burn::tensor::{Shape, TensorData};

use super::cpu::{self, Adam, Gradients, Positions, Scratch, Weights, logits, loss};
use super::{FusedOps, Job, Kept, Parameters, Slope, TermsJob, TermsSlope};

impl FusedOps for Flex {
    fn net_loss(parameters: Parameters<Self>, job: Job<'_>) -> FloatTensor<Self> {
        let parameters = whole(parameters);
        let (weights, positions) = (weights(&parameters), positions(&job));
        let value = loss(&job.net, weights, positions, job.targets, None, &mut scratch(&job));
        tensor(vec![value as f32], Shape::new([1]))
    }

    fn net_gradients(parameters: Parameters<Self>, job: Job<'_>) -> Slope<Self> {
        let parameters = whole(parameters);
        let zeros = |i: usize| vec![0.0_f32; parameters[i].shape().num_elements()];
        let (mut accumulator, mut bias, mut output) = (zeros(0), zeros(1), zeros(2));
        let mut output_bias = 0.0;
        let gradients = Gradients {
            accumulator: &mut accumulator,
            bias: &mut bias,
            output: &mut output,
            output_bias: &mut output_bias,
        };
        let (weights, positions) = (weights(&parameters), positions(&job));
        let (targets, gradients) = (job.targets, Some(gradients));
        let value = loss(&job.net, weights, positions, targets, gradients, &mut scratch(&job));
        let shape = |i: usize| parameters[i].shape();
        Slope {
            loss: tensor(vec![value as f32], Shape::new([1])),
            gradients: Parameters {
                accumulator: tensor(accumulator, shape(0)),
                bias: tensor(bias, shape(1)),
                output: tensor(output, shape(2)),
                output_bias: tensor(vec![output_bias], shape(3)),
            },
        }
    }

    fn net_logits(parameters: Parameters<Self>, job: Job<'_>) -> FloatTensor<Self> {
        let parameters = whole(parameters);
        let mut values = vec![0.0; job.active.len()];
        let (weights, positions) = (weights(&parameters), positions(&job));
        logits(&job.net, weights, positions, &mut values, &mut scratch(&job));
        let shape = Shape::new([values.len()]);
        tensor(values, shape)
    }

    fn terms_loss(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        _kept: Kept,
    ) -> FloatTensor<Self> {
        let [weights, tempo] = [weights, tempo].map(contiguous);
        let loss = cpu::terms_loss(values(&weights), values(&tempo)[0], job);
        tensor(vec![loss as f32], Shape::new([1]))
    }

    fn terms_gradients(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        _kept: Kept,
    ) -> TermsSlope<Self> {
        let [weights, tempo] = [weights, tempo].map(contiguous);
        let found = cpu::terms_gradients(values(&weights), values(&tempo)[0], job);
        TermsSlope {
            loss: tensor(vec![found.loss as f32], Shape::new([1])),
            weights: tensor(found.terms, weights.shape()),
            tempo: tensor(vec![found.tempo], Shape::new([1])),
        }
    }

    fn terms_logits(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        _kept: Kept,
    ) -> FloatTensor<Self> {
        let [weights, tempo] = [weights, tempo].map(contiguous);
        let logits = cpu::terms_logits(values(&weights), values(&tempo)[0], job);
        let shape = Shape::new([logits.len()]);
        tensor(logits, shape)
    }

    fn adam_step(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        rule: Adam,
        learning_rate: f64,
        step: u64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let gradient = contiguous(gradient);
        let [mut parameter, mut first, mut second] = [parameter, first, second].map(contiguous);
        // In place where nobody else holds the tensor, on a copy elsewhere.
        rule.step(
            learning_rate,
            step,
            parameter.storage_mut(),
            values(&gradient),
            first.storage_mut(),
            second.storage_mut(),
        );
        (parameter, first, second)
    }
}

/// What a panic left behind is as good as new: each call writes before it reads.
fn scratch<'a>(job: &'a Job) -> MutexGuard<'a, Scratch> {
    job.scratch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tensor from the start of its storage to the end, row-major: what comes in may be a view.
fn contiguous(tensor: FlexTensor) -> FlexTensor {
    let whole = tensor.is_contiguous()
        && tensor.layout().start_offset() == 0
        && tensor.bytes().len() == size_of::<f32>() * tensor.shape().num_elements();
    if whole { tensor } else { FlexTensor::from_data(tensor.into_data()) }
}

fn whole(parameters: Parameters<Flex>) -> [FlexTensor; 4] {
    let Parameters { accumulator, bias, output, output_bias } = parameters;
    [accumulator, bias, output, output_bias].map(contiguous)
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.storage()
}

fn weights(parameters: &[FlexTensor; 4]) -> Weights<'_> {
    let [accumulator, bias, output, output_bias] = parameters.each_ref().map(values);
    Weights { accumulator, bias, output, output_bias: output_bias[0] }
}

fn positions<'a>(job: &'a Job<'a>) -> Positions<'a> {
    let (net, active) = (&job.net, job.active);
    // The padding of another feature set would be an input of this one.
    assert_eq!((active.inputs, active.views), (net.inputs, net.views), "a batch for another net");
    Positions { indices: &job.active.indices, places: job.active.places }
}

fn tensor(values: Vec<f32>, shape: Shape) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}
