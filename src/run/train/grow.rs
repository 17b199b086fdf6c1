//! A larger net that says what a smaller one says, to start from.
//!
//! What the smaller net has is copied: to each king bucket and each output bucket that was a part of
//! one of its own, and to the first neurons of each layer. New neurons begin as chance draws them,
//! and nobody listens to them yet: what they hand on is multiplied by zero, until training says
//! otherwise (T. Chen et al., "Net2Net", 2016, copies neurons instead; zeros need no copies to be
//! told apart).

use crate::architecture::{Architecture, Array, MOST_PIECES, PIECES, Part};
use crate::model::initial;
use crate::weights::{Weights, WeightsError};

/// Why a net cannot grow into another.
#[derive(Debug, thiserror::Error)]
pub enum GrowError {
    #[error("{0}")]
    Unlike(String),
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// The weights of `wanted`, whose output is that of `net`. Both are nets without a factoriser.
///
/// # Errors
/// If no weights of `wanted` can do so, or the weights are not those of `net`.
pub fn grow(
    weights: &Weights,
    net: &Architecture,
    wanted: &Architecture,
    seed: u64,
) -> Result<Weights, GrowError> {
    let kings = kings(net, wanted)?;
    let buckets = buckets(net, wanted)?;
    let columns = columns(net, wanted)?;
    let maps = maps(net, wanted)?;
    let mut grown = initial(wanted, seed);
    for Array { part, name, shape, .. } in net.arrays() {
        let from = weights.get(&name, &shape)?;
        let to = &mut grown.0.get_mut(&name).expect("it has the same layers").values;
        match part {
            Part::Factoriser => {}
            Part::Accumulator => {
                for (bucket, old) in kings.iter().enumerate() {
                    for row in 0..PIECES {
                        let from = &from[(old * PIECES + row) * net.hidden..][..net.hidden];
                        let to = &mut to[(bucket * PIECES + row) * wanted.hidden..];
                        columns.iter().zip(from).for_each(|(column, it)| to[*column] = *it);
                    }
                }
            }
            Part::AccumulatorBias => {
                columns.iter().zip(from).for_each(|(column, it)| to[*column] = *it);
            }
            Part::Layer(_) | Part::Output => {
                let map = &maps[place(part, net)];
                let [size, larger] = [net, wanted].map(|it| it.maps()[place(part, net)]);
                for (bucket, old) in buckets.iter().enumerate() {
                    let to = &mut to[bucket * larger[0] * larger[1]..];
                    for (output, new) in map.outputs.iter().enumerate() {
                        let from = &from[(old * size[1] + output) * size[0]..][..size[0]];
                        let to = &mut to[new * larger[0]..][..larger[0]];
                        to.fill(0.0);
                        map.inputs.iter().zip(from).for_each(|(input, it)| to[*input] = *it);
                    }
                }
            }
            Part::LayerBias(_) | Part::OutputBias => {
                let map = &maps[place(part, net)];
                let [size, larger] = [net, wanted].map(|it| it.maps()[place(part, net)][1]);
                for (bucket, old) in buckets.iter().enumerate() {
                    for (output, new) in map.outputs.iter().enumerate() {
                        to[bucket * larger + new] = from[old * size + output];
                    }
                }
            }
        }
    }
    Ok(grown)
}

/// Where the inputs and outputs of an affine map are in a larger one.
struct Map {
    inputs: Vec<usize>,
    outputs: Vec<usize>,
}

fn unlike<T>(reason: impl Into<String>) -> Result<T, GrowError> {
    Err(GrowError::Unlike(reason.into()))
}

/// The king bucket that each of the larger net was a part of.
fn kings(net: &Architecture, wanted: &Architecture) -> Result<Vec<usize>, GrowError> {
    let [old, new] = [net, wanted].map(|it| it.inputs);
    if old.views != new.views {
        return unlike(format!("it has {} inputs", old.views.name()));
    }
    if old.kings.mirror != new.kings.mirror {
        let has = if old.kings.mirror { "sees" } else { "does not see" };
        return unlike(format!("it {has} mirrored views"));
    }
    let mut of: Vec<Option<usize>> = vec![None; new.kings.count()];
    for king in 0..64 {
        let [(_, was), (_, is)] = [old, new].map(|it| it.kings.seen(king));
        if of[is].is_some_and(|other| other != was) {
            return unlike(format!("king bucket {is} joins several of its own"));
        }
        of[is] = Some(was);
    }
    Ok(of.into_iter().flatten().collect())
}

/// The same of output buckets.
fn buckets(net: &Architecture, wanted: &Architecture) -> Result<Vec<usize>, GrowError> {
    // What no number of pieces asks for may be anything.
    let mut of: Vec<Option<usize>> = vec![None; wanted.buckets];
    for pieces in 2..=MOST_PIECES {
        let (was, is) = (net.bucket(pieces), wanted.bucket(pieces));
        if of[is].is_some_and(|other| other != was) {
            return unlike(format!("output bucket {is} joins several of its own"));
        }
        of[is] = Some(was);
    }
    Ok(of.into_iter().map(Option::unwrap_or_default).collect())
}

/// Where the neurons of the accumulators are.
fn columns(net: &Architecture, wanted: &Architecture) -> Result<Vec<usize>, GrowError> {
    if (net.activation, net.pairwise) != (wanted.activation, wanted.pairwise) {
        return unlike("its hidden layer has another activation");
    }
    if net.hidden > wanted.hidden {
        return unlike(format!("it has {} neurons, which are more", net.hidden));
    }
    Ok(in_blocks(
        net.hidden / net.outputs_of_view(),
        net.outputs_of_view(),
        wanted.outputs_of_view(),
    ))
}

/// Where the neurons of the layers behind are.
fn maps(net: &Architecture, wanted: &Architecture) -> Result<Vec<Map>, GrowError> {
    if (net.head.len(), net.skip) != (wanted.head.len(), wanted.skip) {
        return unlike("it has other layers behind the hidden one");
    }
    let mut inputs = in_blocks(net.views(), net.outputs_of_view(), wanted.outputs_of_view());
    let mut maps = Vec::new();
    for (i, (old, new)) in net.head.iter().zip(&wanted.head).enumerate() {
        if old.activation != new.activation || old.size > new.size {
            return unlike(format!("its layer {i} is larger, or has another activation"));
        }
        // The skip neuron is the last one.
        let skip = (net.skip && i == 0).then_some(new.size);
        maps.push(Map { inputs, outputs: (0..old.size).chain(skip).collect() });
        inputs = in_blocks(old.activation.curves().len(), old.size, new.size);
    }
    maps.push(Map { inputs, outputs: vec![0] });
    Ok(maps)
}

/// Where the numbers of some blocks are, side by side, when the blocks are larger.
fn in_blocks(blocks: usize, size: usize, larger: usize) -> Vec<usize> {
    (0..blocks).flat_map(|block| (0..size).map(move |i| block * larger + i)).collect()
}

/// The number of the affine map that an array belongs to.
fn place(part: Part, net: &Architecture) -> usize {
    match part {
        Part::Layer(i) | Part::LayerBias(i) => i,
        _ => net.head.len(),
    }
}
