//! The neurons of the accumulators in words.

use super::signed;
use super::{LEFT, Part, RIGHT, SHOWN, percent};
use crate::digits::grouped;
use crate::draw::board::whole;
use crate::inspect::{Inspection, Neuron};
use crate::report::Table;

impl Inspection {
    pub(super) fn neurons(&self) -> Part {
        let activity = &self.activity;
        let pairs = activity.dead_pairs.map_or(String::new(), |dead| {
            format!(
                " {dead} of {} pairs are dead, their neurons never active together.",
                self.architecture.outputs_of_view()
            )
        });
        let about = format!(
            "Neurons over {} positions: {} of {} dead, {} nearly; {} saturated, {} nearly. An \
             activation is 0 in {} of all views and at the clip in {}.{pairs} {}; the pieces that \
             move it most stand with their weights, {} in capitals{}.",
            grouped(activity.positions),
            activity.dead,
            activity.neurons.len(),
            activity.nearly_dead,
            activity.saturated,
            activity.nearly_saturated,
            percent(activity.zero_share),
            percent(activity.clipped_share),
            self.measure(),
            self.capitals,
            self.squares_seen(),
        );
        let mut columns = vec![("neuron", RIGHT)];
        columns.extend(match self.architecture.has_layers() {
            true => [("spread", RIGHT), ("weight", RIGHT)],
            false => [("use, cp", RIGHT), ("mean, cp", RIGHT)],
        });
        columns.extend([("at 0", RIGHT), ("at clip", RIGHT), ("moved most by", LEFT)]);
        let mut table = Table::new(&columns);
        for it in activity.by_use().into_iter().take(SHOWN) {
            let movers = self.moved_by[it.neuron].iter();
            let movers: Vec<String> =
                movers.map(|it| format!("{} {:+.2}", it.short, it.weight)).collect();
            let [first, second] = measures(it);
            table.row([
                match it.partner {
                    Some(partner) => format!("{} x {partner}", it.neuron),
                    None => it.neuron.to_string(),
                },
                first,
                second,
                percent(it.zero_share),
                percent(it.clipped_share),
                movers.join(", "),
            ]);
        }
        Part { title: "Neurons", about, tables: vec![table], notes: Vec::new() }
    }

    /// By what neurons are told apart.
    fn measure(&self) -> String {
        let net = &self.architecture;
        let number = match net.pairwise {
            true => "the product of a neuron and its partner (after the x)",
            false => "what a neuron hands on",
        };
        match (net.has_layers(), net.pairwise) {
            (false, false) => "Use is the standard deviation of what a neuron adds".to_string(),
            (false, true) => format!("Use is the standard deviation of what {number} adds"),
            (true, _) => format!(
                "Spread is the standard deviation of {number}, and weight the root mean square of \
                 the weights with which the next layer takes it; what it adds in the end hangs on \
                 all the others"
            ),
        }
    }

    /// Where the squares are not simply those of the board.
    fn squares_seen(&self) -> String {
        let kings = &self.architecture.inputs.kings;
        let mirrored = match kings.mirror {
            true => ", on the squares of a view whose own king stands on files a to d",
            false => "",
        };
        let mean = if kings.count() > 1 { ", on the mean over king buckets" } else { "" };
        format!("{mirrored}{mean}")
    }
}

/// Use and mean, or spread and weight where layers stand behind.
fn measures(neuron: &Neuron) -> [String; 2] {
    match (neuron.use_cp, neuron.mean_cp) {
        (Some(used), Some(mean)) => [whole(used), signed(mean)],
        _ => [format!("{:.3}", neuron.spread), format!("{:.3}", neuron.weight)],
    }
}
