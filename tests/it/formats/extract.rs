//! Positions drawn from games.

use nnuance::data::extract::Extract;

use crate::formats::registry::read;
use crate::formats::tools::{fails, fine};
use crate::support::kit::*;

fn extract(per_game: usize, seed: u64, samples: &[Sample]) -> Vec<Sample> {
    let (mut extract, mut drawn) = (Extract::new(Some(per_game), seed), Vec::new());
    samples.iter().for_each(|sample| extract.push(sample, &mut drawn));
    extract.finish_game(&mut drawn);
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
    let folder = Workdir::empty();
    let rules = "--min-ply 16 --per-game 8 --skip-in-check --skip-captures --skip-promotions \
                 --max-score 30999 --min-pieces 6";
    let rules: Vec<&str> = rules.split_whitespace().collect();
    let out = folder.name("out.epd");
    let text = fine(&[&["filter", path, "-o", &out], &rules[..]].concat());
    assert!(text.contains("43,495") && text.contains("2,640") && text.contains("28,904"), "{text}");
    for rule in [&["--per-game", "5"][..], &["--skip-captures"]] {
        fails(&[&["filter", SCORED, "-o", &out, "--overwrite"], rule].concat());
    }
}

#[test]
fn draws_spread_over_the_game() {
    let games = read(NOTATED).unwrap();
    let drawn = extract(8, 1, &games);
    let (mut sum, mut count, mut equal, mut first) = ([0.0; 8], 0.0, 0.0, 0.0);
    for (all, drawn) in
        games.chunk_by(|a, b| a.game == b.game).zip(drawn.chunk_by(|a, b| a.game == b.game))
    {
        assert_eq!((all[0].game, drawn.len()), (drawn[0].game, all.len().min(8)));
        count += f64::from(u8::from(drawn.len() == 8));
        // One from each eighth of the game, anywhere within it.
        for (i, sample) in drawn.iter().enumerate() {
            let at = all.iter().position(|other| other.ply == sample.ply).unwrap();
            assert!((i * all.len() / 8..(i + 1) * all.len() / 8).contains(&at));
            let part = (at - i * all.len() / 8) as f64 / (all.len() as f64 / 8.0);
            if drawn.len() == 8 {
                sum[i] += part;
                first = if i == 0 { part } else { first };
                equal += f64::from(u8::from(i > 0 && (part - first).abs() < 0.05));
            }
        }
    }
    assert!(count > 100.0 && sum.iter().all(|it| (0.4..0.6).contains(&(it / count))), "{sum:?}");
    // Drawn separately for each part.
    assert!(equal < 7.0 * count / 4.0, "{equal} of {count} games");
}

#[test]
fn draws_depend_on_seed_and_game() {
    let games = read(NOTATED).unwrap();
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
