//! Loss and gradients of a net, and its logits, as a sequence of kernels. In a net with one output
//! layer, a kernel computes the gradients of the accumulators from the active rows. In a deeper net
//! it computes the accumulators, and `deep` does the rest. Both end in the same sums.

use std::collections::BTreeMap;
use std::ops::Range;

use burn::backend::{Backend, Cube};
use burn::tensor::{Bytes, Tensor};
use burn_cubecl::tensor::CubeTensor;
use rayon::prelude::*;

use super::super::strips::Strips;
use super::super::{FusedGradients, KernelJob, KernelStage, TensorArrays};
use super::chunks;
use super::deep::DeepHead;
use super::form::{KernelForm, PositionRange, TILE, Tiles, UnitLayout, launch_grid};
use super::gpu::{Buffer, Gpu};
use super::index;
use super::pairs::{self, PairTables};
use super::positions::{self, WrittenGradients};
use super::sets::{self, ColumnRange};
use super::sort::RowLists;
use super::sums;
use crate::architecture::{ArrayKind, PIECES};
use crate::batch::{Indices, ListShape, OneHot, with_vector};
use crate::loss::Loss;
use crate::model::memory::floats_of_position;

/// Entries of lists that a thread copies at a time.
const COPIED_TOGETHER: usize = 1 << 16;

pub(super) struct CubePass<'a> {
    pub gpu: Gpu,
    pub job: KernelJob<'a>,
    pub listed: ListShape,
    form: KernelForm,
    pub tiles: Tiles,
    arrays: BTreeMap<ArrayKind, Buffer>,
    /// `[rows, columns]` of all sets with their factors; rows of pairs follow those of inputs.
    weight: Buffer,
    /// `[columns]`
    bias: Buffer,
    pub head: Option<DeepHead>,
    /// Targets or upstream gradients, bases, weights, tables of tiles, strips and pairs, and lists.
    pub batch: Buffer,
    /// Number of the labels: targets, bases and weights.
    pub labels: usize,
    /// Offset of the lists.
    lists: usize,
    /// Strips of the lists of each part, and the offset of their order; empty without gradients, or
    /// if there are other sets than pieces: the GPU sorts their entries.
    strips: Vec<(Strips, usize)>,
    /// Table of the rows that share each row of a factor, by set.
    sharing: Vec<Option<[usize; 2]>>,
    /// Tables of pairs, if lists contain any.
    pairs: Option<PairTables>,
}

/// Positions that fit in memory at a time: whole tiles, at least one.
fn positions_per_part(gpu: &Gpu, job: &KernelJob) -> usize {
    let largest = usize::try_from(gpu.client.properties().memory.max_page_size);
    let budget = job.budget.min(largest.unwrap_or(usize::MAX));
    let position = floats_of_position(&job.kernel.net) * size_of::<f32>();
    (budget / position / TILE).max(1) * TILE
}

