//! The written form of an architecture, in manifests, checkpoints and files beside foreign nets.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{
    Activation, Architecture, BucketChoice, Buckets, ImpossibleNet, Inputs, Kings, Layer,
    Perspectives, head_error, refuse_head,
};
use crate::features::{self, FeatureSet, Integer, KingsError};
use crate::registry::NameMissing;

/// A net in its written form; missing fields have the values of the simplest nets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetForm {
    pub inputs: Perspectives,
    #[serde(default = "default_sets", skip_serializing_if = "is_pieces")]
    pub sets: Vec<String>,
    /// The integers of the rows of sets in a file, if they are not the default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub integers: BTreeMap<String, Integer>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mirror: bool,
    /// The king bucket of each square; see [`Kings::new`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub king_buckets: Vec<u8>,
    /// Whether both kings share a plane of rows.
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

/// The feature sets of a description that names none.
pub fn default_sets() -> Vec<String> {
    vec!["pieces".into()]
}

pub fn is_pieces(sets: &Vec<String>) -> bool {
    *sets == default_sets()
}

impl TryFrom<NetForm> for Architecture {
    type Error = ImpossibleNet;

    fn try_from(form: NetForm) -> Result<Self, ImpossibleNet> {
        let wrong_kings =
            |key| move |error: KingsError| ImpossibleNet { key, reason: error.to_string() };
        let kings =
            Kings::new(form.mirror, &form.king_buckets).map_err(wrong_kings("king_buckets"))?;
        let missing = |it: NameMissing| ImpossibleNet { key: "sets", reason: it.to_string() };
        let set = |name: &String| -> Result<_, ImpossibleNet> {
            let set = features::set_named(name, kings).map_err(missing)?;
            Ok(match form.integers.get(name) {
                Some(integer) => set.stored_as(*integer),
                None => set,
            })
        };
        if let Some((name, _)) = form.integers.iter().find(|(_, it)| **it == Integer::I32) {
            let reason = format!("rows of {name:?} are i8 or i16, found i32");
            return Err(ImpossibleNet { key: "integers", reason });
        }
        let wrong = |name: &&String| !form.sets.contains(name) || **name == default_sets()[0];
        if let Some(name) = form.integers.keys().find(wrong) {
            let reason = match form.sets.contains(name) {
                true => "pieces are i16; name other sets".into(),
                false => format!("this net has no set {name:?}; it has {}", form.sets.join(", ")),
            };
            return Err(ImpossibleNet { key: "integers", reason });
        }
        let sets = form.sets.iter().map(set).collect::<Result<Vec<_>, _>>()?;
        if sets.is_empty() {
            return Err(ImpossibleNet {
                key: "sets",
                reason: "no feature set is named; name at least one, such as `pieces`".into(),
            });
        }
        let inputs = Inputs::new(form.inputs, sets, form.factorised);
        let inputs = match form.merged_kings {
            false => inputs,
            true => inputs.merge_kings().map_err(wrong_kings("merged_kings"))?,
        };
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
        architecture.check_layers().map(|()| architecture)
    }
}

impl From<Architecture> for NetForm {
    fn from(net: Architecture) -> Self {
        let kings = net.inputs.kings();
        let to_name = |layer: &usize| Ok(net.name_of_layer(*layer));
        let form = |layer: &Layer| layer.convert_references(to_name).expect("layers have names");
        let is_written = net.has_layers() || net.output.integers.is_some();
        let head = net.layers().filter(|_| is_written).map(form).collect();
        Self {
            inputs: net.inputs.perspectives,
            sets: net.inputs.sets().iter().map(|set| set.name().to_string()).collect(),
            integers: net
                .inputs
                .sets()
                .iter()
                .filter(|set| set.integer() != FeatureSet::integer_type(&***set))
                .map(|set| (set.name().to_string(), set.integer()))
                .collect(),
            mirror: kings.mirror,
            king_buckets: kings.bucket_numbers(),
            merged_kings: net.inputs.has_merged_kings(),
            factorised: net.inputs.factorised,
            hidden: net.hidden,
            activation: net.activation,
            pairwise: net.pairwise,
            head,
            skip: net.skip,
            psqt: net.psqt,
            output_buckets: Buckets { count: net.buckets, choice: net.bucket_choice },
        }
    }
}

