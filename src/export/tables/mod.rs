//! Tuned terms as source code for engines, and as pictures for people.
//!
//! Everything here turns numbers into text; the [`shape`] of a list, which terms make one array
//! together, is what the languages and the pictures share.

pub mod c;
pub mod cpp;
pub mod heat;
pub mod heat_svg;
mod layout;
mod names;
mod plot;
mod preamble;
pub mod rust;
pub mod shape;
pub mod source;