impl<'a> CubePass<'a> {
    pub fn new(arrays: TensorArrays<Cube>, job: KernelJob<'a>, backward: bool) -> Self {
        let (one_hot, net) = (job.inputs.one_hot(), &job.kernel.net);
        job.kernel.check_shapes(one_hot);
        let (listed, pairs) = match one_hot {
            OneHot::Plans(plans) => {
                (ListShape::of_plans(plans), Some(&plans[0].pairs).filter(|it| it.has_pairs()))
            }
            _ => (one_hot.lists().shape(), None),
        };
        let ListShape { rows, perspectives, width, positions, ref buckets } = listed;
        // Plans of nets with many rows number only those that occur.
        let rows_of_pairs = pairs.map_or(0, |pairs| pairs.parents().len());
        assert_eq!(rows, net.row_count() + rows_of_pairs, "a batch for another net");
        if backward {
            job.aim.check_lengths(positions);
        }
        let form = KernelForm {
            rows,
            perspectives,
            width,
            wide: matches!(one_hot, OneHot::Lists(lists) if matches!(lists.indices, Indices::U32(_))),
            curve: net.activation.curve(),
            buckets: if net.walks_graph() { 1 } else { net.buckets },
            spread: UnitLayout::new(net.column_count()),
        };
        let gpu = Gpu::of_tensor(&arrays.0[0]);
        let buffers = net.list_arrays().into_iter().zip(arrays.0).map(|(array, tensor)| {
            let buffer = Buffer::from_cube(tensor);
            assert_eq!(buffer.len(), array.len(), "numbers of {}", array.name);
            (array.kind, buffer)
        });
        let arrays: BTreeMap<_, _> = buffers.collect();
        assert_eq!(arrays.len(), net.list_arrays().len(), "the arrays of a net");
        let has_parts = backward || net.walks_graph();
        let part = if has_parts { positions_per_part(&gpu, &job) } else { usize::MAX };
        let tiles = Tiles::new(buckets, form.buckets, positions, part);
        let floats = job.aim.target_arrays().into_iter().flatten();
        let mut words: Vec<u32> = floats.map(|float| float.to_bits()).collect();
        let labels = words.len();
        words.extend(&tiles.table);
        let strips_of_part = |part: &PositionRange| {
            let lists = part.lists(perspectives);
            let strips = match one_hot {
                OneHot::Lists(active) => {
                    let king_buckets = active.king_buckets.get(lists.clone()).unwrap_or_default();
                    Strips::new(lists.len(), king_buckets, net.inputs.kings().bucket_count())
                }
                // Plans have no king buckets, so each strip has bits for all rows.
                _ => Strips::new(lists.len(), &[], 1),
            };
            let order = words.len();
            if !strips.order.is_empty() {
                words.extend(strips.order.iter().chain(&strips.starts));
            }
            (strips, order)
        };
        let has_strips = backward && net.inputs.is_pieces();
        let parts = tiles.parts.iter().filter(|_| has_strips);
        let strips = parts.map(strips_of_part).collect();
        let factors = job.kernel.sets.iter().map(|set| {
            let factor = set.factor.as_ref().filter(|_| !net.inputs.is_pieces())?;
            let (table, first) = (words.len(), set.rows.start as u32);
            words.extend(&factor.factor_rows);
            let numbers = factor.sharing.numbers.iter().map(|row| first + row);
            let sharing = sets::append_table(&mut words, &factor.sharing.starts, numbers);
            Some((table, [sharing, factor.sharing.starts.len() - 1]))
        });
        let factors: Vec<Option<(usize, [usize; 2])>> = factors.collect();
        let head =
            net.walks_graph().then(|| DeepHead::new(net, buckets, [positions, part], &mut words));
        let send = |words: Vec<u32>| {
            let lists = words.len();
            let entries = positions * perspectives * width;
            let words_of_lists = if form.wide { entries } else { entries.div_ceil(2) };
            let batch = gpu.empty_buffer(lists + words_of_lists);
            gpu.write_words(&batch, 0, Bytes::from_elems(words));
            (batch, lists)
        };
        let (batch, lists, pairs) = match one_hot {
            OneHot::Plans(plans) => chunks::with_chunks(&gpu, job.memory, perspectives, |chunks| {
                let tables = pairs.map(|pairs| chunks.pair_sums(pairs).write_tables(&mut words));
                let table = words.len();
                words.extend(chunks.position_slots(plans, job.budget));
                let (batch, lists) = send(words);
                chunks.gather_lists(&batch, [table, lists], &listed);
                (batch, lists, tables)
            }),
            _ => {
                let (batch, lists) = send(words);
                let rows = with_vector!(&one_hot.lists().indices, rows => {
                    let rows = rows.par_iter().with_min_len(COPIED_TOGETHER).copied();
                    Bytes::from_elems(rows.collect::<Vec<_>>())
                });
                gpu.write_words(&batch, lists, rows);
                (batch, lists, None)
            }
        };
        let mut bias = arrays[&ArrayKind::AccumulatorBias].clone();
        let mut weight = arrays[&ArrayKind::Rows(0)].clone();
        if let (true, Some(shared)) = (net.inputs.is_pieces(), arrays.get(&ArrayKind::Factor(0))) {
            // It counts in each king bucket.
            let width = shared.len();
            let buckets = gpu.tensor(weight, [net.row_count() * net.hidden / width, width]);
            weight = Buffer::from_tensor(buckets + gpu.tensor(shared.clone(), [1, width]));
        }
        if net.psqt {
            let neurons = gpu.tensor(bias, [net.hidden]);
            let zeros = Tensor::zeros([net.psqt_columns()], &neurons.device());
            bias = Buffer::from_tensor(Tensor::cat(vec![neurons, zeros], 0));
        }
        if net.psqt || !net.inputs.is_pieces() {
            let columns = net.column_count();
            let all = gpu.empty_buffer(rows * columns);
            for (index, set) in job.kernel.sets.iter().enumerate() {
                let array = |kind| arrays[&kind].launch_arg();
                let rows = match net.inputs.is_pieces() {
                    true => weight.launch_arg(),
                    false => array(ArrayKind::Rows(index)),
                };
                let factor = factors[index];
                let factor = factor.map(|(table, _)| (array(ArrayKind::Factor(index)), table));
                let to =
                    ColumnRange { rows: set.rows.clone(), first: 0, width: net.hidden, columns };
                sets::copy_set_rows(&gpu, &batch, rows, factor, &all, to.clone());
                if net.psqt {
                    let to = ColumnRange { first: net.hidden, width: net.buckets, ..to };
                    let values = array(ArrayKind::Psqt(index));
                    sets::copy_set_rows(&gpu, &batch, values, None, &all, to);
                }
            }
            weight = all;
        }
        let sharing =
            factors.into_iter().map(|factor| factor.map(|(_, sharing)| sharing)).collect();
        let mut pass = Self {
            gpu,
            job,
            listed,
            form,
            tiles,
            arrays,
            weight,
            bias,
            head,
            batch,
            labels,
            lists,
            strips,
            sharing,
            pairs,
        };
        pass.finish_stage(KernelStage::Upload);
        if let Some(tables) = &pass.pairs {
            let weights = pass.weight.launch_arg();
            pass.weight = pairs::add_up(&pass.gpu, &pass.batch, weights, tables.made, form.spread);
        }
        pass
    }

