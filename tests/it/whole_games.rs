//! Games stay games: what was one game is never read back as several, whatever was done to it.

use std::collections::{HashMap, HashSet};
use std::io::Cursor;
use std::num::NonZeroU64;
use std::path::Path;

use nnuance::format::{Format, Holds, Sink, binpack, pgn, plain, viriformat};
use nnuance::loader::Filter;
use nnuance::sample::Sample;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use sfbinpack::CompressedTrainingDataEntryReader;

use crate::data::{Folder, data, fails, fine};
use crate::formats::{open, read, read_bytes, writable, write};

const GAMES: &str = "data/selfplay-sf15.vf";
const NOTATED: &str = "data/selfplay_sf151_200games.pgn";

/// Some whole games of self-play, whose scores all formats can hold.
pub fn games() -> Vec<Sample> {
    let mut samples = Vec::new();
    open(Path::new(GAMES)).unwrap().next_block(&mut samples).unwrap();
    let far = |sample: &Sample| sample.score.is_some_and(|score| score.unsigned_abs() > 31_000);
    let far: HashSet<_> = samples.iter().filter(|it| far(it)).map(|it| it.game).collect();
    samples.retain(|sample| !far.contains(&sample.game));
    samples
}

fn count(samples: &[Sample]) -> usize {
    samples.iter().map(|sample| sample.game).collect::<HashSet<_>>().len()
}

/// Formats that can hold games: how they mark what was left out of them.
fn of_games() -> [&'static Format; 3] {
    [&viriformat::FORMAT, &pgn::FORMAT, &binpack::FORMAT]
}

/// By game and position, for asking which game a position was of.
struct Origin(HashMap<NonZeroU64, HashSet<u64>>);

impl Origin {
    fn of(samples: &[Sample]) -> Self {
        let mut games: HashMap<_, HashSet<u64>> = HashMap::new();
        for sample in samples {
            games.entry(sample.game.unwrap()).or_default().insert(sample.position.key());
        }
        Self(games)
    }

    /// The law: every position is of the game that it came from, or no position is of any.
    /// Whether games are known.
    fn holds(&self, made: &[Sample], what: &str) -> bool {
        assert!(!made.is_empty(), "{what}: nothing is there");
        if made.iter().all(|sample| sample.game.is_none()) {
            return false;
        }
        for sample in made {
            let game = sample.game.unwrap_or_else(|| panic!("{what}: some games are unknown"));
            let positions = self.0.get(&game).unwrap_or_else(|| panic!("{what}: a new game"));
            assert!(positions.contains(&sample.position.key()), "{what}: of another game");
        }
        true
    }
}

/// Two files of games, and all their positions.
fn two_files(folder: &Folder) -> (Vec<Sample>, String, String) {
    let games = games();
    assert!(count(&games) > 15);
    let middle = games[games.len() / 2].game;
    let border = games.iter().position(|sample| sample.game == middle).unwrap();
    for (name, part) in [("a.vf", &games[..border]), ("b.vf", &games[border..])] {
        std::fs::write(folder.path(name), write(&viriformat::FORMAT, part).unwrap()).unwrap();
    }
    (games, folder.name("a.vf"), folder.name("b.vf"))
}

