//! Kernels of nets of several feature sets: rows that repeat, factors, rows beyond 16 bits.

use nnuance::batch::{ActiveRows, BatchInputs, ChunkPlan, InputPairs, OneHot, RowSet};
use nnuance::features::Row;
use nnuance::model::ops::cpu::{
    Kernel, Scratch, SliceGradients, SliceWeights as Slices, loss_and_gradients,
};

use crate::loader::pairs::assert_same_inputs;
use crate::support::games::eighths;
use crate::support::kit::*;
use crate::support::listed_rows::{lists, select};

fn net(sets: &[&str], buckets: u8, factorised: bool) -> Architecture {
    let mut net = net_of_sets(sets, kings_in_turn(true, buckets), 20);
    net.inputs.factorised = factorised;
    net
}

/// Nets with repeated rows, a factor of threats, king buckets, and more rows than 16 bits.
fn nets() -> Vec<Architecture> {
    let head = vec![Layer::new(4, Activation::ReLU)];
    let deep = |net| Architecture { head: head.clone(), buckets: 3, ..net };
    vec![
        net(&["pieces", "threat-kinds", "attack-counts"], 1, false),
        net(&["pieces", "threats"], 1, true),
        deep(net(&["pieces", "attack-counts", "pawn-pairs"], 4, true)),
        deep(net(&["pieces", "threats", "threat-kinds"], 5, true)),
        net(&["pieces", "threats-60144"], 1, false),
    ]
}

/// The lists with the pairs and multiples of their rows.
fn shortened(pairs: &InputPairs, lists: &ActiveRows) -> ActiveRows {
    let all: Vec<usize> = lists.indices.iter().collect();
    let rows = all.chunks(lists.width).map(|list| -> Vec<Row> {
        let mut list = list.to_vec();
        list.retain(|row| *row < lists.rows);
        list.sort_unstable();
        let row = |same: &[usize]| Row { number: same[0] as u32, times: same.len() as u32 };
        list.chunk_by(|a, b| a == b).map(row).collect()
    });
    listed::with_pairs(pairs, &rows.collect::<Vec<_>>(), lists)
}

/// Plans chunks of 150 positions, with pairs and multiples of all lists.
fn planned(net: &Architecture, lists: &ActiveRows) -> Vec<Arc<ChunkPlan>> {
    let pairs = Arc::new(InputPairs::select_most_frequent(net, lists, 150));
    assert!(pairs.has_pairs());
    listed::plan_chunks(net, lists, &pairs, |lists| {
        let before = lists.indices.iter().filter(|row| *row < lists.rows).count();
        let short = shortened(&pairs, lists);
        let after = short.indices.iter().filter(|row| *row < pairs.row_count()).count();
        assert!(after * 10 < before * 9, "{after} of {before}");
        short
    })
}

/// Pairs and multiples come from a few positions, and others have larger counts.
#[test]
fn large_counts_take_several_entries() {
    for net in nets() {
        let lists = lists(&net, 500);
        let pairs = InputPairs::select_most_frequent(&net, &select(&lists, 0..12), 40);
        let short = shortened(&pairs, &lists);
        assert_same_inputs(&short, &lists, &pairs);
        assert!(!net.inputs.has_repeats() || short.width < lists.width, "{net}");
    }
}

/// Lists and plans equal Burn's operations up to rounding.
#[test]
fn gradients_of_several_sets() {
    for net in nets() {
        let lists = lists(&net, 500);
        let (targets, plans) = (eighths(lists.len()), planned(&net, &lists));
        let mut weights = drawn::weights(&net, 3);
        for array in weights.0.values_mut() {
            // Numbers that fixed point represents exactly.
            array.values.iter_mut().for_each(|it| *it = (*it * 0.3 * 128.0).round() / 128.0);
        }
        let gradients = |compute, inputs: &BatchInputs| {
            model(&net, &weights, compute).compute_gradients(inputs, Aim::Targets(&targets))
        };
        let listed = BatchInputs::Active(lists);
        let right = gradients(Compute::Plain, &listed);
        for (precision, bound) in [(Precision::F32, 2e-5), (Precision::Mixed, 1e-2)] {
            for level in SimdLevel::list_available() {
                for inputs in [&listed, &BatchInputs::Planned(plans.clone())] {
                    let got = gradients(fused(level, precision), inputs);
                    assert_near(&net.to_string(), &got, &right, [bound / 10.0, bound]);
                }
            }
        }
    }
}

