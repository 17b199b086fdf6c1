//! Stockfish's nets: that of the engine's own program, its values, bytes and damage.

use std::io::Write as _;

use crate::kit::*;

/// FEN and value of Stockfish 15.1, in its internal units.
const VALUES: &str = include_str!("fixtures/stockfish/15.1.txt");

/// The net of 15.1, as `export_net` of Debian's program writes it.
static NET: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| {
    let engine = need::engine("stockfish")?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exported.nnue");
    let mut program =
        Command::new(engine).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let commands = format!("export_net {}\nquit\n", path.display());
    program.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert!(program.wait().unwrap().success());
    let bytes = fs::read(path).unwrap();
    // Another version has another net.
    need::found("stockfish", "15.1", bytes.len() == 47_001_499).then_some(bytes)
});

#[test]
fn values_are_those_of_the_engine() {
    let Some(bytes) = &*NET else { return };
    let net = Net::read(bytes, &Hints::default()).unwrap();
    assert!(net.to_bytes() == *bytes, "the file is written as it was read");
    let mut evaluator = PositionEvaluator::new(&net);
    for line in VALUES.lines() {
        let (fen, value) = line.split_once(';').unwrap();
        let position = Position::from_fen(fen).unwrap();
        let value: i32 = value.parse().unwrap();
        assert_eq!(net.evaluate_slowly(&position), value, "{fen}");
        assert_eq!(net.evaluate(&position), value, "{fen}");
        assert_eq!(evaluator.evaluate(&position), value, "{fen}");
    }
}

/// Its weights quantise to a net in our layout, which has the same values.
#[test]
fn weights_make_a_net_of_ours() {
    let Some(bytes) = &*NET else { return };
    let source = import(bytes, &Hints::default()).unwrap();
    let net = quantise(&source.weights, &source.architecture, source.scales).unwrap();
    let net = net.written_by(source.write);
    let hints = Hints { net: source.architecture, scales: source.scales };
    let again = Net::read(&net.to_bytes(), &hints).unwrap();
    let right = Net::read(bytes, &Hints::default()).unwrap();
    for position in games::positions(50, 3) {
        let value = right.evaluate(&position);
        assert_eq!([net.evaluate(&position), again.evaluate(&position)], [value; 2]);
    }
}

#[test]
fn damage_is_named() {
    let Some(bytes) = &*NET else { return };
    let error = |bytes: &[u8]| Net::read(bytes, &Hints::default()).unwrap_err().to_string();
    for size in [9, 40, 5000, 20_000_000, bytes.len() - 5000, bytes.len() - 1] {
        let error = error(&bytes[..size]);
        assert!(error.contains("a net of Stockfish 15.1") && error.contains("complete"), "{error}");
    }
    let more = error(&[&bytes[..], &[0]].concat());
    assert!(more.contains("1 bytes follow"), "{more}");
    let mut wrong = bytes.clone();
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    wrong[12 + length] ^= 1;
    let error = error(&wrong);
    assert!(error.contains("the transformer has the hash"), "{error}");
}
