//! MPI, as far as ranks need it: messages from each to each that are looked after until a limit.

mod mail;

use std::ffi::{c_char, c_int, c_void};
use std::panic;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mpi::ffi;
use rayon::Yield;

use crate::digits::grouped;
use crate::engine::post::Post;
use crate::train::ranks::{RankError, Ranks};
use mail::Mail;

/// The ranks that one `mpirun` started.
pub struct World {
    rank: usize,
    size: usize,
    /// The machine of each.
    hosts: Vec<String>,
    silence: Duration,
    since: Mutex<Since>,
    /// Held by who calls MPI where there are letters.
    calls: Mutex<()>,
    mail: OnceLock<Arc<Mail>>,
}

/// What has been so far.
struct Since {
    /// When this rank last had what it waited for.
    worked: Instant,
    exchanges: u64,
    /// Bytes that this rank sent in an exchange, at most: steps send more than validations.
    largest: usize,
    /// Until the last rank was there, and until its bytes were.
    waited: Duration,
    moved: Duration,
}

static WORLD: OnceLock<World> = OnceLock::new();

/// Bytes a message at most: MPI counts them in 31 bits.
const MOST: usize = 1 << 30;

/// The same between two machines. Of more than 64 kB, headers included, MPI asks over TCP whether
/// they may come, which takes two ways more than to send them.
const UNASKED: usize = 60 << 10;

/// Bytes from which on a word comes ahead of a message, to tell waiting from moving.
const LARGE: usize = 1 << 14;

/// Bytes of a host's name.
const NAME: usize = 64;

/// Numbers of kinds of messages.
const DATA: c_int = 1;
const HERE: c_int = 2;

/// How a training goes on.
const RESUME: &str = "go on with `nnuance train --resume` from the last checkpoint, which is whole";

/// What is to be known of a run whose ranks do not come to its end.
const WHOLE: &str = "the run itself is done, and what it wrote is whole";

/// How long a rank looks without a rest: exchanges of one machine take less.
const EAGER: Duration = Duration::from_millis(5);

/// How long it rests between two looks where nothing hurries.
const REST: Duration = Duration::from_millis(1);

/// Beyond this between two looks a rank was kept from looking.
const NAP: Duration = Duration::from_millis(500);

/// What an error of all ranks alike leaves to rank 0 to say.
const LATER: Duration = Duration::from_millis(1500);

/// What a silent rank leaves to the rank before to say, and MPI to end all others: a second from its
/// SIGTERM to its SIGKILL, and more where they are busy.
const TURN: Duration = Duration::from_secs(3);

