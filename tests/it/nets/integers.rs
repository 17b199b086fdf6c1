//! Nets of every kind in integers: the definition in floats, the reference, the fast evaluation and
//! the accumulator along games; files, descriptions beside them, nets and weights of others.

use nnuance::architecture::{ArrayKind, Inputs, LayerForm};
use nnuance::export::{self, Manifest, Proof, dequantise_net, factorised_as, prove};
use nnuance::net::{Accumulator, Evaluate as _, Numbers};

use crate::nets::files::{engine_net, integers};
use crate::nets::fixed_point::sum_piece_squares;
use crate::nets::set_nets;
use crate::support::kit::*;
use crate::support::playouts::{GAMES, Game};

const NETS: std::ops::Range<u64> = 0..24;

/// Largest difference of a net from the definition with the same numbers, in units of its output:
/// the rounding of byte inputs, and its propagation through the layers.
fn loss(net: &Net) -> f64 {
    let architecture = net.architecture();
    if !architecture.is_deep() || net.scales().head_format == HeadFormat::Float {
        return 0.0;
    }
    let weights = dequantise_net(net);
    let rows = |part: ArrayKind, each: &dyn Fn(&[f32]) -> f64| -> f64 {
        let array = architecture.find_array(part).unwrap();
        let values = &weights.0[&array.name].values;
        largest(values.chunks(array.fan_in).map(each))
    };
    let sum = |row: &[f32]| row.iter().map(|w| f64::from(w.abs())).sum::<f64>();
    let (shift, unit) = net.shift_and_unit();
    let lost = f64::from(unit) * f64::from(net.scales().qb);
    assert!(lost <= 1.0 / 63.0 && shift <= 9);
    let layers = architecture.head.len();
    let part = |i| if i < layers { ArrayKind::Layer(i) } else { ArrayKind::Output };
    let first = lost * rows(part(0), &sum);
    let skipped = if architecture.skip { first } else { 0.0 };
    // No curve is steeper than 2.
    (1..=layers).fold(first, |error, i| 2.0 * error * rows(part(i), &sum)) + skipped
}

#[test]
fn integers_match_the_definition() {
    let drawn = drawn::nets().map(|net| (net, f64::INFINITY));
    for (net, most) in drawn.chain(set_nets::NETS.iter().map(|net| (net, 1.2))) {
        let weights = dequantise_net(net);
        let float = Float::new(&weights, net.architecture()).unwrap();
        let (lost, scale) = (loss(net), f64::from(net.scales().scale));
        let mut evaluator = PositionEvaluator::new(net);
        for position in games::positions(60, 3) {
            let cp = net.evaluate_slowly(&position);
            assert_eq!(net.evaluate(&position), cp, "{} {position:?}", net.architecture());
            assert_eq!(evaluator.evaluate(&position), cp, "{} {position:?}", net.architecture());
            let by_definition = scale * float.logit(&position);
            let error = (f64::from(cp) - by_definition).abs();
            let allowed = 1.1 + 1e-4 * by_definition.abs() + scale * lost;
            assert!(error <= allowed.min(most), "{}: {cp}, {by_definition}", net.architecture());
        }
    }
}

#[test]
fn piece_square_values_alone() {
    let simple = Architecture::simple(Perspectives::Perspective, 4, Activation::SCReLU);
    let net = Architecture { psqt: true, buckets: 4, ..simple };
    let value = |kind: usize, bucket: usize| -> f32 {
        [0.25, 0.75, 0.875, 1.25, 2.5, 0.0][kind] * [1.0, 0.5, 2.0, 1.5][bucket]
    };
    let mut weights = Weights::default();
    for array in net.list_arrays() {
        let number = |i: usize| match (array.kind, i / 4 / 64) {
            (ArrayKind::Psqt(0), kind @ 0..6) => value(kind, i % 4),
            (ArrayKind::Psqt(0), kind) => -value(kind - 6, i % 4),
            _ => 0.0,
        };
        weights.insert(&array.name, &array.shape, (0..array.len()).map(number).collect());
    }
    let float = Float::new(&weights, &net).unwrap();
    let integers = quantise(&weights, &net, Scales::default()).unwrap();
    for position in games::positions(200, 4) {
        let bucket = (position.piece_count() - 2) / 8;
        let worths = position.pieces().map(|piece| {
            let worth = f64::from(value(piece.role as usize - 1, bucket));
            if piece.color == position.turn() { worth } else { -worth }
        });
        let right: f64 = worths.sum();
        assert_eq!(float.logit(&position), right);
        assert_eq!(f64::from(integers.evaluate(&position)), (400.0 * right).trunc());
    }
}

