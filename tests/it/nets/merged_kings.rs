//! Both kings on one plane of rows, as some engines store them: the same net in fewer bytes.

use nnuance::architecture::Set;
use nnuance::export::{dequantise_net, facts, load_net, prove, with_kings};

use crate::nets::integers::follow;
use crate::nets::set_nets;
use crate::nets::sets::rows;
use crate::support::kit::*;
use crate::support::playouts::GAMES;

/// Buckets of one to four adjacent squares.
const BUCKETS: [u8; 32] = [
    0, 1, 2, 3, 0, 1, 2, 3, 4, 4, 5, 5, 4, 4, 5, 5, 6, 6, 7, 7, 6, 6, 7, 7, 8, 8, 9, 9, 8, 8, 9, 9,
];

/// Nets with factors, pieces alone or not, layers and piece-square values.
fn nets() -> Vec<Architecture> {
    let kings = Kings::new(true, &BUCKETS).unwrap();
    let deep = Architecture {
        activation: Activation::CReLU,
        pairwise: true,
        head: vec![Layer::new(3, Activation::Dual)],
        buckets: 4,
        psqt: true,
        ..net_of_sets(&["pieces", "threats"], kings_in_turn(true, 32), 4)
    };
    let nets = [
        net_of_sets(&["pieces"], kings, 4),
        net_of_sets(&["pieces"], kings_in_turn(false, 64), 4),
        net_of_sets(&["threat-kinds", "pieces"], kings, 4),
        deep,
    ];
    nets.map(|mut net| {
        net.inputs.factorised = true;
        net
    })
    .into()
}

fn quantised(weights: &Weights, net: &Architecture) -> Net {
    quantise(weights, net, Scales::default()).unwrap()
}

#[test]
fn merged_nets_are_the_same_nets() {
    for (seed, net) in nets().into_iter().enumerate() {
        let weights = set_nets::weights(&net, seed as u64);
        let (found, merged) = with_kings(&weights, &net, true).unwrap();
        assert!(
            merged.row_count() < net.row_count() && merged.to_string().contains("704"),
            "{merged}"
        );
        let (two, one) = (quantised(&weights, &net), quantised(&found, &merged));
        let bytes = one.to_bytes();
        assert!(bytes.len() < two.to_bytes().len());
        // The description of the net leads to the same net.
        let text = serde_json::to_string(one.architecture()).unwrap();
        let described: Architecture = serde_json::from_str(&text).unwrap();
        assert_eq!(described, merged);
        let again = Net::read(&bytes, &Hints { net: described, scales: one.scales() }).unwrap();
        let mut evaluator = PositionEvaluator::new(&one);
        for game in &GAMES[..60] {
            follow(&one, game, |i| i % 3 != 0);
            for position in &game.positions {
                let cp = two.evaluate_slowly(position);
                let found = [
                    one.evaluate(position),
                    again.evaluate(position),
                    evaluator.evaluate(position),
                ];
                assert_eq!(found, [cp; 3], "{merged}: {}", position.to_fen());
            }
        }
        prove(&one).unwrap();
        // Back to two planes and to one again.
        let (back, apart) = with_kings(&found, &merged, false).unwrap();
        assert_eq!(apart, net.without_factoriser());
        let undone = quantised(&back, &apart);
        for position in &GAMES[3].positions {
            assert_eq!(undone.evaluate(position), two.evaluate(position));
        }
        assert_eq!(with_kings(&back, &apart, true).unwrap().0, found);
        assert_eq!(with_kings(&found, &merged, true).unwrap(), (found, merged));
        let same = with_kings(&dequantise_net(&two), two.architecture(), false).unwrap();
        assert_eq!(same.0, dequantise_net(&two));
    }
}

/// The row of Stormphrax and Viridithas.
#[test]
fn rows_are_those_of_engines() {
    let merged = |net: Architecture| -> Set {
        net.inputs.without_factoriser().merge_kings().unwrap().sets()[0].clone()
    };
    let kings = Kings::new(true, &BUCKETS).unwrap();
    let pieces = merged(net_of_sets(&["pieces"], kings, 4));
    assert_eq!(pieces.row_count(), 7040);
    for position in games::positions(200, 9) {
        for color in Color::ALL {
            let up = if color.is_white() { 0 } else { 56 };
            let own = position.king(color).unwrap() as usize ^ up;
            let left = if own % 8 < 4 { 0 } else { 7 };
            let bucket = usize::from(BUCKETS[4 * (own / 8) + (own ^ left) % 8]);
            let mut expected = Vec::new();
            for piece in position.pieces() {
                let (role, square) = (piece.role as usize - 1, piece.square as usize ^ up);
                let other = usize::from(piece.color != color && role != 5);
                expected.push((704 * bucket + 384 * other + 64 * role + (square ^ left)) as u32);
            }
            expected.sort_unstable();
            assert_eq!(rows(&pieces, &position, color), expected, "{}", position.to_fen());
        }
    }
}

