//! `nnuance bench` as a program sees it.

use crate::kit::*;

#[test]
fn figures_are_positive() {
    let mut command = nnuance();
    command.args(["bench", "--hidden", "8", "--seconds", "0.3", "--batch", "2048", "--json"]);
    let figures = json(command.args(["--data", "data/selfplay_sf151_scored.txt"]));
    assert_eq!(figures["positions"], 30_000);
    let text = figures.to_string();
    let speeds = text.split("positions_per_second\":").skip(1);
    let speeds: Vec<f64> =
        speeds.map(|it| it.split([',', '}']).next().unwrap().parse().expect("a speed")).collect();
    // Three of loading, and three of each net.
    assert!(speeds.len() == 3 + 2 * 3 && speeds.iter().all(|it| *it > 0.0), "{text}");
}
