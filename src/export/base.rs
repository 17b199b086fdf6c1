//! What a net is added to, as checkpoints and manifests remember it: whole.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::architecture::Architecture;
use crate::net::{Hints, Net, NetError};
use crate::scales::Scales;

/// An evaluation that a net is added to, in its own centipawns. The games that it had seen are in
/// the run's sketch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Base {
    pub name: String,
    /// Of its file; null for what is built in.
    pub sha256: Option<String>,
    /// As [`StartedFrom::doubt`](super::StartedFrom::doubt).
    pub doubt: Option<String>,
    /// Centipawns of a logit, of the base and of the net: SCALE.
    pub scale: f64,
    #[serde(flatten)]
    pub below: Below,
}

/// The evaluation itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Below {
    /// Handcrafted terms, all of them, as the text of a JSON file.
    Terms(String),
    Net(Box<WholeNet>),
}

impl Below {
    /// What it is, in a sentence about the sum.
    pub fn noun(&self) -> &'static str {
        match self {
            Below::Terms(_) => "these terms",
            Below::Net(_) => "that net",
        }
    }
}

/// A quantised net with all that reading it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeNet {
    pub architecture: Architecture,
    pub scales: Scales,
    /// Its file in base64.
    pub file: String,
}

/// Why there is no net in a text.
#[derive(Debug, thiserror::Error)]
pub enum WholeNetError {
    #[error("its file is no base64: {0}")]
    Text(#[from] base64::DecodeError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("its file is that of {found}, and it is to be {expected}")]
    Other { found: Box<Architecture>, expected: Box<Architecture> },
}

impl WholeNet {
    /// The most that a net's file may have, bytes: headers of checkpoints and manifests hold it.
    pub const MOST: usize = 32 << 20;

    pub fn new(net: &Net) -> Self {
        let (architecture, scales) = (net.architecture().clone(), net.scales());
        Self { architecture, scales, file: STANDARD.encode(net.to_bytes()) }
    }

    /// # Errors
    /// If the text is not that of such a net.
    pub fn read(&self) -> Result<Net, WholeNetError> {
        let hints = Hints { net: self.architecture.clone(), scales: self.scales };
        let (net, _) = Net::read(&STANDARD.decode(&self.file)?, &hints)?;
        if *net.architecture() != self.architecture {
            let [found, expected] = [net.architecture(), &self.architecture].map(|it| it.clone());
            return Err(WholeNetError::Other {
                found: Box::new(found),
                expected: Box::new(expected),
            });
        }
        Ok(net)
    }
}
