//! Code of the book: its own set works, the rest is that of the program and its examples.

use nnuance::features::{Board, FeatureSet, KINDS, Perspective, Rows, Set, Threat};
use shakmaty::Color;

use crate::nets::sets::{rows, set};
use crate::support::games;

pub struct AttackKinds;

impl FeatureSet for AttackKinds {
    fn name(&self) -> &str {
        "attack-kinds"
    }

    fn row_count(&self) -> usize {
        144
    }

    fn max_active(&self) -> usize {
        256 // 32 pieces attack at most eight others each
    }

    fn add_active_rows(&self, board: &Board, perspective: Color, rows: &mut Rows) {
        let seen = Perspective::mirrored_by_king(board, perspective);
        for Threat { attacker, victim } in board.threats() {
            rows.push((12 * seen.piece_kind(*attacker) + seen.piece_kind(*victim)) as u32);
        }
    }

    fn describe_row(&self, row: u32) -> String {
        let [attacker, victim] = [row / 12, row % 12].map(|kind| KINDS[kind as usize]);
        format!("{attacker}s attack {victim}s")
    }

    fn has_repeats(&self) -> bool {
        true // two own knights may attack two enemy pawns
    }
}

fn flat(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn page_shows_real_code() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let page = read("docs/own-code.md");
    let sources = ["tests/it/cli/own_set.rs", "src/features/threats.rs", "examples/own_filter.rs"]
        .map(|path| flat(&read(path)));
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 3);
    for block in blocks {
        let code = flat(block.split("```").next().unwrap());
        assert!(sources.iter().any(|source| source.contains(&code)), "{code}");
    }
}

/// The README shows an example with other line breaks.
#[test]
fn readme_shows_an_example() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let dense = |code: &str| -> String {
        let code = code.lines().map(|line| line.split("//").next().unwrap());
        code.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
    };
    let (readme, example) = (read("README.md"), dense(&read("examples/own_inputs.rs")));
    let code = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(example.contains(&dense(code)), "{code}");
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
    assert!((0..144).all(|row| own.describe_row(row) == built_in.describe_row(row)));
}
