//! Nets with a product or layers after their accumulators: kernels from accumulators to loss and
//! back, and products of matrices for the first map, of all output buckets at once.

use burn::backend::Cube;
use burn::tensor::Tensor;
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::super::FusedGradients;
use super::form::{PositionRange, TILE, Tiles, UNITS, launch_grid};
use super::gpu::Buffer;
use super::head::{self, FeatureShape, HeadOffsetsLaunch, HeadTable};
use super::net::CubePass;
use super::positions::WrittenGradients;
use super::sums;
use crate::architecture::{Architecture, ArrayKind};
use crate::loss::Loss;

/// The head of a net in a batch.
pub(super) struct DeepHead {
    table: HeadTable,
    tiles: Tiles,
    /// Offsets in the words of the batch, see [`head::HeadOffsets`].
    table_of_tiles: usize,
    steps: usize,
    columns: usize,
}

impl DeepHead {
    /// Appends its tables to the words of a batch.
    pub fn new(
        net: &Architecture,
        buckets: &[u8],
        [positions, part]: [usize; 2],
        words: &mut Vec<u32>,
    ) -> Self {
        let (table, tiles) =
            (HeadTable::new(net), Tiles::new(buckets, net.buckets, positions, part));
        let mut append = |table: &[u32]| {
            words.extend(table);
            words.len() - table.len()
        };
        let (table_of_tiles, steps) = (append(&tiles.table), append(&table.steps));
        let columns = append(&table.columns);
        Self { table, tiles, table_of_tiles, steps, columns }
    }

    fn launch_offsets(&self, labels: usize) -> HeadOffsetsLaunch {
        let [labels, tiles, steps, columns] =
            [labels, self.table_of_tiles, self.steps, self.columns].map(|it| it as u32);
        HeadOffsetsLaunch::new(labels, tiles, steps, self.table.step_count() as u32, columns)
    }
}

/// Computes loss and gradients.
pub(super) fn compute_gradients(pass: &CubePass, head: &DeepHead) -> FusedGradients<Cube> {
    let (gpu, net) = (&pass.gpu, &pass.job.kernel.net);
    let (count, first_map) = (head.table.sum_count(), first_map(pass));
    let tile_sums = gpu.empty_buffer(head.tiles.len() * count);
    let output = WrittenGradients::from_aim(pass.job.aim);
    let features_of_batch = (pass.listed.positions * net.feature_count()) as f32;
    let sparsity = if net.is_deep() { pass.job.aim.sparsity_weight() } else { 0.0 };
    let penalty = sparsity / features_of_batch;
    // The biases of the accumulators, the weights of the first map, the penalty.
    let mut sums_of_parts: Option<Vec<Tensor<1>>> = None;
    let weights = pack_head(pass);
    let rows = pass.row_gradients(|part_number, part| {
        let tiles = &head.tiles.parts[part_number];
        let accumulators = sum_accumulators(pass, part);
        let features = first_map_inputs(pass, part, &accumulators);
        let sums = sums_of(&features, &first_map);
        let [gradients, written, psqt] =
            walk_head(pass, head, tiles, &weights, &sums, &accumulators, output);
        add_up(pass, head, tiles, &written, &tile_sums);
        let width = net.buckets * head.table.shape.outputs;
        let gradients = gpu.tensor(gradients, [part.positions.len(), width]);
        let by_features = Buffer::from_tensor(gradients.clone().matmul(first_map.clone()));
        let by_map = gradients.transpose().matmul(features.clone());
        let list_gradients =
            accumulator_gradients(pass, part, [&accumulators, &by_features, &psqt], penalty);
        let lists = part.positions.len() * net.perspective_count();
        let bias = sums::of_all(gpu, &list_gradients, lists, net.column_count());
        let bias = gpu.tensor(bias, [net.column_count()]).narrow(0, 0, net.hidden);
        let len = width * net.feature_count();
        let mut terms: Vec<Tensor<1>> = vec![bias, by_map.reshape([len])];
        if penalty != 0.0 {
            let features = Buffer::from_tensor(features);
            let sums = sums::of_all(gpu, &features, part.positions.len(), net.feature_count());
            let sum = sums::of_all(gpu, &sums, net.feature_count(), 1);
            terms.push(gpu.tensor(sum, [1]));
        }
        sums_of_parts = Some(match sums_of_parts.take() {
            None => terms,
            Some(sums) => sums.into_iter().zip(terms).map(|(sum, term)| sum + term).collect(),
        });
        list_gradients
    });
    let by_bucket = sums::sum_buckets(gpu, &tile_sums, &head.tiles, net.buckets, count);
    let losses = sums::of_all(gpu, &by_bucket, net.buckets, count);
    let by_bucket = gpu.tensor(by_bucket, [net.buckets, count]);
    let mut loss = gpu.tensor(losses, [count]).narrow(0, count - 1, 1);
    loss = loss / pass.listed.positions as f32;
    let mut sums = sums_of_parts.expect("a batch has parts").into_iter();
    let mut next = || sums.next().expect("a bias and a map");
    let [bias, first_map_gradient] = [next(), next()];
    if let Some(sum) = sums.next() {
        loss = loss + sum * penalty;
    }
    let mut others = vec![(ArrayKind::AccumulatorBias, bias)];
    let (maps, mut start) = (net.maps(), 0);
    for (map, [inputs, outputs]) in maps.into_iter().enumerate() {
        let mut take = |width: usize| {
            let gradient = by_bucket.clone().narrow(1, start, width);
            start += width;
            gradient.reshape([net.buckets * width])
        };
        let [weight, bias] = net.parts_of_map(map);
        let gradient = if map == 0 { first_map_gradient.clone() } else { take(inputs * outputs) };
        others.extend([(weight, gradient), (bias, take(outputs))]);
    }
    let others = others.into_iter().map(|(kind, it)| (kind, Buffer::from_tensor(it)));
    pass.all_gradients(Buffer::from_tensor(loss), rows, others)
}

