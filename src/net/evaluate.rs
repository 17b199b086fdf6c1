//! Integer evaluation: the definition, and the fast one that must equal it.
//!
//! ```text
//! acc_i  = bias_i + rows of the active inputs
//! ReLU   : v = clamp(acc, 0, 32767)   sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! CReLU  : v = clamp(acc, 0, QA)      sum += v * o   eval = (sum + c) * SCALE / (QA * QB)
//! SCReLU : v = clamp(acc, 0, QA)^2    sum += v * o   eval = (sum / QA + c) * SCALE / (QA * QB)
//! ```
//! Divisions truncate toward zero. Accumulators are i32 and the sum is i64 here, so no net and
//! no position can overflow them: engines use i16 and i32, which gives the same for every net
//! that `export/prove.rs` accepts. ReLU's upper end is that of the engines' i16, which no proven
//! net reaches.

use super::Net;
use crate::architecture::Activation;
use crate::features::MAX_ACTIVE;
use crate::sample::Position;

/// Neurons that are summed at a time: few enough to stay in registers and the first cache.
const BLOCK: usize = 64;
/// No feature set has more views.
const MAX_VIEWS: usize = 2;
/// With QA up to this, `QA^2` times any i16 fits an i32.
const NARROW_QA: i32 = 256;

impl Net {
    /// Centipawns for the side to move; saturates at the ends of i32.
    pub fn evaluate(&self, position: &Position) -> i32 {
        let features = self.architecture.features;
        let mut lists = [0; MAX_VIEWS * MAX_ACTIVE];
        let lists = &mut lists[..features.views * MAX_ACTIVE];
        features.write(position, lists);
        let narrow = self.scales.qa < NARROW_QA;
        let (qa, top) = (self.scales.qa, i32::from(i16::MAX));
        let sum = match self.architecture.activation {
            Activation::ReLU => self.sum(lists, top, |v, o| (v * o).into()),
            Activation::CReLU => self.sum(lists, qa, |v, o| (v * o).into()),
            Activation::SCReLU if narrow => self.sum(lists, qa, |v, o| (v * v * o).into()),
            Activation::SCReLU => self.sum(lists, qa, |v, o| i64::from(v * o) * i64::from(v)),
        };
        self.centipawns(sum, position)
    }

    /// The sum over all views and neurons of `term(clamped accumulator, output weight)`.
    #[inline(always)]
    fn sum(&self, lists: &[u16], top: i32, term: impl Fn(i32, i32) -> i64) -> i64 {
        let hidden = self.architecture.hidden;
        let inputs = self.architecture.features.inputs;
        let mut sum = 0;
        for (list, weights) in
            lists.chunks_exact(MAX_ACTIVE).zip(self.output_weights.chunks_exact(hidden))
        {
            for (block, (bias, weights)) in
                self.accumulator_bias.chunks(BLOCK).zip(weights.chunks(BLOCK)).enumerate()
            {
                let mut accumulator = [0_i32; BLOCK];
                let accumulator = &mut accumulator[..bias.len()];
                for (a, &b) in accumulator.iter_mut().zip(bias) {
                    *a = b.into();
                }
                for &input in list.iter().take_while(|&&input| usize::from(input) < inputs) {
                    let row = &self.accumulator_weights[usize::from(input) * hidden..][..hidden];
                    for (a, &w) in accumulator.iter_mut().zip(&row[block * BLOCK..]) {
                        *a += i32::from(w);
                    }
                }
                sum += accumulator
                    .iter()
                    .zip(weights)
                    .map(|(&a, &o)| term(a.clamp(0, top), o.into()))
                    .sum::<i64>();
            }
        }
        sum
    }

    /// The same as [`Net::evaluate`], straight from the definition and slow: what the fast one
    /// is tested against.
    pub fn evaluate_slowly(&self, position: &Position) -> i32 {
        let sum = (0..self.architecture.features.views)
            .flat_map(|view| self.accumulators(position, view))
            .zip(&self.output_weights)
            .map(|(a, &o)| {
                let v = match self.architecture.activation {
                    Activation::ReLU => a.clamp(0, i16::MAX.into()),
                    Activation::CReLU => a.clamp(0, self.scales.qa.into()),
                    Activation::SCReLU => a.clamp(0, self.scales.qa.into()).pow(2),
                };
                v * i64::from(o)
            })
            .sum();
        self.centipawns(sum, position)
    }

    /// The accumulators of one view, `[hidden]`, times QA, before the activation.
    pub fn accumulators(&self, position: &Position, view: usize) -> Vec<i64> {
        let mut accumulators: Vec<i64> =
            self.accumulator_bias.iter().map(|&bias| bias.into()).collect();
        self.architecture.features.active(position, view, &mut |input| {
            for (a, &w) in accumulators.iter_mut().zip(self.row(input)) {
                *a += i64::from(w);
            }
        });
        accumulators
    }

    fn centipawns(&self, sum: i64, position: &Position) -> i32 {
        let (qa, qb) = (i64::from(self.scales.qa), i64::from(self.scales.qb));
        let sum = match self.architecture.activation {
            Activation::ReLU | Activation::CReLU => sum,
            Activation::SCReLU => sum / qa,
        };
        let value = (sum + i64::from(self.output_bias)) * i64::from(self.scales.scale) / (qa * qb);
        let seen = value * i64::from(self.architecture.features.sign(position));
        seen.clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }
}
