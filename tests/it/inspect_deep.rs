//! Looking into nets of every kind: against the definition with parts of it taken away, and nets
//! made by hand.

use assert_cmd::Command;
use maud::html;
use nnuance::architecture::{Activation, Architecture, Inputs, Kings, PIECES, Part, Views};
use nnuance::draw::page;
use nnuance::export::{Float, facts};
use nnuance::floats::Floats;
use nnuance::inspect::{Inspection, Options, ROLES, State, inspect, without, work};
use nnuance::sample::Sample;
use nnuance::scales::Scales;
use nnuance::weights::Weights;
use shakmaty::{Color, Role};

use crate::{drawn, games};

/// Seeds of the nets that are drawn.
const NETS: std::ops::Range<u64> = 0..16;

fn look(weights: &Weights, net: &Architecture, samples: &[Sample]) -> Inspection {
    let options = Options { terms: 0, ..Options::default() };
    inspect(weights, net, Scales::default(), samples, &options, &|_| ()).expect("an inspection")
}

fn net(form: &str) -> Architecture {
    serde_json::from_str(form).expect("a net")
}

/// Mirrored, with king buckets that share weights, pairs, three layers, skip neuron and output
/// buckets.
fn everything() -> Architecture {
    let buckets: Vec<String> = (0..32).map(|square| (square / 8).to_string()).collect();
    net(&format!(
        r#"{{"inputs": "perspective", "mirror": true, "king_buckets": [{}], "factorised": true,
             "hidden": 70, "activation": "crelu", "pairwise": true, "skip": true,
             "head": [{{"size": 6, "activation": "dual"}}, {{"size": 5, "activation": "screlu"}},
                      {{"size": 4, "activation": "relu"}}, {{"size": 1}}], "output_buckets": 4}}"#,
        buckets.join(", ")
    ))
}

/// The evaluation in centipawns, with the eyes of the net.
fn evaluate(float: &Float, net: &Architecture, sample: &Sample) -> f64 {
    400.0 * float.logit(&sample.position) * f64::from(net.inputs.sign(&sample.position))
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> [f64; 2] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
    [mean, variance.sqrt()]
}

fn close(found: f64, right: f64, what: &str) {
    let error = (found - right).abs();
    assert!(error < 0.02 + 2e-5 * right.abs(), "{what}: {found}, by definition {right}");
}

#[test]
fn worths_are_what_two_whole_evaluations_differ_by() {
    let samples = games::samples(120, 1);
    for seed in NETS {
        let net = drawn::net(seed, 40);
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples).pieces;
        let float = Float::new(&weights, &net).expect("the weights fit");
        let mut all = vec![Vec::new(); ROLES.len()];
        let mut by_bucket = vec![vec![Vec::new(); ROLES.len()]; net.buckets];
        for Sample { position, .. } in &samples {
            for (place, piece) in position.pieces().enumerate().filter(|it| it.1.role != Role::King)
            {
                let worth = float.logit(position) - float.logit(&without(position, place));
                let worth = 400.0 * if piece.color == position.turn() { worth } else { -worth };
                let role = piece.role as usize - 1;
                all[role].push(worth);
                by_bucket[net.bucket(position.count())][role].push(worth);
            }
        }
        for (bands, worths) in found.values.iter().zip(&all) {
            let known = || bands.iter().flatten();
            assert_eq!(known().map(|it| it.count).sum::<u64>(), worths.len() as u64);
            let sum: f64 = known().map(|it| it.mean * it.count as f64).sum();
            close(sum / worths.len() as f64, moments(worths)[0], &format!("{net}"));
        }
        assert_eq!(found.buckets.is_empty(), net.buckets == 1);
        for of_bucket in &found.buckets {
            let count = samples.iter().filter(|it| net.bucket_of(&it.position) == of_bucket.bucket);
            assert_eq!(of_bucket.positions, count.count() as u64);
            let [fewest, most] = of_bucket.pieces;
            assert!([fewest, most].iter().all(|it| net.bucket(*it) == of_bucket.bucket));
            for (value, worths) in of_bucket.values.iter().zip(&by_bucket[of_bucket.bucket]) {
                let Some(value) = value else {
                    assert!(worths.is_empty());
                    continue;
                };
                let [mean, spread] = moments(worths);
                assert_eq!(value.count, worths.len() as u64);
                close(value.mean, mean, &format!("{net}, bucket {}", of_bucket.bucket));
                close(value.spread, spread, &format!("{net}, bucket {}", of_bucket.bucket));
            }
        }
    }
}