#[test]
fn accumulators_follow_games() {
    for net in drawn::nets() {
        GAMES.iter().for_each(|game| follow(net, game, |_| true));
    }
}

/// Along a game and back, with null moves. `is_needed` selects moves after which a value is taken.
pub fn follow(net: &Net, game: &Game, is_needed: impl Fn(usize) -> bool) {
    let name = || format!("{}: {}", net.architecture(), game.line());
    let right = game.positions.iter().map(|position| net.evaluate_slowly(position));
    let right: Vec<i32> = right.collect();
    let mut accumulator = Accumulator::new(net, &game.positions[0]);
    if is_needed(0) {
        assert_eq!(accumulator.value(), right[0]);
    }
    for (i, moved) in game.moved.iter().enumerate() {
        accumulator.play_move(Some(moved), &game.positions[i + 1]);
        if i % 7 == 0 {
            let passed = passed(&game.positions[i + 1]);
            accumulator.play_move(None, &passed);
            assert_eq!(accumulator.value(), net.evaluate(&passed), "{}", name());
            accumulator.undo_move();
        }
        if is_needed(i) {
            assert_eq!(accumulator.value(), right[i + 1], "{}", name());
        }
    }
    for value in right[..right.len() - 1].iter().rev() {
        accumulator.undo_move();
        assert_eq!(accumulator.value(), *value, "{}", name());
    }
    // And from any position on.
    accumulator.refresh(game.last());
    assert_eq!(accumulator.value(), net.evaluate(game.last()));
}

/// The same board, the other side to move.
fn passed(position: &Position) -> Position {
    let turn = position.turn_and_ep() & 128 ^ 128 | 64;
    Position::of_board_and_turn(position.occupied(), position.nibbles(), turn)
}

#[test]
fn files_round_trip() {
    for net in drawn::nets().chain(set_nets::NETS.iter()) {
        let name = net.architecture().to_string();
        let bytes = net.to_bytes();
        assert_eq!(bytes.len(), net.payload_bytes().next_multiple_of(64));
        let hints =
            |hidden| Hints { net: net.architecture().with_hidden(hidden), scales: net.scales() };
        let again = Net::read(&bytes, &hints(2)).unwrap();
        assert_eq!(again.architecture(), net.architecture(), "{name}");
        assert_eq!(again.numbers(), net.numbers());
        let again = Net::read(&bytes[..net.payload_bytes()], &hints(2)).unwrap();
        assert!(again.to_bytes() == bytes, "{name}");
        // Padding may be zeros, and nothing else.
        let mut padded = bytes.clone();
        padded[net.payload_bytes()..].fill(0);
        assert!(Net::read(&padded, &hints(2)).unwrap().to_bytes() == padded, "{name}");
        padded[net.payload_bytes()..].fill(1);
        assert_eq!(Net::read(&padded, &hints(2)).is_ok(), padded == bytes, "{name}");
        // Floats and integers survive the conversion to floats and back.
        let again = quantise(&dequantise_net(net), net.architecture(), net.scales()).unwrap();
        assert_eq!(again.numbers(), net.numbers(), "{name}");
        let cut = &bytes[..bytes.len() - 65];
        let error = Net::read(cut, &hints(2)).unwrap_err().to_string();
        assert!(error.contains("the file is complete") && !error.contains('\n'), "{name}: {error}");
    }
}

/// The proof of a net, which holds in these positions.
pub fn proved(net: &Net, positions: &[Position]) -> Proof {
    let proof = prove(net).unwrap_or_else(|error| panic!("{}: {error}", net.architecture()));
    for position in positions {
        for view in 0..net.architecture().perspective_count() {
            for a in net.accumulators(position, view) {
                assert!((proof.accumulator.least..=proof.accumulator.most).contains(&a));
            }
        }
    }
    proof
}

