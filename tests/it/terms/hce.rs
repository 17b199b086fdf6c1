//! Handcrafted terms: the trace is the evaluation, colours are symmetric, no count is lost; weights
//! as files and tensors.

use nnuance::batch::TermBatch;
use nnuance::hce::terms::{self, built_in_list};
use nnuance::hce::{Phase, Trace, evaluate_terms, freeze_terms};
use nnuance::sums::Sums;
use nnuance::terms::{TermEntry, TermKind, TermList};

use crate::support::kit::*;

pub const PESTO: &str = include_str!("../fixtures/pesto.json");

fn positions() -> Vec<Position> {
    let text = fs::read_to_string(QUIET).unwrap();
    let quiet = text.lines().step_by(3);
    let quiet = quiet.map(|line| Position::from_fen(line.split_once(" c9 ").unwrap().0).unwrap());
    quiet.chain(games::positions(3000, 1)).collect()
}

pub fn odd_weights() -> HceWeights {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut weights = HceWeights { scale_factor: true, ..HceWeights::zeros_with_scale(173.5) };
    let mut draw = || f64::from(random.random_range(-1000..=1000)) / 4.0;
    weights.values.iter_mut().for_each(|value| *value = [draw(), draw()]);
    weights.tempo = 12.25;
    weights.source = Some("drawn \"by\" lot".to_string());
    weights
}

fn traced(position: &Position) -> Trace {
    let mut trace = Trace::default();
    evaluate_terms(position, &mut trace);
    trace
}

fn by_hand(trace: &Trace, weights: &[[f64; 2]]) -> Sums {
    let mut sums = Sums::default();
    for (term, TermEntry { kind, .. }) in built_in_list().terms.iter().enumerate() {
        let counts =
            [Color::White, Color::Black].map(|colour| f64::from(trace.term_count(term, colour)));
        for phase in [0, 1] {
            let weight = weights[term][phase];
            match kind {
                TermKind::Normal => sums.normal[phase] += (counts[0] - counts[1]) * weight,
                TermKind::Safety => {
                    sums.safety[0][phase] += counts[0] * weight;
                    sums.safety[1][phase] += counts[1] * weight;
                }
                TermKind::Complexity => {}
            }
        }
        if *kind == TermKind::Complexity {
            sums.complexity += counts[0] * weights[term][1];
        }
    }
    sums
}

fn close(a: Sums, b: Sums, within: f64) -> bool {
    let values = |sums: Sums| {
        let [[w, x], [y, z]] = sums.safety;
        [sums.normal[0], sums.normal[1], w, x, y, z, sums.complexity]
    };
    values(a).into_iter().zip(values(b)).all(|(a, b)| (a - b).abs() <= within)
}

#[test]
fn terms_have_names_and_starts() {
    let ours = built_in_list();
    let names: HashSet<&str> = ours.terms.iter().map(|term| &term.name[..]).collect();
    assert_eq!([names.len(), ours.len()], [TERMS; 2]);
    let start = |name: &str| ours.terms[term_named(name)].start;
    assert_eq!(start("material.knight"), [320.0, 320.0]);
    assert_eq!(start("psqt.knight.e4"), [0.0, 0.0]);
    for pattern in ["pawns", "king.safety", "king.shelter.*", "mobility.*", "threats", "rooks.*"] {
        let chosen = ours.choose(&[pattern.to_string()]).unwrap();
        assert!(chosen.terms.contains(&true) && chosen.terms.contains(&false), "{pattern}");
    }
}

#[test]
fn trace_times_weights_is_the_evaluation() {
    let weights = odd_weights();
    let fast = HceEvaluator::new(&weights);
    for position in positions() {
        let trace = traced(&position);
        let phase = Phase::from_position(&position);
        let sums = by_hand(&trace, &weights.values);
        assert!(close(fast.sum_terms(&position), sums, 1e-8), "{position:?}");
        let white = sums.white_centipawns(phase.phase_shares());
        let stm = position.turn().fold_wb(white, -white) + weights.tempo;
        assert!((fast.evaluate(&position) - stm).abs() < 1e-6, "{position:?}");
    }
}