/// What is added is what the evaluation loses when the weights are taken away that add it.
#[test]
fn what_neurons_add_is_what_evaluations_lose_without_their_weights() {
    let samples = games::samples(80, 2);
    let mut kinds = [0; 3];
    for seed in 0..3 * NETS.end {
        let net = drawn::net(seed, 40);
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples);
        let float = Float::new(&weights, &net).expect("the weights fit");
        let without = |name: &str, gone: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let mut without = weights.clone();
            let values = &mut without.0.get_mut(name).expect("an array").values;
            values.iter_mut().enumerate().filter(|it| gone(it.0)).for_each(|it| *it.1 = 0.0);
            let less = Float::new(&without, &net).expect("the weights fit");
            let lost = |it| evaluate(&float, &net, it) - evaluate(&less, &net, it);
            samples.iter().map(lost).collect()
        };
        let of_bucket = |all: &[f64], bucket: usize| -> Vec<f64> {
            let pairs = all.iter().zip(&samples);
            let of = pairs.filter(|(_, it)| net.bucket_of(&it.position) == bucket);
            of.map(|(lost, _)| *lost).collect()
        };
        let each = net.outputs_of_view();
        match &found.head {
            None => {
                kinds[0] += 1;
                for neuron in [0, net.hidden / 2, net.hidden - 1] {
                    let it = &found.activity.neurons[neuron];
                    let lost = without("output.weight", &|i| i % each == neuron % each);
                    let [mean, spread] = moments(&lost);
                    close(it.mean_cp.expect("a mean"), mean, &format!("{net}"));
                    close(it.use_cp.expect("a use"), spread, &format!("{net}"));
                }
            }
            Some(head) => {
                kinds[1] += 1;
                let none = |it: &nnuance::inspect::Neuron| (it.mean_cp, it.use_cp) == (None, None);
                assert!(found.activity.neurons.iter().all(none), "{net}");
                let size = net.head[net.head.len() - 1].size;
                let width = net.head[net.head.len() - 1].outputs();
                let last = head.layers.last().expect("a layer");
                for it in last.neurons.iter().step_by(5) {
                    let gone = |i: usize| i / width == it.bucket && i % width % size == it.neuron;
                    let lost = of_bucket(&without("output.weight", &gone), it.bucket);
                    let [mean, spread] = moments(&lost);
                    let adds = it.adds.expect("the last layer adds");
                    close(adds.mean_cp, mean, &format!("{net}, {it:?}"));
                    close(adds.use_cp, spread, &format!("{net}, {it:?}"));
                }
                assert_eq!(head.skip.len(), if net.skip { net.buckets } else { 0 });
                for (bucket, adds) in head.skip.iter().enumerate() {
                    let [inputs, outputs] = net.maps()[0];
                    let row = |i: usize| i / inputs == (bucket + 1) * outputs - 1;
                    let bias = |i: usize| i == (bucket + 1) * outputs - 1;
                    // Weights and bias add up: what both together add.
                    let parts = [
                        of_bucket(&without("head.0.weight", &row), bucket),
                        of_bucket(&without("head.0.bias", &bias), bucket),
                    ];
                    let both: Vec<f64> =
                        parts[0].iter().zip(&parts[1]).map(|(one, other)| one + other).collect();
                    assert_eq!(adds.is_some(), !both.is_empty());
                    let Some(adds) = adds else { continue };
                    kinds[2] += 1;
                    let [mean, spread] = moments(&both);
                    close(adds.mean_cp, mean, &format!("{net}, skip"));
                    close(adds.use_cp, spread, &format!("{net}, skip"));
                }
            }
        }
    }
    assert!(kinds.iter().all(|count| *count > 5), "{kinds:?}");
}

