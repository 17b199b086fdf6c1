//! Models, kernels and steps against slow definitions.

pub mod cpu;
pub mod devices;
#[cfg(feature = "wgpu")]
pub mod gpu;
#[cfg(feature = "wgpu")]
pub mod gpu_chunks;
#[cfg(feature = "wgpu")]
pub mod gpu_nets;
#[cfg(feature = "wgpu")]
pub mod gpu_pairs;
#[cfg(feature = "wgpu")]
pub mod gpu_train;
pub mod layers;
pub mod local_search;
pub mod losses;
pub mod missed_steps;
pub mod model;
pub mod newton;
pub mod optimizers;
pub mod sets;
pub mod steps;
pub mod terms;
