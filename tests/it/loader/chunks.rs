//! Positions that stay together from pass to pass, and plans that are made once.

use nnuance::batch::{BatchInputs, RankShare};
use nnuance::loader::{MAX_PLAN_BYTES, select_pairs};
use nnuance::model::host_outputs;

use crate::support::kit::*;

const POSITIONS: usize = 1000;
const BATCH: usize = 350;

const BATCHES: usize = 3 * POSITIONS / BATCH;

fn read_plan() -> ReadPlan {
    plan_first_positions(SCORED, POSITIONS as u64)
}

fn plan(chunk: usize, layout: InputLayout) -> StreamPlan {
    let order = PassOrder { batch: BATCH, chunk, ..PassOrder::default() };
    StreamPlan { layout, ..stream_plan(read_plan(), order, Some(POSITIONS as u64)) }
}

fn batches(plan: StreamPlan, net: &Architecture, from: usize, count: usize) -> Vec<Batch> {
    let stream = Stream::new(plan, Encoder::for_net(net), from as u64);
    stream.take(count).map(|batch| batch.expect("a batch")).collect()
}

fn is_planned(batch: &Batch) -> bool {
    matches!(batch.inputs, BatchInputs::Planned(_))
}

/// Checks that two batches have the same labels, and outputs within a share of the largest.
fn assert_alike(model: &Model, [planned, listed]: [&Batch; 2], share: f64) {
    assert_eq!((&planned.results, &planned.scores), (&listed.results, &listed.scores));
    let [got, right] = [planned, listed].map(|it| host_outputs(model, it).expect("flex"));
    let [error, size] = error_and_size(&got, &right);
    assert!(error <= share * size, "{error:.1e} of {size:.1e}");
}

fn net(seed: u64) -> Architecture {
    drawn::net(seed, 40)
}

/// Planned chunks equal lists, cached or not: in each pass, for all nets, from any resume point.
#[test]
fn planned_chunks_equal_lists() {
    let mut planned = 0;
    for seed in 0..24 {
        let net = net(seed);
        let model = model(&net, &drawn::weights(&net, seed), fastest());
        let all = |layout| plan([64, 100, 256][seed as usize % 3], layout);
        let cached = |max_bytes, max_pairs| InputLayout::CachedPlans {
            max_bytes,
            max_pairs,
            inverted: true,
        };
        let listed = batches(all(InputLayout::Lists), &net, 0, BATCHES);
        assert!(!listed.iter().any(is_planned));
        // Plans that exceed the buffer are made again. Sums over pairs are rounded differently.
        for (room, pairs) in [(MAX_PLAN_BYTES, 0), (100_000, 0), (1, 0), (MAX_PLAN_BYTES, 30)] {
            let cached = batches(all(cached(room, pairs)), &net, 0, BATCHES);
            for (cached, listed) in cached.iter().zip(&listed) {
                planned += usize::from(is_planned(cached));
                assert_alike(&model, [cached, listed], if pairs > 0 { 1e-5 } else { 0.0 });
            }
        }
        let from = batches(all(cached(MAX_PLAN_BYTES, 0)), &net, 4 * BATCH, 3);
        for (later, listed) in from.iter().zip(&listed[4..]) {
            assert_alike(&model, [later, listed], 0.0);
        }
    }
    assert!(planned > 24 * BATCHES, "{planned} planned batches");
}

/// Streamed chunks with pairs equal lists: across windows, for several ranks, from any resume
/// point.
#[test]
fn streamed_chunks_equal_lists() {
    let mut chunks = 0;
    for seed in (0..40).filter(|seed| net(*seed).inputs.kings().bucket_count() == 1).take(8) {
        let net = net(seed);
        let model = model(&net, &drawn::weights(&net, seed), fastest());
        let scanned = scan(&read_plan(), 0, &|_| ()).expect("positions");
        let pairs = Arc::new(select_pairs(&net, &scanned.some, 60));
        assert_eq!(pairs.parents().len(), 60);
        for of_rank in
            [RankShare::ALL, RankShare { rank: 0, size: 2 }, RankShare { rank: 2, size: 3 }]
        {
            let all = |layout| {
                let mut plan = plan(64, layout);
                (plan.order.window, plan.order.of_rank) = (310, of_rank);
                plan
            };
            let streamed = || all(InputLayout::for_streamed_data(&net, pairs.clone()));
            let listed = batches(all(InputLayout::Lists), &net, 0, BATCHES);
            let streams = batches(streamed(), &net, 0, BATCHES);
            let later = batches(streamed(), &net, 3 * BATCH, 3);
            assert!(later == streams[3..6], "from any resume point");
            for (batch, listed) in streams.iter().zip(&listed) {
                match &batch.inputs {
                    BatchInputs::Planned(plans) => {
                        assert!(plans.iter().all(|plan| plan.len() <= 64));
                        chunks += plans.len();
                    }
                    BatchInputs::First(it) => chunks += it.lists.len().div_ceil(64),
                    _ => panic!("no plans"),
                }
                assert!(!is_planned(listed));
                // A rank's share may end between two chunks.
                if of_rank.size == 1 {
                    assert_alike(&model, [batch, listed], 1e-5);
                }
            }
        }
    }
    assert!(chunks > 700, "{chunks} chunks");
}

