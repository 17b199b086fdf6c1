//! How gradients pass through the fused operations.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, TensorMetadata};

use super::cpu::Adam;
use super::{FusedOps, Job, Kept, Parameters, Slope, TermsJob, TermsSlope};

/// A loss of so many parameters keeps the gradients that were computed with it, and multiplies
/// them by what comes from above.
#[derive(Debug)]
struct FusedLoss<const N: usize>;

impl<B: Backend, const N: usize> Backward<B, N> for FusedLoss<N> {
    type State = [FloatTensor<B>; N];

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let above = gradients.consume::<B>(&ops.node); // [1]
        for (parent, own) in ops.parents.into_iter().zip(ops.state) {
            if let Some(node) = parent {
                let ones = vec![1; own.shape().num_dims()];
                let above = B::float_reshape(above.clone(), ones.into());
                gradients.register::<B>(node.id, B::float_mul(own, above));
            }
        }
    }
}

impl<B: FusedOps, C: CheckpointStrategy> FusedOps for Autodiff<B, C> {
    fn net_loss(parameters: Parameters<Self>, job: Job<'_>) -> FloatTensor<Self> {
        let (accumulator, accumulator_node) = parameters.accumulator.into_parts();
        let (bias, bias_node) = parameters.bias.into_parts();
        let (output, output_node) = parameters.output.into_parts();
        let (output_bias, output_bias_node) = parameters.output_bias.into_parts();
        let parameters = Parameters::<B> { accumulator, bias, output, output_bias };
        let nodes = [accumulator_node, bias_node, output_node, output_bias_node];
        match FusedLoss::<4>.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let Slope { loss, gradients } = B::net_gradients(parameters, job);
                let Parameters { accumulator, bias, output, output_bias } = gradients;
                prep.finish([accumulator, bias, output, output_bias], loss)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::net_loss(parameters, job)),
        }
    }

    fn net_gradients(_parameters: Parameters<Self>, _job: Job<'_>) -> Slope<Self> {
        panic!("gradients of a net have no gradients")
    }

    fn net_logits(_parameters: Parameters<Self>, _job: Job<'_>) -> FloatTensor<Self> {
        panic!("fused logits have no gradients; the loss has")
    }

    fn terms_loss(
        weights: FloatTensor<Self>,
        tempo: FloatTensor<Self>,
        job: TermsJob<'_>,
        kept: Kept,
    ) -> FloatTensor<Self> {
        let (weights, weights_node) = weights.into_parts();
        let (tempo, tempo_node) = tempo.into_parts();
        match FusedLoss::<2>.prepare::<C>([weights_node, tempo_node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let TermsSlope { loss, weights, tempo } =
                    B::terms_gradients(weights, tempo, job, kept);
                prep.finish([weights, tempo], loss)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::terms_loss(weights, tempo, job, kept)),
        }
    }

    fn terms_gradients(
        _weights: FloatTensor<Self>,
        _tempo: FloatTensor<Self>,
        _job: TermsJob<'_>,
        _kept: Kept,
    ) -> TermsSlope<Self> {
        panic!("gradients of handcrafted terms have no gradients")
    }

    fn terms_logits(
        _weights: FloatTensor<Self>,
        _tempo: FloatTensor<Self>,
        _job: TermsJob<'_>,
        _kept: Kept,
    ) -> FloatTensor<Self> {
        panic!("fused logits have no gradients; the loss has")
    }

    fn adam_step(
        _parameter: FloatTensor<Self>,
        _gradient: FloatTensor<Self>,
        _first: FloatTensor<Self>,
        _second: FloatTensor<Self>,
        _rule: Adam,
        _learning_rate: f64,
        _step: u64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        panic!("a step of the optimiser has no gradients")
    }
}