#[test]
fn batches_hold_the_evaluation() {
    let mut weights = odd_weights();
    let (mut trace, mut batch) = (Trace::default(), TermBatch::default());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let wanted: Vec<bool> = (0..TERMS).map(|_| random.random_bool(0.7)).collect();
    let coding = Coding::new(&wanted, true);
    let positions = positions();
    positions.iter().for_each(|position| coding.encode_position(position, &mut trace, &mut batch));
    for (value, _) in weights.values.iter_mut().zip(&wanted).filter(|(_, wanted)| !**wanted) {
        *value = [0.0; 2];
    }
    assert_eq!(batch.len(), positions.len());
    for (row, position) in positions.iter().enumerate() {
        let found = batch.sum_row(row, &weights.values);
        let expected = by_hand(&traced(position), &weights.values);
        assert!(close(found, expected, 1e-8), "{position:?}");
        let rising = |terms: Vec<usize>| {
            assert!(terms.is_sorted() && terms.iter().all(|term| wanted[*term]), "{position:?}");
        };
        rising(batch.normal.entries_of_row(row).map(|(term, _)| term).collect());
        rising(batch.safety.entries_of_row(row).map(|(term, _)| term).collect());
        rising(batch.complexity.entries_of_row(row).map(|(term, _)| term).collect());
        assert!(batch.normal.entries_of_row(row).all(|(_, count)| count != 0));
        assert!(batch.safety.entries_of_row(row).all(|(_, counts)| counts != [0; 2]));
        let shares = [batch.middlegame[row], batch.endgame[row]].map(f64::from);
        assert_eq!(shares, Phase::from_position(position).phase_shares());
        assert_eq!(batch.turn[row], position.turn().fold_wb(1, -1));
    }
    let mut plain = TermBatch::default();
    let coding = Coding::new(&wanted[..5 + 384], true);
    positions.iter().for_each(|position| coding.encode_position(position, &mut trace, &mut plain));
    assert!(plain.safety.offsets.is_empty() && plain.complexity.offsets.is_empty());
    assert_eq!(plain.normal.offsets.len(), positions.len() + 1);
}