impl World {
    /// Joins the others.
    pub fn join(silence: u16) -> Result<&'static Self> {
        if let Some(world) = WORLD.get() {
            return Ok(world);
        }
        let (mut rank, mut size, mut given) = (0, 0, 0);
        // SAFETY: called once, before any other function of MPI; it may be told nothing of the
        // command line, and writes the numbers alone.
        unsafe {
            let asked = ffi::RSMPI_THREAD_SERIALIZED;
            ffi::MPI_Init_thread(null_mut(), null_mut(), asked, &mut given);
            ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank);
            ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut size);
            ensure!(
                given >= asked,
                "this MPI is built for programs of one thread; use one with MPI_THREAD_SERIALIZED"
            );
        }
        let since = Since::default();
        let (rank, size) = (rank as usize, size as usize);
        let silence = Duration::from_secs(silence.into());
        let hosts = vec![host(); size];
        let (since, calls, mail) = (Mutex::new(since), Mutex::default(), OnceLock::new());
        let mut world = Self { rank, size, hosts, silence, since, calls, mail };
        let mut name = world.hosts[rank].clone().into_bytes();
        name.resize(NAME, 0);
        let mut names = vec![vec![0; NAME]; size];
        world.exchange(&vec![&name[..]; size], &mut names)?;
        for (other, name) in names.iter().enumerate().filter(|(other, _)| *other != rank) {
            let text = String::from_utf8_lossy(name);
            world.hosts[other] = text.trim_end_matches('\0').to_string();
        }
        Ok(WORLD.get_or_init(|| world))
    }

    /// The ranks, if this process is one of several.
    pub fn joined() -> Option<&'static Self> {
        WORLD.get()
    }

    /// What carries letters between them; nothing where there is one.
    pub fn post(&'static self) -> Option<Arc<dyn Post>> {
        if self.size == 1 {
            return None;
        }
        let open = || {
            // Threads that are waited for would be waited for in vain.
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                usual(info);
                self.fail("this is a mistake in the program; what was written is whole");
            }));
            Arc::new(Mail::open(self))
        };
        Some(self.mail.get_or_init(open).clone())
    }

    /// How much they had to do with each other; nothing where there was no need to.
    pub fn text(&self) -> Option<String> {
        let Since { exchanges, largest, waited, moved, .. } =
            *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let ranks: &dyn Ranks = self;
        let sums = exchanges.checked_div(ranks.rounds()).filter(|sums| *sums > 0)?;
        let mut hosts = self.hosts.clone();
        hosts.sort();
        hosts.dedup();
        let each = |time: Duration| 1000.0 * time.as_secs_f64() / sums as f64;
        Some(format!(
            "{} ranks on {}: {} sums, {:.2} ms each, {:.2} of these to wait for others; a step sends \
             {:.0} kB from this one",
            self.size,
            if hosts.len() == 1 { hosts[0].clone() } else { format!("{} hosts", hosts.len()) },
            grouped(sums),
            each(waited + moved),
            each(waited),
            (largest as u64 * ranks.rounds()) as f64 / 1000.0,
        ))
    }

    /// The end of a run that went well.
    pub fn leave(&self) {
        if let Some(mail) = self.mail.get() {
            mail.close();
        }
        self.gather();
        // SAFETY: MPI is up, and nobody calls it any more.
        unsafe {
            ffi::MPI_Finalize();
        }
    }

    /// Comes back when all ranks are here: MPI itself would wait for one that hangs without a limit.
    /// Rank 0 calls, which alone has work behind the last step, and the others wait until it does.
    fn gather(&self) {
        let mut answers = vec![[0_u8]; self.size];
        let mut asked = Asked(Vec::new());
        if self.rank > 0 {
            asked.receive(&mut answers[0], 0, DATA, MOST);
            while !asked.is_done() {
                thread::sleep(REST);
            }
            asked.send(&[1], 0, DATA, MOST);
        } else {
            for (other, answer) in answers.iter_mut().enumerate().skip(1) {
                asked.receive(answer, other, DATA, MOST);
                asked.send(&[1], other, DATA, MOST);
            }
        }
        let mut wait = Wait::new();
        while !asked.is_done() {
            thread::sleep(REST);
            if wait.look() > self.silence {
                self.give_up(&asked.silent(), self.silence, WHOLE);
            }
        }
    }

    /// The end of a run that did not.
    pub fn fail(&self, error: &str) -> ! {
        if self.rank > 0 {
            // What befalls all is told once.
            thread::sleep(LATER);
        }
        let who = match (self.size, self.rank) {
            (1, _) | (_, 0) => String::new(),
            (_, rank) => format!("{}: ", self.name(rank)),
        };
        eprintln!("error: {who}{error}");
        // One thread at a time calls MPI; but whoever holds it may be the one that fails.
        let calls = (0..100).find_map(|_| match self.calls.try_lock() {
            Err(TryLockError::WouldBlock) => {
                thread::sleep(Duration::from_millis(10));
                None
            }
            other => Some(other),
        });
        // SAFETY: MPI is up; this does not come back.
        unsafe {
            ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1);
        }
        drop(calls);
        std::process::exit(1)
    }

    /// Bytes of the messages to and from a rank.
    fn most(&self, other: usize) -> usize {
        if self.hosts[other] == self.hosts[self.rank] { MOST } else { UNASKED }
    }

    /// What a rank is called.
    fn name(&self, rank: usize) -> String {
        format!("rank {rank} on {}", self.hosts[rank])
    }

    /// Ends the run because of ranks that say nothing; `cure` says how to go on.
    fn give_up(&self, silent: &[usize], patience: Duration, cure: &str) -> ! {
        let names: Vec<String> = silent.iter().map(|rank| self.name(*rank)).collect();
        self.fail(&format!(
            "{} {} silent for {:.0} s, and the others cannot go on; look whether it is stopped, and \
             its machine up and not out of memory; {cure} (--silence gives more time)",
            names.join(" and "),
            if silent.len() == 1 { "has been" } else { "have been" },
            patience.as_secs_f64(),
        ))
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, to: &[&[u8]], from: &mut [Vec<u8>]) -> Result<(), RankError> {
        let begun = Instant::now();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let patience = self.silence + 4 * (begun - since.worked);
        // The first rank that still answers is the one that speaks.
        let patience = patience + TURN * self.rank.min(3) as u32;
        let others = (0..self.size).filter(|other| *other != self.rank);
        let mut asked = Asked(Vec::new());
        let mut words = vec![[0_u8]; self.size];
        for (other, (message, word)) in from.iter_mut().zip(&mut words).enumerate() {
            if other != self.rank {
                asked.receive(message, other, DATA, self.most(other));
                if message.len() >= LARGE {
                    asked.receive(word, other, HERE, MOST);
                }
            }
        }
        for other in others.clone().filter(|other| to[*other].len() >= LARGE) {
            asked.send(&[1], other, HERE, MOST);
        }
        for other in others.clone() {
            asked.send(to[other], other, DATA, self.most(other));
        }
        since.largest = since.largest.max(others.map(|other| to[other].len()).sum());
        let (mut there, mut wait) = (None, Wait::new());
        while !asked.is_done() {
            let waited = wait.look();
            if there.is_none() && asked.all_are_there() {
                there = Some(waited);
            }
            if waited > patience {
                self.give_up(&asked.silent(), patience, RESUME);
            }
            // Meanwhile this thread of the pool, which may be the only one, makes the next batches.
            if there.is_none() && rayon::yield_now() == Some(Yield::Executed) {
                continue;
            }
            // Whoever waits for long leaves the processor to those who work.
            if waited > EAGER {
                thread::sleep(Duration::from_micros(50));
            } else {
                thread::yield_now();
            }
        }
        let took = begun.elapsed();
        since.exchanges += 1;
        let there = there.unwrap_or(took);
        since.waited += there;
        since.moved += took - there;
        since.worked = Instant::now();
        Ok(())
    }

    fn steps_begin(&self) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        *since = Since { worked: since.worked, ..Since::default() };
    }
}

