//! Comparisons, inspections and pages.

pub mod compare;
pub mod comparisons;
pub mod coverage;
pub mod deep;
pub mod inspect;
pub mod pages;
pub mod pictures;
pub mod verdicts;
