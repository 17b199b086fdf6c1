//! Chunks that stay on a GPU equal those that are sent in each pass.

use nnuance::batch::BatchInputs;
use nnuance::loader::MAX_PLAN_BYTES;

use crate::kernels::gpu::{GPU, gpu, with_budget};
use crate::kernels::gpu_pairs::unplanned;
use crate::support::kit::*;

const CHUNK: usize = 64;
const BATCH: usize = 4 * CHUNK;

/// Batches of a pass, the last with an incomplete chunk.
const BATCHES: usize = 4;

fn batches(net: &Architecture, pairs: usize, passes: usize) -> Vec<Batch> {
    let positions = BATCHES * BATCH - CHUNK / 2;
    let read = plan_first_positions(SCORED, positions as u64);
    let order = PassOrder { batch: BATCH, chunk: CHUNK, ..PassOrder::default() };
    let layout =
        InputLayout::CachedPlans { max_bytes: MAX_PLAN_BYTES, max_pairs: pairs, inverted: false };
    let plan = StreamPlan { layout, ..stream_plan(read, order, Some(positions as u64)) };
    let stream = Stream::new(plan, Encoder::for_net(net), 0);
    stream.take(passes * BATCHES).map(|batch| batch.expect("a batch")).collect()
}

#[test]
fn resident_lists_equal_sent_ones() {
    let Some(gpu) = gpu() else { return };
    let simple = |views, hidden| Architecture::simple(views, hidden, Activation::SCReLU);
    for (net, pairs) in [
        (simple(Perspectives::Perspective, 24), 0),
        (Architecture { buckets: 3, ..simple(Perspectives::Perspective, 24) }, 50),
        (simple(Perspectives::SideToMove, 24), 50),
    ] {
        let mut weights = initial_weights(&net, 3);
        drawn::shake(&mut weights, 0.1, 7);
        let model = |compute| model_on(&gpu, &net, &weights, compute);
        let gradients = |model: &Model, inputs: &BatchInputs, batch: &Batch| {
            let (loss, gradients) = model.compute_gradients(inputs, Aim::Targets(&batch.results));
            (loss.to_bits(), bits(&gradients))
        };
        // The batch in one part, and memory for the lists of half of the data.
        let narrow = with_budget(BATCHES * BATCH / 2 * net.perspective_count() * 64);
        let (all, half) = (model(GPU), model(narrow));
        for batch in batches(&net, pairs, 3) {
            let BatchInputs::Planned(plans) = &batch.inputs else { panic!("no plans") };
            let got = gradients(&all, &batch.inputs, &batch);
            // A new model needs all of them.
            assert!(got == gradients(&model(GPU), &batch.inputs, &batch), "{net}");
            assert!(got == gradients(&half, &batch.inputs, &batch), "{net}: half of them stay");
            if pairs == 0 {
                let listed = BatchInputs::Active(unplanned(plans));
                assert!(got == gradients(&all, &listed, &batch), "{net}: listed");
            }
        }
    }
}
