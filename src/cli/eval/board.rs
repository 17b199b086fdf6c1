//! One position with boards: what each evaluation says, what each piece is worth, and why.

use anyhow::{Result, bail};

use crate::hce::{Explanation, HceWeights, explain};
use crate::report::board::{board, side_by_side};
use crate::report::{Align, Table, Values};
use crate::run::Evaluator;
use crate::sample::{Position, Sample};

/// Terms of a handcrafted evaluation to list, those that weigh most.
const TERMS: usize = 12;

/// The page of a position: boards of all evaluations that know boards, side by side in a table,
/// and handcrafted ones taken apart.
pub fn page(evaluators: &[Evaluator], position: &Position) -> Result<String> {
    let mut text = format!("{}\n\n", position.fen());
    let mut said = Vec::new();
    for evaluator in evaluators {
        let values = values(evaluator, position)?;
        said.push((evaluator.name.clone(), values.whole, evaluator.centipawns().ok()));
        text += &format!(
            "What each piece adds for White in {}, in centipawns: the evaluation less that without \
             it\n\n{}\n",
            evaluator.name,
            board(&position.letters(), &values.pieces)
        );
    }
    let table = side_by_side(&said, position.turn().is_white());
    text += &format!("{table}");
    if said.iter().any(|(.., scale)| scale.is_some()) {
        text += "expected result: sigmoid(cp / the scale that fits this evaluation)\n";
    }
    for evaluator in evaluators {
        if let Err(reason) = evaluator.centipawns() {
            text += &format!("no expected result of {}: {reason}\n", evaluator.name);
        }
    }
    for evaluator in evaluators {
        if let Some(weights) = evaluator.terms() {
            text += &format!("\n{}", taken_apart(&evaluator.name, weights, position));
        }
    }
    Ok(text)
}

/// Centipawns of a position for the side to move, and what each piece adds for White.
struct Worth {
    whole: f64,
    pieces: [Option<f64>; 64],
}

fn values(evaluator: &Evaluator, position: &Position) -> Result<Worth> {
    let mut squares = Vec::new();
    let mut samples = vec![Sample::of(*position)];
    for piece in position.pieces() {
        if let Some(without) = position.without(piece.square) {
            squares.push(piece.square);
            samples.push(Sample::of(without));
        }
    }
    let Values::Cp(cp) = evaluator.evaluate(&samples, &[])?.values else {
        bail!("{} gives no centipawns for a position", evaluator.name);
    };
    let white = if position.turn().is_white() { 1.0 } else { -1.0 };
    let mut pieces = [None; 64];
    for (square, value) in squares.into_iter().zip(&cp[1..]) {
        pieces[square as usize] = Some(white * (cp[0] - value));
    }
    Ok(Worth { whole: cp[0], pieces })
}

/// A handcrafted evaluation by groups of terms, and its heaviest terms.
fn taken_apart(name: &str, weights: &HceWeights, position: &Position) -> String {
    let explanation = explain(weights, position);
    let Explanation { shares: [mg, eg], xi, .. } = explanation;
    let mut text = format!(
        "{name}, for White: {:.0} % middlegame, {:.0} % endgame, endgame scaled by {xi}/128\n\n",
        100.0 * mg,
        100.0 * eg
    );
    let mut groups = Table::new(&[
        ("group", Align::Left),
        ("mg", Align::Right),
        ("eg", Align::Right),
        ("cp", Align::Right),
    ]);
    for group in &explanation.groups {
        let [mg, eg] = group.white_phases;
        let cells = [mg, eg, group.white_cp].map(tenths);
        groups.row(std::iter::once(group.name.clone()).chain(cells));
    }
    groups.row(["sum", "", "", &tenths(explanation.white_total)]);
    let mut terms: Vec<_> =
        explanation.terms.iter().filter_map(|term| Some((term, term.white_cp?))).collect();
    terms.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let mut heaviest = Table::new(&[
        ("heaviest terms", Align::Left),
        ("White", Align::Right),
        ("Black", Align::Right),
        ("weight mg", Align::Right),
        ("eg", Align::Right),
        ("cp", Align::Right),
    ]);
    for (term, cp) in terms.iter().take(TERMS) {
        let counts = [term.white_count, term.black_count].map(|count| count.to_string());
        let [mg, eg] = term.weights.map(tenths);
        let [white, black] = counts;
        heaviest.row([term.name.clone(), white, black, mg, eg, tenths(*cp)]);
    }
    text += &format!("{groups}\n{heaviest}");
    text
}

/// One decimal, with the sign.
fn tenths(value: f64) -> String {
    match format!("{value:+.1}") {
        zero if zero == "-0.0" || zero == "+0.0" => "0.0".to_string(),
        text => text,
    }
}
