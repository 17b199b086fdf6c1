//! [`Ranks`] by the collective operations of MPI, which are polled to detect a hanging rank. A rank
//! that has waited too long pings others: rank 0 all of them, other ranks rank 0. A waiting rank
//! answers. A rank that does not answer hangs, and the run ends with its name.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use mpi::collective::{CommunicatorCollectives as _, Root as _, SystemOperation};
use mpi::environment::{Universe, initialize_with_threading, processor_name};
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::request::{LocalScope, Request, scope};
use mpi::topology::{Communicator as _, SimpleCommunicator};
use mpi::{Tag, Threading};
use rayon::Yield;

use crate::train::ranks::Ranks;

/// The ranks of one `mpirun`.
pub struct World {
    /// Environment, which finalises MPI when dropped.
    universe: Mutex<Option<Universe>>,
    rank: usize,
    /// Machine of each rank.
    hosts: Vec<String>,
    silence: Duration,
    state: Mutex<WorldState>,
}

struct WorldState {
    /// End of the last collective operation.
    last: Instant,
    received: Vec<f32>,
}

static WORLD: OnceLock<World> = OnceLock::new();
/// Largest message in bytes: MPI counts them in 31 bits.
const MAX_MESSAGE: usize = 1 << 30;
/// Longest name of a host in bytes.
const NAME: usize = 64;
const PING: Tag = 1;
const ANSWER: Tag = 2;
/// Time in which a waiting rank answers a ping.
const ANSWER_TIME: Duration = Duration::from_secs(2);
/// Time of polling without sleep. Most collective operations on one machine take less.
const EAGER: Duration = Duration::from_millis(5);
/// Shortest and longest sleep between polls after that.
const REST: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
/// Longest time between polls. If more passed, this process was stopped itself.
const MAX_POLL_GAP: Duration = Duration::from_millis(500);
/// Time in which rank 0 ends the other ranks, so that errors of all ranks are printed once.
const PRECEDENCE: Duration = Duration::from_millis(1500);

