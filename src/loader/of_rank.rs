//! The share of a batch that one of several ranks has.

use std::ops::Range;

use super::encode::Part;
use super::lane::within;
use crate::batch::OfRank;

impl OfRank {
    /// Its part of a batch. Where chunks are planned, cuts lie between two of them as far as each
    /// rank has several.
    pub(super) fn of_parts<'a>(self, parts: Vec<Part<'a>>) -> Vec<Part<'a>> {
        if self == Self::ALL {
            return parts;
        }
        let count = parts.iter().map(|part| part.order.len()).sum();
        let Range { start, end } = self.range(count);
        let cut = |place: usize| match place == 0 || place == count {
            true => place,
            false => between_chunks(&parts, place, count / self.size),
        };
        let (start, end) = (cut(start), cut(end));
        within(parts.into_iter(), start..end)
    }
}

/// A place in a batch, or the end of a chunk next to it; a rank has `share` positions.
fn between_chunks(parts: &[Part], place: usize, share: usize) -> usize {
    let mut first = 0;
    for part in parts {
        let behind = first + part.order.len();
        if let (Some(plans), true) = (part.plans, place < behind) {
            if share < 2 * plans.chunk {
                return place;
            }
            let ends = plans.cut(part.order).scan(first, |end, order| {
                *end += order.len();
                Some(*end)
            });
            let borders = [first].into_iter().chain(ends);
            return borders.min_by_key(|border| border.abs_diff(place)).expect("a border");
        }
        first = behind;
    }
    place
}
