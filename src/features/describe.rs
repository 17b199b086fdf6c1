//! Inputs in words.

use shakmaty::{Color, Role, Square};

use super::{Features, PointOfView, chess768};
use crate::sample::Man;

impl Features {
    /// The man that switches an input on, seen by White or, as a white man, by the player whose
    /// view it is; None beyond the last input.
    pub fn man(&self, input: usize) -> Option<Man> {
        let base = input % chess768::INPUTS;
        men().find(|&man| input < self.inputs && chess768::index(Color::White, man) == base)
    }

    /// An input in words: "white queen on d4", or "own queen on d4" where the view is a player's.
    pub fn describe(&self, input: usize) -> String {
        let Some(man) = self.man(input) else {
            return format!("input {input}");
        };
        let whose = match (self.point_of_view, man.color) {
            (PointOfView::White, color) => color.to_string(),
            (PointOfView::SideToMove, Color::White) => "own".to_string(),
            (PointOfView::SideToMove, Color::Black) => "opposing".to_string(),
        };
        let role = format!("{:?}", man.role).to_lowercase();
        format!("{whose} {role} on {}", man.square)
    }
}

/// Every man on every square.
pub fn men() -> impl Iterator<Item = Man> {
    Color::ALL.into_iter().flat_map(|color| {
        Role::ALL.into_iter().flat_map(move |role| {
            Square::ALL.into_iter().map(move |square| Man { square, color, role, castles: false })
        })
    })
}
