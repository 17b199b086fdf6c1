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
//! - [`config`]: a run in TOML; [`run`]: all that is done with it, from training to a page;
//! - [`sample`], [`mod@format`]: positions, and the files that hold them;
//! - [`features`]: positions to inputs of a net; [`App`]: a program that adds inputs and more;
//! - [`mod@train`], [`log`], [`progress`]: the loop and what it reports;
//! - [`export`], [`net`]: integers, proved not to overflow, evaluated as an engine does.
//!
//! Score and result are the side to move's unless a name has `white`.
//!
//! A net from a file of games:
//!
//! ```no_run
//! let config = "
//!     version = 3
//!     data.files = ['games.pgn']
//!     net = { inputs = 'perspective', hidden = 64 }
//!     target = { score_scale = 136.0, wdl = 0.1 }";
//! let config = nnuance::Config::parse_text(config, "my config", &[])?;
//! let run = nnuance::train(config, "runs/mine")?;
//! println!("{:?} on held-out games", run.validation_loss);
//! # Ok::<(), nnuance::Error>(())
//! ```
//!
//! Programs to start from:
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

use std::path::Path;

use progress::SilentProgress;
use run::DeviceOptions;
use run::folder::RunFolder;
use run::train::{FinishedRun, RunContext};
use train::ranks::SingleRank;

#[macro_use]
mod words;

mod app;
pub mod config;
mod data_file;
mod digits;
mod error;
#[doc(hidden)]
pub mod evaluation;
pub mod export;
pub mod features;
pub mod format;
pub mod log;
pub mod net;
mod prefetch;
pub mod progress;
mod registry;
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
pub mod digest;
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
pub mod point_of_view;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod resume_point;
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
pub use config::Config;
pub use error::Error;
pub use net::{Accumulator, Net};
pub use sample::{Position, Sample};
// Programs that use the library need the same version.
pub use shakmaty;

/// Trains by a config, and leaves checkpoints, log, page and the evaluation in a folder, as `nnuance
/// train` does. A folder that does not exist is made.
///
/// [`run::train::begin_training`] does the same with progress, a device, and a way to stop.
///
/// # Errors
///
/// Fails if data or folder cannot be read or written, if the folder holds a run already, and if the
/// data do not fit the config.
pub fn train(config: Config, folder: impl AsRef<Path>) -> Result<FinishedRun, Error> {
    let (listener, device) = (&SilentProgress, &DeviceOptions::default());
    let folder = RunFolder::lock_new(folder.as_ref(), false, listener)?;
    let context = RunContext { device, listener, page: true, ranks: &SingleRank };
    let finished = run::train::begin_training(config, &folder, &context)?;
    Ok(finished.expect("nothing stops it"))
}
