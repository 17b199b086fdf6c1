//! Several ranks of one run as threads of this process: all but the transport of bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use nnuance::batch::RankShare;
use nnuance::loader::MAX_PLAN_BYTES;
use nnuance::log;
use nnuance::log::TrainStep;
use nnuance::run::DeviceOptions;
use nnuance::run::folder::RunFolder;
use nnuance::run::train::{RunContext, begin_training, join_run, resume_run};
use nnuance::train::End;
use nnuance::train::ranks::{Ranks, SingleRank};
use rayon::ThreadPoolBuilder;

use crate::support::kit::*;

struct Thread<'a> {
    rank: usize,
    mesh: &'a Mesh,
}

type Contribution = (Vec<f32>, Vec<f64>, Vec<u8>);

struct Mesh {
    count: usize,
    /// Contributions to a sum or a broadcast, by rank.
    slots: Mutex<Vec<Contribution>>,
    met: Mutex<usize>,
    changed: Condvar,
}

impl Mesh {
    fn meet(&self) {
        let mut met = self.met.lock().unwrap();
        *met += 1;
        let all = met.div_ceil(self.count) * self.count;
        self.changed.notify_all();
        let limit = Duration::from_secs(300);
        let waited = self.changed.wait_timeout_while(met, limit, |met| *met < all).unwrap();
        assert!(!waited.1.timed_out(), "a rank is gone");
    }
}

impl Ranks for Thread<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.mesh.count
    }

    fn sum_over_ranks(&self, values: &mut [f32], numbers: &mut [f64]) {
        let own = (values.to_vec(), numbers.to_vec(), Vec::new());
        self.mesh.slots.lock().unwrap()[self.rank] = own;
        self.mesh.meet();
        {
            let slots = self.mesh.slots.lock().unwrap();
            for (place, value) in values.iter_mut().enumerate() {
                *value = slots.iter().map(|slot| slot.0[place]).sum();
            }
            for (place, number) in numbers.iter_mut().enumerate() {
                *number = slots.iter().map(|slot| slot.1[place]).sum();
            }
        }
        self.mesh.meet();
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>) {
        self.mesh.slots.lock().unwrap()[self.rank].2 = bytes.clone();
        self.mesh.meet();
        bytes.clone_from(&self.mesh.slots.lock().unwrap()[0].2);
        self.mesh.meet();
    }
}

fn mesh(count: usize) -> Mesh {
    let slots = Mutex::new(vec![Default::default(); count]);
    Mesh { count, slots, met: Mutex::new(0), changed: Condvar::new() }
}