/// Parses the layers before the output, and the output, which is the last.
fn parse_layers(written: &[LayerForm]) -> Result<(Vec<Layer>, Layer), ImpossibleNet> {
    let names: Vec<String> = (written.iter().enumerate())
        .map(|(number, layer)| layer.name.clone().unwrap_or_else(|| format!("head.{number}")))
        .collect();
    if let Some(repeated) = (1..names.len()).find(|it| names[..*it].contains(&names[*it])) {
        return refuse_head(format!("two layers are named {:?}; rename one", names[repeated]));
    }
    let number = |name: &String| {
        let names = &names[..names.len() - 1];
        let index = names.iter().position(|it| it == name);
        index.ok_or_else(|| {
            let names = names.join(", ");
            head_error(format!(
                "there is no layer {name:?} to take values of; expected one of {names}"
            ))
        })
    };
    let layer = |(index, layer): (usize, &LayerForm)| {
        let mut layer = layer.convert_references(number)?;
        // The default input is not written.
        if matches!(layer.inputs[..], [input] if input + 1 == index) {
            layer.inputs.clear();
        }
        Ok::<_, ImpossibleNet>(layer)
    };
    let mut layers = written.iter().enumerate().map(layer).collect::<Result<Vec<_>, _>>()?;
    let output = layers.pop().unwrap_or_else(Layer::output);
    if let Some(activation) = output.activation {
        return refuse_head(format!(
            "the last layer is the output without activation, found {:?}; remove it",
            activation.name()
        ));
    }
    Ok((layers, output))
}

impl Display for Architecture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inputs, hidden, activation, pairwise, head, skip, psqt, buckets, .. } = self;
        match inputs.perspectives {
            Perspectives::Perspective => write!(f, "({inputs} -> {hidden})x2")?,
            _ => write!(f, "{inputs} -> {hidden}")?,
        }
        f.write_str(if *pairwise { ", pairwise, -> " } else { " -> " })?;
        let maps = head.iter().filter_map(|layer| layer.size).enumerate();
        let maps = maps.map(|(map, size)| match (map, skip) {
            (0, true) => format!("{size}+1 -> "),
            _ => format!("{size} -> "),
        });
        match (head.is_empty(), *buckets) {
            (true, 1) => f.write_str("1")?,
            (true, buckets) => write!(f, "1x{buckets}")?,
            (false, 1) => write!(f, "{}1", maps.collect::<String>())?,
            (false, buckets) => write!(f, "({}1)x{buckets}", maps.collect::<String>())?,
        }
        match self.bucket_choice {
            BucketChoice::Pieces => {}
            BucketChoice::Table(_) => f.write_str(" by table")?,
            BucketChoice::Own(custom) => write!(f, " {}", custom.name)?,
        }
        if inputs.perspectives != Perspectives::Perspective {
            write!(f, " {}", inputs.perspectives.name())?;
        }
        write!(f, " {}", activation.name())?;
        let activations = head.iter().filter_map(|layer| layer.activation);
        for activation in activations {
            write!(f, ", {}", activation.name())?;
        }
        for (number, layer) in
            self.layers().enumerate().filter(|(_, layer)| !layer.follows_previous())
        {
            let names =
                layer.inputs.iter().map(|it| self.name_of_layer(*it)).collect::<Vec<_>>().join("+");
            write!(f, ", {}", self.name_of_layer(number))?;
            if !names.is_empty() {
                write!(f, " of {names}")?;
            }
            if let Some([start, end]) = layer.columns {
                write!(f, " columns {start}-{end}")?;
            }
            for (combination, operand) in layer.combined_layers() {
                write!(f, " {} {}", combination.verb(), self.name_of_layer(operand))?;
            }
        }
        f.write_str(if *psqt { ", psqt" } else { "" })?;
        f.write_str(if self.is_fixed_point() { ", fixed point" } else { "" })
    }
}

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
