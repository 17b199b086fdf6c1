//! `nnuance quickstart` where there is no repository.

use std::path::Path;

use crate::program::{complaint, nnuance};

/// Stops at its first step, after the files are written.
fn quickstart(folder: &Path) -> String {
    complaint(nnuance().args(["quickstart", "--device", "none"]).current_dir(folder))
}

#[test]
fn quickstart_lays_out_its_files() {
    let folder = tempfile::tempdir().unwrap();
    quickstart(folder.path());
    let laid = folder.path().join("nnuance-quickstart");
    let files = ["data/selfplay-sf15.vf", "configs/hce-pst.toml", "configs/net-2-mirrored.toml"];
    for name in files {
        assert_eq!(std::fs::read(laid.join(name)).unwrap(), std::fs::read(name).unwrap(), "{name}");
    }
    // Again: files stay, and changed ones are not overwritten.
    quickstart(folder.path());
    let config = laid.join(files[1]);
    std::fs::write(&config, "mine").unwrap();
    assert!(quickstart(folder.path()).contains("changed"));
    assert_eq!(std::fs::read_to_string(&config).unwrap(), "mine");
    // Inside the folder itself no file is written.
    std::fs::remove_file(&config).unwrap();
    quickstart(folder.path());
    quickstart(&laid);
    assert!(!laid.join("nnuance-quickstart").exists());
}
