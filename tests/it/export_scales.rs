//! `nnuance export` with scales that are chosen or matched, and with code, as a user sees it.

use std::path::Path;

use assert_cmd::Command;
use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::export::{Bound, largest_scales, prove, quantise};
use nnuance::scales::Scales;
use nnuance::weights::Weights;
use serde_json::Value;

const NET: &str = "nets/quickstart-32.safetensors";
const DATA: &str = "data/selfplay-sf15.vf";

fn export(args: &[&str], output: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.arg("export").args(args).arg("-o").arg(output);
    command
}

fn manifest(net: &Path) -> Value {
    let text = std::fs::read_to_string(net.with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_largest_scales_are_safe_and_no_larger_ones_are() {
    let bytes = std::fs::read(NET).unwrap();
    let weights = Weights::from_bytes(&bytes).unwrap().weights;
    let net = Architecture::simple(Views::Perspective, 32, Activation::SCReLU);
    for (bound, [most_qa, most_qb]) in
        [(Bound::Sums, [255, 4096]), (Bound::Sums, [4000, 9000]), (Bound::Products, [255, 4096])]
    {
        let most = Scales { qa: most_qa, qb: most_qb, ..Scales::default() };
        let found = largest_scales(&weights, &net, most, bound).unwrap();
        let safe = |qa, qb| {
            let net = quantise(&weights, &net, Scales { qa, qb, ..most });
            let proof = net.ok().and_then(|net| prove(&net).ok());
            proof.is_some_and(|proof| bound == Bound::Sums || proof.i16_trick)
        };
        assert!(safe(found.qa, found.qb));
        assert!(found.qa == most_qa || !safe(found.qa + 1, 1), "{found}");
        assert!(found.qb == most_qb || !safe(found.qa, found.qb + 1), "{found}");
        assert!(found.qa >= 255 && found.qb >= 32, "{found}");
    }
}

#[test]
fn scales_are_chosen_and_matched() {
    let folder = tempfile::tempdir().unwrap();
    let [usual, finest, loud, same] =
        ["usual.bin", "finest.bin", "loud.bin", "same.bin"].map(|name| folder.path().join(name));
    export(&[NET, "--data", DATA, "--scale", "400"], &usual).assert().success();
    let best = [NET, "--data", DATA, "--scale", "400", "--largest-scales", "sums"];
    export(&best, &finest).assert().success();
    let error = |net: &Path| manifest(net)["float_error"]["mean_cp"].as_f64().unwrap();
    assert!(error(&finest) < error(&usual), "{} {}", error(&finest), error(&usual));
    assert!(manifest(&finest)["scales"]["qa"].as_i64().unwrap() <= 255);

    // The same net with another SCALE is brought back to the old one.
    export(&[NET, "--data", DATA, "--scale", "700"], &loud).assert().success();
    let fitted = |net: &Path| manifest(net)["fitted_scale"]["centipawns"].as_f64().unwrap();
    assert!((fitted(&loud) / fitted(&usual) - 1.75).abs() < 0.01);
    let old = usual.to_str().unwrap();
    let output = export(&[loud.to_str().unwrap(), "--data", DATA, "--match-scale", old], &same);
    let mut output = output;
    let said = output.assert().success().get_output().stdout.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("matched to usual.bin"), "{said}");
    let matched = manifest(&same);
    assert!((matched["scales"]["scale"].as_i64().unwrap() - 400).abs() <= 1, "{said}");
    assert_eq!(matched["matched"]["sha256"], manifest(&usual)["sha256"]);
}

fn refused(args: &[&str], output: &Path) -> String {
    let said = export(args, output).assert().failure().get_output().stderr.clone();
    String::from_utf8(said).unwrap()
}

#[test]
fn code_takes_the_place_of_no_net() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for ending in ["bin", "json", "safetensors"] {
        let from = Path::new("nets/quickstart-32").with_extension(ending);
        std::fs::copy(from, path("net.bin").with_extension(ending)).unwrap();
    }
    let net = path("net.bin");
    let args = |language| [net.to_str().unwrap(), "--snippet", language, "--overwrite"];
    for own in ["net.bin", "net.json", "net.safetensors"] {
        let before = std::fs::read(path(own)).unwrap();
        let around = folder.path().join("..").join(folder.path().file_name().unwrap()).join(own);
        assert!(refused(&args("c"), &around).contains("the code would overwrite"));
        assert_eq!(std::fs::read(path(own)).unwrap(), before);
    }
    for (language, head) in [("rust", "//!"), ("c", "/*")] {
        export(&args(language), &path("mine")).assert().success();
        let code = std::fs::read_to_string(path("mine")).unwrap();
        assert!(code.starts_with(head) && code.contains("mine -o nnue"), "{}", &code[..400]);
    }
    assert!(refused(&args("c")[..3], &path("mine")).contains("--overwrite"));
    export(&args("pascal"), &path("other")).assert().failure();
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let net = folder.path().join("net.bin");
    for (args, expected) in [
        (&["--largest-scales", "none"][..], "expected sums"),
        (&["--licence", " "], "expected a name"),
    ] {
        let said = refused(&[&[NET], args].concat(), &net);
        assert!(said.contains(expected), "{said}");
    }
    if cfg!(target_os = "linux") {
        let said = refused(&[NET], Path::new("/proc/x.bin"));
        assert!(said.starts_with("error: cannot write /proc/x.bin"), "{said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A net is what its manifest says, not what most nets are.
#[test]
fn a_manifest_is_read_with_its_net() {
    let folder = tempfile::tempdir().unwrap();
    let [net, again] = ["net.bin", "again.bin"].map(|name| folder.path().join(name));
    export(&[NET, "--scale", "700", "--qa", "181"], &net).assert().success();
    export(&[net.to_str().unwrap()], &again).assert().success();
    assert_eq!(std::fs::read(&net).unwrap(), std::fs::read(&again).unwrap());
    assert_eq!(manifest(&net)["scales"], manifest(&again)["scales"]);
    let other = folder.path().join("other.bin");
    let other = refused(&[net.to_str().unwrap(), "--activation", "relu"], &other);
    assert!(other.contains("activation is screlu, not relu"), "{other}");
}

#[test]
fn no_scale_is_claimed_from_a_few_positions() {
    let folder = tempfile::tempdir().unwrap();
    let few = folder.path().join("few.txt");
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0]\n8/8/8/4k3/8/8/4P3/4K3 b - - 0 1 [0.5]\n";
    std::fs::write(&few, line).unwrap();
    let net = folder.path().join("net.bin");
    let said = export(&[NET, "--data", few.to_str().unwrap()], &net).assert().success();
    let said = String::from_utf8_lossy(&said.get_output().stdout).into_owned();
    assert!(said.contains("no scale is fitted") && !said.contains("predicted best"), "{said}");
    assert!(manifest(&net)["fitted_scale"].is_null());
}
