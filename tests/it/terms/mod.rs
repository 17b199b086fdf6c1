//! Handcrafted terms.

pub mod counts;
pub mod hce;
pub mod tables;
pub mod values;
