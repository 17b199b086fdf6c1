//! The time line of one step on a GPU, as the GPU has it and as the processor that tells it.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use super::Bench;
use super::figures::{HostFigure, StageFigure, Told};
use crate::batch::Batch;
use crate::model::{
    Aim, Backend, Compute, Device, Done, Level, Model, Precision, Probe, Slope, Stage, Traffic,
};
use crate::train::optimizer::Optimizer;
use crate::train::target::targets;

/// Steps that are timed, after one that compiles the kernels: an odd number has a median.
const STEPS: usize = 9;

/// A learning rate; no figure depends on it.
const RATE: f64 = 1e-3;

/// The share of results in targets: in this way the processor has most to do.
const WDL: f64 = 0.5;

/// All stages, in order; the last two come after those that the model tells of.
const STAGES: [(Option<Stage>, &str); 6] = [
    (Some(Stage::Upload), "upload of positions"),
    (Some(Stage::Forward), "forward"),
    (Some(Stage::Index), "index"),
    (Some(Stage::Backward), "backward"),
    (None, "gradients handed on"),
    (None, "optimiser"),
];

/// What the processor does for a step, in order; the first comes before what the model tells of,
/// the last two behind it.
const TOLD: [(Option<Stage>, &str); 7] = [
    (None, "targets"),
    (Some(Stage::Upload), "positions packed, and sent"),
    (Some(Stage::Forward), "forward told"),
    (Some(Stage::Index), "index told"),
    (Some(Stage::Backward), "backward told"),
    (None, "gradients handed on"),
    (None, "optimiser told"),
];

/// A net that learns.
struct Learning<'a> {
    bench: &'a Bench,
    model: Model,
    optimizer: Optimizer,
}

impl<'a> Learning<'a> {
    fn new(bench: &'a Bench, compute: Compute) -> Result<Self> {
        let (weights, device) = (bench.weights()?, bench.device.clone().autodiff());
        let model = Model::new(&bench.kind()?, &weights, &device, compute)?;
        Ok(Self { bench, model, optimizer: bench.config.optimizer().build(compute) })
    }

    fn batch(&self, step: usize) -> &'a Batch {
        &self.bench.batches[step % self.bench.batches.len()]
    }

    fn step(
        self,
        batch: &Batch,
        targets: &[f32],
        done: Done,
        handed_on: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let Self { bench, model, mut optimizer } = self;
        let Model::Net(net) = &model else { bail!("the bench is for nets") };
        let Slope { gradients, .. } =
            net.slope_in_stages(&batch.inputs, Aim::Targets(targets), Some(done));
        handed_on()?;
        let model = optimizer.step(RATE, model, gradients);
        Ok(Self { bench, model, optimizer })
    }

    fn wait(&self) -> Result<()> {
        wait(self.bench)
    }
}

fn wait(bench: &Bench) -> Result<()> {
    bench.device.sync().map_err(|error| anyhow!("the device failed: {error}"))
}

/// What it takes to tell the device of a launch that does nothing and to wait for it, in
/// milliseconds: the median.
fn waiting(bench: &Bench) -> Result<f64> {
    let Some(probe) = Probe::new(&bench.device, 1) else { return Ok(0.0) };
    let mut times = Vec::new();
    for time in 0..=STEPS {
        let clock = RefCell::new(Instant::now());
        probe.launch();
        wait(bench)?;
        if time > 0 {
            times.push(milliseconds(&clock));
        }
    }
    Ok(median(&mut times))
}

/// The median time of each stage, where the device is waited for after each.
pub fn of(bench: &Bench, compute: Compute) -> Result<Vec<StageFigure>> {
    let weights = bench.weights()?;
    let values: usize = weights.0.values().map(|array| array.values.len()).sum();
    let parameters = size_of::<f32>() * values;
    let wait_milliseconds = waiting(bench)?;
    let mut learning = Learning::new(bench, compute)?;
    let mut times = vec![Vec::new(); STAGES.len()];
    let mut moved = [0; STAGES.len()];
    for step in 0..=STEPS {
        let batch = learning.batch(step);
        let (clock, lap) = (RefCell::new(Instant::now()), RefCell::new([(0.0, 0); STAGES.len()]));
        let end = |place: usize, bytes: &dyn Fn() -> usize| {
            let time = milliseconds(&clock);
            let (sum, all) = &mut lap.borrow_mut()[place];
            (*sum, *all) = (*sum + time, *all + bytes());
            // To count bytes takes a while, in which the device has nothing to do.
            clock.replace(Instant::now());
        };
        let done = |stage: Stage, bytes: &dyn Fn() -> usize| {
            let place = STAGES.iter().position(|(it, _)| *it == Some(stage));
            end(place.unwrap_or(0), bytes);
        };
        learning = learning.step(batch, &batch.results, Done::OnDevice(&done), || {
            wait(bench)?;
            end(4, &|| 2 * parameters);
            Ok(())
        })?;
        learning.wait()?;
        end(5, &|| 7 * parameters);
        if step > 0 {
            for (place, (time, bytes)) in lap.into_inner().into_iter().enumerate() {
                times[place].push(time);
                moved[place] = bytes;
            }
        }
    }
    let stages = STAGES.iter().zip(&mut times).zip(moved);
    Ok(stages
        .map(|(((_, stage), times), bytes)| StageFigure {
            stage,
            milliseconds: median(times),
            wait_milliseconds,
            bytes,
        })
        .collect())
}

