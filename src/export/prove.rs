//! The proof that engines' integers cannot overflow, for one net and every legal position.
//!
//! **Accumulator (i16).** The bias and the bounds of each feature set
//! ([`FeatureSet::bounds`](crate::features::FeatureSet::bounds)) bound it together.
//!
//! **On the way.** Of pieces on squares a move adds at most two rows and removes at most two, so that
//! every intermediate sum is bounded, too ([`Kings::bounds`](crate::architecture::Kings::bounds)).
//! Other sets may change as many rows as are active: there adds must wrap, as SIMD adds and those of
//! the engine code do. Then the sum is right after the last of them whatever it was between, and the
//! bounds on the way are those of legal positions.
//!
//! **Sums behind it (i32).** All positive terms sum to at most P, all negative ones to at least M:
//! each partial sum, in any order, lies in `[M, P]`. With an `int8` head that holds for each neuron
//! of the first map; what is behind it, and all of a `float` head, has no integers.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::Activation;
use crate::net::{Net, Numbers};
use crate::scales::Scales;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Accumulators in legal positions, all neurons.
    pub accumulator: Bounds,
    /// Accumulators on the way there, whatever the order of additions.
    pub intermediate: Bounds,
    /// Partial sums of the integers behind the accumulators; 0 to 0 with a `float` head.
    pub output: Bounds,
    /// `(sum + bias) * SCALE`, before the last division; 0 to 0 where that is no integer.
    pub product: Bounds,
    /// Whether that product fits an i32; otherwise an engine must form it in i64.
    pub product_fits_i32: bool,
    /// Whether `clamped accumulator * output weight` fits an i16 (SIMD trick of SCReLU).
    pub i16_trick: bool,
}

/// The bounds, in the same words for whoever exports and whoever verifies.
impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Proof { accumulator, intermediate, output, .. } = self;
        write!(f, "accumulators {accumulator}, on the way {intermediate}; output sum {output}")
    }
}

/// Both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub least: i64,
    pub most: i64,
}

impl Bounds {
    const NONE: Bounds = Bounds { least: 0, most: 0 };

    fn within(self, least: i64, most: i64) -> bool {
        self.least >= least && self.most <= most
    }

    fn hull(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    fn plus(self, other: Bounds) -> Bounds {
        Bounds { least: self.least + other.least, most: self.most + other.most }
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.least, self.most)
    }
}

/// Why a net is refused: the first place where its integers may overflow.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Overflow {
    #[error(
        "the accumulator of neuron {neuron} may reach {bounds}, outside of i16; export with \
         --largest-scales, or train again with weights clipped"
    )]
    Accumulator { neuron: usize, bounds: Bounds },
    #[error(
        "the sum of the output layer may reach {0}, outside of i32; export with --largest-scales, \
         or train again with weights clipped"
    )]
    Output(Bounds),
}

/// Proves that no legal position overflows i16 accumulators or an i32 output sum.
pub fn prove(net: &Net) -> Result<Proof, Overflow> {
    let hidden = net.architecture().hidden;
    let neurons: Vec<Neuron> = (0..hidden).into_par_iter().map(|it| bound(net, it)).collect();
    let fits = |it: &Neuron| it.intermediate.within(i16::MIN.into(), i16::MAX.into());
    if let Some(neuron) = neurons.iter().position(|it| !fits(it)) {
        return Err(Overflow::Accumulator { neuron, bounds: neurons[neuron].intermediate });
    }
    let hull = |bounds: fn(&Neuron) -> Bounds| {
        neurons.iter().map(bounds).reduce(Bounds::hull).expect("a net has neurons")
    };
    let proof = Proof {
        accumulator: hull(|neuron| neuron.legal),
        intermediate: hull(|neuron| neuron.intermediate),
        output: Bounds::NONE,
        product: Bounds::NONE,
        product_fits_i32: true,
        i16_trick: false,
    };
    match !net.architecture().is_deep() {
        true => output(net, &neurons, proof),
        false => Ok(Proof { output: sums_of_bytes(net, &neurons), ..proof }),
    }
}

