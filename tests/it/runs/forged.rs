//! Forged pages, manifests and checkpoints are only trusted where they can be checked.

use nnuance::export::{self, Check};

use crate::support::kit::*;

/// The net of the repository with its floats and a manifest that was changed.
fn forged(folder: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    for ending in ["bin", "safetensors"] {
        let to = folder.join(format!("net.{ending}"));
        fs::copy(format!("nets/quickstart-32.{ending}"), to).unwrap();
    }
    let manifest = fs::read("nets/quickstart-32.json").unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    change(&mut manifest);
    fs::write(folder.join("net.json"), manifest.to_string()).unwrap();
    folder.join("net.bin")
}

#[test]
fn manifests_are_checked() {
    let folder = Workdir::empty();
    let folder = folder.root_path();
    let failed = |change: &dyn Fn(&mut Value)| -> Vec<&str> {
        let checks = export::verify_net(&forged(folder, change)).unwrap();
        checks.iter().filter(|it: &&Check| !it.passed).map(|it| it.name).collect()
    };
    assert_eq!(failed(&|_| {}), [""; 0]);
    let shorter = |manifest: &mut Value| {
        manifest["golden"].as_array_mut().unwrap().truncate(3);
    };
    assert_eq!(failed(&shorter), ["golden evaluations"]);
    assert_eq!(failed(&|it| it["proof"]["i16_trick"] = false.into()), ["no overflow"]);
    assert_eq!(failed(&|it| it["architecture"]["hidden"] = 16.into()), ["architecture"]);
}

#[test]
fn run_folders_are_checked() {
    let folder = Workdir::empty();
    let run = folder.path("run");
    let few = ["--set", "data.limit=20000", "--set", "schedule.epochs=1"];
    said(train("configs/hce-pst.toml", &run).args(few));
    let own = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(own.contains("Content-Security-Policy") && own.contains("default-src 'none'"));
    assert!(!own.contains("<script"));
    for path in ["/dev/zero", "/", QUIET] {
        let bytes = fs::read(run.join("best.safetensors")).unwrap();
        let mut packed = Weights::from_bytes(&bytes).unwrap();
        let mut data: Value = serde_json::from_str(&packed.facts["data"]).unwrap();
        data[0]["path"] = path.into();
        packed.facts.insert("data".into(), data.to_string());
        let forged = folder.path("forged.safetensors");
        fs::write(&forged, packed.weights.to_bytes(&packed.facts, &packed.blob).unwrap()).unwrap();
        assert!(complaint(nnuance().args(["compare", "material"]).arg(&forged)).contains(path));
    }
}
