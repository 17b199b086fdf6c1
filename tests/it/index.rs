//! The index by input that GPUs are given, against lists searched one by one.

use nnuance::model::ops::index::Index;

/// Entries of a segment, at most.
const SEGMENT: usize = 256;

/// The lists of an input, as the segments have them.
fn lists_of(index: &Index, input: usize) -> Vec<u32> {
    let entries = &index.words[2 * index.segments()..];
    let segments = index.starts[input] as usize..index.starts[input + 1] as usize;
    let ends = segments.map(|i| index.words[2 * i] as usize..index.words[2 * i + 1] as usize);
    ends.inspect(|it| assert!((1..=SEGMENT).contains(&it.len())))
        .flat_map(|it| entries[it].iter().copied())
        .collect()
}

#[test]
fn every_list_of_an_input_is_found_in_order() {
    // Input 2 is hot, input 4 has no list, 5 is no input.
    let lists: Vec<u16> = (0..10_000_u32)
        .flat_map(|i| [2, if i % 3 == 0 { 5 } else { (i % 2) as u16 }, 5, 3 * (i % 2) as u16])
        .collect();
    let index = Index::new(&lists, 4, 5);
    for input in 0..5 {
        let slow: Vec<u32> = (0..lists.len())
            .filter(|i| usize::from(lists[*i]) == input)
            .map(|i| (i / 4) as u32)
            .collect();
        assert_eq!(lists_of(&index, input), slow, "input {input}");
    }
    assert_eq!(lists_of(&index, 2).len(), 10_000);
    assert_eq!(lists_of(&index, 4).len(), 0);
}

#[test]
fn no_lists_have_no_segments() {
    let index = Index::new(&[], 32, 768);
    assert_eq!((index.segments(), index.words.len()), (0, 0));
}
