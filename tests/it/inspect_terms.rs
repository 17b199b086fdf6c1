//! Which terms a hidden layer knows: of nets made by hand, and against a plain fit.

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::hce::{Term, Trace, evaluate};
use nnuance::inspect::Options;
use nnuance::sample::{Position, Sample, mix};
use shakmaty::{Color, Role};

use super::inspect::{games, look, net, random};

#[test]
fn what_a_neuron_computes_is_explained_and_nothing_else() {
    let samples = games(6000, 10);
    let views = Views::Perspective;
    let architecture = Architecture::simple(views, 2, Activation::ReLU);
    // Own knights; and own bishops beyond the first, which is the pair where no pawn became one.
    let row = |input: usize, neuron: usize| {
        let piece = architecture.inputs.piece(input).unwrap();
        let wanted = [Role::Knight, Role::Bishop][neuron];
        f32::from(piece.color == Color::White && piece.role == wanted)
    };
    let weights = net(&architecture, row, |i| [0.0, -1.0][i], |_| 0.5, 0.0);
    let explained = look(&weights, &architecture, &samples, &Options::default()).terms.unwrap();
    assert_eq!(explained.fitted_on + explained.measured_on, 6000);
    assert!(explained.fitted_on.abs_diff(3000) < 300);
    let term = |name: &str| explained.terms.iter().find(|term| term.name == name).unwrap();
    let knights = term("material.knight");
    assert!(knights.hidden > 0.9999 && knights.linear > 0.999, "{knights:?}");
    let pair = term("bishops.pair");
    // Pawns become bishops in random games.
    assert!(pair.hidden > 0.93 && pair.linear < 0.6, "{pair:?}");
    let squares = term("psqt.pawn.e4");
    assert!(squares.hidden.abs() < 0.05 && squares.linear > 0.999, "{squares:?}");
    let group = explained.groups.iter().find(|group| group.name == "psqt.pawn").unwrap();
    let pawns = explained.terms.iter().filter(|term| term.name.starts_with("psqt.pawn."));
    let sums = pawns.fold((0.0, 0.0), |(sum, weight), term| {
        let positions = term.positions as f64;
        (sum + positions * term.hidden, weight + positions)
    });
    assert!((group.hidden - sums.0 / sums.1).abs() < 1e-12);
}

/// Ridge least squares by the book: normal equations of scaled regressors, by elimination.
#[test]
fn explained_shares_are_those_of_a_plain_fit() {
    let samples = games(2500, 11);
    for views in [Views::Plain, Views::Perspective] {
        let architecture = Architecture::simple(views, 4, Activation::SCReLU);
        let weights = random(&architecture, 12);
        let explained = look(&weights, &architecture, &samples, &Options::default()).terms.unwrap();
        let regressors = |position: &Position| -> Vec<f64> {
            let mut all = Vec::new();
            for view in 0..views.count() {
                for neuron in 0..4 {
                    let mut a = f64::from(weights.0["accumulator.bias"].values[neuron]);
                    architecture.inputs.active(position, view, &mut |input| {
                        let rows = &weights.0["accumulator.weight"].values;
                        a += f64::from(rows[input * 4 + neuron]);
                    });
                    all.push(Activation::SCReLU.apply(a));
                }
            }
            all
        };
        let (train, test): (Vec<_>, Vec<_>) =
            samples.iter().partition(|sample| mix(1, sample.group()) & 1 == 0);
        for name in ["material.queen", "mobility.king.0", "psqt.king.e1", "material.pawn"] {
            let term = Term::named(name).unwrap();
            let target = |position: &Position| {
                let mut trace = Trace::default();
                evaluate(position, &mut trace);
                let [white, black] =
                    [Color::White, Color::Black].map(|side| trace.count(term, side));
                let count = f64::from(white - black);
                let black_sees = views.count() == 2 && position.turn().is_black();
                if black_sees { -count } else { count }
            };
            let rows = |samples: &[&Sample]| -> Vec<Row> {
                let row = |it: &&Sample| (regressors(&it.position), target(&it.position));
                samples.iter().map(row).collect()
            };
            let share = by_the_book(&rows(&train), &rows(&test), explained.ridge);
            let found = explained.terms.iter().find(|term| term.name == name).unwrap().hidden;
            assert!((found - share).abs() < 1e-6, "{name}: {found} {share}");
        }
    }
}

/// Regressors and target of a position.
type Row = (Vec<f64>, f64);

fn by_the_book(train: &[Row], test: &[Row], ridge: f64) -> f64 {
    let len = train[0].0.len();
    let count = train.len() as f64;
    let mean = |of: &dyn Fn(&Row) -> f64| train.iter().map(of).sum::<f64>() / count;
    let means: Vec<f64> = (0..len).map(|i| mean(&|it| it.0[i])).collect();
    let deviations: Vec<f64> =
        (0..len).map(|i| mean(&|it| (it.0[i] - means[i]).powi(2)).sqrt()).collect();
    let target = mean(&|it| it.1);
    let scaled = |it: &[f64], i: usize| (it[i] - means[i]) / deviations[i];
    let mut rows: Vec<Vec<f64>> = (0..len)
        .map(|i| {
            let mut row: Vec<f64> =
                (0..len).map(|j| mean(&|it| scaled(&it.0, i) * scaled(&it.0, j))).collect();
            row[i] += ridge;
            row.push(mean(&|it| scaled(&it.0, i) * (it.1 - target)));
            row
        })
        .collect();
    for pivot in 0..len {
        for other in (0..len).filter(|other| *other != pivot) {
            let factor = rows[other][pivot] / rows[pivot][pivot];
            let taken = rows[pivot].clone();
            for (element, taken) in rows[other].iter_mut().zip(taken) {
                *element -= factor * taken;
            }
        }
    }
    let predicted = |it: &[f64]| {
        target + (0..len).map(|i| rows[i][len] / rows[i][i] * scaled(it, i)).sum::<f64>()
    };
    let errors: f64 = test.iter().map(|it| (it.1 - predicted(&it.0)).powi(2)).sum();
    let middle = test.iter().map(|it| it.1).sum::<f64>() / test.len() as f64;
    1.0 - errors / test.iter().map(|it| (it.1 - middle).powi(2)).sum::<f64>()
}