#[test]
fn proofs_hold_in_games() {
    for net in drawn::nets() {
        let name = net.architecture().to_string();
        let proof = proved(net, &games::positions(300, 8));
        let psqt = net.architecture().psqt;
        for position in games::positions(300, 9).iter().filter(|_| psqt) {
            let [own, other] = sum_piece_squares(net, position);
            for sum in [own, other, own - other] {
                assert!((proof.output.least..=proof.output.most).contains(&sum), "{name}");
            }
        }
        if let (Numbers::I8(weights), false) = (&net.numbers()[2], psqt) {
            let (width, input) = (
                net.architecture().feature_count(),
                net.largest_product() >> net.shift_and_unit().0,
            );
            let most = weights
                .chunks_exact(width)
                .map(|row| row.iter().map(|&w| input * i64::from(w.max(0))).sum::<i64>());
            assert!(proof.output.most > 0 && proof.output.most <= most.max().unwrap(), "{name}");
        }
    }
}

/// `(768x2hm -> 4)x2 -> 1`, whose own king has this weight on the squares of one bucket.
#[test]
fn kings_stand_within_their_buckets() {
    let mut table = vec![1; 32];
    table[..4].fill(0);
    let kings = Kings::new(true, &table).unwrap();
    let architecture = Architecture { activation: Activation::CReLU, ..net_of_kings(kings, 4) };
    let own_king = 64 * 5;
    let net = |square: usize, bucket: usize| {
        let mut rows = vec![0; architecture.row_count() * 4];
        rows[(768 * bucket + own_king + square) * 4] = i16::MAX;
        let numbers = [rows, vec![1; 4], vec![0; 8], vec![0]];
        integers(architecture.clone(), Scales::default(), numbers)
    };
    // b1 is in the first bucket, b2 in the second, and no perspective has its own king on f1.
    for (square, bucket, fits) in [(1, 0, false), (9, 0, true), (9, 1, false), (5, 0, true)] {
        assert_eq!(prove(&net(square, bucket)).is_ok(), fits, "{square} {bucket}");
    }
}