    /// Logits of a net with one output layer.
    pub fn simple_logits(&self) -> CubeTensor {
        let [logits, unused] = [self.listed.positions, 1].map(|len| self.gpu.empty_buffer(len));
        for part in &self.tiles.parts {
            self.launch_positions(part, WrittenGradients::Logits, &unused, &logits);
        }
        self.gpu.flat_tensor(logits)
    }

    /// Loss and gradients of a net with one output layer.
    pub fn simple_gradients(&self) -> FusedGradients<Cube> {
        let Self { gpu, form, job, tiles, .. } = self;
        let KernelForm { perspectives, buckets, spread: UnitLayout { hidden, .. }, .. } = *form;
        let batch = self.listed.positions;
        let largest = tiles.parts.iter().map(|part| part.positions.len()).max().unwrap_or(0);
        let list_gradients = gpu.empty_buffer(largest * perspectives * hidden);
        let tile_sums = gpu.empty_buffer(tiles.len() * form.sum_count());
        let written = WrittenGradients::from_aim(job.aim);
        let rows = self.row_gradients(|_, part| {
            self.launch_positions(part, written, &list_gradients, &tile_sums);
            list_gradients.clone()
        });
        let sums = sums::sum_buckets(gpu, &tile_sums, tiles, buckets, form.sum_count());
        let share = 1.0 / batch as f32;
        let [output, bias, output_bias, loss] =
            sums::split_sums(gpu, &sums, share, buckets, perspectives * hidden, hidden);
        self.finish_stage(KernelStage::Backward);
        let others = [
            (ArrayKind::AccumulatorBias, bias),
            (ArrayKind::Output, output),
            (ArrayKind::OutputBias, output_bias),
        ];
        self.all_gradients(loss, rows, others)
    }

