//! Data from a given evaluation: `data selfplay` and `label` with `--with`.

use crate::support::fake_engine::*;
use crate::support::kit::*;

fn data(folder: &Workdir, words: &str) -> Command {
    folder.command(&format!("data {words} --with {}", absolute(QUICKSTART)))
}

#[test]
fn same_games_for_any_threads() {
    let folder = Workdir::empty();
    let words = "selfplay --games 12 --soft-nodes 200 --seed 5 --engines";
    said(&mut data(&folder, &format!("{words} 1 -o one.vf")));
    said(&mut data(&folder, &format!("{words} 3 -o three.vf")));
    let whole = folder.bytes("one.vf");
    assert_eq!(folder.bytes("three.vf"), whole);
    let samples = read(&folder.path("one.vf"));
    assert!(samples.len() > 200 && samples.iter().all(|sample| sample.score.is_some()));

    // A kill leaves a journal with fewer games than there are bytes.
    let killed = || data(&folder, &format!("{words} 2 -o killed.vf"));
    let mut child = killed().spawn().unwrap();
    while fs::metadata(folder.path("killed.vf")).map_or(0, |it| it.len()) == 0 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().ok();
    child.wait().unwrap();
    if folder.path("killed.vf.journal").exists() {
        said(&mut killed());
    }
    assert_eq!(folder.bytes("killed.vf"), whole);
}

#[test]
fn labels() {
    let (folder, _, samples) = folder_of_positions(60);
    said(&mut data(&folder, "label in.txt --nodes 300 -o out.txt --engines 2"));
    let labelled = read(&folder.path("out.txt"));
    assert_eq!(labelled.len(), samples.len());
    for (before, after) in samples.iter().zip(&labelled) {
        assert_eq!((before.position, before.result), (after.position, after.result));
    }
    // Mates in one have the score of one.
    let mates = labelled.iter().filter(|sample| {
        let chess = sample.position.to_chess().unwrap();
        let mate = |legal| {
            let mut after = chess.clone();
            after.play_unchecked(legal);
            after.is_checkmate()
        };
        chess.legal_moves().into_iter().any(mate)
    });
    mates.for_each(|sample| assert_eq!(sample.score, Some(31_999), "{}", sample.position.to_fen()));
}

/// Static labels are what `eval` prints, in any order of blocks, and their games stay whole.
#[test]
fn static_labels_equal_eval() {
    let (folder, _, samples) = folder_of_positions(300);
    said(&mut data(&folder, "label in.txt --static -o out.txt"));
    let labelled = read(&folder.path("out.txt"));
    let net = nnuance::export::load_net(QUICKSTART.as_ref()).unwrap().net;
    assert_eq!(labelled.len(), samples.len());
    for (before, after) in samples.iter().zip(&labelled) {
        let score = i16::try_from(net.evaluate_slowly(&before.position)).ok();
        assert_eq!((after.position, after.score), (before.position, score));
    }
    said(&mut data(&folder, &format!("label {} --static -o games.vf.zst", absolute(GAMES))));
    let (before, after) = (read(GAMES.as_ref()), read(&folder.path("games.vf.zst")));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        let score = i16::try_from(net.evaluate(&before.position)).ok();
        assert_eq!(*after, Sample { score, ..*before });
    }
    let why = complaint(&mut folder.command("data label in.txt --static -o other.txt"));
    assert!(why.contains("--with") && !folder.path("other.txt").exists(), "{why}");
}
