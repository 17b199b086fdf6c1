//! What the source code of every language is made from: rounded terms, in arrays.

use super::names::Names;
use super::shape::{Array, Axis, ShapeError, arrays};
use crate::terms::{Kind, TermList};

/// Weights, and what a reader has to know about them.
#[derive(Clone, Copy, Debug)]
pub struct Tuned<'a> {
    pub list: &'a TermList,
    /// Middlegame and endgame by term, in centipawns.
    pub weights: &'a [[f64; 2]],
    /// Centipawns for the side to move.
    pub tempo: f64,
    /// Centipawns a unit of logit.
    pub scale: f64,
    /// Where the numbers come from, in a sentence.
    pub source: &'a str,
    /// How middlegame and endgame become one value.
    pub tapering: Tapering,
}

/// How middlegame and endgame become one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tapering {
    /// As our own terms do, with a scale factor of endgames or without.
    Ours { scale_factor: bool },
    /// As the engine does that printed the traces: its phase with all pieces on the board and its
    /// normal scale factor, where they are known.
    Engine(Option<[f64; 2]>),
}

/// Where a board table begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As a diagram shows the board.
    A8First,
    /// As most programs number squares.
    A1First,
}

/// The integers of the source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Engines that keep both phases in one integer of 32 bits need these.
    Bits16,
    Bits32,
}

/// What can be chosen about source code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub order: Order,
    pub width: Width,
}

/// Why terms do not become source code.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("the list has {terms} terms but there are {weights} weights; export the list trained")]
    Weights { terms: usize, weights: usize },
    #[error(
        "the {phase} weight of {name} is {value}, no finite number; train again with less rate"
    )]
    NotFinite { name: String, phase: &'static str, value: f64 },
    #[error("the {phase} weight of {name} is {value}, beyond {bits} bits; {cure}")]
    TooLarge { name: String, phase: &'static str, value: f64, bits: u32, cure: &'static str },
}

/// An array with its identifier.
pub(super) struct Rounded {
    pub(super) array: Array,
    pub(super) identifier: String,
    /// In the order they are written in; the middlegame of a COMPLEXITY term is 0.
    pub(super) values: Vec<[i32; 2]>,
}

pub(super) const PHASES: [&str; 2] = ["middlegame", "endgame"];

/// The name of the constant of the tempo, before the case of a language.
pub(super) const TEMPO: &str = "tempo";

impl Order {
    /// The place in a board table of a square, a1 = 0, seen by the side that owns the piece.
    pub const fn place(self, square: usize) -> usize {
        match self {
            Order::A1First => square,
            Order::A8First => square ^ 56,
        }
    }
}

impl Width {
    pub(super) const fn bits(self) -> u32 {
        match self {
            Width::Bits16 => 16,
            Width::Bits32 => 32,
        }
    }

    /// Halves are rounded away from zero.
    fn round(self, value: f64, name: &str, phase: &'static str) -> Result<i32, SourceError> {
        if !value.is_finite() {
            return Err(SourceError::NotFinite { name: name.to_string(), phase, value });
        }
        let (low, high, cure) = match self {
            Width::Bits16 => (f64::from(i16::MIN), f64::from(i16::MAX), "write 32 bits instead"),
            Width::Bits32 => (f64::from(i32::MIN), f64::from(i32::MAX), "train with less rate"),
        };
        let rounded = value.round();
        if !(low..=high).contains(&rounded) {
            let (name, bits) = (name.to_string(), self.bits());
            return Err(SourceError::TooLarge { name, phase, value, bits, cure });
        }
        Ok(rounded as i32)
    }
}

impl Tuned<'_> {
    /// The arrays in the order of the list, their integers in the order of the style.
    pub(super) fn rounded(
        &self,
        style: Style,
        names: &mut Names,
    ) -> Result<Vec<Rounded>, SourceError> {
        let (terms, weights) = (self.list.len(), self.weights.len());
        if terms != weights {
            return Err(SourceError::Weights { terms, weights });
        }
        let mut all = Vec::new();
        for array in arrays(self.list)? {
            let mut values = vec![[0; 2]; array.terms.len()];
            for (place, term) in array.terms.iter().enumerate() {
                let place = if array.is_board() { board_place(place, style) } else { place };
                let name = &self.list.terms[*term].name;
                let phases = if array.kind == Kind::Complexity { 1..2 } else { 0..2 };
                for phase in phases {
                    let value = self.weights[*term][phase];
                    values[place][phase] = style.width.round(value, name, PHASES[phase])?;
                }
            }
            let identifier = names.make(&array.name);
            all.push(Rounded { array, identifier, values });
        }
        Ok(all)
    }

    pub(super) fn rounded_tempo(&self, width: Width) -> Result<i32, SourceError> {
        width.round(self.tempo, TEMPO, "only")
    }
}

/// Boards are the last axis, so that every 64 places are one.
fn board_place(place: usize, style: Style) -> usize {
    place / 64 * 64 + style.order.place(place % 64)
}

impl Rounded {
    /// One line for a comment: name, kind and axes.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{}: {}", self.array.name, self.array.kind.name());
        for axis in &self.array.axes {
            text.push_str("; [");
            text.push_str(&match axis {
                Axis::Squares => "square".to_string(),
                Axis::Numbers { first: 0, len } => format!("0 to {}", len - 1),
                Axis::Numbers { first, .. } => {
                    format!("{first} to {}, less {first}", axis.label(axis.len() - 1))
                }
                Axis::Labels(labels) => labels.join(", "),
            });
            text.push(']');
        }
        text
    }
}
