//! Games and positions that are spread over ranks, which are threads of this process: everything but
//! what carries their letters.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nnuance::engine::adjudicate::Adjudication;
use nnuance::engine::journal::Journal;
use nnuance::engine::opening::Openings;
use nnuance::engine::post::Post;
use nnuance::engine::search::Searched;
use nnuance::engine::uci::Line;
use nnuance::engine::{
    Crew, EngineError, EngineSettings, Entrant, Fault, LabelJob, Limit, Player, Report, ResolveJob,
    SelfplayJob, Watch, label, resolve, selfplay,
};
use nnuance::format::{epd, pedantic, pgn, viriformat};
use nnuance::run::arena::{Manner, Pace, Recorder, play};

use crate::engine::*;

#[derive(Debug)]
struct Letters {
    rank: usize,
    to: Vec<Sender<(usize, Vec<u8>)>>,
    come: Mutex<Receiver<(usize, Vec<u8>)>>,
}

impl Post for Letters {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank}")
    }

    fn send(&self, to: usize, letter: Vec<u8>) {
        self.to[to].send((self.rank, letter)).expect("nobody leaves before the end");
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        self.come.lock().unwrap().recv_timeout(Duration::from_secs(100)).ok()
    }
}

/// What each rank makes of `work`, in their order. One alone has no post.
fn each<T: Send>(size: usize, work: impl Fn(usize, Option<Arc<dyn Post>>) -> T + Sync) -> Vec<T> {
    let (to, come): (Vec<_>, Vec<_>) = (0..size).map(|_| channel()).unzip();
    let post = |(rank, come)| {
        let letters = Letters { rank, to: to.clone(), come: Mutex::new(come) };
        (rank, Arc::new(letters) as Arc<dyn Post>)
    };
    let posts: Vec<_> = come.into_iter().enumerate().map(post).collect();
    thread::scope(|scope| {
        let threads = posts.iter().map(|(rank, post)| {
            let (work, post) = (&work, (size > 1).then(|| post.clone()));
            scope.spawn(move || work(*rank, post))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank")).collect()
    })
}

/// What rank 0 says of a job; the others have nothing to say.
fn first<T: Debug>(all: Vec<Result<T, EngineError>>) -> Result<T, EngineError> {
    let mut all = all.into_iter();
    let first = all.next().expect("rank 0");
    for other in all {
        assert!(other.is_ok(), "{other:?}, and rank 0: {first:?}");
    }
    first
}

type Job<'a> = &'a (dyn Fn(Crew, &Path, &dyn Watch) -> Result<Report, EngineError> + Sync);

fn on_ranks(size: usize, engine: &EngineSettings, out: &Path, job: Job, most: u64) -> Report {
    let each = each(size, |_, post| {
        let crew = Crew { post, ..crew(engine.clone(), 2) };
        job(crew, out, &StopAfter::new(most))
    });
    first(each).unwrap()
}

/// Engines that crash now and then included: the bytes, what is skipped, and how many had to be
/// started anew are those of one process; also if the job is stopped and goes on with another number.
#[test]
fn any_number_of_ranks_makes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (positions, _) = positions_in(folder.path(), 300);
    let (games, _) = games_in(folder.path(), 8000);
    let labels = |input: PathBuf, format| {
        move |crew: Crew, out: &Path, watch: &dyn Watch| {
            let job = label_job(&input, "", format, crew);
            label(&LabelJob { output: out.to_path_buf(), ..job }, watch)
        }
    };
    let resolves = |crew: Crew, out: &Path, watch: &dyn Watch| {
        let (input, output) = (positions.clone(), out.to_path_buf());
        let (format, limit) = (&pedantic::FORMAT, Limit::Depth(4));
        resolve(&ResolveJob { input, output, format, limit, crew, bad_records: 0 }, watch)
    };
    let plays = |crew: Crew, out: &Path, watch: &dyn Watch| {
        let job = selfplay_job(Path::new(""), "", &viriformat::FORMAT, crew);
        selfplay(&SelfplayJob { games: 60, output: out.to_path_buf(), ..job }, watch)
    };
    let (text, whole_games) =
        (labels(positions.clone(), &epd::FORMAT), labels(games.clone(), &viriformat::FORMAT));
    let jobs: [(&str, &str, u64, Job); 4] = [
        ("label.epd", "37", 90, &text),
        // A game that is stopped is begun anew, so a run must be longer than a game.
        ("label.vf", "37", 250, &whole_games),
        ("resolve.csv", "37", 90, &resolves),
        ("selfplay.vf", "150", 15, &plays),
    ];
    for (name, crash, most, job) in jobs {
        let engine = fake(&[("Crash", crash.into())]);
        let out = |size: &str| folder.path().join(format!("{size}-{name}"));
        let one = on_ranks(1, &engine, &out("one"), job, u64::MAX - 1);
        assert!(one.written > 20 && !one.skipped.is_empty(), "{name}: {one:?}");
        let wanted = fs::read(out("one")).unwrap();
        for size in [2, 3] {
            let here = out(&size.to_string());
            let report = on_ranks(size, &engine, &here, job, u64::MAX - 1);
            assert!(fs::read(&here).unwrap() == wanted, "{name}, {size} ranks");
            assert_eq!(report.skipped, one.skipped, "{name}, {size} ranks");
            assert_eq!((report.written, report.restarts), (one.written, one.restarts));
            assert!(!Journal::path_of(&here).exists());
        }
        let parts = out("parts");
        let run = |run: &usize| on_ranks(1 + (run + 2) % 3, &engine, &parts, job, most).stopped;
        // On a busy machine all may be done before the first ones are there and count.
        let stopped = (0..10).any(|_| {
            let runs = (0..20).take_while(run).count();
            assert!(runs < 20, "{name}: never done");
            let is_same = fs::read(&parts).unwrap() == wanted;
            assert!(is_same, "{name}, in {runs} parts");
            fs::remove_file(&parts).unwrap();
            runs > 0
        });
        assert!(stopped, "{name}");
    }
}

/// Failures of a player are told of games that were played elsewhere, too.
#[test]
fn a_match_is_the_same_on_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let out = |size: usize| folder.path().join(format!("{size}.pgn"));
    let matched = |size: usize| {
        let each = each(size, |_, post| {
            let programs = [fake(&[]), fake(&[("Crash", "97".into())])];
            let players = programs.map(|it| Box::new(it) as Box<dyn Entrant>);
            let manner = Manner {
                pace: Pace::Move(Limit::Nodes(60)),
                openings: Openings::default(),
                adjudication: Adjudication { max_plies: 40, ..Adjudication::default() },
                seed: 3,
                boards: 2,
                post: post.clone(),
            };
            let helps = post.is_some_and(|post| post.helps());
            let open = || Recorder::open(&out(size), &players, &manner, &[]).unwrap();
            let recorder = (!helps).then(open);
            let stop = AtomicBool::new(false);
            play(&players, &manner, 12, None, recorder, &stop, &mut |_| {})
        });
        let played = first(each).unwrap();
        (played.meetings[0].pairs.figures(), played.failed, played.fault)
    };
    let (figures, failed, fault) = matched(1);
    assert!(failed > 0 && fault.as_ref().unwrap().contains("ended by itself"), "{fault:?}");
    for size in [2, 3] {
        let found = matched(size);
        assert_eq!(format!("{:?}", found.0), format!("{figures:?}"), "{size} ranks");
        assert_eq!((found.1, &found.2), (failed, &fault), "{size} ranks");
        assert!(fs::read(out(size)).unwrap() == fs::read(out(1)).unwrap(), "{size} ranks");
    }
}

