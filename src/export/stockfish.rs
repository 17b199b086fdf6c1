//! Nets in the form of Stockfish's files, and the deviations of its engines from exact integers.

use std::path::Path;

use super::{ImportedWeights, Proof, with_kings};
use crate::net::Net;
use crate::net::format::stockfish::{self, GenerationError, StockfishGeneration};
use crate::sample::Position;

/// The reason why a net is not one of Stockfish's.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error(transparent)]
    Keys(#[from] GenerationError),
    #[error(transparent)]
    Kings(#[from] super::ImportError),
}

/// Whether a net with this name is written as Stockfish's file.
pub fn is_stockfish(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("nnue"))
}

/// Converts weights to the form of Stockfish's files, with merged kings, and returns the generation.
///
/// # Errors
///
/// Fails if Stockfish has no such net, with the keys that differ from its nearest one, and as
/// [`with_kings`] does.
pub fn fit_stockfish(source: &mut ImportedWeights) -> Result<StockfishGeneration, Unfit> {
    let ImportedWeights { weights, architecture, scales, write, header, .. } = source;
    let generation = StockfishGeneration::of_net(architecture, *scales)?;
    if generation.merges_kings && !architecture.inputs.has_merged_kings() {
        (*weights, *architecture) = with_kings(weights, architecture, true)?;
    }
    *write = stockfish::write_net;
    header.get_or_insert_default();
    Ok(generation)
}

/// The official name of a file with this hash, which engines expect of embedded nets.
pub fn official_name(sha256: &str) -> String {
    format!("nn-{}.nnue", &sha256[..12])
}

/// The maximum number of positions on which the skip neuron is measured.
const MEASURED: usize = 10_000;
/// The largest sum of four weights that stays below 2^15 with any inputs.
const MAX_OF_FOUR: i32 = (i16::MAX as i32) / 127;

/// Lists the possible deviations of engines of the net's generation, with remedies.
pub fn stockfish_cautions(net: &Net, proof: &Proof, positions: &[Position]) -> Vec<String> {
    let Ok(generation) = StockfishGeneration::of_net(net.architecture(), net.scales()) else {
        return Vec::new();
    };
    let StockfishGeneration { name, hidden, .. } = generation;
    let mut cautions = Vec::new();
    if hidden != generation.usual_hidden() {
        cautions.push(format!(
            "Stockfish {name} has {} neurons: build an engine with {hidden}, or train with that",
            generation.usual_hidden()
        ));
    }
    let neurons = if generation.saturates_sums() { count_saturating(net, &generation) } else { 0 };
    if neurons > 0 {
        cautions.push(format!(
            "{neurons} neurons of the head may saturate 16 bits in engines with SSSE3 to AVX2, whose \
             values then differ; no weights do with optimizer.layers = {{ \"head.0.weight\" = {{ \
             clip = 0.99 }}, \"head.1.weight\" = {{ clip = 0.99 }} }}"
        ));
    }
    // Some engines double accumulators.
    let limit = i64::from(i16::MAX) >> u32::from(generation.doubles_accumulators());
    if !proof.intermediate.lies_within(-limit - 1, limit) {
        cautions.push(format!(
            "accumulators may reach {}, and overflow in the engine beyond {limit}; train with a \
             smaller optimizer.clip to rule it out",
            proof.intermediate
        ));
    }
    if let Some(limit) = generation.most_skipped() {
        let sums = positions.iter().take(MEASURED).map(|it| skipped_sum(net, it).abs());
        let largest = sums.max().unwrap_or(0);
        if largest > limit {
            cautions.push(format!(
                "the sum of the neuron that skips reaches {largest}, and the engine wraps beyond \
                 {limit}; train with a smaller clip of head.0.weight"
            ));
        }
    }
    cautions
}

/// Counts the neurons whose sums of four products in an engine's instructions may exceed 16 bits.
/// Vectors of 16 or 32 inputs are added in the first layer, groups of four in the second.
fn count_saturating(net: &Net, generation: &StockfishGeneration) -> usize {
    let maps = net.architecture().maps();
    let count_map = |map: usize| {
        let inputs = maps[map][0];
        let columns = generation.file_columns(map, inputs);
        let steps: &[usize] = if map == 0 { &[16, 32] } else { &[4] };
        let saturates = |row: &&[i8]| {
            let mut file_weights = vec![0; inputs.next_multiple_of(64)];
            columns.iter().zip(*row).for_each(|(column, w)| file_weights[*column] = i32::from(*w));
            let sum_four = |first: usize, step: usize, sign: i32| -> i32 {
                let four = [first, first + 1, first + step, first + step + 1];
                four.map(|it| (sign * file_weights[it]).max(0)).iter().sum()
            };
            let firsts = |step: usize| {
                let is_first = move |it: &usize| (it / step).is_multiple_of(2);
                (0..inputs).step_by(2).filter(is_first).map(move |it| (it, step))
            };
            let mut fours = steps.iter().flat_map(|step| firsts(*step));
            fours.any(|(it, step)| {
                [1, -1].iter().any(|sign| sum_four(it, step, *sign) > MAX_OF_FOUR)
            })
        };
        net.map_numbers(map)[0].i8s().chunks_exact(inputs).filter(saturates).count()
    };
    count_map(0) + count_map(1)
}

/// Computes the sum of the first layer's last neuron.
fn skipped_sum(net: &Net, position: &Position) -> i64 {
    let bucket = net.architecture().bucket_of(position);
    let inputs = net.first_bytes(position);
    let [weights, biases] = net.map_numbers(0);
    let outputs = biases.len() / net.architecture().buckets;
    let row = (bucket + 1) * outputs - 1;
    let weights = &weights.i8s()[row * inputs.len()..][..inputs.len()];
    let sum: i64 = weights.iter().zip(&inputs).map(|(w, x)| i64::from(*w) * x).sum();
    sum + biases.get(row) as i64
}
