//! Quantising, proving, manifests, imports.

use nnuance::export::{
    self, Manifest, Provenance, dequantise_net, facts, largest_scales, prove, verify_net,
};
use nnuance::report::fit::mean_loss;
use nnuance::weights::WeightsFile;

use crate::nets::files::{engine_net, integers, random as random_net};
use crate::nets::integers::{proved, stored_by_bullet};
use crate::support::kit::*;

fn perspective(hidden: usize) -> Architecture {
    Architecture::simple(Perspectives::Perspective, hidden, Activation::SCReLU)
}

/// Random weights up to `most`, as a training would leave them.
fn random_weights(architecture: &Architecture, most: f32) -> Weights {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut weights = Weights::default();
    for array in architecture.list_arrays() {
        let values = (0..array.len()).map(|_| rng.random_range(-most..=most)).collect();
        weights.insert(&array.name, &array.shape, values);
    }
    weights
}

#[test]
fn rounding_is_half_away_from_zero() {
    let architecture = perspective(1);
    let mut weights = random_weights(&architecture, 0.0);
    // Halves are exact in f32 when the scale is a power of two.
    let numbers = [0.5, -0.5, 1.5, 0.49].map(|it| it / 64.0);
    weights.0.get_mut("accumulator.weight").unwrap().values[..4].copy_from_slice(&numbers);
    let scales = Scales { qa: 64, ..Scales::default() };
    let net = quantise(&weights, &architecture, scales).unwrap();
    assert_eq!([0, 1, 2, 3].map(|row| net.numbers()[0].get(row)), [1.0, -1.0, 2.0, 0.0]);
}

