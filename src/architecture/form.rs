//! Written form of an architecture, in manifests, checkpoints and the files beside foreign nets.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{
    Activation, Architecture, BucketChoice, Buckets, Connections, ImpossibleNet, Inputs, Kings,
    Layer, PIECES, Views,
};
use crate::features::{self, FeatureSet, Integer};
use crate::registry::NameMissing;

/// A net in its written form; missing fields are as in the simplest nets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    pub inputs: Views,
    /// Names of the feature sets.
    #[serde(default = "pieces", skip_serializing_if = "is_pieces")]
    pub sets: Vec<String>,
    /// Integers of the rows of sets in a file, where they are not the usual ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub integers: BTreeMap<String, Integer>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub mirror: bool,
    /// See [`Kings::new`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub king_buckets: Vec<u8>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub factorised: bool,
    pub hidden: usize,
    pub activation: Activation,
    #[serde(default, skip_serializing_if = "is_false")]
    pub pairwise: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub head: Vec<LayerForm>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub psqt: bool,
    #[serde(default, skip_serializing_if = "Buckets::is_one")]
    pub output_buckets: Buckets,
}

/// A layer of the head in its written form; the last has one neuron and no activation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerForm {
    /// Neurons of the layer, 1 to 1,024.
    pub size: usize,
    /// Activation; the last layer has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Names of the layers whose values it takes, side by side; empty: the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Name of an earlier layer whose values are added to its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
}

/// Feature sets of a description without any.
pub fn pieces() -> Vec<String> {
    vec!["pieces".into()]
}

pub fn is_pieces(sets: &Vec<String>) -> bool {
    *sets == pieces()
}

fn is_false(value: &bool) -> bool {
    !value
}

impl TryFrom<Form> for Architecture {
    type Error = ImpossibleNet;

    fn try_from(form: Form) -> Result<Self, ImpossibleNet> {
        let kings = Kings::new(form.mirror, &form.king_buckets)
            .map_err(|reason| ImpossibleNet { key: "king_buckets", reason })?;
        let missing = |it: NameMissing| ImpossibleNet { key: "sets", reason: it.to_string() };
        let set = |name: &String| -> Result<_, ImpossibleNet> {
            let set = features::named(name, kings).map_err(missing)?;
            Ok(match form.integers.get(name) {
                Some(integer) => set.stored_as(*integer),
                None => set,
            })
        };
        let wrong = |name: &&String| !form.sets.contains(name) || **name == pieces()[0];
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
        let wrong = |reason| ImpossibleNet { key: "head", reason };
        let head = layers(&form.head).map_err(wrong)?;
        let connections = connections(&form.head).map_err(wrong)?;
        let architecture = Self {
            inputs: Inputs::new(form.inputs, sets, form.factorised),
            hidden: form.hidden,
            activation: form.activation,
            pairwise: form.pairwise,
            head,
            connections,
            skip: form.skip,
            psqt: form.psqt,
            buckets: form.output_buckets.count(),
            bucket_choice: form.output_buckets.choice(),
        };
        architecture.check().map(|()| architecture)
    }
}

impl From<Architecture> for Form {
    fn from(net: Architecture) -> Self {
        let kings = net.inputs.kings();
        let layers = net.head.iter().map(|layer| (layer.size, Some(layer.activation)));
        let layers = layers.chain((!net.head.is_empty()).then_some((1, None)));
        let name = |layer: &usize| format!("head.{layer}");
        let head = layers.enumerate().map(|(number, (size, activation))| LayerForm {
            size,
            activation,
            inputs: net.connections.inputs(number).iter().map(name).collect(),
            add: net.connections.sum(number).as_ref().map(name),
        });
        Self {
            inputs: net.inputs.views,
            sets: net.inputs.sets().iter().map(|set| set.name().to_string()).collect(),
            integers: net
                .inputs
                .sets()
                .iter()
                .filter(|set| set.integer() != FeatureSet::integer(&***set))
                .map(|set| (set.name().to_string(), set.integer()))
                .collect(),
            mirror: kings.mirror,
            king_buckets: kings.numbers(),
            factorised: net.inputs.factorised,
            hidden: net.hidden,
            activation: net.activation,
            pairwise: net.pairwise,
            head: head.collect(),
            skip: net.skip,
            psqt: net.psqt,
            output_buckets: match net.bucket_choice {
                BucketChoice::Pieces => Buckets::Pieces(net.buckets),
                BucketChoice::Table(table) => Buckets::Table(table),
                BucketChoice::Own(own) => Buckets::Own(own),
            },
        }
    }
}

