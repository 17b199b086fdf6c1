//! What quickstart needs, inside the program: an installed one has no repository around it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::input;
use crate::output;

const FILES: [(&str, &[u8]); 5] = [
    ("data/selfplay-sf15.vf", include_bytes!("../../../data/selfplay-sf15.vf")),
    ("configs/hce-pst.toml", include_bytes!("../../../configs/hce-pst.toml")),
    ("configs/quickstart-hce.toml", include_bytes!("../../../configs/quickstart-hce.toml")),
    ("configs/net-2-mirrored.toml", include_bytes!("../../../configs/net-2-mirrored.toml")),
    ("configs/net-on-terms.toml", include_bytes!("../../../configs/net-on-terms.toml")),
];

/// Where the kit is laid out.
const FOLDER: &str = "nnuance-quickstart";

/// Goes to a folder that has all files: this one, or one below it to which they are written.
pub fn lay_out() -> Result<()> {
    if FILES.iter().all(|(name, _)| Path::new(name).exists()) {
        return Ok(());
    }
    for (name, content) in FILES {
        let path = PathBuf::from(FOLDER).join(name);
        match input::read(&path, input::BOOK) {
            Ok(there) => ensure!(
                there == content,
                "{} is there and was changed; move it away, and quickstart lays it out anew",
                path.display()
            ),
            Err(_) => {
                output::write(&path, content)?;
            }
        }
    }
    std::env::set_current_dir(FOLDER).with_context(|| format!("cannot go to {FOLDER}"))?;
    eprintln!("The games and configs lie in the folder {FOLDER}; the commands below run there.");
    Ok(())
}
