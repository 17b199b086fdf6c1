//! The strips of a batch's lists for a GPU.

use nnuance::model::ops::strips::{ROUND, Strips};

fn places(strips: &Strips, lists: usize) -> Vec<Vec<usize>> {
    let order: Vec<usize> = match strips.order.is_empty() {
        true => (0..lists).collect(),
        false => strips.order.iter().map(|list| *list as usize).collect(),
    };
    order.chunks(strips.length).map(<[usize]>::to_vec).collect()
}

#[test]
fn strips_of_several_king_buckets() {
    let (lists, kings) = (10_000, 4);
    // None of the third bucket.
    let king = |list: usize| [0, 0, 3, 0, 1][list % 5];
    let groups: Vec<u8> = (0..lists).map(|list| king(list) as u8).collect();
    let strips = Strips::new(lists, &groups, kings);
    assert_eq!((strips.length, strips.starts.len()), (ROUND, kings + 1));
    assert_eq!(strips.starts[2], strips.starts[3]);
    let found = places(&strips, lists);
    assert_eq!(found.len(), strips.strip_count());
    let mut seen = Vec::new();
    for (number, strip) in found.iter().enumerate() {
        let of_strip = |start: &&u32| **start as usize <= number;
        let bucket = strips.starts.iter().take_while(of_strip).count() - 1;
        for &list in strip.iter().filter(|list| **list < lists) {
            assert!(king(list) == bucket, "list {list} in strip {number}");
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
        let strips = Strips::new(lists, &[], 1);
        assert_eq!((strips.length, strips.strip_count(), strips.order.len()), (length, count, 0));
    }
}
