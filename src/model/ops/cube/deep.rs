//! Nets with a product or layers behind their accumulators: kernels from accumulators to loss and
//! back, and products of matrices for the first map, of all output buckets at once.

use burn::backend::Cube;
use burn::tensor::{Shape, Tensor};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use burn_cubecl::cubecl;

use super::super::FusedGradients;
use super::form::{PositionRange, TILE, Tiles, UNITS, launch_grid};
use super::gpu::{Buffer, make_contiguous};
use super::head::{self, FeatureShape, HeadPlacesLaunch, HeadTable};
use super::net::CubePass;
use super::slope::{LossForm, WrittenGradients};
use super::sums;
use crate::architecture::{Architecture, ArrayKind};
use crate::loss::Loss;

/// The head of a net in a batch.
pub(super) struct DeepHead {
    table: HeadTable,
    tiles: Tiles,
    /// Places in the words of the batch, see [`head::HeadPlaces`].
    labels: usize,
    table_of_tiles: usize,
    steps: usize,
    columns: usize,
}

impl DeepHead {
    /// Appends its tables to the words of a batch, whose first are `labels`.
    pub fn new(
        net: &Architecture,
        buckets: &[u8],
        [positions, part]: [usize; 2],
        labels: usize,
        words: &mut Vec<u32>,
    ) -> Self {
        let (table, tiles) =
            (HeadTable::new(net), Tiles::new(buckets, net.buckets, positions, part));
        let mut place = |of_table: &[u32]| {
            let place = words.len();
            words.extend(of_table);
            place
        };
        let (table_of_tiles, steps) = (place(&tiles.table), place(&table.steps));
        let columns = place(&table.columns);
        Self { table, tiles, labels, table_of_tiles, steps, columns }
    }

    fn launch_places(&self) -> HeadPlacesLaunch {
        let [labels, tiles, steps, columns] =
            [self.labels, self.table_of_tiles, self.steps, self.columns].map(|it| it as u32);
        HeadPlacesLaunch::new(labels, tiles, steps, self.table.step_count() as u32, columns)
    }
}

/// Loss and gradients.
pub(super) fn compute_gradients(pass: &CubePass, head: &DeepHead) -> FusedGradients<Cube> {
    let (gpu, net) = (&pass.gpu, &pass.job.kernel.net);
    let (count, first_map) = (head.table.sum_count(), first_map(pass));
    let tile_sums = gpu.empty_buffer(head.tiles.len() * count);
    let output = match pass.job.aim.loss_inputs() {
        Some(judged) => WrittenGradients::Gradients(LossForm::from_inputs(judged)),
        None => WrittenGradients::Pull,
    };
    let features_of_batch = (pass.listed.positions * net.feature_count()) as f32;
    let sparsity = if net.is_deep() { pass.job.aim.sparsity_weight() } else { 0.0 };
    let penalty = sparsity / features_of_batch;
    // The biases of the accumulators, the weights of the first map, the penalty.
    let mut of_parts: Option<Vec<Tensor<1>>> = None;
    let weights = pack_head(pass);
    let mut part_number = 0;
    let rows = pass.row_gradients(|part| {
        let tiles = &head.tiles.parts[part_number];
        part_number += 1;
        let accumulators = sum_accumulators(pass, part);
        let features = first_map_inputs(pass, part, &accumulators);
        let sums = sums_of(&features, &first_map);
        let found = walk_head(pass, head, tiles, &weights, &sums, &accumulators, output);
        let [gradients, written, psqt] = found;
        add_up(pass, head, tiles, &written, &tile_sums);
        let width = net.buckets * head.table.shape.outputs;
        let shape = Shape::new([part.positions.len(), width]);
        let gradients = Tensor::<2>::from_primitive::<Cube>(gpu.shaped_tensor(gradients, shape));
        let by_features =
            Buffer::from_tensor(to_primitive(gradients.clone().matmul(first_map.clone())));
        let of_map = gradients.transpose().matmul(features.clone());
        let slopes =
            accumulator_gradients(pass, part, [&accumulators, &by_features, &psqt], penalty);
        let lists = part.positions.len() * net.views();
        let bias = sums::of_all(gpu, &slopes, lists, net.column_count());
        let bias = gpu.shaped_tensor(bias, Shape::new([net.column_count()]));
        let bias = Tensor::<1>::from_primitive::<Cube>(bias).narrow(0, 0, net.hidden);
        let len = width * net.feature_count();
        let mut here: Vec<Tensor<1>> = vec![bias, of_map.reshape([len])];
        if penalty != 0.0 {
            let features = Buffer::from_tensor(to_primitive(features));
            let sums = sums::of_all(gpu, &features, part.positions.len(), net.feature_count());
            let sum = sums::of_all(gpu, &sums, net.feature_count(), 1);
            here.push(Tensor::from_primitive::<Cube>(gpu.shaped_tensor(sum, Shape::new([1]))));
        }
        of_parts = Some(match of_parts.take() {
            None => here,
            Some(sums) => sums.into_iter().zip(here).map(|(sum, more)| sum + more).collect(),
        });
        slopes
    });
    let parts = head.tiles.runs.len() / net.buckets;
    let sums_of_parts = sums::sum_runs(gpu, &tile_sums, &head.tiles.runs, count);
    let runs: Vec<_> = (0..net.buckets).map(|i| i * parts..(i + 1) * parts).collect();
    let by_bucket = sums::sum_runs(gpu, &sums_of_parts, &runs, count);
    let losses = sums::of_all(gpu, &by_bucket, net.buckets, count);
    let tensor = |buffer: Buffer, rows| {
        Tensor::<2>::from_primitive::<Cube>(gpu.shaped_tensor(buffer, Shape::new([rows, count])))
    };
    let (losses, by_bucket) = (tensor(losses, 1), tensor(by_bucket, net.buckets));
    let mut loss: Tensor<1> = losses.narrow(1, count - 1, 1).reshape([1]);
    loss = loss / pass.listed.positions as f32;
    let mut of_parts = of_parts.expect("a batch has parts").into_iter();
    let mut next = || of_parts.next().expect("a bias and a map");
    let [bias, of_map] = [next(), next()];
    if let Some(sum) = of_parts.next() {
        loss = loss + sum * penalty;
    }
    let mut others = vec![(ArrayKind::AccumulatorBias, bias)];
    let (maps, mut start) = (net.maps(), 0);
    for (map, [inputs, outputs]) in maps.into_iter().enumerate() {
        let mut take = |width: usize| {
            let of_array = by_bucket.clone().narrow(1, start, width);
            start += width;
            of_array.reshape([net.buckets * width])
        };
        let [weight, bias] = net.parts_of_map(map);
        let gradient = if map == 0 { of_map.clone() } else { take(inputs * outputs) };
        others.extend([(weight, gradient), (bias, take(outputs))]);
    }
    let others = others.into_iter().map(|(part, it)| (part, Buffer::from_tensor(to_primitive(it))));
    pass.all_gradients(make_contiguous(to_primitive(loss)), rows, others)
}

