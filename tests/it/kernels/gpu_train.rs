//! Training on a GPU: losses, bits, resuming on another device, and failures.

use nnuance::log::TrainStep;
use nnuance::progress::SilentProgress;
use nnuance::train::{self, End, TrainError, Training, TrainingSettings};

use crate::kernels::gpu::{GPU, batch, gpu, net};
use crate::runs::golden::{LOSSES_32, losses, settings, training};
use crate::runs::parity::{LOSSES, check};
use crate::runs::parity_threats;
use crate::support::kit::*;

/// Continues a run; returns the last checkpoint.
fn continue_run(
    job: &Training,
    start: Checkpoint,
    batches: impl IntoIterator<Item = Batch>,
    progress: &dyn Progress,
) -> Result<Checkpoint, TrainError> {
    let batches = batches.into_iter().map(Ok::<_, TrainError>);
    let (end, checkpoint) = train::train_model(job, start, batches, progress)?;
    assert_eq!(end, End::Finished);
    Ok(checkpoint)
}

fn fresh(weights: Weights) -> Checkpoint {
    Checkpoint { weights, ..Checkpoint::default() }
}

/// The regression test of the trainer bullet, see `golden`.
#[test]
fn losses_equal_bullet() {
    if gpu().is_none() {
        return;
    }
    let Some(losses) = losses(32, (Backend::Wgpu, GPU), false) else { return };
    assert_eq!(losses.len(), 10);
    for (loss, right) in losses.iter().zip(LOSSES_32) {
        assert!((loss - right).abs() < 1e-5, "{losses:?}");
    }
}

#[test]
fn runs_continue_on_another_device() {
    let Some(gpu) = gpu() else { return };
    let folder = Workdir::empty();
    let (net, weights) = net(Perspectives::Perspective, 33, Activation::SCReLU);
    let run = |device, compute, steps, start, skip| {
        let batches = (0..8_u64).map(|seed| batch(Perspectives::Perspective, 150, seed));
        let settings = settings(steps, true);
        let job = training(&net, (compute, device), &settings, folder.root_path());
        continue_run(&job, start, batches.skip(skip), &SilentProgress).expect("a run")
    };
    let cpu = flex();
    let whole = run(&cpu, fastest(), 8, fresh(weights.clone()), 0);
    for (first, then) in [((&cpu, fastest()), (&gpu, GPU)), ((&gpu, GPU), (&cpu, fastest()))] {
        let half = run(first.0, first.1, 4, fresh(weights.clone()), 0);
        let end = run(then.0, then.1, 8, half, 4);
        assert_eq!(end.state.positions, whole.state.positions);
        // Rounding of tiny gradients decides the sign of Adam's whole step.
        assert_close("steps", &end.weights, &whole.weights, 1e-4);
    }
}

/// The error of a run that fails after its first checkpoint, which is whole.
fn failed_run(
    device: &Device,
    checkpoint_every: u64,
    batches: impl IntoIterator<Item = Batch>,
    progress: &dyn Progress,
) -> TrainError {
    let folder = Workdir::empty();
    let (net, weights) = net(Perspectives::Perspective, 33, Activation::SCReLU);
    let settings = settings(1000, true);
    let settings = TrainingSettings { validate_every: 100, checkpoint_every, ..settings };
    let job = training(&net, (GPU, device), &settings, folder.root_path());
    let run = continue_run(&job, fresh(weights), batches, progress);
    let Err(error) = run else { panic!("it must fail") };
    let last = checkpoint(folder.root_path(), "last.safetensors");
    assert_eq!((last.state.step, last.weights.non_finite()), (checkpoint_every, None), "{error}");
    error
}

/// Losses are not read at each step, but before anything is overwritten.
#[test]
fn diverged_run_leaves_the_checkpoint() {
    let Some(gpu) = gpu() else { return };
    let mut batches: Vec<Batch> =
        (0..6).map(|seed| batch(Perspectives::Perspective, 150, seed % 3)).collect();
    batches[2].results = Arc::from(vec![f32::NAN; batches[2].len()]);
    let error = failed_run(&gpu, 2, batches, &SilentProgress);
    assert!(matches!(error, TrainError::Diverged { step: 3, good: 2, .. }), "{error}");
}

struct Thief(burn_cubecl::cubecl::wgpu::WgpuSetup);

impl Progress for Thief {
    fn report_step(&self, step: &TrainStep) {
        if step.step == 5 {
            self.0.device.destroy();
        }
    }
}

/// In a separate process, as the loss of one device affects the others.
#[test]
fn lost_device_names_the_checkpoint() {
    if gpu().is_none() {
        return;
    }
    let mut alone = Command::new(std::env::current_exe().expect("this program has a path"));
    alone.args(["--exact", "kernels::gpu_train::the_device_is_lost", "--ignored", "--nocapture"]);
    let [said, _] = program::said(&mut alone);
    assert!(said.contains("1 passed") && said.contains("step 4"), "{said}");
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn the_device_is_lost() {
    use burn_cubecl::cubecl::device::{WgpuDevice, WgpuDeviceKind};
    use burn_cubecl::cubecl::wgpu::{AutoGraphicsApi, RuntimeOptions, try_init_setup};

    if gpu().is_none() {
        return;
    }
    let default = WgpuDevice::new(WgpuDeviceKind::DefaultDevice);
    let setup = try_init_setup::<AutoGraphicsApi>(&default, RuntimeOptions::default());
    let thief = Thief(setup.expect("there is a GPU that nobody has opened yet"));
    let device = Device::wgpu(burn::tensor::DeviceKind::DefaultDevice);
    let batches = std::iter::repeat(batch(Perspectives::Perspective, 150, 1));
    let error = failed_run(&device, 4, batches, &thief);
    println!("{error}");
    assert!(matches!(error, TrainError::Device { good: 4, .. }), "{error}");
}

#[test]
fn deeper_losses_equal_bullet() {
    if gpu().is_none() {
        return;
    }
    for test in LOSSES {
        check(test, (Backend::Wgpu, GPU), 1e-5);
    }
}

#[test]
fn losses_with_threats() {
    if gpu().is_some() {
        parity_threats::check(Backend::Wgpu, GPU, 1e-5);
    }
}