#[test]
fn kings_that_can_meet_keep_two_planes() {
    let halves: Vec<u8> = (0..32).map(|i| i / 16).collect();
    for (kings, squares) in [
        (Kings::NONE, "king bucket 0 has the squares a1 and c1"),
        (Kings::new(true, &halves).unwrap(), "king bucket 0 has the squares a1 and c1"),
    ] {
        let net = net_of_sets(&["pieces"], kings, 4);
        let weights = set_nets::weights(&net, 1);
        let error = with_kings(&weights, &net, true).unwrap_err().to_string();
        assert!(error.contains(squares), "{error}");
    }
    let net = net_of_sets(&["threat-kinds"], Kings::NONE, 4);
    let error = with_kings(&set_nets::weights(&net, 1), &net, true).unwrap_err().to_string();
    assert!(error.contains("no feature set"), "{error}");
}

/// A net of floats in `x.safetensors`.
fn folder_of_floats() -> (Workdir, Architecture, Weights) {
    let folder = Workdir::empty();
    let net = nets().swap_remove(0);
    let weights = set_nets::weights(&net, 5);
    folder.write("x.safetensors", weights.to_bytes(&facts(&net, Scales::default()), &[]).unwrap());
    (folder, net, weights)
}

#[test]
fn export_merges_and_verifies() {
    let (folder, net, weights) = folder_of_floats();
    let run = |words: &str| said(&mut folder.command(words));
    run("export x.safetensors -o two.bin --force");
    let [table, _] = run("export x.safetensors -o one.bin --merge-kings --force");
    assert!(table.contains("704x10hm"), "{table}");
    run("verify two.bin");
    run("verify one.bin");
    // Once on one plane, kings stay there.
    run("export one.bin -o again.bin --force");
    assert_eq!(folder.bytes("one.bin"), folder.bytes("again.bin"));
    let [two, one] = ["two.bin", "one.bin"].map(|name| load_net(&folder.path(name)).unwrap());
    for game in &GAMES[..30] {
        for position in &game.positions {
            assert_eq!(one.net.evaluate(position), two.net.evaluate(position));
        }
    }
    // Rows that no position activates are zero.
    for net in [&two.net, &one.net] {
        let (set, hidden) = (&net.architecture().inputs.sets()[0], net.architecture().hidden);
        let rows = net.numbers()[0].i16s().chunks_exact(hidden).enumerate();
        for (row, numbers) in rows.filter(|(row, _)| !set.is_reachable(*row as u32)) {
            assert!(numbers.iter().all(|it| *it == 0), "{}", set.describe_row(row as u32));
        }
    }
    // The floats hold no more rows, and evaluate as before.
    let floats = import_weights(&folder.bytes("one.safetensors"), &Hints::default()).unwrap();
    let [after, before] = [(&floats.weights, &floats.architecture), (&weights, &net)]
        .map(|(weights, net)| Float::new(weights, net).unwrap());
    for position in games::positions(50, 3) {
        assert_eq!(after.logit(&position), before.logit(&position));
    }
}

/// Training starts from one plane as from two.
#[test]
fn training_starts_from_merged_kings() {
    let (folder, net, _) = folder_of_floats();
    let run = |words: &str| said(&mut folder.command(words));
    let losses = [("two", ""), ("one", " --merge-kings")].map(|(name, option)| {
        run(&format!("export x.safetensors -o {name}.bin --force{option}"));
        let config = format!(
            "version = 3\n[data]\nfiles = ['{}/data/selfplay-sf15.vf']\nlimit = 4000\n[net]\n\
             inputs = 'perspective'\nmirror = true\nking_buckets = {BUCKETS:?}\nfactorised = true\n\
             hidden = {}\nstart = '{name}.bin'\n[schedule]\npositions = 8000\nbatch = 4000\n\
             learning_rate = 0.001\n",
            env!("CARGO_MANIFEST_DIR"),
            net.hidden
        );
        folder.write(format!("{name}.toml"), config);
        run(&format!("train {name}.toml --out {name}"));
        // The validation loss before the first step.
        column(&folder.path(name), "validation_loss")[0]
    });
    assert_eq!(losses[0], losses[1]);
}
