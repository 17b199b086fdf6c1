//! A net against its manifest and its floats: everything that can be computed again is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::layout;
use super::manifest::{read, read_manifest};
use super::{
    FloatError, Imported, LoadError, floats_path, import, manifest_path, measure, prove, quantise,
};
use crate::digest::digest;
use crate::net::{Hints, Net};
use crate::sample::Position;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub passed: bool,
    pub found: String,
}

/// Computes again what a manifest says, and from the floats beside it the net and its error.
pub fn verify(
    path: &Path,
    positions: impl IntoIterator<Item = Position>,
) -> Result<Vec<Check>, LoadError> {
    let bytes = read(path)?;
    let missing = || LoadError::Missing { path: manifest_path(path) };
    let manifest = read_manifest(path)?.ok_or_else(missing)?;
    let mut checks = Vec::new();
    let mut check = |name, passed, found| checks.push(Check { name, passed, found });
    let unlike = |same: bool| if same { "" } else { ", unlike the manifest" };

    check(
        "size",
        bytes.len() as u64 == manifest.bytes,
        format!("{} bytes, the manifest says {}", bytes.len(), manifest.bytes),
    );
    let sha256 = digest(&bytes);
    let same = sha256 == manifest.sha256;
    check("sha256", same, format!("{sha256}{}", unlike(same)));

    let (net, warnings) = match Net::read(&bytes, &manifest.hints()) {
        Ok(read) => read,
        Err(error) => {
            check("architecture", false, error.to_string());
            return Ok(checks);
        }
    };
    let found = net.architecture();
    let same = *found == manifest.architecture && found.inputs.about() == manifest.index;
    check("architecture", same, format!("{found}{}", unlike(same)));
    let same = layout(&net) == manifest.layout;
    let found = match warnings.first() {
        _ if !same => format!("the manifest describes another: {}", manifest.layout),
        Some(warning) => warning.to_string(),
        None => "as documented".to_string(),
    };
    check("layout", net.to_bytes() == bytes && same, found);

    let wrong = manifest.golden.iter().find_map(|golden| wrong(&net, golden));
    // A list that was shortened would prove less than it promises.
    let missing = GOLDEN_FENS.iter().find(|fen| !manifest.golden.iter().any(|it| it.fen == **fen));
    let wrong = wrong.or(missing.map(|fen| format!("{fen} is missing; every manifest has it")));
    let agree = || format!("{} agree", manifest.golden.len());
    check("golden evaluations", wrong.is_none(), wrong.unwrap_or_else(agree));

    match prove(&net) {
        Ok(proof) => {
            let same = proof == manifest.proof;
            check("no overflow", same, format!("{proof}{}", unlike(same)));
        }
        Err(overflow) => check("no overflow", false, overflow.to_string()),
    }

    let floats = floats_path(path);
    if floats.exists() {
        let source = of_floats(&self::read(&floats)?, &net);
        let again = source.as_ref().map_err(Clone::clone).and_then(|it| again(it, &net, positions));
        check("floats", again.is_ok(), again.unwrap_or_else(|error| error));
        if let Some(error) = &manifest.float_error {
            let worst = source.and_then(|source| worst(&source, &net, error));
            check("largest float error", worst.is_ok(), worst.unwrap_or_else(|error| error));
        }
    }
    Ok(checks)
}

/// The floats beside a net, if they are of its architecture.
fn of_floats(bytes: &[u8], net: &Net) -> Result<Imported, String> {
    let hints = Hints { net: net.architecture().clone(), scales: net.scales() };
    let source = import(bytes, &hints).map_err(|error| error.to_string())?;
    let (found, wanted) = (source.architecture.merged(), net.architecture());
    match found == *wanted {
        true => Ok(source),
        false => Err(format!("they are those of {found}, not of {wanted}")),
    }
}

/// Measures the largest error anew, where the manifest says that it is.
fn worst(source: &Imported, net: &Net, said: &FloatError) -> Result<String, String> {
    let fen = &said.worst_fen;
    let position = Position::from_fen(fen).map_err(|error| format!("{fen}: {error}"))?;
    let Imported { weights, architecture, .. } = source;
    let found =
        measure(weights, architecture, net, [position]).map_err(|error| error.to_string())?;
    let found = found.map_or(f64::NAN, |error| error.max_cp);
    let what = format!("{found:.2} cp at {fen}");
    match (found - said.max_cp).abs() <= 1e-6 * (1.0 + found) && said.mean_cp <= said.max_cp {
        true => Ok(what),
        false => Err(format!(
            "{what}, the manifest says {:.2} at most and {:.2} on average",
            said.max_cp, said.mean_cp
        )),
    }
}

fn wrong(net: &Net, golden: &Golden) -> Option<String> {
    let Golden { fen, cp } = golden;
    let position = match Position::from_fen(fen) {
        Ok(position) => position,
        Err(error) => return Some(format!("{fen}: {error}")),
    };
    [net.evaluate(&position), net.evaluate_slowly(&position)]
        .into_iter()
        .find(|found| found != cp)
        .map(|found| format!("{fen} is {found} cp, the manifest says {cp}"))
}

/// Quantises the floats again and measures the error; what is wrong, or how large it is.
fn again(
    source: &Imported,
    net: &Net,
    positions: impl IntoIterator<Item = Position>,
) -> Result<String, String> {
    let Imported { weights, architecture, .. } = source;
    let again = quantise(weights, architecture, net.scales()).map_err(|error| error.to_string())?;
    if again.numbers() != net.numbers() {
        return Err("they quantise to another net".to_string());
    }
    let error =
        measure(weights, architecture, net, positions).map_err(|error| error.to_string())?;
    Ok(error.map_or_else(
        || "they quantise to this net".to_string(),
        |error| {
            format!(
                "they quantise to this net; over {} positions the integers are off by {:.2} cp \
                 on average and {:.2} cp at most, at {}",
                error.positions, error.mean_cp, error.max_cp, error.worst_fen
            )
        },
    ))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Golden {
    pub fen: String,
    pub cp: i32,
}

/// Legal and varied: openings, middlegames, endgames, checks, both sides to move.
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
    // En passant, for either side.
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "rnbqkbnr/ppp1pppp/8/8/3pP3/2N5/PPPP1PPP/R1BQKBNR b KQkq e3 0 3",
    // Promotions: with and without capture, and afterwards.
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "QQQQQQQQ/8/8/8/4k3/8/8/K7 b - - 0 60",
    // The least that a board may hold.
    "8/8/3k4/8/8/3K4/8/8 w - - 0 80",
    // Black to move in a sharp middlegame, and in check.
    "r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 b - - 2 13",
    "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
    "6k1/5ppp/8/8/8/8/5PPP/3R2K1 b - - 0 30",
    "8/8/1KP5/3r4/8/8/8/k7 w - - 0 1",
];

/// The net's answers, in the order of [`GOLDEN_FENS`].
pub fn golden_evaluations(net: &Net) -> Vec<Golden> {
    GOLDEN_FENS
        .iter()
        .map(|&fen| {
            let position = Position::from_fen(fen).expect("the golden positions are legal");
            Golden { fen: fen.to_string(), cp: net.evaluate(&position) }
        })
        .collect()
}
