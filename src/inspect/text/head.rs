//! The layers behind the accumulators in words.

use super::{LEFT, Part, RIGHT, SHOWN, have, signed, whole};
use crate::inspect::{Adds, Head, HeadLayer, HeadNeuron, Inspection, State};
use crate::report::Table;

/// Characters of a line.
const WIDTH: usize = 80;

impl Inspection {
    pub(super) fn layers_behind(&self, head: &Head) -> Part {
        let net = &self.architecture;
        let of_buckets = match net.buckets {
            1 => String::new(),
            buckets => format!(
                ", {buckets} sets of them, of which each position reaches that of its bucket"
            ),
        };
        let ends = head.layers.iter().any(|it| it.curves() > 1);
        let both = match ends {
            true => " Where there are two shares, they are those of clamp(x) and clamp(x^2).",
            false => "",
        };
        let about = format!(
            "Layers behind the accumulators{of_buckets}. A neuron is dead where it hands on \
             nothing but 0, and saturated where its curves always stand at the same ends.{both}"
        );
        let mut table = Table::new(&[
            ("layer", LEFT),
            ("neurons", RIGHT),
            ("dead", RIGHT),
            ("nearly", RIGHT),
            ("saturated", RIGHT),
            ("nearly", RIGHT),
            ("at 0", RIGHT),
            ("at clip", RIGHT),
        ])
        .width(WIDTH);
        for (number, layer) in head.layers.iter().enumerate() {
            table.row([
                format!("head.{number}, {}", layer.activation),
                layer.neurons.len().to_string(),
                layer.dead.to_string(),
                layer.nearly_dead.to_string(),
                layer.saturated.to_string(),
                layer.nearly_saturated.to_string(),
                shares(layer, |it| &it.zero_share),
                shares(layer, |it| &it.clipped_share),
            ]);
        }
        let mut tables = vec![table];
        tables.extend(last(head, net.buckets));
        let states = [
            (State::Dead, "Dead"),
            (State::NearlyDead, "Nearly dead"),
            (State::Saturated, "Saturated"),
            (State::NearlySaturated, "Nearly saturated"),
        ];
        let mut notes: Vec<String> =
            states.iter().filter_map(|it| named(head, net.buckets, *it)).collect();
        notes.extend(unknown(head, net.buckets));
        notes.extend(skipped(head));
        Part { title: "Layers", about, tables, notes }
    }
}

impl HeadLayer {
    fn curves(&self) -> usize {
        self.neurons.first().map_or(0, |it| it.zero_share.len())
    }
}

/// Means over the neurons, by curve.
fn shares(layer: &HeadLayer, of: impl Fn(&HeadNeuron) -> &[f64]) -> String {
    let count = layer.neurons.len() as f64;
    let mean = |curve: usize| layer.neurons.iter().map(|it| of(it)[curve]).sum::<f64>() / count;
    let shares: Vec<String> =
        (0..layer.curves()).map(|curve| format!("{:.0}", 100.0 * mean(curve))).collect();
    format!("{} %", shares.join(" / "))
}

/// The neurons in one state, as far as they can be named.
fn named(head: &Head, buckets: usize, (state, word): (State, &str)) -> Option<String> {
    let layers = head.layers.iter().enumerate();
    let all: Vec<(usize, &HeadNeuron)> = layers
        .flat_map(|(layer, it)| it.neurons.iter().map(move |neuron| (layer, neuron)))
        .filter(|(_, neuron)| neuron.state() == state)
        .collect();
    let shown = &all[..all.len().min(SHOWN)];
    let together = |(one, first): &(usize, &HeadNeuron), (other, second): &(usize, &HeadNeuron)| {
        (one, first.bucket) == (other, second.bucket)
    };
    let groups = shown.chunk_by(together).map(|group| {
        let (layer, first) = group[0];
        let numbers: Vec<String> = group.iter().map(|(_, it)| it.neuron.to_string()).collect();
        let neurons = if numbers.len() == 1 { "neuron" } else { "neurons" };
        let bucket = match buckets {
            1 => String::new(),
            _ => format!(" of bucket {}", first.bucket),
        };
        format!("head.{layer} {neurons} {}{bucket}", numbers.join(", "))
    });
    let groups: Vec<String> = groups.collect();
    let more = match all.len() - shown.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!all.is_empty()).then(|| format!("{word}: {}{more}.", groups.join("; ")))
}

/// How many buckets have too few positions to tell anything of their neurons.
fn unknown(head: &Head, buckets: usize) -> Option<String> {
    let neurons = head.layers.first()?.neurons.iter();
    let mut told: Vec<usize> =
        neurons.filter(|it| it.state() != State::Unknown).map(|it| it.bucket).collect();
    told.dedup();
    let few = buckets - told.len();
    let said = match buckets {
        1 => "Fewer than 100 positions are too few to tell dead neurons by.".to_string(),
        _ => format!("{} fewer than 100 positions, too few to tell of.", have(few, "bucket")),
    };
    (few > 0).then_some(said)
}

/// What the neurons of the last layer add, those with the largest use first.
fn last(head: &Head, buckets: usize) -> Option<Table> {
    let neurons = &head.layers.last()?.neurons;
    let known = neurons.iter().filter(|it| it.state() != State::Unknown);
    let mut all: Vec<(&HeadNeuron, Adds)> = known.filter_map(|it| Some((it, it.adds?))).collect();
    all.sort_by(|(_, one), (_, other)| other.use_cp.total_cmp(&one.use_cp));
    let any = !all.is_empty();
    let name = format!("of head.{}, neuron", head.layers.len() - 1);
    let mut columns = vec![(&name[..], RIGHT), ("use, cp", RIGHT), ("mean, cp", RIGHT)];
    if buckets > 1 {
        columns.insert(1, ("bucket", RIGHT));
    }
    let mut table = Table::new(&columns).width(WIDTH);
    for (neuron, adds) in all.into_iter().take(SHOWN) {
        let mut row = vec![neuron.neuron.to_string()];
        if buckets > 1 {
            row.push(neuron.bucket.to_string());
        }
        row.extend([whole(adds.use_cp), signed(adds.mean_cp)]);
        table.row(row);
    }
    any.then_some(table)
}

/// What the skip neuron adds where there is one set of layers; a table of the buckets has it else.
fn skipped(head: &Head) -> Option<String> {
    let [Some(skip)] = head.skip[..] else { return None };
    Some(format!(
        "The skip neuron adds {} cp on the mean, with a standard deviation of {} cp.",
        signed(skip.mean_cp),
        whole(skip.use_cp)
    ))
}
