//! Several ranks that take the steps of one run, as threads of this process: everything but what
//! carries their bytes.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nnuance::batch::OfRank;
use nnuance::config::Config;
use nnuance::loader::{Cursors, Encoder, PLANS, Plan, Stream};
use nnuance::log::Row;
use nnuance::run::folder::RunFolder;
use nnuance::run::train::{Means, begin, join, resume};
use nnuance::run::{Counter, Ending, Listener, Opening, Place};
use nnuance::train::checkpoint::Checkpoint;
use nnuance::train::ranks::{Alone, RankError, Ranks, Room, SentAs};
use nnuance::train::{End, Progress, Watch, log};
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use rayon::ThreadPoolBuilder;

use crate::largest::largest;

/// The ranks of a mesh of threads.
struct Thread {
    rank: usize,
    to: Vec<Mutex<Sender<Vec<u8>>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Ranks for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, to: &[&[u8]], from: &mut [Vec<u8>]) -> Result<(), RankError> {
        let others = || (0..self.size()).filter(|other| *other != self.rank);
        let silent = |other: usize| RankError::Silent(format!("rank {other} is gone"));
        for other in others() {
            let sent = self.to[other].lock().unwrap().send(to[other].to_vec());
            sent.map_err(|_| silent(other))?;
        }
        for other in others() {
            let come = self.from[other].lock().unwrap().recv_timeout(Duration::from_secs(300));
            let come = come.map_err(|error| match error {
                RecvTimeoutError::Timeout => RankError::Silent("for long".into()),
                RecvTimeoutError::Disconnected => silent(other),
            })?;
            assert_eq!(come.len(), from[other].len(), "what rank {} has from {other}", self.rank);
            from[other] = come;
        }
        Ok(())
    }
}

fn mesh(size: usize) -> Vec<Thread> {
    let mut ranks: Vec<Thread> =
        (0..size).map(|rank| Thread { rank, to: Vec::new(), from: Vec::new() }).collect();
    for one in 0..size {
        for other in 0..size {
            let (sender, receiver) = channel();
            ranks[one].to.push(Mutex::new(sender));
            ranks[other].from.push(Mutex::new(receiver));
        }
    }
    ranks
}

/// What each rank makes of `work`, in their order. Each has a pool of its own, as processes have:
/// whoever waits for another rank keeps its thread.
fn each<T: Send>(size: usize, work: impl Fn(&dyn Ranks) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let threads = mesh(size).into_iter().map(|rank| {
            let work = &work;
            let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
            scope.spawn(move || pool.install(|| work(&rank)))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank")).collect()
    })
}

