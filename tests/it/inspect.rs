//! Looking into nets: handmade ones whose insides are known, random ones against slow oracles,
//! and the one that the quickstart trains.

use maud::html;
use nnuance::architecture::{Activation, Architecture, Inputs, Views};
use nnuance::draw::{board, page};
use nnuance::export::{self, Float};
use nnuance::hce::{HceWeights, Term};
use nnuance::inspect::{BANDS, Inspection, Options, ROLES, inspect, without, work};
use nnuance::loader::{Filter, Part, Plan, Split, collect};
use nnuance::net::Hints;
use nnuance::sample::{Position, Sample, mix};
use nnuance::scales::Scales;
use nnuance::weights::Weights;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use shakmaty::{Color, Role};

use super::games::{positions, samples};

/// A net whose arrays are given by functions.
pub fn net(
    architecture: &Architecture,
    row: impl Fn(usize, usize) -> f32,
    bias: impl Fn(usize) -> f32,
    output: impl Fn(usize) -> f32,
    output_bias: f32,
) -> Weights {
    let (inputs, hidden, views) = (architecture.rows(), architecture.hidden, architecture.views());
    let mut weights = Weights::default();
    let rows = (0..inputs * hidden).map(|i| row(i / hidden, i % hidden)).collect();
    weights.insert("accumulator.weight", &[inputs, hidden], rows);
    weights.insert("accumulator.bias", &[hidden], (0..hidden).map(bias).collect());
    weights.insert("output.weight", &[views * hidden], (0..views * hidden).map(output).collect());
    weights.insert("output.bias", &[1], vec![output_bias]);
    weights
}

pub fn random(architecture: &Architecture, seed: u64) -> Weights {
    let random = std::cell::RefCell::new(Xoshiro256PlusPlus::seed_from_u64(seed));
    let draw = |most: f32| random.borrow_mut().random_range(-most..most);
    net(architecture, |_, _| draw(0.3), |_| draw(0.5), |_| draw(1.0), 0.1)
}

pub fn look(
    weights: &Weights,
    architecture: &Architecture,
    samples: &[Sample],
    options: &Options,
) -> Inspection {
    inspect(weights, architecture, Scales::default(), samples, options, &|_| ()).unwrap()
}

#[test]
fn what_rounds_to_nothing_has_no_sign() {
    for architecture in shapes() {
        let weights = net(&architecture, |_, _| 0.0, |_| 0.5, |_| -1e-5, 0.0);
        let looked = look(&weights, &architecture, &samples(50, 3), &no_terms());
        assert!(looked.activity.neurons.iter().all(|it| it.mean_cp.is_some_and(|mean| mean < 0.0)));
        let text = looked.text();
        assert!(!text.contains("-0 ") && !text.contains("-0\n"), "{text}");
    }
    assert_eq!(board::whole(-0.4), "0");
}

fn no_terms() -> Options {
    Options { terms: 0, ..Options::default() }
}

fn shapes() -> impl Iterator<Item = Architecture> {
    Views::ALL.into_iter().flat_map(|views| {
        Activation::ALL.map(|activation| Architecture::simple(views, 70, activation))
    })
}

#[test]
fn a_man_taken_off_is_no_longer_there() {
    for position in positions(300, 1) {
        for (place, piece) in position.pieces().enumerate() {
            let left: Vec<_> = position.pieces().filter(|other| *other != piece).collect();
            let without = without(&position, place);
            assert_eq!(without.pieces().collect::<Vec<_>>(), left);
            assert_eq!(without.turn(), position.turn());
        }
    }
}

