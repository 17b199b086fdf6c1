//! The written form of an architecture, in manifests, checkpoints and files beside foreign nets.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{
    Activation, Architecture, BucketChoice, Buckets, ImpossibleNet, Inputs, Kings, Layer,
    Perspectives, Set, head_error, refuse_head,
};
use crate::features::{self, Integer};

/// A net in its written form. A missing field has the value that it has in the simplest nets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetForm {
    pub inputs: Perspectives,
    #[serde(default = "default_sets", skip_serializing_if = "are_default_sets")]
    pub sets: Vec<String>,
    /// The integers of rows in a file, by the names of sets that do not have their default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub integers: BTreeMap<String, Integer>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mirror: bool,
    /// The king bucket of each square; see [`Kings::new`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub king_buckets: Vec<u8>,
    /// Whether both kings share a plane of 64 rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged_kings: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub factorised: bool,
    pub hidden: usize,
    pub activation: Activation,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pairwise: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<LayerForm>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub psqt: bool,
    #[serde(default, skip_serializing_if = "Buckets::is_one")]
    pub output_buckets: Buckets,
}

/// A layer of the head in its written form. The last layer is the output.
pub type LayerForm = Layer<String>;

impl<Reference> Layer<Reference> {
    /// Converts the references to other layers.
    fn convert_references<Converted>(
        &self,
        convert: impl Fn(&Reference) -> Result<Converted, ImpossibleNet>,
    ) -> Result<Layer<Converted>, ImpossibleNet> {
        let optional = |layer: &Option<Reference>| layer.as_ref().map(&convert).transpose();
        Ok(Layer {
            name: self.name.clone(),
            inputs: self.inputs.iter().map(&convert).collect::<Result<_, _>>()?,
            columns: self.columns,
            size: self.size,
            activation: self.activation,
            multiply: optional(&self.multiply)?,
            add: optional(&self.add)?,
            subtract: optional(&self.subtract)?,
            integers: self.integers,
        })
    }
}

/// Returns the feature sets of a description that names none.
pub fn default_sets() -> Vec<String> {
    vec!["pieces".into()]
}

/// Whether a description leaves these sets out.
pub fn are_default_sets(sets: &Vec<String>) -> bool {
    *sets == default_sets()
}

impl TryFrom<NetForm> for Architecture {
    type Error = ImpossibleNet;

    fn try_from(form: NetForm) -> Result<Self, ImpossibleNet> {
        let kings = Kings::new(form.mirror, &form.king_buckets)
            .map_err(|error| wrong_key("king_buckets", error))?;
        form.check_integers()?;
        let sets = form.find_sets(kings)?;
        let mut inputs = Inputs::new(form.inputs, sets, form.factorised);
        if form.merged_kings {
            inputs = inputs.merge_kings().map_err(|error| wrong_key("merged_kings", error))?;
        }
        let (head, output) = parse_layers(&form.head)?;
        let architecture = Self {
            inputs,
            hidden: form.hidden,
            activation: form.activation,
            pairwise: form.pairwise,
            head,
            output,
            skip: form.skip,
            psqt: form.psqt,
            buckets: form.output_buckets.count,
            bucket_choice: form.output_buckets.choice,
        };
        architecture.check_layers()?;
        Ok(architecture)
    }
}

impl NetForm {
    /// Checks that the integers are those of sets of this net other than `pieces`, and not i32.
    fn check_integers(&self) -> Result<(), ImpossibleNet> {
        if let Some((name, _)) = self.integers.iter().find(|(_, it)| **it == Integer::I32) {
            let reason = format!("rows of {name:?} are i8 or i16, found i32");
            return Err(wrong_key("integers", reason));
        }
        for name in self.integers.keys() {
            let reason = if !self.sets.contains(name) {
                format!("this net has no set {name:?}; it has {}", self.sets.join(", "))
            } else if default_sets().contains(name) {
                "pieces are i16; name other sets".to_string()
            } else {
                continue;
            };
            return Err(wrong_key("integers", reason));
        }
        Ok(())
    }

    /// Finds the feature sets, with their integers; `kings` are the king buckets of `pieces`.
    fn find_sets(&self, kings: Kings) -> Result<Vec<Set>, ImpossibleNet> {
        let mut sets = Vec::new();
        for name in &self.sets {
            let set = features::set_named(name, kings).map_err(|error| wrong_key("sets", error))?;
            sets.push(match self.integers.get(name) {
                Some(integer) => set.stored_as(*integer),
                None => set,
            });
        }
        if sets.is_empty() {
            let reason = "no feature set is named; name at least one, such as `pieces`";
            return Err(wrong_key("sets", reason));
        }
        Ok(sets)
    }
}

impl From<Architecture> for NetForm {
    fn from(net: Architecture) -> Self {
        let kings = net.inputs.kings();
        let sets = net.inputs.sets();
        let changed_integers = sets
            .iter()
            .filter(|set| set.integer() != set.integer_type())
            .map(|set| (set.name().to_string(), set.integer()));
        Self {
            inputs: net.inputs.perspectives,
            sets: sets.iter().map(|set| set.name().to_string()).collect(),
            integers: changed_integers.collect(),
            mirror: kings.mirror,
            king_buckets: kings.bucket_numbers(),
            merged_kings: net.inputs.has_merged_kings(),
            factorised: net.inputs.factorised,
            hidden: net.hidden,
            activation: net.activation,
            pairwise: net.pairwise,
            head: net.layer_forms(),
            skip: net.skip,
            psqt: net.psqt,
            output_buckets: Buckets { count: net.buckets, choice: net.bucket_choice },
        }
    }
}

