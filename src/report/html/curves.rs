//! How training went: losses, learning rate, weight of results, speed.

use maud::{Markup, html};

use super::Run;
use crate::digits::grouped;
use crate::draw::page::{Side, figure, table};
use crate::draw::{Chart, Line, Section};
use crate::log::Row;
use crate::report::text::loss;

/// Curves of all runs over common axes.
pub fn curves(runs: &[Run]) -> Section {
    let against = |x: &'static str, title, y, of: &dyn Fn(&Run) -> Option<Vec<Line>>| {
        let lines: Vec<Line> =
            runs.iter().enumerate().flat_map(|(i, run)| coloured(of(run), i)).collect();
        let some = lines.iter().any(|line| !line.points.is_empty());
        some.then(|| Chart { title, x, y, lines, ..Chart::default() }.markup())
    };
    let alone = runs.len() == 1;
    let name = |run: &Run, what: &str| if alone { what.to_string() } else { named(run, what) };
    let losses = |run: &Run, x: &[f64]| {
        let held = told(run, |row| row.held_out_loss);
        let held = line(name(run, "validation"), x, &run.rows, held);
        let train = line(name(run, "training"), x, &run.rows, |row| row.train_loss);
        Some(vec![held, Line { dashed: true, ..train }])
    };
    let over = |run: &Run| run.rows.iter().map(|row| row.positions as f64).collect::<Vec<_>>();
    let single = |run: &Run, of: &dyn Fn(&Row) -> Option<f64>| {
        let label = if alone { String::new() } else { run.name.clone() };
        Some(vec![line(label, &over(run), &run.rows, of)])
    };
    let targets = if one_target(runs) {
        "Against the training target; that of validation as the target is at the end of the run."
    } else {
        "Against the target of each run. The targets differ, so these curves cannot be compared \
         with each other; those against results can."
    };
    let pictures = [
        (
            "Loss against positions",
            targets,
            against("positions", "loss", "loss", &|run| losses(run, &over(run))),
        ),
        (
            "Loss against time",
            "Seconds of training; validating is not counted.",
            against("seconds", "loss", "loss", &|run| losses(run, &run.seconds()?)),
        ),
        (
            "Validation loss against results",
            "What the evaluation is for; a different number from the loss that is trained.",
            against("positions", "loss", "loss", &|run| {
                single(run, &told(run, |row| row.held_out_result_loss))
            }),
        ),
        (
            "Validation loss by source",
            "Of the positions of each source alone, against its own target.",
            by_source(runs),
        ),
        (
            "Speed",
            "Positions a second between two validations.",
            against("positions", "speed", "positions/s", &|run| {
                single(run, &|row| row.positions_per_second)
            }),
        ),
        (
            "Learning rate",
            "",
            against("positions", "rate", "rate", &|run| single(run, &|row| row.learning_rate)),
        ),
        (
            "Weight of results",
            "The share of the result in the target, the rest is the score's.",
            against("positions", "wdl", "wdl", &|run| {
                run.rows.iter().any(|row| row.wdl != run.rows[0].wdl).then_some(())?;
                single(run, &|row| Some(row.wdl))
            }),
        ),
    ];
    let header = [
        ("run", Side::Left),
        ("steps", Side::Right),
        ("positions", Side::Right),
        ("best validation loss", Side::Right),
        ("at step", Side::Right),
        ("last validation loss", Side::Right),
        ("", Side::Left),
    ];
    let rows: Vec<Vec<String>> = runs.iter().map(summary).collect();
    Section::new(
        "Training",
        html! {
            (table(&header, &rows))
            div.figures {
                @for (title, about, picture) in &pictures {
                    @if let Some(picture) = picture { (figure(title, about, "", picture)) }
                }
            }
        },
    )
}

/// A line for each source of each run; none where no run has any.
fn by_source(runs: &[Run]) -> Option<Markup> {
    let alone = runs.len() == 1;
    let of_run = |run: &Run| {
        let of = |(number, name): (usize, &String)| {
            let point = |row: &Row| {
                Some([row.positions as f64, run.sources.at(row.step)?.get(number).copied()??])
            };
            let points = run.rows.iter().filter(|row| row.step > 0).filter_map(point).collect();
            let name = if alone { name.clone() } else { named(run, name) };
            Line { name, points, ..Line::default() }
        };
        run.sources.names.iter().enumerate().map(of).collect::<Vec<Line>>()
    };
    let lines = runs.iter().flat_map(of_run).enumerate();
    let lines: Vec<Line> = lines.map(|(colour, line)| Line { colour, ..line }).collect();
    let title = "Validation loss by source";
    let some = lines.iter().any(|line| !line.points.is_empty());
    some.then(|| Chart { title, x: "positions", y: "loss", lines, ..Chart::default() }.markup())
}

fn summary(run: &Run) -> Vec<String> {
    let (last, best) = (run.rows.last(), run.best());
    let count = |value: Option<u64>| value.map_or("-".into(), grouped);
    let held_out =
        |row: Option<&Row>| row.and_then(|row| row.held_out_loss).map_or("-".into(), loss);
    vec![
        run.name.clone(),
        count(last.map(|row| row.step)),
        count(last.map(|row| row.positions)),
        held_out(best),
        count(best.map(|row| row.step)),
        held_out(last),
        run.state.clone(),
    ]
}

/// A loss of each row; that before the first step only where the rest would not lie flat below
/// it, as with a net that knows nothing yet.
fn told(run: &Run, of: fn(&Row) -> Option<f64>) -> impl Fn(&Row) -> Option<f64> {
    let lowest = run.rows.iter().filter_map(of).fold(f64::INFINITY, f64::min);
    move |row| of(row).filter(|loss| row.step > 0 || *loss < 1.5 * lowest)
}

/// Whether the losses of all runs are against the same numbers.
fn one_target(runs: &[Run]) -> bool {
    let target = |run: &Run| -> Vec<(String, String)> {
        let keys = run.settings.iter().filter(|(key, _)| {
            key.starts_with("target.") && key != "target.scale"
                || key.starts_with("data.source")
                || key == "data.files"
        });
        keys.cloned().collect()
    };
    runs.windows(2).all(|pair| target(&pair[0]) == target(&pair[1]))
}

fn named(run: &Run, what: &str) -> String {
    format!("{}, {what}", run.name)
}

fn line(name: String, x: &[f64], rows: &[Row], of: impl Fn(&Row) -> Option<f64>) -> Line {
    let points = x.iter().zip(rows).filter_map(|(x, row)| Some([*x, of(row)?])).collect();
    Line { name, points, ..Line::default() }
}

fn coloured(lines: Option<Vec<Line>>, colour: usize) -> impl Iterator<Item = Line> {
    lines.into_iter().flatten().map(move |line| Line { colour, ..line })
}