fn random(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn numbers(rank: usize, count: usize) -> Vec<f32> {
    let mut random = random(7 + rank as u64);
    (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
}

/// In the order of the ranks, to the last bit, on each of them; also fewer numbers than ranks.
#[test]
fn sums_are_those_of_the_ranks_in_their_order() {
    for size in 1..6 {
        for count in [0, 1, 3, 1000, 10_001] {
            let all: Vec<Vec<f32>> = (0..size).map(|rank| numbers(rank, count)).collect();
            let wanted: Vec<f32> =
                (0..count).map(|place| all.iter().map(|it| it[place]).sum()).collect();
            let wanted = wanted.iter().map(|it| it + 0.0).collect::<Vec<f32>>();
            let more: f64 = (0..size).map(|rank| 0.1 + rank as f64).sum();
            let found = each(size, |ranks| {
                let (mut values, mut room) = (numbers(ranks.rank(), count), Room::default());
                let mut few = [0.1 + ranks.rank() as f64];
                // What is left of another sum does no harm.
                ranks.sum(&mut vec![1.0; 1500], SentAs::Bf16, &mut [2.0], &mut room).unwrap();
                ranks.sum(&mut values, SentAs::F32, &mut few, &mut room).unwrap();
                let mut wide: Vec<f64> =
                    numbers(ranks.rank(), count).iter().map(|it| f64::from(*it)).collect();
                ranks.sum64(&mut wide).unwrap();
                (values, few[0], wide)
            });
            for (values, few, wide) in &found {
                assert_eq!(values, &wanted, "{size} ranks");
                assert!((few - more).abs() < 1e-12 && *few == found[0].1);
                assert_eq!(*wide, found[0].2);
                let near = |(one, other): (&f64, &f32)| (one - f64::from(*other)).abs() < 1e-6;
                assert!(wide.iter().zip(&wanted).all(near));
            }
        }
    }
}

/// Each number is rounded by a part in 256 at most, and so is the sum where it is sent; all ranks have
/// the same bits.
#[test]
fn gradients_travel_in_sixteen_bits() {
    for size in 2..5 {
        let count = 1000;
        let found = each(size, |ranks| {
            let mut values = numbers(ranks.rank(), count);
            ranks.sum(&mut values, SentAs::Bf16, &mut [], &mut Room::default()).unwrap();
            values
        });
        for (place, found) in found[0].iter().enumerate() {
            let of = (0..size).map(|rank| f64::from(numbers(rank, count)[place]));
            let (sum, sizes) = of.fold((0.0, 0.0), |(sum, sizes), it| (sum + it, sizes + it.abs()));
            let error = (f64::from(*found) - sum).abs();
            assert!(error <= (sizes + sum.abs()) / 256.0, "{error} of {sum}");
        }
        assert!(found.iter().all(|it| *it == found[0]));
        // And of more than two ranks they are sixteen.
        assert!(size == 2 || found[0].iter().all(|it| it.to_bits() & 0xffff == 0));
    }
    let huge = [f32::MAX, f32::MIN_POSITIVE, f32::NAN, f32::NEG_INFINITY, -0.0];
    let found = each(2, |ranks| {
        let mut values = if ranks.rank() == 0 { huge } else { [0.0; 5] };
        ranks.sum(&mut values, SentAs::Bf16, &mut [], &mut Room::default()).unwrap();
        values
    });
    let [max, min, nan, infinite, zero] = found[1];
    assert!(
        max > 3e38 && min > 0.0 && nan.is_nan() && infinite == f32::NEG_INFINITY && zero == 0.0
    );
}

#[test]
fn what_rank_0_has_goes_to_all_and_words_are_compared() {
    for size in 1..5 {
        for text in ["", "a config", &"long ".repeat(1000)] {
            let handed = each(size, |ranks| {
                let own = if ranks.is_first() { text.as_bytes().to_vec() } else { Vec::new() };
                ranks.hand_on(own).unwrap()
            });
            assert!(handed.iter().all(|it| it == text.as_bytes()));
        }
        let other = |odd: usize| {
            each(size, move |ranks| ranks.other_word(7 + u64::from(ranks.rank() == odd)).unwrap())
        };
        assert_eq!(other(size), vec![None; size]);
        for odd in 1..size {
            assert_eq!(other(odd), vec![Some(odd); size]);
        }
        let parts: Vec<usize> =
            (0..size).flat_map(|rank| OfRank { rank, size }.range(17)).collect();
        assert_eq!(parts, (0..17).collect::<Vec<usize>>());
    }
}

const POSITIONS: &str = "data/selfplay_sf151_scored.txt";

/// The shares of all ranks, one behind the other, are the batch; chunks stay whole.
#[test]
fn shares_make_up_the_batch() {
    let net = crate::drawn::net(3, 16);
    for (chunk, window) in [(0, 1000), (64, 1000), (0, 300)] {
        let plan = |of_rank| Plan {
            limit: Some(1000),
            batch: 700,
            window,
            expected: Some(1000),
            chunk,
            plans: PLANS,
            of_rank,
            ..Plan::reading(vec![POSITIONS.into()])
        };
        let batches = |of_rank| {
            let stream = Stream::new(plan(of_rank), Encoder::net(&net), Cursors::default());
            stream.take(6).map(Result::unwrap).collect::<Vec<_>>()
        };
        let whole = batches(OfRank::ALL);
        for size in [2, 3, 5, 700] {
            let shares: Vec<_> = (0..size).map(|rank| batches(OfRank { rank, size })).collect();
            for (number, batch) in whole.iter().enumerate() {
                let of = |share: &Vec<nnuance::batch::Batch>| share[number].scores.to_vec();
                let scores: Vec<f32> = shares.iter().flat_map(of).collect();
                assert_eq!(scores, batch.scores.to_vec(), "{size} ranks, chunks of {chunk}");
                assert!(shares.iter().all(|share| share[number].cursor == batch.cursor));
                let evenly =
                    |share: &Vec<nnuance::batch::Batch>| share[number].len().abs_diff(700 / size);
                assert!(shares.iter().all(|share| evenly(share) <= 1 + chunk));
                assert!(size > 5 || shares.iter().all(|share| !share[number].is_empty()));
            }
        }
    }
}

/// Nobody who listens, and stops a run behind a step.
struct Deaf {
    stop: u64,
}

struct Steps {
    now: u64,
    stop: u64,
}

impl Watch for Steps {
    fn seconds(&self) -> f64 {
        0.0
    }
    fn stop(&self) -> bool {
        self.now >= self.stop
    }
    fn step(&mut self, progress: &Progress) {
        self.now = progress.step;
    }
    fn row(&mut self, _: &Row) {}
}

impl Listener for Deaf {
    fn remark(&self, _: &str) {}
    fn count(&self, _: Option<u64>, _: &'static str) -> Counter {
        Box::new(|_| ())
    }
    fn scanned(&self, _: &nnuance::loader::Plan, _: &nnuance::loader::Scan) {}
    fn traced(&self, _: &nnuance::loader::Plan, _: &nnuance::loader::TraceScan) {}
    fn opens(&self, _: &Opening) {}
    fn watch(&self, _: u64, _: u64) -> Box<dyn Watch + '_> {
        Box::new(Steps { now: 0, stop: self.stop })
    }
    fn ends(&self, _: &Ending) {}
}

/// Begins a run on so many ranks, or goes on with it; the rank of `stopper` stops it behind a step.
fn train(text: &str, out: &Path, size: usize, stopper: Option<(usize, u64)>) {
    let place = Place::default();
    let work = |ranks: &dyn Ranks| {
        let stop = stopper.filter(|(rank, _)| *rank == ranks.rank()).map_or(u64::MAX, |it| it.1);
        let listener = Deaf { stop };
        let means = Means { place: &place, listener: &listener, page: false, ranks };
        if !ranks.is_first() {
            let wanted = if stopper.is_some() { End::Interrupted } else { End::Finished };
            let end = join(&means).unwrap();
            assert!(end == wanted || end == End::Converged, "{end:?}");
            return;
        }
        let finished = if out.join("last.safetensors").exists() {
            resume(out, &[], &means)
        } else {
            let config = Config::parse(text, "test", &[]).unwrap();
            begin(config, &RunFolder::take(out, false, &listener).unwrap(), &means)
        };
        assert_eq!(finished.unwrap().is_none(), stopper.is_some());
    };
    if size == 1 { work(&Alone) } else { drop(each(size, work)) }
}

/// Training and validation losses of all rows.
fn losses(out: &Path) -> Vec<[f64; 2]> {
    let rows = log::read(&out.join("log.csv")).unwrap();
    let loss = |row: &Row| [row.train_loss.unwrap_or(0.0), row.held_out_loss.unwrap_or(0.0)];
    rows.iter().map(loss).collect()
}

/// How far the losses of two runs are apart, as a share of them: those of all rows, which have
/// eight digits behind the point, and the last ones to the last bit.
pub fn apart(one: &Path, other: &Path) -> f64 {
    let exact = [one, other].map(|out| {
        let state = Checkpoint::read(&out.join("last.safetensors")).unwrap().state;
        [state.train_loss.unwrap_or(0.0), state.best.map_or(0.0, |best| best.loss)]
    });
    let (one, other) = (losses(one), losses(other));
    assert_eq!(one.len(), other.len());
    let share = |(one, other): (&f64, &f64), rounded: f64| match (one - other).abs() {
        apart if apart <= rounded => 0.0,
        apart => apart / one.abs(),
    };
    let pairs = one.iter().flatten().zip(other.iter().flatten());
    let rows = pairs.map(|pair| share(pair, 1.01e-8));
    let last = exact[0].iter().zip(&exact[1]).map(|pair| share(pair, 0.0));
    largest(rows.chain(last))
}

fn last(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("last.safetensors")).unwrap()
}

