//! The computation of a net as it is defined, slowly; everything faster must equal it.
//!
//! ```text
//! acc_i  = bias_i + the active rows of all feature sets, of each view
//! ```
//! Where the output follows the accumulators at once, all is integer:
//! ```text
//! ReLU   : v = clamp(acc, 0, 32767)   sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! CReLU  : v = clamp(acc, 0, QA)      sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! SCReLU : v = clamp(acc, 0, QA)^2    sum += v * o   eval = (sum / QA + c) * SCALE / (QA * QB)
//! ```
//! Divisions truncate toward zero. In all other nets:
//! ```text
//! float  : x = activation(acc / QA)                       z = bias + w_0 * x_0 + w_1 * x_1 ...
//!          pairwise: x = crelu(acc_i / QA) * crelu(acc_(i + N/2) / QA)
//! int8   : u = v >> shift, v = clamp(acc, 0, QA) (CReLU), its square (SCReLU), or
//!          clamp(acc_i, 0, QA) * clamp(acc_(i + N/2), 0, QA) (pairwise)
//!          z = (sum of w * u, exact) * unit + bias
//! layers : x = activation(z)                              z = bias + w_0 * x_0 + w_1 * x_1 ...
//! output : eval = truncate((z + skip neuron) * SCALE)
//! ```
//! What an i32 does not hold becomes its end, and what is no number 0.
//!
//! All of it in f32, rounded after each operation (no fused products), a sum from the bias on and
//! from the first input to the last. `shift` is the smallest with which u is at most 127, `unit` is
//! `2^shift / (top * QB)` rounded to f32, where top is QA, or QA^2 for squares and products: with
//! QA = 255 that is a shift of 9 and `512 / (255 * 255 * QB)`, or a shift of 1 and `2 / (255 * QB)`
//! for CReLU.
//!
//! Accumulators and integer sums are i64 here, so no net and no position can overflow them: engines
//! use i16 and i32, which gives the same for every net that `export/prove.rs` accepts. ReLU's upper
//! end is that of the engines' i16, which no proven net reaches.

use super::{MOST_INPUT, Net};
use crate::architecture::{Activation, Architecture, Array, Factor, Part};
use crate::features::Integer;
use crate::sample::Position;
use crate::scales::{HeadFormat, Scales};

impl Net {
    /// The same as [`Net::evaluate`], straight from the definition.
    pub fn evaluate_slowly(&self, position: &Position) -> i32 {
        let views: Vec<Vec<i64>> =
            (0..self.architecture.views()).map(|view| self.accumulators(position, view)).collect();
        let bucket = self.architecture.bucket_of(position);
        let value = match !self.architecture.is_deep() {
            true => self.integer_output(&views.concat(), bucket),
            false => self.float_output(&views, bucket),
        };
        self.seen_by_mover(value, position)
    }

    /// Centipawns of the output as the side to move sees them; saturates at the ends of i32.
    pub(super) fn seen_by_mover(&self, value: i64, position: &Position) -> i32 {
        let seen = value.saturating_mul(self.architecture.inputs.sign(position).into());
        seen.clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }

    /// The accumulators of one view, `[hidden]`, times QA, before the activation.
    pub fn accumulators(&self, position: &Position, view: usize) -> Vec<i64> {
        let mut accumulators: Vec<i64> =
            self.accumulator_bias().iter().map(|&bias| bias.into()).collect();
        self.architecture.inputs.active(position, view, &mut |row| {
            let row = self.row(row);
            accumulators.iter_mut().enumerate().for_each(|(i, a)| *a += i64::from(row.get(i)));
        });
        accumulators
    }

    fn integer_output(&self, accumulators: &[i64], bucket: usize) -> i64 {
        let (weights, biases, _) = self.map(0, bucket);
        let weights = &weights.i16s()[bucket * accumulators.len()..];
        let terms = accumulators.iter().zip(weights).map(|(&a, &o)| {
            let v = match self.architecture.activation {
                Activation::ReLU => a.clamp(0, i16::MAX.into()),
                Activation::CReLU => a.clamp(0, self.scales.qa.into()),
                Activation::SCReLU => a.clamp(0, self.scales.qa.into()).pow(2),
            };
            v * i64::from(o)
        });
        self.centipawns_of_sum(terms.sum(), biases.i16s()[bucket])
    }