#[test]
fn activity_of_accumulators_is_what_the_definition_says() {
    let samples = games::samples(100, 3);
    for seed in NETS {
        let net = drawn::net(seed, 150);
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples).activity;
        let floats = Floats::of(&weights, &net).expect("the weights fit");
        let (rows, bias) = (floats.get(Part::Accumulator), floats.get(Part::AccumulatorBias));
        let before: Vec<Vec<f64>> = samples
            .iter()
            .flat_map(|it| (0..net.views()).map(move |view| (it, view)))
            .map(|(sample, view)| {
                let mut sums: Vec<f64> = bias.iter().map(|it| f64::from(*it)).collect();
                net.inputs.active(&sample.position, view, &mut |row| {
                    let row = &rows[row * net.hidden..][..net.hidden];
                    sums.iter_mut().zip(row).for_each(|(sum, it)| *sum += f64::from(*it));
                });
                sums
            })
            .collect();
        let curve = net.activation.curve();
        let each = net.outputs_of_view();
        let mut dead = 0;
        for (neuron, it) in found.neurons.iter().enumerate() {
            let values: Vec<f64> = before.iter().map(|all| curve.value(all[neuron])).collect();
            let share = |of: &dyn Fn(&Vec<f64>) -> bool| {
                before.iter().filter(|all| of(all)).count() as f64 / before.len() as f64
            };
            assert_eq!(it.neuron, neuron);
            assert_eq!(it.zero_share, share(&|all| all[neuron] <= 0.0), "{net}");
            assert_eq!(it.clipped_share, share(&|all| all[neuron] >= curve.top()), "{net}");
            assert!((it.mean - moments(&values)[0]).abs() < 1e-5);
            let partner = net.pairwise.then(|| (neuron + each) % net.hidden);
            assert_eq!(it.partner, partner);
            let on: Vec<f64> = match partner {
                None => values,
                Some(with) => {
                    before.iter().zip(values).map(|(all, it)| it * curve.value(all[with])).collect()
                }
            };
            assert!((it.spread - moments(&on)[1]).abs() < 1e-4, "{net}: {it:?}");
            let zero = on.iter().filter(|it| **it == 0.0).count() as f64 / on.len() as f64;
            assert_eq!(it.product_zero_share, partner.map(|_| zero), "{net}");
            dead += usize::from(partner.is_some() && neuron < each && zero == 1.0);
        }
        assert_eq!(found.dead_pairs, net.pairwise.then_some(dead));
    }
}

#[test]
fn a_dead_and_a_saturated_neuron_of_each_layer_are_found() {
    let samples = games::samples(400, 4);
    let net = everything();
    let fresh = drawn::weights(&net, 5);
    let before = look(&fresh, &net, &samples);
    let bucket = before.pieces.buckets.iter().max_by_key(|it| it.positions).unwrap().bucket;
    for (layer, shape) in net.head.iter().enumerate() {
        let [inputs, outputs] = net.maps()[layer];
        // Of relu none saturates, and 0 alone is dead through both curves of dual.
        let cases = [(State::Dead, if layer == 0 { 0.0 } else { -9.0 }), (State::Saturated, 9.0)];
        for (state, bias) in cases.into_iter().take(if layer == 2 { 1 } else { 2 }) {
            let neuron = shape.size - 1;
            let mut weights = fresh.clone();
            let row = bucket * outputs + neuron;
            let array = |name: &str| format!("head.{layer}.{name}");
            let values = &mut weights.0.get_mut(&array("weight")).unwrap().values;
            values[row * inputs..][..inputs].fill(0.0);
            weights.0.get_mut(&array("bias")).unwrap().values[row] = bias;
            let found = look(&weights, &net, &samples);
            let layers = &found.head.as_ref().expect("layers").layers;
            let it = layers[layer].neurons.iter();
            let it = it.clone().find(|it| (it.bucket, it.neuron) == (bucket, neuron)).unwrap();
            assert_eq!(it.state(), state, "{it:?}");
            assert_eq!((it.mean, it.spread), (bias.into(), 0.0));
            let old = &before.head.as_ref().expect("layers").layers[layer];
            let counts = |it: &nnuance::inspect::HeadLayer| [it.dead, it.saturated];
            let more = counts(&layers[layer])[usize::from(state == State::Saturated)];
            assert!(more > counts(old)[usize::from(state == State::Saturated)]);
            let text = found.text();
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let named = words.split("; ").flat_map(|it| it.split(": ")).any(|group| {
                group.starts_with(&format!("head.{layer} neuron"))
                    && group.contains(&format!("{neuron} of bucket {bucket}"))
            });
            assert!(named, "{text}");
        }
    }
    // Too few positions tell nothing.
    let few = look(&fresh, &net, &samples[..99]).head.expect("layers");
    assert!(few.layers.iter().flat_map(|it| &it.neurons).all(|it| it.state() == State::Unknown));
    assert!(few.layers.iter().all(|it| [it.dead, it.nearly_dead] == [0, 0]));
    // Below -1, both curves of dual stand still, one of them at the top.
    let mut weights = fresh.clone();
    let [inputs, outputs] = net.maps()[0];
    let row = bucket * outputs;
    weights.0.get_mut("head.0.weight").unwrap().values[row * inputs..][..inputs].fill(0.0);
    weights.0.get_mut("head.0.bias").unwrap().values[row] = -9.0;
    let found = look(&weights, &net, &samples).head.expect("layers");
    let it = found.layers[0].neurons.iter().find(|it| (it.bucket, it.neuron) == (bucket, 0));
    let it = it.expect("the neuron");
    assert_eq!((&it.zero_share[..], &it.clipped_share[..]), (&[1.0, 0.0][..], &[0.0, 1.0][..]));
    assert_eq!(it.state(), State::Saturated);
}

