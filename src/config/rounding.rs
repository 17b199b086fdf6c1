//! The integers that a net of a run becomes, and whether it knows of them while it learns.

use super::{Config, ConfigError};
use crate::scales::Scales;
use crate::train::schedule::{Length, not_a_share};

/// The largest QA and QB that an engine's integers have room for.
const MOST: i32 = i16::MAX as i32;

impl Config {
    /// What the net of the run is exported with, unless somebody asks for other scales.
    pub fn scales(&self) -> Scales {
        let usual = Scales::default();
        Scales {
            qa: self.model.qa.unwrap_or(usual.qa),
            qb: self.model.qb.unwrap_or(usual.qb),
            scale: self.scale() as i32,
            head_format: self.model.head_format.unwrap_or(usual.head_format),
        }
    }

    /// # Errors
    /// The first key about integers whose value cannot be used.
    pub(super) fn check_rounding(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let model = &self.model;
        for (key, given) in [
            ("model.rounded_last", model.rounded_last.is_some()),
            ("model.qa", model.qa.is_some()),
            ("model.qb", model.qb.is_some()),
            ("model.head_format", model.head_format.is_some()),
        ] {
            if given && !self.is_net() {
                return wrong(key, "is for nets, and these are handcrafted terms".into());
            }
        }
        for (key, factor) in [("model.qa", model.qa), ("model.qb", model.qb)] {
            if let Some(factor) = factor.filter(|factor| !(1..=MOST).contains(factor)) {
                return wrong(key, format!("is a whole number from 1 to {MOST}, found {factor}"));
            }
        }
        match model.rounded_last {
            Some(Length::Share(share)) if share > 1.0 => {
                wrong("model.rounded_last", not_a_share("rounded_last", share, "run"))
            }
            _ => Ok(()),
        }
    }
}