    /// The last steps of a net of integers.
    pub(super) fn centipawns_of_sum(&self, sum: i64, bias: i16) -> i64 {
        let Scales { qa, qb, scale, .. } = self.scales;
        let sum = match self.architecture.activation {
            Activation::ReLU | Activation::CReLU => sum,
            Activation::SCReLU => sum / i64::from(qa),
        };
        (sum + i64::from(bias)) * i64::from(scale) / (i64::from(qa) * i64::from(qb))
    }

    fn float_output(&self, views: &[Vec<i64>], bucket: usize) -> i64 {
        let net = &self.architecture;
        let z = match self.scales.head_format {
            HeadFormat::Float => {
                let qa = self.scales.qa as f32;
                let of_view = |view: &Vec<i64>| -> Vec<f32> {
                    let curve = net.activation.curve();
                    let h: Vec<f32> =
                        view.iter().map(|&a| curve.value_f32(a as f32 / qa)).collect();
                    let (first, second) = h.split_at(net.outputs_of_view());
                    match net.pairwise {
                        false => first.to_vec(),
                        true => first.iter().zip(second).map(|(a, b)| a * b).collect(),
                    }
                };
                self.affine(0, bucket, &views.iter().flat_map(of_view).collect::<Vec<_>>())
            }
            HeadFormat::Int8 => {
                let (shift, _) = self.unit();
                let of_view = |view: &Vec<i64>| -> Vec<i64> {
                    let v: Vec<i64> =
                        view.iter().map(|&a| a.clamp(0, self.scales.qa.into())).collect();
                    let (first, second) = v.split_at(net.outputs_of_view());
                    match (net.pairwise, net.activation) {
                        (true, _) => first.iter().zip(second).map(|(a, b)| a * b).collect(),
                        (false, Activation::SCReLU) => first.iter().map(|v| v * v).collect(),
                        (false, _) => first.to_vec(),
                    }
                };
                let u: Vec<i64> = views.iter().flat_map(of_view).map(|v| v >> shift).collect();
                self.affine_of_integers(bucket, &u)
            }
        };
        self.layers(z, |map, x| self.affine(map, bucket, x))
    }

    /// Centipawns from the first map's values; `affine` computes the maps behind it.
    fn layers(&self, mut z: Vec<f32>, affine: impl Fn(usize, &[f32]) -> Vec<f32>) -> i64 {
        let mut skipped = 0.0;
        for (i, layer) in self.architecture.head.iter().enumerate() {
            if self.architecture.skip && i == 0 {
                skipped = z.pop().expect("the skip neuron is the last");
            }
            let curves = layer.activation.curves().iter();
            let x: Vec<f32> =
                curves.flat_map(|curve| z.iter().map(|&z| curve.value_f32(z))).collect();
            z = affine(i + 1, &x);
        }
        ((z[0] + skipped) * self.scales.scale as f32) as i64
    }

    fn affine(&self, map: usize, bucket: usize, x: &[f32]) -> Vec<f32> {
        let (weights, biases, first) = self.map(map, bucket);
        let rows = weights.f32s().chunks_exact(x.len()).skip(first);
        let of = |(row, bias): (&[f32], &f32)| {
            let mut z = *bias;
            for (w, x) in row.iter().zip(x) {
                z += w * x;
            }
            z
        };
        rows.zip(&biases.f32s()[first..][..self.maps[map][1]]).map(of).collect()
    }

    fn affine_of_integers(&self, bucket: usize, u: &[i64]) -> Vec<f32> {
        let (_, unit) = self.unit();
        let (weights, biases, first) = self.map(0, bucket);
        let Numbers::I8(weights) = weights else { panic!("an int8 head has i8 first") };
        let of = |(row, bias): (&[i8], &f32)| {
            let sum: i64 = row.iter().zip(u).map(|(&w, u)| i64::from(w) * u).sum();
            sum as f32 * unit + bias
        };
        let rows = weights.chunks_exact(u.len()).skip(first);
        rows.zip(&biases.f32s()[first..][..self.maps[0][1]]).map(of).collect()
    }
}

