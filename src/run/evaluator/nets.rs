//! Nets that evaluate, alone or added to something.

use std::sync::OnceLock;

use crate::export::{Imported, prove, quantise};
use crate::loader::{Base, Below, Encoder};
use crate::model::{DeviceError, Model, outputs};
use crate::net::Net;
use crate::sample::{Position, Sample};
use crate::search::{self, Evaluate};

/// What a net and what it is added to say together, in centipawns for the side to move.
pub fn sum(net: &Net, base: Option<&Base>, position: &Position) -> i32 {
    net.evaluate(position).saturating_add(base.map_or(0, |base| base.value(position)))
}

/// The same, along with a search.
pub fn in_search<'a>(net: &'a Net, base: Option<&'a Base>) -> Box<dyn Evaluate + Send + 'a> {
    let net = search::integers(net);
    match base.map(Base::below) {
        None => net,
        Some(Below::Terms(terms)) => {
            Box::new(search::Sum(vec![net, Box::new(search::Terms::new(terms.clone()))]))
        }
        Some(Below::Net(below)) => Box::new(search::Sum(vec![net, search::integers(below)])),
    }
}

/// A net as engines load it.
pub struct Quantised {
    pub net: Net,
    /// What it is added to, if anything.
    pub base: Option<Base>,
}

impl Quantised {
    /// Centipawns for the side to move.
    pub fn value(&self, position: &Position) -> i32 {
        sum(&self.net, self.base.as_ref(), position)
    }
}

/// A net as it is trained.
pub struct Floats {
    model: Model,
    encoder: Encoder,
    source: Imported,
    /// What plays, made when somebody wants to play.
    integers: OnceLock<Result<Net, String>>,
}

impl Floats {
    /// A model, how it sees positions, and where both come from.
    pub fn new(model: Model, encoder: Encoder, source: Imported) -> Self {
        Self { model, encoder, source, integers: OnceLock::new() }
    }

    /// The net that an export with the scales of the file would give.
    pub fn integers(&self) -> Result<&Net, &String> {
        let Imported { weights, architecture, scales, .. } = &self.source;
        let make = || {
            let net =
                quantise(weights, architecture, *scales).map_err(|error| error.to_string())?;
            prove(&net).map_err(|error| error.to_string())?;
            Ok(net)
        };
        self.integers.get_or_init(make).as_ref()
    }

    /// What it is added to, if anything.
    pub fn base(&self) -> Option<&Base> {
        self.encoder.base()
    }

    pub fn needs_colours(&self) -> bool {
        self.encoder.needs_colours()
    }

    /// Centipawns of a logit.
    pub fn scale(&self) -> f64 {
        self.source.scales.scale.into()
    }

    /// Centipawns for the side to move.
    ///
    /// # Errors
    /// What the device says is wrong with it.
    pub fn evaluate(&self, samples: &[Sample]) -> Result<Vec<f64>, DeviceError> {
        let Self { model, encoder, .. } = self;
        let mut values = Vec::with_capacity(samples.len());
        for samples in samples.chunks(4096) {
            let logits = outputs(model, &encoder.encode(samples))?;
            values.extend(samples.iter().zip(logits).map(|(sample, logit)| {
                f64::from(logit) * self.scale() * f64::from(encoder.sign(&sample.position))
            }));
        }
        Ok(values)
    }
}
