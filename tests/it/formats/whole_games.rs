//! Files of games contain whole games: no tool splits one, in any format.

use std::num::NonZeroU64;

use nnuance::format::{binpack, pgn, plain, viriformat};

use crate::formats::registry::{first, read_bytes, writable, write};
use crate::formats::tools::{data, fails, fine};
use crate::support::kit::*;

pub fn games() -> Vec<Sample> {
    let mut samples = first(GAMES, 1);
    let far = |sample: &Sample| sample.score.is_some_and(|score| score.unsigned_abs() > 31_000);
    let far: HashSet<_> = samples.iter().filter(|it| far(it)).map(|it| it.game).collect();
    samples.retain(|sample| !far.contains(&sample.game));
    samples
}

type Games = HashMap<Option<NonZeroU64>, Vec<u64>>;

fn by_game(samples: &[Sample]) -> Games {
    let mut games = Games::new();
    samples.iter().for_each(|it| games.entry(it.game).or_default().push(it.position.zobrist_key()));
    games
}

#[test]
fn tools_keep_games_whole_or_refuse() {
    let folder = Workdir::empty();
    let all = games();
    let whole = by_game(&all);
    assert!(whole.len() > 15);
    let border = all.iter().position(|it| it.game == all[all.len() / 2].game).unwrap();
    for (name, part) in [("a.vf", &all[..border]), ("b.vf", &all[border..])] {
        fs::write(folder.path(name), write(&viriformat::FORMAT, part).unwrap()).unwrap();
    }
    let (a, b) = (folder.name("a.vf"), folder.name("b.vf"));
    // The tools, and whether they leave positions out of games.
    let tools: [(&[&str], bool); 6] = [
        (&["convert"], false),
        (&["convert", "--skip-unfit"], true),
        (&["filter", "--max-score", "150", "--skip-in-check", "--skip-captures"], true),
        (&["filter", "--per-game", "5"], true),
        (&["dedup"], true),
        (&["sample", "--rest", "", "--share", "0.4"], false),
    ];
    for format in writable().filter(|format| format.facts.scores != Presence::Never) {
        let holds = format.facts.games != Presence::Never;
        for (i, (tool, selects)) in tools.iter().enumerate() {
            let what = format!("{tool:?} to {}", format.name);
            let name = |i: usize| format!("{i}.{}", format.extensions[0]);
            let (out, other) = (folder.name(name(i)), folder.name(name(99)));
            let tool: Vec<&str> =
                tool.iter().map(|it| if it.is_empty() { other.as_str() } else { it }).collect();
            let args = [&tool[..1], &[&a, &b, "-o", &out], &tool[1..]].concat();
            if holds && *selects {
                assert!(fails(&args).contains("holds whole games"), "{what}");
                assert!(!folder.path(name(i)).exists());
                continue;
            }
            fine(&args);
            let mut made = by_game(&folder.samples(&name(i)));
            if tool[0] == "sample" {
                made.extend(by_game(&folder.samples(&name(99))));
            }
            if holds {
                assert!(made.iter().all(|(game, keys)| whole[game] == *keys), "{what}");
            } else {
                assert!(made.keys().all(Option::is_none), "{what}");
            }
            assert!(!made.is_empty(), "{what}");
        }
        let out = folder.name(format!("shuffled.{}", format.extensions[0]));
        let mut shuffle = data(&["shuffle", &folder.name("0.bf"), "-o", &out, "--overwrite"]);
        if format.facts.moves != Presence::Never && format.name != "bulletformat" {
            complaint(&mut shuffle);
        }
    }
    assert!(fails(&["shuffle", &a, "-o", &folder.name("x.bf")]).contains("holds games"));
}

#[test]
fn unknown_games_stay_unknown() {
    let all = games();
    let text = write(&plain::FORMAT, &all).unwrap();
    let blind = read_bytes(&text).unwrap();
    assert!(blind.iter().all(|sample| sample.game.is_none() && sample.played.is_some()));
    for format in [&viriformat::FORMAT, &pgn::FORMAT] {
        assert!(write(format, &blind).unwrap_err().contains("unknown"), "{}", format.name);
    }
    let back = read_bytes(&write(&binpack::FORMAT, &blind).unwrap()).unwrap();
    assert!(back.len() == blind.len() && back.iter().all(|sample| sample.game.is_none()));
}
