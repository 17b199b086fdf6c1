//! The definition of a net's value, computed slowly; every faster computation must equal it.
//!
//! ```text
//! acc_i  = bias_i + the active rows of all feature sets, for each perspective
//! ```
//! If the output directly follows the accumulators, all numbers are integers:
//! ```text
//! ReLU    : v = clamp(acc, 0, 32767)     sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! CReLU   : v = clamp(acc, 0, QA)        sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! SCReLU  : v = clamp(acc, 0, QA)^2      sum += v * o   eval = (sum / QA + c) * SCALE / (QA * QB)
//! SqrReLU : v = clamp(acc, 0, 32767)^2   sum += v * o   eval = (sum / QA + c) * SCALE / (QA * QB)
//! ```
//! Divisions truncate toward zero. In all other nets:
//! ```text
//! float  : x = activation(acc / QA)                       z = bias + w_0 * x_0 + w_1 * x_1 ...
//!          pairwise: x = crelu(acc_i / QA) * crelu(acc_(i + N/2) / QA)
//! int8   : u = (v + half) >> shift, v = clamp(acc, 0, QA) (CReLU), its square (SCReLU), or
//!          clamp(acc_i, 0, QA) * clamp(acc_(i + N/2), 0, QA) (pairwise)
//!          z = (sum of w * u, exact) * unit + bias
//! layers : x = activation(z)                              z = bias + w_0 * x_0 + w_1 * x_1 ...
//! output : eval = truncate((z + skip neuron) * SCALE)
//! ```
//! With piece-square values, p is the sum over the side to move's rows minus the sum over the other
//! side's, in the position's output bucket. The first output is then `sum (/ QA) + c + p / 2`, and the
//! second `z + (p / (2 * QA * QB) + skip neuron)`, where `1 / (2 * QA * QB)` is rounded to f32 first.
//!
//! Heads in fixed point begin with u, too, and continue with the integers of
//! [`FixedMap`](crate::architecture::FixedMap); `eval = truncate(output * SCALE / unit)`.
//!
//! Numbers beyond an i32 are clamped, and NaN becomes 0.
//!
//! All floats are f32, rounded after each operation without fused products. A sum begins with the
//! bias and continues from the first input to the last. `shift` is given by the net's scales, or is
//! the smallest with which u is at most 127. `half` is `2^shift / 2` if it rounds, else 0. `unit` is
//! `2^shift / (top * QB)` rounded to f32, where top is QA, or QA^2 for squares and products. With QA =
//! 255, that is a shift of 9 and `512 / (255 * 255 * QB)`, or of 1 and `2 / (255 * QB)` for CReLU.
//!
//! Accumulators and integer sums are i64 here, so that they cannot overflow. Engines use i16 and i32,
//! with the same results for every net that `export/prove.rs` accepts. ReLU's upper bound is that of
//! the engines' i16, which no proven net reaches.

use std::ops::Range;

use super::{MAX_INPUT, Net};
use crate::architecture::{
    Architecture, ArrayKind, Combination, Curve, FixedMap, FixedPoint, FixedValue, GraphArithmetic,
    ImpossibleNet, NetArray, convert_unit, multiply_halves,
};
use crate::features::Integer;
use crate::prefetch::prefetch_line;
use crate::sample::Position;
use crate::scales::{HeadFormat, Scales};

impl Net {
    /// Evaluates as [`Net::evaluate`] does, directly by the definition.
    pub fn evaluate_slowly(&self, position: &Position) -> i32 {
        let sums = self.all_accumulators(position);
        let piece_squares = self.piece_squares(position, self.architecture.bucket_of(position));
        let value = self.evaluate_graph::<true>(&[&sums], position, piece_squares);
        self.seen_by_mover(value, position)
    }

    /// The accumulators of all perspectives, the side to move's first.
    fn all_accumulators(&self, position: &Position) -> Vec<i32> {
        // All activations are constant beyond these bounds.
        let clamp = |a: i64| a.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let perspectives = 0..self.architecture.perspective_count();
        perspectives.flat_map(|it| self.accumulators(position, it)).map(clamp).collect()
    }