#[test]
fn large_counts_take_several_entries() {
    // Fourteen bishops, each with fourteen pawns on squares of its colour: 196.
    let fen = "k7/B1B1B1B1/1B1B1B1B/P1P1B1B1/1P1P1P1P/P1P1P1P1/1P1P1P1P/BKB1B1B1 w - - 0 1";
    let mut batch = TermBatch::default();
    let position = Position::from_fen(fen).unwrap();
    let coding = Coding::new(&[true; TERMS], true);
    for position in [position, position.flip_colours()] {
        coding.encode_position(&position, &mut Trace::default(), &mut batch);
    }
    let pawns = term_named("bishops.pawns");
    for (row, expected) in [[127, 69], [-128, -68]].into_iter().enumerate() {
        let entries = batch.normal.entries_of_row(row).filter(|(term, _)| *term == pawns);
        assert_eq!(entries.map(|(_, count)| count).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn colours_are_equal() {
    let weights = odd_weights();
    let fast = HceEvaluator::new(&weights);
    for position in positions() {
        let flipped = position.flip_colours();
        assert!((fast.evaluate(&position) - fast.evaluate(&flipped)).abs() < 1e-6);
        let (trace, other) = (traced(&position), traced(&flipped));
        let colours = [Color::White, Color::Black];
        for (term, TermEntry { name, kind, .. }) in built_in_list().terms.iter().enumerate() {
            let [white, black] = colours.map(|colour| trace.term_count(term, colour));
            let found = colours.map(|colour| other.term_count(term, colour));
            match kind {
                TermKind::Complexity => assert_eq!(found[0], white, "{name} {position:?}"),
                _ => assert_eq!(found, [black, white], "{name} {position:?}"),
            }
        }
    }
}

#[test]
fn held_terms_keep_the_sums() {
    let weights = odd_weights();
    let coding = Coding::new(&[true; TERMS], true);
    let (mut trace, mut batch) = (Trace::default(), TermBatch::default());
    for position in positions().iter().step_by(10) {
        coding.encode_position(position, &mut trace, &mut batch);
    }
    let choose = |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(|text| text.to_string()).collect();
        built_in_list().choose(&patterns).unwrap()
    };
    let same = |frozen: &TermBatch| {
        for row in 0..batch.len() {
            let gap = (frozen.sum_row(row, &weights.values), batch.sum_row(row, &weights.values));
            // The sums are stored in single precision.
            assert!(close(gap.0, gap.1, 1e-2), "{gap:?}");
        }
    };
    let all = freeze_terms(batch.clone(), &TermSelection::all(TERMS), &weights.values);
    assert_eq!(all, batch);
    let pawns = freeze_terms(batch.clone(), &choose(&["pawns", "king.safety"]), &weights.values);
    same(&pawns);
    assert!(pawns.frozen.safety.is_empty() && pawns.complexity.offsets.is_empty());
    assert_eq!(pawns.frozen.normal.len(), batch.len());
    assert!(pawns.normal.term.len() < batch.normal.term.len() / 2);
    // Frozen terms stay frozen.
    let fewer = freeze_terms(pawns, &choose(&["pawns.isolated"]), &weights.values);
    same(&fewer);
    assert!(fewer.safety.offsets.is_empty() && fewer.frozen.safety.len() == batch.len());
}

proptest::proptest! {
    /// Damaged files may have boards without kings, with pawns on any rank, with anything.
    #[test]
    fn any_board_has_an_evaluation(
        squares in proptest::collection::btree_map(0..64u32, (0..7u8, 0..2u8), 0..32),
    ) {
        let (mut occupied, mut pieces) = (0, 0u128);
        for (i, (square, (role, colour))) in squares.into_iter().enumerate() {
            occupied |= 1u64 << square;
            pieces |= u128::from(role | colour << 3) << (4 * i);
        }
        let pieces = pieces.to_le_bytes();
        let position = Position::from_parts(occupied, pieces, Color::Black, None, 0, 1).unwrap();
        let weights = odd_weights();
        let mut batch = TermBatch::default();
        Coding::new(&[true; TERMS], true).encode_position(&position, &mut Trace::default(), &mut batch);
        let found = batch.sum_row(0, &weights.values);
        proptest::prop_assert!(close(HceEvaluator::new(&weights).sum_terms(&position), found, 1e-6));
    }
}

#[test]
fn known_position_by_hand() {
    // White: Ke1 Pe2; Black: Ke8. No pieces: endgame only.
    let position = Position::from_fen("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1").unwrap();
    let pesto = HceWeights::from_json(PESTO).unwrap();
    // Pawn 94, e2 13; the kings stand alike and cancel.
    assert_eq!(HceEvaluator::new(&pesto).evaluate(&position), -107.0);
    assert_eq!(HceEvaluator::new(&HceWeights::material_only()).evaluate(&position), -100.0);
    let start = Position::from_fen("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    let tempo = HceWeights { tempo: 9.0, ..HceWeights::default() };
    assert_eq!(HceEvaluator::new(&tempo).evaluate(&start.unwrap()), 9.0);
}

#[test]
fn files_and_tensors_keep_the_weights() {
    for weights in [odd_weights(), HceWeights::default(), HceWeights::from_json(PESTO).unwrap()] {
        let text = weights.to_json();
        assert_eq!(HceWeights::from_json(&text).unwrap(), weights, "{text}");
        let list = weights.list.clone();
        let mut tensors = weights.to_weights();
        let back = HceWeights::from_weights(&tensors, list.clone(), weights.scale, true).unwrap();
        // Tensors do not include the scale factor.
        let as_read = HceWeights { source: None, scale_factor: true, ..weights.clone() };
        assert!(back == as_read);
        let change = &mut tensors.0.get_mut("terms.change").unwrap().values;
        assert!(change.iter().all(|change| *change == 0.0));
        change[3] = 0.1;
        tensors.0.get_mut("tempo.change").unwrap().values[0] = 2.0;
        let back = HceWeights::from_weights(&tensors, list, weights.scale, true).unwrap();
        assert_eq!(back.values[1][1], weights.values[1][1] + f64::from(0.1_f32));
        assert_eq!(back.tempo, weights.tempo + 2.0);
    }
    let mut weights = HceWeights::zeros_with_scale(400.0);
    weights.tempo = -0.004;
    let a8 = term_named("psqt.rook.a8");
    weights.values[a8] = [1.2345, -7.0];
    let rounded = weights.clone().round_values(2);
    assert_eq!((rounded.tempo, rounded.values[a8]), (0.0, [1.23, -7.0]));
    // Rank 8 comes first: the value is in the first row, far left.
    let text = weights.to_json();
    let rook = text.split("\"psqt\"").nth(1).unwrap().split("\"rook\": {\n").nth(1).unwrap();
    assert!(rook.trim_start().starts_with("\"mg\": [\n        [1.2345, "), "{rook}");
    HceWeights::from_weights(&Default::default(), terms::built_in_list(), 400.0, true).unwrap_err();
}

#[test]
fn wrong_files_are_named() {
    let mut weights = HceWeights::default();
    // Tables of zeros are left out.
    weights.values[term_named("psqt.king.e1")] = [1.0, 1.0];
    let good = weights.to_json();
    for (from, to, expected) in [
        ("\"format\"", "\"form\"", "missing field `format`"),
        ("\"tempo\"", "\"temp\"", "unknown key `temp`"),
        ("\"pawn\": { \"mg\"", "\"pawm\": { \"mg\"", "`material.pawn.mg` is missing"),
        ("\"pawn\": { \"mg\"", "\"pawm\": { \"eg\": 0 }, \"pawn\": { \"mg\"", "`material.pawm.eg`"),
        ("[0, 0, 0, 0, 0, 0, 0, 0]", "[0, 0]", "`psqt.pawn.c8.mg` is missing"),
        ("[0, 0,", "[0, null,", "`psqt.pawn.b8.mg` is missing or wrong"),
        ("\"tempo\"", "\"terms\": \"own\", \"tempo\"", "own terms; name the run folder instead"),
        ("\"tempo\"", "\"terms\": \"?\", \"tempo\"", "unknown key `terms`"),
        ("{", "[", "not a JSON"),
        ("[0, 0,", "[0, 0, 0,", "unknown key `psqt.pawn.mg.0.8`"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = HceWeights::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
    assert!(HceWeights::from_json("[]").is_err());
    let text = "{ \"format\": \"nnuance-hce\", \"version\": 1, \"scale\": 100 }";
    assert_eq!(HceWeights::from_json(text).unwrap(), HceWeights::zeros_with_scale(100.0));
}

#[test]
fn own_terms_are_written_only() {
    let entry = |name: &str, start| TermEntry {
        name: name.to_string(),
        kind: TermKind::Normal,
        start,
        counts: String::new(),
    };
    // A name may itself be the prefix of another.
    let terms = vec![entry("pawn", [90.0, 120.5]), entry("pawn.passed", [5.0, -6.0])];
    let list = Arc::new(TermList { terms, tempo: 7.0 });
    let weights = HceWeights::of_list(list, 300.0);
    assert!(!weights.is_ours() && HceWeights::default().is_ours());
    let text = weights.to_json();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["terms"], "own");
    assert_eq!(value["tempo"], 7);
    assert_eq!(value["pawn"]["eg"], 120.5);
    assert_eq!(value["pawn"]["passed"]["eg"], -6);
    HceWeights::from_json(&text).unwrap_err();
}
