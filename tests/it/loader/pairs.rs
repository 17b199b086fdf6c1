//! Rows shared by two inputs.

use nnuance::batch::{ActiveRows, BatchInputs, InputPairs};

use crate::support::kit::*;
use crate::support::listed_rows::lists;

const ROWS: u32 = 768;

fn net(views: Perspectives, hidden: usize) -> Architecture {
    Architecture::simple(views, hidden, Activation::SCReLU)
}

fn select_slowly(lists: &ActiveRows, max_pairs: usize) -> Vec<[u32; 2]> {
    let active =
        |list: &[u16]| list.iter().copied().map(u32::from).filter(|it| *it < ROWS).collect();
    let mut lists: Vec<Vec<u32>> = near(lists).chunks(lists.width).map(active).collect();
    let mut pairs = Vec::new();
    for number in 0..max_pairs {
        let mut counts = BTreeMap::new();
        for list in &lists {
            for &first in list {
                for &second in list.iter().filter(|second| **second > first) {
                    *counts.entry([first, second]).or_insert(0) += 1;
                }
            }
        }
        let largest = *counts.values().max().expect("lists have pairs");
        let (pair, _) = counts.iter().find(|(_, count)| **count == largest).expect("the first");
        pairs.push(*pair);
        for list in lists.iter_mut().filter(|list| pair.iter().all(|it| list.contains(it))) {
            list.retain(|it| !pair.contains(it));
            list.push(ROWS + number as u32);
        }
    }
    pairs
}

#[test]
fn pairs_are_the_most_frequent() {
    let net = net(Perspectives::Perspective, 1);
    let lists = lists(&net, 300);
    let pairs = InputPairs::select_most_frequent(&net, &lists, 60);
    assert_eq!(pairs.parents(), select_slowly(&lists, 60));
    // Without inputs that occur together there are no pairs.
    let lonely: Vec<u16> = (0..ROWS as u16).collect();
    for lists in [lonely, Vec::new()] {
        let lists = listed::active(&net, lists, 8);
        assert_eq!(
            InputPairs::select_most_frequent(&net, &lists, 10),
            InputPairs::without_pairs(net.row_count())
        );
    }
}

/// Each king bucket has the pairs of its own lists, as if there were no others.
#[test]
fn pairs_live_inside_a_king_bucket() {
    let (single, four) =
        (net(Perspectives::Perspective, 1), net_of_kings(kings_in_turn(false, 4), 1));
    let listed = lists(&single, 300);
    let king = |list: usize| [2, 0, 2][list % 3];
    let mut apart = vec![Vec::new(); 4];
    let mut all = near(&listed).to_vec();
    for (number, list) in all.chunks_mut(listed.width).enumerate() {
        apart[king(number)].extend_from_slice(list);
        let first = 768 * king(number) as u16;
        list.iter_mut().for_each(|row| *row = if *row < 768 { *row + first } else { 3072 });
    }
    let lists = listed::active(&four, all, listed.width);
    let pairs = InputPairs::select_most_frequent(&four, &lists, 30);
    let mut right = Vec::new();
    for (king, lists) in apart.into_iter().enumerate() {
        let first = 4 * ROWS + right.len() as u32;
        let row = |row: u32| match row.checked_sub(768) {
            None => row + 768 * king as u32,
            Some(pair) => first + pair,
        };
        let alone = InputPairs::select_most_frequent(
            &single,
            &listed::active(&single, lists, listed.width),
            30,
        );
        right.extend(alone.parents().iter().map(|parents| parents.map(row)));
    }
    assert_eq!(right.len(), 60);
    assert_eq!(pairs.parents(), right);
    let short = listed::shortened(&pairs, &lists);
    assert_same_inputs(&short, &lists, &pairs);
    // Nets with so many king buckets that pairs exceed 16 bits have fewer.
    let net = net_of_kings(kings_in_turn(false, 64), 1);
    let none = InputPairs::select_most_frequent(&net, &listed::active(&net, Vec::new(), 8), 256);
    assert_eq!(none, InputPairs::without_pairs(64 * 768));
}

/// Asserts that short lists have the same inputs as often, pairs counting as two, and blanks last.
pub fn assert_same_inputs(short: &ActiveRows, lists: &ActiveRows, pairs: &InputPairs) {
    let rows = |lists: &ActiveRows| lists.indices.iter().map(|row| row as u32).collect::<Vec<_>>();
    let (inputs, blank) = (pairs.input_count() as u32, pairs.row_count() as u32);
    assert_eq!(short.len(), lists.len());
    for (short, list) in rows(short).chunks(short.width).zip(rows(lists).chunks(lists.width)) {
        let length = short.iter().take_while(|row| **row < blank).count();
        assert!(short[length..].iter().all(|row| *row == blank), "blanks come last: {short:?}");
        let mut inputs_of_list: Vec<u32> =
            short[..length].iter().flat_map(|row| inputs_of(*row, pairs)).collect();
        let mut right: Vec<u32> = list.iter().copied().filter(|row| *row < inputs).collect();
        inputs_of_list.sort();
        right.sort();
        assert_eq!(inputs_of_list, right);
    }
}

fn inputs_of(row: u32, pairs: &InputPairs) -> Vec<u32> {
    match (row as usize).checked_sub(pairs.input_count()) {
        None => vec![row],
        Some(pair) => pairs.parents()[pair].iter().flat_map(|it| inputs_of(*it, pairs)).collect(),
    }
}

/// Pairs are selected from other positions.
#[test]
fn shortened_lists_name_the_same_inputs() {
    let net = net(Perspectives::Perspective, 1);
    let lists = lists(&net, 900);
    let list_rows = |indices: &[u16]| listed::active(&net, indices.to_vec(), lists.width);
    let (sample, others) = near(&lists).split_at(near(&lists).len() / 2);
    let pairs = InputPairs::select_most_frequent(&net, &list_rows(sample), 200);
    for count in [0, 2, 254, 256, 258, 800] {
        let whole = list_rows(&others[..count * lists.width]);
        let short = listed::shortened(&pairs, &whole);
        assert_same_inputs(&short, &whole, &pairs);
        if count == 800 {
            let count =
                |lists: &ActiveRows, blank| lists.indices.iter().filter(|it| *it < blank).count();
            let [short, whole] = [count(&short, pairs.row_count()), count(&whole, net.row_count())];
            assert!(short * 5 < whole * 4, "{short} of {whole}");
        }
    }
}

/// Loss and gradients are the same but for rounding, whatever the chunks, formats and instructions.
#[test]
fn gradients_of_pairs_reach_their_inputs() {
    for (views, hidden) in [(Perspectives::Perspective, 40), (Perspectives::SideToMove, 24)] {
        let net = net(views, hidden);
        let lists = lists(&net, 700);
        let targets = games::eighths(lists.len());
        let pairs = Arc::new(InputPairs::select_most_frequent(&net, &lists, 120));
        let shorten = |lists: &ActiveRows| listed::shortened(&pairs, lists);
        let planned = BatchInputs::Planned(listed::plan_chunks(&net, &lists, &pairs, shorten));
        let listed = BatchInputs::Active(lists);
        for (precision, bound) in [(Precision::F32, 1e-5), (Precision::Mixed, 2e-3)] {
            for level in SimdLevel::list_available() {
                let model = model(&net, &initial_weights(&net, 3), fused(level, precision));
                let gradients = |inputs| model.compute_gradients(inputs, Aim::Targets(&targets));
                let [got, right] = [&planned, &listed].map(gradients);
                assert_near(level.name(), &got, &right, [1e-6, bound]);
            }
        }
    }
}
