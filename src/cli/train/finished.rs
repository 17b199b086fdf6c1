//! The last lines of a finished run.

use crate::cli::export;
use crate::report::terms::{held, largest};
use crate::run::folder;
use crate::run::train::{Finished, Made};

/// Terms that the summary names.
const NAMED: usize = 10;

/// The files of a run, its losses, and what changed.
pub fn text(finished: &Finished) -> String {
    let Finished { folder, what, training_loss, sources, kept, moves, made, page } = finished;
    let file = |name: &str| folder.join(name).display().to_string();
    let mut lines = vec![format!("{what}: {}", file(folder::BEST))];
    lines
        .extend(training_loss.map(|loss| format!("         training loss {loss:.6} at that step")));
    let widest = sources.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, loss) in sources {
        let loss = loss.map_or("nothing to validate with".into(), |loss| format!("{loss:.6}"));
        lines.push(format!("         of {name:widest$}  {loss}"));
    }
    match &kept[..] {
        [] => {}
        [only] => lines.push(format!("kept     {}", only.display())),
        [first, .., last] => {
            lines.push(format!("kept     {} to {}", first.display(), last.display()));
        }
    }
    lines.extend(moves.as_ref().map(|found| format!("\n{}", found.text())));
    match made {
        Made::Net(written) => lines.extend(export::lines(written)),
        Made::Sum(written, terms) => {
            lines.extend(export::lines(written));
            lines.push(format!("terms    {}, as they learnt with the net", terms.display()));
        }
        Made::Terms(results, values) => {
            if !values.pieces.is_empty() {
                lines.push(format!("\n{}", values.table()));
            }
            if let Some(changes) = largest(results, NAMED) {
                lines.push(format!("The largest changes:\n{changes}"));
            }
            if let Some(held) = held(results) {
                lines.push(format!("held     {held}, at their start"));
            }
            lines.push(format!("tables   {}", file(folder::TERMS)));
            lines.push(format!("changes  {}", file(folder::TERMS_CSV)));
            let run = folder.display();
            lines.push(format!("source   nnuance export {run} -o terms.h (or .rs)"));
        }
    }
    if let Some(Ok(page)) = page {
        lines.push(format!("report   {}", page.display()));
    }
    lines.join("\n")
}
