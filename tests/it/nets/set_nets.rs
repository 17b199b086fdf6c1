//! Nets of every feature set in integers: files, factors, proofs, clips, and accumulators along games.

use nnuance::architecture::{ArrayKind, Integer, Set};
use nnuance::export::Proof;
use nnuance::features::{self, Board, Rows};
use nnuance::net::Number;

use crate::nets::integers::{follow, proved};
use crate::support::kit::*;
use crate::support::playouts::GAMES;

/// King buckets of the lower and the upper half, mirrored.
pub fn kings_by_half() -> Kings {
    Kings::new(true, &(0..32).map(|i| i / 16).collect::<Vec<u8>>()).unwrap()
}

/// With rows of sets within the limits of i8 and of the proof.
pub fn weights(net: &Architecture, seed: u64) -> Weights {
    let mut weights = drawn::weights(net, seed);
    for array in net.list_arrays() {
        if let ArrayKind::Rows(_) | ArrayKind::Factor(_) = array.kind {
            let values = &mut weights.0.get_mut(&array.name).unwrap().values;
            values.iter_mut().for_each(|value| *value = value.clamp(-0.06, 0.06));
        }
    }
    weights
}

fn quantised(net: &Architecture, seed: u64) -> Net {
    quantise(&weights(net, seed), net, Scales::default()).unwrap()
}

/// A net of all sets, and one of each set alone.
pub static NETS: LazyLock<Vec<Net>> = LazyLock::new(|| {
    let names = features::set_names();
    let nets = [&names[..]].into_iter().chain(names.iter().map(std::slice::from_ref));
    let nets = nets.map(|names| net_of_sets(names, kings_by_half(), 3));
    nets.enumerate().map(|(seed, net)| quantised(&net, seed as u64)).collect()
});

#[test]
fn updates_equal_refreshes() {
    for (i, net) in NETS.iter().enumerate() {
        // The sum shows a mistake in any of them.
        let games = if i == 0 { &GAMES[..] } else { &GAMES[..20] };
        // Some perspectives are first needed several moves later.
        games.iter().for_each(|game| follow(net, game, |i| i % 3 != 0));
    }
}

#[test]
fn sets_have_their_integers() {
    for net in NETS.iter() {
        for (set, numbers) in net.architecture().inputs.sets().iter().zip(net.numbers()) {
            let is_byte = numbers.number_type() == Number::I8;
            assert_eq!(is_byte, set.integer() == Integer::I8, "{}", set.name());
        }
    }
}

#[test]
fn merged_factors_add_the_same() {
    for name in features::set_names() {
        let (names, kings) = match &name[..] {
            "pieces" => (vec!["pieces"], kings_by_half()),
            name => (vec!["pieces", name], Kings::NONE),
        };
        let mut net = net_of_sets(&names, kings, 3);
        let place = names.len() - 1;
        let set = net.inputs.sets()[place].clone();
        if set.factor_rows() == 0 {
            continue;
        }
        net.inputs.factorised = true;
        let weights = weights(&net, 5);
        let float = Float::new(&weights, &net).unwrap();
        let values = |part| &weights.0[&net.find_array(part).unwrap().name].values;
        let first = net.inputs.first_row(place);
        for row in (0..set.row_count()).step_by(97) {
            let factor = set.factor_row(row as u32).unwrap() as usize;
            for neuron in 0..3 {
                let right = values(ArrayKind::Rows(place))[row * 3 + neuron]
                    + values(ArrayKind::Factor(place))[factor * 3 + neuron];
                assert_eq!(float.row_weights(first + row)[neuron], right, "{}", set.name());
            }
        }
    }
}

#[test]
fn proofs_hold_in_games() {
    let positions: Vec<Position> =
        GAMES[..40].iter().flat_map(|game| game.positions.iter().copied()).collect();
    for net in NETS.iter() {
        let Proof { accumulator, intermediate, .. } = proved(net, &positions);
        let alone = net.architecture().inputs.is_pieces();
        assert_eq!(accumulator == intermediate, !alone, "{}", net.architecture());
    }
}

/// For positions with pieces on a few squares, each of which has weight for one side only.
#[test]
fn bounds_of_pieces_are_reached() {
    let squares = [9, 18, 36, 45];
    let mut weights = vec![0; 768];
    for (i, square) in squares.into_iter().enumerate() {
        let kinds = if i % 2 == 0 { 0..5 } else { 6..11 };
        kinds.for_each(|kind| weights[64 * kind + square] = (kind * 37 + i * 11) as i32 % 29 - 9);
    }
    // A king on e1 or a8, the enemy's on h8.
    (weights[64 * 5 + 4], weights[64 * 5 + 56], weights[64 * 11 + 63]) = (3, -4, 2);
    let sum = |kinds: [Option<usize>; 4], [king, enemy]: [usize; 2]| -> i64 {
        let kings = [64 * 5 + king, 64 * 11 + enemy];
        let men = kinds.into_iter().zip(squares).filter_map(|(it, at)| Some(64 * it? + at));
        kings.into_iter().chain(men).map(|row| i64::from(weights[row])).sum()
    };
    let kinds: Vec<Option<usize>> =
        (0..12).filter(|kind| kind % 6 < 5).map(Some).chain([None]).collect();
    let mut all = [i64::MAX, i64::MIN];
    let mut each = |of: [Option<usize>; 4]| {
        for kings in [[4, 63], [56, 63], [4, 0], [56, 0], [0, 63], [0, 1]] {
            let sum = sum(of, kings);
            all = [all[0].min(sum), all[1].max(sum)];
        }
    };
    for &a in &kinds {
        for &b in &kinds {
            kinds.iter().for_each(|&c| kinds.iter().for_each(|&d| each([a, b, c, d])));
        }
    }
    assert_eq!(features::set_named("pieces", Kings::NONE).unwrap().bound_sums(&weights), all);
}

