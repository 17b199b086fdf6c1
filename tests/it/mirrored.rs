//! Positions turned left to right.

use nnuance::architecture::Views;
use nnuance::batch::Inputs;
use nnuance::config::Config;
use nnuance::features::MAX_ACTIVE;
use nnuance::loader::{Part, Plan, Stream, collect};
use nnuance::sample::{Position, Sample};

use crate::games;

/// Turned left to right, as FENs say it; twice is once.
#[test]
fn mirrored_positions_match_fens() {
    for (fen, turned) in [
        ("4k3/P6p/8/2Q5/8/8/8/R2K4 w - - 3 40", "3k4/p6P/8/5Q2/8/8/8/4K2R w - - 3 40"),
        ("k7/8/8/3pP3/8/8/8/7K w - d6 0 9", "7k/8/8/3Pp3/8/8/8/K7 w - e6 0 9"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "r2k3r/8/8/8/8/8/8/R2K3R b - - 0 1"),
    ] {
        let position = Position::from_fen(fen).unwrap();
        assert_eq!(position.mirrored().fen(), turned);
        let bare = |position: &Position| {
            position.pieces().map(|it| (it.square, it.color, it.role)).collect::<Vec<_>>()
        };
        assert_eq!(bare(&position.mirrored().mirrored()), bare(&position));
    }
}

/// In two passes each position is shown once as it is and once as its image, whatever the window.
#[test]
fn every_other_epoch_is_mirrored() {
    let samples = collect(
        &Plan::reading(vec!["data/selfplay_sf151_scored.txt".into()]).limited(700),
        Part::All,
        &|_| (),
    )
    .unwrap();
    let encoder = games::lists(Views::Plain);
    let rows = |samples: &[Sample]| match encoder.encode(samples).inputs {
        Inputs::Active(active) => active.indices,
        _ => unreachable!("lists"),
    };
    let images: Vec<Sample> =
        samples.iter().map(|it| Sample { position: it.position.mirrored(), ..*it }).collect();
    let sorted = |indices: Vec<u16>| {
        let mut lists: Vec<Vec<u16>> = indices.chunks(MAX_ACTIVE).map(<[u16]>::to_vec).collect();
        lists.sort();
        lists
    };
    let expected = sorted([rows(&samples), rows(&images)].concat());
    for window in [1000, 130] {
        let plan = Plan {
            batch: 350,
            window,
            expected: Some(700),
            mirrored_copies: true,
            ..Plan::reading(vec!["data/selfplay_sf151_scored.txt".into()]).limited(700)
        };
        let mut stream = Stream::new(plan, encoder.clone(), 0);
        let mut shown = Vec::new();
        for _ in 0..4 {
            let Inputs::Active(active) = stream.next().unwrap().unwrap().inputs else { panic!() };
            shown.extend(active.indices);
        }
        let first = sorted(shown[..shown.len() / 2].to_vec());
        assert!(first != sorted(rows(&samples)) && first != sorted(rows(&images)));
        assert!(sorted(shown) == expected, "{window}");
    }
}

/// Nets are mirrored where they can be.
#[test]
fn nets_are_mirrored_unless_told_otherwise() {
    for (inputs, said, mirrored) in [
        ("perspective", "", true),
        ("side-to-move", "", true),
        ("perspective", "mirror = false", false),
        ("plain", "", false),
    ] {
        let text = format!(
            "version = 3\ndata.files = ['a']\n[net]\ninputs = '{inputs}'\nhidden = 8\n{said}\n\
             [schedule]\nepochs = 1\nlearning_rate = 1"
        );
        let config = Config::parse(&text, "it", &[]).unwrap();
        let net = config.architecture().unwrap().clone();
        assert_eq!(net.inputs.kings.mirror, mirrored, "{text}");
        // As a run writes it down.
        let again = Config::parse(&config.to_toml(), "again", &[]).unwrap();
        assert_eq!(again, config);
        assert!(config.to_toml().contains(&format!("mirror = {mirrored}")));
    }
    let copies = "version = 3\ndata = { files = ['a'], mirrored_copies = true }\n\
                  net = { inputs = 'perspective', hidden = 8 }\n\
                  schedule = { epochs = 1, learning_rate = 1 }";
    let refused = Config::parse(copies, "it", &[]).unwrap_err().to_string();
    assert!(refused.contains("data.mirrored_copies"), "{refused}");
    assert!(Config::parse(copies, "it", &["net.mirror=false".into()]).is_ok());
}
