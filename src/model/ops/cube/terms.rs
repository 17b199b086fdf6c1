//! The loss of handcrafted terms with its gradients, and their logits.
//!
//! A unit adds up a position's terms and finds its slopes; then, as with nets, a cube adds up each
//! segment of a term's positions, and another one the segments. What is on the device stays there
//! for the next step: tuning goes over the same positions again and again.

mod index;
mod rows;
mod value;

use std::sync::{Arc, PoisonError};

use burn::backend::ops::FloatTensorOps;
use burn::backend::{Cube, TensorMetadata};
use burn::tensor::{Shape, Slice};
use burn_cubecl::cubecl;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::super::{Kept, TermsJob, TermsSlope};
use super::form::grid;
use super::gpu::{Buffer, Gpu, contiguous};
use super::slope::Judging;
use super::sums;
use crate::batch::Terms;
use crate::loss::Loss;
use index::Index;
use rows::Rows;
use value::{Purpose, UNITS};

/// Positions of a part, so that its buffers stay within what every GPU allows.
const PART: usize = 1 << 19;

/// Some pieces of data on the device.
struct Part {
    positions: usize,
    /// See [`Rows`].
    words: Buffer,
    floats: Buffer,
    /// See [`Index`]; only gradients need it.
    index: Option<(Buffer, Buffer, usize)>,
}

/// The pieces that are on a device, part by part.
struct OnDevice {
    gpu: Gpu,
    pieces: Vec<Arc<Terms>>,
    terms: usize,
    parts: Vec<Part>,
}

impl OnDevice {
    fn new(gpu: Gpu, pieces: &[Arc<Terms>], terms: usize) -> Self {
        let (mut parts, mut rest) = (Vec::new(), pieces);
        while !rest.is_empty() {
            let mut positions = 0;
            let fit = rest.iter().take_while(|piece| {
                positions += piece.len();
                positions <= PART
            });
            let (here, behind) = rest.split_at(fit.count().max(1));
            rest = behind;
            let rows = Rows::new(here, terms);
            if rows.positions > 0 {
                let (words, floats) = (gpu.words(rows.words), gpu.floats(&rows.floats));
                parts.push(Part { positions: rows.positions, words, floats, index: None });
            }
        }
        Self { gpu, pieces: pieces.to_vec(), terms, parts }
    }

    fn is(&self, gpu: &Gpu, pieces: &[Arc<Terms>], terms: usize) -> bool {
        let same = |(a, b): (&Arc<Terms>, &Arc<Terms>)| Arc::ptr_eq(a, b);
        self.terms == terms
            && self.gpu.device == gpu.device
            && self.pieces.len() == pieces.len()
            && self.pieces.iter().zip(pieces).all(same)
    }

    /// Brings what gradients need to the device.
    fn index(&mut self) {
        let mut pieces = &self.pieces[..];
        for part in &mut self.parts {
            let mut positions = 0;
            let here = pieces.iter().take_while(|piece| {
                let more = positions < part.positions;
                positions += piece.len();
                more
            });
            let (here, behind) = pieces.split_at(here.count());
            pieces = behind;
            if part.index.is_none() {
                let Index { words, starts } = Index::new(here, self.terms);
                let segments = starts[self.terms] as usize;
                part.index = Some((self.gpu.words(words), self.gpu.words(starts), segments));
            }
        }
    }
}

/// Does something with the pieces on the device. Those of a training batch stay there: what is
/// only looked at in between would drive them out.
fn with<T>(
    gpu: Gpu,
    job: &TermsJob,
    terms: usize,
    (kept, stays): (&Kept, bool),
    act: impl FnOnce(&mut OnDevice) -> T,
) -> T {
    let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
    let there = kept.as_mut().and_then(|any| any.downcast_mut::<OnDevice>());
    if let Some(there) = there.filter(|there| there.is(&gpu, job.pieces, terms)) {
        return act(there);
    }
    if stays {
        // What makes way does so before its successor needs the room.
        *kept = None;
    }
    let mut on_device = OnDevice::new(gpu, job.pieces, terms);
    let result = act(&mut on_device);
    if stays {
        *kept = Some(Box::new(on_device));
    }
    result
}

pub(super) fn logits(
    weights: CubeTensor,
    tempo: CubeTensor,
    job: TermsJob,
    kept: &Kept,
) -> CubeTensor {
    let [weights, tempo] = [weights, tempo].map(contiguous);
    let terms = weights.shape().num_elements() / 2;
    with(Gpu::of(&weights), &job, terms, (kept, false), |on_device| {
        let gpu = &on_device.gpu;
        let positions = on_device.parts.iter().map(|part| part.positions).sum();
        let (logits, none) = (gpu.empty(positions), gpu.empty(1));
        let mut first = 0;
        for part in &on_device.parts {
            let purpose = Purpose::Logits;
            values(gpu, part, &weights, &tempo, &job, purpose, &none, &none, &logits, [first, 0]);
            first += part.positions;
        }
        gpu.tensor(logits, Shape::new([positions]))
    })
}

