//! Data from one's own evaluation: `data selfplay`, `label` and `resolve` with `--with`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use nnuance::sample::Position;
use shakmaty::Position as _;

use crate::engine::*;

const NET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/nets/quickstart-32.bin");

fn data(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.current_dir(folder).arg("data").args(words.split(' ')).args(["--with", NET]);
    command.output().unwrap()
}

fn done(folder: &Path, words: &str) -> String {
    let output = data(folder, words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn games_are_the_same_with_any_number_of_players_and_after_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let words = "selfplay --games 12 --soft-nodes 200 --seed 5 --engines";
    let said = done(folder.path(), &format!("{words} 1 -o one.vf"));
    assert!(said.starts_with("12 games done: 12 written"), "{said}");
    done(folder.path(), &format!("{words} 3 -o three.vf"));
    let whole = fs::read(path("one.vf")).unwrap();
    assert_eq!(fs::read(path("three.vf")).unwrap(), whole);
    let samples = read(&path("one.vf"));
    assert!(samples.len() > 200 && samples.iter().all(|sample| sample.score.is_some()));

    // A journal that knows of fewer games than there are bytes is what a kill leaves.
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    let killed = format!("data {words} 2 -o killed.vf --with {NET}");
    let mut child = command.current_dir(folder.path()).args(killed.split(' ')).spawn().unwrap();
    while fs::metadata(path("killed.vf")).map_or(0, |it| it.len()) == 0 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().ok();
    child.wait().unwrap();
    if path("killed.vf.journal").exists() {
        done(folder.path(), &format!("{words} 2 -o killed.vf"));
    }
    assert_eq!(fs::read(path("killed.vf")).unwrap(), whole);
}

#[test]
fn labels_are_scores_of_the_search_and_resolved_positions_are_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let (_, samples) = positions_in(folder.path(), 60);
    done(folder.path(), "label in.txt --nodes 300 -o out.txt --engines 2");
    let labelled = read(&folder.path().join("out.txt"));
    assert_eq!(labelled.len(), samples.len());
    for (before, after) in samples.iter().zip(&labelled) {
        assert_eq!((before.position, before.result), (after.position, after.result));
    }
    // What is mate in one is seen as such.
    let mates = labelled.iter().filter(|sample| {
        let chess = sample.position.to_chess().unwrap();
        let mate = |legal| {
            let mut after = chess.clone();
            after.play_unchecked(legal);
            after.is_checkmate()
        };
        chess.legal_moves().into_iter().any(mate)
    });
    mates.for_each(|sample| assert_eq!(sample.score, Some(31_999), "{}", sample.position.fen()));

    done(folder.path(), "resolve in.txt --depth 3 -o quiet.txt");
    let resolved = read(&folder.path().join("quiet.txt"));
    assert!(!resolved.is_empty() && resolved.len() <= samples.len());
    let quiet = |position: Position| !position.to_chess().unwrap().is_check();
    assert!(resolved.iter().all(|sample| quiet(sample.position)));
}

#[test]
fn what_cannot_make_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    positions_in(folder.path(), 3);
    let refused = |with: &str, words: &str, why: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
        command.current_dir(folder.path()).arg("data").args(words.split(' '));
        if !with.is_empty() {
            command.args(["--with", with]);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{words} with {with}: {said}");
        assert!(!folder.path().join("out.txt").exists());
    };
    refused("score", "label in.txt --nodes 9 -o out.txt", "score");
    refused("no/such.bin", "label in.txt --nodes 9 -o out.txt", "no/such.bin");
    refused(NET, "label in.txt --nodes 9 -o out.txt --engine x", "cannot be used with");
    refused(NET, "label in.txt --nodes 9 --soft-nodes 10 -o out.txt", "--soft-nodes 10");
    refused("", "label in.txt --soft-nodes 10 -o out.txt", "--with");
    refused(NET, "label in.txt -o out.txt", "required");
}
