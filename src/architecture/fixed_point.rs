//! Heads in fixed point: the integer that stands for 1.0 in each value (its unit), the shifts between
//! units, and the factors of weights and biases. All follow from the [`LayerIntegers`] of a net.

use serde::{Deserialize, Serialize};

use super::{
    Architecture, Combination, Curve, ImpossibleNet, Integer, Operation, head_error, refuse_head,
};
use crate::features::Language;

/// The integers of a layer. All numbers except `most` are units: the integer that stands for 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerIntegers {
    /// The type of the weights in a file; biases are i32.
    #[serde(default = "byte_integer")]
    pub weights: Integer,
    /// The unit to which the inputs are shifted; none: no shift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<i64>,
    /// The unit of the sums of products.
    pub sums: i64,
    /// The unit of the biases: of the sums before or after the shift; none: before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub biases: Option<i64>,
    /// The unit of the sums after the shift; none: the unit of the biases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shifted: Option<i64>,
    /// The unit of the activations; none: they are f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<i64>,
    /// The unit of the piece-square values in the last layer, which are converted to centipawns
    /// separately; none: they are added to the output, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psqt: Option<i64>,
    /// The largest activation; none: 1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<i64>,
}

fn byte_integer() -> Integer {
    Integer::I8
}

impl LayerIntegers {
    fn bias_unit(&self) -> i64 {
        self.biases.unwrap_or(self.sums)
    }

    fn shifted_unit(&self) -> i64 {
        self.shifted.unwrap_or_else(|| self.bias_unit())
    }

    fn list_units(&self) -> impl Iterator<Item = i64> {
        let Self { inputs, sums, biases, shifted, values, psqt, most, .. } = *self;
        [inputs, Some(sums), biases, shifted, values, psqt, most].into_iter().flatten()
    }
}

/// The largest unit: products of values with 31-bit numbers then fit an i64.
const MAX_UNIT: i64 = 1 << 30;
/// The largest square in an i32.
const MAX_SQUARE: i64 = 46_340 * 46_340;

/// The values and maps after the first layer's inputs that are computed in integers.
#[derive(Clone, Debug, Default)]
pub struct FixedPoint {
    /// The integers of each affine map; none: f32.
    pub maps: Vec<Option<FixedMap>>,
    /// The integers of each node of the graph; none: f32.
    pub values: Vec<Option<FixedValue>>,
    /// The unit of piece-square values that are converted to centipawns separately.
    pub psqt: Option<i64>,
}

/// Integers of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedValue {
    /// The affine map whose outputs, or activated outputs, these are.
    pub map: usize,
    pub unit: i64,
}

/// An affine map of integers, and the activation of its outputs.
#[derive(Clone, Debug)]
pub struct FixedMap {
    pub weights: Integer,
    /// The factor of each input's weight.
    pub factors: Vec<f64>,
    pub biases: i64,
    pub input_shift: u32,
    /// The units of the sums before and after their reduction.
    pub sums: i64,
    pub unit: i64,
    /// The right shift of the sums; none if they are divided, toward zero.
    pub shift: Option<u32>,
    /// Whether the outputs are f32.
    pub floats: bool,
    /// The unit and the largest number of activations.
    pub values: i64,
    pub limit: i64,
    /// The right shifts of the activations by degree of the curve; negative: to the left.
    shifts: [i32; 2],
    /// The least output whose square is the largest activation.
    root: i64,
}

impl FixedMap {
    /// Whether biases are added before the sums are reduced.
    pub fn biases_first(&self) -> bool {
        self.biases == self.sums
    }

    /// Shifts an input to the unit of the sums' inputs.
    #[inline(always)]
    pub fn scale_input(&self, x: i64) -> i64 {
        x >> self.input_shift
    }
    #[inline(always)]
    pub fn scale_output(&self, sum: i64, bias: i64) -> i64 {
        let reduce = |sum: i64| match self.shift {
            None => convert_unit(sum, self.sums, self.unit),
            Some(shift) => sum >> shift,
        };
        if self.biases_first() { reduce(sum + bias) } else { reduce(sum) + bias }
    }

