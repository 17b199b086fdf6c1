//! The search for scales, against trying everything.

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::export::choose::{Bound, ChooseError, Limits, choose, choose_of};
use nnuance::export::{measure, prove, quantise};
use nnuance::sample::Position;
use nnuance::scales::Scales;
use nnuance::weights::Weights;

use crate::games;

fn net() -> (Weights, Architecture) {
    let bytes = std::fs::read("nets/quickstart-32.safetensors").unwrap();
    let architecture = Architecture::simple(Views::Perspective, 32, Activation::SCReLU);
    (Weights::from_bytes(&bytes).unwrap().weights, architecture)
}

fn positions(count: u64) -> Vec<Position> {
    games::recorded(count).iter().map(|sample| sample.position).collect()
}

#[test]
fn the_search_equals_trying_everything() {
    let (weights, architecture) = net();
    let positions = positions(400);
    let grid: [&[i32]; 2] = [&[100, 181, 255, 511, 2000], &[8, 64, 65, 512, 9000]];
    for (bound, most_qa) in
        [(Bound::I16Sums, 4000), (Bound::NarrowProducts, 4000), (Bound::I16Sums, 255)]
    {
        let limits = Limits { bound, most_qa, most_qb: 9000, ..Limits::default() };
        let found = choose_of(&weights, &architecture, 400, &positions, limits, grid).unwrap();
        let mut all = Vec::new();
        let mut refused = 0;
        for &qa in grid[0].iter().filter(|qa| **qa <= most_qa) {
            for &qb in grid[1] {
                let scales = Scales { qa, qb, ..Scales::default() };
                let Ok(net) = quantise(&weights, &architecture, scales) else { continue };
                let proof = prove(&net);
                if !proof.is_ok_and(|proof| bound == Bound::I16Sums || proof.i16_trick) {
                    refused += 1;
                    continue;
                }
                let error = measure(&weights, net.architecture(), &net, positions.iter().copied())
                    .unwrap()
                    .unwrap();
                all.push((error.mean_cp, error.max_cp, qa, qb));
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(refused > 0 || most_qa == 255, "nothing was refused");
        let candidates: Vec<_> =
            found.candidates.iter().map(|one| (one.mean_cp, one.max_cp, one.qa, one.qb)).collect();
        assert_eq!(candidates[..], all[..candidates.len()]);
        assert_eq!(
            (found.scales.qa, found.scales.qb, found.scales.scale),
            (all[0].2, all[0].3, 400)
        );
    }
}

#[test]
fn the_chosen_scales_pass_and_beat_the_usual_ones() {
    let (weights, architecture) = net();
    let positions = positions(3000);
    for (bound, most_qa) in
        [(Bound::I16Sums, 255), (Bound::I16Sums, 1023), (Bound::NarrowProducts, 1023)]
    {
        let limits = Limits { bound, most_qa, most_qb: 4096, ..Limits::default() };
        let found = choose(&weights, &architecture, 400, &positions, limits).unwrap();
        let proof = prove(&quantise(&weights, &architecture, found.scales).unwrap()).unwrap();
        assert!(found.scales.qa <= most_qa);
        assert!(bound == Bound::I16Sums || proof.i16_trick);
        let default = found.default.unwrap();
        assert!(found.default_allowed && found.candidates[0].mean_cp <= default.mean_cp);
        assert!(found.candidates.is_sorted_by(|a, b| a.mean_cp <= b.mean_cp));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = one.install(|| choose(&weights, &architecture, 400, &positions, limits));
        assert_eq!(again.unwrap(), found);
    }
}

#[test]
fn what_cannot_be_chosen_is_said() {
    let (mut weights, architecture) = net();
    let positions = positions(50);
    let limits = Limits::default();
    let none = choose(&weights, &architecture, 400, &[], limits);
    assert!(matches!(none, Err(ChooseError::NoPositions)));
    let low = Limits { most_qa: 10, ..limits };
    let none = choose(&weights, &architecture, 400, &positions, low);
    assert!(matches!(none, Err(ChooseError::Limits { most_qa: 10, .. })));
    weights.0.get_mut("output.weight").unwrap().values[3] = 3e4;
    let none = choose(&weights, &architecture, 400, &positions, limits);
    let Err(ChooseError::Fit(error)) = none else { panic!("{none:?}") };
    assert!(error.to_string().contains("neuron 3"), "{error}");
}
