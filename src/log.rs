//! A row of `log.csv`: what is known of a run each time the validation loss is measured.

mod sources;

pub use sources::BySource;

/// The first line of a log.
pub const HEADER: &str = "step,positions,train_loss,validation_loss,validation_result_loss,\
                      learning_rate,wdl,positions_per_second\n";

/// The same columns, as version 0.1 called them.
pub const OLD_HEADER: &str = "step,positions,train_loss,held_out_loss,held_out_result_loss,\
                          learning_rate,wdl,positions_per_second\n";

/// What is known at one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    pub step: u64,
    /// Trained on, repeats counted.
    pub positions: u64,
    /// Mean over the steps since the row before.
    pub train_loss: Option<f64>,
    /// Against the training target as it is at the end of the run.
    pub held_out_loss: Option<f64>,
    /// Against the result.
    pub held_out_result_loss: Option<f64>,
    /// None for a direct method, which has none.
    pub learning_rate: Option<f64>,
    pub wdl: f64,
    pub positions_per_second: Option<f64>,
}

impl Row {
    /// As a line of the log.
    pub fn line(&self) -> String {
        let cell = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        format!(
            "{},{},{},{},{},{},{},{}\n",
            self.step,
            self.positions,
            cell(self.train_loss, 8),
            cell(self.held_out_loss, 8),
            cell(self.held_out_result_loss, 8),
            self.learning_rate.map_or(String::new(), |rate| format!("{rate:e}")),
            self.wdl,
            cell(self.positions_per_second, 0),
        )
    }

    /// Reads a line without its end; none where it is no row.
    pub fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split(',').collect();
        let cells: [&str; 8] = cells.try_into().ok()?;
        let number = |cell: &str| -> Option<Option<f64>> {
            if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) }
        };
        Some(Self {
            step: cells[0].parse().ok()?,
            positions: cells[1].parse().ok()?,
            train_loss: number(cells[2])?,
            held_out_loss: number(cells[3])?,
            held_out_result_loss: number(cells[4])?,
            learning_rate: number(cells[5])?,
            wdl: cells[6].parse().ok()?,
            positions_per_second: number(cells[7])?,
        })
    }
}