impl World {
    pub fn join(silence: u16) -> Result<&'static Self> {
        let (universe, given) =
            initialize_with_threading(Threading::Serialized).context("MPI does not start")?;
        ensure!(
            given >= Threading::Serialized,
            "this MPI lacks MPI_THREAD_SERIALIZED; use another"
        );
        let world = universe.world();
        let mut name = processor_name().unwrap_or_default().into_bytes();
        name.resize(NAME, 0);
        let mut names = vec![0; NAME * world.size() as usize];
        world.all_gather_into(&name[..], &mut names[..]);
        let host = |name: &[u8]| String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
        let state = WorldState { last: Instant::now(), received: Vec::new() };
        let joined = Self {
            rank: world.rank() as usize,
            hosts: names.chunks(NAME).map(host).collect(),
            silence: Duration::from_secs(silence.into()),
            state: Mutex::new(state),
            universe: Mutex::new(Some(universe)),
        };
        Ok(WORLD.get_or_init(|| joined))
    }

    /// Returns the ranks, if this process is one of several.
    pub fn joined() -> Option<&'static Self> {
        WORLD.get()
    }

    /// Ends a successful run. Other ranks wait for rank 0, which has work to finish.
    pub fn leave(&self) {
        if self.rank == 0 {
            // A rank that was stopped in a barrier may have passed it, and MPI would wait forever.
            self.find_silent(self.silence, self.silence);
        }
        self.wait_for(self.world().immediate_barrier(), Duration::MAX);
        drop(self.universe.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Ends a failed run: prints the error and ends all ranks.
    pub fn fail(&self, error: &str) -> ! {
        match self.rank {
            0 => eprintln!("error: {error}"),
            rank => {
                thread::sleep(PRECEDENCE);
                eprintln!("error: {}: {error}", self.name(rank));
            }
        }
        self.world().abort(1)
    }

    fn world(&self) -> SimpleCommunicator {
        SimpleCommunicator::world()
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.hosts[rank])
    }

    /// Runs a collective operation. `work` receives the time that a rank may be late.
    fn run_collective(&self, work: impl FnOnce(&mut WorldState, Duration)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = self.silence + 4 * state.last.elapsed();
        work(&mut state, patience);
        state.last = Instant::now();
    }

    /// Waits for a collective operation. Meanwhile this thread of the pool makes the next batches.
    fn wait_for<'a, T: ?Sized>(
        &self,
        mut request: Request<'a, T, impl mpi::request::Scope<'a>>,
        patience: Duration,
    ) {
        let (mut waited, mut last_poll) = (Duration::ZERO, Instant::now());
        while let Err(pending) = request.test() {
            request = pending;
            self.answer_pings();
            waited += last_poll.elapsed().min(MAX_POLL_GAP);
            last_poll = Instant::now();
            if waited > patience {
                // If several ranks find rank 0 silent, only one reports it.
                self.find_silent(patience, ANSWER_TIME * (1 + self.rank.min(3) as u32));
                waited = Duration::ZERO;
            }
            if rayon::yield_now() != Some(Yield::Executed) {
                match waited > EAGER {
                    true => thread::sleep((waited / 100).clamp(REST[0], REST[1])),
                    false => thread::yield_now(),
                }
            }
        }
    }

    /// Answers pings of other ranks.
    fn answer_pings(&self) {
        let world = self.world();
        while let Some((message, status)) =
            world.any_process().immediate_matched_probe_with_tag(PING)
        {
            message.matched_receive::<u8>();
            world.process_at_rank(status.source_rank()).send_with_tag(&0_u8, ANSWER);
        }
    }

    /// Ends the run if ranks do not answer in time. `patience` is the time they were waited for.
    fn find_silent(&self, patience: Duration, time: Duration) {
        let world = self.world();
        let mut silent: Vec<usize> =
            if self.rank == 0 { (1..self.count()).collect() } else { vec![0] };
        scope(|scope| {
            let send = |rank: &usize| {
                world.process_at_rank(*rank as i32).immediate_send_with_tag(scope, &0_u8, PING)
            };
            let mut requests: Vec<_> = silent.iter().map(send).collect();
            let start = Instant::now();
            while !(silent.is_empty() && requests.is_empty()) {
                let all = std::mem::take(&mut requests).into_iter();
                requests = all
                    .filter_map(|request: Request<_, &LocalScope>| request.test().err())
                    .collect();
                self.answer_pings();
                if let Some((message, status)) =
                    world.any_process().immediate_matched_probe_with_tag(ANSWER)
                {
                    message.matched_receive::<u8>();
                    silent.retain(|rank| *rank != status.source_rank() as usize);
                }
                if start.elapsed() > time {
                    let names: Vec<String> = silent.iter().map(|rank| self.name(*rank)).collect();
                    eprintln!(
                        "error: {} silent for {:.0} s: stopped, or its machine is down or out of \
                         memory; the last checkpoint is whole, go on with `nnuance train --resume` \
                         (--silence gives more time)",
                        names.join(" and "),
                        patience.as_secs_f64()
                    );
                    world.abort(1);
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.hosts.len()
    }

    fn sum_over_ranks(&self, values: &mut [f32], numbers: &mut [f64]) {
        self.run_collective(|state, patience| {
            let (world, sum) = (self.world(), SystemOperation::sum());
            state.received.resize(values.len(), 0.0);
            let mut received = vec![0.0; numbers.len()];
            scope(|scope| {
                let (values, sums) = (&*values, &mut state.received[..]);
                let values = world.immediate_all_reduce_into(scope, values, sums, sum);
                let (numbers, sums) = (&*numbers, &mut received[..]);
                let numbers = world.immediate_all_reduce_into(scope, numbers, sums, sum);
                self.wait_for(values, patience);
                self.wait_for(numbers, patience);
            });
            values.copy_from_slice(&state.received);
            numbers.copy_from_slice(&received);
        });
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>) {
        let mut length = [if self.rank == 0 { bytes.len() as f64 } else { 0.0 }];
        self.sum_over_ranks(&mut [], &mut length);
        bytes.resize(length[0] as usize, 0);
        self.run_collective(|_, patience| {
            for message in bytes.chunks_mut(MAX_MESSAGE) {
                let world = self.world();
                let root = world.process_at_rank(0);
                scope(|scope| {
                    self.wait_for(root.immediate_broadcast_into(scope, message), patience)
                });
            }
        });
    }
}
