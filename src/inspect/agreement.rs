//! How far two sets of piece-square tables agree.

use serde::Serialize;

use super::squares::SquareTable;

/// A net's tables beside handcrafted ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Centipawns of the net for one of the handcrafted evaluation: the one factor that fits all
    /// values of pawns to queens best. None where there is nothing to compare.
    pub factor: Option<f64>,
    /// By role and phase, middlegame and endgame.
    pub roles: Vec<RoleAgreement>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoleAgreement {
    pub role: &'static str,
    pub phases: [Likeness; 2],
}

/// One table beside another, squares weighted by how much of them is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Likeness {
    pub squares: usize,
    /// None where one of the tables is the same everywhere.
    pub correlation: Option<f64>,
    /// Means in centipawns, each evaluation's own; None where no square is known. Tables of kings
    /// have none but 0.
    pub mean: Option<f64>,
    pub hce_mean: Option<f64>,
    /// The mean difference to the handcrafted values when these are multiplied by the factor.
    pub difference: Option<f64>,
}

/// One square in one phase.
struct Pair {
    weight: f64,
    net: f64,
    hce: f64,
}

/// Compares tables with the handcrafted value of a role's place, square and phase, if there is
/// one.
pub(super) fn agreement(
    tables: &[SquareTable],
    hce: impl Fn(usize, usize, usize) -> Option<f64>,
) -> Agreement {
    let pairs = |role: usize, phase: usize| -> Vec<Pair> {
        let table = &tables[role];
        (0..64)
            .filter_map(|square| {
                let (net, hce) = (table.values[square][phase]?, hce(role, square, phase)?);
                Some(Pair { weight: table.known[square][phase], net, hce })
            })
            .collect()
    };
    let all: Vec<[Vec<Pair>; 2]> =
        (0..tables.len()).map(|role| [0, 1].map(|phase| pairs(role, phase))).collect();
    let king = |role: usize| tables[role].role == "king";
    let values = || (0..tables.len()).filter(|role| !king(*role)).flat_map(|role| &all[role]);
    let sum = |of: &dyn Fn(&Pair) -> f64| values().flatten().map(of).sum::<f64>();
    let squares = sum(&|pair| pair.weight * pair.hce * pair.hce);
    let factor = (squares > 0.0).then(|| sum(&|pair| pair.weight * pair.net * pair.hce) / squares);
    let roles = (0..tables.len()).map(|role| RoleAgreement {
        role: tables[role].role,
        phases: [0, 1].map(|phase| likeness(&all[role][phase], factor, king(role))),
    });
    Agreement { factor, roles: roles.collect() }
}

fn likeness(pairs: &[Pair], factor: Option<f64>, king: bool) -> Likeness {
    let weight: f64 = pairs.iter().map(|pair| pair.weight).sum();
    let mean = |of: &dyn Fn(&Pair) -> f64| {
        let sum: f64 = pairs.iter().map(|pair| pair.weight * of(pair)).sum();
        (weight > 0.0).then(|| sum / weight)
    };
    let (net, hce) = (mean(&|pair| pair.net), mean(&|pair| pair.hce));
    let correlation = net.zip(hce).and_then(|(net, hce)| {
        let both = mean(&|pair| (pair.net - net) * (pair.hce - hce))?;
        let of_net = mean(&|pair| (pair.net - net).powi(2))?;
        let of_hce = mean(&|pair| (pair.hce - hce).powi(2))?;
        let spread = (of_net * of_hce).sqrt();
        (spread > 1e-9).then(|| both / spread)
    });
    // A king's table is known but for a constant.
    let of_value = |value: Option<f64>| value.filter(|_| !king);
    let scaled = hce.zip(factor).map(|(hce, factor)| hce * factor);
    let difference = of_value(net.zip(scaled).map(|(net, scaled)| net - scaled));
    let (mean, hce_mean) = (of_value(net), of_value(hce));
    Likeness { squares: pairs.len(), correlation, mean, hce_mean, difference }
}
