//! How the weights of a net will be rounded.

use crate::architecture::Architecture;
use crate::config::Config;
use crate::model::Rounding;
use crate::net::stored;
use crate::scales::Scales;

/// The rounding of a net's weights by an export with these scales.
pub fn rounding(net: &Architecture, scales: Scales) -> Rounding {
    let arrays = stored(net, scales.head_format).into_iter();
    Rounding(arrays.filter_map(|it| Some((it.array.part, it.factor(scales)?))).collect())
}

/// The rounding that a run validates with, and takes gradients with in a part of it; none where the
/// config sets none.
pub fn of_run(config: &Config) -> Option<Rounding> {
    let net = config.net().filter(|net| net.rounded_last.is_some())?;
    Some(rounding(&net.architecture, net.scales))
}
