//! A net in the field's shorthand, such as `(768x4hm -> 512)x2, pairwise, -> (16 -> 32 -> 1)x8`.

use std::fmt::{self, Display, Formatter};

use super::{Architecture, Inputs, Layer, PIECES, Views};

impl Architecture {
    /// Its sizes, with N for the neurons of an accumulator: `(768x4hm -> N)x2 -> 1x8`.
    pub fn sizes(&self) -> String {
        Sizes { net: self, hidden: &"N" }.to_string()
    }
}

/// The shorthand without views and activations.
struct Sizes<'a> {
    net: &'a Architecture,
    hidden: &'a dyn Display,
}

impl Display for Sizes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { net: Architecture { inputs, pairwise, head, skip, buckets, .. }, hidden } = self;
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
            (true, 1) => f.write_str("1"),
            (true, buckets) => write!(f, "1x{buckets}"),
            (false, 1) => write!(f, "{}1", layers.collect::<String>()),
            (false, buckets) => write!(f, "({}1)x{buckets}", layers.collect::<String>()),
        }
    }
}

impl Display for Architecture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { inputs, hidden, activation, head, .. } = self;
        write!(f, "{}", Sizes { net: self, hidden })?;
        if inputs.views != Views::Perspective {
            write!(f, " {}", inputs.views.name())?;
        }
        write!(f, " {}", activation.name())?;
        let activations: Vec<&str> = head.iter().map(|layer| layer.activation.name()).collect();
        match activations.is_empty() {
            true => Ok(()),
            false => write!(f, ", {}", activations.join(", ")),
        }
    }
}

impl Display for Inputs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{PIECES}")?;
        match self.kings.count() {
            1 => {}
            count => write!(f, "x{count}")?,
        }
        f.write_str(if self.kings.mirror { "hm" } else { "" })
    }
}