pub fn config(data: &str, model: &str, rest: &str) -> String {
    format!(
        "version = 2\nseed = 5\n[data]\nfiles = [\"{POSITIONS}\"]\nlimit = 6000\n{data}\n\
         [model]\n{model}\n[schedule]\nvalidations = 10\n{rest}\n"
    )
}

pub const NET: &str = "inputs = \"perspective\"\nhidden = 16";
pub const STEPS: &str = "positions = 51200\nbatch = 512\nlearning_rate = 0.003";

/// Runs of 100 steps of every kind that ranks share.
fn kinds() -> Vec<(&'static str, String)> {
    let layers = "[{ size = 8, activation = \"screlu\" }, { size = 1 }]";
    let deep = format!(
        "inputs = \"perspective\"\nhidden = 16\npairwise = true\n\
         head = {layers}\noutput_buckets = 2"
    );
    let hce = "inputs = \"hce\"\ntune = [\"material\", \"mobility\"]";
    let target = "[target]\nwdl = 1.0\nscale = 160.0";
    vec![
        ("kept", config("", NET, STEPS)),
        ("chunks", config("chunk = 64", NET, STEPS)),
        ("streamed", config("window = 1500", NET, STEPS)),
        (
            "streamed, with pairs",
            config(
                "window = 1500\nchunk = 64",
                "inputs = \"perspective\"\nhidden = 512\nprecision = \"f32\"",
                STEPS,
            ),
        ),
        (
            "no chunks, copies",
            config("chunk = 0\nmirrored_copies = true", &format!("{NET}\nmirror = false"), STEPS),
        ),
        ("deep", config("", &deep, STEPS)),
        (
            "averaged",
            config(
                "",
                NET,
                &format!("{STEPS}\n[optimizer]\naverage_decay = 0.9\nclip_gradients = 0.01"),
            ),
        ),
        (
            "terms",
            config(
                "",
                hce,
                &format!("positions = 51200\nbatch = 512\nlearning_rate = 1.0\n{target}"),
            ),
        ),
        (
            "all terms",
            config(
                "",
                hce,
                &format!("epochs = 20\nbatch = \"all\"\nlearning_rate = 1.0\n{target}"),
            ),
        ),
        (
            "gauss-newton",
            config("", hce, &format!("{target}\n[optimizer]\nname = \"gauss-newton\"")),
        ),
    ]
}

