//! All integration tests, in one binary.

mod compare;
mod eval;
mod export;
mod formats;
mod games;
mod golden;
mod hce;
mod model;
mod net;
mod report;
mod tidy;
mod train;
