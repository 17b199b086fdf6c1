//! From accumulators to centipawns, fast: what every evaluation ends with.

use super::{MOST_INPUT, Net, Numbers};
use crate::architecture::{Activation, Architecture};
use crate::scales::{HeadFormat, Scales};

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
    /// Centipawns as the net's output means them, from the accumulators of all views, the side to
    /// move's first.
    pub(super) fn value(&self, views: &[&[i32]], bucket: usize) -> i64 {
        if !self.architecture.is_deep() {
            let hidden = self.architecture.hidden;
            let weights = self.output_weights(bucket).chunks_exact(hidden);
            let sum = views.iter().zip(weights).map(|(view, weights)| self.terms(view, weights));
            return self.centipawns_of_sum(sum.sum(), self.output_bias(bucket));
        }
        let net = &self.architecture;
        let mut z = match self.scales.head_format {
            HeadFormat::Float => self.affine_fast(0, bucket, &self.floats(views)),
            HeadFormat::Int8 => self.affine_of_bytes(bucket, &self.bytes(views)),
        };
        let mut skipped = 0.0;
        let mut x = Vec::new();
        for (i, layer) in net.head.iter().enumerate() {
            if net.skip && i == 0 {
                skipped = z.pop().expect("the skip neuron is the last");
            }
            x.clear();
            for curve in layer.activation.curves() {
                x.extend(z.iter().map(|&z| curve.value_f32(z)));
            }
            z = self.affine_fast(i + 1, bucket, &x);
        }
        self.centipawns_of_output(z[0] + skipped)
    }

    /// Of a net of integers, `[views * hidden]`.
    pub(super) fn output_weights(&self, bucket: usize) -> &[i16] {
        let outputs = self.maps[0][0];
        &self.numbers[2].i16s()[bucket * outputs..][..outputs]
    }

    /// Of a net of integers.
    pub(super) fn output_bias(&self, bucket: usize) -> i16 {
        self.numbers[3].i16s()[bucket]
    }

    /// The share of some accumulators in the sum of a net of integers.
    #[inline(always)]
    pub(super) fn terms(&self, accumulators: &[i32], weights: &[i16]) -> i64 {
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

    /// An affine map in f32. All outputs go on together, so that each adds up its inputs in their
    /// order; what is zero adds nothing.
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
