//! The losses of nets and of handcrafted terms, and their gradients, on plain slices.

mod backward;
mod chunk;
mod dense;
mod format;
mod forward;
mod fused;
mod head;
pub(super) mod lanes;
pub(super) mod level;
mod net;
mod packed;
mod partition;
mod terms;

pub use fused::{Scratch, logits, loss};
pub use level::Level;
pub use net::{Gradients, Kernel, Precision, Weights};
pub use terms::{TermsGradients, TermsJob, terms_gradients, terms_logits};
