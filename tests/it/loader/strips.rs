//! The strips of a batch's lists for a GPU.

use nnuance::model::ops::strips::{ROUND, Strips};

fn slots(strips: &Strips, lists: usize) -> Vec<Vec<usize>> {
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
    let king_buckets: Vec<u8> = (0..lists).map(|list| king(list) as u8).collect();
    let strips = Strips::new(lists, &king_buckets, kings);
    assert_eq!((strips.length, strips.starts.len()), (ROUND, kings + 1));
    assert_eq!(strips.starts[2], strips.starts[3]);
    let slots = slots(&strips, lists);
    assert_eq!(slots.len(), strips.strip_count());
    let mut all_lists = Vec::new();
    for (number, strip) in slots.iter().enumerate() {
        let is_before = |start: &&u32| **start as usize <= number;
        let bucket = strips.starts.iter().take_while(is_before).count() - 1;
        for &list in strip.iter().filter(|list| **list < lists) {
            assert!(king(list) == bucket, "list {list} in strip {number}");
            all_lists.push(list);
        }
        assert!(strip.iter().filter(|list| **list < lists).is_sorted(), "strip {number}");
    }
    all_lists.sort_unstable();
    assert_eq!(all_lists, (0..lists).collect::<Vec<_>>());
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
