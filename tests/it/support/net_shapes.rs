//! Architectures of given king buckets and feature sets.

use nnuance::architecture::Inputs;
use nnuance::features::set_named;

use crate::support::kit::*;

/// Buckets of the king's squares in turn, those of the left half if they are mirrored.
pub fn kings_in_turn(mirror: bool, count: u8) -> Kings {
    let squares = if mirror { 32 } else { 64 };
    let buckets: Vec<u8> = (0..squares).map(|square| square % count).collect();
    Kings::new(mirror, &buckets).expect("every bucket has a square")
}

pub fn net_of_inputs(inputs: Inputs, hidden: usize) -> Architecture {
    let simple = Architecture::simple(inputs.perspectives, hidden, Activation::SCReLU);
    Architecture { inputs, ..simple }
}

/// A net of the pieces from both perspectives.
pub fn net_of_kings(kings: Kings, hidden: usize) -> Architecture {
    net_of_inputs(Inputs::of_pieces(Perspectives::Perspective, kings, false), hidden)
}

/// A net of built-in sets from both perspectives.
pub fn net_of_sets(names: &[impl AsRef<str>], kings: Kings, hidden: usize) -> Architecture {
    let sets = names.iter().map(|name| set_named(name.as_ref(), kings).expect("it is built in"));
    net_of_inputs(Inputs::new(Perspectives::Perspective, sets.collect(), false), hidden)
}