/// Values of the pieces in 64ths of a logit.
const WORTHS: [f32; 6] = [16.0, 48.0, 52.0, 80.0, 144.0, 0.0];

#[test]
fn a_net_made_by_hand_gives_the_piece_values_of_each_bucket_back() {
    // Pieces count more the fewer are left.
    let net =
        net(r#"{"inputs": "perspective", "hidden": 1, "activation": "relu", "output_buckets": 8}"#);
    let factor = |bucket: usize| 2.0 - bucket as f32 / 8.0;
    let mut weights = Weights::default();
    let row = |row: usize| {
        let piece = net.inputs.piece(row).unwrap();
        WORTHS[piece.role as usize - 1] / 64.0
            * if piece.color == Color::White { 1.0 } else { -1.0 }
    };
    weights.insert("accumulator.weight", &[PIECES, 1], (0..PIECES).map(row).collect());
    weights.insert("accumulator.bias", &[1], vec![64.0]);
    let output = |i: usize| factor(i / 2) * [0.5, -0.5][i % 2];
    weights.insert("output.weight", &[8, 2], (0..16).map(output).collect());
    weights.insert("output.bias", &[8], vec![0.0; 8]);
    // Without a piece these are of the same bucket.
    let mut samples = games::samples(4000, 6);
    samples.retain(|it| net.bucket(it.position.count()) == net.bucket(it.position.count() - 1));
    let found = look(&weights, &net, &samples);
    let mut known = 0;
    for it in &found.pieces.buckets {
        for (value, worth) in it.values.iter().zip(WORTHS) {
            let right = f64::from(400.0 * worth / 64.0 * factor(it.bucket));
            known += usize::from(value.is_some());
            assert!(value.is_none_or(|it| (it.mean - right).abs() < 1e-2), "{it:?}: {right}");
            assert!(value.is_none_or(|it| it.spread < 0.1), "{it:?}");
        }
    }
    assert!(known > 15, "{known} values are too few for this test");
    let text = found.text();
    assert!(text.contains("Output buckets") && !text.contains("King buckets"), "{text}");
    assert!(!text.contains("Layers behind"), "{text}");
}

/// What the squares of kings are worth where a move of theirs changes the rows of other pieces.
#[test]
fn a_kings_table_counts_what_its_bucket_does_to_other_pieces() {
    let samples = games::samples(4000, 7);
    let buckets: Vec<u8> = (0..32).map(|square| square % 4).collect();
    let kings = Kings::new(true, &buckets).expect("four buckets");
    let mut net = Architecture::simple(Views::Perspective, 1, Activation::ReLU);
    net.inputs = Inputs { kings, ..Inputs::of(Views::Perspective) };
    let worth = |bucket: usize| [0.0, 0.3, 0.1, 0.8][bucket];
    // The other king, of which there is always one, carries the worth of the own king's bucket.
    let row = |row: usize| {
        let piece = net.inputs.piece(row).unwrap();
        let carries = piece.color == Color::Black && piece.role == Role::King;
        if carries { worth(row / PIECES) } else { 0.0 }
    };
    let mut weights = Weights::default();
    let rows = net.rows();
    weights.insert("accumulator.weight", &[rows, 1], (0..rows).map(row).collect());
    weights.insert("accumulator.bias", &[1], vec![1.0]);
    weights.insert("output.weight", &[2], vec![1.0, -1.0]);
    weights.insert("output.bias", &[1], vec![0.0]);
    let found = look(&weights, &net, &samples);
    let table = &found.pieces.tables[5];
    let known: Vec<usize> = (0..64).filter(|square| table.counts[*square] > 30).collect();
    let mut compared = 0;
    for (from, to) in known.iter().zip(&known[1..]) {
        let at = |square: &usize| 400.0 * f64::from(worth(kings.seen(*square).1));
        for phase in 0..2 {
            let values = [from, to].map(|square| table.values[*square][phase]);
            let [Some(one), Some(other)] = values else { continue };
            compared += 1;
            let right = at(from) - at(to);
            // The ridge takes a little off.
            assert!((one - other - right).abs() < 8.0, "{from} {to}: {one} {other} {right}");
        }
    }
    assert!(compared > 8, "{compared}");
}

#[test]
fn rows_are_counted_by_king_bucket_and_shared_weights_are_added() {
    let samples = games::samples(300, 8);
    for seed in 0..4 * NETS.end {
        let net = drawn::net(seed, 6);
        let kings = &net.inputs.kings;
        let weights = drawn::weights(&net, seed);
        let found = look(&weights, &net, &samples);
        let rows = &found.rows;
        // No row that is called impossible is ever on.
        let on = rows.seen.iter().filter(|count| **count > 0).count();
        assert_eq!(on + rows.unseen + rows.impossible, net.rows(), "{net}");
        if kings.count() == 1 {
            assert!(rows.buckets.is_empty());
            continue;
        }
        assert_eq!(rows.buckets.len(), kings.count());
        for it in &rows.buckets {
            let views = samples.iter().flat_map(|sample| {
                let colours = net.inputs.views_of(&sample.position);
                colours.map(|view| sample.position.king(view).unwrap() as usize ^ flip(view))
            });
            let views = views.filter(|king| kings.seen(*king).1 == it.bucket);
            assert_eq!(it.views, views.count() as u64, "{net}");
            assert_eq!(it.own_magnitude.is_some(), net.inputs.factorised);
        }
        if net.inputs.factorised {
            let floats = Floats::of(&weights, &net).expect("the weights fit");
            let mut merged = Weights::default();
            for (array, values) in &floats.arrays {
                merged.insert(&array.name, &array.shape, values.to_vec());
            }
            let other = look(&merged, &net.merged(), &samples);
            assert_eq!(found.pieces, other.pieces);
            assert_eq!(found.maps, other.maps);
            assert_eq!(found.moved_by, other.moved_by);
            assert_eq!(found.layers.len(), other.layers.len() + 1);
            assert_eq!(found.layers[1].name, "factoriser.weight");
        }
    }
}

fn flip(view: Color) -> usize {
    if view == Color::White { 0 } else { 56 }
}

#[test]
fn every_array_has_its_line_and_its_largest_weight_a_name() {
    let net = everything();
    let found = look(&drawn::weights(&net, 9), &net, &games::samples(50, 9));
    let names: Vec<&str> = found.layers.iter().map(|it| &it.name[..]).collect();
    let arrays: Vec<String> = net.arrays().into_iter().map(|it| it.name).collect();
    assert_eq!(names, arrays);
    let largest = |name: &str| {
        let layer = found.layers.iter().find(|it| it.name == name).expect("an array");
        (layer.largest[0].neuron.is_some(), layer.largest[0].what.clone())
    };
    assert!(largest("accumulator.weight").1.contains("king bucket"));
    assert!(!largest("factoriser.weight").1.contains("king bucket"));
    assert!(largest("head.1.weight").1.contains(" to neuron "));
    assert!(largest("output.bias").1.contains("bucket"));
}

#[test]
fn the_bits_do_not_hang_on_the_number_of_threads() {
    let samples = games::samples(9000, 10);
    let net = everything();
    let weights = drawn::weights(&net, 10);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = Options { pieces: 2000, terms: 2000, ..Options::default() };
        let scales = Scales::default();
        pool.install(|| {
            let found = inspect(&weights, &net, scales, &samples, &options, &|_| ()).unwrap();
            serde_json::to_string(&found).unwrap()
        })
    };
    let one = with(1);
    assert!([2, 3, 8].into_iter().all(|threads| with(threads) == one));
}