    /// Converts centipawns of the output to the side to move; saturates at the bounds of i32.
    fn seen_by_mover(&self, value: i64, position: &Position) -> i32 {
        let sign = self.architecture.inputs.sign_of_output(position).into();
        value.saturating_mul(sign).clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }

    /// The accumulators of one perspective, `[hidden]`, times QA, before the activation.
    pub fn accumulators(&self, position: &Position, perspective: usize) -> Vec<i64> {
        let mut accumulators: Vec<i64> =
            self.accumulator_bias().iter().map(|&bias| bias.into()).collect();
        for row in self.architecture.inputs.active_rows(position)[perspective].repeated_rows() {
            let (set, row) = self.architecture.inputs.set_of(row as usize);
            let weights = &self.numbers[set];
            let first = row * accumulators.len();
            for (i, sum) in accumulators.iter_mut().enumerate() {
                *sum += weights.get(first + i) as i64;
            }
        }
        accumulators
    }

    /// Computes centipawns for the side to move from all accumulators, the side to move's first, and
    /// the difference of the perspectives' piece-square values.
    #[inline(always)]
    pub(super) fn value_of_perspectives(
        &self,
        accumulators: &[&[i32]],
        position: &Position,
        piece_squares: i64,
    ) -> i32 {
        let Architecture { hidden, activation, .. } = self.architecture;
        let curve = activation.curve();
        if self.architecture.is_deep() {
            return self.seen_by_mover(
                self.evaluate_graph::<false>(accumulators, position, piece_squares),
                position,
            );
        }
        let bucket = self.architecture.bucket_of(position);
        let (weights, bias) = self.output_of(bucket);
        let shares = accumulators.iter().zip(weights.chunks_exact(hidden));
        let sum = shares.map(|(sums, weights)| self.sum_of_perspective(curve, sums, weights)).sum();
        let sum = self.with_bias(sum, bias) + piece_squares / 2;
        self.seen_by_mover(self.to_centipawns(sum), position)
    }

    /// Computes all operations, `SLOWLY` or with the machine's vector instructions.
    #[inline(always)]
    fn evaluate_graph<const SLOWLY: bool>(
        &self,
        accumulators: &[&[i32]],
        position: &Position,
        piece_squares: i64,
    ) -> i64 {
        let bucket = self.architecture.bucket_of(position);
        let arithmetic = IntegerArithmetic { net: self, bucket, piece_squares, slowly: SLOWLY };
        let accumulators = IntegerValues::Accumulators(accumulators);
        match self.graph.evaluate(&arithmetic, accumulators, |_, _| ()) {
            IntegerValues::Sum(sum) => self.to_centipawns(sum),
            IntegerValues::Fixed(values, FixedValue { unit, .. }) => {
                let scale = self.scales.scale.into();
                let separate =
                    self.fixed.psqt.map(|unit| convert_unit(piece_squares / 2, unit, scale));
                convert_unit(values[0], unit, scale) + separate.unwrap_or(0)
            }
            values => (values.as_floats()[0] * self.scales.scale as f32) as i64,
        }
    }

    /// Computes the inputs of the first map, `[features]`, in integers: activations of accumulators,
    /// or their products, before the shift of an `int8` head.
    pub(super) fn first_inputs(&self, accumulators: &[&[i32]]) -> Vec<i32> {
        let values = self.activate_accumulators(accumulators);
        match self.architecture.pairwise {
            true => multiply_halves(&self.architecture, &values, |x, y| x * y),
            false => values,
        }
    }

    #[inline(always)]
    fn activate_accumulators(&self, accumulators: &[&[i32]]) -> Vec<i32> {
        let curve = self.architecture.activation.curve();
        let mut values = Vec::with_capacity(self.architecture.hidden * accumulators.len());
        for sums in accumulators {
            curve.apply_to_integers(sums, self.scales.qa, &mut values);
        }
        values
    }

    /// Computes the bytes that are the inputs of the first map, slowly.
    pub(crate) fn first_bytes(&self, position: &Position) -> Vec<i64> {
        let values = self.first_inputs(&[&self.all_accumulators(position)]).into_iter();
        values.map(|value| self.first_input(value.into())).collect()
    }