pub(super) fn gradients(
    weights: CubeTensor,
    tempo: CubeTensor,
    job: TermsJob,
    kept: &Kept,
) -> TermsSlope<Cube> {
    let [weights, tempo] = [weights, tempo].map(contiguous);
    let terms = weights.shape().num_elements() / 2;
    with(Gpu::of(&weights), &job, terms, (kept, true), |on_device| {
        on_device.index();
        let gpu = &on_device.gpu;
        let positions: usize = on_device.parts.iter().map(|part| part.positions).sum();
        job.aim.check(positions);
        let targets = gpu.floats(&job.aim.arrays().concat());
        let cubes: usize = on_device.parts.iter().map(|part| part.positions.div_ceil(UNITS)).sum();
        // The loss of no positions is not a number.
        let sums = if cubes > 0 { gpu.empty(2 * cubes) } else { gpu.floats(&[f32::NAN, 0.0]) };
        let gradients = gpu.floats(&vec![0.0; 2 * terms]);
        let (mut first, mut first_cube) = (0, 0);
        for part in &on_device.parts {
            let slopes = gpu.empty(value::SLOPES * part.positions);
            let judging = job.aim.judged().map(Judging::of);
            let purpose = judging.map_or(Purpose::Pull, Purpose::Gradients);
            values(
                gpu,
                part,
                &weights,
                &tempo,
                &job,
                purpose,
                &targets,
                &slopes,
                &sums,
                [first, first_cube],
            );
            first += part.positions;
            first_cube += part.positions.div_ceil(UNITS);
            add_gradients(gpu, part, terms, &slopes, &gradients);
        }
        let [loss, tempo] = both(gpu, &sums, cubes);
        TermsSlope { loss, weights: gpu.tensor(gradients, weights.shape()), tempo }
    })
}

#[allow(clippy::too_many_arguments, reason = "a kernel's buffers, one by one")]
fn values(
    gpu: &Gpu,
    part: &Part,
    weights: &CubeTensor,
    tempo: &CubeTensor,
    job: &TermsJob,
    purpose: Purpose,
    targets: &Buffer,
    slopes: &Buffer,
    results: &Buffer,
    [first, first_cube]: [usize; 2],
) {
    let all: usize = job.pieces.iter().map(|piece| piece.len()).sum();
    let loss = job.aim.judged().map_or(Loss::SQUARED, |judged| judged.loss);
    // SAFETY: the kernel reads and writes within the shapes that it names; that no term is beyond
    // the weights was checked when the rows were made.
    unsafe {
        value::values::launch_unchecked(
            &gpu.client,
            grid(part.positions.div_ceil(UNITS)),
            CubeDim::new_1d(UNITS as u32),
            weights.clone().into_buffer_arg(),
            tempo.clone().into_buffer_arg(),
            part.words.arg(),
            part.floats.arg(),
            targets.arg(),
            slopes.arg(),
            results.arg(),
            first as u32,
            first_cube as u32,
            part.positions as u32,
            job.scale,
            1.0 / all as f32,
            all as u32,
            loss.power as f32,
            1.0 + loss.asymmetry as f32,
            purpose,
            job.tempo,
        );
    }
}

fn add_gradients(gpu: &Gpu, part: &Part, terms: usize, slopes: &Buffer, gradients: &Buffer) {
    let Some((words, starts, segments)) = &part.index else { return };
    if *segments == 0 {
        return;
    }
    let partial = gpu.empty(2 * segments);
    // SAFETY: the index has no position beyond the slopes, and no segment beyond the entries.
    unsafe {
        value::segments::launch_unchecked(
            &gpu.client,
            grid(*segments),
            CubeDim::new_1d(value::SEGMENT_UNITS as u32),
            slopes.arg(),
            words.arg(),
            partial.arg(),
            *segments as u32,
            part.positions as u32,
        );
        value::add_segments::launch_unchecked(
            &gpu.client,
            grid((2 * terms).div_ceil(value::SUM_UNITS)),
            CubeDim::new_1d(value::SUM_UNITS as u32),
            partial.arg(),
            starts.arg(),
            gradients.arg(),
            terms as u32,
        );
    }
}

/// The loss and the gradient of the tempo, from the sums of cubes.
fn both(gpu: &Gpu, sums: &Buffer, cubes: usize) -> [CubeTensor; 2] {
    // Without cubes there is one row all the same.
    let run = 0..cubes.max(1);
    let both = gpu.tensor(sums::runs(gpu, sums, &[run], 2), Shape::new([2]));
    [0, 1].map(|i| Cube::float_slice(both.clone(), &[Slice::from(i..i + 1)]))
}