    /// The right shift of the values of a curve; negative: to the left.
    pub fn shift_of(&self, curve: Curve) -> i32 {
        self.shifts[curve.growth_degree() as usize - 1]
    }

    /// The least and the largest output that the curve does not clamp.
    pub fn ends_of(&self, curve: Curve) -> [i64; 2] {
        let shift = self.shift_of(curve);
        match curve.growth_degree() {
            1 if shift <= 0 => [0, self.limit >> -shift],
            1 => [0, ((self.limit + 1) << shift) - 1],
            _ => [if curve.inner == 2 { -self.root } else { 0 }, self.root],
        }
    }

    /// Writes engine code of the activation of a variable.
    pub fn engine_code(&self, curve: Curve, language: Language, z: &str) -> String {
        let [lower, upper] = self.ends_of(curve);
        let shift = self.shift_of(curve);
        let clamp = |x: &str, lower: i64, upper: i64| {
            language.choose_between(
                format!("{x}.clamp({lower}, {upper})"),
                format!("nnue_between({x}, {lower}, {upper})"),
            )
        };
        let y = clamp(z, lower, upper);
        let raised = match curve.growth_degree() {
            2 => language.choose_between(format!("{y}.pow(2)"), format!("nnue_squared({y})")),
            _ => y,
        };
        let shifted = match shift {
            0 => raised,
            1.. => format!("{raised} >> {shift}"),
            _ => format!("{raised} << {}", -shift),
        };
        // The root was rounded up.
        let exceeds = curve.growth_degree() == 2 && (upper * upper) >> shift > self.limit;
        if exceeds { clamp(&format!("({shifted})"), 0, self.limit) } else { shifted }
    }
    #[inline(always)]
    pub fn activate_value(&self, curve: Curve, y: i64) -> i64 {
        let [lower, upper] = self.ends_of(curve);
        let shift = self.shift_of(curve);
        let y = y.clamp(lower, upper);
        let raised = if curve.growth_degree() == 2 { y * y } else { y };
        if shift < 0 { raised << -shift } else { (raised >> shift).min(self.limit) }
    }
}

/// Converts a number between units, toward zero; saturates.
#[inline(always)]
pub fn convert_unit(x: i64, from: i64, to: i64) -> i64 {
    if from == to { x } else { x.saturating_mul(to) / from }
}

/// The planned integers of a node's values.
#[derive(Clone)]
struct Planned {
    value: FixedValue,
    /// The exact number that stands for 1.0 in each column.
    units: Vec<f64>,
    is_sum: bool,
}

impl Architecture {
    /// Whether the head is in fixed point from the first layer on.
    pub fn is_fixed_point(&self) -> bool {
        self.layers().find(|layer| layer.size.is_some()).is_some_and(|it| it.integers.is_some())
    }

