//! What is said of a finished run.

use crate::cli::export;
use crate::cli::out;
use crate::report::before_after::TermResult;
use crate::report::summary::{clearest, held};
use crate::report::wrap;
use crate::run::folder;
use crate::run::judgement::Judgement;
use crate::run::train::{Finished, Made};

/// Terms that the summary names.
const NAMED: usize = 10;

/// What a run leaves, where it lies, and what the run made of itself.
pub fn text(finished: &Finished) -> String {
    let Finished { folder, what, kept, judgement, made, page } = finished;
    let best = folder.join(folder::BEST);
    let kept = match &kept[..] {
        [] => String::new(),
        [only] => format!("\nkept     {}", only.display()),
        [first, .., last] => {
            format!("\nkept     {} to {}", first.display(), last.display())
        }
    };
    let text = match made {
        Made::Net(written) => export::lines(written).join("\n"),
        Made::Terms(results) => terms(finished, results),
    };
    let page = match page {
        None => String::new(),
        Some(Ok(path)) => format!("\nreport   {}", path.display()),
        Some(Err(error)) => format!("\nthere is no report: {error:#}"),
    };
    format!("{what}: {}{kept}\n{}\n{text}{page}", best.display(), judged(judgement).trim_end())
}

fn judged(judgement: &Judgement) -> String {
    let mut text = String::new();
    if let Some(sanity) = &judgement.terms {
        text += &format!("\n{}", sanity.text());
    }
    text.push('\n');
    let said = match &judgement.overfitting {
        // Of several runs one after the other the first explains what it means.
        Some(it) if out::is_news(it.answer()) => it.text(),
        Some(it) => it.brief(),
        None => "nothing was held out: nobody can tell whether it has overfitted".to_string(),
    };
    wrap(&said, &mut text);
    text
}

fn terms(finished: &Finished, results: &[TermResult]) -> String {
    let mut text = String::new();
    let clearest = clearest(results, NAMED);
    if !clearest.is_empty() {
        text += &format!("\nThe clearest changes, in standard errors:\n{clearest}\n");
    }
    let held = held(results);
    if !held.is_empty() {
        text += &format!("Held at their start:\n{held}\n");
    }
    let [json, table, picture] = [folder::TERMS, folder::TERMS_CSV, folder::TERMS_SVG]
        .map(|name| finished.folder.join(name));
    text += &format!(
        "tables   {}\nchanges  {}\npicture  {}\nsource   nnuance export {} -o terms.h (or .hpp, .rs)",
        json.display(),
        table.display(),
        picture.display(),
        finished.folder.display(),
    );
    text
}