#[test]
fn the_worth_of_men_is_what_two_whole_evaluations_differ_by() {
    let samples = samples(400, 2);
    for architecture in shapes() {
        let weights = random(&architecture, 3);
        let found = look(&weights, &architecture, &samples, &no_terms()).pieces;
        let float = Float::new(&weights, &architecture).unwrap();
        let mut worths = vec![vec![Vec::new(); BANDS.len()]; ROLES.len()];
        for Sample { position, .. } in &samples {
            let board = position.board();
            let count = |role| board.by_role(role).count() as u8;
            let pieces = count(Role::Knight)
                + count(Role::Bishop)
                + 2 * count(Role::Rook)
                + 4 * count(Role::Queen);
            let band = BANDS.iter().position(|it| (it.from..=it.to).contains(&pieces)).unwrap();
            for (place, piece) in position.pieces().enumerate().filter(|it| it.1.role != Role::King)
            {
                let worth = float.logit(position) - float.logit(&without(position, place));
                let worth = 400.0 * if piece.color == position.turn() { worth } else { -worth };
                worths[piece.role as usize - 1][band].push(worth);
            }
        }
        for (found, worths) in found.values.iter().flatten().zip(worths.iter().flatten()) {
            let Some(found) = found else {
                assert!(worths.is_empty());
                continue;
            };
            let count = worths.len() as f64;
            let mean = worths.iter().sum::<f64>() / count;
            let variance = worths.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
            assert_eq!(found.count, worths.len() as u64);
            assert!((found.mean - mean).abs() < 0.01, "{architecture}: {found:?} {mean}");
            assert!((found.spread - variance.sqrt()).abs() < 0.01, "{architecture}: {found:?}");
        }
    }
}

#[test]
fn activity_is_what_the_definition_says() {
    let samples = samples(500, 4);
    for architecture in shapes() {
        let weights = random(&architecture, 5);
        let found = look(&weights, &architecture, &samples, &no_terms());
        let Architecture { inputs, hidden, activation, .. } = architecture;
        let each = architecture.views();
        let array = |name: &str| &weights.0[name].values;
        let (rows, bias) = (array("accumulator.weight"), array("accumulator.bias"));
        for neuron in [0, 1, 63, 64, 69] {
            let (mut zero, mut clipped, mut sum, mut added) = (0, 0, 0.0, Vec::new());
            for Sample { position, .. } in &samples {
                let mut adds = 0.0;
                for view in 0..each {
                    let mut a = f64::from(bias[neuron]);
                    inputs.active(position, view, &mut |input| {
                        a += f64::from(rows[input * hidden + neuron]);
                    });
                    zero += usize::from(a <= 0.0);
                    clipped += usize::from(a >= 1.0 && activation != Activation::ReLU);
                    sum += activation.apply(a);
                    let weight = f64::from(array("output.weight")[view * hidden + neuron]);
                    adds += 400.0 * activation.apply(a) * weight;
                }
                added.push(adds);
            }
            let count = added.len() as f64;
            let views = count * each as f64;
            let mean = added.iter().sum::<f64>() / count;
            let variance = added.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
            let it = &found.activity.neurons[neuron];
            assert_eq!(it.zero_share, zero as f64 / views);
            assert_eq!(it.clipped_share, clipped as f64 / views);
            assert!((it.mean - sum / views).abs() < 1e-5);
            assert!((it.mean_cp.expect("one layer") - mean).abs() < 0.01);
            assert!((it.use_cp.expect("one layer") - variance.sqrt()).abs() < 0.01);
            assert_eq!(it.before.total(), views as u64);
        }
    }
}

/// The count of dead and saturated neurons, of a net made by hand.
#[test]
fn dead_and_saturated_neurons_are_counted() {
    let samples = samples(3000, 6);
    let views = Views::Perspective;
    let architecture = Architecture::simple(views, 5, Activation::CReLU);
    // Neurons: dead; saturated; both kings, so the sum is 2; own queens; one that only own kings
    // on h8 switch on.
    let row = |input: usize, neuron: usize| {
        let piece = Inputs::of(views).piece(input).unwrap();
        let own = piece.color == Color::White;
        f32::from(match neuron {
            2 => piece.role == Role::King,
            3 => own && piece.role == Role::Queen,
            4 => own && piece.role == Role::King && piece.square == shakmaty::Square::H8,
            _ => false,
        })
    };
    let weights = net(&architecture, row, |i| [-10.0, 5.0, 0.0, 0.0, 0.0][i], |_| 0.5, 0.0);
    let activity = look(&weights, &architecture, &samples, &no_terms()).activity;
    let count = |wanted: &dyn Fn(&Position, Color) -> bool| {
        let views = samples.iter().flat_map(|it| Color::ALL.map(|view| (it.position, view)));
        views.filter(|(position, view)| wanted(position, *view)).count()
    };
    let far = count(&|position, view| {
        let home = if view == Color::White { shakmaty::Square::H8 } else { shakmaty::Square::H1 };
        position.board().king_of(view) == Some(home)
    });
    let queens = count(&|position, view| {
        let board = position.board();
        (board.queens() & board.by_color(view)).any()
    });
    let views = 2.0 * samples.len() as f64;
    assert!(far < 6, "{far} kings in the corner are too many for this test");
    let dead = 1 + usize::from(far == 0);
    assert_eq!((activity.dead, activity.nearly_dead), (dead, 2 - dead));
    assert_eq!((activity.saturated, activity.nearly_saturated), (2, 0));
    assert_eq!(activity.neurons[3].zero_share, 1.0 - queens as f64 / views);
    assert_eq!(activity.neurons[1].use_cp, Some(0.0));
    assert_eq!(activity.neurons[1].mean_cp, Some(400.0));
    assert_eq!(activity.neurons[0].before.counts[0], views as u64);
}