fn output(net: &Net, neurons: &[Neuron], proof: Proof) -> Result<Proof, Overflow> {
    let (hidden, activation) = (net.architecture().hidden, net.architecture().activation);
    let top = i64::from(net.ceiling());
    let share = |i: usize| share(net, neurons[i % hidden].legal, i, top);
    let Scales { qa, scale, .. } = net.scales();
    let outputs = net.architecture().features();
    // One bucket judges a position; the bounds are those of all.
    let (mut output, mut sum) = (Bounds::NONE, Bounds::NONE);
    for (bucket, &bias) in net.map_numbers(0)[1].i16s().iter().enumerate() {
        let weights = bucket * outputs..(bucket + 1) * outputs;
        let of_bucket = weights.map(share).fold(Bounds::NONE, Bounds::plus);
        // CReLU and ReLU add the bias to the sum itself; it must not push it out either.
        let bias = i64::from(bias);
        let bias = Bounds { least: bias.min(0), most: bias.max(0) };
        let divided = match activation {
            Activation::SCReLU => Bounds {
                least: of_bucket.least / i64::from(qa),
                most: of_bucket.most / i64::from(qa),
            },
            _ => of_bucket,
        };
        (output, sum) = (output.hull(of_bucket), sum.hull(divided.plus(bias)));
    }
    if !output.hull(sum).within(i32::MIN.into(), i32::MAX.into()) {
        return Err(Overflow::Output(output.hull(sum)));
    }
    let product = Bounds { least: sum.least * i64::from(scale), most: sum.most * i64::from(scale) };
    let product_fits_i32 = product.within(i32::MIN.into(), i32::MAX.into());
    let trick = |&o: &i16| {
        (i64::from(o) * top) >= i16::MIN.into() && (i64::from(o) * top) <= i16::MAX.into()
    };
    let i16_trick = net.map_numbers(0)[0].i16s().iter().all(trick);
    Ok(Proof { output, product, product_fits_i32, i16_trick, ..proof })
}

/// Sums of the first map in i8, whose inputs are 127 at most: no net overflows an i32.
fn sums_of_bytes(net: &Net, neurons: &[Neuron]) -> Bounds {
    let Numbers::I8(weights) = net.map_numbers(0)[0] else { return Bounds::NONE };
    let (architecture, (shift, _), qa) = (net.architecture(), net.unit(), net.scales().qa);
    let each = architecture.outputs_of_view();
    let clamped = |neuron: usize| neurons[neuron].legal.most.clamp(0, qa.into());
    let input = |neuron: usize| match (architecture.pairwise, architecture.activation) {
        (true, _) => (clamped(neuron) * clamped(neuron + each)) >> shift,
        (false, Activation::SCReLU) => clamped(neuron).pow(2) >> shift,
        (false, _) => clamped(neuron) >> shift,
    };
    let inputs: Vec<i64> = (0..each).map(input).collect();
    let of_neuron = |weights: &[i8]| {
        let terms = weights.iter().zip(inputs.iter().cycle());
        let terms = terms.map(|(&weight, input)| i64::from(weight) * input);
        terms.fold(Bounds::NONE, |sum, term| {
            sum.plus(Bounds { least: term.min(0), most: term.max(0) })
        })
    };
    let sums = weights.chunks_exact(architecture.features()).map(of_neuron);
    sums.fold(Bounds::NONE, Bounds::hull)
}

/// The terms that one output weight can add to the sum.
fn share(net: &Net, accumulator: Bounds, i: usize, top: i64) -> Bounds {
    let activate = |a: i64| match net.architecture().activation {
        Activation::SCReLU => a.clamp(0, top).pow(2),
        Activation::ReLU | Activation::CReLU => a.clamp(0, top),
    };
    let term = i64::from(net.map_numbers(0)[0].i16s()[i]) * activate(accumulator.most);
    Bounds { least: term.min(0), most: term.max(0) }
}

struct Neuron {
    legal: Bounds,
    intermediate: Bounds,
}

/// Bounds of one accumulator.
fn bound(net: &Net, neuron: usize) -> Neuron {
    let inputs = &net.architecture().inputs;
    let bias = i64::from(net.accumulator_bias()[neuron]);
    let bounds = |[least, most]: [i64; 2]| Bounds { least, most };
    let bias = bounds([bias; 2]);
    let mut first = 0;
    let columns = inputs.sets().iter().map(|set| -> Vec<i32> {
        let rows = first..first + set.rows();
        first = rows.end;
        rows.map(|row| net.row(row).get(neuron)).collect()
    });
    if inputs.is_pieces() {
        let column = columns.flatten().collect::<Vec<_>>();
        let both = inputs.kings().bounds(&column);
        let [legal, intermediate] = both.map(|it| bias.plus(bounds(it)));
        return Neuron { legal, intermediate };
    }
    let sets = inputs.sets().iter().zip(columns);
    let legal = sets.fold(bias, |sum, (set, column)| sum.plus(bounds(set.bounds(&column))));
    Neuron { legal, intermediate: legal }
}
