//! Growth of a net to a larger one with the same evaluation, to start from. The smaller net's arrays
//! are copied to each king bucket and output bucket that is a part of one of its buckets, and to the
//! first neurons of the hidden layer. New feature sets begin with zeros. New neurons begin with
//! random weights, and their weights in the next layer with zero (T. Chen et al., "Net2Net", 2016,
//! copies neurons instead, which must then be made different).

use anyhow::{Result, ensure};

use crate::architecture::{Architecture, ArrayKind, BucketChoice, MAX_PIECES, NetArray, PIECES};
use crate::model::initial_weights;
use crate::weights::Weights;

/// Returns weights of `wanted` whose output is that of `net`. Neither net has a factoriser.
///
/// # Errors
///
/// Fails if the larger net does not contain the smaller one, and if the weights are not those of
/// `net`.
pub fn grow_weights(
    weights: &Weights,
    net: &Architecture,
    wanted: &Architecture,
    seed: u64,
) -> Result<Weights> {
    let (kings, buckets) = (match_king_buckets(net, wanted)?, match_output_buckets(net, wanted)?);
    // Rows of king buckets come from the bucket that contained them.
    let old_row = |row: usize| kings[row / PIECES] * PIECES + row % PIECES;
    let names = |net: &Architecture| -> Vec<String> {
        net.inputs.sets().iter().map(|set| set.name().into()).collect()
    };
    let (old, new) = (names(net), names(wanted));
    ensure!(new.starts_with(&old), "it has the feature sets {}, in this order", old.join(", "));
    ensure!(
        (net.activation, net.pairwise) == (wanted.activation, wanted.pairwise),
        "its hidden layer has another activation"
    );
    ensure!(net.hidden <= wanted.hidden, "it has more neurons, {}", net.hidden);
    ensure!(
        (&net.head, &net.output, net.skip, net.psqt)
            == (&wanted.head, &wanted.output, wanted.skip, wanted.psqt),
        "it has other layers behind the hidden one"
    );
    let (size, larger) = (net.outputs_of_perspective(), wanted.outputs_of_perspective());
    let columns = indices_in_blocks(net.hidden / size, size, larger);
    let inputs = indices_in_blocks(net.perspective_count(), size, larger);
    let first = if net.head.is_empty() { ArrayKind::Output } else { ArrayKind::Layer(0) };
    let mut grown = initial_weights(wanted, seed);
    for array in wanted.list_arrays() {
        if matches!(array.kind, ArrayKind::Rows(set) if set >= old.len()) {
            grown.insert(&array.name, &array.shape, vec![0.0; array.len()]);
        }
    }
    for NetArray { kind, name, shape, .. } in net.list_arrays() {
        let from = weights.get(&name, &shape)?;
        let to = &mut grown.0.get_mut(&name).expect("it has the same layers").values;
        match kind {
            ArrayKind::Rows(set) => {
                let is_pieces = net.inputs.sets()[set].kings().is_some();
                for (row, to) in to.chunks_exact_mut(wanted.hidden).enumerate() {
                    let old = if is_pieces { old_row(row) } else { row };
                    let from = &from[old * net.hidden..][..net.hidden];
                    columns.iter().zip(from).for_each(|(column, it)| to[*column] = *it);
                }
            }
            ArrayKind::Psqt(_) => {
                for (row, to) in to.chunks_exact_mut(wanted.buckets).enumerate() {
                    let from = &from[old_row(row) * net.buckets..][..net.buckets];
                    to.iter_mut().zip(&buckets).for_each(|(to, old)| *to = from[*old]);
                }
            }
            ArrayKind::AccumulatorBias => {
                columns.iter().zip(from).for_each(|(column, it)| to[*column] = *it);
            }
            _ => {
                let old_length = from.len() / net.buckets;
                let new_length = to.len() / wanted.buckets;
                for (to, old) in to.chunks_exact_mut(new_length).zip(&buckets) {
                    let from = &from[old * old_length..][..old_length];
                    if kind != first {
                        to.copy_from_slice(from);
                        continue;
                    }
                    to.fill(0.0);
                    let rows = to.chunks_exact_mut(net.perspective_count() * larger);
                    for (to, from) in rows.zip(from.chunks_exact(net.perspective_count() * size)) {
                        inputs.iter().zip(from).for_each(|(input, it)| to[*input] = *it);
                    }
                }
            }
        }
    }
    Ok(grown)
}

/// Finds the smaller net's king bucket that contains each of the larger net's.
fn match_king_buckets(net: &Architecture, wanted: &Architecture) -> Result<Vec<usize>> {
    let [old, new] = [net, wanted].map(|it| it.inputs.kings());
    ensure!(
        (net.inputs.perspectives, old.mirror) == (wanted.inputs.perspectives, new.mirror),
        "it has other inputs, or only one of the two is mirrored"
    );
    let pairs = (0..64).map(|king| (new.flip_and_bucket(king).1, old.flip_and_bucket(king).1));
    match_buckets(new.bucket_count(), pairs, "king bucket")
}

/// Finds the smaller net's output bucket that contains each of the larger net's.
fn match_output_buckets(net: &Architecture, wanted: &Architecture) -> Result<Vec<usize>> {
    if [net, wanted].iter().any(|net| matches!(net.bucket_choice, BucketChoice::Own(_))) {
        let same = net.bucket_choice == wanted.bucket_choice;
        ensure!(same || net.buckets == 1, "its output buckets are chosen otherwise");
        return Ok((0..wanted.buckets).map(|bucket| if same { bucket } else { 0 }).collect());
    }
    let pairs = (2..=MAX_PIECES)
        .map(|pieces| (wanted.bucket_by_pieces(pieces), net.bucket_by_pieces(pieces)));
    match_buckets(wanted.buckets, pairs, "output bucket")
}

/// Finds the bucket that contains each of `count` finer ones; 0 for buckets that are never used.
fn match_buckets(
    count: usize,
    pairs: impl Iterator<Item = (usize, usize)>,
    kind: &str,
) -> Result<Vec<usize>> {
    let mut buckets: Vec<Option<usize>> = vec![None; count];
    for (new, old) in pairs {
        let known = *buckets[new].get_or_insert(old);
        ensure!(known == old, "{kind} {new} joins several of its own");
    }
    Ok(buckets.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns the new indices of the numbers in consecutive blocks when the blocks become larger.
fn indices_in_blocks(blocks: usize, size: usize, larger: usize) -> Vec<usize> {
    (0..blocks).flat_map(|block| (0..size).map(move |i| block * larger + i)).collect()
}