    /// Sums the piece-square values of the side to move's rows, minus the other side's.
    fn piece_squares(&self, position: &Position, bucket: usize) -> i64 {
        let Architecture { inputs, buckets, psqt, .. } = &self.architecture;
        let mut sum = 0;
        let lists = if *psqt { inputs.active_rows(position) } else { Vec::new() };
        for (rows, sign) in lists.iter().zip([1, -1]) {
            for row in rows.repeated_rows() {
                let (set, row) = inputs.set_of(row as usize);
                sum += sign * i64::from(self.psqt_values(set)[row * buckets + bucket]);
            }
        }
        sum
    }

    /// Computes the output of a net of integers, times QA * QB, from the sum of products.
    fn with_bias(&self, sum: i64, bias: i16) -> i64 {
        sum / (self.largest_product() / i64::from(self.scales.qa)) + i64::from(bias)
    }

    fn to_centipawns(&self, sum: i64) -> i64 {
        let Scales { qa, qb, scale, .. } = self.scales;
        sum.saturating_mul(scale.into()) / (i64::from(qa) * i64::from(qb))
    }

    /// The output weights, `[perspectives * hidden]`, and the bias of a net of integers.
    fn output_of(&self, bucket: usize) -> (&[i16], i16) {
        let (weights, biases, first) = self.map_numbers_of_bucket(0, bucket);
        let inputs = self.maps[0][0];
        (&weights.i16s()[first * inputs..][..inputs], biases.i16s()[first])
    }

    /// Sums the products of one perspective in a net of integers.
    #[inline(always)]
    fn sum_of_perspective(&self, curve: Curve, accumulators: &[i32], weights: &[i16]) -> i64 {
        let top = curve.integer_ceiling(self.scales.qa);
        match (curve.growth_degree(), top < NARROW) {
            (1, _) => sum_products(accumulators, weights, top, |v, o| (v * o).into()),
            (_, true) => sum_products(accumulators, weights, top, |v, o| (v * v * o).into()),
            _ => sum_products(accumulators, weights, top, |v, o| i64::from(v * o) * i64::from(v)),
        }
    }
}

/// The bound below which squares of values, times any i16, fit an i32.
const NARROW: i32 = 256;

#[inline(always)]
fn sum_products(
    accumulators: &[i32],
    weights: &[i16],
    top: i32,
    term: impl Fn(i32, i32) -> i64,
) -> i64 {
    accumulators.iter().zip(weights).map(|(&a, &o)| term(a.clamp(0, top), o.into())).sum()
}

/// The number system of engines.
struct IntegerArithmetic<'a> {
    net: &'a Net,
    bucket: usize,
    piece_squares: i64,
    /// Whether maps of floats are computed in the order of the definition.
    slowly: bool,
}

#[derive(Clone)]
enum IntegerValues<'a> {
    /// The values of each perspective, times QA.
    Accumulators(&'a [&'a [i32]]),
    /// The activations of accumulators, or their products, times QA or its square.
    Integers(Vec<i32>),
    /// The output of a net of integers, times QA * QB.
    Sum(i64),
    Fixed(Vec<i64>, FixedValue),
    Floats(Vec<f32>),
}

impl IntegerValues<'_> {
    fn as_floats(&self) -> &[f32] {
        let IntegerValues::Floats(values) = self else { panic!("integers end at the first map") };
        values
    }
}

impl<'a> GraphArithmetic for IntegerArithmetic<'a> {
    type Values = IntegerValues<'a>;

