//! The losses of a run as a chart of characters.

use nnuance::cli::chart::{NARROWEST, chart};
use nnuance::log::Row;

const TOTAL: u64 = 20_000;

/// Looks at a run whose losses fall like `1 / (1 + look)`, from an untrained model on.
fn rows(looks: u64) -> Vec<Row> {
    let row = |look: u64| Row {
        step: look,
        positions: look * 1000,
        train_loss: (look > 0).then(|| 0.05 + 0.05 / look as f64),
        held_out_loss: Some(0.1 + 0.1 / (1 + look) as f64),
        held_out_result_loss: None,
        learning_rate: None,
        wdl: 0.0,
        positions_per_second: None,
    };
    (0..looks).map(row).collect()
}

#[test]
fn fits_its_terminal() {
    for looks in [2, 3, 21, 1000] {
        for width in [NARROWEST, 80, 110, 200] {
            let lines = chart(&rows(looks), TOTAL, width).expect("rows enough");
            assert!(lines.len() <= 15, "{looks} looks: {} lines", lines.len());
            let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{looks} looks: {widest} characters of {width}");
        }
    }
    let short = chart(&rows(21), 1, 80).expect("a run may go beyond its plan");
    assert!(short.last().unwrap().ends_with("20.0 k positions"), "{short:?}");
}

#[test]
fn nothing_is_drawn_of_nothing() {
    assert_eq!(chart(&[], TOTAL, 80), None);
    assert_eq!(chart(&rows(1), TOTAL, 80), None);
    assert_eq!(chart(&rows(21), TOTAL, NARROWEST - 1), None);
    let mut dead = rows(21);
    for row in &mut dead {
        (row.train_loss, row.held_out_loss) = (Some(f64::NAN), None);
    }
    assert_eq!(chart(&dead, TOTAL, 80), None);
}

#[test]
fn labels_are_the_losses() {
    let lines = chart(&rows(21), TOTAL, 80).expect("rows enough");
    assert!(lines[0].contains("lowest 0.104762 at step 20"), "{}", lines[0]);
    // The chart ends at the fourth validation; the three before lie above it.
    assert!(lines[1].starts_with("0.125000 "), "{}", lines[1]);
    assert!(lines[12].starts_with("0.052500 "), "{}", lines[12]);
    assert!(lines[13].trim_start().starts_with("0 ") && lines[13].ends_with("20.0 k positions"));
}