    /// Plans the integers of the head. `first_unit` is the unit of the first layer's inputs. Fails
    /// if the integers of the layers contradict each other.
    pub fn fixed_point(&self, first_unit: f64) -> Result<FixedPoint, ImpossibleNet> {
        let graph = self.graph();
        let layers = self.layers().enumerate().filter(|(_, layer)| layer.size.is_some());
        let layers: Vec<_> = layers.map(|(number, layer)| (number, layer.integers)).collect();
        let psqt = layers.last().and_then(|(_, integers)| (*integers)?.psqt);
        let mut fixed_point = FixedPoint { psqt, ..FixedPoint::default() };
        let mut planned: Vec<Option<Planned>> = Vec::new();
        for node in graph.nodes() {
            let plan_of = |input: usize| planned[input].as_ref();
            let first = || node.input_nodes().next().and_then(plan_of);
            let next = match &node.operation {
                Operation::Affine(map) => {
                    let (number, integers) = layers[*map];
                    let name = self.name_of_layer(number);
                    let input = first();
                    let Some(integers) = integers else {
                        if input.is_some() {
                            return refuse_head(format!(
                                "{name} takes integers; give it `integers`, or remove their `values`"
                            ));
                        }
                        fixed_point.maps.push(None);
                        planned.push(None);
                        continue;
                    };
                    if *map > 0 && input.is_none() {
                        return refuse_head(format!(
                            "{name} has `integers`, but takes f32; give the layers before it \
                             `integers` with `values`"
                        ));
                    }
                    if input.is_some_and(|it| it.is_sum) {
                        return refuse_head(format!("{name} takes integers without an activation"));
                    }
                    let first_units = || vec![first_unit; self.feature_count()];
                    let units = input.map_or_else(first_units, |it| it.units.clone());
                    let unit = input.map(|it| it.value.unit);
                    let is_last = map + 1 == layers.len();
                    let plan = plan_map(integers, unit, &units, is_last);
                    let plan = plan.map_err(|ImpossibleNet { reason, .. }| {
                        head_error(format!("`integers` of {name}: {reason}"))
                    })?;
                    if *map == 0 && plan.weights != Integer::I8 {
                        return refuse_head(format!("{name} is the first, whose weights are i8"));
                    }
                    let value = FixedValue { map: *map, unit: plan.unit };
                    let planned = (!plan.floats).then(|| Planned {
                        value,
                        units: vec![plan.unit as f64; node.width],
                        is_sum: true,
                    });
                    fixed_point.maps.push(Some(plan));
                    planned
                }
                Operation::PieceSquares => layers.last().and_then(|(_, integers)| {
                    let unit = (*integers)?.shifted_unit();
                    let value = FixedValue { map: layers.len() - 1, unit };
                    Some(Planned { value, units: vec![unit as f64], is_sum: true })
                }),
                Operation::Activate(activation) if !fixed_point.maps.is_empty() => match first() {
                    None => None,
                    Some(it) if !it.is_sum => {
                        return refuse_head(format!(
                            "`{}` of activations in integers",
                            activation.name()
                        ));
                    }
                    Some(Planned { value: FixedValue { map, unit }, units, .. }) => {
                        let fixed =
                            fixed_point.maps[*map].as_ref().expect("its outputs are integers");
                        if let Some(reason) = fixed.without_integers(activation.curves()) {
                            return refuse_head(format!("`{}` {reason}", activation.name()));
                        }
                        let unit_of = |curve: &Curve| {
                            let raised = (*unit as f64).powi(curve.growth_degree() as i32);
                            raised / f64::from(fixed.shift_of(*curve)).exp2()
                        };
                        let units = activation
                            .curves()
                            .iter()
                            .flat_map(|curve| vec![unit_of(curve); units.len()]);
                        let value = FixedValue { map: *map, unit: fixed.values };
                        Some(Planned { value, units: units.collect(), is_sum: false })
                    }
                },
                Operation::Slice(columns) => first()
                    .map(|it| Planned { units: it.units[columns.clone()].to_vec(), ..it.clone() }),
                Operation::Concatenate => {
                    let inputs: Vec<_> = node.input_nodes().map(plan_of).collect();
                    match inputs.iter().copied().collect::<Option<Vec<_>>>() {
                        None if inputs.iter().all(Option::is_none) => None,
                        Some(plans) if plans.iter().all(|it| it.is_same_kind(plans[0])) => {
                            let units = plans.iter().flat_map(|it| it.units.clone()).collect();
                            Some(Planned { units, ..plans[0].clone() })
                        }
                        _ => return refuse_head("values side by side need the same unit"),
                    }
                }
                Operation::Combine(how) => {
                    let [x, y] =
                        [0, 1].map(|input| node.input_nodes().nth(input).and_then(plan_of));
                    match (x, y) {
                        (None, None) => None,
                        (Some(x), Some(y)) if *how != Combination::Product => {
                            if !x.is_exact() || !y.is_exact() {
                                return refuse_head(format!(
                                    "activations whose 1.0 is not exactly {} in integers cannot \
                                     be added",
                                    x.value.unit
                                ));
                            }
                            Some(Planned { is_sum: x.is_sum && y.is_sum, ..x.clone() })
                        }
                        (Some(_), Some(_)) => {
                            return refuse_head("`multiply` is for layers of f32");
                        }
                        _ => return refuse_head("integers and f32 cannot be combined"),
                    }
                }
                Operation::Neurons | Operation::Pairwise | Operation::Activate(_) => None,
            };
            planned.push(next);
        }
        fixed_point.values = planned.into_iter().map(|it| it.map(|it| it.value)).collect();
        Ok(fixed_point)
    }
}

