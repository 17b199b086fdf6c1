//! The proof that engines' integers cannot overflow, for one net and every legal position.
//!
//! **Accumulator (i16).** The bias and the bounds of each feature set
//! ([`FeatureSet::bound_sums`](crate::features::FeatureSet::bound_sums)) add up to its bounds.
//!
//! **Intermediate sums.** A move adds at most two rows of pieces on squares and removes at most two,
//! so that every intermediate sum is bounded, too
//! ([`Kings::bound_sums`](crate::architecture::Kings::bound_sums)). Other sets may change all active
//! rows, so additions must wrap, as SIMD additions and the engine code do. The sum is then right
//! after the last change, and intermediate bounds are those of legal positions.
//!
//! **Sums after it (i32).** All positive terms sum to at most P, all negative terms to at least M,
//! so each partial sum in any order lies in `[M, P]`. This holds for each neuron of the first map of
//! an `int8` head; later maps, and `float` heads, have no integers. In fixed point it holds for each
//! neuron of each map in integers, with the bias before or after its shift.

use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::architecture::{
    self, Architecture, Combination, Curve, FixedMap, FixedValue, GraphArithmetic, Set,
    convert_unit,
};
use crate::net::{Net, Numbers, has_bytes};
use crate::scales::Scales;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The accumulators of all neurons in legal positions.
    pub accumulator: Bounds,
    /// The intermediate sums of accumulators in any order of additions.
    pub intermediate: Bounds,
    /// The partial sums of the integers after the accumulators; 0 to 0 with a `float` head.
    pub output: Bounds,
    /// The product `(sum + bias) * SCALE` before the last division; 0 to 0 if it is not an integer.
    pub product: Bounds,
    /// Whether that product fits an i32; otherwise engines need i64.
    pub product_fits_i32: bool,
    /// Whether `clamped accumulator * output weight` fits an i16 (SIMD trick of SCReLU).
    pub i16_trick: bool,
}

