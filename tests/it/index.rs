//! The index by input that GPUs are given, against lists searched one by one.

use nnuance::model::ops::index::Index;

/// Entries of a segment, at most.
const SEGMENT: usize = 256;
/// Lists of a piece, where there are few inputs.
const PIECE: usize = 4096;

/// A segment as the words have it.
struct Segment {
    row: usize,
    /// The first list of its piece.
    first: u32,
    lists: Vec<u32>,
}

fn segments(index: &Index) -> Vec<Segment> {
    let (heads, entries) = index.words.split_at(4 * index.segments());
    let entry = |at: u32| entries[at as usize / 2] >> (at % 2 * 16) & 0xffff;
    heads
        .chunks_exact(4)
        .map(|head| {
            let [begin, end, row, first] = head.try_into().expect("four numbers");
            assert!(begin % 2 == 0 && begin < end, "{begin} to {end}");
            let lists = (begin..end).map(|at| first + entry(at)).collect();
            Segment { row: row as usize, first, lists }
        })
        .collect()
}

/// The segments of each input in the order in which their sums are added up: input by input, of
/// each the pieces one after the other, and of these so many entries a time.
fn in_rows(lists: &[u16], places: usize, inputs: usize) -> Vec<Vec<Vec<u32>>> {
    let of_input = |input: usize| {
        let pieces = lists.chunks(PIECE * places).enumerate();
        let of_piece = pieces.map(|(piece, lists)| {
            let here = (0..lists.len()).filter(|i| usize::from(lists[*i]) == input);
            here.map(|i| (piece * PIECE + i / places) as u32).collect::<Vec<_>>()
        });
        of_piece
            .flat_map(|found| found.chunks(SEGMENT).map(<[u32]>::to_vec).collect::<Vec<_>>())
            .collect()
    };
    (0..inputs).map(of_input).collect()
}

#[test]
fn segments_come_piece_by_piece_and_their_sums_input_by_input() {
    // Input 2 is hot and twice in some lists, input 4 has no list, 5 is no input.
    let lists: Vec<u16> = (0..10_000_u32)
        .flat_map(|i| {
            let twice = if i % 7 == 0 { 2 } else { 5 };
            [2, if i % 3 == 0 { 5 } else { (i % 2) as u16 }, twice, 3 * (i % 2) as u16]
        })
        .collect();
    let (places, inputs) = (4, 5);
    let index = Index::new(&lists, places, inputs);
    let found = segments(&index);
    assert!(found.is_sorted_by_key(|segment| segment.first));
    let mut rows = vec![None; found.len()];
    for Segment { row, lists, .. } in found {
        assert_eq!(rows[row].replace(lists), None, "a row of its own");
    }
    let starts = &index.words[index.starts()..];
    assert_eq!(starts.len(), inputs + 1);
    for (input, slow) in in_rows(&lists, places, inputs).into_iter().enumerate() {
        let here = starts[input] as usize..starts[input + 1] as usize;
        assert_eq!(rows[here].iter().flatten().cloned().collect::<Vec<_>>(), slow, "{input}");
    }
    assert_eq!(starts[inputs] as usize, rows.len());
    assert_eq!(starts[4], starts[5]);
}

#[test]
fn threads_change_nothing() {
    let lists: Vec<u16> = (0..32 * 9000_u32).map(|i| (i * 7919 % 769) as u16).collect();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let alone = alone.install(|| Index::new(&lists, 32, 768));
    assert_eq!(alone, Index::new(&lists, 32, 768));
}

/// With many inputs a piece has as many lists as 16 bits can count.
#[test]
fn pieces_end_where_16_bits_do() {
    let inputs = 768 * 20;
    let lists: Vec<u16> = (0..70_000).map(|i| (i % 3) as u16).collect();
    let index = Index::new(&lists, 1, inputs);
    let found = segments(&index);
    assert!(found.iter().any(|segment| segment.first == 1 << 16));
    let mut all: Vec<u32> = found.into_iter().flat_map(|segment| segment.lists).collect();
    all.sort_unstable();
    assert_eq!(all, (0..70_000).collect::<Vec<_>>());
}

#[test]
fn no_lists_have_no_segments() {
    let index = Index::new(&[], 32, 768);
    assert_eq!((index.segments(), index.words.len()), (0, 769));
}