/// The fake engine, which takes so long for each answer, or does not start at all.
struct Slow {
    engine: EngineSettings,
    milliseconds: Option<u64>,
    answers: AtomicU64,
}

struct SlowPlayer<'a> {
    player: Box<dyn Player + 'a>,
    slow: &'a Slow,
}

impl Entrant for Slow {
    fn name(&self) -> String {
        self.engine.name()
    }

    fn player(&self) -> Result<Box<dyn Player + '_>, EngineError> {
        if self.milliseconds.is_none() {
            return Err(EngineError::Match("out of engines".into()));
        }
        Ok(Box::new(SlowPlayer { player: self.engine.player()?, slow: self }))
    }

    fn settings(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        self.engine.settings()
    }
}

impl Player for SlowPlayer<'_> {
    fn search(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        thread::sleep(Duration::from_millis(self.slow.milliseconds.unwrap_or(0)));
        self.slow.answers.fetch_add(1, Ordering::Relaxed);
        self.player.search(line, limit)
    }

    fn search_anew(&mut self, line: &Line, limit: Limit) -> Result<Searched, Fault> {
        self.search(line, limit)
    }
}

fn slow(milliseconds: Option<u64>) -> Arc<Slow> {
    Arc::new(Slow { engine: fake(&[]), milliseconds, answers: AtomicU64::new(0) })
}