/// Formats the bounds for export and verification.
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
    const NONE: Bounds = Bounds::exact_value(0);

    const fn exact_value(value: i64) -> Bounds {
        Bounds { least: value, most: value }
    }

    pub(super) fn lies_within(self, least: i64, most: i64) -> bool {
        self.least >= least && self.most <= most
    }

    fn join_bounds(self, other: Bounds) -> Bounds {
        Bounds { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    fn times(self, other: Bounds) -> Bounds {
        let ends = [self.least, self.most];
        let products = ends.map(|end| [end * other.least, end * other.most]);
        let products = products.as_flattened().iter().copied().map(Bounds::exact_value);
        products.reduce(Bounds::join_bounds).expect("there are four")
    }

    fn plus(self, other: Bounds) -> Bounds {
        Bounds { least: self.least + other.least, most: self.most + other.most }
    }

    /// Bounds a function that is monotone, or monotone on both sides of its least value at 0.
    fn map_monotone(self, function: impl Fn(i64) -> i64) -> Bounds {
        let [at_least, at_most] = [self.least, self.most].map(&function);
        let at_zero = if self.least <= 0 && self.most >= 0 { function(0) } else { at_least };
        Bounds { least: at_least.min(at_most).min(at_zero), most: at_least.max(at_most) }
    }

    /// Bounds a sum of the terms in any order.
    fn of_terms(terms: impl Iterator<Item = Bounds>) -> Bounds {
        terms.map(|term| term.join_bounds(Bounds::NONE)).fold(Bounds::NONE, Bounds::plus)
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

/// The reason why a net is refused: the first integers that may overflow.
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

/// Proves that no legal position overflows i32 output sums or, except in foreign nets, accumulators.
///
/// # Errors
///
/// Fails with [`Overflow::Accumulator`] if an accumulator may leave i16, and with
/// [`Overflow::Output`] if a sum of the output may leave i32.
pub fn prove(net: &Net) -> Result<Proof, Overflow> {
    let architecture = net.architecture();
    let Scales { scale, .. } = net.scales();
    let bounds: Vec<_> =
        (0..architecture.hidden).into_par_iter().map(|it| bound_accumulator(net, it)).collect();
    let (legal, intermediate): (Vec<_>, Vec<_>) = bounds.into_iter().map(<(_, _)>::from).unzip();
    let fits = |it: &Bounds| it.lies_within(i16::MIN.into(), i16::MAX.into());
    // Other trainers prove nothing; the export reports the possible overflows of their engines.
    if let Some(neuron) = intermediate.iter().position(|it| !fits(it)).filter(|_| !net.is_foreign())
    {
        return Err(Overflow::Accumulator { neuron, bounds: intermediate[neuron] });
    }
    let hull =
        |bounds: &[Bounds]| bounds.iter().copied().reduce(Bounds::join_bounds).expect("neurons");
    let [accumulator, intermediate] = [&legal, &intermediate].map(|it| hull(it));

    let is_float = architecture.is_deep() && !has_bytes(architecture, net.scales());
    let accumulators = (!is_float).then(|| legal.repeat(architecture.perspective_count()));
    let accumulators = accumulators.map(|bounds| IntervalsOf { bounds, fixed: None });
    // The union of all buckets' bounds; a position uses one bucket.
    let [mut output, mut sum] = [Bounds::NONE; 2];
    for bucket in 0..architecture.buckets {
        let intervals = Intervals { net, bucket, sums: Cell::new(Bounds::NONE) };
        let accumulators = accumulators.clone();
        let graph = architecture.graph();
        let last = graph.evaluate(&intervals, accumulators, |_, _| ());
        output = output.join_bounds(intervals.sums.get());
        sum = sum.join_bounds(last.map_or(Bounds::NONE, |last| last.bounds[0]));
    }
    if !output.join_bounds(sum).lies_within(i32::MIN.into(), i32::MAX.into()) {
        return Err(Overflow::Output(output.join_bounds(sum)));
    }
    // Outputs in f32 have no bounds, and a sum of 0.
    let product = Bounds { least: sum.least * i64::from(scale), most: sum.most * i64::from(scale) };
    let product_fits_i32 = product.lies_within(i32::MIN.into(), i32::MAX.into());
    let ceiling = architecture.activation.curve().integer_ceiling(net.scales().qa);
    let fits_i16 = |&o: &i16| {
        let product = i64::from(o) * i64::from(ceiling);
        product >= i16::MIN.into() && product <= i16::MAX.into()
    };
    let i16_trick = !architecture.is_deep() && net.map_numbers(0)[0].i16s().iter().all(fits_i16);
    Ok(Proof { accumulator, intermediate, output, product, product_fits_i32, i16_trick })
}

struct Intervals<'a> {
    net: &'a Net,
    bucket: usize,
    /// The bounds of all partial sums of maps, and of piece-square values.
    sums: Cell<Bounds>,
}

impl Intervals<'_> {
    fn record_sums(&self, sums: Bounds) {
        self.sums.set(self.sums.get().join_bounds(sums));
    }

    fn fixed_map(&self, map: usize) -> Option<&FixedMap> {
        self.net.fixed_point().maps[map].as_ref()
    }
}

#[derive(Clone)]
struct IntervalsOf {
    bounds: Vec<Bounds>,
    /// The integers of a head in fixed point.
    fixed: Option<FixedValue>,
}

impl IntervalsOf {
    fn map_bounds(self, bounds: impl FnOnce(Vec<Bounds>) -> Vec<Bounds>) -> Self {
        Self { bounds: bounds(self.bounds), ..self }
    }
}

impl GraphArithmetic for Intervals<'_> {
    /// Intervals; none for floats, which have no bounds.
    type Values = Option<IntervalsOf>;

    fn activate(&self, x: Self::Values, curves: &[Curve]) -> Self::Values {
        let IntervalsOf { bounds, fixed } = x?;
        let plan = fixed.and_then(|it| self.fixed_map(it.map));
        let apply = |curve: Curve, x: i64| match plan {
            Some(plan) => plan.activate_value(curve, x),
            None => {
                let mut values = Vec::new();
                // Accumulators fit an i16.
                curve.apply_to_integers(&[x as i32], self.net.scales().qa, &mut values);
                values[0].into()
            }
        };
        let bound_curve = |curve: &Curve| -> Vec<Bounds> {
            bounds.iter().map(|bounds| bounds.map_monotone(|x| apply(*curve, x))).collect()
        };
        let fixed = fixed.zip(plan).map(|(it, plan)| FixedValue { unit: plan.values, ..it });
        Some(IntervalsOf { bounds: curves.iter().flat_map(bound_curve).collect(), fixed })
    }

    fn select_columns(&self, x: Self::Values, columns: Range<usize>) -> Self::Values {
        Some(x?.map_bounds(|x| x[columns].to_vec()))
    }

    fn multiply_halves(&self, x: Self::Values) -> Self::Values {
        let net = self.net.architecture();
        Some(x?.map_bounds(|x| architecture::multiply_halves(net, &x, Bounds::times)))
    }

    fn combine(&self, x: Self::Values, y: Self::Values, kind: Combination) -> Self::Values {
        let combine = |(x, y): (Bounds, Bounds)| match kind {
            Combination::Sum => x.plus(y),
            Combination::Difference => x.plus(y.times(Bounds::exact_value(-1))),
            Combination::Product => x.times(y),
        };
        let x = x?;
        let mut y = y?;
        if let (Some(x_value), Some(y_value)) = (x.fixed, y.fixed) {
            let convert = |y: i64| convert_unit(y, y_value.unit, x_value.unit);
            y = y.map_bounds(|y| y.into_iter().map(|it| it.map_monotone(convert)).collect());
        }
        let sums = x.map_bounds(|x| x.into_iter().zip(y.bounds).map(combine).collect());
        if sums.fixed.is_some() {
            self.record_sums(sums.bounds.iter().copied().fold(Bounds::NONE, Bounds::join_bounds));
        }
        Some(sums)
    }

    fn concatenate(&self, parts: Vec<Self::Values>) -> Self::Values {
        let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
        let fixed = parts[0].fixed;
        Some(IntervalsOf { bounds: parts.into_iter().flat_map(|it| it.bounds).collect(), fixed })
    }

    fn select_neurons(&self, accumulators: Self::Values) -> Self::Values {
        accumulators
    }

    fn piece_squares(&self, accumulators: Self::Values) -> Self::Values {
        let Architecture { inputs, buckets, .. } = self.net.architecture();
        let sets = inputs.sets().iter().enumerate().map(|(index, set)| {
            let values = self.net.psqt_values(index).iter().skip(self.bucket).step_by(*buckets);
            set.bound_sums(&values.copied().collect::<Vec<_>>()).into()
        });
        let side = sets.fold(Bounds::NONE, Bounds::plus);
        let difference = side.plus(side.times(Bounds::exact_value(-1)));
        self.record_sums(side.join_bounds(difference));
        let half = Bounds { least: difference.least / 2, most: difference.most / 2 };
        let half = if self.net.fixed_point().psqt.is_some() { Bounds::NONE } else { half };
        accumulators.map(|_| IntervalsOf { bounds: vec![half], fixed: self.net.fixed_output() })
    }

    fn apply_map(&self, map: usize, x: Self::Values) -> Self::Values {
        let IntervalsOf { bounds: x, fixed } = x?;
        let net = self.net;
        let is_first = fixed.is_none() && net.architecture().is_deep();
        let fixed_map = self.fixed_map(map);
        let input = |x: i64| match (is_first, fixed_map) {
            (true, _) => net.first_input(x),
            (_, Some(map)) => map.scale_input(x),
            _ => x,
        };
        let x: Vec<Bounds> = x.iter().map(|x| x.map_monotone(input)).collect();
        let [weights, biases] = net.map_numbers(map);
        let outputs = biases.len() / net.architecture().buckets;
        let sum = |output: usize| {
            let weight = |input: usize| weights.get(output * x.len() + input) as i64;
            Bounds::of_terms((0..x.len()).map(|it| x[it].times(Bounds::exact_value(weight(it)))))
        };
        let outputs = self.bucket * outputs..(self.bucket + 1) * outputs;
        if !net.architecture().is_deep() {
            let sum = sum(self.bucket);
            self.record_sums(sum);
            // The bias is added to the sum, and must not overflow it either.
            let bias =
                Bounds::exact_value(biases.get(self.bucket) as i64).join_bounds(Bounds::NONE);
            let unit = net.largest_product() / i64::from(net.scales().qa);
            let divided = sum.map_monotone(|sum| sum / unit);
            return Some(IntervalsOf { bounds: vec![divided.plus(bias)], fixed });
        }
        let Some(fixed_map) = fixed_map else {
            self.record_sums(outputs.map(sum).fold(Bounds::NONE, Bounds::join_bounds));
            return None;
        };
        let output = |output: usize| {
            let sum = sum(output);
            let bias = biases.get(output) as i64;
            let ends = sum
                .join_bounds(sum.plus(Bounds::exact_value(bias)))
                .join_bounds(Bounds::exact_value(bias));
            let scaled = sum.map_monotone(|sum| fixed_map.scale_output(sum, bias));
            self.record_sums(if fixed_map.biases_first() { ends } else { sum.join_bounds(scaled) });
            scaled
        };
        let bounds = outputs.map(output).collect();
        let fixed = FixedValue { map, unit: fixed_map.unit };
        (!fixed_map.floats).then_some(IntervalsOf { bounds, fixed: Some(fixed) })
    }
}

/// Bounds an accumulator in legal positions, and its intermediate sums.
fn bound_accumulator(net: &Net, neuron: usize) -> [Bounds; 2] {
    let Architecture { inputs, hidden, .. } = net.architecture();
    let bias = Bounds::exact_value(net.accumulator_bias()[neuron].into());
    let column = |(set, weights): (&Set, &Numbers)| -> Vec<i32> {
        (0..set.row_count()).map(|row| weights.get(row * hidden + neuron) as i32).collect()
    };
    let sets = inputs.sets().iter().zip(net.numbers());
    if inputs.is_pieces() {
        let bounds = inputs.kings().bound_sums(&sets.flat_map(column).collect::<Vec<_>>());
        return bounds.map(|it| bias.plus(it.into()));
    }
    [sets.fold(bias, |sum, it| sum.plus(it.0.bound_sums(&column(it)).into())); 2]
}