#[test]
fn weights_that_do_not_fit() {
    let queen = 64 * 4 + 27;
    for (name, place, value, word) in [
        ("accumulator.weight", 4 * queen + 3, 200.0, "accumulator.weight[1135]"),
        ("output.weight", 5, -600.0, "output.weight[5]"),
        ("output.bias", 0, 3.0, "output.bias"),
        ("accumulator.bias", 2, f32::NAN, "accumulator.bias[2]"),
        ("accumulator.bias", 2, f32::INFINITY, "accumulator.bias[2]"),
    ] {
        let mut weights = random_weights(&perspective(4), 1.0);
        weights.0.get_mut(name).unwrap().values[place] = value;
        let refused = quantise(&weights, &perspective(4), Scales::default());
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn legal_positions_stay_within_the_bounds() {
    let mut positions = games::positions(3_000, 11);
    positions.extend(export::GOLDEN_FENS.map(|fen| Position::from_fen(fen).unwrap()));
    for views in Perspectives::ALL {
        let net = random_net(views, 16, Activation::SCReLU);
        let proof = proved(&net, &positions);
        assert!(proof.intermediate.least <= proof.accumulator.least);
        assert!(proof.intermediate.most >= proof.accumulator.most);
        // At most 32 times the largest weight is trivial.
        assert!(proof.intermediate.most < 34 * 504);
    }
}

#[test]
fn exact_bound_is_reached() {
    // Only queens and kings weigh, so the bound is a real position: 15 queens and a king a side.
    let mut weights = vec![0; 768];
    for row in [64 * 4..64 * 5, 64 * 5..64 * 6, 64 * 10..64 * 11, 64 * 11..64 * 12] {
        weights[row].fill(10);
    }
    let architecture = Architecture::simple(Perspectives::Plain, 1, Activation::CReLU);
    let numbers = [weights, vec![5], vec![1], vec![0]];
    let net = integers(architecture, Scales::default(), numbers);
    let proof = prove(&net).unwrap();
    assert_eq!((proof.accumulator.least, proof.accumulator.most), (25, 325));
    assert_eq!((proof.intermediate.least, proof.intermediate.most), (5, 345));
    assert_eq!((proof.output.least, proof.output.most), (0, 255));
}

/// A perspective net whose neuron 2 has a large weight wherever a piece can stand.
fn overflowing(weight: i16, output: i16) -> Net {
    let hidden = 4;
    let mut accumulator = vec![1; 768 * hidden];
    accumulator.iter_mut().skip(2).step_by(hidden).for_each(|w| *w = weight);
    accumulator[27 * hidden + 2] = weight + weight.signum();
    let architecture = perspective(hidden);
    let outputs = vec![output; 2 * hidden];
    let scales = Scales::default();
    integers(architecture, scales, [accumulator, vec![0; hidden], outputs, vec![0]])
}

#[test]
fn overflows_are_refused() {
    assert!(prove(&overflowing(963, 10)).is_ok());
    let nets = [964, -966, 2_000].map(|weight| (overflowing(weight, 10), "neuron 2"));
    let sum = (overflowing(500, i16::MAX), "output layer");
    for (net, word) in nets.iter().chain([&sum]) {
        let error = prove(net).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        // The remedy works.
        let weights = dequantise_net(net);
        let scales = largest_scales(&weights, net.architecture(), Scales::default()).unwrap();
        assert!(prove(&quantise(&weights, net.architecture(), scales).unwrap()).is_ok());
    }
}

#[test]
fn nets_of_engines_export_alike() {
    for name in
        ["leorik-1HL", "leorik-16HL", "leorik-32HL", "leorik-128HL", "leorik-256HL", "tcheran-256"]
    {
        let Some(bytes) = engine_net(&format!("{name}.bin")) else { return };
        let source = import_weights(&bytes, &Hints::default()).unwrap();
        let net = quantise(&source.weights, &source.architecture, source.scales).unwrap();
        assert!(net.to_bytes() == bytes, "{name}");
        if name == "leorik-256HL" {
            continue;
        }
        let proof = proved(&net, &games::positions(300, 2));
        assert!(proof.intermediate.most < 16_632 + 504, "{name}: {}", proof.intermediate);
    }
}

#[test]
fn all_integers_survive_floats() {
    for (qa, qb) in [(255, 64), (181, 181), (403, 64), (1, 1), (32_767, 1)] {
        let hidden = 86;
        let all: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        let accumulator = all.iter().copied().cycle().take(768 * hidden).collect();
        let bias = all.iter().rev().copied().take(hidden).collect();
        let outputs = all.iter().copied().step_by(381).take(2 * hidden).collect();
        let architecture = perspective(hidden);
        let scales = Scales { qa, qb, ..Scales::default() };
        let numbers = [accumulator, bias, outputs, vec![i16::MIN]];
        let net = integers(architecture.clone(), scales, numbers);
        let again = quantise(&dequantise_net(&net), &architecture, scales).unwrap();
        assert!(again.to_bytes() == net.to_bytes(), "QA {qa}");
    }
}

#[test]
fn checkpoints_of_bullet_are_imported() {
    for views in Perspectives::ALL {
        // With 5 neurons a raw.bin has a size that a quantised net may have, too.
        for hidden in [4, 5, 16] {
            let architecture = Architecture::simple(views, hidden, Activation::SCReLU);
            let weights = random_weights(&architecture, 1.5);
            let names = ["accumulator.weight", "accumulator.bias", "output.weight", "output.bias"];
            let numbers = names.iter().flat_map(|name| &weights.0[*name].values);
            let raw: Vec<u8> = numbers.flat_map(|value| value.to_le_bytes()).collect();
            let map = stored_by_bullet(&architecture, &weights);
            let hints = Hints { net: architecture, ..Hints::default() };
            for (bytes, file) in [(&raw, "raw.bin"), (&map, "weights.bin")] {
                let source = import_weights(bytes, &hints).unwrap();
                assert!(source.format.name.ends_with(file));
                let refusal = Net::read(bytes, &hints).unwrap_err().to_string();
                assert!(refusal.contains(file) && refusal.contains("convert it"), "{refusal}");
                assert_eq!(source.weights, weights);
                assert_eq!(source.architecture.hidden, hidden);
            }
            import_weights(&map[..map.len() - 3], &hints).unwrap_err();
        }
    }
}

#[test]
fn facts_of_checkpoints() {
    let weights = random_weights(&perspective(4), 1.0);
    let mut said = facts(&perspective(4), Scales { scale: 360, ..Scales::default() });
    let source = import_weights(&weights.to_bytes(&said, &[]).unwrap(), &Hints::default()).unwrap();
    assert_eq!(source.scales.scale, 360);
    assert_eq!(source.architecture.activation, Activation::SCReLU);
    let other = serde_json::to_string(&perspective(5)).unwrap();
    for (key, value) in
        [("kind", "hce"), ("architecture", "halfkp"), ("architecture", &other), ("scale", "many")]
    {
        let right = said.insert(key.to_string(), value.to_string()).unwrap();
        let bytes = weights.to_bytes(&said, &[]).unwrap();
        import_weights(&bytes, &Hints::default()).unwrap_err();
        said.insert(key.to_string(), right);
    }
}

#[test]
fn floats_and_integers_agree() {
    for views in Perspectives::ALL {
        for activation in of_accumulators() {
            let architecture = Architecture::simple(views, 32, activation);
            let weights = random_weights(&architecture, 0.25);
            let positions = games::positions(500, 5);
            let exported = export_with(&weights, &architecture, Provenance::default(), &positions);
            let error = exported.manifest.float_error.unwrap();
            assert_eq!(error.positions, positions.len() as u64);
            let curve = activation.curve();
            // Squares without an end are large.
            let most = if curve.bounded || curve.outer == 1 { [6.0, 25.0] } else { [12.0, 80.0] };
            let fits = error.mean_cp < most[0] && error.max_cp < most[1];
            assert!(fits, "{architecture} {error:?}");
        }
    }
}

fn export_with(
    weights: &Weights,
    architecture: &Architecture,
    provenance: Provenance,
    positions: &[Position],
) -> export::ExportedNet {
    let net = quantise(weights, architecture, Scales::default()).unwrap();
    export::ExportedNet::from_net(net, weights, architecture, provenance, positions).unwrap()
}

#[test]
fn logits_by_hand() {
    let architecture = Architecture::simple(Perspectives::Plain, 1, Activation::SCReLU);
    let mut weights = random_weights(&architecture, 0.0);
    weights.0.get_mut("accumulator.weight").unwrap().values[64 * 5] = 0.5;
    weights.0.get_mut("output.weight").unwrap().values[0] = 2.0;
    weights.0.get_mut("output.bias").unwrap().values[0] = 0.125;
    let float = Float::new(&weights, &architecture).unwrap();
    for (fen, logit) in [
        ("4k3/8/8/8/8/8/8/K7 w - - 0 1", 0.625),
        ("4k3/8/8/8/8/8/8/K7 b - - 0 1", -0.625),
        ("4k3/8/8/8/8/8/8/1K6 w - - 0 1", 0.125),
    ] {
        assert_eq!(float.logit(&Position::from_fen(fen).unwrap()), logit);
    }
}

#[test]
fn export_verifies_until_changed() {
    let folder = Workdir::empty();
    let path = folder.path("first.bin");
    let weights = random_weights(&perspective(4), 0.5);
    let provenance = Provenance { licence: Some("CC0-1.0".to_string()), ..Provenance::default() };
    let exported = export_with(&weights, &perspective(4), provenance, &games::positions(50, 1));
    let [floats, net, manifest] = exported.write_files(&path, &weights, &BTreeMap::new()).unwrap();
    assert_eq!(folder.names().len(), 3);
    let failures = || -> Vec<_> {
        let checks = verify_net(&path).unwrap();
        checks.into_iter().filter(|check| !check.passed).map(|check| check.name).collect()
    };
    assert_eq!(failures(), [""; 0]);
    assert_eq!(verify_net(&path).unwrap().len(), 5);
    assert!(export::load_net(&path).unwrap().manifest.is_some());

    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("\"licence\": \"CC0-1.0\""), "{text}");
    assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), exported.manifest);

    // One weight changed: the hash, an evaluation or the floats must notice.
    let whole = fs::read(&net).unwrap();
    let mut bytes = whole.clone();
    bytes[0] ^= 1;
    fs::write(&net, &bytes).unwrap();
    assert!(failures().contains(&"sha256") && failures().contains(&"floats"));
    assert!(export::load_net(&path).is_err());
    fs::write(&net, &whole[..whole.len() - 64]).unwrap();
    assert_eq!(failures(), ["sha256", "architecture"]);
    fs::write(&net, &whole).unwrap();

    let cp = exported.manifest.golden[0].cp;
    fs::write(&manifest, text.replacen(&format!("\"cp\": {cp}"), "\"cp\": 9999", 1)).unwrap();
    assert_eq!(failures(), ["golden evaluations"]);
    fs::write(&manifest, text.replace("\"format\": 5", "\"format\": 6")).unwrap();
    verify_net(&path).unwrap_err();
    fs::write(&manifest, &text).unwrap();

    let other = random_weights(&perspective(4), 0.4).to_bytes(&Default::default(), &[]).unwrap();
    fs::write(&floats, other).unwrap();
    assert_eq!(failures(), ["floats"]);
    fs::remove_file(&manifest).unwrap();
    verify_net(&path).unwrap_err();
}

