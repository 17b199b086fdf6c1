//! Verification of a net against its manifest and its floats.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::{read_manifest, read_net_file};
use super::{
    ImportedWeights, NetLoadError, floats_path, import_weights, manifest_path, prove, quantise,
};
use crate::digest::sha256_prefix;
use crate::net::{Hints, Net};
use crate::sample::Position;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub passed: bool,
    pub found: String,
}

/// Recomputes the facts of a manifest, and the net from the floats beside it, if there are any.
///
/// # Errors
///
/// Fails with [`NetLoadError::Missing`] without a manifest, with [`NetLoadError::Manifest`] if it
/// is wrong, and with [`NetLoadError::Read`] if a file cannot be read. A fact that does not hold is
/// no error, but a [`Check`] that did not pass.
pub fn verify_net(path: &Path) -> Result<Vec<Check>, NetLoadError> {
    let bytes = read_net_file(path)?;
    let missing = || NetLoadError::Missing { path: manifest_path(path) };
    let manifest = read_manifest(path)?.ok_or_else(missing)?;
    let mut checks = Vec::new();
    let mut check = |name, passed, found| checks.push(Check { name, passed, found });
    let describe_mismatch = |matches: bool| if matches { "" } else { ", unlike the manifest" };

    let sha256 = sha256_prefix(&bytes);
    let matches = sha256 == manifest.sha256;
    check("sha256", matches, format!("{}…{}", &sha256[..16], describe_mismatch(matches)));

    let net = match Net::read(&bytes, &manifest.to_hints()) {
        Ok(net) => net,
        Err(error) => {
            check("architecture", false, error.to_string());
            return Ok(checks);
        }
    };
    let found = net.architecture();
    let matches = *found == manifest.architecture && net.to_bytes() == bytes;
    check("architecture", matches, format!("{found}{}", describe_mismatch(matches)));

    let golden = golden_evaluations(&net);
    let slowly = |it: &Golden| net.evaluate_slowly(&golden_position(&it.fen));
    let matches = golden == manifest.golden && golden.iter().all(|it| slowly(it) == it.cp);
    check("golden evaluations", matches, format!("{}{}", golden.len(), describe_mismatch(matches)));

    match prove(&net) {
        Ok(proof) => {
            let matches = proof == manifest.proof;
            check("no overflow", matches, format!("{proof}{}", describe_mismatch(matches)));
        }
        Err(overflow) => check("no overflow", false, overflow.to_string()),
    }

    let floats = floats_path(path);
    if floats.exists() {
        let result = quantise_again(&read_net_file(&floats)?, &net);
        check("floats", result.is_ok(), result.err().unwrap_or("they quantise to this net".into()));
    }
    Ok(checks)
}

fn golden_position(fen: &str) -> Position {
    Position::from_fen(fen).expect("the golden positions are legal")
}

/// Quantises the floats beside a net again. The error describes the difference.
fn quantise_again(bytes: &[u8], net: &Net) -> Result<(), String> {
    let hints = Hints { net: net.architecture().clone(), scales: net.scales() };
    let ImportedWeights { weights, architecture, .. } =
        import_weights(bytes, &hints).map_err(|error| error.to_string())?;
    if architecture.without_factoriser() != *net.architecture() {
        return Err(format!("they are those of {architecture}"));
    }
    let requantised =
        quantise(&weights, &architecture, net.scales()).map_err(|it| it.to_string())?;
    match requantised.numbers() == net.numbers() {
        true => Ok(()),
        false => Err("they quantise to another net".to_string()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    pub fen: String,
    pub cp: i32,
}

/// Varied legal positions: openings, middlegames, endgames, checks, both sides to move.
pub const GOLDEN_FENS: [&str; 16] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1",
    // All 32 pieces, castling both ways, many captures.
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    // White has no queen.
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
    "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1",
    // En passant for either side.
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "rnbqkbnr/ppp1pppp/8/8/3pP3/2N5/PPPP1PPP/R1BQKBNR b KQkq e3 0 3",
    // Promotions: with and without capture, and afterwards.
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "QQQQQQQQ/8/8/8/4k3/8/8/K7 b - - 0 60",
    // The smallest legal board.
    "8/8/3k4/8/8/3K4/8/8 w - - 0 80",
    // Black to move in a sharp middlegame, and in check.
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 b - - 2 13",
    "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
    "6k1/5ppp/8/8/8/8/5PPP/3R2K1 b - - 0 30",
    "8/8/1KP5/3r4/8/8/8/k7 w - - 0 1",
];

/// Evaluates [`GOLDEN_FENS`], in their order.
pub fn golden_evaluations(net: &Net) -> Vec<Golden> {
    let golden = |fen: &str| Golden { fen: fen.into(), cp: net.evaluate(&golden_position(fen)) };
    GOLDEN_FENS.map(golden).into()
}
