//! King buckets and output buckets in words.

use super::{LEFT, Part, RIGHT, SHOWN, have, percent, signed, whole};
use crate::digits::grouped;
use crate::inspect::{Inspection, KingBucket, ROLES};
use crate::report::Table;

/// Squares that are named of a bucket, and characters of a line.
const SQUARES: usize = 4;
const WIDTH: usize = 80;

impl Inspection {
    /// Where there are several.
    pub(super) fn king_buckets(&self) -> Option<Part> {
        let all = &self.rows.buckets;
        let shared = all.first()?.own_magnitude.is_some();
        let mut shown: Vec<&KingBucket> = all.iter().collect();
        shown.sort_by_key(|it| std::cmp::Reverse(it.views));
        let left = shown.split_off(shown.len().min(SHOWN));
        let about = format!(
            "King buckets: {} rows of pieces for each, by the square of a view's own king. Mean \
             magnitude is that of the weights in rows that a position can have{}.",
            crate::architecture::PIECES,
            match shared {
                true => ", with what all buckets share; own is what the bucket adds to that",
                false => "",
            },
        );
        let mut columns = vec![("bucket", RIGHT), ("king on", LEFT), ("views", RIGHT)];
        columns.extend([("rows", RIGHT), ("not seen", RIGHT), ("magnitude", RIGHT)]);
        columns.extend(shared.then_some(("own", RIGHT)));
        let mut table = Table::new(&columns).width(WIDTH);
        let views = self.activity.views as f64;
        for it in shown {
            let mut row = vec![
                it.bucket.to_string(),
                squares(it),
                percent(it.views as f64 / views),
                it.possible.to_string(),
                it.unseen.to_string(),
                format!("{:.3}", it.magnitude),
            ];
            row.extend(it.own_magnitude.map(|own| format!("{own:.3}")));
            table.row(row);
        }
        let note = (!left.is_empty()).then(|| {
            let rest: u64 = left.iter().map(|it| it.views).sum();
            let never = left.iter().filter(|it| it.views == 0).count();
            format!(
                "{} {} of the views in all; never reached: {never}.",
                have(left.len(), "more bucket"),
                percent(rest as f64 / views),
            )
        });
        let notes = note.into_iter().collect();
        Some(Part { title: "King buckets", about, tables: vec![table], notes })
    }

    /// Where there are several.
    pub(super) fn output_buckets(&self) -> Option<Part> {
        let all = &self.pieces.buckets;
        if all.is_empty() {
            return None;
        }
        let skip = self.head.as_ref().map(|it| &it.skip[..]).unwrap_or_default();
        let about = format!(
            "Output buckets: the pieces on the board choose the layers that judge. Worths as \
             above, in cp; without a piece the bucket below may judge.{}",
            if skip.is_empty() { "" } else { " Skip is what the skip neuron adds." },
        );
        let mut columns = vec![("bucket", RIGHT), ("pieces", RIGHT), ("positions", RIGHT)];
        columns.extend(ROLES.map(|role| (role, RIGHT)));
        if !skip.is_empty() {
            columns.push(("skip", RIGHT));
        }
        let mut table = Table::new(&columns).width(WIDTH);
        let mut most: Vec<usize> = (0..all.len()).collect();
        most.sort_by_key(|it| std::cmp::Reverse(all[*it].positions));
        let mut shown = most[..most.len().min(SHOWN)].to_vec();
        shown.sort_unstable();
        for it in shown.iter().map(|it| &all[*it]) {
            let [fewest, most] = it.pieces;
            let pieces = match fewest == most {
                true => fewest.to_string(),
                false => format!("{fewest}-{most}"),
            };
            let mut row = vec![it.bucket.to_string(), pieces, grouped(it.positions)];
            row.extend(
                it.values.map(|value| value.map_or("-".to_string(), |value| whole(value.mean))),
            );
            let skipped = skip.get(it.bucket).copied().flatten();
            row.extend(skipped.map(|it| format!("{} +- {}", signed(it.mean_cp), whole(it.use_cp))));
            table.row(row);
        }
        let left = &most[shown.len()..];
        let rest: u64 = left.iter().map(|it| all[*it].positions).sum();
        let note = (!left.is_empty()).then(|| {
            format!("{} {} positions in all.", have(left.len(), "more bucket"), grouped(rest))
        });
        let notes = note.into_iter().collect();
        Some(Part { title: "Output buckets", about, tables: vec![table], notes })
    }
}

/// The squares of a bucket's king, as far as there is room.
fn squares(bucket: &KingBucket) -> String {
    let named = bucket.squares.len().min(SQUARES);
    let more = match bucket.squares.len() - named {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    bucket.squares[..named].join(" ") + &more
}
