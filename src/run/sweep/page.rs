//! A sweep as a page: what was chosen, how members fell behind, and what each key did.

use maud::{Markup, html};

use super::member::bare;
use super::outcome::{Outcome, Stood};
use crate::draw::page::figure;
use crate::draw::{self, Chart, Line, Scale, Section};
use crate::report::seeds::Spread;

/// Colours of a chart, by what they stand for.
const CHOSEN: usize = 0;
const WHOLE: usize = 1;
const BEHIND: usize = 2;

pub fn page(title: &str, outcome: &Outcome) -> String {
    let lead = html! { @for sentence in &outcome.sentences { p { (sentence) } } };
    let keys = keys(outcome);
    let mut sections = vec![Section::new("Members", table(outcome))];
    if outcome.rungs.len() > 1 {
        sections.push(Section::new("Rungs", rungs(outcome)));
    }
    if !keys.is_empty() {
        sections.push(Section::new(
            "Keys",
            html! {
                div.figures { @for figure in &keys { (figure) } }
            },
        ));
    }
    draw::page(title, &lead, &sections)
}

fn table(outcome: &Outcome) -> Markup {
    let last = outcome.rungs.len();
    html! {
        (outcome.table().markup())
        p.soft { (outcome.about()) }
        @let failed: Vec<&Stood> =
            outcome.members.iter().filter(|it| it.failure.is_some()).collect();
        @for it in failed {
            p.soft { (it.label) ": " (it.failure.as_deref().unwrap_or_default()) }
        }
        p.soft { "Runs in full: "
            @for it in outcome.members.iter().filter(|it| it.rung == last) {
                code { (it.name) "-seed-…" } " "
            }
        }
    }
}

/// The loss of each member over its lengths.
fn rungs(outcome: &Outcome) -> Markup {
    let last = outcome.rungs.len();
    let mut lines = Vec::new();
    let mut named = [false; 3];
    // The chosen one is drawn last, above the others.
    for (place, member) in outcome.members.iter().enumerate().rev() {
        let (colour, name) = match (place, member.rung == last) {
            (0, _) => (CHOSEN, "the chosen one"),
            (_, true) => (WHOLE, "trained in full"),
            (_, false) => (BEHIND, "stayed behind"),
        };
        let name = if std::mem::replace(&mut named[colour], true) { "" } else { name };
        let parts = outcome.rungs.iter().map(|rung| 1.0 / rung.part as f64);
        let points = parts.zip(&member.losses).map(|(x, loss)| [x, loss.mean]).collect();
        let dots = true;
        lines.push(Line { name: name.into(), colour, dots, points, ..Line::default() });
    }
    let (x, y) = ("share of the length", "loss");
    let title = "Loss on the validation games, by how far runs had come";
    let x_scale = Scale::Doubling;
    let chart = Chart { title, x, y, x_scale, lines, ..Chart::default() };
    let about = "Runs pause at a rung with the schedule of their whole length, and of each rung those \
                 with the lowest loss go on.";
    figure(title, about, "", &chart.markup())
}

/// For each key whose values are numbers, the losses of the first rung, where all members are.
fn keys(outcome: &Outcome) -> Vec<Markup> {
    let of = |axis: usize| {
        let number = |member: &Stood| bare(&member.values[axis]).parse::<f64>().ok();
        let numbers: Vec<f64> = outcome.members.iter().map(number).collect::<Option<_>>()?;
        let mut values = numbers.clone();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let spread = |value: f64| {
            let here = outcome.members.iter().zip(&numbers).filter(|(_, it)| **it == value);
            let losses: Vec<f64> =
                here.filter_map(|(it, _)| it.losses.first().map(|loss| loss.mean)).collect();
            Spread::of(&losses).map(|spread| (value, spread))
        };
        let spreads: Vec<(f64, Spread)> = values.iter().filter_map(|it| spread(*it)).collect();
        (spreads.len() > 1).then_some(())?;
        let best = spreads.iter().map(|(x, it)| [*x, it.lowest]).collect();
        let mean = spreads.iter().map(|(x, it)| [*x, it.mean]).collect();
        let lines = vec![
            Line { name: "best".into(), dots: true, points: best, ..Line::default() },
            Line { name: "mean".into(), colour: 1, dots: true, points: mean, ..Line::default() },
        ];
        let title = &outcome.titles[axis];
        let doubling = values[0] > 0.0 && values[values.len() - 1] > 4.0 * values[0];
        let x_scale = if doubling { Scale::Doubling } else { Scale::Linear };
        let chart = Chart { title, x: title, y: "loss", x_scale, lines, ..Chart::default() };
        let about = "Of all members with a value, at the end of the first rung.";
        Some(figure(title, about, "", &chart.markup()))
    };
    (0..outcome.titles.len()).filter_map(of).collect()
}
