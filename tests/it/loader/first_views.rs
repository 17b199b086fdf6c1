//! Plans from the lists of first views.

use nnuance::architecture::Inputs;
use nnuance::batch::plan_first_views_slowly;
use nnuance::batch::{
    self, ChunkPlan, FirstPlanner, FirstViews, InputPairs, MAX_IN_CHUNK, expand_lists,
};
use nnuance::loader::select_pairs;

use crate::loader::pairs::assert_same_inputs;
use crate::support::games::eighths;
use crate::support::kit::*;

fn net(views: Perspectives, mirror: bool, buckets: usize) -> Architecture {
    let kings = Kings::new(mirror, &[]).expect("one bucket");
    Architecture { buckets, ..net_of_inputs(Inputs::of_pieces(views, kings, false), 40) }
}

fn all_perspectives() -> impl Iterator<Item = (Perspectives, bool)> {
    Perspectives::ALL.into_iter().flat_map(|views| [(views, false), (views, true)])
}

fn first_views(net: &Architecture, samples: &[Sample], pairs: &Arc<InputPairs>) -> FirstViews {
    let lists = samples.iter().map(|sample| net.inputs.first_view(&sample.position)).collect();
    let bucket = |sample: &Sample| net.bucket_of(&sample.position) as u8;
    let buckets = if net.buckets == 1 { vec![] } else { samples.iter().map(bucket).collect() };
    FirstViews { lists, buckets, pairs: pairs.clone() }
}

type Plans = Vec<Arc<ChunkPlan>>;

fn plans(net: &Architecture, first: &FirstViews, sizes: &[usize], by: FirstPlanner) -> Plans {
    let (mut plans, mut start, mut planner) = (Vec::new(), 0, by);
    // The previous contents of the plan are overwritten.
    let mut plan = ChunkPlan::default();
    for &size in sizes.iter().chain([&usize::MAX]) {
        let end = first.lists.len().min(start + size.min(MAX_IN_CHUNK));
        planner.plan_chunk(net, first, start..end, &mut plan);
        plans.push(Arc::new(plan.clone()));
        start = end;
    }
    plans
}

#[test]
fn first_views_equal_the_encoders() {
    for (views, mirror) in all_perspectives() {
        let net = net(views, mirror, 1);
        let samples = games::recorded(3000);
        let batch::BatchInputs::Active(active) =
            Encoder::for_net(&net).encode_samples(&samples).inputs
        else {
            panic!("lists")
        };
        let all = near(&active).chunks(active.perspectives * active.width);
        let pairs = Arc::new(InputPairs::without_pairs(net.row_count()));
        for (list, right) in first_views(&net, &samples, &pairs).lists.iter().zip(all) {
            assert_eq!(list[..], right[..active.width]);
        }
    }
}

/// Plans have the inputs of the encoder's lists, and the same gradients up to rounding: with and
/// without pairs, output buckets and vector instructions, in chunks of any size.
#[test]
fn plans_of_first_views_equal_lists() {
    let samples: Vec<Sample> = games::recorded(36_000).into_iter().step_by(12).collect();
    for ((views, mirror), buckets) in all_perspectives().flat_map(|views| [(views, 1), (views, 8)])
    {
        let net = net(views, mirror, buckets);
        let listed = Encoder::for_net(&net).encode_samples(&samples).inputs;
        let active = listed.one_hot().lists();
        let model = model(&net, &initial_weights(&net, 3), fastest());
        let targets = eighths(samples.len());
        let gradients =
            |inputs: &batch::BatchInputs| model.compute_gradients(inputs, Aim::Targets(&targets));
        let right = gradients(&listed);
        let assert_alike =
            |inputs| assert_near(&net.to_string(), &gradients(&inputs), &right, [1e-6, 1e-5]);
        for max_pairs in [0, 101, 256] {
            let pairs = Arc::new(select_pairs(&net, &samples, max_pairs));
            assert!(pairs.parents().len() + 3 >= max_pairs, "{max_pairs} pairs");
            let first = first_views(&net, &samples, &pairs);
            for sizes in [&[1, 3, 64, 150, 512, 700][..], &[2048]] {
                let planned = plans(&net, &first, sizes, FirstPlanner::default());
                let portable = plans(&net, &first, sizes, FirstPlanner::portable());
                assert!(planned == portable, "instructions of the machine");
                let mut start = 0;
                for plan in &planned {
                    let range = start..start + plan.len();
                    start = range.end;
                    assert!(**plan == plan_first_views_slowly(&net, &first, range), "{net}");
                }
                assert_eq!(start, samples.len());
                let lists =
                    listed::active(&net, expand_lists(&planned, active.width), active.width);
                assert_same_inputs(&lists, active, &pairs);
                assert_alike(batch::BatchInputs::Planned(planned));
            }
            assert_alike(batch::BatchInputs::First(first));
        }
    }
}
