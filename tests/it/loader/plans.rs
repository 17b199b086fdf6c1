//! Plans and lists with pairs, of drawn lists, against their definitions.

use nnuance::batch::{ActiveRows, ChunkPlan, Indices, InputPairs, Planner, plan_slowly};
use nnuance::features::Row;
use rand::seq::IndexedRandom;

use crate::support::kit::*;

/// Nets with one list per position or two, one king bucket or several, and more rows than 16 bits.
fn nets() -> Vec<Architecture> {
    let net = |views, sets: &[&str], king_buckets, buckets| {
        let mut net = net_of_sets(sets, kings_in_turn(true, king_buckets), 8);
        net.inputs.perspectives = views;
        Architecture { buckets, ..net }
    };
    vec![
        net(Perspectives::Perspective, &["pieces"], 1, 1),
        net(Perspectives::Perspective, &["pieces"], 5, 3),
        net(Perspectives::SideToMove, &["pieces"], 1, 8),
        net(Perspectives::Perspective, &["pieces", "attack-counts"], 1, 8),
        net(Perspectives::Perspective, &["pieces", "attack-counts"], 4, 1),
        net(Perspectives::Perspective, &["pieces", "threats"], 1, 1),
        net(Perspectives::Perspective, &["pieces", "threats", "threat-kinds"], 3, 5),
    ]
}

/// Draws rows of lists from few rows, so that some recur together, and king and output buckets.
fn draw(net: &Architecture, random: &mut Xoshiro256PlusPlus) -> (Vec<Vec<Row>>, ActiveRows) {
    let (positions, perspectives) = (random.random_range(0..200), net.perspective_count());
    let used: Vec<u32> = (0..40).map(|_| random.random_range(0..net.row_count() as u32)).collect();
    let times = |random: &mut Xoshiro256PlusPlus| match net.inputs.has_repeats() {
        true => *[1, 1, 1, 2, 3, 40, 70].choose(random).expect("some"),
        false => 1,
    };
    let lists: Vec<Vec<Row>> = (0..positions * perspectives)
        .map(|_| {
            let count = random.random_range(0..=30);
            let mut rows: Vec<u32> = used.sample(random, count).copied().collect();
            rows.sort_unstable();
            rows.dedup();
            rows.into_iter().map(|number| Row { number, times: times(random) }).collect()
        })
        .collect();
    let expanded: Vec<Vec<usize>> = lists
        .iter()
        .map(|list| {
            let copies = |row: &Row| std::iter::repeat_n(row.number as usize, row.times as usize);
            list.iter().flat_map(copies).collect()
        })
        .collect();
    let width = expanded.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut king_bucket = |kings: usize| random.random_range(0..kings) as u8;
    let kings = net.inputs.kings().bucket_count();
    let king_buckets = if kings == 1 { 0 } else { lists.len() };
    let buckets = if net.buckets == 1 { 0 } else { positions };
    let mut active = ActiveRows {
        rows: net.row_count(),
        perspectives,
        width,
        indices: Indices::zeros(net.inputs.is_large(), 0),
        king_buckets: (0..king_buckets).map(|_| king_bucket(kings)).collect(),
        buckets: (0..buckets).map(|_| king_bucket(net.buckets)).collect(),
    };
    active.indices = write(&expanded, width, net.row_count(), net.inputs.is_large());
    (lists, active)
}

/// Writes lists of this width, padded with `blank`.
fn write(lists: &[Vec<usize>], width: usize, blank: usize, is_wide: bool) -> Indices {
    let padded = |list: &Vec<usize>| {
        let blanks = std::iter::repeat_n(blank, width - list.len());
        list.iter().copied().chain(blanks).collect::<Vec<_>>()
    };
    let rows = lists.iter().flat_map(padded);
    match is_wide {
        true => Indices::U32(rows.map(|row| row as u32).collect()),
        false => Indices::U16(rows.map(|row| row as u16).collect()),
    }
}

/// Calls `check` with nets, drawn lists, and pairs selected from such lists.
fn for_drawn(check: impl Fn(&Architecture, &[Vec<Row>], ActiveRows, Arc<InputPairs>, u64)) {
    for net in nets() {
        for seed in 0..12 {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let (rows, lists) = draw(&net, &mut random);
            let max_pairs = [0, 60, 300][seed as usize % 3];
            let pairs = Arc::new(InputPairs::select_most_frequent(&net, &lists, max_pairs));
            check(&net, &rows, lists, pairs, seed);
        }
    }
}

#[test]
fn lists_with_pairs_equal_their_definition() {
    for_drawn(|net, rows, lists, pairs, seed| {
        let substitute = |(list, rows): (usize, &Vec<Row>)| {
            let rows = pairs.substitute_slowly(lists.king_bucket(list), rows);
            rows.into_iter().map(|row| row as usize).collect()
        };
        let right: Vec<Vec<usize>> = rows.iter().enumerate().map(substitute).collect();
        let width = right.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let right = write(&right, width, pairs.row_count(), net.inputs.is_large());
        let listed = listed::with_pairs(&pairs, rows, &lists);
        assert!(listed.indices == right, "{net}, lists {seed}");
        if net.inputs.is_pieces() && pairs.has_pairs() {
            let mut short = listed::shortened(&pairs, &lists);
            short.trim_width(width);
            assert!(short.indices == right, "{net}, short lists {seed}");
        }
    });
}

#[test]
fn plans_equal_their_definition() {
    let planned = std::cell::RefCell::new((Planner::default(), ChunkPlan::default()));
    for_drawn(|net, rows, lists, pairs, seed| {
        let lists = listed::with_pairs(&pairs, rows, &lists);
        let positions: Vec<u32> = (0..lists.len() as u32).collect();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let count = random.random_range(0..=positions.len());
        let chosen: Vec<u32> = positions.sample(&mut random, count).copied().collect();
        // The previous contents of the plan are overwritten.
        let (planner, plan) = &mut *planned.borrow_mut();
        planner.order_items(net, &lists, &chosen, &pairs, plan);
        planner.invert_lists(plan);
        assert!(*plan == plan_slowly(net, &lists, &chosen, &pairs), "{net}, lists {seed}");
    });
}

/// Nets of several sets with several king buckets had blank lists in all but the first.
#[test]
fn lists_of_positions_equal_their_rows() {
    let samples = games::recorded(600);
    for net in nets() {
        let inputs = Encoder::for_net(&net).encode_samples(&samples).inputs;
        let lists = inputs.one_hot().lists();
        let all: Vec<usize> = lists.indices.iter().collect();
        let rows = samples.iter().flat_map(|sample| net.inputs.active_rows(&sample.position));
        for (list, rows) in all.chunks(lists.width).zip(rows) {
            let mut listed: Vec<usize> =
                list.iter().copied().filter(|row| *row < lists.rows).collect();
            let copies = |row: &Row| std::iter::repeat_n(row.number as usize, row.times as usize);
            let mut right: Vec<usize> = rows.entries().iter().flat_map(copies).collect();
            listed.sort_unstable();
            right.sort_unstable();
            assert_eq!(listed, right, "{net}");
        }
    }
}
