//! Lists of rows, most of nets of pieces, which are those of 16 bits; and plans of them.

use std::ops::Range;

use nnuance::architecture::PIECES;
use nnuance::batch::{ActiveRows, BatchInputs, ChunkPlan, Indices, InputPairs, Planner};
use nnuance::features::Row;

use crate::support::kit::*;

/// Lists `[positions, perspectives, width]` without output buckets.
pub fn active(net: &Architecture, indices: Vec<u16>, width: usize) -> ActiveRows {
    let kings = net.inputs.kings().bucket_count();
    let king = |list: &[u16]| (usize::from(list[0]) / PIECES).min(kings - 1) as u8;
    let king_buckets = match kings {
        1 => Vec::new(),
        _ => indices.chunks_exact(width).map(king).collect(),
    };
    let (rows, perspectives, indices) =
        (net.row_count(), net.perspective_count(), Indices::U16(indices));
    ActiveRows { rows, perspectives, width, indices, king_buckets, buckets: Vec::new() }
}

/// Lists of recorded positions, a twelfth of those of their games.
pub fn lists(net: &Architecture, positions: u64) -> ActiveRows {
    let samples: Vec<_> = games::recorded(12 * positions).into_iter().step_by(12).collect();
    let BatchInputs::Active(active) = Encoder::for_net(net).encode_samples(&samples).inputs else {
        panic!("lists")
    };
    active
}

pub fn near(active: &ActiveRows) -> &[u16] {
    let Indices::U16(indices) = &active.indices else { panic!("rows beyond 16 bits") };
    indices
}

pub fn near_mut(active: &mut ActiveRows) -> &mut Vec<u16> {
    let Indices::U16(indices) = &mut active.indices else { panic!("rows beyond 16 bits") };
    indices
}

pub fn select(lists: &ActiveRows, positions: Range<usize>) -> ActiveRows {
    let (entries, perspectives) = (lists.perspectives * lists.width, lists.perspectives);
    let range = positions.start * entries..positions.end * entries;
    let indices = match &lists.indices {
        Indices::U16(all) => Indices::U16(all[range].to_vec()),
        Indices::U32(all) => Indices::U32(all[range].to_vec()),
    };
    let kings =
        lists.king_buckets.get(positions.start * perspectives..positions.end * perspectives);
    let king_buckets = kings.unwrap_or_default().to_vec();
    let buckets = lists.buckets.get(positions).unwrap_or_default().to_vec();
    ActiveRows { indices, king_buckets, buckets, ..lists.clone() }
}

/// The lists with the pairs of their rows.
pub fn with_pairs(pairs: &InputPairs, rows: &[Vec<Row>], lists: &ActiveRows) -> ActiveRows {
    let ends = rows.iter().scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    });
    let mut paired = lists.clone();
    let ends: Vec<usize> = ends.collect();
    pairs.fill_lists(&rows.concat(), &ends, &mut paired, &mut vec![]);
    paired
}

/// The lists of a net of pieces with the pairs of their rows.
pub fn shortened(pairs: &InputPairs, lists: &ActiveRows) -> ActiveRows {
    let mut short = lists.clone();
    pairs.shorten_lists(&mut short, &mut vec![]);
    short
}

/// Plans chunks of 150 positions, whose lists are shortened; the last is smaller.
pub fn plan_chunks(
    net: &Architecture,
    lists: &ActiveRows,
    pairs: &Arc<InputPairs>,
    shorten: impl Fn(&ActiveRows) -> ActiveRows,
) -> Vec<Arc<ChunkPlan>> {
    let mut planner = Planner::default();
    let plan = |start: usize| {
        let lists = shorten(&select(lists, start..(start + 150).min(lists.len())));
        let chosen: Vec<u32> = (0..lists.len() as u32).collect();
        let mut plan = ChunkPlan::default();
        planner.order_items(net, &lists, &chosen, pairs, &mut plan);
        planner.invert_lists(&mut plan);
        assert_eq!(plan.len(), lists.len(), "the chunk of position {start}");
        Arc::new(plan)
    };
    (0..lists.len()).step_by(150).map(plan).collect()
}
