//! nnuance trains the evaluation of a chess engine: NNUE nets and handcrafted (HCE) terms, in one
//! trainer, on the same data, with the same loss.
//!
//! ```text
//! files ─ format ─▶ Sample ─ loader ─▶ Batch ─ train ─▶ Weights ─ export ─▶ Net ─▶ engines
//!                             │ features, hce   │ model                │
//!                             ▼                 ▼                      ▼
//!                        positions to inputs  Burn              report (numbers only)
//! ```
//!
//! Read it along the arrows:
//!
//! - [`sample`]: a position with its score and result, as every reader yields it;
//! - [`mod@format`]: bytes to samples and back, one file a format;
//! - [`features`] and [`hce`]: a position to the inputs of a net, or to handcrafted terms;
//! - [`loader`]: files to a stream of [`batch`]es, shuffled, filtered, split by game;
//! - [`model`]: the Burn modules, and the devices they run on;
//! - [`train`]: the loop, its schedules, optimisers, checkpoints and log;
//! - [`weights`]: what is trained, on disk as safetensors;
//! - [`export`] and [`net`]: integers, proved not to overflow, evaluated as an engine does;
//! - [`search`]: chess played with any of these evaluations, the same for all;
//! - [`report`]: which evaluation is better, and how sure that is; [`inspect`]: what a net has
//!   learnt; [`draw`]: pictures and pages;
//! - [`config`]: a run in TOML; [`run`]: what is done with it, from training to a page; [`cli`]: the
//!   commands, the only place that prints; [`App`]: a program that adds to all of this.
//!
//! Score and result are the side to move's unless a name has `white`.
//!
//! # Programs
//!
//! Start from one of the examples:
//!
//! - [`evaluate.rs`](../../../examples/evaluate.rs): a net in an engine, its accumulators follow a search;
//! - [`own_filter.rs`](../../../examples/own_filter.rs): a filter, weights and output buckets of your own;
//! - [`own_inputs.rs`](../../../examples/own_inputs.rs): a feature set of your own;
//! - [`train_from_code.rs`](../../../examples/train_from_code.rs): training and export without a command line.
//!
//! [`own-code.md`](../../../docs/own-code.md) explains them. The first is:
//!
//! ```no_run
#![doc = include_str!("../examples/evaluate.rs")]
//! ```
#![warn(missing_docs)]

mod app;
pub mod config;
pub mod export;
pub mod features;
pub mod format;
pub mod log;
pub mod net;
pub mod progress;
pub mod run;
pub mod sample;
pub mod train;

// Internal: public for the program and the tests of this crate, and changed without notice.
#[doc(hidden)]
pub mod architecture;
#[doc(hidden)]
pub mod batch;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod data;
#[doc(hidden)]
pub mod data_file;
#[doc(hidden)]
pub mod digest;
#[doc(hidden)]
pub mod digits;
#[doc(hidden)]
pub mod draw;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod floats;
#[doc(hidden)]
pub mod hce;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod interface;
#[doc(hidden)]
pub mod linear;
#[doc(hidden)]
pub mod loader;
#[doc(hidden)]
pub mod loss;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod place;
#[doc(hidden)]
pub mod point_of_view;
#[doc(hidden)]
pub mod prefetch;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod scales;
#[doc(hidden)]
pub mod score;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod sketch;
#[doc(hidden)]
pub mod sums;
#[doc(hidden)]
pub mod terms;
#[doc(hidden)]
pub mod weights;

pub use app::App;
// Programs that use the library need the same version.
pub use shakmaty;