/// With QA below this, `QA^2` times any i16 fits an i32.
const NARROW_QA: i32 = 256;

/// See [`Net::top`].
pub(super) fn top(net: &Architecture, qa: i32) -> i64 {
    match net.pairwise || net.activation == Activation::SCReLU {
        true => i64::from(qa).pow(2),
        false => qa.into(),
    }
}

/// See [`Net::unit`].
pub(super) fn unit(net: &Architecture, scales: Scales) -> (u32, f32) {
    let top = top(net, scales.qa);
    let shift = (0..31).find(|shift| top >> shift <= MOST_INPUT.into()).unwrap_or(31);
    let unit = f64::from(1_u32 << shift) / (top as f64 * f64::from(scales.qb));
    (shift, unit as f32)
}

/// Weights `[bucket][output][input]` as `[bucket][input][output]`, if they are floats.
pub(super) fn columns([inputs, outputs]: [usize; 2], weights: &Numbers) -> Vec<f32> {
    let Numbers::F32(weights) = weights else { return Vec::new() };
    let of_bucket = |weights: &[f32]| -> Vec<f32> {
        let column = |input| weights.iter().skip(input).step_by(inputs);
        (0..inputs).flat_map(column).copied().collect()
    };
    weights.chunks_exact(inputs * outputs).flat_map(of_bucket).collect()
}

impl Net {
    /// Centipawns of the output from the accumulators of all views, side to move's first.
    pub(super) fn value(&self, views: &[&[i32]], bucket: usize) -> i64 {
        if !self.architecture.is_deep() {
            let hidden = self.architecture.hidden;
            let weights = self.output_weights(bucket).chunks_exact(hidden);
            let sum = views.iter().zip(weights).map(|(view, weights)| self.terms(view, weights));
            return self.centipawns_of_sum(sum.sum(), self.output_bias(bucket));
        }
        let z = match self.scales.head_format {
            HeadFormat::Float => self.affine_fast(0, bucket, &self.floats(views)),
            HeadFormat::Int8 => self.affine_of_bytes(bucket, &self.bytes(views)),
        };
        self.layers(z, |map, x| self.affine_fast(map, bucket, x))
    }

    /// Output weights of a net of integers, `[views * hidden]`.
    fn output_weights(&self, bucket: usize) -> &[i16] {
        let outputs = self.maps[0][0];
        &self.map_numbers(0)[0].i16s()[bucket * outputs..][..outputs]
    }

    fn output_bias(&self, bucket: usize) -> i16 {
        self.map_numbers(0)[1].i16s()[bucket]
    }

    /// The share of some accumulators in the sum of a net of integers.
    #[inline(always)]
    fn terms(&self, accumulators: &[i32], weights: &[i16]) -> i64 {
        let narrow = self.scales.qa < NARROW_QA;
        let most = self.ceiling();
        match self.architecture.activation {
            Activation::ReLU | Activation::CReLU => {
                sum(accumulators, weights, most, |v, o| (v * o).into())
            }
            Activation::SCReLU if narrow => {
                sum(accumulators, weights, most, |v, o| (v * v * o).into())
            }
            Activation::SCReLU => {
                sum(accumulators, weights, most, |v, o| i64::from(v * o) * i64::from(v))
            }
        }
    }

    /// The inputs of the first map in f32.
    fn floats(&self, views: &[&[i32]]) -> Vec<f32> {
        let qa = self.scales.qa as f32;
        let curve = self.architecture.activation.curve();
        let value = |a: &i32| curve.value_f32(*a as f32 / qa);
        let mut x = Vec::with_capacity(self.maps[0][0]);
        for view in views {
            let (first, second) = view.split_at(self.architecture.outputs_of_view());
            match self.architecture.pairwise {
                false => x.extend(first.iter().map(value)),
                true => x.extend(first.iter().zip(second).map(|(a, b)| value(a) * value(b))),
            }
        }
        x
    }