/// The median time that the processor takes for each of its tasks in a step, where nobody waits for
/// the device, and what it tells it; `step` is what a whole step takes in training, in milliseconds.
pub fn told(bench: &Bench, compute: Compute, stages: &[StageFigure], step: f64) -> Result<Told> {
    let worths = bench.config.worths();
    let mut learning = Learning::new(bench, compute)?;
    let mut times = vec![Vec::new(); TOLD.len()];
    let mut traffic = Traffic::default();
    for number in 0..=STEPS {
        let batch = learning.batch(number);
        let before = Traffic::so_far();
        let (clock, lap) = (RefCell::new(Instant::now()), RefCell::new([0.0; TOLD.len()]));
        let end = |place: usize| lap.borrow_mut()[place] += milliseconds(&clock);
        let targets = targets(batch, WDL, &worths);
        end(0);
        let done = |stage: Stage| {
            let place = TOLD.iter().position(|(it, _)| *it == Some(stage));
            end(place.unwrap_or(1));
        };
        learning = learning.step(batch, &targets, Done::Told(&done), || {
            end(5);
            Ok(())
        })?;
        end(6);
        traffic = Traffic::so_far().since(before);
        if number > 0 {
            let lap = lap.into_inner();
            times.iter_mut().zip(lap).for_each(|(times, time)| times.push(time));
        } else {
            // The kernels are compiled.
            learning.wait()?;
        }
    }
    learning.wait()?;
    let host: Vec<HostFigure> = (TOLD.iter().zip(&mut times))
        .map(|((_, task), times)| HostFigure { task, milliseconds: median(times) })
        .collect();
    let batch = learning.batch(0);
    // While positions come to it, it has nothing to compute.
    let device_milliseconds: f64 = stages.iter().skip(1).map(StageFigure::by_itself).sum();
    let [loss, gradients] = apart(bench, compute, batch)?;
    Ok(Told {
        host_milliseconds: host.iter().map(|task| task.milliseconds).sum(),
        host,
        step_milliseconds: step,
        device_milliseconds,
        idle_share: (1.0 - device_milliseconds / step).max(0.0),
        launches: traffic.launches,
        uploads: traffic.uploads,
        uploaded_bytes_per_position: traffic.bytes as f64 / batch.len() as f64,
        loss_apart: loss,
        gradients_apart: gradients,
    })
}

/// How far the first loss and its gradients are from those of the processor: relative, and over all
/// gradients together.
fn apart(bench: &Bench, compute: Compute, batch: &Batch) -> Result<[f64; 2]> {
    let (kind, weights) = (bench.kind()?, bench.weights()?);
    let level = Level::detect();
    let flex = (Backend::Flex.device()?, Compute::Fused { level, precision: Precision::F32 });
    let of = |(device, compute): (Device, Compute)| {
        let device = device.autodiff();
        let model = Model::new(&kind, &weights, &device, compute)?;
        anyhow::Ok(model.gradients(&batch.inputs, Aim::Targets(&batch.results)))
    };
    let (got, right) = (of((bench.device.clone(), compute))?, of(flex)?);
    let (mut errors, mut squares) = (0.0, 0.0);
    for (name, array) in &right.1.0 {
        for (got, right) in got.1.0[name].values.iter().zip(&array.values) {
            errors += f64::from(got - right).powi(2);
            squares += f64::from(*right).powi(2);
        }
    }
    Ok([f64::from(got.0 / right.0 - 1.0).abs(), (errors / squares).sqrt()])
}

/// Since this clock was asked.
fn milliseconds(clock: &RefCell<Instant>) -> f64 {
    1000.0 * clock.replace(Instant::now()).elapsed().as_secs_f64()
}

/// The middle one of an odd number of times.
pub fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