fn wrong_key(key: &'static str, reason: impl Display) -> ImpossibleNet {
    ImpossibleNet { key, reason: reason.to_string() }
}

/// Parses the layers before the output, and the output, which is the last.
fn parse_layers(forms: &[LayerForm]) -> Result<(Vec<Layer>, Layer), ImpossibleNet> {
    let name_layer = |(number, form): (usize, &LayerForm)| {
        form.name.clone().unwrap_or_else(|| format!("head.{number}"))
    };
    let names: Vec<String> = forms.iter().enumerate().map(name_layer).collect();
    if let Some(repeated) = (1..names.len()).find(|it| names[..*it].contains(&names[*it])) {
        return refuse_head(format!("two layers are named {:?}; rename one", names[repeated]));
    }
    let mut layers = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        // No layer takes values of the output.
        let mut layer =
            form.convert_references(|name| find_layer(name, &names[..names.len() - 1]))?;
        // The default input is not written.
        if matches!(layer.inputs[..], [input] if input + 1 == number) {
            layer.inputs.clear();
        }
        layers.push(layer);
    }
    let output = layers.pop().unwrap_or_else(Layer::output);
    if let Some(activation) = output.activation {
        return refuse_head(format!(
            "the last layer is the output without activation, found {:?}; remove it",
            activation.name()
        ));
    }
    Ok((layers, output))
}

/// Returns the number of the layer with a name.
fn find_layer(name: &str, names: &[String]) -> Result<usize, ImpossibleNet> {
    names.iter().position(|it| it == name).ok_or_else(|| {
        let names = names.join(", ");
        head_error(format!("there is no layer {name:?} to take values of; expected one of {names}"))
    })
}

/// The shorthand, such as `(768x4hm -> 256)x2 -> 1x8 screlu`.
impl Display for Architecture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write_shape(f)?;
        match self.bucket_choice {
            BucketChoice::Pieces => {}
            BucketChoice::Table(_) => f.write_str(" by table")?,
            BucketChoice::Own(custom) => write!(f, " {}", custom.name)?,
        }
        if self.inputs.perspectives != Perspectives::Perspective {
            write!(f, " {}", self.inputs.perspectives.name())?;
        }
        write!(f, " {}", self.activation.name())?;
        for activation in self.head.iter().filter_map(|layer| layer.activation) {
            write!(f, ", {}", activation.name())?;
        }
        for (number, layer) in self.layers().enumerate() {
            if !layer.follows_previous() {
                self.write_connections(number, layer, f)?;
            }
        }
        f.write_str(if self.psqt { ", psqt" } else { "" })?;
        f.write_str(if self.is_fixed_point() { ", fixed point" } else { "" })
    }
}

impl Architecture {
    /// Returns the layers in their written form; none if there is only a floating-point output.
    fn layer_forms(&self) -> Vec<LayerForm> {
        if !self.has_layers() && self.output.integers.is_none() {
            return Vec::new();
        }
        let to_form = |layer: &Layer| {
            let form = layer.convert_references(|number| Ok(self.name_of_layer(*number)));
            form.expect("layers have names")
        };
        self.layers().map(to_form).collect()
    }

    /// Writes the sizes, such as `(768x4hm -> 256)x2 -> 1x8`.
    fn write_shape(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inputs, hidden, buckets, .. } = self;
        match inputs.perspectives {
            Perspectives::Perspective => write!(f, "({inputs} -> {hidden})x2")?,
            _ => write!(f, "{inputs} -> {hidden}")?,
        }
        f.write_str(if self.pairwise { ", pairwise, -> " } else { " -> " })?;
        if !self.has_layers() {
            return if *buckets == 1 { f.write_str("1") } else { write!(f, "1x{buckets}") };
        }
        f.write_str(if *buckets == 1 { "" } else { "(" })?;
        for (map, size) in self.head.iter().filter_map(|layer| layer.size).enumerate() {
            let skip_neuron = if map == 0 && self.skip { "+1" } else { "" };
            write!(f, "{size}{skip_neuron} -> ")?;
        }
        if *buckets == 1 { f.write_str("1") } else { write!(f, "1)x{buckets}") }
    }

    /// Writes the inputs of a layer, and the layers that it is combined with.
    fn write_connections(
        &self,
        number: usize,
        layer: &Layer,
        f: &mut Formatter<'_>,
    ) -> fmt::Result {
        write!(f, ", {}", self.name_of_layer(number))?;
        if !layer.inputs.is_empty() {
            let names: Vec<String> =
                layer.inputs.iter().map(|input| self.name_of_layer(*input)).collect();
            write!(f, " of {}", names.join("+"))?;
        }
        if let Some([start, end]) = layer.columns {
            write!(f, " columns {start}-{end}")?;
        }
        for (combination, operand) in layer.combined_layers() {
            write!(f, " {} {}", combination.verb(), self.name_of_layer(operand))?;
        }
        Ok(())
    }
}

/// The rows of each set, such as `768x4hm + threats`.
impl Display for Inputs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, set) in self.sets().iter().enumerate() {
            if index > 0 {
                f.write_str(" + ")?;
            }
            let Some(kings) = set.kings() else {
                f.write_str(set.name())?;
                continue;
            };
            write!(f, "{}", kings.rows_per_bucket())?;
            if kings.bucket_count() > 1 {
                write!(f, "x{}", kings.bucket_count())?;
            }
            f.write_str(if kings.mirror { "hm" } else { "" })?;
        }
        Ok(())
    }
}
