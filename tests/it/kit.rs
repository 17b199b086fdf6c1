//! `nnuance quickstart` where there is no repository.

use assert_cmd::Command;

/// Stops at its first step, behind the laying out.
fn quickstart(folder: &std::path::Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["quickstart", "--device", "none"]).current_dir(folder);
    let output = command.assert().failure();
    String::from_utf8_lossy(&output.get_output().stderr).into_owned()
}

#[test]
fn what_quickstart_needs_is_inside_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let said = quickstart(folder.path());
    assert!(said.contains("lie in the folder nnuance-quickstart"), "{said}");
    let laid = folder.path().join("nnuance-quickstart");
    let files = ["data/selfplay-sf15.vf", "configs/hce-pst.toml", "configs/net-2-mirrored.toml"];
    for name in files {
        assert_eq!(std::fs::read(laid.join(name)).unwrap(), std::fs::read(name).unwrap(), "{name}");
    }
    // Again: what is there stays; what was changed is the user's, and is not written over.
    quickstart(folder.path());
    let config = laid.join(files[1]);
    std::fs::write(&config, "mine").unwrap();
    let said = quickstart(folder.path());
    assert!(said.contains("was changed"), "{said}");
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "mine");
    // Inside the folder itself there is nothing to lay out.
    std::fs::remove_file(&config).unwrap();
    quickstart(folder.path());
    let said = quickstart(&laid);
    assert!(!said.contains("lie in the folder"), "{said}");
    assert!(!laid.join("nnuance-quickstart").exists());
}
