//! All groups of terms.

mod king;
mod pawns;
mod pieces;
mod threats;

use super::Group;

/// Groups of a kind: name, axes, weights of the i-th term before training, and what is counted.
macro_rules! groups {
    ($kind:ident: $($name:literal [$($axis:expr),*] $start:expr => $counts:literal,)*) => {
        &[$($crate::hce::terms::Group {
            name: $name,
            counts: $counts,
            kind: $crate::terms::TermKind::$kind,
            axes: &[$($axis),*],
            start: $start,
        },)*]
    };
}

use groups;

/// Tables of groups. Kinds are in the order of [`TermKind`](crate::terms::TermKind).
const TABLES: [&[Group]; 6] =
    [pieces::GROUPS, pawns::GROUPS, threats::GROUPS, king::GROUPS, king::SAFETY, king::COMPLEXITY];

const LEN: usize = {
    let mut len = 0;
    let mut i = 0;
    while i < TABLES.len() {
        len += TABLES[i].len();
        i += 1;
    }
    len
};

/// All groups in the order that numbers the terms.
pub const GROUPS: [Group; LEN] = {
    let mut all = [TABLES[0][0]; LEN];
    let (mut group, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut i = 0;
        while i < TABLES[table].len() {
            all[group] = TABLES[table][i];
            group += 1;
            i += 1;
        }
        table += 1;
    }
    all
};