#[test]
fn no_tool_makes_several_games_of_one_in_any_format() {
    let folder = Folder::new();
    let (games, a, b) = two_files(&folder);
    let origin = Origin::of(&games);
    // The tools, and whether they leave positions out of games.
    let tools: [(&[&str], bool); 8] = [
        (&["convert"], false),
        (&["convert", "--skip-unfit"], true),
        (&["filter", "--max-score", "150", "--skip-in-check", "--skip-captures"], true),
        (&["sample", "--share", "0.3"], true),
        (&["sample", "--share", "0.6", "--games"], false),
        (&["dedup"], true),
        (&["interleave"], false),
        (&["extract", "--quiet", "--per-game", "5"], true),
    ];
    let mut known = 0;
    for format in writable() {
        for (i, (tool, gaps)) in tools.iter().enumerate() {
            let what = format!("{tool:?} to {}", format.name);
            let name = format!("{i}.{}", format.extensions[0]);
            let out = folder.name(&name);
            let ran = data(&[&tool[..1], &[&a, &b, "-o", &out], &tool[1..]].concat());
            let said = String::from_utf8_lossy(&ran.stderr);
            if !ran.status.success() {
                assert!(said.contains("it has no score"), "{what}: {said}");
                continue;
            }
            let made = folder.samples(&name);
            let expected = match format.name {
                "viriformat" | "pgn" => true,
                "binpack" => !gaps,
                _ => false,
            };
            assert_eq!(origin.holds(&made, &what), expected, "{what}");
            // It is said, and as many positions are there as is said.
            assert_eq!(said.contains("games unknown"), !expected, "{what}: {said}");
            let told = String::from_utf8_lossy(&ran.stdout).replace(',', "");
            assert!(told.contains(&format!("{} written", made.len())), "{what}: {told}");
            known += usize::from(expected);
        }
        // Two outputs.
        let what = format!("split to {}", format.name);
        let name = |part: &str| format!("{part}.{}", format.extensions[0]);
        let outs = ["train", "held"].map(|part| folder.name(&name(part)));
        fine(&["split", &a, &b, "-o", &outs[0], "--held-out", &outs[1], "--share", "0.4"]);
        let (train, held) = (folder.samples(&name("train")), folder.samples(&name("held")));
        assert_eq!(train.len() + held.len(), games.len());
        let holds = format.facts.games != Holds::Never;
        assert_eq!(origin.holds(&train, &what), holds, "{what}");
        assert_eq!(origin.holds(&held, &what), holds, "{what}");
    }
    assert_eq!(known, 2 * 8 + 3);
    // What shuffling would tear apart is refused; what knows no games stays so.
    let text = folder.name("0.bf");
    for format in writable() {
        let name = format!("shuffled.{}", format.extensions[0]);
        let ran = data(&["shuffle", &text, "-o", &folder.name(&name)]);
        assert_eq!(ran.status.success(), format.facts.moves == Holds::Never, "{}", format.name);
        if ran.status.success() {
            assert!(!origin.holds(&folder.samples(&name), &name));
        }
        assert!(fails(&["shuffle", &a, "-o", &folder.name("x.bf")]).contains("holds games"));
    }
}

