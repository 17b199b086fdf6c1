//! What a run was told, and in what runs differ.

use maud::{Markup, html};

use super::Run;
use crate::draw::Section;

/// Facts of each run; then the keys of their configs, those that differ first.
pub fn settings(runs: &[Run]) -> Section {
    let mut keys: Vec<&str> =
        runs.iter().flat_map(|run| run.settings.iter().map(|(key, _)| &key[..])).collect();
    keys.sort_unstable();
    keys.dedup();
    let (differ, same): (Vec<&str>, Vec<&str>) = keys.into_iter().partition(|key| {
        let mut values = runs.iter().map(|run| value(run, key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    });
    let facts = html! {
        @for run in runs {
            @if runs.len() > 1 { h3 { (run.name) } }
            div.wide { table.facts {
                @for (fact, value) in &run.about {
                    tr { td.left.soft { (fact) } td.left { (value) } }
                }
            } }
        }
    };
    let body = match runs {
        [_] => html! { (facts) details { summary { "The whole config" } (keyed(runs, &same)) } },
        _ => html! {
            (facts)
            h3 { "In what they differ" }
            @if differ.is_empty() { p { "In no key of their configs." } }
            @else { (keyed(runs, &differ)) }
            details { summary { "The keys that are the same" } (keyed(&runs[..1], &same)) }
        },
    };
    Section::new("Settings", body)
}

fn value<'a>(run: &'a Run, key: &str) -> Option<&'a str> {
    run.settings.iter().find(|(it, _)| it == key).map(|(_, value)| &value[..])
}

fn keyed(runs: &[Run], keys: &[&str]) -> Markup {
    html! {
        div.wide { table {
            tr {
                th.left { "key" }
                @for run in runs { th.left { (run.name) } }
            }
            @for key in keys {
                tr {
                    td.left { (key) }
                    @for run in runs { td.left { (value(run, key).unwrap_or("-")) } }
                }
            }
        } }
    }
}