    pub fn finish_stage(&self, stage: KernelStage) {
        if let Some(on_stage) = self.job.on_stage {
            Cube::sync(&self.gpu.device).expect("the device has not failed");
            on_stage(stage);
        }
    }

    /// Returns an array as a tensor; all are flat.
    pub fn array_tensor(&self, kind: ArrayKind) -> Tensor<1> {
        let array = &self.arrays[&kind];
        self.gpu.tensor(array.clone(), [array.len()])
    }

    /// Launches the kernel of positions for a part of the batch.
    pub fn launch_positions(
        &self,
        part: &PositionRange,
        written: WrittenGradients,
        list_output: &Buffer,
        results: &Buffer,
    ) {
        let unused = self.gpu.empty_buffer(1);
        let [output, output_bias] = match written {
            WrittenGradients::Accumulators => [unused.launch_arg(), unused.launch_arg()],
            _ => [ArrayKind::Output, ArrayKind::OutputBias]
                .map(|kind| self.arrays[&kind].launch_arg()),
        };
        let PositionRange { positions, tiles } = part;
        let loss = self.job.aim.loss_inputs().map_or(Loss::SQUARED, |inputs| inputs.loss);
        // SAFETY: the kernel reads and writes within the shapes of its buffers; buckets of tiles
        // and rows of lists are within the net's.
        unsafe {
            positions::positions::launch_unchecked(
                &self.gpu.client,
                launch_grid(tiles.len()),
                self.form.spread.cube_size(),
                self.weight.launch_arg(),
                self.bias.launch_arg(),
                output,
                output_bias,
                self.batch.launch_arg(),
                list_output.launch_arg(),
                results.launch_arg(),
                self.labels as u32,
                self.lists as u32,
                positions.start as u32,
                positions.len() as u32,
                tiles.start as u32,
                tiles.len() as u32,
                1.0 / self.listed.positions as f32,
                loss.power as f32,
                1.0 + loss.asymmetry as f32,
                self.form,
                written,
            );
        }
    }

    /// Computes the gradients of the accumulators' weights, `[rows, columns]`, from those of the
    /// accumulators of each part, `[positions, perspectives, columns]`, which `compute` returns.
    pub fn row_gradients(
        &self,
        mut compute: impl FnMut(usize, &PositionRange) -> Buffer,
    ) -> Buffer {
        let Self { gpu, form, batch, .. } = self;
        let KernelForm { rows, width, spread, .. } = *form;
        let mut gradients = gpu.empty_buffer(rows * spread.hidden);
        let (perspectives, words) = (self.listed.perspectives, (batch, self.lists));
        for (i, part) in self.tiles.parts.iter().enumerate() {
            let list_gradients = compute(i, part);
            self.finish_stage(KernelStage::Forward);
            let lists = part.lists(perspectives);
            let Some((strips, order)) = self.strips.get(i) else {
                let entries = lists.start * width..lists.end * width;
                let lists = RowLists::new(gpu, words, entries, *form);
                self.finish_stage(KernelStage::Index);
                let sums = lists.add_up(gpu, &list_gradients, spread);
                gradients = if i == 0 { sums } else { add_buffers(gpu, gradients, sums) };
                self.finish_stage(KernelStage::Backward);
                continue;
            };
            let (shape, bits) =
                index::find_bits(gpu, words, lists, (strips, *order), [width, rows]);
            self.finish_stage(KernelStage::Index);
            let (count, order, adding) = (strips.strip_count(), *order, i > 0);
            // A single strip has all sums.
            let alone = count == 1 && shape.rows == shape.inputs && !adding;
            let sums = match alone {
                true => gradients.clone(),
                false => gpu.empty_buffer(count * shape.inputs * spread.hidden),
            };
            // SAFETY: the bits have no list beyond the gradients, and the tables no strip beyond
            // the sums.
            unsafe {
                if count > 0 {
                    sums::strips::launch_unchecked(
                        &gpu.client,
                        launch_grid(count * shape.inputs * spread.columns),
                        spread.cube_size(),
                        list_gradients.launch_arg(),
                        bits.launch_arg(),
                        batch.launch_arg(),
                        sums.launch_arg(),
                        order as u32,
                        count as u32,
                        shape,
                        spread,
                    );
                }
                if !alone {
                    sums::rows_of_strips::launch_unchecked(
                        &gpu.client,
                        launch_grid(rows),
                        spread.cube_size(),
                        sums.launch_arg(),
                        batch.launch_arg(),
                        gradients.launch_arg(),
                        (order + strips.order.len()) as u32,
                        count as u32,
                        shape,
                        spread,
                        adding,
                    );
                }
            }
            self.finish_stage(KernelStage::Backward);
        }
        match &self.pairs {
            None => gradients,
            Some(tables) => {
                pairs::add_up(gpu, batch, gradients.launch_arg(), tables.inverse, spread)
            }
        }
    }