#[test]
fn what_is_left_out_is_marked_and_stays_so_through_every_format() {
    let folder = Folder::new();
    let (games, a, b) = two_files(&folder);
    let origin = Origin::of(&games);
    let filter = Filter { max_score: Some(150), skip_captures: true, ..Filter::default() };
    let mut expected = games.clone();
    expected.retain(|sample| filter.rejects(sample).is_none());
    // Games of which nothing is kept are not there.
    let kept: HashSet<_> = expected.iter().map(|sample| sample.game).collect();
    let mut whole = games.clone();
    whole.retain(|sample| kept.contains(&sample.game));
    assert!(expected.len() < whole.len() && kept.len() > 15, "{} {}", expected.len(), kept.len());
    let quiet = folder.name("quiet.vf");
    fine(&["filter", &a, &b, "-o", &quiet, "--max-score", "150", "--skip-captures"]);
    assert!(folder.samples("quiet.vf") == expected, "the filter is not that of training");

    // The marks are the only change: whoever writes the games anew has them again.
    let mut source = open(Path::new(&quiet)).unwrap().whole_games();
    let mut all = Vec::new();
    while source.next_block(&mut all).unwrap() {}
    assert_eq!(source.left_out() as usize, whole.len() - expected.len());
    let unmarked = |sample: &Sample| Sample { score: Some(0), ..*sample };
    assert!(all.iter().map(unmarked).eq(whole.iter().map(unmarked)));

    let json: serde_json::Value =
        serde_json::from_str(&fine(&["stats", &quiet, "--json"])).unwrap();
    assert_eq!(json["positions"], expected.len());
    assert_eq!(json["games"], kept.len());
    assert_eq!(json["left_out"], whole.len() - expected.len());
    assert!(fine(&["stats", &quiet]).contains("marked as left out"));

    for format in writable() {
        let (there, back) = (format!("there.{}", format.extensions[0]), "back.vf");
        let out = folder.name(&there);
        let ran = data(&["convert", &quiet, "-o", &out]);
        assert!(ran.status.success());
        let said = String::from_utf8_lossy(&ran.stderr);
        let made = folder.samples(&there);
        assert_eq!(made.len(), expected.len(), "{}", format.name);
        let known = origin.holds(&made, format.name);
        assert_eq!(known, ["viriformat", "pgn"].contains(&format.name));
        assert_eq!(said.contains("games unknown"), !known, "{said}");
        if format.facts.moves != Holds::Never {
            fine(&["convert", &out, "-o", &folder.name(back), "--overwrite"]);
            let back = folder.samples(back);
            assert_eq!(origin.holds(&back, format.name), known);
            assert_eq!(back.len(), expected.len());
            if known {
                assert!(folder.bytes("back.vf") == folder.bytes("quiet.vf"), "{}", format.name);
            }
        }
    }
    // A file of marks and one without: where one cannot be kept, none is.
    for format in writable() {
        let (name, what) = (format!("both.{}", format.extensions[0]), format.name);
        fine(&["interleave", &a, &quiet, "-o", &folder.name(&name)]);
        let both = folder.samples(&name);
        assert_eq!(origin.holds(&both, what), ["viriformat", "pgn"].contains(&what));
        assert!(both.len() > expected.len());
    }
    let json: serde_json::Value =
        serde_json::from_str(&fine(&["stats", &folder.name("both.vf"), "--json"])).unwrap();
    assert!(json["games"].as_u64().unwrap() as usize <= count(&games), "a game counts twice");
    // A second filter adds its marks; games of which nothing is kept go.
    let few = folder.name("few.vf");
    fine(&["filter", &quiet, "-o", &few, "--max-men", "8"]);
    expected.retain(|sample| sample.position.count() <= 8);
    assert!(folder.samples("few.vf") == expected);
    assert!(count(&expected) < count(&games) && origin.holds(&expected, "few"));
    assert!(folder.bytes("few.vf").len() < folder.bytes("quiet.vf").len());
    // Averages are no results of games.
    let mean = folder.name("mean.vf");
    let ran = data(&["dedup", &a, &b, "-o", &mean, "--keep", "average"]);
    if ran.status.success() {
        assert!(!origin.holds(&folder.samples("mean.vf"), "averages"));
        assert!(String::from_utf8_lossy(&ran.stderr).contains("games unknown"));
    }
}

#[test]
fn positions_without_a_score_are_marked_where_games_are_to_have_scores() {
    let folder = Folder::new();
    let games = read(NOTATED).unwrap();
    let scored = games.iter().filter(|sample| sample.score.is_some()).count();
    assert!(scored < games.len() && scored > 20_000);
    let out = folder.name("games.vf");
    assert!(fails(&["convert", NOTATED, "-o", &out]).contains("--skip-unfit"));
    fine(&["convert", NOTATED, "-o", &out, "--skip-unfit"]);
    let made = folder.samples("games.vf");
    assert_eq!((made.len(), count(&made)), (scored, 200));
    assert!(Origin::of(&games).holds(&made, "book moves"));
}