    #[inline(always)]
    fn activate(&self, x: IntegerValues<'a>, curves: &[Curve]) -> IntegerValues<'a> {
        let qa = self.net.scales.qa;
        let accumulators = match x {
            IntegerValues::Accumulators(accumulators) => accumulators,
            IntegerValues::Fixed(x, FixedValue { map, .. }) => {
                let fixed = self.net.fixed_map(map);
                let values = side_by_side(curves, &[&x], |curve, y| fixed.activate_value(curve, y));
                return IntegerValues::Fixed(values, FixedValue { map, unit: fixed.values });
            }
            x => {
                return IntegerValues::Floats(side_by_side(curves, &[x.as_floats()], |it, x| {
                    it.value_f32(x)
                }));
            }
        };
        if self.net.architecture.is_deep() && !has_bytes(&self.net.architecture, self.net.scales) {
            return IntegerValues::Floats(side_by_side(curves, accumulators, |it, a| {
                it.value_f32(a as f32 / qa as f32)
            }));
        }
        IntegerValues::Integers(self.net.activate_accumulators(accumulators))
    }

    #[inline(always)]
    fn select_columns(&self, x: IntegerValues<'a>, columns: Range<usize>) -> IntegerValues<'a> {
        match x {
            IntegerValues::Fixed(x, fixed) => IntegerValues::Fixed(x[columns].to_vec(), fixed),
            x => IntegerValues::Floats(x.as_floats()[columns].to_vec()),
        }
    }

    #[inline(always)]
    fn multiply_halves(&self, x: IntegerValues<'a>) -> IntegerValues<'a> {
        let net = &self.net.architecture;
        match x {
            IntegerValues::Integers(x) => {
                IntegerValues::Integers(multiply_halves(net, &x, |x, y| x * y))
            }
            x => IntegerValues::Floats(multiply_halves(net, x.as_floats(), |x, y| x * y)),
        }
    }

    #[inline(always)]
    fn combine(
        &self,
        x: IntegerValues<'a>,
        y: IntegerValues<'a>,
        combination: Combination,
    ) -> IntegerValues<'a> {
        match (x, y) {
            (IntegerValues::Sum(x), IntegerValues::Sum(y)) => {
                IntegerValues::Sum(combination.apply(x, y))
            }
            (IntegerValues::Fixed(x, x_value), IntegerValues::Fixed(y, y_value)) => {
                let y = y.into_iter().map(|y| convert_unit(y, y_value.unit, x_value.unit));
                let values = x.iter().zip(y).map(|(x, y)| combination.apply(*x, y));
                IntegerValues::Fixed(values.collect(), x_value)
            }
            (x, y) => {
                let pairs = x.as_floats().iter().zip(y.as_floats());
                IntegerValues::Floats(pairs.map(|(x, y)| combination.apply(*x, *y)).collect())
            }
        }
    }

    #[inline(always)]
    fn concatenate(&self, parts: Vec<IntegerValues<'a>>) -> IntegerValues<'a> {
        let IntegerValues::Fixed(_, fixed) = parts[0] else {
            let values = parts.iter().flat_map(|part| part.as_floats());
            return IntegerValues::Floats(values.copied().collect());
        };
        let values = parts.into_iter().flat_map(|part| match part {
            IntegerValues::Fixed(values, _) => values,
            _ => panic!("values in fixed point are beside others"),
        });
        IntegerValues::Fixed(values.collect(), fixed)
    }

    #[inline(always)]
    fn select_neurons(&self, accumulators: IntegerValues<'a>) -> IntegerValues<'a> {
        accumulators
    }

    #[inline(always)]
    fn piece_squares(&self, _: IntegerValues<'a>) -> IntegerValues<'a> {
        if let Some(fixed) = self.net.fixed_output() {
            let is_added = self.net.fixed.psqt.is_none();
            return IntegerValues::Fixed(
                vec![if is_added { self.piece_squares / 2 } else { 0 }],
                fixed,
            );
        }
        let Scales { qa, qb, .. } = self.net.scales;
        let unit = (0.5 / (f64::from(qa) * f64::from(qb))) as f32;
        match self.net.architecture.is_deep() {
            true => IntegerValues::Floats(vec![self.piece_squares as f32 * unit]),
            false => IntegerValues::Sum(self.piece_squares / 2),
        }
    }

    #[inline(always)]
    fn apply_map(&self, map: usize, x: IntegerValues<'a>) -> IntegerValues<'a> {
        let Self { net, bucket, .. } = *self;
        let x = match x {
            IntegerValues::Integers(x) => x,
            IntegerValues::Fixed(x, _) => return self.affine_in_fixed_point(map, &x),
            x => return IntegerValues::Floats(self.affine_in_floats(map, x.as_floats())),
        };
        if net.architecture.is_fixed_point() {
            let largest = net.first_input(net.largest_product());
            if !self.slowly && x.len() <= MAX_BYTES && largest <= MAX_BYTE.into() {
                return self.of_sums(map, self.sums_of_bytes(&x));
            }
            let x: Vec<i64> = x.iter().map(|v| net.first_input((*v).into())).collect();
            return self.affine_in_fixed_point(map, &x);
        }
        if net.architecture.is_deep() {
            let (_, unit) = net.shift_and_unit();
            let (_, biases, first) = net.map_numbers_of_bucket(map, bucket);
            let sums = self.sums_of_bytes(&x).into_iter().zip(&biases.f32s()[first..]);
            let outputs = sums.map(|(sum, bias)| sum as f32 * unit + bias);
            return IntegerValues::Floats(outputs.collect());
        }
        let (weights, bias) = net.output_of(bucket);
        let terms = x.iter().zip(weights).map(|(&v, &o)| i64::from(v) * i64::from(o));
        IntegerValues::Sum(net.with_bias(terms.sum(), bias))
    }
}

/// Applies each curve and concatenates the results.
#[inline(always)]
fn side_by_side<T: Copy, U>(
    curves: &[Curve],
    parts: &[&[T]],
    value: impl Fn(Curve, T) -> U,
) -> Vec<U> {
    let count = parts.iter().map(|part| part.len()).sum::<usize>();
    let mut values = Vec::with_capacity(curves.len() * count);
    for &curve in curves {
        for part in parts {
            values.extend(part.iter().map(|&x| value(curve, x)));
        }
    }
    values
}

impl<'a> IntegerArithmetic<'a> {
    #[inline(always)]
    fn affine_in_fixed_point(&self, map: usize, x: &[i64]) -> IntegerValues<'a> {
        let (weights, _, first) = self.net.map_numbers_of_bucket(map, self.bucket);
        let fixed = self.net.fixed_map(map);
        let x: Vec<i64> = x.iter().map(|x| fixed.scale_input(*x)).collect();
        let rows = first * x.len()..(first + self.net.maps[map][1]) * x.len();
        let largest = x.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0);
        let is_narrow = !self.slowly && largest <= MAX_BYTE as u64 && x.len() <= MAX_BYTES;
        let sums: Vec<i64> = match weights {
            Numbers::I8(weights) if is_narrow => {
                let x: Vec<i16> = x.iter().map(|x| *x as i16).collect();
                products_of_bytes(&weights[rows], &x)
            }
            Numbers::I8(weights) => row_products(&weights[rows], &x),
            Numbers::I16(weights) => row_products(&weights[rows], &x),
            weights => row_products(&weights.i32s()[rows], &x),
        };
        self.of_sums(map, sums)
    }

    /// Computes the first map's sums from its inputs before the shift. Sums of 131,072 inputs up to
    /// 127, the maximum of an `int8` head, fit an i32.
    #[inline(always)]
    fn sums_of_bytes(&self, x: &[i32]) -> Vec<i64> {
        let (weights, _, first) = self.net.map_numbers_of_bucket(0, self.bucket);
        let (shift, half) = (self.net.unit.0, self.net.first_half() as i32);
        let x: Vec<i16> = x.iter().map(|v| ((v + half) >> shift) as i16).collect();
        let rows = first * x.len()..(first + self.net.maps[0][1]) * x.len();
        products_of_bytes(&weights.i8s()[rows], &x)
    }

    /// Computes the outputs of a map in fixed point from its sums.
    #[inline(always)]
    fn of_sums(&self, map: usize, sums: Vec<i64>) -> IntegerValues<'a> {
        let (_, biases, first) = self.net.map_numbers_of_bucket(map, self.bucket);
        let fixed = self.net.fixed_map(map);
        let biases = &biases.i32s()[first..][..self.net.maps[map][1]];
        let sums = sums.into_iter().zip(biases);
        let outputs = sums.map(|(sum, bias)| fixed.scale_output(sum, (*bias).into()));
        if fixed.floats {
            let unit = (1.0 / fixed.unit as f64) as f32;
            return IntegerValues::Floats(outputs.map(|y| y as f32 * unit).collect());
        }
        IntegerValues::Fixed(outputs.collect(), FixedValue { map, unit: fixed.unit })
    }

    /// Computes an affine map in f32, with inputs added in order.
    #[inline(always)]
    fn affine_in_floats(&self, map: usize, x: &[f32]) -> Vec<f32> {
        let (weights, biases, first) = self.net.map_numbers_of_bucket(map, self.bucket);
        let outputs = self.net.maps[map][1];
        let mut z = biases.f32s()[first..][..outputs].to_vec();
        if self.slowly {
            let rows = weights.f32s().chunks_exact(x.len()).skip(first);
            for (z, row) in z.iter_mut().zip(rows) {
                row.iter().zip(x).for_each(|(w, x)| *z += w * x);
            }
            return z;
        }
        // Zeros add nothing.
        let columns = self.net.columns[map][first * x.len()..].chunks_exact(outputs);
        for (&x, column) in x.iter().zip(columns).filter(|(x, _)| **x != 0.0) {
            for (z, w) in z.iter_mut().zip(column) {
                *z += w * x;
            }
        }
        z
    }
}

/// The number of bytes of a cache line.
const LINE: usize = 64;

/// The maximum number of inputs up to [`MAX_BYTE`] for which sums of products with i8 fit an i32.
const MAX_BYTES: usize = 1 << 16;
const MAX_BYTE: i16 = 255;

/// Computes [`row_products`] of up to [`MAX_BYTES`] inputs up to [`MAX_BYTE`]. A closure would not
/// be inlined, and so not use the caller's vector instructions.
#[inline(always)]
fn products_of_bytes(weights: &[i8], x: &[i16]) -> Vec<i64> {
    let mut products = Vec::with_capacity(weights.len() / x.len());
    for row in weights.chunks_exact(x.len()) {
        let mut sum = 0_i32;
        for (&w, &x) in row.iter().zip(x) {
            sum += i32::from(w) * i32::from(x);
        }
        products.push(sum.into());
    }
    products
}
#[inline(always)]
fn row_products<W: Copy + Into<i64>>(weights: &[W], x: &[i64]) -> Vec<i64> {
    let product = |row: &[W]| row.iter().zip(x).map(|(&w, x)| w.into() * x).sum();
    weights.chunks_exact(x.len()).map(product).collect()
}

impl Net {
    /// The number that is added to the first map's inputs before they are shifted.
    pub fn first_half(&self) -> i64 {
        rounding_half(self.unit.0, self.scales)
    }

    /// Converts a product, square or value of accumulators to a byte.
    #[inline(always)]
    pub fn first_input(&self, value: i64) -> i64 {
        (value + self.first_half()) >> self.unit.0
    }

    /// The integers of a map. Panics if it is in f32.
    fn fixed_map(&self, map: usize) -> &FixedMap {
        self.fixed.maps[map].as_ref().expect("it has integers")
    }

    /// The integers of the output; none if it is f32.
    pub(crate) fn fixed_output(&self) -> Option<FixedValue> {
        self.fixed.values.last().copied().flatten()
    }
}

/// Whether the inputs of the first map are bytes.
pub fn has_bytes(net: &Architecture, scales: Scales) -> bool {
    scales.head_format == HeadFormat::Int8 || net.is_fixed_point()
}

/// The number that is added to the inputs of the first map before they are shifted.
pub(super) fn rounding_half(shift: u32, scales: Scales) -> i64 {
    if scales.head_round { (1 << shift) >> 1 } else { 0 }
}

/// Plans the integers of a head in fixed point.
///
/// # Errors
///
/// Fails if the integers of layers contradict each other.
pub fn fixed_point(net: &Architecture, scales: Scales) -> Result<FixedPoint, ImpossibleNet> {
    let (shift, _) = shift_and_unit(net, scales);
    net.fixed_point(largest_input(net, scales.qa) as f64 / f64::from(shift).exp2())
}

pub(super) fn largest_input(net: &Architecture, qa: i32) -> i64 {
    let factors = if net.pairwise { 2 } else { 1 };
    i64::from(qa).pow(net.activation.curve().growth_degree() * factors)
}

pub(super) fn shift_and_unit(net: &Architecture, scales: Scales) -> (u32, f32) {
    let top = largest_input(net, scales.qa);
    let smallest = || (0..31).find(|shift| top >> shift <= MAX_INPUT).unwrap_or(31);
    let shift = scales.head_shift.unwrap_or_else(smallest);
    let unit = f64::from(1_u32 << shift) / (top as f64 * f64::from(scales.qb));
    (shift, unit as f32)
}

/// Transposes weights `[bucket][output][input]` to `[bucket][input][output]`, if they are floats.
pub(super) fn transpose_buckets([inputs, outputs]: [usize; 2], weights: &Numbers) -> Vec<f32> {
    let Numbers::F32(weights) = weights else { return Vec::new() };
    weights.chunks_exact(inputs * outputs).flat_map(|it| transpose(it, outputs)).collect()
}
pub fn transpose(values: &[f32], rows: usize) -> Vec<f32> {
    let columns = values.len() / rows;
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns)).copied().collect()
}

/// Defines the types of numbers in a net's file, and arrays of them.
macro_rules! numbers {
    ($($variant:ident: $type:ident, $slice:ident;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Number {
            $($variant),*
        }

        /// The numbers of one array, row-major.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Numbers {
            $($variant(Vec<$type>)),*
        }

        impl Number {
            pub fn name(self) -> &'static str {
                match self {
                    $(Number::$variant => stringify!($type)),*
                }
            }

            pub fn byte_size(self) -> usize {
                match self {
                    $(Number::$variant => size_of::<$type>()),*
                }
            }

            pub(in crate::net) fn read(self, bytes: &[u8]) -> Numbers {
                match self {
                    $(Number::$variant => {
                        let numbers = bytes.as_chunks().0.iter().copied();
                        Numbers::$variant(numbers.map($type::from_le_bytes).collect())
                    })*
                }
            }

            /// Converts values that this type represents exactly.
            pub fn convert_exactly(self, values: impl Iterator<Item = f64>) -> Numbers {
                match self {
                    $(Number::$variant => {
                        Numbers::$variant(values.map(|value| value as $type).collect())
                    })*
                }
            }
        }

        impl Numbers {
            pub fn number_type(&self) -> Number {
                match self {
                    $(Numbers::$variant(_) => Number::$variant),*
                }
            }

            pub fn len(&self) -> usize {
                match self {
                    $(Numbers::$variant(numbers) => numbers.len()),*
                }
            }

            /// A number; all are exact in f64.
            pub fn get(&self, i: usize) -> f64 {
                match self {
                    $(Numbers::$variant(numbers) => numbers[i].into()),*
                }
            }

            /// Selects rows of `width` numbers, in the given order.
            pub(in crate::net) fn select_rows(&self, rows: &[usize], width: usize) -> Self {
                match self {
                    $(Numbers::$variant(numbers) => {
                        let row = |&row: &usize| &numbers[row * width..][..width];
                        Numbers::$variant(rows.iter().map(row).collect::<Vec<_>>().concat())
                    })*
                }
            }

            pub(in crate::net) fn write(&self, bytes: &mut Vec<u8>) {
                match self {
                    $(Numbers::$variant(numbers) => {
                        bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
                    })*
                }
            }

            $(pub fn $slice(&self) -> &[$type] {
                match self {
                    Numbers::$variant(numbers) => numbers,
                    _ => panic!("these are {}", self.number_type().name()),
                }
            })*
        }
    };
}

