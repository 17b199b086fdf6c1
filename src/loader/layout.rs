//! Layout in which a model reads the inputs of positions. It is chosen once per run, from net,
//! device and data.

use std::sync::Arc;

use super::lists::ListWriter;
use crate::architecture::Architecture;
use crate::batch::{ActiveRows, InputPairs};
use crate::sample::{Position, Sample};

/// Maximum bytes of a run's cached plans. Other chunks are planned again in each pass.
pub const MAX_PLAN_BYTES: usize = 1 << 30;
/// Maximum number of positions from which the pairs of a king bucket are selected.
pub(super) const POSITIONS_PER_BUCKET: usize = 4096;

/// Layout of a net's inputs in batches. Handcrafted terms have another layout.
#[derive(Clone, Debug, Default)]
pub enum InputLayout {
    /// Lists of active rows: [`BatchInputs::Active`](crate::batch::BatchInputs::Active).
    #[default]
    Lists,
    /// Plans of fixed chunks of data in memory, cached in at most `max_bytes`, with at most
    /// `max_pairs` pairs: [`BatchInputs::Planned`](crate::batch::BatchInputs::Planned). If
    /// `inverted`, they have the lists of each row, as the CPU needs.
    CachedPlans { max_bytes: usize, max_pairs: usize, inverted: bool },
    /// Plans of chunks that are used once:
    /// [`BatchInputs::Planned`](crate::batch::BatchInputs::Planned).
    PassingPlans(Arc<InputPairs>),
    /// First views, which the kernels plan:
    /// [`BatchInputs::First`](crate::batch::BatchInputs::First).
    FirstViews(Arc<InputPairs>),
}

impl InputLayout {
    /// Chooses the layout of streamed data for the fused operations of the CPU.
    pub fn for_streamed_data(net: &Architecture, pairs: Arc<InputPairs>) -> Self {
        if net.inputs.is_uniform() { Self::FirstViews(pairs) } else { Self::PassingPlans(pairs) }
    }
}

/// Selects at most `max_pairs` pairs of streamed data, from positions spread over the sample.
pub fn select_pairs(net: &Architecture, sample: &[Sample], max_pairs: usize) -> InputPairs {
    let step = sample.len().div_ceil(POSITIONS_PER_BUCKET).max(1);
    let positions = sample.iter().step_by(step).map(|sample| sample.position);
    let has_images = net.inputs.is_uniform() && net.perspective_count() == 2;
    let select =
        if has_images { InputPairs::select_images } else { InputPairs::select_most_frequent };
    select_from(net, positions, max_pairs, select)
}

/// Selects the pairs that shorten the lists of positions most.
pub(super) fn select_from(
    net: &Architecture,
    positions: impl ExactSizeIterator<Item = Position>,
    max_pairs: usize,
    select: fn(&Architecture, &ActiveRows, usize) -> InputPairs,
) -> InputPairs {
    if max_pairs == 0 && !net.inputs.has_repeats() {
        return InputPairs::without_pairs(net.row_count());
    }
    let mut writer = ListWriter::default();
    writer.fill_lists(net, positions);
    writer.substitute_pairs(net, &InputPairs::without_pairs(net.row_count()));
    select(net, &writer.lists, max_pairs)
}
