//! A net's file and formula in words, for its manifest.

use crate::architecture::{Activation, Part};
use crate::net::{Net, Number, Padding, Stored};
use crate::scales::HeadFormat;

/// Layout and formula, from the net's own arrays.
pub(super) fn layout(net: &Net) -> String {
    let arrays = net.stored();
    let integers = arrays.iter().all(|it| it.number == Number::I16);
    let kinds = if integers { "i16, little-endian" } else { "little-endian" };
    let arrays: Vec<String> = arrays.iter().map(|it| words(net, it, integers)).collect();
    let filled = match net.padding() {
        Padding::Text => "the text \"bullet\" repeated up to a multiple of 64 bytes",
        Padding::Zeros => "zeros up to a multiple of 64 bytes",
    };
    let bucket = match net.architecture().buckets {
        1 => String::new(),
        _ => {
            format!(
                ". The output bucket is (pieces - 2) / {}",
                net.architecture().pieces_per_bucket()
            )
        }
    };
    let formula = match !net.architecture().is_deep() {
        true => of_integers(net),
        false => of_floats(net),
    };
    format!("{kinds}: {}, then {filled}{bucket}. {formula}", arrays.join(", "))
}

/// One array: its numbers unless all are of one kind, name, dimensions and factor.
fn words(net: &Net, stored: &Stored, of_one_kind: bool) -> String {
    let Stored { array, number } = stored;
    let architecture = net.architecture();
    let (last, buckets) = (architecture.head.len(), architecture.buckets);
    let (name, map) = match array.part {
        Part::Accumulator => ("accumulator weights".to_string(), None),
        Part::AccumulatorBias => ("accumulator biases".into(), None),
        Part::Output => ("output weights".into(), Some(last)),
        Part::OutputBias if buckets == 1 => ("output bias".into(), None),
        Part::OutputBias => ("output biases".into(), None),
        Part::Layer(layer) => (format!("weights of layer {}", layer + 1), Some(layer)),
        Part::LayerBias(layer) => (format!("biases of layer {}", layer + 1), None),
        Part::Factoriser => ("factoriser".into(), None),
    };
    let kind = if of_one_kind { String::new() } else { format!("{} ", number.name()) };
    let dimensions: String = match array.part {
        Part::OutputBias if buckets == 1 => String::new(),
        _ => array.shape.iter().map(|size| format!("[{size}]")).collect(),
    };
    let space = if dimensions.is_empty() { "" } else { " " };
    let order = match map == Some(0) && architecture.views() > 1 {
        true => " (side to move first)",
        false => "",
    };
    let factor = match (number, array.factor) {
        (Number::F32, _) => String::new(),
        (_, factor) => format!(" x {}", factor.name().replace(' ', "")),
    };
    format!("{kind}{name}{space}{dimensions}{order}{factor}")
}

fn of_integers(net: &Net) -> String {
    let (clamped, sum) = match net.architecture().activation {
        Activation::ReLU => ("max(0, accumulator)", "sum"),
        Activation::CReLU => ("clamp(accumulator, 0, QA)", "sum"),
        Activation::SCReLU => ("clamp(accumulator, 0, QA)^2", "sum / QA"),
    };
    format!(
        "sum = output weights x {clamped}; centipawns = ({sum} + bias) * SCALE / (QA*QB); divisions \
         truncate toward zero"
    )
}

fn of_floats(net: &Net) -> String {
    let architecture = net.architecture();
    let (clamped, real) = match architecture.activation {
        Activation::ReLU => ("", "max(0, a/QA)"),
        Activation::CReLU => ("clamp(a, 0, QA)", "clamp(a/QA, 0, 1)"),
        Activation::SCReLU => ("clamp(a, 0, QA)^2", "clamp(a/QA, 0, 1)^2"),
    };
    let halves = match architecture.pairwise {
        true => ", those of the first half of a view times those of the second",
        false => "",
    };
    let first = match net.scales().head_format {
        HeadFormat::Float => format!("Inputs: {real} of each accumulator a{halves}"),
        HeadFormat::Int8 => {
            let (shift, unit) = net.unit();
            format!(
                "Inputs: {clamped} of each accumulator a{halves}, >> {shift}; the first map is its \
                 exact sum times {unit:?} plus its bias"
            )
        }
    };
    let mut layers = String::new();
    for (i, layer) in architecture.head.iter().enumerate() {
        let skips = if architecture.skip && i == 0 { " of all but the last neuron" } else { "" };
        layers += &format!("; layer {}: {}{skips}", i + 1, layer.activation.name());
    }
    if architecture.skip {
        layers += "; the last neuron of layer 1 is added to the output as it is";
    }
    format!(
        "{first}. A map in f32 begins with its bias and adds weight x input from the first to the \
         last, rounded each time{layers}. centipawns = output * SCALE in f32, truncated toward zero"
    )
}

/// The words of a text on lines for a comment, longer words apart.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    const WIDTH: usize = 92;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("it begins with a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_string());
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}
