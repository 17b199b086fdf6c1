//! Positions drawn from games.

use nnuance::data::extract::Extract;
use nnuance::sample::Sample;

use crate::data::{Folder, fails, fine};
use crate::formats::read;
use crate::need;

const GAMES: &str = "data/selfplay_sf151_200games.pgn";

fn extract(per_game: usize, seed: u64, samples: &[Sample]) -> Vec<Sample> {
    let (mut extract, mut drawn) = (Extract::new(Some(per_game), seed), Vec::new());
    samples.iter().for_each(|sample| extract.push(sample, &mut drawn));
    extract.finish(&mut drawn);
    assert_eq!(extract.left_out as usize + drawn.len(), samples.len());
    drawn
}

#[test]
fn counts_of_python_chess() {
    // Version 1.11.2.
    let path = "../shared/data/games/fishtest-fastchess.pgn";
    if !need::shared(path) {
        return;
    }
    let folder = Folder::new();
    let rules = ["--skip-plies", "16", "--per-game", "8", "--quiet", "--no-mates"];
    let out = folder.name("out.epd");
    let text = fine(&[&["extract", path, "-o", &out, "--min-pieces", "6"], &rules[..]].concat());
    assert!(text.contains("43,495") && text.contains("2,640") && text.contains("28,904"), "{text}");
    let text = "data/selfplay_sf151_scored.txt";
    for rule in [&["--per-game", "5"][..], &["--quiet"]] {
        fails(&[&["extract", text, "-o", &out, "--overwrite"], rule].concat());
    }
}

#[test]
fn draws_spread_over_the_game() {
    let games = read(GAMES).unwrap();
    let drawn = extract(8, 1, &games);
    for (all, drawn) in
        games.chunk_by(|a, b| a.game == b.game).zip(drawn.chunk_by(|a, b| a.game == b.game))
    {
        assert_eq!((all[0].game, drawn.len()), (drawn[0].game, all.len().min(8)));
        // One from each eighth of the game.
        for (i, sample) in drawn.iter().enumerate() {
            let at = all.iter().position(|other| other.ply == sample.ply).unwrap();
            assert!((i * all.len() / 8..(i + 1) * all.len() / 8).contains(&at));
        }
    }
    // Drawn anew for each part of each game.
    let mut places = [const { Vec::new() }; 8];
    for game in drawn.chunk_by(|a, b| a.game == b.game).filter(|game| game.len() == 8) {
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
        let equal = place.iter().zip(&places[0]).filter(|(a, b)| (*a - *b).abs() < 0.05).count();
        assert!(i == 0 || equal < place.len() / 4, "part {i}: {equal} of {}", place.len());
    }
}

#[test]
fn draws_depend_on_seed_and_game() {
    let games = read(GAMES).unwrap();
    let mut drawn = extract(3, 1, &games);
    assert_ne!(extract(3, 2, &games), drawn);
    let mut turned: Vec<_> = games.chunk_by(|a, b| a.game == b.game).collect();
    turned.reverse();
    let mut other = extract(3, 1, &turned.concat());
    for samples in [&mut drawn, &mut other] {
        samples.sort_by_key(|sample| (sample.game, sample.ply));
    }
    assert_eq!(drawn, other);
}
