//! Runs from a config and data to an evaluation in a folder, measured on unseen data. They do not
//! print or exit: a [`Progress`](crate::progress::Progress) receives all events and has the clock.

#[doc(hidden)]
pub mod arena;
mod base;
#[doc(hidden)]
pub mod climb;
#[doc(hidden)]
pub mod data_plan;
mod device;
mod evaluation_file;
#[doc(hidden)]
pub mod evaluation_names;
#[doc(hidden)]
pub mod evaluator;
#[doc(hidden)]
pub mod export;
pub mod folder;
#[doc(hidden)]
pub mod honest;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod moves;
#[doc(hidden)]
pub mod objective;
#[doc(hidden)]
pub mod path;
#[doc(hidden)]
pub mod played;
mod player;
#[doc(hidden)]
pub mod recipe;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod sweep;
#[doc(hidden)]
pub mod terms;
pub mod train;

pub use device::{DeviceOptions, Host, check_memory};
pub use evaluator::Evaluator;
pub use player::SearchPlayer;
pub use recipe::Recipe;
pub use terms::RunTerms;
