//! Rows that inputs share, two by two.

use std::collections::BTreeMap;
use std::sync::Arc;

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::batch::{Active, ChunkPlan, Inputs, Pairs, Planner};
use nnuance::loader::Encoder;
use nnuance::model::{Aim, Backend, Compute, Kind, Level, Model, Precision, initial};
use nnuance::sample::Sample;

use crate::{games, largest::largest};

const ROWS: usize = 768;

/// Positions of many games.
fn samples(count: u64) -> Vec<Sample> {
    games::recorded(12 * count).into_iter().step_by(12).collect()
}

/// The lists of recorded positions, and how many places each has.
fn lists(net: &Architecture, positions: u64) -> (Vec<u16>, usize) {
    let Inputs::Active(active) = Encoder::net(net).encode(&samples(positions)).inputs else {
        panic!("lists")
    };
    (active.indices, active.places)
}

fn net(views: Views, hidden: usize) -> Architecture {
    Architecture::simple(views, hidden, Activation::SCReLU)
}

/// The same pairs, found by counting all of them anew each time.
fn slowly(lists: &[u16], places: usize, most: usize) -> Vec<[u16; 2]> {
    let there = |list: &[u16]| list.iter().copied().filter(|it| *it < ROWS as u16).collect();
    let mut lists: Vec<Vec<u16>> = lists.chunks(places).map(there).collect();
    let mut pairs = Vec::new();
    for number in 0..most {
        let mut counts = BTreeMap::new();
        for list in &lists {
            for &one in list {
                for &other in list.iter().filter(|other| **other > one) {
                    *counts.entry([one, other]).or_insert(0) += 1;
                }
            }
        }
        let most = *counts.values().max().expect("lists have pairs");
        let (pair, _) = counts.iter().find(|(_, count)| **count == most).expect("the first");
        pairs.push(*pair);
        for list in lists.iter_mut().filter(|list| pair.iter().all(|it| list.contains(it))) {
            list.retain(|it| !pair.contains(it));
            list.push((ROWS + number) as u16);
        }
    }
    pairs
}

#[test]
fn pairs_are_the_most_frequent() {
    let (lists, places) = lists(&net(Views::Perspective, 1), 300);
    let pairs = Pairs::learn(ROWS, &lists, places, 60);
    assert_eq!(pairs.parents(), slowly(&lists, places, 60));
    // Where nothing stands together twice there is nothing to share.
    let lonely: Vec<u16> = (0..ROWS as u16).collect();
    assert_eq!(Pairs::learn(ROWS, &lonely, 8, 10), Pairs::none(ROWS));
    assert_eq!(Pairs::learn(ROWS, &[], 8, 10), Pairs::none(ROWS));
}

/// Each king bucket has the pairs of its own lists, as if there were no others.
#[test]
fn pairs_live_inside_a_king_bucket() {
    let (mut lists, places) = lists(&net(Views::Perspective, 1), 300);
    let of_kings = |list: usize| [2, 0, 2][list % 3];
    let mut apart = vec![Vec::new(); 4];
    for (number, list) in lists.chunks_mut(places).enumerate() {
        let king = of_kings(number);
        apart[king].extend_from_slice(list);
        list.iter_mut()
            .for_each(|row| *row = if *row < 768 { *row + 768 * king as u16 } else { 3072 });
    }
    let pairs = Pairs::learn(4 * ROWS, &lists, places, 30);
    let mut right = Vec::new();
    for (king, lists) in apart.iter().enumerate() {
        let first = (4 * ROWS + right.len()) as u16;
        let row = |row: u16| match row.checked_sub(768) {
            None => row + 768 * king as u16,
            Some(pair) => first + pair,
        };
        let alone = Pairs::learn(ROWS, lists, places, 30);
        right.extend(alone.parents().iter().map(|parents| parents.map(row)));
    }
    assert_eq!(right.len(), 60);
    assert_eq!(pairs.parents(), right);
    let mut short = lists.clone();
    pairs.shorten(&mut short, places, &mut vec![]);
    for (number, (list, short)) in lists.chunks(places).zip(short.chunks(places)).enumerate() {
        let rows = short.iter().filter(|row| usize::from(**row) < pairs.rows());
        let mut found: Vec<u16> = rows.flat_map(|row| inputs_of(*row, &pairs)).collect();
        found.sort();
        let mut right: Vec<u16> = list.iter().copied().filter(|row| *row < 3072).collect();
        right.sort();
        assert_eq!(found, right, "list {number}");
    }
    // Nets of so many king buckets that 16 bits name no more rows go with fewer.
    assert_eq!(Pairs::learn(64 * ROWS, &[], 8, 256), Pairs::none(64 * ROWS));
}

