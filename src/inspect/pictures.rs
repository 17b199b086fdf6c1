//! An inspection as parts of a page: what neurons look at, how weights spread, what squares are
//! worth.

use maud::{Markup, html};

use super::maps::counting;
use super::text::Part;
use super::{Histogram, Inspection, Map, SquareTable};
use crate::draw::Section;
use crate::draw::board::heat;
use crate::draw::chart::bars;
use crate::draw::page::figure;
use crate::draw::sprite::Sprite;

/// Boards of a neuron stand in two rows of six, with a gap between them.
const ROW: usize = 6;
const STEP: usize = 9;

impl Inspection {
    /// Neurons, weights, pieces, squares and terms, each with its pictures.
    pub fn pictures(&self) -> Vec<Section> {
        let section = |part: &Part| {
            let picture = match part.title {
                "Neurons" => self.maps(),
                "Layers" => self.behind(),
                "Weights" => self.spread(),
                "Squares" => self.squares(),
                _ => html! {},
            };
            let body = html! {
                p { (part.about) }
                @for table in &part.tables { (table.markup()) }
                @for note in &part.notes { p.soft { (note) } }
                (picture)
            };
            Section::new(part.title, body)
        };
        self.parts().iter().map(section).collect()
    }

    /// The feature maps alone, four in a row, as a PNG of four pixels a square. Where there are king
    /// buckets, a row is one neuron: the mean over them, and those with the most views.
    pub fn sheet(&self) -> Vec<u8> {
        const ACROSS: usize = 4;
        const GAP: usize = 3;
        let boards = self.maps.iter().flat_map(|map| {
            let buckets = map.buckets.iter().map(|it| &it.boards);
            std::iter::once(&map.boards).chain(buckets).take(ACROSS).map(Some).chain(
                // So that the next neuron begins a row.
                (map.buckets.len() + 1..ACROSS).filter(|_| !map.buckets.is_empty()).map(|_| None),
            )
        });
        let counting = counting(&self.architecture.inputs);
        let sprites: Vec<Option<Sprite>> =
            boards.map(|boards| boards.map(|it| sprite(&counting, it))).collect();
        let first = sprites.iter().flatten().next();
        let (width, height) = first.map_or((1, 1), Sprite::size);
        let (wide, high) = (width + GAP, height + GAP);
        let rows = sprites.len().div_ceil(ACROSS).max(1);
        let mut sheet = Sprite::new(ACROSS * wide + GAP, rows * high + GAP);
        for (place, sprite) in sprites.iter().enumerate() {
            if let Some(sprite) = sprite {
                sheet.put(GAP + place % ACROSS * wide, GAP + place / ACROSS * high, sprite);
            }
        }
        sheet.png(4, true)
    }

    fn maps(&self) -> Markup {
        let whose = self.capitals;
        let inputs = &self.architecture.inputs;
        let counting = counting(inputs);
        let neuron = |map: &Map| {
            let about = self.about(map);
            let picture = |boards: &[Vec<f32>], about: &str| {
                html! { img.pixels src=(sprite(&counting, boards).address()) alt=(about) {} }
            };
            let buckets = &self.rows.buckets;
            let body = html! {
                (picture(&map.boards, &about))
                @if !map.buckets.is_empty() {
                    details {
                        summary { (map.buckets.len()) " of " (buckets.len()) " king buckets" }
                        @for it in &map.buckets {
                            p.soft { "Bucket " (it.bucket) ", king on " (buckets[it.bucket].squares.join(" ")) }
                            (picture(&it.boards, &format!("bucket {}", it.bucket)))
                        }
                    }
                }
            };
            figure(&format!("Neuron {}", map.neuron), &about, "", &body)
        };
        html! {
            p {
                "The weights of the neurons that move the evaluation most, a pixel a square with \
                 rank 8 at the top: pawn, knight, bishop, rook, queen and king, " (whose)
                " above and the other side's below. Blue is above zero, orange below, each neuron \
                 on a scale of its own. "
                @if !self.architecture.has_layers() {
                    "Two outputs are those of the side to move's view and of the other's."
                }
                @if inputs.kings.count() > 1 {
                    " The large boards are means over king buckets, as often as each is on; the \
                     buckets with the most views stand below them."
                }
                @if inputs.kings.mirror {
                    " Views are turned so that their own king stands on files a to d."
                }
            }
            div.figures { @for map in &self.maps { (neuron(map)) } }
        }
    }