/// Results of `work` by rank, each in a pool of its own, as processes have.
fn each<T: Send>(size: usize, work: impl Fn(&dyn Ranks) -> T + Sync) -> Vec<T> {
    let mesh = mesh(size);
    std::thread::scope(|scope| {
        let threads = (0..size).map(|rank| {
            let (work, mesh) = (&work, &mesh);
            let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
            scope.spawn(move || pool.install(|| work(&Thread { rank, mesh })))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("a rank")).collect()
    })
}

#[test]
fn first_differing_rank_is_found() {
    for size in 1..5 {
        let other = |odd: usize| {
            let number = move |ranks: &dyn Ranks| 7 + u64::from(ranks.rank() == odd);
            each(size, move |ranks| ranks.first_different(number(ranks)))
        };
        assert_eq!(other(size), vec![None; size]);
        for odd in 1..size {
            assert_eq!(other(odd), vec![Some(odd); size]);
        }
    }
}

#[test]
fn shares_make_up_the_batch() {
    let net = drawn::net(3, 16);
    for (chunk, window) in [(0, 1000), (64, 1000), (0, 300)] {
        let plan = |of_rank| {
            let read = plan_first_positions(SCORED, 1000);
            let order = PassOrder { batch: 700, window, chunk, of_rank, ..PassOrder::default() };
            let layout = InputLayout::CachedPlans {
                max_bytes: MAX_PLAN_BYTES,
                max_pairs: 0,
                inverted: true,
            };
            StreamPlan { layout, ..stream_plan(read, order, Some(1000)) }
        };
        let batches = |of_rank| {
            let stream = Stream::new(plan(of_rank), Encoder::for_net(&net), 0);
            stream.take(6).map(Result::unwrap).collect::<Vec<_>>()
        };
        let whole = batches(RankShare::ALL);
        for size in [2, 3, 5] {
            let shares: Vec<_> = (0..size).map(|rank| batches(RankShare { rank, size })).collect();
            for (number, batch) in whole.iter().enumerate() {
                let of = |share: &Vec<Batch>| share[number].scores.to_vec();
                let scores: Vec<f32> = shares.iter().flat_map(of).collect();
                assert_eq!(scores, batch.scores.to_vec(), "{size} ranks, chunks of {chunk}");
                let evenly = |share: &Vec<Batch>| share[number].len().abs_diff(700 / size);
                assert!(shares.iter().all(|share| evenly(share) <= 1 + chunk));
                assert!(shares.iter().all(|share| share[number].len() > 0));
            }
        }
    }
}

struct Stopper {
    now: AtomicU64,
    stop: u64,
}

impl Progress for Stopper {
    fn should_stop(&self) -> bool {
        self.now.load(Ordering::SeqCst) >= self.stop
    }
    fn report_step(&self, step: &TrainStep) {
        self.now.store(step.step, Ordering::SeqCst);
    }
}

/// Starts or resumes a run on `size` ranks; the rank of `stopper` stops it after a step.
fn train(text: &str, out: &Path, size: usize, stopper: Option<(usize, u64)>) {
    let device = DeviceOptions::default();
    let work = |ranks: &dyn Ranks| {
        let stop = stopper.filter(|(rank, _)| *rank == ranks.rank()).map_or(u64::MAX, |it| it.1);
        let listener = Stopper { now: AtomicU64::new(0), stop };
        let means = RunContext { device: &device, listener: &listener, page: false, ranks };
        if !ranks.is_first() {
            let wanted = if stopper.is_some() { End::Interrupted } else { End::Finished };
            let end = join_run(&means).unwrap();
            assert!(end == wanted || end == End::Converged, "{end:?}");
            return;
        }
        let finished = if out.join("last.safetensors").exists() {
            resume_run(out, &[], &means)
        } else {
            let config = Config::parse_text(text, "test", &[]).unwrap();
            begin_training(config, &RunFolder::lock_new(out, false, &listener).unwrap(), &means)
        };
        assert_eq!(finished.unwrap().is_none(), stopper.is_some());
    };
    if size == 1 { work(&SingleRank) } else { drop(each(size, work)) }
}

fn losses(out: &Path) -> Vec<[f64; 2]> {
    let rows = log::read_rows(&out.join("log.csv")).unwrap();
    let loss = |row: &LogRow| [row.train_loss.unwrap_or(0.0), row.held_out_loss.unwrap_or(0.0)];
    rows.iter().map(loss).collect()
}

/// Relative difference of the losses of two runs, in all rows and at the end.
pub fn apart(one: &Path, other: &Path) -> f64 {
    let exact = [one, other].map(|out| {
        let state = checkpoint(out, "last.safetensors").state;
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

pub fn last(out: &Path) -> Vec<u8> {
    fs::read(out.join("last.safetensors")).unwrap()
}

pub fn config(data: &str, model: &str, rest: &str) -> String {
    format!(
        "version = 3\nseed = 5\n[data]\nfiles = [\"{SCORED}\"]\nlimit = 6000\n{data}\n\
         {model}\n[schedule]\nvalidations = 10\n{rest}\n"
    )
}

pub const NET: &str = "[net]\ninputs = \"perspective\"\nhidden = 16";
pub const STEPS: &str = "positions = 51200\nbatch = 512\nlearning_rate = 0.003";

fn kinds() -> Vec<(&'static str, String)> {
    let layers = "[{ size = 8, activation = \"screlu\" }, { size = 1 }]";
    let deep = format!("{NET}\npairwise = true\nhead = {layers}\noutput_buckets = 2");
    let hce = "[terms]\ntune = [\"material\", \"mobility\"]";
    let terms = |schedule: &str| {
        config("", hce, &format!("{schedule}\n[target]\nwdl = 1.0\nscale = 160.0\n"))
    };
    let averaged = format!("{STEPS}\n[optimizer]\naverage_decay = 0.9");
    vec![
        ("kept", config("", NET, STEPS)),
        ("chunks", config("chunk = 64", NET, STEPS)),
        ("streamed", config("window = 1500", NET, STEPS)),
        ("deep", config("", &deep, STEPS)),
        ("averaged", config("", NET, &averaged)),
        ("threats", config("", &format!("{NET}\nsets = [\"pieces\", \"threats\"]"), STEPS)),
        ("terms", terms("positions = 51200\nbatch = 512\nlearning_rate = 1.0")),
        ("all terms", terms("epochs = 20\nbatch = \"all\"\nlearning_rate = 1.0")),
    ]
}

#[test]
fn ranks_equal_one_process() {
    for (name, text) in kinds() {
        let folder = Workdir::empty();
        train(&text, &folder.path("1"), 1, None);
        let checkpoint = program::checkpoint(&folder.path("1"), "last.safetensors");
        assert!(checkpoint.state.step >= 2);
        for size in [2, 3, 4] {
            // Pieces of terms are 4096 positions: two of 6000.
            if size > 2 && name == "all terms" {
                continue;
            }
            let [here, again] =
                [format!("{size}"), format!("{size}-again")].map(|it| folder.path(it));
            train(&text, &here, size, None);
            let apart = apart(&folder.path("1"), &here);
            println!("{name}, {size} ranks: losses are {apart:.1e} apart");
            assert!(apart < 1e-6, "{name}, {size} ranks: losses are {apart} apart");
            train(&text, &again, size, None);
            assert!(last(&here) == last(&again), "{name}, {size} ranks: other bits");
        }
    }
}

#[test]
fn resumed_with_other_ranks() {
    for (name, text) in kinds().into_iter().filter(|(name, _)| !name.contains("terms")) {
        let folder = Workdir::empty();
        train(&text, &folder.path("1"), 1, None);
        train(&text, &folder.path("many"), 4, Some((2, 20)));
        for (size, stopper) in [(3, Some((0, 45))), (1, Some((0, 60))), (2, None)] {
            train(&text, &folder.path("many"), size, stopper);
        }
        let apart = apart(&folder.path("1"), &folder.path("many"));
        assert!(apart < 1e-6, "{name}: losses are {apart} apart");
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn refused_without_mpi() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnuance"));
    command.args(["train", "absent.toml"]).env("OMPI_COMM_WORLD_SIZE", "4");
    let mut said = |rank: &str| {
        let output = command.env("OMPI_COMM_WORLD_RANK", rank).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(said("0").contains("was built without MPI") && said("0").contains("--features mpi"));
    assert_eq!(said("3"), "");
}