pub(super) fn compute_logits(pass: &CubePass, head: &DeepHead) -> CubeTensor {
    let (weights, first_map) = (pack_head(pass), first_map(pass));
    let parts = pass.tiles.parts.iter().zip(&head.tiles.parts).map(|(part, tiles)| {
        let accumulators = sum_accumulators(pass, part);
        let sums = sums_of(&first_map_inputs(pass, part, &accumulators), &first_map);
        let logits = WrittenGradients::Logits;
        let [logits, ..] = walk_head(pass, head, tiles, &weights, &sums, &accumulators, logits);
        pass.gpu.tensor(logits, [part.positions.len()])
    });
    pass.gpu.flat_tensor(Buffer::from_tensor(Tensor::cat(parts.collect(), 0)))
}

/// Computes the accumulators of a part, `[positions * perspectives, columns]`.
fn sum_accumulators(pass: &CubePass, part: &PositionRange) -> Buffer {
    let net = &pass.job.kernel.net;
    let values =
        pass.gpu.empty_buffer(part.positions.len() * net.perspective_count() * net.column_count());
    pass.launch_positions(part, WrittenGradients::Accumulators, &values, &pass.gpu.empty_buffer(1));
    values
}

/// Computes the inputs of the first map, `[positions, features]`.
fn first_map_inputs(pass: &CubePass, part: &PositionRange, accumulators: &Buffer) -> Tensor<2> {
    let net = &pass.job.kernel.net;
    let (positions, features) = (part.positions.len(), net.feature_count());
    let (len, to) = (positions * features, pass.gpu.empty_buffer(positions * features));
    // SAFETY: both buffers have the numbers of these lists.
    unsafe {
        head::features::launch_unchecked(
            &pass.gpu.client,
            launch_grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            accumulators.launch_arg(),
            to.launch_arg(),
            len as u32,
            FeatureShape::of_net(net),
        );
    }
    pass.gpu.tensor(to, [positions, features])
}

/// Computes the sums of the first map, of all buckets and without biases, `[positions, buckets *
/// outputs]`.
fn sums_of(features: &Tensor<2>, first_map: &Tensor<2>) -> Buffer {
    Buffer::from_tensor(features.clone().matmul(first_map.clone().transpose()))
}