/// The layers before the output, which must be the last one.
fn layers(written: &[LayerForm]) -> Result<Vec<Layer>, String> {
    let Some((last, before)) = written.split_last() else { return Ok(Vec::new()) };
    if last.size != 1 {
        return Err(format!(
            "the last layer is the output with one neuron, found {}; make `{{ size = 1 }}` the \
             last layer",
            last.size
        ));
    }
    if let Some(activation) = last.activation {
        return Err(format!(
            "the last layer is the output without activation, found {:?}; remove it",
            activation.name()
        ));
    }
    before
        .iter()
        .map(|&LayerForm { size, activation, .. }| {
            let activation = activation.ok_or_else(|| {
                let names = Activation::ALL.map(Activation::name).join(", ");
                format!("the layer of size {size} has no activation; give one of {names}")
            })?;
            Ok(Layer { size, activation })
        })
        .collect()
}

/// The connections of layers by their names.
fn connections(written: &[LayerForm]) -> Result<Connections, String> {
    let number = |name: &String| {
        let layers = 0..written.len().saturating_sub(1);
        let found = layers.clone().find(|layer| *name == format!("head.{layer}"));
        found.ok_or_else(|| {
            let names = layers.map(|layer| format!("head.{layer}")).collect::<Vec<_>>().join(", ");
            format!("there is no layer {name:?} to take values of; expected one of {names}")
        })
    };
    if written.last().is_some_and(|last| last.add.is_some()) {
        return Err("the output adds no layer; name it among the `inputs` of the last one".into());
    }
    let mut found = Connections::default();
    for (layer, LayerForm { inputs, add, .. }) in written.iter().enumerate() {
        let inputs = inputs.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        // The usual input is not written.
        let is_usual = matches!(inputs[..], [input] if input + 1 == layer);
        found.inputs.push(if is_usual { Vec::new() } else { inputs });
        found.sums.push(add.as_ref().map(number).transpose()?);
    }
    // That of the output, which adds none.
    found.sums.pop();
    Ok(if found.is_chain() { Connections::default() } else { found })
}

impl Display for Architecture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inputs, hidden, activation, pairwise, head, skip, psqt, buckets, .. } = self;
        match inputs.views {
            Views::Perspective => write!(f, "({inputs} -> {hidden})x2")?,
            _ => write!(f, "{inputs} -> {hidden}")?,
        }
        f.write_str(if *pairwise { ", pairwise, -> " } else { " -> " })?;
        let layers = head.iter().enumerate().map(|(i, Layer { size, .. })| match (i, skip) {
            (0, true) => format!("{size}+1 -> "),
            _ => format!("{size} -> "),
        });
        match (head.is_empty(), *buckets) {
            (true, 1) => f.write_str("1")?,
            (true, buckets) => write!(f, "1x{buckets}")?,
            (false, 1) => write!(f, "{}1", layers.collect::<String>())?,
            (false, buckets) => write!(f, "({}1)x{buckets}", layers.collect::<String>())?,
        }
        match self.bucket_choice {
            BucketChoice::Pieces => {}
            BucketChoice::Table(_) => f.write_str(" by table")?,
            BucketChoice::Own(own) => write!(f, " {}", own.name)?,
        }
        if inputs.views != Views::Perspective {
            write!(f, " {}", inputs.views.name())?;
        }
        write!(f, " {}", activation.name())?;
        let activations: Vec<&str> = head.iter().map(|layer| layer.activation.name()).collect();
        if !activations.is_empty() {
            write!(f, ", {}", activations.join(", "))?;
        }
        for map in 0..=head.len() {
            let name = if map == head.len() { "output".into() } else { format!("head.{map}") };
            let inputs: Vec<String> =
                self.connections.inputs(map).iter().map(usize::to_string).collect();
            if !inputs.is_empty() {
                write!(f, ", {name} of head.{}", inputs.join("+"))?;
            }
            if let Some(earlier) = self.connections.sum(map) {
                write!(f, ", {name} adds head.{earlier}")?;
            }
        }
        f.write_str(if *psqt { ", psqt" } else { "" })
    }
}

impl Display for Inputs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, set) in self.sets().iter().enumerate() {
            if place > 0 {
                f.write_str(" + ")?;
            }
            let Some(kings) = set.kings() else {
                f.write_str(set.name())?;
                continue;
            };
            write!(f, "{PIECES}")?;
            if kings.count() > 1 {
                write!(f, "x{}", kings.count())?;
            }
            f.write_str(if kings.mirror { "hm" } else { "" })?;
        }
        Ok(())
    }
}
