//! Which evaluation is better, and how sure that is.

use maud::html;

use super::Cast;
use crate::draw::Section;
use crate::report::text::{interval, loss};
use crate::report::{Align, Comparison, Table};

/// The comparison with who takes part and its sentences; notes say what was measured, and what
/// could not be told.
pub fn verdict(comparison: &Comparison, cast: &[Cast], notes: &[String]) -> Section {
    let mut pairs = Table::new(&[
        ("lower loss", Align::Left),
        ("higher loss", Align::Left),
        ("difference", Align::Right),
        ("95 % interval", Align::Right),
        ("decided", Align::Left),
    ]);
    for pair in &comparison.pairs {
        let better = comparison.evaluations.iter().find(|one| one.name == pair.better);
        let doubt = better.and_then(|one| one.doubt.as_ref());
        let sure = match (&pair.why, doubt) {
            (Some(why), _) => format!("no: {why}"),
            (None, Some(doubt)) => format!("yes, unless {doubt}"),
            (None, None) if better.is_some_and(|one| one.bound) => "a bound, no rival".to_string(),
            (None, None) => "yes".to_string(),
        };
        let (mean, between) = (loss(pair.difference.mean), interval(&pair.difference));
        pairs.row([&pair.better[..], &pair.worse, &mean, &between, &sure]);
    }
    Section::new(
        "Comparison",
        html! {
            (comparison.table().markup())
            ul.names { @for one in cast { li.soft { b { (one.name) } ": " (one.what) } } }
            p.soft { (comparison.basis()) }
            @for sentence in &comparison.sentences { p { (sentence) } }
            @for note in notes { p.soft { (note) } }
            @if comparison.pairs.len() > 1 {
                details { summary { "All pairs" } (pairs.markup()) }
            }
        },
    )
}
