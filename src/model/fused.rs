//! Settings and buffers of the fused operations of a model.

use std::sync::{Arc, Mutex};

use super::aim::Aim;
use super::ops::cpu::{Kernel, Level, Precision, Scratch};
use super::ops::{Done, Job, Kept};
use crate::architecture::Architecture;
use crate::batch::OneHot;

/// How a model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Burn's tensor operations, on any device.
    Plain,
    /// Operations of our own, on the device `flex`.
    Fused { level: Level, precision: Precision },
    /// Operations of our own, on a GPU.
    Gpu {
        /// Bytes that the gradients of accumulators may take, and what is computed behind them; a
        /// larger batch is taken in parts. And those that lists may take which stay there.
        room: usize,
    },
}

impl Compute {
    /// Whether inner loops move 16 bits a number.
    pub fn is_mixed(self) -> bool {
        matches!(self, Compute::Fused { precision: Precision::Mixed, .. })
    }

    /// The level of operations of our own on parameters; none for Burn's. GPUs go their own way.
    pub fn level(self) -> Option<Level> {
        match self {
            Compute::Plain => None,
            Compute::Fused { level, .. } => Some(level),
            Compute::Gpu { .. } => Some(Level::Portable),
        }
    }
}

/// A net as the operations want it, and the memory that they work in.
#[derive(Clone)]
pub struct Fused {
    kernel: Kernel,
    scratch: Arc<Mutex<Scratch>>,
    kept: Kept,
    room: usize,
}

impl Fused {
    pub fn new(net: &Architecture, compute: Compute) -> Option<Self> {
        let (level, precision, room) = match compute {
            Compute::Plain => return None,
            Compute::Fused { level, precision } => (level, precision, usize::MAX),
            // The level is for what a processor computes.
            Compute::Gpu { room } => (Level::Portable, Precision::F32, room),
        };
        let kernel = Kernel { net: net.clone(), precision, level };
        Some(Self { kernel, scratch: Arc::default(), kept: Kept::default(), room })
    }

    /// A job of the operations. The device waits for the end of each stage that `done` reports.
    pub fn job<'a>(&'a self, inputs: OneHot<'a>, aim: Aim<'a>, done: Option<Done<'a>>) -> Job<'a> {
        let Self { kernel, room, .. } = self;
        let (scratch, kept) = (self.scratch.clone(), self.kept.clone());
        Job { kernel, inputs, aim, scratch, kept, room: *room, done }
    }
}

impl std::fmt::Debug for Fused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kernel.fmt(f)
    }
}
