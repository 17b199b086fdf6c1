//! What a run is: from a config and data to an evaluation that stands in a folder, is known again
//! by its path, and is measured on what it has not seen.
//!
//! Nothing here prints, exits, or reads clock and environment; a
//! [`Progress`](crate::progress::Progress) is notified of what happens meanwhile.

pub mod arena;
pub mod climb;
pub mod evaluator;
pub mod export;
pub mod folder;
pub mod honest;
pub mod inspect;
pub mod measure;
pub mod moves;
pub mod objective;
pub mod path;
mod place;
pub mod played;
mod player;
pub mod recipe;
pub mod report;
mod summary;
pub mod sweep;
pub mod terms;
pub mod train;

pub use evaluator::Evaluator;
pub use place::Place;
pub use player::OwnPlayer;
pub use recipe::Recipe;
pub use terms::RunTerms;