pub(super) fn compute_logits(pass: &CubePass, head: &DeepHead) -> CubeTensor {
    let (weights, first_map) = (pack_head(pass), first_map(pass));
    let parts = pass.tiles.parts.iter().zip(&head.tiles.parts).map(|(part, tiles)| {
        let accumulators = sum_accumulators(pass, part);
        let sums = sums_of(&first_map_inputs(pass, part, &accumulators), &first_map);
        let logits = WrittenGradients::Logits;
        let [logits, ..] = walk_head(pass, head, tiles, &weights, &sums, &accumulators, logits);
        let shape = Shape::new([part.positions.len()]);
        Tensor::<1>::from_primitive::<Cube>(pass.gpu.shaped_tensor(logits, shape))
    });
    to_primitive(Tensor::cat(parts.collect(), 0))
}

/// `[positions * perspectives, columns]` of a part.
fn sum_accumulators(pass: &CubePass, part: &PositionRange) -> Buffer {
    let net = &pass.job.kernel.net;
    let values = pass.gpu.empty_buffer(part.positions.len() * net.views() * net.column_count());
    pass.launch_positions(part, WrittenGradients::Accumulators, &values, &pass.gpu.empty_buffer(1));
    values
}

/// `[positions, features]`, the inputs of the first map.
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
    Tensor::from_primitive::<Cube>(pass.gpu.shaped_tensor(to, Shape::new([positions, features])))
}

/// `[positions, buckets * outputs]`, the sums of the first map, of all buckets, without biases.
fn sums_of(features: &Tensor<2>, first_map: &Tensor<2>) -> Buffer {
    Buffer::from_tensor(to_primitive(features.clone().matmul(first_map.clone().transpose())))
}

/// Walks the head; returns the gradients of the sums, or logits, what the kernel writes, and the
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
    let loss = pass.job.aim.loss_inputs().map_or(Loss::SQUARED, |judged| judged.loss);
    // SAFETY: the tables name no value, weight and number beyond the buffers, and the tiles no
    // position beyond the part.
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
            head.launch_places(),
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

/// Sums what the kernel has written over the positions of each tile.
fn add_up(pass: &CubePass, head: &DeepHead, part: &PositionRange, written: &Buffer, sums: &Buffer) {
    // SAFETY: the tiles name no position beyond the part, the columns no number beyond those written.
    unsafe {
        head::sums_of_tiles::launch_unchecked(
            &pass.gpu.client,
            launch_grid(part.tiles.len()),
            CubeDim::new_1d(UNITS as u32),
            written.launch_arg(),
            pass.batch.launch_arg(),
            sums.launch_arg(),
            head.launch_places(),
            part.positions.start as u32,
            part.positions.len() as u32,
            part.tiles.start as u32,
            part.tiles.len() as u32,
            head.table.sum_count() as u32,
            head.table.shape,
        );
    }
}

/// `[positions * perspectives, columns]`, the gradients of accumulators from those of the features and of
/// piece-square values.
fn accumulator_gradients(
    pass: &CubePass,
    part: &PositionRange,
    [accumulators, gradients, psqt]: [&Buffer; 3],
    penalty: f32,
) -> Buffer {
    let net = &pass.job.kernel.net;
    let len = part.positions.len() * net.views() * net.column_count();
    let to = pass.gpu.empty_buffer(len);
    // SAFETY: the buffers have the numbers of these lists.
    unsafe {
        head::slopes::launch_unchecked(
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

/// `[buckets * outputs, features]`
fn first_map(pass: &CubePass) -> Tensor<2> {
    let net = &pass.job.kernel.net;
    let [weights, _] = net.parts_of_map(0);
    let flat = Tensor::<1>::from_primitive::<Cube>(pass.array_tensor(weights));
    let [features, outputs] = net.maps()[0];
    flat.reshape([net.buckets * outputs, features])
}

/// The biases of the first map, and weights and biases of the others, one behind the other.
fn pack_head(pass: &CubePass) -> Buffer {
    let net = &pass.job.kernel.net;
    let arrays = (0..net.maps().len()).flat_map(|map| net.parts_of_map(map)).skip(1);
    let arrays = arrays.map(|part| Tensor::<1>::from_primitive::<Cube>(pass.array_tensor(part)));
    Buffer::from_tensor(to_primitive(Tensor::cat(arrays.collect(), 0)))
}

pub(super) fn to_primitive<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    tensor.try_into_primitive::<Cube>().expect("it was made here")
}