#[test]
fn progress_adds_up_behind_more_layers() {
    let samples = games::samples(500, 11);
    let net = everything();
    let seen = std::sync::atomic::AtomicU64::new(0);
    let more = |count| {
        seen.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    let options = Options { pieces: 200, terms: 300, ..Options::default() };
    let weights = drawn::weights(&net, 11);
    inspect(&weights, &net, Scales::default(), &samples, &options, &more).unwrap();
    assert_eq!(seen.into_inner(), work(&net, samples.len(), &options));
}

/// With as many buckets as there can be, a report says what matters and counts the rest.
#[test]
fn reports_stay_readable_with_64_king_buckets() {
    let buckets: Vec<String> = (0..64).map(|square| square.to_string()).collect();
    let net = net(&format!(
        r#"{{"inputs": "perspective", "king_buckets": [{}], "factorised": true, "hidden": 24,
             "activation": "screlu", "head": [{{"size": 16, "activation": "dual"}},
             {{"size": 32, "activation": "screlu"}}, {{"size": 1}}], "output_buckets": 32}}"#,
        buckets.join(", ")
    ));
    let found = look(&drawn::weights(&net, 12), &net, &games::samples(600, 12));
    let text = found.text();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.lines().count() < 130, "{text}");
    assert!(net.arrays().iter().all(|it| text.contains(&it.name)), "{text}");
    let new = ["Layers behind", "King buckets", "Output buckets"];
    for part in new {
        let part = text.split("\n\n").find(|it| it.starts_with(part)).expect(part);
        let table = part.lines().skip_while(|line| !line.contains("---"));
        assert!(table.clone().count() > 2);
        let rows = table.filter(|line| line.contains("  ") && !line.starts_with("  "));
        assert!(rows.into_iter().all(|line| line.chars().count() <= 80), "{part}");
    }
    assert!(
        text.contains("54 more buckets have") && text.contains("21 more buckets have"),
        "{text}"
    );
    let page = page("A net", &html! {}, &found.pictures());
    crate::draw::stands_alone(&page);
    // Ten neurons, each with its mean and eight buckets.
    assert_eq!(page.matches("data:image/png").count(), 90);
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(found.sheet().starts_with(b"\x89PNG"));
}

