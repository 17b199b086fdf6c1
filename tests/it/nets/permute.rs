//! Neurons in another order: the same net, with more blocks of zeros.

use nnuance::export::{NeuronOrder, dequantise_net, write_raw_bin};

use crate::support::kit::*;

/// The inputs of the first map of each perspective by the definition, in units of QA.
fn inputs(net: &Net, position: &Position) -> Vec<i64> {
    let Architecture { activation, pairwise, hidden, .. } = *net.architecture();
    let curve = activation.curve();
    let views = 0..net.architecture().perspective_count();
    let of_view = |view| {
        let sums = net.accumulators(position, view);
        let sums: Vec<i32> = sums.iter().map(|sum| (*sum).clamp(-40_000, 40_000) as i32).collect();
        let mut values = Vec::new();
        curve.apply_to_integers(&sums, net.scales().qa, &mut values);
        let values: Vec<i64> = values.into_iter().map(i64::from).collect();
        match pairwise {
            true => (0..hidden / 2).map(|i| values[i] * values[i + hidden / 2]).collect(),
            false => values,
        }
    };
    views.flat_map(of_view).collect()
}

/// The share of blocks of four zeros, counted one by one.
fn zero_share(net: &Net, positions: &[Position]) -> f64 {
    let shift =
        if net.scales().head_format == HeadFormat::Int8 { net.shift_and_unit().0 } else { 0 };
    let (mut zeros, mut blocks) = (0, 0);
    for position in positions {
        for view in inputs(net, position).chunks(net.architecture().outputs_of_perspective()) {
            for block in view.chunks(4) {
                zeros += usize::from(block.iter().all(|value| value >> shift == 0));
                blocks += 1;
            }
        }
    }
    zeros as f64 / blocks as f64
}

#[test]
fn permuted_nets_are_the_same_nets() {
    let positions = games::positions(90, 5);
    let mut gains = 0;
    for net in drawn::nets() {
        let (weights, architecture) = (dequantise_net(net), net.architecture());
        let order = NeuronOrder::choose_order(net, &positions);
        let permuted = order.apply_order(&weights, architecture).unwrap();
        let again = quantise(&permuted, architecture, net.scales()).unwrap();
        let [before, after] =
            [&weights, &permuted].map(|weights| Float::new(weights, architecture).unwrap());
        for position in &positions {
            let [before, after] = [&before, &after].map(|float| float.logit(position));
            let allowed = 1e-9 * before.abs().max(1.0);
            assert!((before - after).abs() < allowed, "{architecture}: {before} {after}");
            let apart = net.evaluate_slowly(position).abs_diff(again.evaluate_slowly(position));
            // Floats of the head are added in another order.
            let is_exact = !architecture.is_deep();
            assert!(apart == 0 || !is_exact && apart <= 1, "{architecture}: {apart}");
        }
        let shares = [net, &again].map(|net| zero_share(net, &positions));
        let found = [order.zero_blocks.before, order.zero_blocks.after];
        for (found, right) in found.iter().zip(shares) {
            assert!((found - right).abs() < 1e-12, "{architecture}: {found} {right}");
        }
        assert!(found[1] >= found[0]);
        gains += usize::from(found[1] > found[0]);
    }
    assert!(gains > 10, "{gains}");
}

#[test]
fn export_permutes_and_verifies() {
    let folder = Workdir::empty();
    let (from, data) = (absolute("nets/quickstart-32.safetensors"), absolute(SCORED));
    let words = format!("export {from} -o mine.bin --permute --data {data}");
    let [table, _] = said(&mut folder.command(&words));
    assert!(table.contains("zero blocks"), "{table}");
    said(&mut folder.command("verify mine.bin"));
    let [net, old] = [folder.path("mine.bin"), QUICKSTART.into()]
        .map(|path| nnuance::export::load_net(&path).unwrap());
    let found = net.manifest.unwrap().zero_blocks.unwrap();
    assert!(found.after >= found.before && found.positions > 1000, "{found:?}");
    for position in games::positions(50, 2) {
        assert_eq!(net.net.evaluate(&position), old.net.evaluate(&position));
    }
}

#[test]
fn raw_floats_are_read_again() {
    let folder = Workdir::empty();
    let from = absolute("nets/quickstart-32.safetensors");
    said(&mut folder.command(&format!("export {from} --raw -o raw.bin")));
    let bytes = folder.bytes("raw.bin");
    let read = |bytes: &[u8]| nnuance::export::import_weights(bytes, &Hints::default()).unwrap();
    let source = read(&fs::read(&from).unwrap());
    assert_eq!(read(&bytes).weights, source.weights);
    assert_eq!(bytes, write_raw_bin(&source.weights, &source.architecture).unwrap());
    // Once written, it stays.
    complaint(&mut folder.command(&format!("export {from} --raw -o raw.bin")));
    assert_eq!(folder.bytes("raw.bin"), bytes);
}
