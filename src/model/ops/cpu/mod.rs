//! The loss of a net and its gradients, and the optimiser's step, on plain slices.

mod activation;
mod adamw;
mod backward;
mod chunk;
mod format;
mod forward;
mod fused;
mod lanes;
mod layout;
mod level;
mod net;
mod packed;
mod plan;
mod tally;

pub use adamw::AdamW as Adam;
pub use fused::{Scratch, logits, loss};
pub use level::Level;
pub use net::{Gradients, Net, Positions, Precision, Weights};