/// What a pair stands for, in the end.
fn inputs_of(row: u16, pairs: &Pairs) -> Vec<u16> {
    let inputs = pairs.rows() - pairs.parents().len();
    match (row as usize).checked_sub(inputs) {
        None => vec![row],
        Some(pair) => pairs.parents()[pair].iter().flat_map(|it| inputs_of(*it, pairs)).collect(),
    }
}

/// Lists of other positions than those that the pairs were learnt of, any number of them.
#[test]
fn shortened_lists_name_the_same_inputs() {
    let (lists, places) = lists(&net(Views::Perspective, 1), 900);
    let (seen, others) = lists.split_at(lists.len() / 2);
    let pairs = Pairs::learn(ROWS, seen, places, 200);
    for count in [0, 1, 255, 256, 257, 800] {
        let mut short = others[..count * places].to_vec();
        pairs.shorten(&mut short, places, &mut vec![]);
        let blank = pairs.rows() as u16;
        let named = |list: &[u16]| list.iter().filter(|it| **it < blank).count();
        for (list, short) in others.chunks(places).zip(short.chunks(places)) {
            let behind = &short[named(short)..];
            assert!(behind.iter().all(|it| *it == blank), "blanks come last: {short:?}");
            let rows = short.iter().filter(|row| **row < blank);
            let mut found: Vec<u16> = rows.flat_map(|row| inputs_of(*row, &pairs)).collect();
            found.sort();
            let mut right: Vec<u16> = list.iter().copied().filter(|it| *it < ROWS as u16).collect();
            right.sort();
            assert_eq!(found, right);
        }
        if count == 800 {
            let whole = others.iter().take(count * places).filter(|it| **it < ROWS as u16).count();
            assert!(named(&short) * 5 < whole * 4, "{} of {whole}", named(&short));
        }
    }
}

/// Loss and gradients are the same but for rounding, whatever the chunks, formats and instructions.
#[test]
fn gradients_of_pairs_reach_their_inputs() {
    for (views, hidden) in [(Views::Perspective, 40), (Views::SideToMove, 24)] {
        let net = net(views, hidden);
        let (lists, places) = lists(&net, 700);
        let pairs = Arc::new(Pairs::learn(ROWS, &lists, places, 120));
        let positions = lists.len() / places / net.views();
        let targets: Vec<f32> = (0..positions).map(|it| (it % 9) as f32 / 8.0).collect();
        let mut planner = Planner::default();
        let mut plan = |(number, lists): (usize, &[u16])| {
            let positions = lists.len() / places / net.views();
            let chosen: Vec<u32> = (0..positions as u32).collect();
            let (mut lists, mut plan) = (lists.to_vec(), ChunkPlan::default());
            pairs.shorten(&mut lists, places, &mut vec![]);
            let (rows, views, buckets) = (ROWS, net.views(), Vec::new());
            let lists = Active { rows, views, places, indices: lists, buckets };
            planner.order(&net, &lists, &chosen, &pairs, &mut plan);
            planner.invert(&mut plan);
            assert_eq!(plan.len(), positions, "chunk {number}");
            Arc::new(plan)
        };
        let size = 150 * places * net.views();
        let planned = Inputs::Planned(lists.chunks(size).enumerate().map(&mut plan).collect());
        let device = Backend::Flex.device().expect("flex is always there");
        for (precision, bound) in [(Precision::F32, 1e-5), (Precision::Mixed, 2e-3)] {
            for level in Level::available() {
                let compute = Compute::Fused { level, precision };
                let model =
                    Model::new(&Kind::Net(net.clone()), &initial(&net, 3), &device, compute);
                let model = model.expect("the weights fit");
                let aim = Aim::Targets(&targets);
                let listed = Encoder::net(&net).encode(&samples(700)).inputs;
                let (loss, right) = model.gradients(&listed, aim);
                let (got_loss, got) = model.gradients(&planned, aim);
                assert!((got_loss - loss).abs() < 1e-6, "{got_loss} for {loss}");
                for (name, array) in &right.0 {
                    let pairs = array.values.iter().zip(&got.0[name].values);
                    let size = largest(array.values.iter().map(|it| f64::from(it.abs())));
                    let error = largest(pairs.map(|(a, b)| f64::from((a - b).abs())));
                    assert!(error < bound * size, "{name}: {error:.1e} of {size:.1e}, {level:?}");
                }
            }
        }
    }
}