#[test]
fn refused_export_leaves_nothing_behind() {
    let folder = Workdir::empty();
    let weights = random_weights(&perspective(4), 0.5);
    let exported = export_with(&weights, &perspective(4), Provenance::default(), &[]);
    for name in ["net.json", "net.safetensors"] {
        exported.write_files(&folder.path(name), &weights, &BTreeMap::new()).unwrap_err();
    }
    // A folder has the manifest's name: neither floats nor net may appear.
    fs::create_dir(folder.path("net.json")).unwrap();
    assert!(exported.write_files(&folder.path("net.bin"), &weights, &BTreeMap::new()).is_err());
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn nets_in_the_repository_verify() {
    let nets: Vec<String> =
        names(Path::new("nets")).into_iter().filter(|name| name.ends_with(".bin")).collect();
    assert!(!nets.is_empty());
    for net in nets {
        let checks = verify_net(&Path::new("nets").join(&net)).expect("a net with its manifest");
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).collect();
        assert!(failed.is_empty(), "{net}: {failed:?}");
    }
}

const CONFIG: &str = "\
version = 3
data.files = ['gone.vf']
net = { inputs = 'perspective', mirror = false, start_size = 1.0, hidden = 4 }
schedule = { epochs = 1, learning_rate = 0.001 }
";