/// What a piece is worth in a net that is linear, in 64ths of a logit.
fn made_up(role: Role, square: usize) -> f32 {
    let worth = [16, 48, 52, 80, 144, 0][role as usize - 1];
    (worth + (square as i32 * 7 + role as i32 * 3) % 16) as f32 / 64.0
}

#[test]
fn a_linear_net_gives_its_piece_values_and_tables_back() {
    let samples = samples(4000, 7);
    for views in [Views::SideToMove, Views::Perspective] {
        let architecture = Architecture::simple(views, 1, Activation::ReLU);
        let row = |input: usize, _| {
            let piece = Inputs::of(views).piece(input).unwrap();
            let own = piece.color == Color::White;
            let square = piece.square as usize ^ if own { 0 } else { 56 };
            made_up(piece.role, square) * if own { 1.0 } else { -1.0 }
        };
        // The bias keeps the accumulator positive; two views with opposite weights cancel it.
        let count = views.count() as f32;
        let output = |i| if i == 0 { 1.0 / count } else { -1.0 / count };
        let output_bias = if views.count() == 1 { -64.0 } else { 0.0 };
        let weights = net(&architecture, row, |_| 64.0, output, output_bias);
        let pieces = look(&weights, &architecture, &samples, &no_terms()).pieces;
        for role in Role::ALL.into_iter().filter(|role| *role != Role::King) {
            let table = &pieces.tables[role as usize - 1];
            let mut sum = 0.0;
            for square in 0..64 {
                let worth = 400.0 * f64::from(made_up(role, square));
                sum += worth * table.counts[square] as f64;
                for value in table.values[square].into_iter().flatten() {
                    // The ridge of the squares takes a trace off those that are hardly known.
                    assert!((value - worth).abs() < 0.1, "{role:?} {square}: {value} {worth}");
                }
            }
            let values = pieces.values[role as usize - 1].iter().flatten();
            let found: f64 = values.clone().map(|it| it.mean * it.count as f64).sum();
            assert_eq!(found, sum);
            assert!(values.map(|it| it.count).sum::<u64>() > 1000);
        }
        let pawn = pieces.values[0][2].unwrap();
        assert_eq!(pawn.of_pawn, Some(100.0));
        let king = &pieces.tables[5];
        let known: Vec<usize> = (0..64).filter(|square| king.counts[*square] > 30).collect();
        assert!(known.len() > 8);
        for (from, to) in known.iter().zip(&known[1..]) {
            let worth = |square| 400.0 * f64::from(made_up(Role::King, square));
            let difference =
                |phase: usize| Some(king.values[*from][phase]? - king.values[*to][phase]?);
            let found = [0, 1].into_iter().filter_map(difference);
            for found in found {
                // The ridge takes a little off.
                let expected = worth(*from) - worth(*to);
                assert!((found - expected).abs() < 5.0, "{from} {to}: {found} {expected}");
            }
        }
    }
}

