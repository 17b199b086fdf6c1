//! An inspection as tables of 80 columns.

use maud::{Markup, html};

use super::{BANDS, Inspection, NeuronMap, ROLES};
use crate::digits::{format_decimal_percent, group_digits};
use crate::draw::{
    Section,
    board::{format_whole, heat_board},
    page::render_figure,
    sprite::Sprite,
};
use crate::report::{TextTable, wrap_sentence};

const SHOWN: usize = 10;
/// Number of rows with the largest effect that are shown.
const SHOWN_ROWS: usize = 20;

pub(super) struct TextSection {
    pub title: &'static str,
    pub about: String,
    pub table: TextTable,
}

impl Inspection {
    pub fn to_text(&self) -> String {
        let positions = group_digits(self.positions);
        let mut out =
            wrap_sentence(&format!("{}, {}, {positions} positions", self.net, self.scales));
        for TextSection { title, about, table } in self.text_sections() {
            out += &format!("\n{title}: {about}\n\n{table}");
        }
        out
    }

    pub(super) fn text_sections(&self) -> Vec<TextSection> {
        let mut sections = vec![self.layer_table(), self.neuron_table(), self.piece_table()];
        sections.extend(self.row_table());
        sections
    }

    fn layer_table(&self) -> TextSection {
        let titles = ["<layer", "<activation", "neurons", "dead", "saturated", "at 0", "at clip"];
        let mut table = TextTable::with_titles(&titles);
        for layer in &self.layers {
            let count = layer.neurons.len() as f64;
            let mean = |share: fn(&super::Neuron) -> f64| {
                format_decimal_percent(layer.neurons.iter().map(share).sum::<f64>() / count, 1)
            };
            table.add_row([
                layer.name.clone(),
                layer.activation.to_string(),
                layer.neurons.len().to_string(),
                layer.count_dead().to_string(),
                layer.count_saturated().to_string(),
                mean(|it| it.zero_share),
                mean(|it| it.clipped_share),
            ]);
        }
        let about = "dead neurons are always 0, saturated ones always at the clip".into();
        TextSection { title: "Layers", about, table }
    }

    fn neuron_table(&self) -> TextSection {
        let direct = self.layers.len() == 1;
        let used = if direct { "use, cp" } else { "use" };
        let mut table = TextTable::with_titles(&["neuron", used, "at 0", "at clip"]);
        for neuron in self.layers[0].by_use().into_iter().take(SHOWN) {
            let usage = neuron.usage;
            let used = if direct { format_whole(usage) } else { format!("{usage:.3}") };
            let [zero, clipped] = [neuron.zero_share, neuron.clipped_share]
                .map(|share| format_decimal_percent(share, 1));
            table.add_row([neuron.neuron.to_string(), used, zero, clipped]);
        }
        let about = match direct {
            true => "use is the standard deviation of a neuron's contribution",
            false => "use is the standard deviation of the output times the weights on it",
        };
        TextSection { title: "Neurons", about: about.into(), table }
    }

    fn row_table(&self) -> Option<TextSection> {
        let mut table = TextTable::with_titles(&["<row", "active", "cp each"]);
        for row in self.rows.iter().take(SHOWN_ROWS) {
            let (active, mean) = (format!("{:.2}", row.active), format!("{:+.1}", row.mean));
            table.add_row([row.row.clone(), active, mean]);
        }
        let about = "how often a side has them active, and their value for it each time";
        let section = TextSection { title: "Rows", about: about.into(), table };
        (!self.rows.is_empty()).then_some(section)
    }

    fn piece_table(&self) -> TextSection {
        let [opening, middlegame, endgame] = BANDS.map(|(name, _)| name);
        let mut table = TextTable::with_titles(&["<piece, cp", opening, middlegame, endgame]);
        for (role, values) in ROLES.iter().zip(&self.values) {
            let cell = |value: &Option<super::PieceValue>| {
                value.map_or("-".to_string(), |value| format_whole(value.mean))
            };
            table.add_row([role.to_string()].into_iter().chain(values.iter().map(cell)));
        }
        let from = group_digits(self.removed_from);
        let about = format!("evaluation with a piece minus that without it, {from} positions");
        TextSection { title: "Pieces", about, table }
    }
}

/// Number of a neuron's boards in a row of the picture. Two rows have a gap between them.
const ROW: usize = 6;
const STEP: usize = 9;

impl Inspection {
    pub fn page_sections(&self) -> Vec<Section> {
        let to_section = |section: TextSection| {
            let picture = match section.title {
                "Neurons" => self.draw_boards(),
                "Pieces" => self.square_boards(),
                _ => html! {},
            };
            let body = html! {
                p.soft { (section.about) }
                (section.table.to_markup())
                (picture)
            };
            Section::new(section.title, body)
        };
        self.text_sections().into_iter().map(to_section).collect()
    }

    fn draw_boards(&self) -> Markup {
        if self.maps.is_empty() {
            return html! {};
        }
        html! {
            p.soft {
                "Weights of the neurons with the most use, a pixel a square, rank 8 at the top: \
                 pawn to king of the own side above, of the other side below. Blue is positive, \
                 orange negative, each neuron on its own scale."
                @if self.architecture.inputs.kings().has_effect() {
                    " Squares are those of a perspective whose king stands on files a to d; means \
                     over king buckets."
                }
            }
            div.figures {
                @for map in &self.maps {
                    @let title = format!("Neuron {}", map.neuron);
                    (render_figure(&title, "", "", &html! {
                        img.pixels src=(neuron_sprite(map).data_address()) alt=(title) {}
                    }))
                }
            }
        }
    }

    fn square_boards(&self) -> Markup {
        html! {
            p.soft { "Mean value by square in centipawns, seen by the piece's owner." }
            div.boards {
                @for squares in &self.squares {
                    (draw_board(&format!("{}, middlegame", squares.role), &squares.middlegame))
                    (draw_board(&format!("{}, endgame", squares.role), &squares.endgame))
                }
            }
        }
    }
}

/// Draws the boards of a neuron. The first and the last rank of pawns are clear.
fn neuron_sprite(map: &NeuronMap) -> Sprite {
    let rows = map.boards.len().div_ceil(ROW);
    let mut sprite = Sprite::new(ROW * STEP - 1, rows * STEP - 1);
    let mut boards = map.boards.clone();
    for pawns in boards.iter_mut().step_by(ROW) {
        (0..8).chain(56..64).for_each(|square| pawns[square] = f32::NAN);
    }
    // `max` ignores NaN.
    let span = boards.iter().flatten().fold(0.0, |span: f32, it| span.max(it.abs()));
    for (board, weights) in boards.iter().enumerate() {
        sprite.draw_board(board % ROW * STEP, board / ROW * STEP, weights, span);
    }
    sprite
}

pub(super) fn draw_board(title: &str, values: &[Option<f64>]) -> Markup {
    render_figure(title, "", "board", &heat_board(title, values))
}