/// Walks the head; returns the gradients of the sums, or logits, then the written numbers, and the
/// gradients of piece-square values, `[positions, buckets]`.
fn walk_head(
    pass: &CubePass,
    head: &DeepHead,
    part: &PositionRange,
    weights: &Buffer,
    sums: &Buffer,
    accumulators: &Buffer,
    output: WrittenGradients,
) -> [Buffer; 3] {
    let (gpu, shape, positions) = (&pass.gpu, head.table.shape, part.positions.len());
    let widths = match output {
        WrittenGradients::Logits => [1, 0, 0],
        _ => {
            let psqt = pass.job.kernel.net.psqt_columns();
            [shape.buckets * shape.outputs, shape.written, psqt]
        }
    };
    let to = widths.map(|width| gpu.empty_buffer(positions * width));
    let loss = pass.job.aim.loss_inputs().map_or(Loss::SQUARED, |inputs| inputs.loss);
    // SAFETY: the tables have no index beyond the buffers, and the tiles no position beyond the
    // part.
    unsafe {
        head::head::launch_unchecked(
            &gpu.client,
            launch_grid((part.tiles.len() * TILE).div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            sums.launch_arg(),
            accumulators.launch_arg(),
            weights.launch_arg(),
            pass.batch.launch_arg(),
            to[0].launch_arg(),
            to[1].launch_arg(),
            to[2].launch_arg(),
            head.launch_offsets(pass.labels),
            part.positions.start as u32,
            positions as u32,
            part.tiles.start as u32,
            part.tiles.len() as u32,
            1.0 / pass.listed.positions as f32,
            loss.power as f32,
            1.0 + loss.asymmetry as f32,
            shape,
            output,
        );
    }
    to
}

/// Sums the written numbers over the positions of each tile.
fn add_up(pass: &CubePass, head: &DeepHead, part: &PositionRange, written: &Buffer, sums: &Buffer) {
    // SAFETY: the tiles have no position beyond the part, the columns no number beyond the written
    // ones.
    unsafe {
        head::sums_of_tiles::launch_unchecked(
            &pass.gpu.client,
            launch_grid(part.tiles.len()),
            CubeDim::new_1d(UNITS as u32),
            written.launch_arg(),
            pass.batch.launch_arg(),
            sums.launch_arg(),
            head.launch_offsets(pass.labels),
            part.positions.start as u32,
            part.positions.len() as u32,
            part.tiles.start as u32,
            part.tiles.len() as u32,
            head.table.sum_count() as u32,
            head.table.shape,
        );
    }
}

/// Computes the gradients of accumulators, `[positions * perspectives, columns]`, from those of the
/// features and of piece-square values.
fn accumulator_gradients(
    pass: &CubePass,
    part: &PositionRange,
    [accumulators, gradients, psqt]: [&Buffer; 3],
    penalty: f32,
) -> Buffer {
    let net = &pass.job.kernel.net;
    let len = part.positions.len() * net.perspective_count() * net.column_count();
    let to = pass.gpu.empty_buffer(len);
    // SAFETY: the buffers have the numbers of these lists.
    unsafe {
        head::accumulator_gradients::launch_unchecked(
            &pass.gpu.client,
            launch_grid(len.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            accumulators.launch_arg(),
            gradients.launch_arg(),
            psqt.launch_arg(),
            to.launch_arg(),
            penalty,
            len as u32,
            FeatureShape::of_net(net),
        );
    }
    to
}

/// Returns the weights of the first map, `[buckets * outputs, features]`.
fn first_map(pass: &CubePass) -> Tensor<2> {
    let net = &pass.job.kernel.net;
    let [weights, _] = net.parts_of_map(0);
    let [features, outputs] = net.maps()[0];
    pass.array_tensor(weights).reshape([net.buckets * outputs, features])
}

/// Packs the biases of the first map, then weights and biases of each other map.
fn pack_head(pass: &CubePass) -> Buffer {
    let net = &pass.job.kernel.net;
    let arrays = (0..net.maps().len()).flat_map(|map| net.parts_of_map(map)).skip(1);
    Buffer::from_tensor(Tensor::cat(arrays.map(|kind| pass.array_tensor(kind)).collect(), 0))
}