    /// Returns the loss and all gradients in order, from those of the rows and of the other arrays.
    pub fn all_gradients(
        &self,
        loss: Buffer,
        rows: Buffer,
        others: impl IntoIterator<Item = (ArrayKind, Buffer)>,
    ) -> FusedGradients<Cube> {
        let Self { gpu, arrays, .. } = self;
        let mut gradients: BTreeMap<ArrayKind, Buffer> = others.into_iter().collect();
        let net = &self.job.kernel.net;
        let all = gpu.tensor(rows.clone(), [net.row_count(), net.column_count()]);
        let select = |rows: Range<usize>, columns: Range<usize>| {
            let rows = all.clone().narrow(0, rows.start, rows.len());
            Buffer::from_tensor(rows.narrow(1, columns.start, columns.len()))
        };
        let neurons = if net.psqt { select(0..net.row_count(), 0..net.hidden) } else { rows };
        for (index, set) in self.job.kernel.sets.iter().enumerate() {
            if let Some(shared) = arrays.get(&ArrayKind::Factor(index)) {
                let sum = match self.sharing[index] {
                    Some(sharing) => {
                        let layout = UnitLayout::new(net.hidden);
                        pairs::add_up(gpu, &self.batch, neurons.launch_arg(), sharing, layout)
                    }
                    // The factoriser counts in each king bucket.
                    None => sums::of_all(gpu, &neurons, net.row_count() / PIECES, shared.len()),
                };
                gradients.insert(ArrayKind::Factor(index), sum);
            }
            let set_rows = match set.rows.len() == net.row_count() {
                true => neurons.clone(),
                false => select(set.rows.clone(), 0..net.hidden),
            };
            gradients.insert(ArrayKind::Rows(index), set_rows);
            if net.psqt {
                let values = select(set.rows.clone(), net.hidden..net.column_count());
                gradients.insert(ArrayKind::Psqt(index), values);
            }
        }
        let in_order = self.job.kernel.net.list_arrays().into_iter().map(|array| {
            gpu.flat_tensor(gradients.remove(&array.kind).expect("each array has a gradient"))
        });
        let gradients = TensorArrays(in_order.collect());
        FusedGradients { loss: gpu.flat_tensor(loss), gradients }
    }
}

/// Adds two buffers of the same length.
fn add_buffers(gpu: &Gpu, a: Buffer, b: Buffer) -> Buffer {
    let len = a.len();
    Buffer::from_tensor(gpu.tensor(a, [len]) + gpu.tensor(b, [len]))
}