#[test]
fn ranks_learn_what_one_process_learns() {
    for (name, text) in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let out = |name: &str| -> PathBuf { folder.path().join(name) };
        train(&text, &out("1"), 1, None);
        let checkpoint = Checkpoint::read(&out("1").join("last.safetensors")).unwrap();
        assert!(checkpoint.state.step >= 2);
        for size in [2, 3, 4] {
            // Pieces of terms are 4096 positions: two of 6000.
            if size > 2 && (name == "all terms" || name == "gauss-newton") {
                continue;
            }
            let [here, again] = [format!("{size}"), format!("{size}-again")].map(|it| out(&it));
            train(&text, &here, size, None);
            let apart = apart(&out("1"), &here);
            println!("{name}, {size} ranks: losses are {apart:.1e} apart");
            assert!(apart < 1e-6, "{name}, {size} ranks: losses are {apart} apart");
            train(&text, &again, size, None);
            assert!(last(&here) == last(&again), "{name}, {size} ranks: other bits");
        }
    }
}

/// Any of them stops a run, which goes on with another number and ends where one process does.
#[test]
fn a_run_goes_on_with_another_number_of_ranks() {
    for (name, text) in
        kinds().into_iter().filter(|(name, _)| !name.contains("terms") && *name != "gauss-newton")
    {
        let folder = tempfile::tempdir().unwrap();
        let out = |name: &str| -> PathBuf { folder.path().join(name) };
        train(&text, &out("1"), 1, None);
        train(&text, &out("many"), 4, Some((2, 20)));
        for (size, stopper) in [(3, Some((0, 45))), (1, Some((0, 60))), (2, None)] {
            train(&text, &out("many"), size, stopper);
        }
        let apart = apart(&out("1"), &out("many"));
        assert!(apart < 1e-6, "{name}: losses are {apart} apart");
    }
}

/// bf16 learns nearly the same, with half the bytes.
#[test]
fn rounded_gradients_learn_nearly_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [exact, rounded] = ["exact", "rounded"].map(|name| folder.path().join(name));
    let text = config("", NET, STEPS);
    train(&text, &exact, 2, None);
    train(&format!("{text}\n[optimizer]\nsent_as = \"bf16\"\n"), &rounded, 2, None);
    let apart = apart(&exact, &rounded);
    println!("bf16: losses are {apart:.1e} apart");
    assert!(apart > 0.0 && apart < 0.02, "{apart}");
}

/// Started together without MPI they would all do the same.
#[cfg(not(feature = "mpi"))]
#[test]
fn a_program_without_mpi_is_started_once() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["train", "absent.toml"]).env("OMPI_COMM_WORLD_SIZE", "4");
    let mut said = |rank: &str| {
        let output = command.env("OMPI_COMM_WORLD_RANK", rank).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said("0").contains("was built without MPI") && said("0").contains("--features mpi"));
    assert_eq!(said("3"), "");
}

#[test]
fn what_ranks_cannot_share_is_refused() {
    let hce = "inputs = \"hce\"";
    for (text, said) in [
        (
            config("", NET, "positions = 51200\nbatch = 2\nlearning_rate = 0.003"),
            "cannot be shared by 3 ranks",
        ),
        (
            config("", hce, "[optimizer]\nname = \"local-search\""),
            "goes by all positions in one process",
        ),
        (
            config("", hce, "epochs = 2\nbatch = \"all\"\nlearning_rate = 1.0"),
            "too few for 3 ranks",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::default();
        let errors = each(3, |ranks| {
            let listener = Deaf { stop: u64::MAX };
            let means = Means { place: &place, listener: &listener, page: false, ranks };
            if !ranks.is_first() {
                return join(&means).unwrap_err().to_string();
            }
            let config = Config::parse(&text, "test", &[]).unwrap();
            let out = RunFolder::take(&folder.path().join("out"), false, &listener).unwrap();
            begin(config, &out, &means).err().unwrap().to_string()
        });
        assert!(errors[0].contains(said), "{errors:?}");
    }
}
