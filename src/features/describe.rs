//! Inputs in words.

use shakmaty::{Color, Role, Square};

use super::index;
use crate::architecture::{Architecture, Inputs, PIECES, Part};
use crate::point_of_view::PointOfView;
use crate::sample::Piece;

impl Inputs {
    /// The piece of a row; white where it is the view's own.
    pub fn piece(&self, row: usize) -> Option<Piece> {
        let base = row % PIECES;
        pieces().find(|&piece| row < self.rows() && index(Color::White, piece) == base)
    }

    /// A row in words: "white queen on d4", or "own queen on d4" in a player's view.
    pub fn describe(&self, row: usize) -> String {
        let Some(piece) = self.piece(row) else {
            return format!("input {row}");
        };
        let whose = match (self.views.point_of_view(), piece.color) {
            (PointOfView::White, color) => color.to_string(),
            (PointOfView::SideToMove, Color::White) => "own".to_string(),
            (PointOfView::SideToMove, Color::Black) => "opposing".to_string(),
        };
        let role = format!("{:?}", piece.role).to_lowercase();
        let bucket = match self.kings.count() {
            1 => String::new(),
            _ => format!(", king bucket {}", row / PIECES),
        };
        format!("{whose} {role} on {}{bucket}", piece.square)
    }
}

impl Architecture {
    /// A number of an array in words: "accumulator.weight of input 12 (own pawn on e2) to neuron 3".
    pub fn describe(&self, part: Part, i: usize) -> String {
        let (hidden, maps) = (self.hidden, self.maps());
        let of_bucket = |bucket: usize| match self.buckets {
            1 => String::new(),
            _ => format!(" of bucket {bucket}"),
        };
        match part {
            Part::Accumulator => {
                let (row, neuron) = (i / hidden, i % hidden);
                let piece = self.inputs.describe(row);
                format!("accumulator.weight of input {row} ({piece}) to neuron {neuron}")
            }
            Part::Factoriser => {
                let (row, neuron) = (i / hidden, i % hidden);
                format!("factoriser.weight of input {row} to neuron {neuron}")
            }
            Part::AccumulatorBias => format!("accumulator.bias of neuron {i}"),
            Part::Layer(layer) => {
                let [inputs, outputs] = maps[layer];
                let (bucket, output, input) =
                    (i / inputs / outputs, i / inputs % outputs, i % inputs);
                let bucket = of_bucket(bucket);
                format!("head.{layer}.weight of input {input} to neuron {output}{bucket}")
            }
            Part::LayerBias(layer) => {
                let [_, outputs] = maps[layer];
                let bucket = of_bucket(i / outputs);
                format!("head.{layer}.bias of neuron {}{bucket}", i % outputs)
            }
            Part::Output => {
                let [inputs, _] = maps[maps.len() - 1];
                let (bucket, input) = (of_bucket(i / inputs), i % inputs);
                if self.has_layers() {
                    return format!("output.weight of neuron {input}{bucket}");
                }
                let (view, neuron) =
                    (input / self.outputs_of_view(), input % self.outputs_of_view());
                let view = match (self.views(), view) {
                    (1, _) => "",
                    (_, 0) => " (side to move)",
                    _ => " (other side)",
                };
                format!("output.weight of neuron {neuron}{view}{bucket}")
            }
            Part::OutputBias => format!("output.bias{}", of_bucket(i)),
        }
    }
}

/// Every piece on every square.
pub fn pieces() -> impl Iterator<Item = Piece> {
    Color::ALL.into_iter().flat_map(|color| {
        Role::ALL.into_iter().flat_map(move |role| {
            Square::ALL.into_iter().map(move |square| Piece { square, color, role, castles: false })
        })
    })
}
