//! The time line of one step on a GPU.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use super::Bench;
use super::figures::StageFigure;
use crate::model::{Aim, Compute, Model, Slope, Stage};

/// Steps that are timed, after one that compiles the kernels: an odd number has a median.
const STEPS: usize = 9;

/// A learning rate; no figure depends on it.
const RATE: f64 = 1e-3;

/// All stages, in order; the last two come after those that the model tells of.
const STAGES: [(Option<Stage>, &str); 7] = [
    (Some(Stage::Upload), "upload of positions"),
    (Some(Stage::Forward), "forward"),
    (Some(Stage::Index), "index (processor, meanwhile in training)"),
    (Some(Stage::UploadIndex), "upload of index"),
    (Some(Stage::Backward), "backward"),
    (None, "gradients handed on"),
    (None, "optimiser"),
];

/// The median time of each stage, where the device is waited for after each.
pub fn of(bench: &Bench, compute: Compute) -> Result<Vec<StageFigure>> {
    let device = bench.device.clone().autodiff();
    let mut optimizer = bench.config.optimizer().build(compute);
    let weights = bench.weights()?;
    let values: usize = weights.0.values().map(|array| array.values.len()).sum();
    let parameters = size_of::<f32>() * values;
    let wait = || bench.device.sync().map_err(|error| anyhow!("the device failed: {error}"));
    let mut model = Model::new(&bench.kind()?, &weights, &device, compute)?;
    let mut times = vec![Vec::new(); STAGES.len()];
    let mut moved = [0; STAGES.len()];
    for step in 0..=STEPS {
        let batch = &bench.batches[step % bench.batches.len()];
        let Model::Net(net) = &model else { bail!("the bench is for nets") };
        let (clock, lap) = (RefCell::new(Instant::now()), RefCell::new([(0.0, 0); STAGES.len()]));
        let end = |place: usize, bytes: usize| {
            let time = clock.replace(Instant::now()).elapsed().as_secs_f64();
            let (sum, all) = &mut lap.borrow_mut()[place];
            (*sum, *all) = (*sum + 1000.0 * time, *all + bytes);
        };
        let done = |stage: Stage, bytes: usize| {
            let place = STAGES.iter().position(|(it, _)| *it == Some(stage));
            end(place.unwrap_or(0), bytes);
        };
        let Slope { gradients, .. } =
            net.slope_in_stages(&batch.inputs, Aim::Targets(&batch.results), Some(&done));
        wait()?;
        end(5, 2 * parameters);
        model = optimizer.step(RATE, model, gradients);
        wait()?;
        end(6, 7 * parameters);
        if step > 0 {
            for (place, (time, bytes)) in lap.into_inner().into_iter().enumerate() {
                times[place].push(time);
                moved[place] = bytes;
            }
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let stages = STAGES.iter().zip(&mut times).zip(moved);
    Ok(stages
        .map(|(((_, stage), times), bytes)| StageFigure {
            stage,
            milliseconds: median(times),
            bytes,
        })
        .collect())
}
