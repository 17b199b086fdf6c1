//! Which nets cannot be, and why.

use super::{Activation, Architecture, Layer, MOST_PIECES, Views};

/// Why there is no such net.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct Impossible {
    /// The key of the description that cannot stand.
    pub key: &'static str,
    pub reason: String,
}

/// Neurons of an accumulator, at most.
const MOST_HIDDEN: usize = 65_536;
/// Neurons of a layer of the head, at most.
const MOST_SIZE: usize = 1024;
/// Layers of the head, at most.
const MOST_LAYERS: usize = 8;

impl Architecture {
    /// # Errors
    /// The first thing that makes it no net.
    pub fn check(&self) -> Result<(), Impossible> {
        let wrong = |key, reason: String| Err(Impossible { key, reason });
        let Self { inputs, hidden, pairwise, head, skip, buckets, .. } = self;
        if !(1..=MOST_HIDDEN).contains(hidden) {
            let reason = format!("an accumulator has 1 to {MOST_HIDDEN} neurons, found {hidden}");
            return wrong("hidden", reason);
        }
        if inputs.views == Views::Plain && inputs.kings.matter() {
            let key = if inputs.kings.mirror { "mirror" } else { "king_buckets" };
            let reason = "the plain view is White's alone and has no king of its own to go by; \
                          take `inputs = \"perspective\"` or \"side-to-move\"";
            return wrong(key, reason.into());
        }
        if inputs.factorised && inputs.kings.count() == 1 {
            let reason = "a factoriser is what several king buckets share, and there is one; give \
                          `king_buckets`, or take it out";
            return wrong("factorised", reason.into());
        }
        if *pairwise && hidden % 2 == 1 {
            let reason = format!(
                "the pairwise product takes the neurons two by two, and {hidden} is odd; take {}",
                hidden + 1
            );
            return wrong("hidden", reason);
        }
        if *pairwise && self.activation != Activation::CReLU {
            let reason = format!(
                "the pairwise product is one of `crelu` values, not of `{}`",
                self.activation.name()
            );
            return wrong("activation", reason);
        }
        if !(1..=MOST_PIECES).contains(buckets) {
            let reason = format!(
                "1 to {MOST_PIECES} output buckets, as a board has at most that many pieces, found \
                 {buckets}"
            );
            return wrong("output_buckets", reason);
        }
        if head.len() > MOST_LAYERS {
            let reason = format!("at most {MOST_LAYERS} layers, found {}", head.len());
            return wrong("head", reason);
        }
        if let Some(Layer { size, .. }) = head.iter().find(|it| !(1..=MOST_SIZE).contains(&it.size))
        {
            let reason = format!("a layer has 1 to {MOST_SIZE} neurons, found {size}");
            return wrong("head", reason);
        }
        if *skip && head.is_empty() {
            let reason = "the skip neuron is one of the head's first layer, and `head` has none";
            return wrong("skip", reason.into());
        }
        Ok(())
    }
}
