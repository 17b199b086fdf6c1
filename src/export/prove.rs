//! The proof that engines' integers cannot overflow, for one net and every legal position.
//!
//! **Accumulator (i16).** The bias and the bounds of each feature set
//! ([`FeatureSet::bounds`](crate::features::FeatureSet::bounds)) bound it together.
//!
//! **Intermediate sums.** Of pieces on squares a move adds at most two rows and removes at most
//! two, so that every intermediate sum is bounded, too
//! ([`Kings::bounds`](crate::architecture::Kings::bounds)). Other sets may change as many rows as
//! are active: there adds must wrap, as SIMD adds and those of the engine code do. Then the sum is
//! right after the last of them, and intermediate bounds are those of legal positions.
//!
//! **Sums behind it (i32).** All positive terms sum to at most P, all negative ones to at least M:
//! each partial sum, in any order, lies in `[M, P]`. With an `int8` head that holds for each neuron
//! of the first map; what is behind it, and all of a `float` head, has no integers.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::{self, Architecture, Arithmetic, Combination, Curve, Set};
use crate::net::{Net, Numbers};
use crate::scales::{HeadFormat, Scales};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Accumulators in legal positions, all neurons.
    pub accumulator: Bounds,
    /// Intermediate sums of accumulators, whatever the order of additions.
    pub intermediate: Bounds,
    /// Partial sums of the integers behind the accumulators; 0 to 0 with a `float` head.
    pub output: Bounds,
    /// `(sum + bias) * SCALE`, before the last division; 0 to 0 if that is not an integer.
    pub product: Bounds,
    /// Whether that product fits an i32; otherwise engines need i64.
    pub product_fits_i32: bool,
    /// Whether `clamped accumulator * output weight` fits an i16 (SIMD trick of SCReLU).
    pub i16_trick: bool,
}

/// Prints the bounds, the same for export and verification.
impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Proof { accumulator, intermediate, output, .. } = self;
        write!(
            f,
            "accumulators {accumulator}, intermediate sums {intermediate}; output sum \
             {output}"
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub least: i64,
    pub most: i64,
}

impl Bounds {
    const NONE: Bounds = Bounds::exactly(0);

    const fn exactly(value: i64) -> Bounds {
        Bounds { least: value, most: value }
    }

    fn within(self, least: i64, most: i64) -> bool {
        self.least >= least && self.most <= most
    }

    fn hull(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    fn times(self, other: Bounds) -> Bounds {
        let ends = [self.least, self.most];
        let products = ends.map(|one| [one * other.least, one * other.most]);
        let products = products.as_flattened().iter().copied().map(Bounds::exactly);
        products.reduce(Bounds::hull).expect("there are four")
    }

    fn plus(self, other: Bounds) -> Bounds {
        Bounds { least: self.least + other.least, most: self.most + other.most }
    }
}

impl From<[i64; 2]> for Bounds {
    fn from([least, most]: [i64; 2]) -> Bounds {
        Bounds { least, most }
    }
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.least, self.most)
    }
}

/// Reason why a net is refused: the first place where its integers may overflow.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Overflow {
    #[error(
        "the accumulator of neuron {neuron} may reach {bounds}, outside of i16; export with \
         --largest-scales, or train again with a smaller clip"
    )]
    Accumulator { neuron: usize, bounds: Bounds },
    #[error(
        "the sum of the output layer may reach {0}, outside of i32; export with --largest-scales, \
         or train again with a smaller clip"
    )]
    Output(Bounds),
}

