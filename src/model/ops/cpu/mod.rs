//! The losses of nets and of handcrafted terms, and their gradients, on plain slices.

mod backward;
mod dense;
mod format;
mod forward;
mod fused;
mod head;
mod net;
mod packed;
mod partition;
pub(super) mod simd;
mod terms;

pub use fused::{Scratch, compute_logits, loss_and_gradients};
pub use net::{Kernel, Precision, SliceGradients, SliceWeights};
pub use simd::SimdLevel;
pub use terms::{TermsGradients, TermsJob, terms_gradients, terms_logits};