/// The next item goes to who is idle, and a slow rank holds up nobody.
#[test]
fn whoever_is_idle_works() {
    let folder = tempfile::tempdir().unwrap();
    let (input, _) = positions_in(folder.path(), 200);
    let ranks = [slow(Some(30)), slow(Some(1)), slow(Some(30))];
    let reports = each(3, |rank, post| {
        let crew = Crew { entrant: ranks[rank].clone(), players: 1, retries: 0, post };
        label(&label_job(&input, "out.epd", &epd::FORMAT, crew), &Quiet)
    });
    assert_eq!(first(reports).unwrap().written, 200);
    let answers = ranks.each_ref().map(|slow| slow.answers.load(Ordering::Relaxed));
    assert!(answers[1] > 100 && answers[0] > 1 && answers[2] > 1, "{answers:?}");
}

/// What is wrong with another rank is told by rank 0, with its name; what was made before is kept,
/// and the job goes on without that rank.
#[test]
fn a_rank_that_cannot_work_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (input, _) = positions_in(folder.path(), 100);
    let whole = label_job(&input, "whole.epd", &epd::FORMAT, crew(fake(&[]), 1));
    label(&whole, &Quiet).unwrap();
    let out = input.with_file_name("out.epd");
    let fails = |name: &str, job: &(dyn Fn(usize, LabelJob) -> LabelJob + Sync)| {
        let reports = each(3, |rank, post| {
            let crew = Crew { entrant: slow(Some(5)), players: 1, retries: 0, post };
            label(&job(rank, label_job(&input, "out.epd", &epd::FORMAT, crew)), &Quiet)
        });
        let said = first(reports).unwrap_err().to_string();
        assert!(said.contains(name), "{said}");
        assert!(Journal::path_of(&out).exists());
    };
    fails("rank 2: the match cannot go on: out of engines", &|rank, job| match rank {
        2 => LabelJob { crew: Crew { entrant: slow(None), ..job.crew.clone() }, ..job },
        _ => job,
    });
    fails("rank 1: limit is depth 3 there, and nodes 2000 on rank 0", &|rank, job| match rank {
        1 => LabelJob { limit: Limit::Depth(3), ..job },
        _ => job,
    });
    let report = label(&LabelJob { output: out.clone(), ..whole.clone() }, &Quiet).unwrap();
    assert!(!report.stopped);
    assert!(fs::read(&out).unwrap() == fs::read(&whole.output).unwrap());
}

/// Where the output cannot be written, the others are sent home.
#[test]
fn an_error_of_rank_0_lets_the_others_go() {
    let folder = tempfile::tempdir().unwrap();
    let reports = each(3, |_, post| {
        let crew = Crew { post, ..crew(fake(&[("Crash", "1".into())]), 1) };
        selfplay(&selfplay_job(folder.path(), "a.pgn", &pgn::FORMAT, crew), &Quiet)
    });
    // Eight games are fewer than ten failures in a row: all are skipped, and nothing is written.
    let said = first(reports).unwrap_err().to_string();
    assert!(said.contains("nothing was written"), "{said}");
    let (input, _) = positions_in(folder.path(), 100);
    let reports = each(3, |_, post| {
        let crew = Crew { post, ..crew(fake(&[("Crash", "1".into())]), 1) };
        label(&label_job(&input, "b.epd", &epd::FORMAT, crew), &Quiet)
    });
    let said = first(reports).unwrap_err().to_string();
    assert!(said.contains("10 items in a row failed"), "{said}");
}