    /// A neuron in a line.
    fn about(&self, map: &Map) -> String {
        let it = &self.activity.neurons[map.neuron];
        let output: Vec<String> = match self.architecture.buckets {
            1 => map.output.iter().map(|it| format!("{it:+.2}")).collect(),
            _ => Vec::new(),
        };
        let mut words = match it.use_cp {
            Some(used) => format!("use {used:.0} cp, "),
            None => format!("spread {:.3}, weight {:.3}, ", it.spread, it.weight),
        };
        if !output.is_empty() {
            words += &format!("output {}, ", output.join(" and "));
        }
        if let Some(partner) = it.partner {
            words += &format!("times neuron {partner}, ");
        }
        format!(
            "{words}at 0 in {:.1} %, at the clip in {:.1} % of views",
            100.0 * it.zero_share,
            100.0 * it.clipped_share,
        )
    }

    fn spread(&self) -> Markup {
        let layers = self.layers.iter().filter(|layer| layer.weights > 1);
        html! {
            div.figures {
                @for layer in layers {
                    (spread(&layer.name, "weight", &layer.histogram, false))
                }
                (spread("before the activation", "view", &self.activity.before, true))
            }
        }
    }

    /// The values of the layers behind the accumulators.
    fn behind(&self) -> Markup {
        let layers = self.head.iter().flat_map(|head| &head.layers).enumerate();
        html! {
            div.figures {
                @for (number, layer) in layers {
                    (spread(&format!("head.{number} before the activation"), "position",
                        &layer.before, true))
                }
            }
        }
    }

    fn squares(&self) -> Markup {
        let beside = self.pieces.hce.as_ref();
        html! {
            p {
                "Centipawns that a piece is worth on a square in this evaluation, seen by its owner: \
                 middlegame, then endgame. The faintest colour is the mean. Squares on which too \
                 few pieces stood are blank, and kings are measured from their own mean."
            }
            @for (role, table) in self.pieces.tables.iter().enumerate() {
                h3 { (table.role) }
                div.boards {
                    (boards("", table))
                    @if let Some(beside) = beside { (boards("HCE, ", &beside.tables[role])) }
                }
            }
        }
    }
}

/// The boards of a neuron; squares where no pawn can stand are clear, and those where no king.
fn sprite(counting: &[bool], boards: &[Vec<f32>]) -> Sprite {
    let rows = boards.len().div_ceil(ROW);
    let mut sprite = Sprite::new(ROW * STEP - 1, rows * STEP - 1);
    let boards: Vec<[f32; 64]> = boards
        .iter()
        .enumerate()
        .map(|(board, weights)| {
            let weight = |square: usize| match counting[board * weights.len() + square] {
                true => weights[square],
                false => f32::NAN,
            };
            std::array::from_fn(weight)
        })
        .collect();
    // Comparisons with what is no number are false, so that it never is the largest.
    let span = boards.iter().flatten().fold(0.0, |span: f32, it| span.max(it.abs()));
    for (board, weights) in boards.iter().enumerate() {
        sprite.board(board % ROW * STEP, board / ROW * STEP, weights, span);
    }
    sprite
}

/// A histogram; some of its bars have their lower ends below them. Where it is `open`, the first
/// and the last bar hold what lies beyond, too.
fn spread(title: &str, what: &str, values: &Histogram, open: bool) -> Markup {
    let last = values.counts.len() - 1;
    let below = format!("below {:.2}", values.edge(1));
    let above = format!("from {:.2}", values.edge(last));
    let mut marks: Vec<(usize, String)> =
        (0..=last).step_by(8).map(|bar| (bar, format!("{:.2}", values.edge(bar)))).collect();
    if open {
        marks[0].1 = below.clone();
        marks.push((last, above.clone()));
    }
    let said = |bar: usize, count: u64| {
        let range = match bar {
            0 if open => below.clone(),
            bar if open && bar == last => format!("{above} on"),
            bar => format!("{:.2} to {:.2}", values.edge(bar), values.edge(bar + 1)),
        };
        format!("{range}: {count} {what}{}", if count == 1 { "" } else { "s" })
    };
    figure(title, "", "", &bars(title, &values.counts, &marks, &said))
}

/// Middlegame and endgame of a role.
fn boards(whose: &str, table: &SquareTable) -> Markup {
    let board = |phase: usize, name: &str| {
        let values: [Option<f64>; 64] = std::array::from_fn(|square| table.values[square][phase]);
        let known = || values.iter().flatten();
        let mean = known().sum::<f64>() / known().count().max(1) as f64;
        let span = known().fold(0.0, |span: f64, value| span.max((value - mean).abs()));
        let title = format!("{whose}{name}");
        figure(&title, "", "board", &heat(&title, &values, mean, span))
    };
    html! { (board(0, "middlegame")) (board(1, "endgame")) }
}
