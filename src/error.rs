//! The error of the library's own entry points.

use std::fmt::{self, Display, Formatter};

use crate::config::ConfigError;

/// The reason why a config is refused or a run fails: one line with the cause and a remedy.
#[derive(Debug)]
pub struct Error(anyhow::Error);

impl Display for Error {
    /// Writes the error with all causes.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Error {}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self(error.into())
    }
}