/// A set of eight rows, up to three at once, once or more often, whose lists can all be tried.
#[test]
fn usual_bounds_are_exact() {
    struct Small(bool);
    impl features::FeatureSet for Small {
        fn name(&self) -> &str {
            "small"
        }
        fn row_count(&self) -> usize {
            8
        }
        fn max_active(&self) -> usize {
            3
        }
        fn add_active_rows(&self, _: &Board, _: Color, _: &mut Rows) {}
        fn describe_row(&self, row: u32) -> String {
            row.to_string()
        }
        fn has_repeats(&self) -> bool {
            self.0
        }
    }
    for weights in [[3, -5, 7, 0, 2, -1, 6, -9], [-3; 8], [4; 8], [-1, 0, 0, 0, 0, 0, 0, 9]] {
        for repeats in [false, true] {
            let mut all = [0, 0];
            // 8 stands for no row.
            for list in 0..9 * 9 * 9 {
                let list = [list / 81, list / 9 % 9, list % 9];
                let twice = |i: usize| list[i] < 8 && list[..i].contains(&list[i]);
                if repeats || !(0..3).any(twice) {
                    let sum = list.iter().filter(|it| **it < 8).map(|it| weights[*it]).sum::<i32>();
                    all = [all[0].min(sum.into()), all[1].max(sum.into())];
                }
            }
            assert_eq!(Set::new(Small(repeats)).bound_sums(&weights), all, "{weights:?}");
        }
    }
}

#[test]
fn byte_rows_are_clipped_in_training() {
    let clips = |more: &str| {
        let sets = "sets = ['pieces', 'threats']";
        let net = format!("[net]\ninputs = 'perspective'\nhidden = 8\n{sets}\n{more}");
        let config = config_with(&net).unwrap();
        let layers = config.optimizer.layers;
        ["accumulator.weight", "threats.weight", "threats.factor.weight"]
            .map(|name| layers.layer_of(name).clip)
    };
    let most = |parts: f64| Some(127.0 / 255.0 / parts);
    assert_eq!(clips(""), [None, most(1.0), None]);
    assert_eq!(clips("factorised = true"), [None, most(2.0), most(2.0)]);
    assert_eq!(clips("qa = 127"), [None, Some(1.0), None]);
    assert_eq!(clips("[optimizer]\nclip = 0.25"), [None; 3]);
    let own = "[optimizer.layers.threats]\nclip = 0.1";
    assert_eq!(clips(own), [None, Some(0.1), Some(0.1)]);
}

#[test]
fn bytes_that_would_clip_are_refused() {
    let net = net_of_sets(&["pieces", "threats"], Kings::NONE, 2);
    let mut weights = weights(&net, 1);
    let values = &mut weights.0.get_mut("threats.weight").unwrap().values;
    values[7] = 127.4 / 255.0;
    quantise(&weights, &net, Scales::default()).unwrap();
    weights.0.get_mut("threats.weight").unwrap().values[7] = 0.51;
    let error = quantise(&weights, &net, Scales::default()).unwrap_err().to_string();
    assert!(error.contains("threats.weight[7]") && error.contains("i8"), "{error}");
    let scales = nnuance::export::largest_scales(&weights, &net, Scales::default()).unwrap();
    assert_eq!(scales.qa, 250);
}

/// Rows of a set in i8: clipped in training, smaller in the file, and the same by every way.
#[test]
fn rows_are_stored_as_the_config_says() {
    let config = |integers: &str| {
        let sets = "sets = ['pieces', 'pawn-pairs']";
        config_with(&format!("[net]\ninputs = 'perspective'\nhidden = 8\n{sets}\n{integers}"))
    };
    let usual = config("").unwrap();
    let small = config("integers = { pawn-pairs = \"i8\" }").unwrap();
    let clip = |config: &Config| config.optimizer.layers.layer_of("pawn-pairs.weight").clip;
    assert_eq!((clip(&usual), clip(&small)), (None, Some(127.0 / 255.0)));
    let [usual, small] = [usual, small].map(|it| it.architecture().unwrap().clone());
    assert_ne!(usual, small);
    let nets = [&usual, &small].map(|net| quantised(net, 3));
    assert_eq!(nets[1].numbers()[1].number_type(), Number::I8);
    let [usual_bytes, bytes] = nets.each_ref().map(|net| net.payload_bytes());
    assert_eq!(usual_bytes - bytes, 8 * small.inputs.sets()[1].row_count());
    let hints = Hints { net: small.clone(), scales: nets[1].scales() };
    let again = Net::read(&nets[1].to_bytes(), &hints).unwrap();
    for position in games::positions(40, 3) {
        let cp = nets[1].evaluate_slowly(&position);
        assert_eq!((nets[1].evaluate(&position), again.evaluate(&position)), (cp, cp));
    }
    for (integers, why) in [("pieces", "i16"), ("threats", "no set")] {
        let error = config(&format!("integers = {{ {integers} = \"i8\" }}")).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
