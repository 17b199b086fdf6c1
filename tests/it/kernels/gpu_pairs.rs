//! Lists with pairs of inputs on a GPU: against lists of inputs alone, and against the CPU.

use nnuance::batch::{
    ActiveRows, BatchInputs, ChunkPlan, Indices, InputPairs, ListShape, expand_lists,
};

use crate::kernels::gpu::{GPU, gpu, with_budget};
use crate::support::kit::*;

const CONFIG: &str = include_str!("../../../configs/quickstart-net.toml");

/// Recorded positions as lists of inputs, and as plans with pairs.
pub struct Positions {
    pub active: ActiveRows,
    pub plans: Vec<Arc<ChunkPlan>>,
    pairs: Arc<InputPairs>,
}

impl Positions {
    /// Plans chunks of 150 positions; the last is smaller.
    pub fn new(net: &Architecture) -> Self {
        let active = listed::lists(net, 700);
        let pairs = Arc::new(InputPairs::select_most_frequent(net, &active, 120));
        let shorten = |lists: &ActiveRows| listed::shortened(&pairs, lists);
        let plans = listed::plan_chunks(net, &active, &pairs, shorten);
        Self { plans, pairs, active }
    }
}

fn nets() -> Vec<Architecture> {
    let simple =
        |perspectives, hidden| Architecture::simple(perspectives, hidden, Activation::SCReLU);
    let layer = Layer::new(4, Activation::ReLU);
    vec![
        simple(Perspectives::Perspective, 40),
        simple(Perspectives::SideToMove, 300),
        Architecture { buckets: 3, ..simple(Perspectives::Perspective, 9) },
        Architecture { buckets: 2, head: vec![layer], ..simple(Perspectives::Perspective, 16) },
    ]
}

/// Expands plans of one king bucket to lists.
pub fn unplanned(plans: &[Arc<ChunkPlan>]) -> ActiveRows {
    let ListShape { rows, perspectives, width, buckets, .. } = ListShape::of_plans(plans);
    let indices = Indices::U16(expand_lists(plans, width));
    ActiveRows { rows, perspectives, width, indices, king_buckets: Vec::new(), buckets }
}

#[test]
fn plans_are_lists_again() {
    for net in nets() {
        let Positions { active, plans, pairs } = Positions::new(&net);
        let listed = unplanned(&plans);
        assert_eq!(
            (listed.rows, listed.perspectives),
            (pairs.row_count(), net.perspective_count())
        );
        assert_eq!(listed.buckets, active.buckets);
        assert!(listed.width < active.width);
        let shortened = listed::shortened(&pairs, &active);
        let blank = pairs.row_count() as u16;
        for (list, right) in
            near(&listed).chunks(listed.width).zip(near(&shortened).chunks(active.width))
        {
            let (right, padding) = right.split_at(listed.width);
            assert_eq!(list, right);
            assert!(padding.iter().all(|row| *row == blank));
        }
    }
}

#[test]
fn gradients_of_pairs_equal_their_inputs() {
    let Some(gpu) = gpu() else { return };
    for net in nets() {
        let Positions { active, plans, .. } = Positions::new(&net);
        let targets = games::eighths(active.len());
        let [listed, planned] = [BatchInputs::Active(active), BatchInputs::Planned(plans)];
        let mut weights = initial_weights(&net, 3);
        drawn::shake(&mut weights, 0.1, 7);
        let gradients = |device: &Device, compute, inputs| {
            model_on(device, &net, &weights, compute)
                .compute_gradients(inputs, Aim::Targets(&targets))
        };
        let right = gradients(&flex(), fastest(), &planned);
        let without = gradients(&gpu, GPU, &listed);
        // In one part, and in parts of 16 positions.
        for compute in [GPU, with_budget(0)] {
            let got = gradients(&gpu, compute, &planned);
            for (what, right) in [("the CPU", &right), ("lists without pairs", &without)] {
                assert!((got.0 / right.0 - 1.0).abs() < 1e-5, "{net}: {} for {}", got.0, right.0);
                assert_close(what, &got.1, &right.1, 1e-5);
            }
            let again = gradients(&gpu, compute, &planned);
            assert_eq!(bits(&got.1), bits(&again.1), "{net}");
        }
    }
}

/// A GPU uses lists where the CPU plans an order alone, or pairs of several king buckets.
#[test]
fn pairs_of_gpu_and_cpu() {
    let mut kings = [0; 32];
    kings[31] = 1;
    let kings = format!("net.king_buckets={kings:?}");
    let wide = "net.hidden=128";
    for (sets, cpu, gpu) in [
        (vec!["net.hidden=127"], (true, 0), (true, 0)),
        (vec![wide], (true, 256), (true, 256)),
        (vec![wide, "net.mirror=true", &kings], (true, 256), (false, 0)),
    ] {
        let sets: Vec<String> = sets.into_iter().map(str::to_string).collect();
        let config = Config::parse_text(CONFIG, "it", &sets).expect("a config");
        let planned = |compute| {
            let facts = ScanFacts { positions: Some(1_000_000), ..ScanFacts::default() };
            let order = data_plan::pass_order(&config, facts.positions);
            match data_plan::choose_layout(&config, compute, &order, &facts, &[]) {
                InputLayout::CachedPlans { max_pairs, .. } => (true, max_pairs),
                _ => (false, 0),
            }
        };
        assert_eq!(planned(fastest()), cpu);
        assert_eq!(planned(GPU), gpu);
    }
}
