//! What a reader of a run's page wants to know first.

use maud::{Markup, html};

use super::{Cast, Run};
use crate::report::Deep;
use crate::report::compare::Pair;
use crate::report::reach::Reach;
use crate::report::text::{loss, verdict};

/// How far each evaluation comes, which is better, and the losses of the runs.
pub fn lead(deep: &Deep, cast: &[Cast], runs: &[Run]) -> Markup {
    let rivals = |name: &str| cast.iter().any(|one| one.rival && one.name == name);
    let reaches: Vec<&Reach> = deep.reaches.iter().filter(|reach| rivals(&reach.name)).collect();
    let better = better(deep, &rivals, reaches.is_empty());
    let on = deep.comparison.records(&deep.comparison.measured_on);
    html! {
        dl.lead {
            @if !reaches.is_empty() {
                dt { "How good?" }
                dd {
                    @for reach in &reaches { (way(reach)) }
                    p.soft {
                        "The share of the way from material, 0 %, to the search's score, 100 %, \
                         in loss against the results of " (on) ". The search looks ahead: 100 % \
                         is a bound for what looks at a single position, not a rival."
                    }
                }
            }
            @if !better.is_empty() {
                dt { @if reaches.is_empty() { "How good?" } @else { "Which is better?" } }
                dd {
                    @for sentence in &better { p { (sentence) } }
                    @if reaches.is_empty() { p.soft { "Measured on " (on) "." } }
                }
            }
        }
        (trained(runs))
    }
}

/// The training and the validation loss of each run, side by side.
pub fn trained(runs: &[Run]) -> Markup {
    let sentence = |run: &Run| Some(format!("{}: {}", run.name, losses(run)?));
    let sentences: Vec<String> = runs.iter().filter_map(sentence).collect();
    html! {
        @if !sentences.is_empty() {
            dl.lead {
                dt { "Losses" }
                dd { @for sentence in &sentences { p { (sentence) } } }
            }
        }
    }
}

/// Neighbours in the ranking of those that compete, in words; with `material` also where each
/// stands to it, if nothing better is known.
fn better(deep: &Deep, rivals: &dyn Fn(&str) -> bool, material: bool) -> Vec<String> {
    let pairs = &deep.comparison.pairs;
    let ranked = deep.comparison.evaluations.iter().map(|one| &one.name[..]);
    let ranked: Vec<&str> = ranked.filter(|name| rivals(name)).collect();
    let pair = |a: &str, b: &str| pairs.iter().find(|pair| pair.better == a && pair.worse == b);
    let all = &deep.comparison.evaluations;
    let told = |pair: &Pair| {
        let first = all.iter().find(|one| one.name == pair.better)?;
        Some(verdict(pair, first))
    };
    let mut sentences: Vec<String> =
        ranked.windows(2).filter_map(|two| told(pair(two[0], two[1])?)).collect();
    if material {
        let with = |name: &&str| pair(name, "material").or_else(|| pair("material", name));
        sentences.extend(ranked.iter().filter_map(with).filter_map(told));
    }
    sentences
}

/// A bar from 0 to 100 %, with the interval.
fn way(reach: &Reach) -> Markup {
    let percent = |share: f64| format!("{:.1}%", (100.0 * share).clamp(0.0, 100.0));
    let whisker = reach.share.interval.map(|[low, high]| {
        let [low, high] = [low, high].map(|it| it.clamp(0.0, 1.0));
        format!("left: {}; width: {}", percent(low), percent(high - low))
    });
    html! {
        p.way {
            span { b { (reach.name) } ": " (reach.percent()) }
            span.track {
                span.bar style={ "width: " (percent(reach.share.mean)) } {}
                @if let Some(whisker) = whisker { span.whisker style=(whisker) {} }
            }
        }
    }
}

/// Training and validation loss where the run is at its best, and the validation loss at its end.
fn losses(run: &Run) -> Option<String> {
    let best = run.best()?;
    let mut text = format!("validation loss {} at step {}", loss(best.held_out_loss?), best.step);
    if let Some(training) = best.train_loss {
        text += &format!(", training loss there {}", loss(training));
    }
    let last = run.rows.last()?;
    if let Some(end) = last.held_out_loss.filter(|_| last.step > best.step) {
        text += &format!("; validation loss {} at the last step, {}", loss(end), last.step);
    }
    Some(text + ".")
}
