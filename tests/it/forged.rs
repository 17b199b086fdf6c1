//! Files that lie: pages, manifests and checkpoints are not believed further than they can be
//! checked, and what cannot be is said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use nnuance::export::{self, Check};
use nnuance::weights::Weights;

fn nnuance(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(args);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The net of the repository with its floats and a manifest that was changed.
fn forged(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    for ending in ["bin", "safetensors"] {
        let to = folder.join(format!("net.{ending}"));
        fs::copy(format!("nets/quickstart-32.{ending}"), to).unwrap();
    }
    let manifest = fs::read("nets/quickstart-32.json").unwrap();
    let mut manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    change(&mut manifest);
    fs::write(folder.join("net.json"), manifest.to_string()).unwrap();
    folder.join("net.bin")
}

#[test]
fn a_manifest_is_checked_as_far_as_that_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let failed = |change: &dyn Fn(&mut serde_json::Value)| -> Vec<&str> {
        let checks = export::verify(&forged(folder, change), None).unwrap();
        checks.iter().filter(|it: &&Check| !it.passed).map(|it| it.name).collect()
    };
    assert_eq!(failed(&|_| {}), [""; 0]);
    let shorter = |manifest: &mut serde_json::Value| {
        manifest["golden"].as_array_mut().unwrap().truncate(3);
    };
    assert_eq!(failed(&shorter), ["golden evaluations"]);
    assert_eq!(failed(&|it| it["layout"] = "i8".into()), ["layout"]);
    assert_eq!(failed(&|it| it["float_error"]["max_cp"] = 0.5.into()), ["largest float error"]);
    assert_eq!(failed(&|it| it["float_error"]["mean_cp"] = 50.into()), ["largest float error"]);
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(
        failed(&|it| it["float_error"]["worst_fen"] = start.into()),
        ["largest float error"]
    );
}

/// A short run of handcrafted terms.
fn train(folder: &Path) {
    let set = |text: &'static str| ["--set", text];
    nnuance(&["train", "configs/hce-pst.toml", "--out"])
        .arg(folder)
        .args(set("data.limit=20000"))
        .args(set("schedule.epochs=1"))
        .assert()
        .success();
}

#[test]
fn a_run_folder_puts_no_script_into_a_page_and_names_no_device_to_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train(&run);
    let own = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(own.contains("Content-Security-Policy") && own.contains("default-src 'none'"));
    assert!(!own.contains("<script"));
    for path in ["/dev/zero", "/", "data/selfplay_sf151_quiet.epd"] {
        let change = |facts: &mut BTreeMap<String, String>| {
            let mut data: serde_json::Value = serde_json::from_str(&facts["data"]).unwrap();
            data[0]["path"] = path.into();
            facts.insert("data".into(), data.to_string());
        };
        let bytes = fs::read(run.join("best.safetensors")).unwrap();
        let mut packed = Weights::from_bytes(&bytes).unwrap();
        change(&mut packed.facts);
        let forged = folder.path().join("forged.safetensors");
        fs::write(&forged, packed.weights.to_bytes(&packed.facts, &packed.blob).unwrap()).unwrap();
        let said = nnuance(&["compare", "material"]).arg(&forged).assert().code(1);
        let said = text(&said.get_output().stderr);
        let cures = ["pipe or a device", "directory", "has changed since"];
        assert!(said.contains(path) && cures.iter().any(|cure| said.contains(cure)), "{said}");
    }
}
