//! The device that models compute on, and how: vector instructions, fused or plain operations.

use anyhow::{Context, Result, ensure};

use crate::config::Config;
use crate::digits::{count_noun, format_gigabytes};
use crate::model::{
    Adapter, Backend, Compute, Device, DeviceChoice, Precision, SimdLevel, bytes_on_gpu,
    choose_budget, is_gpu,
};
use crate::progress::Progress;

/// Options of a device, as a user gives them.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// Name of the backend, with the number of the device, or `auto`.
    pub device: String,
    /// Name of the vector instructions; None: the best available ones.
    pub level: Option<String>,
    /// Whether Burn's plain operations replace the fused ones.
    pub plain: bool,
}

/// An open device, how models compute on it, and the listener for its events.
#[doc(hidden)]
#[derive(Clone)]
pub struct Host<'a> {
    pub device: Device,
    pub compute: Compute,
    pub listener: &'a dyn Progress,
}

impl Host<'_> {
    /// Formats the graphics card or "CPU", and the number of threads.
    pub fn describe_host(&self) -> String {
        let adapter = Adapter::properties_of(&self.device).map(|adapter| adapter.to_string());
        let threads = count_noun(rayon::current_num_threads() as u64, "thread");
        format!("{}, {threads}", adapter.as_deref().unwrap_or("CPU"))
    }

    /// Describes how a model is computed.
    pub fn describe_compute(&self) -> String {
        match self.compute {
            Compute::Plain => "plain tensor operations".to_string(),
            Compute::Fused { level, precision } => {
                format!("fused operations ({}, {})", level.name(), precision.name())
            }
            Compute::Gpu { .. } => "fused operations of a GPU".to_string(),
        }
    }
}

impl Default for DeviceOptions {
    /// Returns the CPU with its best instructions.
    fn default() -> Self {
        Self { device: "flex".into(), level: None, plain: false }
    }
}

impl DeviceOptions {
    /// Opens the device for operations of this precision, which a GPU chooses itself.
    ///
    /// # Errors
    ///
    /// Fails if there is no such device or SIMD level here, and for mixed precision without the
    /// fused operations.
    pub fn open_device(&self, precision: Precision) -> Result<(Device, Compute)> {
        let choice = DeviceChoice::parse_name(&self.device)?;
        let (device, level) = (choice.open_device()?, self.simd_level()?);
        let compute = match choice.backend {
            _ if self.plain => Compute::Plain,
            Backend::Flex => Compute::Fused { level, precision },
            _ if is_gpu(&device) => Compute::Gpu { budget: choose_budget(memory_of(&device)) },
            _ => Compute::Plain,
        };
        ensure!(
            precision == Precision::F32 || compute != Compute::Plain,
            "mixed precision needs the fused operations of `--device flex`, or of a GPU"
        );
        Ok((device, compute))
    }

    /// Opens the device for evaluations, in 32 bits.
    ///
    /// # Errors
    ///
    /// Fails as [`DeviceOptions::open_device`] does.
    pub fn open_host<'a>(&self, listener: &'a dyn Progress) -> Result<Host<'a>> {
        let (device, compute) = self.open_device(Precision::F32)?;
        Ok(Host { device, compute, listener })
    }

    /// Opens the device for a run, whose precision is for the fused operations of the CPU alone.
    ///
    /// # Errors
    ///
    /// Fails as [`DeviceOptions::open_device`] does, if the GPU has too little memory for the net,
    /// and for handcrafted terms on a GPU that was named.
    pub fn open_for<'a>(&self, config: &Config, listener: &'a dyn Progress) -> Result<Host<'a>> {
        let mut host = self.open_host(listener)?;
        if !config.is_net() && is_gpu(&host.device) {
            ensure!(
                self.device == "auto",
                "handcrafted terms are tuned on the CPU, not on {}; leave `--device` out",
                self.device
            );
            return Self { device: "flex".into(), ..self.clone() }.open_for(config, listener);
        }
        match &mut host.compute {
            Compute::Fused { precision, .. } => *precision = config.precision,
            Compute::Gpu { budget } => check_memory(config, *budget, memory_of(&host.device))?,
            Compute::Plain => {}
        }
        Ok(host)
    }

    fn simd_level(&self) -> Result<SimdLevel> {
        let Some(name) = &self.level else { return Ok(SimdLevel::detect_fastest()) };
        let names =
            |levels: &[SimdLevel]| levels.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
        let level = SimdLevel::named(name);
        let level = level.with_context(|| {
            format!("no SIMD level {name}; there are {}", names(&SimdLevel::ALL))
        })?;
        ensure!(
            level.is_available(),
            "this machine lacks {name}; it has {}",
            names(&SimdLevel::list_available())
        );
        Ok(level)
    }
}

/// Returns the bytes of a GPU's memory, if the driver reports them.
fn memory_of(device: &Device) -> Option<u64> {
    Adapter::properties_of(device)?.memory
}

/// Checks that a GPU's memory, if known, is enough for a net, before anything is read.
pub fn check_memory(config: &Config, budget: usize, memory: Option<u64>) -> Result<()> {
    let (Some(net), Some(memory)) = (config.architecture(), memory) else { return Ok(()) };
    let batch = config.batch_size.unwrap_or(1);
    let states =
        config.optimizer.state_count() + usize::from(config.optimizer.average_decay.is_some());
    let need = bytes_on_gpu(net, batch, states, budget);
    ensure!(
        need <= memory,
        "training this net takes {} of the GPU's memory, which has {}; make `net.hidden` or \
         `schedule.batch` smaller, or use `--device flex`",
        format_gigabytes(need),
        format_gigabytes(memory)
    );
    Ok(())
}
