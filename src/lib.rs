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
//! - [`format`]: bytes to samples and back, one file a format;
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

mod app;
pub mod architecture;
pub mod batch;
pub mod cli;
pub mod config;
pub mod data;
pub mod data_file;
pub mod digest;
pub mod digits;
pub mod draw;
pub mod engine;
pub mod export;
pub mod features;
pub mod floats;
pub mod format;
pub mod hce;
pub mod input;
pub mod inspect;
pub mod interface;
pub mod linear;
pub mod loader;
pub mod log;
pub mod loss;
pub mod model;
pub mod net;
pub mod output;
pub mod place;
pub mod point_of_view;
pub mod prefetch;
pub mod progress;
pub mod registry;
pub mod report;
pub mod run;
pub mod sample;
pub mod scales;
pub mod score;
pub mod search;
pub mod sketch;
pub mod sums;
pub mod terms;
pub mod train;
pub mod weights;

pub use app::App;
// Programs that use the library need the same version.
pub use shakmaty;