/// Proves that no legal position overflows i16 accumulators or an i32 output sum.
pub fn prove(net: &Net) -> Result<Proof, Overflow> {
    let (architecture, Scales { scale, head_format, .. }) = (net.architecture(), net.scales());
    let bounds: Vec<_> =
        (0..architecture.hidden).into_par_iter().map(|it| bound(net, it)).collect();
    let (legal, intermediate): (Vec<_>, Vec<_>) = bounds.into_iter().map(<(_, _)>::from).unzip();
    let fits = |it: &Bounds| it.within(i16::MIN.into(), i16::MAX.into());
    if let Some(neuron) = intermediate.iter().position(|it| !fits(it)) {
        return Err(Overflow::Accumulator { neuron, bounds: intermediate[neuron] });
    }
    let hull = |bounds: &[Bounds]| bounds.iter().copied().reduce(Bounds::hull).expect("neurons");
    let (accumulator, intermediate) = (hull(&legal), hull(&intermediate));

    let is_float = architecture.is_deep() && head_format == HeadFormat::Float;
    let accumulators = (!is_float).then(|| legal.repeat(architecture.views()));
    // The union of all buckets' bounds; a position uses one bucket.
    let (mut output, mut sum) = (Bounds::NONE, Bounds::NONE);
    for bucket in 0..architecture.buckets {
        let intervals = Intervals { net, bucket, sums: Cell::new(Bounds::NONE) };
        let (graph, see) = (architecture.graph(), |_: &_, _: &_| ());
        let last = graph.evaluate(architecture, &intervals, accumulators.clone(), see);
        output = output.hull(intervals.sums.get());
        sum = sum.hull(last.map_or(Bounds::NONE, |last| last[0]));
    }
    if !output.hull(sum).within(i32::MIN.into(), i32::MAX.into()) {
        return Err(Overflow::Output(output.hull(sum)));
    }
    if architecture.is_deep() {
        let (product, product_fits_i32, i16_trick) = (Bounds::NONE, true, false);
        let proof =
            Proof { accumulator, intermediate, output, product, product_fits_i32, i16_trick };
        return Ok(proof);
    }
    let product = Bounds { least: sum.least * i64::from(scale), most: sum.most * i64::from(scale) };
    let product_fits_i32 = product.within(i32::MIN.into(), i32::MAX.into());
    let ceiling = architecture.activation.curve().ceiling(net.scales().qa);
    let trick = |&o: &i16| {
        let product = i64::from(o) * i64::from(ceiling);
        product >= i16::MIN.into() && product <= i16::MAX.into()
    };
    let i16_trick = net.map_numbers(0)[0].i16s().iter().all(trick);
    Ok(Proof { accumulator, intermediate, output, product, product_fits_i32, i16_trick })
}

struct Intervals<'a> {
    net: &'a Net,
    bucket: usize,
    /// Bounds of all partial sums of maps, and of piece-square values.
    sums: Cell<Bounds>,
}

impl Intervals<'_> {
    fn see(&self, sums: Bounds) {
        self.sums.set(self.sums.get().hull(sums));
    }
}

