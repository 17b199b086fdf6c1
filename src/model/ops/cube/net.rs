//! The loss of a net with its gradients, and its logits, as a few kernels one after the other.

use burn::backend::{Backend, Cube, TensorMetadata};
use burn::tensor::Shape;
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::super::index::Index;
use super::super::{Job, Parameters, Slope, Stage};
use super::form::{Form, Spread, TILE, grid};
use super::gpu::{Buffer, Gpu, contiguous, pairs};
use super::slope::{self, Purpose};
use super::sums::{self, ROWS};

/// A job on its device.
struct Pass<'a> {
    gpu: Gpu,
    form: Form,
    job: Job<'a>,
    parameters: [CubeTensor; 4],
    /// Lists and targets.
    batch: Buffer,
    /// Where the targets begin.
    targets: usize,
}

pub(super) fn gradients(parameters: Parameters<Cube>, job: Job) -> Slope<Cube> {
    assert_eq!(job.targets.len(), job.active.len(), "targets");
    Pass::new(parameters, job).gradients()
}

pub(super) fn logits(parameters: Parameters<Cube>, job: Job) -> CubeTensor {
    Pass::new(parameters, job).logits()
}

impl<'a> Pass<'a> {
    fn new(parameters: Parameters<Cube>, job: Job<'a>) -> Self {
        let (net, active) = (&job.net, job.active);
        // The padding of another feature set would be an input of this one.
        assert_eq!(
            (active.inputs, active.views),
            (net.inputs, net.views),
            "a batch for another net"
        );
        let form = Form {
            inputs: net.inputs,
            views: net.views,
            places: active.places,
            activation: net.activation,
            spread: Spread::new(net.hidden),
        };
        let Parameters { accumulator, bias, output, output_bias } = parameters;
        let parameters = [accumulator, bias, output, output_bias].map(contiguous);
        let sizes = parameters.each_ref().map(|it| it.shape().num_elements());
        let right = [net.inputs * net.hidden, net.hidden, net.views * net.hidden, 1];
        assert_eq!(sizes, right, "parameters of another net");
        let gpu = Gpu::of(&parameters[0]);
        let targets = active.indices.len().div_ceil(2);
        let mut words = Vec::with_capacity(targets + job.targets.len());
        words.extend(pairs(&active.indices));
        words.extend(job.targets.iter().map(|target| target.to_bits()));
        let bytes = size_of_val(&words[..]);
        let batch = gpu.words(words);
        let pass = Self { gpu, form, job, parameters, batch, targets };
        pass.done(Stage::Upload, || bytes);
        pass
    }

    fn gradients(self) -> Slope<Cube> {
        let Self { gpu, form, job, .. } = &self;
        let Form { inputs, views, places, spread: Spread { hidden, .. }, .. } = *form;
        let batch = job.active.len();
        let part = self.part();
        let tiles = batch.div_ceil(TILE);
        let (slopes, tile_sums) =
            (gpu.empty(part.min(batch) * views * hidden), gpu.empty(tiles * form.sums()));
        let accumulator = gpu.empty(inputs * hidden);
        for first in (0..batch.max(1)).step_by(part) {
            let positions = part.min(batch - first);
            self.positions(first, positions, Purpose::Gradients, &slopes, &tile_sums);
            let lists = &job.active.indices[first * views * places..][..positions * views * places];
            let entries = || lists.iter().filter(|input| usize::from(**input) < inputs).count();
            let row = size_of::<f32>() * hidden;
            let moved = || (entries() + positions * views) * row;
            self.done(Stage::Forward, moved);
            // The device works meanwhile.
            let index = Index::new(lists, places, inputs);
            self.done(Stage::Index, || size_of_val(lists));
            let segments = index.segments();
            let bytes = size_of::<u32>() * (index.words.len() + index.starts.len());
            let (words, starts) = (gpu.words(index.words), gpu.words(index.starts));
            self.done(Stage::UploadIndex, || bytes);
            self.weight_gradients([&words, &starts], segments, &slopes, &accumulator, first > 0);
            self.done(Stage::Backward, || (entries() + 2 * segments + inputs) * row);
        }
        let [output, bias, output_bias, loss] = self.last_sums(tile_sums, tiles, batch);
        self.done(Stage::Backward, || size_of::<f32>() * tiles * form.sums());
        let [_, bias_shape, output_shape, output_bias_shape] =
            self.parameters.each_ref().map(|it| it.shape());
        Slope {
            loss: gpu.tensor(loss, Shape::new([1])),
            gradients: Parameters {
                accumulator: gpu.tensor(accumulator, Shape::new([inputs, hidden])),
                bias: gpu.tensor(bias, bias_shape),
                output: gpu.tensor(output, output_shape),
                output_bias: gpu.tensor(output_bias, output_bias_shape),
            },
        }
    }