impl Default for Since {
    fn default() -> Self {
        let [waited, moved] = [Duration::ZERO; 2];
        Self { worked: Instant::now(), exchanges: 0, largest: 0, waited, moved }
    }
}

/// How long a rank has waited for others.
struct Wait {
    waited: Duration,
    looked: Instant,
}

impl Wait {
    fn new() -> Self {
        Self { waited: Duration::ZERO, looked: Instant::now() }
    }

    /// Until now. Who was stopped itself has not waited meanwhile.
    fn look(&mut self) -> Duration {
        let now = Instant::now();
        self.waited += (now - self.looked).min(NAP);
        self.looked = now;
        self.waited
    }
}

/// Messages under way. Whoever has asked must see to it that they are done before their bytes go.
struct Asked(Vec<One>);

struct One {
    request: ffi::MPI_Request,
    other: usize,
    kind: c_int,
    comes: bool,
    done: bool,
}

impl Asked {
    /// In messages of `most` bytes, as it is sent.
    fn receive(&mut self, bytes: &mut [u8], other: usize, kind: c_int, most: usize) {
        for piece in bytes.chunks_mut(most) {
            let (start, length) = (piece.as_mut_ptr().cast::<c_void>(), piece.len() as c_int);
            // SAFETY: constants of the MPI library.
            let (bytes, world) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD) };
            // SAFETY: `exchange` does not come back before the message is there.
            self.ask(other, kind, true, |request| unsafe {
                ffi::MPI_Irecv(start, length, bytes, other as c_int, kind, world, request);
            });
        }
    }

    fn send(&mut self, bytes: &[u8], other: usize, kind: c_int, most: usize) {
        for piece in bytes.chunks(most) {
            let (start, length) = (piece.as_ptr().cast::<c_void>(), piece.len() as c_int);
            // SAFETY: constants of the MPI library.
            let (bytes, world) = unsafe { (ffi::RSMPI_UINT8_T, ffi::RSMPI_COMM_WORLD) };
            // SAFETY: `exchange` does not come back before the message has gone.
            self.ask(other, kind, false, |request| unsafe {
                ffi::MPI_Isend(start, length, bytes, other as c_int, kind, world, request);
            });
        }
    }

    fn ask(
        &mut self,
        other: usize,
        kind: c_int,
        comes: bool,
        start: impl FnOnce(&mut ffi::MPI_Request),
    ) {
        // SAFETY: a constant of the MPI library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        start(&mut request);
        self.0.push(One { request, other, kind, comes, done: false });
    }

    /// Looks after all of them.
    fn is_done(&mut self) -> bool {
        for one in self.0.iter_mut().filter(|one| !one.done) {
            let mut done = 0;
            // SAFETY: the request is under way, and nobody wants its status.
            unsafe {
                ffi::MPI_Test(&mut one.request, &mut done, ffi::RSMPI_STATUS_IGNORE);
            }
            one.done = done != 0;
        }
        self.0.iter().all(|one| one.done)
    }

    /// Whether all ranks whose messages are large have begun to send.
    fn all_are_there(&self) -> bool {
        let mut words = self.0.iter().filter(|one| one.comes && one.kind == HERE).peekable();
        words.peek().is_some() && words.all(|one| one.done)
    }

    /// Whose messages have not come; if they all have, who takes none.
    fn silent(&self) -> Vec<usize> {
        let left = |comes: bool| {
            let left = self.0.iter().filter(move |one| !one.done && one.comes == comes);
            let mut left: Vec<usize> = left.map(|one| one.other).collect();
            left.sort_unstable();
            left.dedup();
            left
        };
        Some(left(true)).filter(|left| !left.is_empty()).unwrap_or_else(|| left(false))
    }
}

/// The name of this machine.
fn host() -> String {
    let mut name = [0 as c_char; 4096];
    let mut length = 0;
    // SAFETY: no MPI writes more than MPI_MAX_PROCESSOR_NAME, which is less.
    unsafe {
        ffi::MPI_Get_processor_name(name.as_mut_ptr(), &mut length);
    }
    let bytes: Vec<u8> = name[..length as usize].iter().map(|byte| *byte as u8).collect();
    let name = String::from_utf8_lossy(&bytes);
    name.chars()
        .scan(0, |length, it| {
            *length += it.len_utf8();
            (*length <= NAME).then_some(it)
        })
        .collect()
}