#[test]
fn handcrafted_tables_agree_with_themselves() {
    let samples = samples(3000, 8);
    let mut hce = HceWeights::zero(400.0);
    for term in Term::all() {
        let name = term.name();
        if let Some(role) = Role::ALL
            .into_iter()
            .find(|role| name.starts_with(&format!("psqt.{}.", format!("{role:?}").to_lowercase())))
        {
            let square: shakmaty::Square = name.rsplit('.').next().unwrap().parse().unwrap();
            let worth = 100.0 * f64::from(made_up(role, square as usize));
            hce.values[term.index()] = [worth; 2];
        }
    }
    let views = Views::Plain;
    let architecture = Architecture::simple(views, 1, Activation::ReLU);
    let row = |input: usize, _| {
        let piece = Inputs::of(views).piece(input).unwrap();
        let own = piece.color == Color::White;
        let square = piece.square as usize ^ if own { 0 } else { 56 };
        made_up(piece.role, square) * if own { 1.0 } else { -1.0 }
    };
    let weights = net(&architecture, row, |_| 64.0, |_| 1.0, -64.0);
    let options = Options { hce: Some(hce), ..no_terms() };
    let pieces = look(&weights, &architecture, &samples, &options).pieces;
    let beside = pieces.hce.unwrap();
    for agreement in [&beside.by_removal, &beside.as_written] {
        // A logit is 400 cp of the net and 100 of these weights.
        assert!((agreement.factor.unwrap() - 4.0).abs() < 1e-3, "{:?}", agreement.factor);
        let mut agreed = 0;
        for role in &agreement.roles {
            for phase in &role.phases {
                // Random games have few endgames.
                if phase.squares > 10 {
                    agreed += 1;
                    assert!(phase.correlation.unwrap() > 0.99, "{role:?}");
                }
                assert!(phase.difference.is_none_or(|it| it.abs() < 0.1), "{role:?}");
            }
        }
        assert!(agreed >= 6, "{agreed}");
    }
    let material = HceWeights::material();
    let options = Options { hce: Some(material), ..no_terms() };
    let pieces = look(&weights, &architecture, &samples, &options).pieces.hce.unwrap();
    let means = pieces.values.map(|bands| bands[0].unwrap().mean);
    assert_eq!(means, [100.0, 320.0, 330.0, 500.0, 900.0]);
}

/// Positions that pass for games of ten.
pub fn games(count: usize, seed: u64) -> Vec<Sample> {
    let mut samples = samples(count, seed);
    for (i, sample) in samples.iter_mut().enumerate() {
        sample.game = std::num::NonZeroU64::new(mix(9, i as u64 / 10) | 1 << 40);
    }
    samples
}