    fn logits(self) -> CubeTensor {
        let batch = self.job.active.len();
        let logits = self.gpu.empty(batch);
        self.positions(0, batch, Purpose::Logits, &self.gpu.empty(1), &logits);
        self.gpu.tensor(logits, Shape::new([batch]))
    }

    /// Tells who wants to know of a stage, once it is over.
    fn done(&self, stage: Stage, bytes: impl FnOnce() -> usize) {
        if let Some(done) = self.job.done {
            Cube::sync(&self.gpu.device).expect("the device has not failed");
            done(stage, bytes());
        }
    }

    /// Positions whose slopes have room at a time: whole tiles, one at least.
    fn part(&self) -> usize {
        let Self { gpu, form, job, .. } = self;
        let largest = usize::try_from(gpu.client.properties().memory.max_page_size);
        let room = job.room.min(largest.unwrap_or(usize::MAX));
        let positions = room / (form.views * form.spread.hidden * size_of::<f32>());
        (positions / TILE).max(1) * TILE
    }

    fn positions(
        &self,
        first: usize,
        positions: usize,
        purpose: Purpose,
        slopes: &Buffer,
        results: &Buffer,
    ) {
        let [weight, bias, output, output_bias] =
            self.parameters.each_ref().map(|it| it.clone().into_buffer_arg());
        // SAFETY: the kernel reads and writes within the shapes that it names.
        unsafe {
            slope::positions::launch_unchecked(
                &self.gpu.client,
                grid(positions.div_ceil(TILE)),
                self.form.spread.cube(),
                weight,
                bias,
                output,
                output_bias,
                self.batch.arg(),
                slopes.arg(),
                results.arg(),
                self.targets as u32,
                first as u32,
                positions as u32,
                1.0 / self.job.active.len() as f32,
                self.form,
                purpose,
            );
        }
    }

    /// From the slopes of a part to the gradients of the accumulator's weights.
    fn weight_gradients(
        &self,
        [words, starts]: [&Buffer; 2],
        segments: usize,
        slopes: &Buffer,
        gradients: &Buffer,
        adding: bool,
    ) {
        let Self { gpu, form, .. } = self;
        let spread = form.spread;
        let partial = gpu.empty(segments * spread.hidden);
        // SAFETY: the index has no list beyond the slopes, and no segment beyond the entries.
        unsafe {
            sums::segments::launch_unchecked(
                &gpu.client,
                grid(segments),
                spread.cube(),
                slopes.arg(),
                words.arg(),
                partial.arg(),
                segments as u32,
                spread,
            );
            sums::inputs::launch_unchecked(
                &gpu.client,
                grid(form.inputs),
                spread.cube(),
                partial.arg(),
                starts.arg(),
                gradients.arg(),
                form.inputs as u32,
                spread,
                adding,
            );
        }
    }

    /// Gradients of output, biases and the output's bias, and the loss, from the sums of tiles.
    fn last_sums(&self, tile_sums: Buffer, tiles: usize, batch: usize) -> [Buffer; 4] {
        let Self { gpu, form, .. } = self;
        let width = form.sums();
        let blocks = width.div_ceil(sums::UNITS);
        let cube = CubeDim::new_1d(sums::UNITS as u32);
        let (mut from, mut rows) = (tile_sums, tiles);
        while rows > ROWS {
            let next = rows.div_ceil(ROWS);
            let to = gpu.empty(next * width);
            // SAFETY: the kernel reads and writes within the shapes that it names.
            unsafe {
                sums::rows::launch_unchecked(
                    &gpu.client,
                    grid(next * blocks),
                    cube,
                    from.arg(),
                    to.arg(),
                    rows as u32,
                    width,
                );
            }
            (from, rows) = (to, next);
        }
        let Spread { hidden, .. } = form.spread;
        let outputs = form.views * hidden;
        let to = [outputs, hidden, 1, 1].map(|len| gpu.empty(len));
        let [output, bias, output_bias, loss] = to.each_ref().map(Buffer::arg);
        // SAFETY: as above.
        unsafe {
            sums::last_rows::launch_unchecked(
                &gpu.client,
                grid(blocks),
                cube,
                from.arg(),
                output,
                bias,
                output_bias,
                loss,
                rows as u32,
                1.0 / batch as f32,
                outputs,
                hidden,
            );
        }
        to
    }
}