    /// The inputs of the first map in u8.
    fn bytes(&self, views: &[&[i32]]) -> Vec<u8> {
        let ((shift, _), qa) = (self.unit(), self.scales.qa);
        let clamped = |a: &i32| (*a).clamp(0, qa);
        let mut u = Vec::with_capacity(self.maps[0][0]);
        for view in views {
            let (first, second) = view.split_at(self.architecture.outputs_of_view());
            match (self.architecture.pairwise, self.architecture.activation) {
                (true, _) => u.extend(
                    first
                        .iter()
                        .zip(second)
                        .map(|(a, b)| ((clamped(a) * clamped(b)) >> shift) as u8),
                ),
                (false, Activation::SCReLU) => {
                    u.extend(first.iter().map(|a| (clamped(a).pow(2) >> shift) as u8));
                }
                (false, _) => u.extend(first.iter().map(|a| (clamped(a) >> shift) as u8)),
            }
        }
        u
    }

    /// An affine map in f32: inputs are added in order; what is zero adds nothing.
    fn affine_fast(&self, map: usize, bucket: usize, x: &[f32]) -> Vec<f32> {
        let (_, biases, first) = self.map(map, bucket);
        let outputs = self.maps[map][1];
        let mut z = biases.f32s()[first..][..outputs].to_vec();
        let columns = self.columns[map][first * x.len()..].chunks_exact(outputs);
        for (&x, column) in x.iter().zip(columns).filter(|(x, _)| **x != 0.0) {
            for (z, w) in z.iter_mut().zip(column) {
                *z += w * x;
            }
        }
        z
    }

    /// The first map of an `int8` head. Sums fit an i32: no net has more than 131,072 features.
    fn affine_of_bytes(&self, bucket: usize, u: &[u8]) -> Vec<f32> {
        let (_, unit) = self.unit();
        let (weights, biases, first) = self.map(0, bucket);
        let Numbers::I8(weights) = weights else { panic!("an int8 head has i8 first") };
        let of = |(row, bias): (&[i8], &f32)| {
            let sum: i32 = row.iter().zip(u).map(|(&w, &u)| i32::from(w) * i32::from(u)).sum();
            sum as f32 * unit + bias
        };
        let rows = weights.chunks_exact(u.len()).skip(first);
        rows.zip(&biases.f32s()[first..][..self.maps[0][1]]).map(of).collect()
    }
}

#[inline(always)]
fn sum(accumulators: &[i32], weights: &[i16], top: i32, term: impl Fn(i32, i32) -> i64) -> i64 {
    accumulators.iter().zip(weights).map(|(&a, &o)| term(a.clamp(0, top), o.into())).sum()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    I8,
    I16,
    F32,
}

/// The numbers of one array, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    I8(Vec<i8>),
    I16(Vec<i16>),
    F32(Vec<f32>),
}

/// The weights of one row, a neuron each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
}

impl Row<'_> {
    pub fn get(self, neuron: usize) -> i32 {
        match self {
            Row::I8(row) => row[neuron].into(),
            Row::I16(row) => row[neuron].into(),
        }
    }

    /// Adds the row to accumulators so many times, mostly 1 or -1.
    #[inline(always)]
    pub(super) fn add(self, times: i32, accumulators: &mut [i32]) {
        match self {
            Row::I8(row) => add(row, times, accumulators),
            Row::I16(row) => add(row, times, accumulators),
        }
    }
}

#[inline(always)]
fn add<W: Copy + Into<i32>>(row: &[W], times: i32, accumulators: &mut [i32]) {
    accumulators.iter_mut().zip(row).for_each(|(a, &w)| *a += times * w.into());
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub array: Array,
    pub number: Number,
}

