//! Lists of the rows of nets of pieces, which are those of 16 bits.

use nnuance::architecture::{Architecture, PIECES};
use nnuance::batch::{ActiveRows, BatchInputs, Indices};
use nnuance::loader::Encoder;

use crate::support::games;

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