#[test]
fn one_bucket_is_no_buckets_and_nothing_has_no_sign() {
    let buckets: Vec<String> = (0..64).map(|square| (square % 11).to_string()).collect();
    let net = net(&format!(
        r#"{{"inputs": "perspective", "king_buckets": [{}], "hidden": 8, "activation": "crelu",
             "head": [{{"size": 4, "activation": "relu"}}, {{"size": 1}}], "skip": true,
             "output_buckets": 11}}"#,
        buckets.join(", ")
    ));
    let mut weights = drawn::weights(&net, 12);
    let samples = games::samples(600, 12);
    let values = weights.0.values_mut().flat_map(|array| &mut array.values);
    values.for_each(|value| *value *= 1e-3);
    for net in [Architecture { buckets: 1, ..net.clone() }, net] {
        let mut weights = weights.clone();
        for array in net.arrays() {
            let stored = weights.0.get_mut(&array.name).expect("it is there");
            stored.values.truncate(array.len());
            stored.shape = array.shape;
        }
        let text = look(&weights, &net, &samples).text();
        let signed = text.split_whitespace().find(|word| ["-0", "+0"].contains(word));
        assert_eq!(signed, None, "{text}");
        assert!(text.contains("1 more bucket has"), "{text}");
        let many = ["\n1 buckets", " 1 buckets", "\n1 more buckets", " 1 more buckets"];
        assert!(!many.iter().any(|it| text.contains(it)), "{text}");
    }
}

#[test]
fn a_checkpoint_of_any_kind_can_be_looked_into() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("net.safetensors");
    let net = everything();
    let facts = facts(&net, Scales::default());
    let bytes = drawn::weights(&net, 13).to_bytes(&facts, &[]).expect("bytes");
    std::fs::write(&path, bytes).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let page = folder.path().join("net.html");
    let data = ["--data", "data/selfplay-sf15.vf", "--positions", "2000"];
    command.arg("inspect").arg(&path).args(data).arg("-o").arg(&page);
    let said = command.assert().success().get_output().stdout.clone();
    let said = String::from_utf8(said).expect("UTF-8");
    for word in ["Layers behind", "King buckets", "Output buckets", "x2, pairwise", " pairs "] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let html = std::fs::read_to_string(page).expect("the page");
    for title in ["Neurons", "Layers", "King buckets", "Output buckets", "Squares"] {
        assert!(html.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
}
