//! An inspection as sections of a page: tables, weights of neurons, squares.

use maud::{Markup, html};

use super::{Inspection, Map};
use crate::draw::Section;
use crate::draw::board::heat;
use crate::draw::page::figure;
use crate::draw::sprite::Sprite;

/// Boards of a neuron stand in two rows of six, with a gap between them.
const ROW: usize = 6;
const STEP: usize = 9;

impl Inspection {
    /// Layers, neurons, pieces, squares and terms.
    pub fn pictures(&self) -> Vec<Section> {
        let section = |part: super::text::Part| {
            let picture = match part.title {
                "Neurons" => self.boards(),
                "Pieces" => self.square_boards(),
                _ => html! {},
            };
            let body = html! {
                p { (part.about) }
                (part.table.markup())
                (picture)
            };
            Section::new(part.title, body)
        };
        self.parts().into_iter().map(section).collect()
    }

    fn boards(&self) -> Markup {
        html! {
            p {
                "Weights of the neurons with the most use, a pixel a square, rank 8 at the top: \
                 pawn to king of the own side above, of the other side below. Blue is positive, \
                 orange negative, each neuron on its own scale."
                @if self.architecture.inputs.kings.matter() {
                    " Squares are those of a perspective whose king stands on files a to d; means \
                     over king buckets."
                }
            }
            div.figures {
                @for map in &self.maps {
                    @let title = format!("Neuron {}", map.neuron);
                    (figure(&title, "", "", &html! {
                        img.pixels src=(sprite(map).address()) alt=(title) {}
                    }))
                }
            }
        }
    }

    fn square_boards(&self) -> Markup {
        html! {
            p { "Mean value by square in centipawns, seen by the piece's owner." }
            @for squares in &self.squares {
                h3 { (squares.role) }
                div.boards {
                    (values("middlegame", &squares.middlegame))
                    (values("endgame", &squares.endgame))
                }
            }
        }
    }
}

/// The boards of a neuron; the first and last rank of pawns are clear.
fn sprite(map: &Map) -> Sprite {
    let rows = map.boards.len().div_ceil(ROW);
    let mut sprite = Sprite::new(ROW * STEP - 1, rows * STEP - 1);
    let weight = |board: usize, square: usize| {
        let back = matches!(square / 8, 0 | 7);
        let pawn = board.is_multiple_of(ROW);
        if pawn && back { f32::NAN } else { map.boards[board][square] }
    };
    let boards: Vec<[f32; 64]> = (0..map.boards.len())
        .map(|board| std::array::from_fn(|square| weight(board, square)))
        .collect();
    // `max` ignores NaN.
    let span = boards.iter().flatten().fold(0.0, |span: f32, it| span.max(it.abs()));
    for (board, weights) in boards.iter().enumerate() {
        sprite.board(board % ROW * STEP, board / ROW * STEP, weights, span);
    }
    sprite
}

fn values(title: &str, values: &[Option<f64>]) -> Markup {
    let values: [Option<f64>; 64] = std::array::from_fn(|square| values[square]);
    let known = || values.iter().flatten();
    let mean = known().sum::<f64>() / known().count().max(1) as f64;
    let span = known().fold(0.0, |span: f64, value| span.max((value - mean).abs()));
    figure(title, "", "board", &heat(title, &values, mean, span))
}