/// A run folder with `best.safetensors`, as training leaves it.
fn run_folder() -> Workdir {
    let folder = Workdir::empty();
    let mut said = facts(&perspective(4), Scales::default());
    let data = "[{\"path\":\"gone.vf\",\"format\":\"viriformat\",\"bytes\":3,\"sha256\":\"abc\",\
                 \"positions\":1,\"games\":1,\"bad_records\":0}]";
    for (key, value) in [("config", CONFIG), ("data", data), ("sketch", "\"\""), ("odd", "kept")] {
        said.insert(key.to_string(), value.to_string());
    }
    let bytes = random_weights(&perspective(4), 0.5).to_bytes(&said, &[]).unwrap();
    folder.write("best.safetensors", bytes);
    folder
}

#[test]
fn export_keeps_its_provenance() {
    let folder = run_folder();
    let fens = export::GOLDEN_FENS.map(|fen| format!("{fen} [0.5]\n")).concat();
    folder.write("other.epd", fens);
    let more = ["--data", "other.epd", "--scale", "300", "--force"];
    said(folder.command("export . -o out/net-0.5").args(more));
    let text = folder.text("out/net-0.5.json");
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest.float_error.unwrap().positions, 16);
    assert_eq!(manifest.provenance.data[0].path, Path::new("gone.vf"));
    assert!(manifest.provenance.recipe.is_some());
    let floats = folder.bytes("out/net-0.5.safetensors");
    let WeightsFile { facts, .. } = Weights::from_bytes(&floats).unwrap();
    // The scale is the requested one, all else is unchanged.
    for (key, value) in [("scale", "300"), ("config", CONFIG), ("odd", "kept")] {
        assert_eq!(facts[key], value);
    }
    assert!(facts["data"].contains("gone.vf"));
}

#[test]
fn export_overwrites_no_source() {
    let folder = run_folder();
    let before = folder.bytes("best.safetensors");
    for out in ["best.bin", "./best"] {
        complaint(&mut folder.command(&format!("export best.safetensors -o {out}")));
    }
    assert_eq!(folder.bytes("best.safetensors"), before);
    assert_eq!(folder.names().len(), 1);
    said(&mut folder.command("export . -o x.bin --force"));
    complaint(&mut folder.command("export x.bin -o x.bin"));
    let verified = folder.command("verify absent.bin x.bin").output().unwrap();
    assert_eq!(verified.status.code(), Some(1));
    let lines = String::from_utf8(verified.stdout).unwrap();
    assert!(lines.starts_with("absent.bin\nFAIL") && lines.contains("ok  no overflow"));
}

#[test]
fn book_lists_all_fields() {
    let net = export::load_net(Path::new(QUICKSTART)).unwrap();
    let fields = serde_json::to_value(net.manifest.unwrap()).unwrap();
    let mut fields: Vec<String> = fields.as_object().unwrap().keys().cloned().collect();
    let page = fs::read_to_string("docs/nets.md").unwrap();
    let section = page.split("\n## The manifest\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let first = rows.map(|row| row.split('|').nth(1).unwrap());
    let mut named: Vec<String> =
        first.flat_map(|names| names.split('`').skip(1).step_by(2).map(String::from)).collect();
    fields.sort();
    named.sort();
    assert_eq!(named, fields);
}

#[test]
fn fitted_scale_minimises_the_loss() {
    let net = export::load_net(Path::new(QUICKSTART)).unwrap().net;
    let samples = games::recorded(20_000);
    let value = |position: &Position| net.evaluate(position);
    let fitted = export::fitted_scale(value, &samples, "the first games").unwrap();
    assert_eq!((fitted.positions, &fitted.on[..]), (20_000, "the first games"));
    let cp: Vec<f64> = samples.iter().map(|sample| net.evaluate(&sample.position).into()).collect();
    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let at = |factor: f64| mean_loss(&cp, &results, factor * fitted.centipawns);
    assert!(at(1.0) < at(0.99) && at(1.0) < at(1.01), "{fitted:?}");
    assert!((100.0..300.0).contains(&fitted.centipawns), "{fitted:?}");
    assert_eq!(export::fitted_scale(value, &[], "nothing"), None);
}
