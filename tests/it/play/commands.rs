//! `nnuance data label` and `selfplay`.

use crate::support::fake_engine::*;
use crate::support::kit::*;

fn data(folder: &Workdir, words: &str) -> Command {
    let mut command = folder.command(&format!("data {words}"));
    with_fake(&mut command).args(["--engines", "2"]);
    command
}

fn done(mut command: Command) -> String {
    let [out, _] = said(&mut command);
    out
}

#[test]
fn label_from_the_command_line() {
    let (folder, _, samples) = folder_of_positions(120);
    let words = "label in.txt --nodes 100 -o out.txt";
    let said = done(data(&folder, words));
    assert_eq!(said, "120 positions done: 120 written, 0 skipped: out.txt\n");
    let output = folder.path("out.txt");
    let expected = all_labelled(&samples);
    assert_eq!(read(&output), expected);
    assert!(!path_of(&output).exists());

    // A finished file is replaced on request only.
    assert!(complaint(&mut data(&folder, words)).contains("--overwrite"));
    let mut other = data(&folder, words);
    other.args(["--overwrite", "--option", "Crash=17"]);
    let said = done(other);
    let bad = 120 - read(&output).len();
    assert!(bad > 2, "{said}");
    let remarks = format!("{} written, {bad} skipped", 120 - bad);
    assert!(said.contains(&remarks) && said.contains("exit status: 3"), "{said}");
}

#[test]
fn openings_and_rules_of_games() {
    let folder = Workdir::empty();
    let play = |name: &str, words: &str| {
        let words = format!("selfplay --games 12 --nodes 100 --max-plies 20 -o {name} {words}");
        let said = done(data(&folder, words.trim_end()));
        assert_eq!(said, format!("12 games done: 12 written, 0 skipped: {name}\n"));
        games_of(&folder.path(name))
    };
    let usual = play("usual.vf", "");
    let plies: HashSet<_> = usual.iter().map(|game| game[0].ply.unwrap()).collect();
    assert_eq!(plies, HashSet::from([8, 9]));
    assert!(usual.iter().all(|game| game.len() <= 20));

    let short = play("short.vf", "--random-plies 3 --bound 30 --chess960 double --seed 2");
    let near = |game: &[Sample]| game[0].score.is_some_and(|score| score.abs() <= 30);
    assert!(short.iter().all(|game| game[0].ply == Some(3) && near(game)));
    let won = play("won.vf", "--win-score 1 --win-plies 1 --chess960 single --random-plies 0");
    // The fake engine's scores are hardly ever 0, so that every game is won at its first move.
    assert!(won.iter().filter(|game| game.len() == 1 && game[0].result != 0.5).count() > 10);
    let castles =
        won.iter().all(|game| game[0].position.pieces().filter(|m| m.castles).count() == 4);
    assert!(castles);
    let level =
        play("level.vf", "--draw-score 301 --draw-plies 2 --draw-from 12 --random-plies 8..8");
    assert!(level.iter().all(|game| game.len() == 4 && game[0].result == 0.5));
}

#[test]
fn killed_or_interrupted_and_resumed() {
    let folder = Workdir::empty();
    let words = "selfplay --games 400 --nodes 100 --max-plies 15 --win-score 32000 -o";
    done(data(&folder, &format!("{words} whole.vf")));
    let again = || data(&folder, &format!("{words} parts.vf"));
    let journal = path_of(&folder.path("parts.vf"));
    let counted = || fs::read_to_string(&journal).unwrap_or_default().matches("\"bytes\"").count();
    let (mut stops, mut interrupted) = (0, 0_u32);
    loop {
        let before = counted();
        let mut child = again().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Far enough that a kill loses work.
        while child.try_wait().unwrap().is_none() && counted() < before + 10 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(mix_hash(7, stops) % 20));
        if stops % 2 == 0 || cfg!(not(unix)) {
            // Too late, if it is done.
            let _ = child.kill();
        } else {
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        stops += 1;
        interrupted += u32::from(output.status.code() == Some(130));
        if stops == 6 {
            let [_, remarks] = said(&mut again());
            assert!(remarks.contains("resumed behind "), "{remarks}");
            break;
        }
    }
    assert!(stops >= 2 && (interrupted > 0 || cfg!(not(unix))), "{stops} {interrupted}");
    assert!(folder.bytes("parts.vf") == folder.bytes("whole.vf"));
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn mistakes_leave_nothing_behind() {
    let (folder, ..) = folder_of_positions(20);
    folder.write("bad.txt", "8/8/8/8/8/8/8/8 w - - 0 1 | 0 | 1.0\n");
    for (words, word) in [
        ("label in.txt -o a.txt", "--nodes"),
        ("label in.txt -o a.txt --nodes 9 --option Hesh=1", "`Hash`?"),
        ("label in.txt -o a.bin --nodes 9", "--to"),
        ("label in.txt -o a.txt.zst --nodes 9", "compress"),
        ("label in.txt -o a.vf --nodes 9", "bulletformat"),
        ("label in.txt -o in.txt --nodes 9 --overwrite", "in.txt"),
        ("label - -o a.txt --nodes 9", "read twice"),
        ("label bad.txt -o a.txt --nodes 9", "bad.txt, line 1"),
        ("selfplay --games 2 -o a.txt --nodes 9", "text"),
        ("selfplay --games 2 -o a.vf --nodes 9 --random-plies 0", "same"),
    ] {
        let said = complaint(&mut data(&folder, words));
        assert!(said.contains(word), "{words}: {said}");
        assert_eq!(folder.names().len(), 2, "{words}");
    }
    let words = "data label in.txt -o a.txt --nodes 9 --engine ./none";
    assert!(complaint(&mut folder.command(words)).contains("./none"));
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn stockfish_by_default() {
    if stockfish().is_none() {
        return;
    }
    let (folder, ..) = folder_of_positions(40);
    for (words, done_words) in [
        ("label in.txt --nodes 500 --hash 1 -o a.epd", "40 positions done: 40 written, 0 skipped"),
        ("selfplay --games 3 --nodes 200 --chess960 double -o a.pgn", "3 games done: 3 written, "),
        ("selfplay --games 2 --movetime 1 --max-plies 30 -o a.vf", "2 games done: 2 written, 0 "),
    ] {
        let said = done(folder.command(&format!("data {words}")));
        assert!(said.starts_with(done_words) && said.contains(" 0 skipped: "), "{said}");
    }
    assert_eq!(games_of(&folder.path("a.pgn")).len(), 3);
}

#[test]
fn engines_that_do_not_start_have_their_cures() {
    let folder = Workdir::empty();
    folder.write("in.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - [1.0]");
    folder.write("mine", "");
    let cure = |engine: &str| {
        let mut label = folder.command("data label in.epd --nodes 5 -o out.epd");
        complaint(label.args(["--engine", engine]))
    };
    let error = cure("nnuance uci material");
    let apart = "--engine nnuance --argument uci --argument material";
    assert!(error.contains(apart) && !error.contains("apt"), "{error}");
    assert!(cure("mine").contains("name it as ./mine"));
    #[cfg(unix)]
    assert!(cure("./mine").contains("make it executable (chmod +x ./mine)"));
    fs::create_dir(folder.path("some")).unwrap();
    let error = cure("some folder/mine");
    assert!(!error.contains("--argument"), "{error}");
    assert!(cure("nofile").contains("apt install stockfish"));
}
