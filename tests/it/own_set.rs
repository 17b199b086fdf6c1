//! The code of the page "Add an input set": the set works, the rest is the program's.

use nnuance::features::{Board, FeatureSet, KINDS, Perspective, Rows, Set, Threat};
use shakmaty::Color;

use crate::features_sets::{rows, set};
use crate::games;

pub struct AttackKinds;

impl FeatureSet for AttackKinds {
    fn name(&self) -> &str {
        "attack-kinds"
    }

    fn rows(&self) -> usize {
        144
    }

    fn max_active(&self) -> usize {
        256 // 32 pieces attack at most eight others each
    }

    fn active(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let seen = Perspective::mirrored(board, perspective);
        for Threat { attacker, victim } in board.threats() {
            rows.push((12 * seen.kind(*attacker) + seen.kind(*victim)) as u32);
        }
    }

    fn describe(&self, row: u32) -> String {
        let [attacker, victim] = [row / 12, row % 12].map(|kind| KINDS[kind as usize]);
        format!("{attacker}s attack {victim}s")
    }

    fn repeats(&self) -> bool {
        true // two own knights may attack two enemy pawns
    }
}

/// The lines of a text without their indentation.
fn flat(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn page_shows_real_code() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let page = read("docs/input-sets.md");
    let sources = ["tests/it/own_set.rs", "src/features/threats.rs"].map(|path| flat(&read(path)));
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 4);
    for block in blocks {
        let code = block.split("```").next().unwrap();
        // The program around the set.
        let code = code.split("struct AttackKinds;").last().unwrap();
        let code = flat(code.split("\nfn main").next().unwrap());
        assert!(sources.iter().any(|source| source.contains(&code)), "{code}");
    }
}

#[test]
fn set_of_the_page_counts_threats() {
    let (own, built_in) = (Set::new(AttackKinds), set("threat-kinds"));
    for position in games::positions(100, 3) {
        for perspective in Color::ALL {
            let right = rows(&built_in, &position, perspective);
            assert_eq!(rows(&own, &position, perspective), right);
        }
    }
    assert!((0..144).all(|row| own.describe(row) == built_in.describe(row)));
}