numbers! {
    I8: i8, i8s;
    I16: i16, i16s;
    I32: i32, i32s;
    F32: f32, f32s;
}

#[inline(always)]
fn add<W: Copy + Into<i16>>(row: &[W], times: i32, accumulators: &mut [i32]) {
    // A closure might not be inlined, and so not use the caller's 16-bit vector products.
    if times == 1 {
        for (a, &w) in accumulators.iter_mut().zip(row) {
            *a += i32::from(w.into());
        }
        return;
    }
    if times == -1 {
        for (a, &w) in accumulators.iter_mut().zip(row) {
            *a -= i32::from(w.into());
        }
        return;
    }
    for (a, &w) in accumulators.iter_mut().zip(row) {
        *a += i32::from(times as i16) * i32::from(w.into());
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredArray {
    pub array: NetArray,
    pub number: Number,
    /// The factors of the integers: one for all numbers, or one per column. Empty for floats.
    pub factors: Vec<f64>,
}

/// The arrays of a net's file in order, with the factoriser merged.
///
/// # Panics
///
/// Panics if the integers of layers contradict each other, which [`Net::check_architecture`]
/// refuses.
pub fn stored_arrays(net: &Architecture, scales: Scales) -> Vec<StoredArray> {
    let fixed = fixed_point(net, scales).expect("the net is checked");
    let fixed_output = fixed.values.last().copied().flatten().filter(|_| net.is_deep());
    let to_number = |integer| match integer {
        Integer::I8 => Number::I8,
        Integer::I16 => Number::I16,
        Integer::I32 => Number::I32,
    };
    let [qa, qb] = [scales.qa, scales.qb].map(f64::from);
    let maps = net.maps().len();
    let describe = |array: NetArray| {
        let fixed_map = array.kind.map_index(maps).and_then(|map| fixed.maps[map].as_ref());
        let is_weight = matches!(array.kind, ArrayKind::Layer(_) | ArrayKind::Output);
        let (number, factors) = match (array.kind, fixed_map) {
            (_, Some(map)) if is_weight => (to_number(map.weights), map.factors.clone()),
            (_, Some(map)) => (Number::I32, vec![map.biases as f64]),
            (ArrayKind::Rows(set), _) => (to_number(net.inputs.sets()[set].integer()), vec![qa]),
            (ArrayKind::Factor(_) | ArrayKind::AccumulatorBias, _) => (Number::I16, vec![qa]),
            (ArrayKind::Psqt(_), _) => {
                let unit = fixed_output.map(|output| fixed.psqt.unwrap_or(output.unit) as f64);
                (Number::I32, vec![unit.unwrap_or(qa * qb)])
            }
            _ if !net.is_deep() => (Number::I16, vec![if is_weight { qb } else { qa * qb }]),
            (kind, _) if kind == net.parts_of_map(0)[0] && has_bytes(net, scales) => {
                (Number::I8, vec![qb])
            }
            _ => (Number::F32, Vec::new()),
        };
        StoredArray { array, number, factors }
    };
    net.without_factoriser().list_arrays().into_iter().map(describe).collect()
}

/// The number of bytes of a net's file before the padding.
pub(super) fn payload_bytes(net: &Architecture, scales: Scales) -> usize {
    stored_arrays(net, scales).iter().map(|it| it.array.len() * it.number.byte_size()).sum()
}

impl StoredArray {
    /// The factor of the number at an index; 1 for floats.
    pub fn factor_at(&self, index: usize) -> f64 {
        match self.factors.len() {
            0 => 1.0,
            columns => self.factors[index % columns],
        }
    }
}

impl Number {
    /// The smallest and the largest value; none for floats.
    pub fn value_range(self) -> Option<[f64; 2]> {
        match self {
            Number::I8 => Some([i8::MIN.into(), i8::MAX.into()]),
            Number::I16 => Some([i16::MIN.into(), i16::MAX.into()]),
            Number::I32 => Some([i32::MIN.into(), i32::MAX.into()]),
            Number::F32 => None,
        }
    }
}

impl Numbers {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    #[inline(always)]
    pub(super) fn prefetch_row(&self, row: usize, len: usize) {
        let weights = row * len..(row + 1) * len;
        match self {
            Numbers::I8(values) => {
                weights.step_by(LINE).for_each(|weight| prefetch_line(values, weight, false));
            }
            values => {
                weights
                    .step_by(LINE / 2)
                    .for_each(|weight| prefetch_line(values.i16s(), weight, false));
            }
        }
    }

    /// Adds a row of weights `times` times to accumulators; `times` is an i16, usually 1 or -1.
    #[inline(always)]
    pub(super) fn add_row(&self, row: usize, times: i32, accumulators: &mut [i32]) {
        let range = row * accumulators.len()..(row + 1) * accumulators.len();
        match self {
            Numbers::I8(values) => add(&values[range], times, accumulators),
            values => add(&values.i16s()[range], times, accumulators),
        }
    }
}
