//! All integration tests, in one binary.

mod adam;
mod bench;
mod compare;
mod config;
mod eval;
mod export;
mod formats;
mod fused;
mod games;
mod golden;
mod hce;
mod kernels;
mod model;
mod net;
mod report;
mod tidy;
mod train;