#[test]
fn threads_leave_the_bits_alone() {
    let samples = games(3000, 13);
    let options = Options { hce: Some(HceWeights::default()), ..Options::default() };
    let views = Views::Perspective;
    let architecture = Architecture::simple(views, 130, Activation::SCReLU);
    let weights = random(&architecture, 14);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            serde_json::to_string(&look(&weights, &architecture, &samples, &options)).unwrap()
        })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn progress_adds_up() {
    let samples = games(3000, 15);
    let hce = Some(HceWeights::material());
    let options = Options { pieces: 1000, terms: 1400, hce, ..Options::default() };
    let architecture = Architecture::simple(Views::Plain, 3, Activation::ReLU);
    let seen = std::sync::atomic::AtomicU64::new(0);
    let more = |count| {
        seen.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    let weights = random(&architecture, 16);
    inspect(&weights, &architecture, Scales::default(), &samples, &options, &more).unwrap();
    assert_eq!(seen.into_inner(), work(&architecture, samples.len(), &options));
}

#[test]
fn what_cannot_be_looked_into_is_named() {
    let architecture = Architecture::simple(Views::Plain, 3, Activation::ReLU);
    let weights = random(&architecture, 17);
    let positions = samples(10, 18);
    let error = |weights: &Weights, architecture: &Architecture, samples: &[Sample], clip: f64| {
        let options = Options { clip, ..Options::default() };
        inspect(weights, architecture, Scales::default(), samples, &options, &|_| ())
            .unwrap_err()
            .to_string()
    };
    let wider = architecture.with_hidden(4);
    assert!(error(&weights, &wider, &positions, 1.98).contains("accumulator.weight has shape"));
    assert!(error(&weights, &architecture, &[], 1.98).contains("no position"));
    assert!(error(&weights, &architecture, &positions, 0.0).contains("clip is 0"));
    let mut diverged = weights.clone();
    diverged.0.get_mut("output.weight").unwrap().values[1] = f32::NAN;
    assert!(error(&diverged, &architecture, &positions, 1.98).contains("output.weight, value 1"));
}

#[test]
fn weights_at_the_clip_are_counted() {
    let views = Views::Perspective;
    let architecture = Architecture::simple(views, 2, Activation::SCReLU);
    // Row 8 is an own pawn on a2, row 0 one on a1, which no position has.
    let row = |input: usize, neuron: usize| match (input, neuron) {
        (8, 0) => 1.98,
        (8, 1) => 1.9,
        (0, _) => 1.98,
        (10, 0) => -505.0 / 255.0,
        _ => 0.25,
    };
    let weights = net(&architecture, row, |_| 0.0, |i| i as f32, 0.0);
    let found = look(&weights, &architecture, &samples(200, 19), &no_terms());
    let layer = &found.layers[0];
    assert_eq!((layer.weights, layer.at_clip, layer.near_clip), (2 * (768 - 32), 2, 1));
    assert_eq!(layer.histogram.total(), layer.weights as u64);
    assert_eq!(layer.largest[0].what, "own pawn on c2");
    assert_eq!((found.rows.impossible, found.rows.seen[0]), (32, 0));
    let kings: u64 = (320..384).map(|input| found.rows.seen[input]).sum();
    assert_eq!(kings, found.activity.views);
    assert_eq!(found.layers[2].largest[0].neuron, Some(1));
    assert_eq!(found.layers[2].largest[0].what, "other side");
    let map = &found.maps[0];
    assert_eq!(map.boards.len(), 12);
    let shown = map.boards[0][8];
    assert_eq!(shown, [1.98, 1.9][map.neuron]);
    assert_eq!(found.moved_by.len(), 2);
}

/// Held-out positions of the quickstart's data.
fn held_out() -> Vec<Sample> {
    let mut plan = Plan::reading(vec!["data/selfplay-sf15.vf".into()]);
    plan.split = Split { share: 0.1, seed: 0 };
    plan.filter = Filter { min_ply: Some(16), skip_in_check: true, ..Filter::default() };
    collect(&plan, Part::HeldOut, &|_| ()).unwrap()
}

#[test]
fn the_quickstarts_net_knows_what_pieces_are_worth() {
    let bytes = std::fs::read("nets/quickstart-32.bin").unwrap();
    let source = export::import(&bytes, &Hints::default()).unwrap();
    let samples: Vec<Sample> = held_out().into_iter().step_by(8).collect();
    let options = Options { hce: Some(HceWeights::default()), ..Options::default() };
    let found =
        inspect(&source.weights, &source.architecture, source.scales, &samples, &options, &|_| ())
            .unwrap();
    let values = |band: usize| found.pieces.values.map(|bands| bands[band].unwrap().mean);
    for [pawn, knight, bishop, rook, queen] in [values(0), values(1), values(2)] {
        assert!(pawn > 0.0 && knight > pawn && bishop > pawn, "{:?}", found.pieces.values);
        assert!(rook > knight.max(bishop) && queen > rook, "{:?}", found.pieces.values);
    }
    assert_eq!(found.activity.dead + found.activity.saturated, 0);
    let terms = found.terms.as_ref().unwrap();
    let material = terms.groups.iter().find(|group| group.name == "material").unwrap();
    assert!(material.hidden > 0.2 && material.linear > 0.99, "{material:?}");
    assert!(terms.whole.len() == 2 && terms.whole.iter().all(|it| it.hidden > 0.7));
    let text = found.text();
    assert!(text.lines().count() <= 90 && text.lines().all(|line| line.chars().count() <= 100));
    let page = page("A net", &html! {}, &found.pictures());
    for title in ["Neurons", "Weights", "Squares"] {
        assert!(page.contains(title), "{title}");
    }
    assert_eq!(page.matches("data:image/png").count(), 10);
}
