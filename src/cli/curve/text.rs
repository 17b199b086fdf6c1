//! A learning curve in words.

use crate::digits::{grouped, short};
use crate::report::{Align, Table};
use crate::run::curve::{Basis, Curve, OverData};

/// The runs, then what follows.
pub fn text(curve: &Curve) -> String {
    let Basis { positions, groups, noun } = &curve.measured_on;
    let mut text = format!(
        "{}\nBest step: that of the lowest validation loss, whose weights are measured, on {} \
         positions of\n{} {noun}. Passes: over the run's positions till then. Loss: mean \
         squared error of\nsigmoid(cp / scale) against the results; each fifth of the {noun} is \
         measured with\nthe scale that fits the others.\n",
        table(curve),
        grouped(*positions as u64),
        grouped(*groups as u64),
    );
    for OverData { hidden, learning } in &curve.data {
        let net = match (hidden, curve.data.len()) {
            (Some(hidden), 2..) => format!(", with {hidden} neurons"),
            _ => String::new(),
        };
        text += &format!("\nOver the data{net}, sizes in positions:\n\n{}", learning.text());
    }
    if let Some(learning) = &curve.neurons {
        text += &format!("\nOver the neurons, on all of the data:\n\n{}", learning.text());
    }
    text
}

fn table(curve: &Curve) -> Table {
    let nets = curve.runs.iter().any(|run| run.hidden.is_some());
    let mut columns = vec![("run", Align::Left), ("positions", Align::Right)];
    columns.extend(nets.then_some(("neurons", Align::Right)));
    columns.extend(
        ["seed", "steps", "best step", "passes", "scale, cp", "loss"]
            .map(|title| (title, Align::Right)),
    );
    // The names are those of folders, which must be found: none is cut.
    let mut table = Table::new(&columns).width(usize::MAX);
    for run in &curve.runs {
        let mut cells = vec![run.name.clone(), short(run.positions as f64)];
        cells.extend(run.hidden.map(|hidden| hidden.to_string()));
        cells.extend([
            run.seed.to_string(),
            run.steps.to_string(),
            run.best_step.to_string(),
            format!("{:.1}", run.best_passes),
            run.scale.map_or("-".to_string(), |scale| format!("{scale:.0}")),
            format!("{:.6}", run.loss),
        ]);
        table.row(cells);
    }
    table
}
