//! What a processor tells a GPU, counted.

use std::cell::Cell;

/// What one thread has told GPUs, as far as operations of our own do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Kernels that were launched.
    pub launches: u64,
    /// Arrays that were sent.
    pub uploads: u64,
    /// Their bytes.
    pub bytes: u64,
}

thread_local! {
    static TRAFFIC: Cell<Traffic> = const { Cell::new(Traffic { launches: 0, uploads: 0, bytes: 0 }) };
}

impl Traffic {
    /// All that this thread has told so far.
    pub fn so_far() -> Self {
        TRAFFIC.get()
    }

    /// What was told since then.
    pub fn since(self, before: Self) -> Self {
        Self {
            launches: self.launches - before.launches,
            uploads: self.uploads - before.uploads,
            bytes: self.bytes - before.bytes,
        }
    }

    #[cfg(feature = "wgpu")]
    pub(super) fn launched() {
        TRAFFIC.set(Self { launches: TRAFFIC.get().launches + 1, ..TRAFFIC.get() });
    }

    #[cfg(feature = "wgpu")]
    pub(super) fn sent(bytes: usize) {
        let Self { launches, uploads, bytes: before } = TRAFFIC.get();
        TRAFFIC.set(Self { launches, uploads: uploads + 1, bytes: before + bytes as u64 });
    }
}
