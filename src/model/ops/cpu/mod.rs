//! The losses of nets and of handcrafted terms, their gradients, and the optimiser's step, on plain
//! slices.

mod activation;
mod adamw;
mod backward;
mod chunk;
mod cut;
mod deep;
mod dense;
mod format;
mod forward;
mod fused;
mod head;
mod lanes;
mod layout;
mod level;
mod net;
mod packed;
mod plan;
mod tally;
mod terms;

pub use adamw::AdamW as Adam;
pub use fused::{Scratch, logits, loss};
pub use level::Level;
pub use net::{Gradients, Kernel, Positions, Precision, Weights};
pub use terms::{TermsGradients, TermsJob, terms_gradients, terms_logits};
