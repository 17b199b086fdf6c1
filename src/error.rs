//! The error of the library's own entry points.

use crate::config::ConfigError;

/// The reason why a config is refused or a run fails: one line with the cause and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub struct Error(anyhow::Error);

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
