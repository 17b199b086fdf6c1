//! What is said of a finished run.

use crate::cli::export;
use crate::cli::out;
use crate::report::before_after::TermResult;
use crate::report::summary::{clearest, held, largest};
use crate::report::wrap;
use crate::run::folder;
use crate::run::judgement::Judgement;
use crate::run::train::{Finished, Made, TestMoves};

/// Terms that the summary names.
const NAMED: usize = 10;

/// What a run leaves, where it lies, and what the run made of itself.
pub fn text(finished: &Finished) -> String {
    let Finished { folder, what, sources, kept, judgement, moves, made, page } = finished;
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
        Made::Sum(written, terms) => {
            let net = export::lines(written).join("\n");
            format!("{net}\nterms    {}, as they learnt with the net", terms.display())
        }
        Made::Terms(results) => terms(finished, results),
    };
    let page = match page {
        None => String::new(),
        Some(Ok(path)) => format!("\nreport   {}", path.display()),
        Some(Err(error)) => format!("\nthere is no report: {error:#}"),
    };
    let judged = judged(judgement, moves);
    let sources = by_source(sources);
    format!("{what}: {}{sources}{kept}\n{}\n{text}{page}", best.display(), judged.trim_end())
}

/// The validation loss of each source, against its own target.
fn by_source(sources: &[(String, Option<f64>)]) -> String {
    let widest = sources.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |(name, loss): &(String, Option<f64>)| {
        let loss = loss.map_or("nothing to validate with".into(), |loss| format!("{loss:.6}"));
        format!("\n         of {name:widest$}  {loss}")
    };
    sources.iter().map(line).collect()
}

fn judged(judgement: &Judgement, moves: &TestMoves) -> String {
    let mut text = String::new();
    if let Some(sanity) = &judgement.terms {
        text += &format!("\n{}", sanity.text());
    }
    text.push('\n');
    let said = match &judgement.overfitting {
        // Of several runs one after the other the first explains what it means.
        Some(it) if out::is_news(it.answer()) => it.text(),
        Some(it) => it.brief(),
        None => match moves {
            TestMoves::Found(found) => return text + "\n" + &found.text(),
            TestMoves::Untold => {
                "no test games tell moves: nobody can tell what it finds of others'".into()
            }
            TestMoves::NotLearnt => {
                "nothing was held out: nobody can tell whether it has overfitted".to_string()
            }
        },
    };
    wrap(&said, &mut text);
    text
}

fn terms(finished: &Finished, results: &[TermResult]) -> String {
    let mut text = String::new();
    let (title, changes) = match results.iter().any(|result| result.error.is_some()) {
        true => ("The clearest changes, in standard errors", clearest(results, NAMED)),
        false => ("The largest changes", largest(results, NAMED)),
    };
    if !changes.is_empty() {
        text += &format!("\n{title}:\n{changes}\n");
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
