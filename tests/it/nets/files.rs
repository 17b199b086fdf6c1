//! Nets on disk and in integers, against engines that load the same files.

use nnuance::net::Numbers;

use crate::support::kit::*;

pub const NETS: &str = "../shared/data/nets";

/// Evaluations by the engine Leorik with its nets (MIT licence), N and seven positions.
const LEORIK: [(usize, [i32; 7]); 5] = [
    (1, [14, 14, 29, 176, -773, 267, -238]),
    (16, [35, 35, 91, 244, -3023, 238, -217]),
    (32, [73, 73, -34, 216, -3174, 252, -204]),
    (128, [78, 78, -309, 282, -3374, 349, -291]),
    (256, [59, 59, -256, 145, -2831, 443, -365]),
];

#[track_caller]
pub fn engine_net(name: &str) -> Option<Vec<u8>> {
    let path = format!("{NETS}/{name}");
    need::shared(&path).then(|| fs::read(&path).unwrap())
}

pub fn read(bytes: &[u8]) -> Net {
    Net::read(bytes, &Hints::default()).unwrap()
}

/// A net of random integers: weights up to 1.98, as trainers clip them.
pub fn random(views: Perspectives, hidden: usize, activation: Activation) -> Net {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(hidden as u64);
    let mut take = |count: usize, most: i16| -> Vec<i16> {
        (0..count).map(|_| rng.random_range(-most..=most)).collect()
    };
    let architecture = Architecture::simple(views, hidden, activation);
    let accumulator = take(768 * hidden, 504);
    let (bias, output) = (take(hidden, 504), take(views.count() * hidden, 126));
    integers(architecture, Scales::default(), [accumulator, bias, output, vec![1234]])
}

/// A net of integers: weights and biases of the accumulators, and of the output.
pub fn integers(net: Architecture, scales: Scales, numbers: [Vec<i16>; 4]) -> Net {
    Net::from_arrays(&net, scales, numbers.map(Numbers::I16).into()).unwrap()
}

#[test]
fn leorik_agrees() {
    for (hidden, expected) in LEORIK {
        let Some(bytes) = engine_net(&format!("leorik-{hidden}HL.bin")) else { return };
        let net = read(&bytes);
        assert_eq!(net.architecture().hidden, hidden);
        assert!(hidden == 256 || net.to_bytes() == bytes);
        let evaluations: Vec<_> = nnuance::export::GOLDEN_FENS[..7]
            .iter()
            .map(|fen| net.evaluate(&Position::from_fen(fen).unwrap()))
            .collect();
        assert_eq!(evaluations, expected, "N = {hidden}");
    }
}

#[test]
fn tcheran_agrees() {
    let Some(bytes) = engine_net("tcheran-256.bin") else { return };
    let net = read(&bytes);
    assert!(net.to_bytes() == bytes);
    crate::nets::integers::equals_golden(&net, &Path::new(NETS).join("tcheran-256.bin"));
}

#[test]
fn fast_equals_slow_at_integer_limits() {
    for views in Perspectives::ALL {
        for activation in of_accumulators() {
            for (qa, weight, output) in
                [(255, i16::MAX, i16::MIN), (256, i16::MAX, i16::MAX), (32_767, i16::MAX, i16::MIN)]
            {
                let hidden = 65;
                let architecture = Architecture::simple(views, hidden, activation);
                let scales = Scales { qa, qb: 1, scale: 32_767, ..Scales::default() };
                let (rows, outputs) = (768 * hidden, views.count() * hidden);
                let [rows, bias] = [rows, hidden].map(|count| vec![weight; count]);
                let numbers = [rows, bias, vec![output; outputs], vec![output]];
                let net = integers(architecture, scales, numbers);
                for position in games::positions(20, 1) {
                    assert_eq!(net.evaluate(&position), net.evaluate_slowly(&position));
                }
            }
        }
    }
}

#[test]
fn perspective_nets_are_colour_symmetric() {
    for views in [Perspectives::Perspective, Perspectives::SideToMove] {
        let net = random(views, 32, Activation::SCReLU);
        for position in games::positions(200, 3) {
            assert_eq!(net.evaluate(&position), net.evaluate(&position.flip_colours()));
        }
    }
}

#[test]
fn wrong_files_are_named() {
    let refusal = |bytes: &[u8]| match Net::read(bytes, &Hints::default()) {
        Err(error) => error.to_string(),
        Ok(net) => panic!("read as {}", net.architecture()),
    };
    let net = random(Perspectives::Perspective, 16, Activation::SCReLU).to_bytes();
    let safetensors = [&9_u64.to_le_bytes()[..], b"{\"a\":{}} ", &[0; 64]].concat();
    for (bytes, expected) in [
        (&b""[..], "empty"),
        (b"[Event \"x\"]\n", "text"),
        (&safetensors, "safetensors"),
        (&[255; 200], "1600 ((768 -> 1)x2"),
        (&net[..net.len() - 40], "(768 -> 16)x2"),
        (&[1; 24704], "not padding (`bullet` or zeros)"),
    ] {
        let refusal = refusal(bytes);
        assert!(refusal.contains(expected) && !refusal.contains('\n'), "{refusal}");
    }
}
