//! How the weights of a net will be rounded.

use crate::architecture::Architecture;
use crate::config::{Config, ConfigError};
use crate::model::Rounding;
use crate::net::stored;
use crate::scales::Scales;

/// What an export with these scales does to the weights of a net.
pub fn rounding(net: &Architecture, scales: Scales) -> Rounding {
    let arrays = stored(net, scales.head_format).into_iter();
    Rounding(arrays.filter_map(|it| Some((it.array.part, it.factor(scales)?))).collect())
}

/// What a run takes its gradients with, for a part of it, and validates with; none where it does not
/// know of integers.
pub fn of_run(config: &Config) -> Result<Option<Rounding>, ConfigError> {
    let net = config.architecture()?.filter(|_| config.model.rounded_last.is_some());
    Ok(net.map(|net| rounding(&net, config.scales())))
}