/// Any part of games, handed to a writer without a word of what is missing.
#[test]
fn writers_alone_never_write_part_of_a_game_as_one() {
    let games = games();
    let origin = Origin::of(&games);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for format in of_games() {
        let (mut whole, mut parts) = (0, 0);
        for share in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let some: Vec<_> =
                games.iter().copied().filter(|_| random.random_bool(share)).collect();
            let made = read_bytes(&write(format, &some).unwrap()).unwrap();
            assert_eq!(made.len(), some.len());
            for (made, sample) in made.iter().zip(&some) {
                assert!(made.game.is_none() || made.game == sample.game, "{}", format.name);
                *if made.game.is_some() { &mut whole } else { &mut parts } += 1;
            }
            assert!(made.iter().filter(|sample| sample.game.is_some()).all(|sample| {
                let all = |of: &[Sample]| of.iter().filter(|it| it.game == sample.game).count();
                all(&made) == all(&games)
            }));
        }
        assert!(whole > 1000 && parts > 5000, "{}: {whole} and {parts}", format.name);
        // What knows no games does not learn of any.
        let blind: Vec<_> = games.iter().map(|it| Sample { game: None, ..*it }).collect();
        let made = read_bytes(&write(format, &blind).unwrap()).unwrap();
        assert!(made.len() == games.len() && made.iter().all(|it| it.game.is_none()));
        let again = write(format, &made).unwrap();
        assert!(again == write(format, &blind).unwrap(), "{}", format.name);
        // Games that are there twice, or in another order, are what they were.
        let mut turned: Vec<&[Sample]> = games.chunk_by(|a, b| a.game == b.game).collect();
        turned.reverse();
        turned.push(turned[3]);
        turned.push(turned[3]);
        let turned = turned.concat();
        let made = read_bytes(&write(format, &turned).unwrap()).unwrap();
        assert!(made.iter().map(|it| it.game).eq(turned.iter().map(|it| it.game)));
        assert!(origin.holds(&made, format.name));
    }
}

#[test]
fn plain_text_does_not_become_games() {
    let folder = Folder::new();
    let games = games();
    let some: Vec<_> = games.iter().copied().filter(|it| it.position.count() > 20).collect();
    let path = folder.path("a.plain");
    std::fs::write(path, write(&plain::FORMAT, &some).unwrap()).unwrap();
    for format in of_games() {
        let name = format!("out.{}", format.extensions[0]);
        fine(&["convert", &folder.name("a.plain"), "-o", &folder.name(&name)]);
        let made = folder.samples(&name);
        assert_eq!(made.len(), some.len());
        assert!(made.iter().all(|sample| sample.game.is_none()), "{}", format.name);
    }
}

#[test]
fn other_readers_of_binpacks_take_chunks_of_unknown_games() {
    let games = games();
    let torn: Vec<_> = games.iter().copied().filter(|it| it.position.count() != 20).collect();
    let mut two = torn.clone();
    two.extend(&games);
    for samples in [&torn, &two] {
        let bytes = write(&binpack::FORMAT, samples).unwrap();
        assert!(bytes.windows(13).any(|part| part == b"games unknown"));
        let mut theirs = CompressedTrainingDataEntryReader::new(Cursor::new(&bytes[..])).unwrap();
        for sample in samples {
            let entry = theirs.next();
            assert_eq!(Some(entry.score), sample.score);
            assert_eq!(Some(entry.ply), sample.ply);
        }
        assert!(!theirs.has_next());
    }
    // Cut within a chunk, nobody can tell whether its games are whole.
    let bytes = write(&binpack::FORMAT, &torn).unwrap();
    let cut = &bytes[..bytes.len() - 5];
    let (samples, faults) = crate::formats::exhaust(&binpack::FORMAT, cut);
    assert!(faults == 1 && samples.len() == torn.len());
    assert!(samples.last().unwrap().game.is_none());
}

#[test]
fn marks_are_told_by_the_sink() {
    let folder = Folder::new();
    let games = games();
    let origin = Origin::of(&games);
    for format in of_games() {
        let name = format!("out.{}", format.extensions[0]);
        let mut sink = Sink::create(&folder.path(&name), format).unwrap();
        let first = games[0].game;
        for (i, sample) in games.iter().enumerate() {
            // Nothing of the first game, every second position of the others.
            let out = sample.game == first || i % 2 == 0;
            if out { sink.leave_out(sample) } else { sink.write(sample) }.unwrap();
        }
        let finished = sink.finish().unwrap();
        let made = folder.samples(&name);
        assert_eq!(finished.positions, made.len() as u64);
        let of_first = games.iter().filter(|sample| sample.game == first).count();
        let marks = format.name != "binpack";
        let marked = (games.len() - of_first - made.len()) as u64;
        assert_eq!(finished.told.marked, if marks { marked } else { 0 });
        assert_eq!(finished.told.games_lost, !marks);
        assert_eq!(origin.holds(&made, format.name), marks);
        assert!(!made.iter().any(|sample| sample.game == first));
    }
}
