//! Runs: from a config and data to an evaluation in a folder, measured on unseen data. Nothing here
//! prints, exits, or reads clock and environment; a [`Progress`](crate::progress::Progress)
//! receives all events.

pub mod arena;
pub mod climb;
mod device;
pub mod evaluator;
pub mod export;
pub mod folder;
pub mod honest;
pub mod inspect;
pub mod measure;
pub mod moves;
pub mod objective;
pub mod path;
pub mod played;
mod player;
pub mod recipe;
pub mod report;
pub mod sweep;
pub mod terms;
pub mod train;

pub use device::DeviceOptions;
pub use evaluator::Evaluator;
pub use player::SearchPlayer;
pub use recipe::Recipe;
pub use terms::RunTerms;
