//! The strips that a GPU takes the lists of a batch in.

use nnuance::model::ops::strips::{ROUND, Strips};

/// What stands at the places of each strip.
fn places(strips: &Strips, lists: usize) -> Vec<Vec<usize>> {
    let order: Vec<usize> = match strips.order.is_empty() {
        true => (0..lists).collect(),
        false => strips.order.iter().map(|list| *list as usize).collect(),
    };
    order.chunks(strips.length).map(<[usize]>::to_vec).collect()
}

#[test]
fn strips_of_several_king_buckets() {
    let (lists, places_each, kings) = (10_000, 2, 4);
    let rows = 768 * kings;
    // None of the third bucket; some lists are empty.
    let king = |list: usize| [0, 0, 3, 0, 1][list % 5];
    let input = |list: usize, place: usize| match list % 11 {
        0 => rows as u16,
        _ => (768 * king(list) + 2 * (list % 300) + place) as u16,
    };
    let all: Vec<u16> = (0..lists).flat_map(|list| [input(list, 0), input(list, 1)]).collect();
    let strips = Strips::new(&all, places_each, rows, kings);
    assert_eq!((strips.length, strips.starts.len()), (ROUND, kings + 1));
    assert_eq!(strips.starts[2], strips.starts[3]);
    let found = places(&strips, lists);
    assert_eq!(found.len(), strips.count());
    let mut seen = Vec::new();
    for (number, strip) in found.iter().enumerate() {
        let of_strip = |start: &&u32| **start as usize <= number;
        let bucket = strips.starts.iter().take_while(of_strip).count() - 1;
        for &list in strip.iter().filter(|list| **list < lists) {
            assert!(list % 11 == 0 || king(list) == bucket, "list {list} in strip {number}");
            seen.push(list);
        }
        assert!(strip.iter().filter(|list| **list < lists).is_sorted(), "strip {number}");
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..lists).collect::<Vec<_>>());
}

#[test]
fn strips_of_one_king_bucket() {
    for (lists, length, count) in
        [(1, 1024, 1), (1024, 1024, 1), (1025, 1024, 2), (65_536, 1024, 64), (131_072, 2048, 64)]
    {
        let strips = Strips::new(&vec![768; lists], 1, 768, 1);
        assert_eq!((strips.length, strips.count(), strips.order.len()), (length, count, 0));
    }
}