/// The arrays of a net's file, in their order; its factoriser is merged.
pub fn stored(net: &Architecture, head: HeadFormat) -> Vec<Stored> {
    let first = if net.has_layers() { Part::Layer(0) } else { Part::Output };
    let number = |part| match part {
        Part::Rows(set) => match net.inputs.sets()[set].integer() {
            Integer::I8 => Number::I8,
            Integer::I16 => Number::I16,
        },
        Part::Factor(_) | Part::AccumulatorBias => Number::I16,
        _ if !net.is_deep() => Number::I16,
        part if part == first && head == HeadFormat::Int8 => Number::I8,
        _ => Number::F32,
    };
    let arrays = net.merged().arrays().into_iter();
    arrays.map(|array| Stored { number: number(array.part), array }).collect()
}

/// Bytes of a net's file before the padding.
pub(super) fn payload(net: &Architecture, head: HeadFormat) -> usize {
    stored(net, head).iter().map(|it| it.array.len() * it.number.bytes()).sum()
}

impl Stored {
    /// The unit of its integers; none for floats.
    pub fn factor(&self, scales: Scales) -> Option<i32> {
        let Scales { qa, qb, .. } = scales;
        (self.number != Number::F32).then_some(match self.array.factor {
            Factor::Qa => qa,
            Factor::Qb => qb,
            Factor::QaQb => qa * qb,
        })
    }
}

impl Number {
    pub fn name(self) -> &'static str {
        match self {
            Number::I8 => "i8",
            Number::I16 => "i16",
            Number::F32 => "f32",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Number::I8 => 1,
            Number::I16 => 2,
            Number::F32 => 4,
        }
    }

    /// The least and the most that it can be; none for floats.
    pub fn range(self) -> Option<[f64; 2]> {
        match self {
            Number::I8 => Some([i8::MIN.into(), i8::MAX.into()]),
            Number::I16 => Some([i16::MIN.into(), i16::MAX.into()]),
            Number::F32 => None,
        }
    }

    pub(super) fn read(self, bytes: &[u8]) -> Numbers {
        match self {
            Number::I8 => Numbers::I8(bytes.iter().map(|&byte| byte as i8).collect()),
            Number::I16 => Numbers::I16(each(bytes, i16::from_le_bytes)),
            Number::F32 => Numbers::F32(each(bytes, f32::from_le_bytes)),
        }
    }
}

fn each<const N: usize, T>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect()
}

impl Numbers {
    pub fn number(&self) -> Number {
        match self {
            Numbers::I8(_) => Number::I8,
            Numbers::I16(_) => Number::I16,
            Numbers::F32(_) => Number::F32,
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Numbers::I8(them) => them.len(),
            Numbers::I16(them) => them.len(),
            Numbers::F32(them) => them.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them; every one is exact in f64.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Numbers::I8(them) => them[i].into(),
            Numbers::I16(them) => them[i].into(),
            Numbers::F32(them) => them[i].into(),
        }
    }

    /// The place of the first that is no finite number.
    pub(super) fn not_finite(&self) -> Option<usize> {
        let Numbers::F32(them) = self else { return None };
        them.iter().position(|it| !it.is_finite())
    }

    /// One of their rows of so many numbers.
    pub(super) fn row(&self, row: usize, width: usize) -> Row<'_> {
        let places = row * width..(row + 1) * width;
        match self {
            Numbers::I8(them) => Row::I8(&them[places]),
            Numbers::I16(them) => Row::I16(&them[places]),
            Numbers::F32(_) => panic!("rows of feature sets are integers"),
        }
    }

    pub fn i16s(&self) -> &[i16] {
        match self {
            Numbers::I16(them) => them,
            _ => panic!("these are {}", self.number().name()),
        }
    }

    pub fn f32s(&self) -> &[f32] {
        match self {
            Numbers::F32(them) => them,
            _ => panic!("these are {}", self.number().name()),
        }
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Numbers::I8(them) => bytes.extend(them.iter().map(|it| *it as u8)),
            Numbers::I16(them) => bytes.extend(them.iter().flat_map(|it| it.to_le_bytes())),
            Numbers::F32(them) => bytes.extend(them.iter().flat_map(|it| it.to_le_bytes())),
        }
    }
}
