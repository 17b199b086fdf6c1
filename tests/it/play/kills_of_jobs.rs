//! Jobs with engines that are stopped, killed and resumed.

use std::cell::Cell;
use std::io::Write as _;

use nnuance::engine::journal::{JobProgress, Journal};
use nnuance::engine::opening::{Openings, StartPosition};
use nnuance::engine::{
    JobReport, PositionsJob, SelfplayJob, SkippedItem, label_positions, play_games,
};
use nnuance::format::{binpack, bulletformat, epd, pgn, viriformat};

use crate::support::fake_engine::*;
use crate::support::kit::*;

const GAMES: [&Format; 3] = [&viriformat::FORMAT, &pgn::FORMAT, &binpack::FORMAT];

/// Runs a job again and again until it is done, each time stopped after less than `most` items,
/// with the traces of a kill: bytes beyond the last entry of the journal, and a torn entry.
fn interrupted(
    output: &Path,
    most: u64,
    run: &dyn Fn(&dyn nnuance::progress::Progress) -> JobReport,
) -> u64 {
    for i in 0.. {
        assert!(i < 100, "the job does not move on");
        let report = run(&StopAfter::new(mix_hash(most, i) % most));
        if !report.stopped {
            return i;
        }
        let random = mix_hash(most, 1000 + i);
        let junk: Vec<u8> = (0..random % 300).map(|k| mix_hash(random, k) as u8).collect();
        fs::OpenOptions::new().append(true).open(output).unwrap().write_all(&junk).unwrap();
        let torn = br#"{"items":999,"written":999,"bytes":9,"notes":[]}"#;
        let torn = &torn[..random as usize % (1 + torn.len())];
        let journal = path_of(output);
        fs::OpenOptions::new().append(true).open(journal).unwrap().write_all(torn).unwrap();
    }
    unreachable!()
}

#[test]
fn stopped_jobs_give_the_same_file() {
    let (folder, lines, _) = folder_of_positions(400);
    let engine = || fake(&[("Crash", "37".into())]);
    let rarely = || fake(&[("Crash", "150".into())]);
    let same = |whole: &Path, parts: &Path| {
        assert!(fs::read(whole).unwrap() == fs::read(parts).unwrap(), "{}", parts.display());
        assert!(!path_of(parts).exists());
    };

    let (games, _) = games_in(&folder, 3000);
    for (input, name, format, most) in [
        (&lines, "a.bin", &bulletformat::FORMAT, 160),
        (&lines, "a.epd", &epd::FORMAT, 160),
        (&lines, "a.binpack", &binpack::FORMAT, 160),
        // A stopped game is started again, so a run must be longer than a game.
        (&games, "a.vf", &viriformat::FORMAT, 600),
    ] {
        let whole = label_job(input, &format!("whole-{name}"), format, crew(engine(), 2));
        let report = label_positions(&whole, &Quiet).unwrap();
        assert!(report.skipped.len() > 3);
        let job = PositionsJob { output: folder.path(name), ..whole.clone() };
        let last = Cell::new(Vec::new());
        let runs = interrupted(&job.output, most, &|watch| {
            let report = label_positions(&job, watch).unwrap();
            last.set(report.skipped.clone());
            report
        });
        // How far the engines are ahead of a stop depends on the machine.
        assert!(runs > 1, "{runs}");
        assert_eq!(last.take(), report.skipped);
        same(&whole.output, &job.output);
    }

    for (name, format, start) in [
        ("b.vf", GAMES[0], StartPosition::DoubleChess960),
        ("b.pgn", GAMES[1], StartPosition::DoubleChess960),
        ("b.binpack", GAMES[2], StartPosition::Standard),
    ] {
        let whole =
            selfplay_job(folder.root_path(), &format!("whole-{name}"), format, crew(rarely(), 2));
        let openings = Openings { start, ..whole.openings };
        let whole = SelfplayJob { games: 90, range: 0..90, openings, ..whole };
        let report = play_games(&whole, &Quiet).unwrap();
        let job = SelfplayJob { output: folder.path(name), ..whole.clone() };
        let runs = interrupted(&job.output, 30, &|watch| play_games(&job, watch).unwrap());
        assert!(runs > 1 && report.written > 9, "{runs} {}", report.written);
        same(&whole.output, &job.output);
    }
}

#[test]
fn journal_cut_anywhere() {
    let folder = Workdir::empty();
    let output = folder.path("out");
    let settings = [("job", "test".to_string()), ("seed", "1".to_string())];
    let mut journal = Journal::<SkippedItem>::open_job(&output, &settings).unwrap();
    let path = path_of(&output);
    let head = fs::read(&path).unwrap().len();
    let skip = |item| SkippedItem { item, fen: "8/8 w - - 0 1".into(), reason: "a | b\nc".into() };
    for batch in 1..=5u64 {
        let progress = JobProgress { items: 3 * batch, written: 2 * batch, bytes: 0 };
        journal.commit_batch(&[batch as u8; 7], progress, &[skip(3 * batch)]).unwrap();
    }
    assert!(matches!(
        Journal::<SkippedItem>::open_job(&output, &settings),
        Err(nnuance::engine::JournalError::Busy(_))
    ));
    drop(journal);
    let (whole, bytes) = (fs::read(&path).unwrap(), fs::read(&output).unwrap());
    assert_eq!(bytes.len(), 35);
    for length in head..=whole.len() {
        let lines = whole[head..length].split_inclusive(|&byte| byte == b'\n');
        let done = lines.filter(|line| line.ends_with(b"\n")).count();
        fs::write(&path, &whole[..length]).unwrap();
        fs::write(&output, [&bytes[..7 * done], &[255; 9][..length % 9]].concat()).unwrap();
        let journal = Journal::<SkippedItem>::open_job(&output, &settings).unwrap();
        let progress = journal.progress;
        let done64 = done as u64;
        let expected = JobProgress { items: 3 * done64, written: 2 * done64, bytes: 7 * done64 };
        assert_eq!(progress, expected);
        assert_eq!(journal.notes.len(), done);
        assert!(journal.notes.iter().all(|skip| skip.reason == "a | b\nc"));
        drop(journal);
        assert_eq!(fs::read(&output).unwrap(), bytes[..7 * done]);
        assert!(whole.starts_with(&fs::read(&path).unwrap()));
    }
    // Garbage of a power cut in the middle of the journal: all before it counts.
    let mut garbled = whole.clone();
    garbled[head + 60..].fill(0);
    fs::write(&path, &garbled).unwrap();
    fs::write(&output, &bytes).unwrap();
    assert_eq!(Journal::<SkippedItem>::open_job(&output, &settings).unwrap().progress.items % 3, 0);

    let refused = |settings: &[(&str, String)], word: &str| {
        let error = Journal::<SkippedItem>::open_job(&output, settings).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    fs::write(&path, &whole).unwrap();
    fs::write(&output, &bytes[..34]).unwrap();
    refused(&settings, "35 bytes");
    fs::write(&output, &bytes).unwrap();
    refused(&[settings[0].clone(), ("seed", "2".to_string())], "seed");
    refused(&settings[..1], "");
    fs::write(&path, "something else\n").unwrap();
    refused(&settings, "journal");
    fs::remove_file(&path).unwrap();
    refused(&settings, "exists");
    assert_eq!(fs::read(&output).unwrap(), bytes);
    assert!(Journal::<SkippedItem>::open_job(&folder.path("out.vf.zst"), &settings).is_err());
}