/// Computes loss and gradients, array by array, of touched rows or of all.
fn run(kernel: &Kernel, positions: OneHot, scratch: &mut Scratch) -> (f64, Vec<Vec<f32>>) {
    let weights = drawn::weights(&kernel.net, 3);
    let arrays = kernel.net.list_arrays();
    let slices = arrays.iter().map(|array| &weights.0[&array.name].values[..]);
    let touched = kernel.find_touched(positions);
    let lens = kernel.gradient_lens(touched.as_ref()).into_iter();
    let mut gradients: Vec<Vec<f32>> = lens.map(|len| vec![f32::NAN; len]).collect();
    let targets = eighths(positions.len());
    let slices_mut = SliceGradients::new(&kernel.net, gradients.iter_mut().map(|it| &mut it[..]));
    let slices = Slices::new(&kernel.net, slices);
    let positions = (positions, touched.as_ref());
    let loss =
        loss_and_gradients(kernel, &slices, positions, Aim::Targets(&targets), slices_mut, scratch);
    (loss, gradients)
}

/// Gradients of touched rows equal those of all rows, and all others are zero.
#[test]
fn touched_rows_have_all_gradients() {
    let mut scratch = Scratch::default();
    for net in nets().into_iter().filter(|net| net.inputs.is_large()) {
        let lists = lists(&net, 500);
        let plans = planned(&net, &lists);
        for (precision, bound) in [(Precision::F32, 1e-5), (Precision::Mixed, 1e-5)] {
            for positions in [OneHot::Lists(&lists), OneHot::Plans(&plans)] {
                let kernel = Kernel::new(&net, precision, SimdLevel::detect_fastest());
                let (loss, got) = run(&kernel, positions, &mut scratch);
                // Twice, since the first call leaves numbers in the buffers.
                assert!(run(&kernel, positions, &mut scratch) == (loss, got.clone()));
                let (right_loss, right) =
                    run(&kernel.clone().without_sparsity(), positions, &mut scratch);
                assert!((loss - right_loss).abs() < 1e-9, "{loss} for {right_loss}");
                let touched = kernel.find_touched(positions).expect("a sparse net");
                let firsts = kernel.touched_rows(&touched).collect::<Vec<_>>();
                assert!(!firsts.is_empty());
                let mut firsts = firsts.into_iter();
                for (got, right) in got.iter().zip(&right) {
                    let mut all = vec![0.0; right.len()];
                    if got.len() == right.len() {
                        all.copy_from_slice(got);
                    } else {
                        let (_, touched) = firsts.next().expect("a sparse set");
                        for (row, got) in touched.iter().zip(got.chunks(net.hidden)) {
                            all[*row as usize * net.hidden..][..net.hidden].copy_from_slice(got);
                        }
                    }
                    let [error, size] = error_and_size(&all, right);
                    assert!(error <= bound * size, "{net}: {error:.1e} of {size:.1e}");
                }
            }
        }
    }
}

#[test]
fn touched_rows_equal_the_lists() {
    for net in nets().into_iter().filter(|net| net.inputs.is_large()) {
        let lists = lists(&net, 500);
        let mut rows: Vec<u32> = lists.indices.iter().map(|row| row as u32).collect();
        rows.sort_unstable();
        rows.dedup();
        rows.retain(|row| (*row as usize) < net.row_count());
        let none = InputPairs::without_pairs(net.row_count());
        assert_eq!(RowSet::of_positions(OneHot::Lists(&lists), &none).all_rows(), rows);
        let plans = planned(&net, &lists);
        let touched = RowSet::of_positions(OneHot::Plans(&plans), plans[0].pairs());
        assert_eq!(touched.rows_within(0..net.row_count()), rows);
    }
}

#[test]
fn same_bits_for_any_threads() {
    for net in nets() {
        let lists = lists(&net, 500);
        let plans = planned(&net, &lists);
        for precision in [Precision::F32, Precision::Mixed] {
            for positions in [OneHot::Lists(&lists), OneHot::Plans(&plans)] {
                let kernel = Kernel::new(&net, precision, SimdLevel::detect_fastest());
                let (_, gradients) = same_for_threads(&[2, 5], &net.to_string(), || {
                    run(&kernel, positions, &mut Scratch::default())
                });
                assert!(gradients.iter().flatten().all(|gradient| gradient.is_finite()), "{net}");
            }
        }
    }
}

#[test]
fn nan_in_touched_row_shows() {
    for net in nets() {
        let lists = lists(&net, 500);
        let row = lists.indices.iter().filter(|row| *row < net.row_count()).max().expect("rows");
        let (set, row) = net.inputs.set_of(row);
        let name = nnuance::architecture::ArrayKind::Rows(set).array_name(net.inputs.sets());
        let mut weights = drawn::weights(&net, 3);
        weights.0.get_mut(&name).expect("rows").values[row * net.hidden + 3] = f32::NAN;
        let (targets, inputs) = (eighths(lists.len()), BatchInputs::Active(lists));
        for level in SimdLevel::list_available() {
            for precision in [Precision::F32, Precision::Mixed] {
                let model = model(&net, &weights, fused(level, precision));
                let (loss, _) = model.compute_gradients(&inputs, Aim::Targets(&targets));
                assert!(loss.is_nan(), "{net}");
            }
        }
    }
}