impl Arithmetic for Intervals<'_> {
    /// None for floats, which have no bounds.
    type Values = Option<Vec<Bounds>>;

    fn activate(&self, x: Self::Values, curves: &[Curve]) -> Self::Values {
        let qa = self.net.scales().qa;
        let of = |curve: &Curve, x: &Bounds| {
            // Accumulators fit an i16.
            let (ends, mut values) = ([x.least, x.most].map(|end| end as i32), Vec::new());
            curve.integers(&ends, qa, &mut values);
            let [one, other] = [values[0], values[1]].map(i64::from);
            let around_zero = x.least <= 0 && x.most >= 0;
            Bounds { least: if around_zero { 0 } else { one.min(other) }, most: one.max(other) }
        };
        x.map(|x| curves.iter().flat_map(|curve| x.iter().map(move |x| of(curve, x))).collect())
    }

    fn columns(&self, x: &Self::Values, parts: usize, columns: Range<usize>) -> Self::Values {
        x.as_ref().map(|x| architecture::columns(x, parts, columns))
    }

    fn multiply(&self, x: Self::Values, parts: usize, factors: [Range<usize>; 2]) -> Self::Values {
        x.map(|x| architecture::multiply(&x, parts, factors, Bounds::times))
    }

    fn combine(&self, x: Self::Values, y: Self::Values, how: Combination) -> Self::Values {
        let combine = |(x, y): (Bounds, Bounds)| match how {
            Combination::Sum => x.plus(y),
            Combination::Difference => x.plus(y.times(Bounds::exactly(-1))),
            Combination::Product => x.times(y),
        };
        Some(x?.into_iter().zip(y?).map(combine).collect())
    }

    fn concatenate(&self, parts: Vec<Self::Values>) -> Self::Values {
        parts.into_iter().collect::<Option<Vec<_>>>().map(|parts| parts.concat())
    }

    fn neurons(&self, accumulators: Self::Values) -> Self::Values {
        accumulators
    }

    fn piece_squares(&self, accumulators: Self::Values) -> Self::Values {
        let Architecture { inputs, buckets, .. } = self.net.architecture();
        let sets = inputs.sets().iter().enumerate().map(|(place, set)| {
            let values = self.net.psqt(place).iter().skip(self.bucket).step_by(*buckets);
            set.bounds(&values.copied().collect::<Vec<_>>()).into()
        });
        let own = sets.fold(Bounds::NONE, Bounds::plus);
        let difference = own.plus(own.times(Bounds::exactly(-1)));
        self.see(own.hull(difference));
        let half = Bounds { least: difference.least / 2, most: difference.most / 2 };
        accumulators.map(|_| vec![half])
    }

    fn affine(&self, map: usize, x: Self::Values) -> Self::Values {
        let (x, net) = (x?, self.net);
        let partial = |weights: &mut dyn Iterator<Item = i64>, shift: u32| {
            let terms = x.iter().zip(weights).map(|(x, weight)| {
                let input = Bounds { least: x.least >> shift, most: x.most >> shift };
                input.times(Bounds::exactly(weight)).hull(Bounds::NONE)
            });
            terms.fold(Bounds::NONE, Bounds::plus)
        };
        let [weights, biases] = net.map_numbers(map);
        match weights {
            Numbers::I8(weights) => {
                let shift = net.unit().0;
                let outputs = weights.len() / x.len() / net.architecture().buckets;
                let rows = weights.chunks_exact(x.len()).skip(self.bucket * outputs).take(outputs);
                let sums = rows.map(|row| partial(&mut row.iter().map(|&it| it.into()), shift));
                self.see(sums.fold(Bounds::NONE, Bounds::hull));
                None
            }
            weights => {
                let weights = &weights.i16s()[self.bucket * x.len()..];
                let sum = partial(&mut weights.iter().map(|&it| it.into()), 0);
                self.see(sum);
                // The bias is added to the sum itself and must not overflow it either.
                let bias = Bounds::exactly(biases.i16s()[self.bucket].into()).hull(Bounds::NONE);
                let unit = net.top() / i64::from(net.scales().qa);
                let divided = Bounds { least: sum.least / unit, most: sum.most / unit };
                Some(vec![divided.plus(bias)])
            }
        }
    }
}

/// Bounds of an accumulator in legal positions, and of its intermediate sums.
fn bound(net: &Net, neuron: usize) -> [Bounds; 2] {
    let Architecture { inputs, hidden, .. } = net.architecture();
    let bias = Bounds::exactly(net.accumulator_bias()[neuron].into());
    let column = |(set, weights): (&Set, &Numbers)| -> Vec<i32> {
        (0..set.rows()).map(|row| weights.get(row * hidden + neuron) as i32).collect()
    };
    let sets = inputs.sets().iter().zip(net.numbers());
    if inputs.is_pieces() {
        let both = inputs.kings().bounds(&sets.flat_map(column).collect::<Vec<_>>());
        return both.map(|it| bias.plus(it.into()));
    }
    [sets.fold(bias, |sum, it| sum.plus(it.0.bounds(&column(it)).into())); 2]
}
