//! Time of each stage of a step on a GPU.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use super::Bench;
use crate::model::{Aim, Compute, Model, Slope, Stage};

/// Steps that are timed, after one that compiles the kernels: an odd number has a median.
const STEPS: usize = 9;

/// A learning rate; no figure depends on it.
const RATE: f64 = 1e-3;

/// All stages, in order; the last two come after those of the model.
const STAGES: [(Option<Stage>, &str); 6] = [
    (Some(Stage::Upload), "upload of positions"),
    (Some(Stage::Forward), "forward"),
    (Some(Stage::Index), "index"),
    (Some(Stage::Backward), "backward"),
    (None, "gradients handed on"),
    (None, "optimiser"),
];

/// The median milliseconds of each stage, where the device is waited for after each.
pub fn of(bench: &Bench, compute: Compute) -> Result<Vec<(&'static str, f64)>> {
    let wait = || bench.device.sync().map_err(|error| anyhow!("the device failed: {error}"));
    let (weights, device) = (bench.weights()?, bench.device.clone().autodiff());
    let mut model = Model::new(&bench.kind()?, &weights, &device, compute)?;
    let mut optimizer = bench.config.optimizer().build(compute);
    let mut times = vec![Vec::new(); STAGES.len()];
    for step in 0..=STEPS {
        let batch = &bench.batches[step % bench.batches.len()];
        let (clock, lap) = (RefCell::new(Instant::now()), RefCell::new([0.0; STAGES.len()]));
        let end = |place: usize| {
            let seconds = clock.replace(Instant::now()).elapsed().as_secs_f64();
            lap.borrow_mut()[place] += 1000.0 * seconds;
        };
        let done = |stage: Stage| {
            let place = STAGES.iter().position(|(it, _)| *it == Some(stage));
            end(place.unwrap_or(0));
        };
        let Model::Net(net) = &model else { bail!("the bench is for nets") };
        let Slope { gradients, .. } =
            net.slope_in_stages(&batch.inputs, Aim::Targets(&batch.results), Some(&done));
        wait()?;
        end(4);
        model = optimizer.step(RATE, model, gradients);
        wait()?;
        end(5);
        if step > 0 {
            times.iter_mut().zip(lap.into_inner()).for_each(|(times, time)| times.push(time));
        }
    }
    let stages = STAGES.iter().zip(&mut times).map(|((_, stage), times)| {
        times.sort_by(f64::total_cmp);
        (*stage, times[STEPS / 2])
    });
    Ok(stages.collect())
}
