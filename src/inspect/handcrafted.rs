//! Contents of handcrafted terms: piece values, squares and mobility.

use maud::{Markup, html};
use serde::Serialize;

use super::ROLES;
use super::text::draw_board;
use crate::draw::board::format_whole;
use crate::draw::page::render_figure;
use crate::draw::{Chart, ChartLine, Section};
use crate::hce::HceWeights;
use crate::report::TextTable;

/// Values in centipawns of the terms that have the names of built-in terms. Pairs are opening and
/// endgame. Roles without such terms are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedTerms {
    /// Material plus the mean of its squares.
    pub values: Vec<(&'static str, [f64; 2])>,
    /// Material plus piece-square values, a1 first.
    pub squares: Vec<(&'static str, [Vec<Option<f64>>; 2])>,
    /// Values of mobility, by the number of squares within reach.
    pub mobility: Vec<(&'static str, Vec<[f64; 2]>)>,
}

const PHASES: [&str; 2] = ["opening", "endgame"];

pub fn inspect_terms(weights: &HceWeights) -> InspectedTerms {
    let find_value = |name: String| {
        let term = weights.list.terms.iter().position(|term| term.name == name)?;
        Some(weights.values[term])
    };
    let (mut values, mut squares, mut mobility) = (Vec::new(), Vec::new(), Vec::new());
    for role in ROLES.into_iter().chain(["king"]) {
        let material = find_value(format!("material.{role}"));
        let square = |square: usize| {
            if role == "pawn" && matches!(square / 8, 0 | 7) {
                return None;
            }
            let file = char::from(b'a' + (square % 8) as u8);
            find_value(format!("psqt.{role}.{file}{}", square / 8 + 1))
        };
        let table: Vec<Option<[f64; 2]>> = (0..64).map(square).collect();
        let board = |phase: usize| -> Vec<Option<f64>> {
            let base = material.map_or(0.0, |it| it[phase]);
            table.iter().map(|it| Some(it.as_ref()?[phase] + base)).collect()
        };
        let has_table = is_weighted(table.iter().flatten());
        if let Some(material) = material {
            let mean = |phase: usize| {
                let known: Vec<f64> = board(phase).into_iter().flatten().collect();
                known.iter().sum::<f64>() / known.len() as f64
            };
            values.push((role, if has_table { [0, 1].map(mean) } else { material }));
        }
        if has_table {
            squares.push((role, [0, 1].map(board)));
        }
        let reach: Vec<[f64; 2]> =
            (0..28).map_while(|count| find_value(format!("mobility.{role}.{count}"))).collect();
        if is_weighted(reach.iter()) {
            mobility.push((role, reach));
        }
    }
    InspectedTerms { values, squares, mobility }
}

fn is_weighted<'a>(mut values: impl Iterator<Item = &'a [f64; 2]>) -> bool {
    values.any(|value| *value != [0.0; 2])
}

impl InspectedTerms {
    pub fn value_table(&self) -> TextTable {
        let mut table = TextTable::with_titles(&["<piece, cp", PHASES[0], PHASES[1]]);
        for (role, value) in &self.values {
            table.add_row([role.to_string(), format_whole(value[0]), format_whole(value[1])]);
        }
        table
    }

    pub fn page_sections(&self) -> Vec<Section> {
        let mut sections = Vec::new();
        let mut add = |count: usize, title: &str, about: &str, body: Markup| {
            let body = html! { p.soft { (about) } (body) };
            sections.extend((count > 0).then(|| Section::new(title, body)));
        };
        let about = "Material and the mean of its squares.";
        add(self.values.len(), "Pieces", about, self.value_table().to_markup());
        let about = "Material and square in centipawns, seen by the piece's owner.";
        add(self.squares.len(), "Squares", about, self.draw_boards());
        add(self.mobility.len(), "Mobility", "", self.draw_curves());
        sections
    }

    fn draw_boards(&self) -> Markup {
        html! {
            div.boards {
                @for (role, boards) in &self.squares {
                    @for (phase, values) in PHASES.iter().zip(boards) {
                        (draw_board(&format!("{role}, {phase}"), values))
                    }
                }
            }
        }
    }

    fn draw_curves(&self) -> Markup {
        let chart = |(role, values): &(&str, Vec<[f64; 2]>)| {
            let line = |phase: usize| ChartLine {
                name: PHASES[phase].to_string(),
                colour: phase,
                points: (0_u8..).zip(values).map(|(x, it)| [x.into(), it[phase]]).collect(),
                ..ChartLine::default()
            };
            let lines = vec![line(0), line(1)];
            let (x, y) = ("squares within reach", "centipawns");
            let chart = Chart { title: role, x, y, lines, ..Chart::default() };
            render_figure(role, "", "", &chart.to_markup())
        };
        html! { div.figures { @for curve in &self.mobility { (chart(curve)) } } }
    }
}
