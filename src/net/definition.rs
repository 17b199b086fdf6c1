//! What a net computes, written as it is defined: slow, and what everything faster must equal.
//!
//! ```text
//! acc_i  = bias_i + rows of the pieces, of each view
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

use super::{Net, Numbers};
use crate::architecture::Activation;
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
            for (a, &w) in accumulators.iter_mut().zip(self.row(row)) {
                *a += i64::from(w);
            }
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
        let mut z = match self.scales.head_format {
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
        let mut skipped = 0.0;
        for (i, layer) in net.head.iter().enumerate() {
            if net.skip && i == 0 {
                skipped = z.pop().expect("the skip neuron is the last");
            }
            let curves = layer.activation.curves().iter();
            let x: Vec<f32> =
                curves.flat_map(|curve| z.iter().map(|&z| curve.value_f32(z))).collect();
            z = self.affine(i + 1, bucket, &x);
        }
        self.centipawns_of_output(z[0] + skipped)
    }

    /// The last step of a net with floats.
    pub(super) fn centipawns_of_output(&self, output: f32) -> i64 {
        (output * self.scales.scale as f32) as i64
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
