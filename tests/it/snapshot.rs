//! Whole outputs against stored ones. `NNUANCE_UPDATE=1` rewrites them.

use std::path::Path;

/// Compares a text with `tests/it/snapshots/NAME`.
pub fn check(name: &str, text: &str) {
    let path = Path::new("tests/it/snapshots").join(name);
    if std::env::var_os("NNUANCE_UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = stored.lines().zip(text.lines()).find(|(stored, found)| stored != found);
    assert!(
        stored == text,
        "{} differs (NNUANCE_UPDATE=1 rewrites it), first: {differs:?}\n{text}",
        path.display()
    );
}
