//! Written form of an architecture, in manifests, checkpoints and the files beside foreign nets.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{
    Activation, Architecture, Buckets, ImpossibleNet, Inputs, Kings, Layer, PIECES, Views,
};
use crate::features;
use crate::registry::NameMissing;

/// A net in its written form; missing fields are as in the simplest nets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    pub inputs: Views,
    /// Names of the feature sets.
    #[serde(default = "pieces", skip_serializing_if = "is_pieces")]
    pub sets: Vec<String>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerForm {
    /// Neurons of the layer, 1 to 1,024.
    pub size: usize,
    /// Activation; the last layer has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
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
        let set = |name: &String| features::named(name, kings).map_err(missing);
        let sets = form.sets.iter().map(set).collect::<Result<Vec<_>, _>>()?;
        if sets.is_empty() {
            return Err(ImpossibleNet {
                key: "sets",
                reason: "no feature set is named; name at least one, such as `pieces`".into(),
            });
        }
        let head = layers(&form.head).map_err(|reason| ImpossibleNet { key: "head", reason })?;
        let architecture = Self {
            inputs: Inputs::new(form.inputs, sets, form.factorised),
            hidden: form.hidden,
            activation: form.activation,
            pairwise: form.pairwise,
            head,
            skip: form.skip,
            psqt: form.psqt,
            buckets: form.output_buckets.count(),
            own_buckets: form.output_buckets.own(),
        };
        architecture.check().map(|()| architecture)
    }
}

impl From<Architecture> for Form {
    fn from(net: Architecture) -> Self {
        let kings = net.inputs.kings();
        let layer = |it: &Layer| LayerForm { size: it.size, activation: Some(it.activation) };
        let last = (!net.head.is_empty()).then_some(LayerForm { size: 1, activation: None });
        Self {
            inputs: net.inputs.views,
            sets: net.inputs.sets().iter().map(|set| set.name().to_string()).collect(),
            mirror: kings.mirror,
            king_buckets: kings.numbers(),
            factorised: net.inputs.factorised,
            hidden: net.hidden,
            activation: net.activation,
            pairwise: net.pairwise,
            head: net.head.iter().map(layer).chain(last).collect(),
            skip: net.skip,
            psqt: net.psqt,
            output_buckets: net.own_buckets.map_or(Buckets::Pieces(net.buckets), Buckets::Own),
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
        .map(|&LayerForm { size, activation }| {
            let activation = activation.ok_or_else(|| {
                let names = Activation::ALL.map(Activation::name).join(", ");
                format!("the layer of size {size} has no activation; give one of {names}")
            })?;
            Ok(Layer { size, activation })
        })
        .collect()
}

impl Display for Architecture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inputs, hidden, activation, pairwise, head, skip, psqt, buckets, own_buckets } =
            self;
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
        if let Some(own) = own_buckets {
            write!(f, " {}", own.name)?;
        }
        if inputs.views != Views::Perspective {
            write!(f, " {}", inputs.views.name())?;
        }
        write!(f, " {}", activation.name())?;
        let activations: Vec<&str> = head.iter().map(|layer| layer.activation.name()).collect();
        if !activations.is_empty() {
            write!(f, ", {}", activations.join(", "))?;
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