/// Without king buckets the first pass is a shuffle of positions. Later ones show each position
/// once, and neighbours in a chunk stay together.
#[test]
fn chunks_stay_together_across_epochs() {
    const CHUNK: usize = 64;
    let net = Architecture::simple(Perspectives::Perspective, 1, Activation::SCReLU);
    let passes = |chunk| {
        let batches = batches(plan(chunk, InputLayout::Lists), &net, 0, BATCHES);
        let rows = batches.iter().flat_map(|batch| match &batch.inputs {
            BatchInputs::Active(active) => {
                let lists = near(active).chunks(active.perspectives * active.width);
                lists.zip(&batch.scores[..]).map(|(rows, score)| (rows.to_vec(), *score as i32))
            }
            _ => panic!("lists"),
        });
        let rows: Vec<(Vec<u16>, i32)> = rows.collect();
        rows.chunks_exact(POSITIONS).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    let sorted = |pass: &[(Vec<u16>, i32)]| {
        let mut pass = pass.to_vec();
        pass.sort();
        pass
    };
    let (chunked, shuffled) = (passes(CHUNK), passes(0));
    assert_eq!(chunked.len(), 2);
    assert!(chunked[0] == shuffled[0], "the first pass");
    assert!(chunked[1] != shuffled[1] && chunked[1] != chunked[0]);
    assert!(shuffled[1] != shuffled[0], "an order of its own");
    assert!(sorted(&chunked[0]) == sorted(&chunked[1]), "each position once");
    let whole = POSITIONS / CHUNK * CHUNK;
    let chunks =
        |pass: &[(Vec<u16>, i32)]| pass.chunks(CHUNK).map(<[_]>::to_vec).collect::<Vec<_>>();
    // The second pass first completes a chunk; the others stay where they are.
    let head = CHUNK - POSITIONS % CHUNK;
    let second = &chunked[1];
    let mut cut = second[..head].to_vec();
    cut.extend_from_slice(&second[head + whole - CHUNK..whole]);
    let mut later = chunks(&second[head..head + whole - CHUNK]);
    later.push(cut);
    later.sort();
    let mut first = chunks(&chunked[0][..whole]);
    first.sort();
    assert!(later == first, "the same neighbours");
    assert!(chunked[0][whole..] == second[whole..], "the rest comes last");
}

/// Equal king buckets are neighbours, and each batch has its share of all, in each pass.
#[test]
fn kings_are_grouped_and_spread_evenly() {
    const CHUNK: usize = 20;
    let buckets: Vec<u8> = (0..32).map(|square| if square % 4 < 2 { 0 } else { 1 }).collect();
    let kings = Kings::new(true, &buckets).expect("buckets");
    let net = net_of_kings(kings, 1);
    let mut plan = plan(CHUNK, InputLayout::Lists);
    plan.order.batch = POSITIONS / 5;
    let all = batches(plan, &net, 0, 15);
    let kinds = all.iter().flat_map(|batch| match &batch.inputs {
        BatchInputs::Active(active) => {
            let king = |list: &[u16]| list[0] / 768;
            let lists = near(active).chunks(2 * active.width);
            lists.map(move |lists| 2 * king(lists) + king(&lists[active.width..]))
        }
        _ => panic!("lists"),
    });
    let kinds: Vec<u16> = kinds.collect();
    let count = |kinds: &[u16], kind| kinds.iter().filter(|it| **it == kind).count();
    let scores: Vec<f32> = all.iter().flat_map(|batch| batch.scores.to_vec()).collect();
    let sorted = |pass: &[f32]| {
        let mut pass = pass.to_vec();
        pass.sort_by(f32::total_cmp);
        pass
    };
    let passes = scores.chunks(POSITIONS);
    assert!(passes.clone().all(|pass| sorted(pass) == sorted(&scores[..POSITIONS])), "each once");
    assert!(scores[..POSITIONS] != scores[POSITIONS..2 * POSITIONS], "a new order");
    for pass in kinds.chunks(POSITIONS) {
        for batch in pass.chunks(POSITIONS / 5) {
            let mixed = batch.chunks(CHUNK).filter(|chunk| count(chunk, chunk[0]) < CHUNK).count();
            assert!(mixed <= 6, "{mixed} of {} chunks are mixed", POSITIONS / 5 / CHUNK);
            for kind in 0..4 {
                // A few more or less of each, as in any sample of this size; not a chunk.
                let off = count(batch, kind).abs_diff(count(pass, kind) / 5);
                assert!(off < 3 * CHUNK / 2, "{off} too many or few of {kind}");
            }
        }
    }
}
