//! All integration tests, in one binary.

mod cli;
mod formats;
mod kernels;
mod loader;
mod nets;
mod play;
mod reports;
mod runs;
mod support;
mod terms;
