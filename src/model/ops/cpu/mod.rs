//! The losses of nets and of handcrafted terms, their gradients, and the steps of optimisers, on
//! plain slices.

mod activation;
mod backward;
mod chunk;
mod cut;
mod deep;
mod dense;
mod format;
mod forward;
mod fused;
mod head;
mod judge;
mod lanes;
mod layout;
mod level;
mod net;
mod packed;
mod steps;
mod tally;
mod terms;

pub use fused::{Scratch, logits, loss};
pub use level::Level;
pub use net::{Gradients, Kernel, Precision, Weights};
pub use steps::{
    Adam, AdamFactors, Lion, LionFactors, Mean, ScheduleFree, ScheduleFreeFactors, Step,
};
pub use terms::{TermsGradients, TermsJob, terms_gradients, terms_logits};
