//! Positions chosen from games, against the rules asked one by one.

use nnuance::data::extract::{Counts, Extract, Rules};
use nnuance::sample::Sample;

use crate::formats::read;
use crate::need;

const ALL: Rules =
    Rules { skip_plies: 0, per_game: None, quiet: false, mates: true, min_pieces: 0, seed: 1 };
const USUAL: Rules =
    Rules { skip_plies: 16, per_game: Some(8), quiet: true, mates: false, min_pieces: 6, seed: 1 };

fn games() -> Vec<Sample> {
    read("data/selfplay_sf151_200games.pgn").unwrap()
}

fn extract(rules: Rules, samples: &[Sample], block: usize) -> (Vec<Sample>, Counts) {
    let (mut extract, mut kept) = (Extract::new(rules), Vec::new());
    for samples in samples.chunks(block) {
        extract.push(samples, &mut kept);
    }
    extract.finish(&mut kept);
    (kept, extract.counts())
}

#[test]
fn every_rule_alone() {
    let games = games();
    let (kept, counts) = extract(ALL, &games, 1000);
    assert_eq!(kept, games);
    let read = games.len() as u64;
    assert_eq!(counts, Counts { read, kept: read, ..Counts::default() });

    // By the rules of chess, asked of a board instead of the packed position.
    let quiet = |sample: &Sample| {
        let chess = sample.position.to_chess().unwrap();
        let legal = sample.played.unwrap().legal_move(&chess).unwrap();
        let check = shakmaty::Position::is_check(&chess);
        !check && !legal.is_capture() && !legal.is_promotion()
    };
    let mate =
        |sample: &Sample| sample.score.is_some_and(|score| !(-30_999..31_000).contains(&score));
    type Rule<'a> = (Rules, &'a dyn Fn(&Sample) -> bool, fn(&Counts) -> u64);
    let rules: [Rule; 4] = [
        (Rules { skip_plies: 21, ..ALL }, &|sample| sample.ply >= Some(21), |counts| counts.early),
        (Rules { min_pieces: 9, ..ALL }, &|sample| sample.position.count() >= 9, |counts| {
            counts.few_pieces
        }),
        (Rules { quiet: true, ..ALL }, &quiet, |counts| counts.in_check + counts.tactical),
        (Rules { mates: false, ..ALL }, &|sample| !mate(sample), |counts| counts.mate),
    ];
    for (rules, fits, left_out) in rules {
        let expected: Vec<_> = games.iter().copied().filter(fits).collect();
        let (kept, counts) = extract(rules, &games, 777);
        assert!(kept == expected && kept.len() < games.len(), "{rules:?}");
        assert_eq!(left_out(&counts), (games.len() - kept.len()) as u64, "{rules:?}");
        assert_eq!(counts.kept, kept.len() as u64);
    }
}

#[test]
fn real_games_as_another_program_counts_them() {
    // Counted by python-chess 1.11.2.
    let path = "../shared/data/games/fishtest-fastchess.pgn";
    if !need::shared(path) {
        return;
    }
    let (kept, counts) = extract(USUAL, &read(path).unwrap(), 4096);
    let expected = Counts {
        read: 43_495,
        unknown: 0,
        early: 832,
        few_pieces: 907,
        mate: 85,
        in_check: 3502,
        tactical: 6625,
        crowded: 31_544 - 2640,
        kept: 2640,
    };
    assert_eq!(counts, expected);
    assert_eq!(kept.len(), 2640);
}

#[test]
fn a_few_of_each_game_spread_over_it() {
    let games = games();
    let rules = Rules { per_game: Some(8), ..ALL };
    let (kept, _) = extract(rules, &games, 4096);
    for (all, kept) in
        games.chunk_by(|a, b| a.game == b.game).zip(kept.chunk_by(|a, b| a.game == b.game))
    {
        assert_eq!((all[0].game, kept.len()), (kept[0].game, all.len().min(8)));
        // One from each eighth of the game.
        for (i, sample) in kept.iter().enumerate() {
            let at = all.iter().position(|other| other.ply == sample.ply).unwrap();
            assert!((i * all.len() / 8..(i + 1) * all.len() / 8).contains(&at));
        }
    }
    // Which one is drawn anew for each part of each game.
    let mut places = [const { Vec::new() }; 8];
    for game in kept.chunk_by(|a, b| a.game == b.game).filter(|game| game.len() == 8) {
        let length = games.iter().filter(|sample| sample.game == game[0].game).count();
        for (i, sample) in game.iter().enumerate() {
            let first = games.iter().find(|first| first.game == sample.game).unwrap();
            let at = usize::from(sample.ply.unwrap() - first.ply.unwrap());
            places[i].push((at - i * length / 8) as f64 / (length as f64 / 8.0));
        }
    }
    for (i, place) in places.iter().enumerate() {
        let mean = place.iter().sum::<f64>() / place.len() as f64;
        assert!(place.len() > 100 && (0.4..0.6).contains(&mean), "part {i}: {mean}");
        assert!(i == 0 || *place != places[i - 1]);
        let equal = place.iter().zip(&places[0]).filter(|(a, b)| (*a - *b).abs() < 0.05).count();
        assert!(i == 0 || equal < place.len() / 4, "part {i}: {equal} of {}", place.len());
    }
}

#[test]
fn the_seed_and_the_game_alone_decide() {
    let games = games();
    let rules = Rules { per_game: Some(3), ..USUAL };
    let (kept, counts) = extract(rules, &games, 4096);
    for block in [1, 13, games.len()] {
        assert_eq!(extract(rules, &games, block), (kept.clone(), counts));
    }
    assert_ne!(extract(Rules { seed: 2, ..rules }, &games, 4096).0, kept);

    let mut turned: Vec<_> = games.chunk_by(|a, b| a.game == b.game).collect();
    turned.reverse();
    let mut other = extract(rules, &turned.concat(), 4096).0;
    let mut kept = kept;
    for samples in [&mut kept, &mut other] {
        samples.sort_by_key(|sample| (sample.game, sample.ply));
    }
    assert_eq!(kept, other);
}

#[test]
fn what_is_not_known_is_left_out_and_told() {
    let lines = read("data/selfplay_sf151_scored.txt").unwrap();
    let read = lines.len() as u64;
    for rules in [
        Rules { skip_plies: 1, ..ALL },
        Rules { per_game: Some(1), ..ALL },
        Rules { quiet: true, ..ALL },
    ] {
        let (kept, counts) = extract(rules, &lines, 4096);
        assert!(kept.is_empty());
        assert_eq!(counts, Counts { read, unknown: read, ..Counts::default() });
    }
    // A position without a score has no score of a mate.
    let scoreless: Vec<_> = lines.iter().map(|sample| Sample { score: None, ..*sample }).collect();
    assert_eq!(extract(Rules { mates: false, ..ALL }, &scoreless, 4096).0, scoreless);
    assert_eq!(extract(ALL, &lines, 4096).0, lines);
}
