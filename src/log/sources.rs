//! `sources.csv`: the validation loss by source, a row beside each of `log.csv`.

/// Losses by source, as the file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BySource {
    pub names: Vec<String>,
    /// A step each, with a loss for each name; none where a source has nothing to validate with.
    pub rows: Vec<(u64, Vec<Option<f64>>)>,
}

impl BySource {
    /// The first line of a file.
    pub fn header<S: AsRef<str>>(names: &[S]) -> String {
        let names = names.iter().map(|name| format!(",{}", name.as_ref()));
        format!("step{}\n", names.collect::<String>())
    }

    /// A line of it.
    pub fn line(step: u64, losses: &[Option<f64>]) -> String {
        let cell = |loss: &Option<f64>| loss.map_or(",".into(), |loss| format!(",{loss:.8}"));
        format!("{step}{}\n", losses.iter().map(cell).collect::<String>())
    }

    /// Reads a file; a last line that a killed run left unfinished is passed over. None where it is
    /// no such file.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        let names = lines.next()?.strip_prefix("step,")?.split(',').map(str::to_string);
        let names: Vec<String> = names.collect();
        let row = |line: &str| {
            let (step, losses) = line.split_once(',')?;
            let loss = |cell: &str| match cell {
                "" => Some(None),
                cell => cell.parse().ok().map(Some),
            };
            let losses: Vec<Option<f64>> = losses.split(',').map(loss).collect::<Option<_>>()?;
            (losses.len() == names.len()).then_some((step.parse().ok()?, losses))
        };
        let rows = lines.map(row).collect::<Option<_>>()?;
        Some(Self { names, rows })
    }

    /// The losses of a step.
    pub fn at(&self, step: u64) -> Option<&[Option<f64>]> {
        self.rows.iter().find(|(at, _)| *at == step).map(|(_, losses)| &losses[..])
    }
}
