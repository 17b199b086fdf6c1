//! Standard output, which may be a closed pipe or a full disk.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::draw::page::MARK;

/// Opens and drops the file of a page, so that what cannot be written is found before the long
/// work.
///
/// # Errors
/// If it cannot be written, or would take the place of something else than a page of ours.
pub fn may_be_page(path: &Path) -> Result<()> {
    if path.exists() {
        let head = std::fs::read(path).unwrap_or_default();
        let mark = format!("name=\"generator\" content=\"{MARK}\"");
        let ours = head.get(..1000.min(head.len())).unwrap_or_default();
        ensure!(
            String::from_utf8_lossy(ours).contains(&mark),
            "{} exists and is no page of nnuance; choose another name with -o",
            path.display()
        );
    }
    crate::output::Output::create(path)?;
    Ok(())
}

/// Writes a line. A reader that has seen enough, such as `head`, is no failure: then nothing is
/// written, and the work goes on.
pub fn line(text: impl Display) -> Result<()> {
    lines([Ok(text)])
}

/// Writes lines up to the first error among them, or until nobody reads any more; then the rest
/// is never asked for.
pub fn lines<T: Display>(lines: impl IntoIterator<Item = Result<T>>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut failed = Ok(());
    for line in lines {
        let written = match line {
            Ok(line) => writeln!(out, "{line}"),
            Err(error) => {
                failed = Err(error);
                break;
            }
        };
        if written.is_err() {
            return ended(written);
        }
    }
    // What came before an error is as good as ever.
    ended(out.flush()).and(failed)
}

fn ended(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}
