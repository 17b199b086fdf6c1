//! What is inside the evaluation of a run: a net's neurons, or the tables of handcrafted terms.

use std::collections::HashSet;

use anyhow::Result;
use maud::{PreEscaped, html};

use super::ShownRun;
use crate::draw::Section;
use crate::export::tables::heat::Picture;
use crate::export::tables::heat_svg::svg;
use crate::input;
use crate::inspect::Options;
use crate::run::listener::Listener;
use crate::run::{folder, inspect};
use crate::sample::Sample;
use crate::train::checkpoint::Checkpoint;

/// Nothing where the run has not ended yet.
pub fn section(
    run: &ShownRun,
    samples: &[Sample],
    options: Options,
    listener: &dyn Listener,
) -> Result<Vec<Section>> {
    let name = &run.page.name;
    if let (Some(terms), Some(_)) = (run.recipe.terms()?, run.file(folder::TERMS)) {
        // Drawn anew: a file of the folder could hold a script, which the page would run.
        let best = Checkpoint::read(&run.folder.join(folder::BEST))?;
        let scale = run.recipe.config.scale();
        let weights = terms.trained(&best.weights, scale)?.rounded(2);
        let (list, values) = weights.used();
        let unseen = unseen(run);
        let seen: Vec<bool> = list.terms.iter().map(|it| !unseen.contains(&it.name)).collect();
        let picture = Picture { list: &list, weights: &values, seen: Some(&seen) };
        let picture = svg(&picture, "Handcrafted terms", scale)?;
        return Ok(vec![Section::new(
            format!("Terms of {name}"),
            html! { details open { summary { "All tables" } (PreEscaped(picture)) } },
        )]);
    }
    let Some(best) = run.file(folder::BEST).filter(|_| run.recipe.config.is_net()) else {
        return Ok(Vec::new());
    };
    inspect::sections(&best, name, samples, options, listener)
}

/// The terms that no position had, as the run wrote them down.
fn unseen(run: &ShownRun) -> HashSet<String> {
    let text = input::text(&run.folder.join(folder::TERMS_CSV), input::TEXT).unwrap_or_default();
    let unseen = text.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let (name, _, count) = (cells.next()?, cells.next()?, cells.next()?);
        (count == "0").then(|| name.to_string())
    });
    unseen.collect()
}