impl Planned {
    /// Whether the exact number for 1.0 equals the unit in all columns.
    fn is_exact(&self) -> bool {
        self.units.iter().all(|unit| *unit == self.value.unit as f64)
    }

    fn is_same_kind(&self, other: &Planned) -> bool {
        self.value.unit == other.value.unit && self.is_sum == other.is_sum
    }
}

impl FixedMap {
    /// The reason why these curves have no integers; none if they have.
    fn without_integers(&self, curves: &[Curve]) -> Option<String> {
        curves.iter().find_map(|curve| {
            let shift = self.shift_of(*curve);
            if !curve.bounded || curve.gated {
                return Some("has no upper end, which `values` need".to_string());
            }
            let fits = match curve.growth_degree() {
                1 if shift < 0 => self.limit % (1 << -shift) == 0,
                1 => true,
                _ => shift >= 0 && self.limit << shift <= MAX_SQUARE,
            };
            (!fits).then(|| {
                let Self { unit, values, limit, .. } = self;
                format!("of sums in units of {unit} cannot have `values` of {values} to {limit}")
            })
        })
    }
}

/// The shift between two units; none unless their ratio is a power of two.
fn shift_between(from: i64, to: i64) -> Option<u32> {
    let factor = (from % to == 0).then(|| from / to)?;
    (factor.count_ones() == 1).then(|| factor.ilog2())
}

fn plan_map(
    it: LayerIntegers,
    unit: Option<i64>,
    inputs: &[f64],
    is_last: bool,
) -> Result<FixedMap, ImpossibleNet> {
    if let Some(unit) = it.list_units().find(|unit| !(1..=MAX_UNIT).contains(unit)) {
        return refuse_head(format!("{unit} is not from 1 to {MAX_UNIT}"));
    }
    let biases = it.bias_unit();
    let shifted = it.shifted_unit();
    let floats = it.values.is_none() && !is_last;
    let input_shift = match (it.inputs, unit) {
        (None, _) => 0,
        (Some(_), None) => return refuse_head("the first layer takes bytes, and has no `inputs`"),
        (Some(to), Some(from)) => shift_between(from, to).ok_or_else(|| {
            head_error(format!("inputs in units of {from} cannot be shifted to the right to {to}"))
        })?,
    };
    if !is_last && it.psqt.is_some() {
        return refuse_head("`psqt` is for the output");
    }
    if is_last && (it.values.is_some() || it.most.is_some()) {
        return refuse_head("the output has no activation, and so no `values` and no `most`");
    }
    if biases != it.sums && biases != shifted {
        return refuse_head(format!(
            "biases in units of {biases} are those of no sum; expected {} or {shifted}",
            it.sums
        ));
    }
    let shift = match is_last {
        true => None,
        false => Some(shift_between(it.sums, shifted).ok_or_else(|| {
            head_error(format!(
                "sums in units of {} cannot be shifted to the right to {shifted}",
                it.sums
            ))
        })?),
    };
    let scale = f64::from(input_shift).exp2();
    let values = it.values.unwrap_or(shifted);
    let shift_of = |degree| ((shifted as f64).powi(degree) / values as f64).log2().round() as i32;
    let shifts = [1, 2].map(shift_of);
    let limit = it.most.unwrap_or(values);
    let square = limit << shifts[1].clamp(0, 31);
    let root = square.isqrt();
    Ok(FixedMap {
        weights: it.weights,
        factors: inputs.iter().map(|unit| it.sums as f64 * scale / unit).collect(),
        biases,
        input_shift,
        sums: it.sums,
        unit: shifted,
        shift,
        floats,
        values,
        limit,
        shifts,
        root: root + i64::from(root * root < square),
    })
}