fn golden(path: &Path) -> Vec<(Position, i32)> {
    let text = fs::read_to_string(path.with_extension("golden.txt")).unwrap();
    let line = |line: &str| {
        let (fen, cp) = line.split_once(';').unwrap();
        (Position::from_fen(fen).unwrap(), cp.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// Nets and their evaluations by an independent program.
#[test]
fn foreign_nets_match_their_goldens() {
    for (name, shape) in [
        ("buckets", "(768 -> 6)x2 -> 1x8 crelu"),
        ("deep", "(768x3hm -> 8)x2, pairwise, -> (4+1 -> 3 -> 1)x2 crelu, dual, screlu"),
    ] {
        let path = PathBuf::from(format!("tests/it/fixtures/nets/{name}.bin"));
        let loaded = export::load_net(&path).unwrap();
        assert_eq!(loaded.net.architecture().to_string(), shape);
        assert!(loaded.described && loaded.manifest.is_none());
        assert!(loaded.net.to_bytes() == fs::read(&path).unwrap());
        for (position, cp) in golden(&path) {
            assert_eq!(loaded.net.evaluate(&position), cp, "{name} {position:?}");
            assert_eq!(loaded.net.evaluate_slowly(&position), cp, "{name} {position:?}");
        }
    }
}

pub fn equals_golden(net: &Net, path: &Path) {
    let golden = golden(path);
    assert_eq!(golden.len(), 300);
    for (position, cp) in golden {
        assert_eq!(net.evaluate(&position), cp, "{position:?}");
    }
}

#[test]
fn akimbo_agrees() {
    let path = Path::new("../shared/data/nets/akimbo-512x8.bin");
    let Some(_) = engine_net("akimbo-512x8.bin") else { return };
    let folder = Workdir::empty();
    let copy = folder.path("akimbo.bin");
    fs::copy(path, &copy).unwrap();
    let text =
        "inputs = \"perspective\"\nhidden = 512\nactivation = \"crelu\"\noutput_buckets = 8\n";
    fs::write(copy.with_extension("toml"), text).unwrap();
    let net = export::load_net(&copy).unwrap().net;
    equals_golden(&net, path);
    prove(&net).unwrap();
    let again = folder.path("again.bin");
    said(nnuance().arg("export").arg(&copy).arg("-o").arg(&again));
    assert!(fs::read(&again).unwrap() == fs::read(path).unwrap());
    assert!(export::verify_net(&again).unwrap().iter().all(|check| check.passed));
}

#[test]
fn wrong_descriptions_name_the_key() {
    let folder = Workdir::empty();
    let net = folder.path("net.bin");
    fs::copy("tests/it/fixtures/nets/buckets.bin", &net).unwrap();
    let right = fs::read_to_string("tests/it/fixtures/nets/buckets.toml").unwrap();
    let position = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    for (from, to, expected) in [
        ("hidden = 6", "hidden = 5", "`hidden`"),
        ("buckets = 8", "buckets = 33", "`output_buckets`"),
        ("hidden = 6", "hidden = = 6", "line 3"),
    ] {
        fs::write(net.with_extension("toml"), right.replace(from, to)).unwrap();
        let said = complaint(nnuance().arg("eval").arg(&net).arg(position));
        assert!(said.contains(expected) && said.trim_end().lines().count() == 1, "{said}");
    }
    // A run that starts from the net reads the same description.
    fs::write(net.with_extension("toml"), right.replace("hidden = 6", "hidden = 5")).unwrap();
    let start = format!("net.start={:?}", net.to_string_lossy());
    let mut train = nnuance();
    train.args(["train", "configs/quickstart-net.toml", "--set", &start, "--out"]);
    let refusal = complaint(train.arg(folder.path("run")));
    assert!(refusal.contains("`hidden` is 5"), "{refusal}");
    let scale = right.clone() + "scale = 800\n";
    let [usual, doubled] = [right, scale].map(|description| {
        fs::write(net.with_extension("toml"), description).unwrap();
        let [line, _] = said(nnuance().arg("eval").arg(&net).arg(position));
        line.trim().rsplit(';').next().unwrap().parse::<i32>().unwrap()
    });
    assert!((doubled - 2 * usual).abs() <= 1, "{usual} {doubled}");
}

pub fn stored_by_bullet(net: &Architecture, weights: &Weights) -> Vec<u8> {
    let layers = net.head.len();
    let mut bytes = Vec::new();
    for array in net.list_arrays().into_iter().rev() {
        let values = &weights.0[&array.name].values;
        let affine = |values: &[f32]| -> Vec<f32> {
            let outputs = values.len() / array.fan_in;
            let at = |i: usize, o: usize| values[o * array.fan_in + i];
            (0..values.len()).map(|it| at(it / outputs, it % outputs)).collect()
        };
        let (id, values) = match array.kind {
            ArrayKind::Rows(_) => ("l0w".to_string(), values.clone()),
            ArrayKind::Factor(_) => ("l0f".to_string(), values.clone()),
            ArrayKind::AccumulatorBias => ("l0b".to_string(), values.clone()),
            ArrayKind::Layer(i) => (format!("l{}w", i + 1), affine(values)),
            ArrayKind::LayerBias(i) => (format!("l{}b", i + 1), values.clone()),
            ArrayKind::Output => (format!("l{}w", layers + 1), affine(values)),
            ArrayKind::OutputBias => (format!("l{}b", layers + 1), values.clone()),
            ArrayKind::Psqt(_) => (array.name.clone(), values.clone()),
        };
        bytes.extend(id.bytes().chain(*b"\n").chain((values.len() as u64).to_le_bytes()));
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
    bytes
}

#[test]
fn bullet_weights_round_trip() {
    for seed in NETS {
        let (net, weights) = drawn::floats(seed);
        let bytes = stored_by_bullet(&net, &weights);
        let hints = Hints { net: net.with_hidden(2).without_factoriser(), ..Hints::default() };
        let source = import_weights(&bytes, &hints).unwrap();
        assert_eq!(source.architecture, net);
        assert_eq!(source.weights, weights, "{net}");
    }
}

pub fn parity(test: u32) -> Architecture {
    let layer = Layer::new;
    let simple =
        |hidden| Architecture::simple(Perspectives::Perspective, hidden, Activation::SCReLU);
    let screlu = Activation::SCReLU;
    match test {
        2 => {
            let mut kings = vec![1; 32];
            kings[..4].fill(0);
            let kings = Kings::new(true, &kings).unwrap();
            Architecture {
                inputs: Inputs::of_pieces(Perspectives::Perspective, kings, true),
                activation: Activation::CReLU,
                pairwise: true,
                head: vec![layer(15, Activation::Dual), layer(32, screlu)],
                skip: true,
                buckets: 8,
                ..simple(128)
            }
        }
        3 => simple(128),
        _ => Architecture { head: vec![layer(16, screlu), layer(32, screlu)], ..simple(48) },
    }
}

#[test]
fn factorised_and_merged_nets_are_equal() {
    let net = parity(2);
    let mut weights = drawn::weights(&net, 4);
    let shared = weights.0.get_mut("factoriser.weight").unwrap();
    shared.values.iter_mut().enumerate().for_each(|(i, it)| *it = (i % 7) as f32 / 16.0);
    let merged = factorised_as(&weights, &net, &net.without_factoriser()).unwrap();
    assert!(!merged.0.contains_key("factoriser.weight"));
    let back = factorised_as(&merged, &net.without_factoriser(), &net).unwrap();
    assert!(back.0["factoriser.weight"].values.iter().all(|it| *it == 0.0));
    let bytes = [(&weights, &net), (&merged, &net.without_factoriser()), (&back, &net)]
        .map(|(weights, net)| quantise(weights, net, Scales::default()).unwrap().to_bytes());
    assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2]);
}

#[test]
fn deep_run_from_config_to_comparison() {
    let folder = Workdir::empty();
    let at = |name: &str| folder.name(name);
    fs::copy("tests/it/fixtures/configs/deep.toml", at("deep.toml")).unwrap();
    let nnuance = |args: &[&str]| said(nnuance().args(args))[0].clone();
    let run = at("run");
    nnuance(&["train", &at("deep.toml"), "--out", &run]);
    let net = at("run/net.bin");
    for (format, out) in [("float", at("float.bin")), ("int8", at("int8.bin"))] {
        nnuance(&["export", &run, "-o", &out, "--head", format, "--force"]);
        nnuance(&["verify", &out]);
        let loaded = export::load_net(Path::new(&out)).unwrap();
        let Manifest { float_error, golden, .. } = loaded.manifest.unwrap();
        let most = if format == "float" { 3.0 } else { 60.0 };
        assert!(float_error.as_ref().is_some_and(|it| it.max_cp < most), "{float_error:?}");
        let said = nnuance(&["eval", &out, &golden[3].fen]);
        assert!(said.trim_end().ends_with(&format!(";{}", golden[3].cp)), "{said}");
        // An export of an export, in the other format too.
        let again = at(&format!("again-{format}.bin"));
        nnuance(&["export", &out, "-o", &again, "--force"]);
        assert!(fs::read(&again).unwrap() == fs::read(&out).unwrap());
    }
    nnuance(&["export", &at("int8.bin"), "-o", &at("back.bin"), "--head", "float", "--force"]);
    assert!(fs::read(at("float.bin")).unwrap() == fs::read(&net).unwrap());
    nnuance(&["compare", &run, &net, &at("int8.bin"), "material"]);
    // A run may start from the net, from its floats, and from another with a factoriser.
    fs::remove_file(at("float.safetensors")).unwrap();
    for (i, start) in [net, at("float.bin")].into_iter().enumerate() {
        let set = format!("net.start={start:?}");
        nnuance(&["train", &at("deep.toml"), "--out", &at(&format!("next-{i}")), "--set", &set]);
    }
}

#[test]
fn an_architecture_has_one_written_form() {
    for seed in NETS {
        let net = drawn::net(seed, 48);
        let json = serde_json::to_string(&net).unwrap();
        assert_eq!(serde_json::from_str::<Architecture>(&json).unwrap(), net);
        let toml = toml::to_string(&NetForm::from(net.clone())).unwrap();
        assert_eq!(toml::from_str::<Architecture>(&toml).unwrap(), net, "{toml}");
    }
    let form = NetForm {
        head: vec![LayerForm { size: Some(2), ..LayerForm::default() }],
        ..parity(3).into()
    };
    assert!(Architecture::try_from(form).unwrap_err().to_string().contains("with one neuron"));
}
