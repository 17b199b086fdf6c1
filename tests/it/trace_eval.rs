//! The engine's own evaluation in a trace: read, and checked against the counts on every line.

use nnuance::format::trace::{MAGIC_2, Traced, write_binary, write_text};
use shakmaty::Color;

use crate::own_engine::own;
use crate::trace::{entry, read};

/// Four pawns more at phase 12 of 24: 4 * (82 / 2 + 94 / 2) = 352, and 12 for the tempo.
const GOOD: &str = "1.0 w 12 128 eval=364 | 0:5:1";

fn faults(lines: &str) -> Vec<String> {
    read(lines.as_bytes(), Some(&own())).1
}

#[test]
fn evaluations_that_agree_pass() {
    let (traces, faults) = read(format!("nnuance-trace 1\n{GOOD}").as_bytes(), Some(&own()));
    assert_eq!((traces[0].eval, &faults[..]), (Some(364.0), &[][..]));
    // A few centipawns are lost where integers are divided, and Black's tempo is White's loss.
    for line in ["1.0 w 12 128 eval=362.5 | 0:5:1", "1.0 b 12 128 eval=340 | 0:5:1"] {
        assert_eq!(self::faults(&format!("nnuance-trace 1\n{line}")), [""; 0], "{line}");
    }
}

#[test]
fn every_line_is_checked_and_the_terms_are_named() {
    let lines = format!("nnuance-trace 1\n{GOOD}\n1.0 w 12 128 eval=-120 | 3:1:0 0:5:1\n{GOOD}\n");
    let faults = faults(&lines);
    assert_eq!(faults.len(), 1);
    for told in [
        "line 3: the engine's evaluation is -120.00, but its counts",
        "give +396.50 (centipawns, seen by White; 2 may be lost",
        "material.pawn +352.0 (0:5:1), bishop.pair +32.5 (3:1:0)",
    ] {
        assert!(faults[0].contains(told), "{told:?} is not in {:?}", faults[0]);
    }
    // Terms that do not add up one by one: the danger of a king is a curve.
    let danger = self::faults("nnuance-trace 1\n1.0 w 24 128 eval=0 | 1:9:0");
    assert!(danger[0].contains("king.attackers -104.7 (1:9:0)"), "{danger:?}");
    // Without a list nothing is known of the terms.
    assert_eq!(read(lines.as_bytes(), None).0.len(), 3);
}

#[test]
fn the_first_line_says_whose_view_and_how_exact() {
    let mover = "nnuance-trace 1 eval=side-to-move\n1.0 b 12 128 eval=-340 | 0:5:1\n";
    assert_eq!(faults(mover), [""; 0]);
    let wrong = faults(&mover.replace(" eval=side-to-move", ""));
    assert!(wrong[0].contains("it would fit with the other sign: see `eval=`"), "{wrong:?}");
    let off = "1.0 w 12 128 eval=360 | 0:5:1\n";
    assert_eq!(faults(&format!("nnuance-trace 1\n{off}")).len(), 1);
    assert_eq!(faults(&format!("nnuance-trace 1 tolerance=4\n{off}")), [""; 0]);
    assert_eq!(
        faults("nnuance-trace 1 tolerance=0.5 eval=white\n1.0 w 12 128 eval=363.6 | 0:5:1"),
        [""; 0]
    );
    // Each of two files put together keeps its own rules.
    let both = format!("nnuance-trace 1 tolerance=4\n{off}nnuance-trace 1\n{off}{mover}");
    let faults = self::faults(&both);
    assert!(faults.len() == 1 && faults[0].starts_with("line 4: "), "{faults:?}");
    let told = self::faults("nnuance-trace 1 view=white\n");
    assert!(told[0].contains("line 1: `view=white` behind `nnuance-trace 1`"), "{told:?}");
}

#[test]
fn evaluations_that_are_none_are_told() {
    for (word, told) in [
        ("eval=x", "evaluation `x`, expected a number of centipawns"),
        ("eval=inf", "evaluation `inf`, expected"),
        ("eval=1 eval=2", "`eval=2` is the second of its kind"),
    ] {
        let faults = faults(&format!("nnuance-trace 1\n1.0 w 12 128 {word} | 0:5:1"));
        assert!(faults.len() == 1 && faults[0].contains(told), "{faults:?}");
    }
}

#[test]
fn both_forms_keep_evaluations() {
    let traces: Vec<Traced> = (0..20)
        .map(|i| Traced {
            turn: if i % 2 == 0 { Color::White } else { Color::Black },
            phase: 12.0,
            scale: 128.0,
            score: (i % 4 == 0).then_some(i * 3),
            eval: (i % 3 > 0)
                .then_some(88.0 * f32::from(i) + if i % 2 == 0 { 12.0 } else { -12.0 }),
            entries: vec![entry(0, i, 0)],
            ..Traced::default()
        })
        .collect();
    let (mut text, mut binary) = (b"nnuance-trace 1\n".to_vec(), MAGIC_2.to_vec());
    for traced in &traces {
        write_text(traced, &mut text).unwrap();
        write_binary(traced, &mut binary).unwrap();
    }
    for bytes in [&text, &binary] {
        assert_eq!(read(bytes, Some(&own())), (traces.clone(), vec![]));
    }
    // Files put together, of both versions.
    let plain = Traced { eval: None, ..traces[1].clone() };
    let mut mixed = [&binary[..], b"NNTRACE1"].concat();
    write_binary(&plain, &mut mixed).unwrap();
    assert_eq!(read(&mixed, Some(&own())).0.last(), Some(&plain));
    // A wrong evaluation is found in a record, too.
    let wrong = Traced { eval: Some(1000.0), ..traces[1].clone() };
    let mut binary = MAGIC_2.to_vec();
    write_binary(&wrong, &mut binary).unwrap();
    assert!(read(&binary, Some(&own())).1[0].starts_with("record 1: the engine's evaluation"));
}
