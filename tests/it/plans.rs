//! Lists of positions.

use nnuance::architecture::Inputs;
use nnuance::features::{Row, named};

use crate::games;
use crate::kit::*;

/// Nets with one list a position or two, one king bucket or several, and more rows than 16 bits.
fn nets() -> Vec<Architecture> {
    let kings = |count: u8| {
        let table = std::array::from_fn::<u8, 32, _>(|square| square as u8 % count);
        Kings::new(true, if count == 1 { &[] } else { &table }).expect("every bucket has a square")
    };
    let net = |views, sets: &[&str], king_buckets, buckets| {
        let sets = sets.iter().map(|name| named(name, kings(king_buckets)).expect("built in"));
        let inputs = Inputs::new(views, sets.collect(), false);
        Architecture { inputs, buckets, ..Architecture::simple(views, 8, Activation::SCReLU) }
    };
    vec![
        net(Views::Perspective, &["pieces"], 1, 1),
        net(Views::Perspective, &["pieces"], 5, 3),
        net(Views::SideToMove, &["pieces"], 1, 8),
        net(Views::Perspective, &["pieces", "attack-counts"], 1, 8),
        net(Views::Perspective, &["pieces", "attack-counts"], 4, 1),
        net(Views::Perspective, &["pieces", "threats"], 1, 1),
        net(Views::Perspective, &["halfka-hm", "threats", "threat-kinds"], 3, 5),
    ]
}

/// Nets of several sets with several king buckets had blank lists in all but the first.
#[test]
fn lists_of_positions_equal_their_rows() {
    let samples = games::recorded(600);
    for net in nets() {
        let inputs = Encoder::net(&net).encode(&samples).inputs;
        let lists = inputs.one_hot().lists();
        let all: Vec<usize> = lists.indices.iter().collect();
        let rows = samples.iter().flat_map(|sample| net.inputs.lists(&sample.position));
        for (list, rows) in all.chunks(lists.places).zip(rows) {
            let mut found: Vec<usize> =
                list.iter().copied().filter(|row| *row < lists.rows).collect();
            let copies = |row: &Row| std::iter::repeat_n(row.number as usize, row.times as usize);
            let mut right: Vec<usize> = rows.entries().iter().flat_map(copies).collect();
            found.sort_unstable();
            right.sort_unstable();
            assert_eq!(found, right, "{net}");
        }
    }
}
