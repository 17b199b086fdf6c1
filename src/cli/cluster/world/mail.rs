//! Letters between rank 0 and the others, which may go at any time, and signs of life: a game may
//! take long, and is no reason to think that its rank hangs. A rank that is asked to stop hands that
//! on to rank 0, which decides when all do.

use std::ffi::c_int;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mpi::ffi;

use super::{Asked, MOST, NAP, TURN, World};
use crate::cli::progress::{interrupt, interrupts};
use crate::engine::post::Post;

/// The number of this kind of messages.
const MAIL: c_int = 3;

/// The first byte of each.
const ALIVE: u8 = 0;
const FAREWELL: u8 = 1;
const LETTER: u8 = 2;
const STOP: u8 = 3;

/// How long the thread rests between two looks, unless there is a letter to send. Players need the
/// processor more than letters do: to look ten times as often cost a tenth of it.
const REST: Duration = Duration::from_millis(1);

/// Signs of life are given so often, or eight times as often as they are missed.
const PULSE: Duration = Duration::from_secs(1);

/// The letters of this rank.
pub struct Mail {
    world: &'static World,
    out: Sender<(usize, Vec<u8>)>,
    come: Mutex<Receiver<(usize, Vec<u8>)>>,
    /// Whether this rank has no more to say.
    closing: Arc<AtomicBool>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Mail {
    /// Begins to give signs of life, and to listen for those of others.
    pub fn open(world: &'static World) -> Self {
        let ((out, letters), (arrivals, come)) = (channel(), channel());
        let closing = Arc::<AtomicBool>::default();
        let closes = closing.clone();
        let keeper = thread::spawn(move || Keeper::new(world, letters, arrivals).keep(&closes));
        let (come, keeper) = (Mutex::new(come), Mutex::new(Some(keeper)));
        Self { world, out, come, closing, keeper }
    }

    /// Says farewell, and waits until the others have.
    pub fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            keeper.join().expect("a thread that panics ends the process");
        }
    }
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mail of rank {}", self.world.rank)
    }
}

impl Post for Mail {
    fn rank(&self) -> usize {
        self.world.rank
    }

    fn size(&self) -> usize {
        self.world.size
    }

    fn name(&self, rank: usize) -> String {
        self.world.name(rank)
    }

    fn send(&self, to: usize, letter: Vec<u8>) {
        self.out.send((to, letter)).expect("the keeper is there until the end");
    }

    fn receive(&self) -> Option<(usize, Vec<u8>)> {
        self.come.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}

/// The only thread that sends and receives.
struct Keeper {
    world: &'static World,
    letters: Receiver<(usize, Vec<u8>)>,
    arrivals: Sender<(usize, Vec<u8>)>,
    /// Rank 0, or all others.
    peers: Vec<Peer>,
    going: Vec<Moving>,
    /// Set by a signal to this rank.
    stop: Arc<AtomicBool>,
    said_stop: bool,
    said_farewell: bool,
}

/// One that this rank has to do with.
struct Peer {
    rank: usize,
    heard: Instant,
    coming: Option<Moving>,
    has_left: bool,
}

/// A message under way, whose bytes stay where they are.
struct Moving {
    bytes: Vec<u8>,
    asked: Asked,
}

impl Keeper {
    fn new(
        world: &'static World,
        letters: Receiver<(usize, Vec<u8>)>,
        arrivals: Sender<(usize, Vec<u8>)>,
    ) -> Self {
        let ranks = if world.rank == 0 { 1..world.size } else { 0..1 };
        let heard = Instant::now();
        let peer = |rank| Peer { rank, heard, coming: None, has_left: false };
        let peers = ranks.map(peer).collect();
        Self {
            world,
            letters,
            arrivals,
            peers,
            going: Vec::new(),
            stop: interrupts(),
            said_stop: false,
            said_farewell: false,
        }
    }

    fn keep(mut self, closes: &AtomicBool) {
        let (mut looked, mut pulsed) = (Instant::now(), Instant::now());
        let pulse = PULSE.min(self.world.silence / 8);
        loop {
            // Asked before the last letters are taken.
            let closing = closes.load(Ordering::SeqCst);
            let mut letter = self.letters.recv_timeout(REST).ok();
            let now = Instant::now();
            // Who was stopped itself has not waited for others.
            let asleep = (now - looked).saturating_sub(NAP);
            looked = now;
            self.peers.iter_mut().for_each(|peer| peer.heard += asleep);

            let calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some((to, bytes)) = letter {
                self.send(to, LETTER, &bytes);
                letter = self.letters.try_recv().ok();
            }
            if self.world.rank > 0 && !self.said_stop && self.stop.load(Ordering::SeqCst) {
                self.said_stop = true;
                self.send_all(STOP);
            }
            if now - pulsed >= pulse && !self.said_farewell {
                pulsed = now;
                self.send_all(ALIVE);
            }
            self.receive(now);
            let all_have_left = self.peers.iter().all(|peer| peer.has_left);
            // Rank 0 is the last, so that all are looked after until then.
            if closing && !self.said_farewell && (self.world.rank > 0 || all_have_left) {
                self.said_farewell = true;
                self.send_all(FAREWELL);
            }
            self.going.retain_mut(|moving| !moving.asked.is_done());
            drop(calls);

            if self.said_farewell && all_have_left && self.going.is_empty() {
                return;
            }
            self.miss(now);
        }
    }

    fn send(&mut self, to: usize, kind: u8, letter: &[u8]) {
        let mut moving = Moving { bytes: [&[kind], letter].concat(), asked: Asked(Vec::new()) };
        moving.asked.send(&moving.bytes, to, MAIL, MOST);
        self.going.push(moving);
    }

    fn send_all(&mut self, kind: u8) {
        for place in 0..self.peers.len() {
            self.send(self.peers[place].rank, kind, &[]);
        }
    }

    /// Looks for messages, and takes in those that have come.
    fn receive(&mut self, now: Instant) {
        for peer in &mut self.peers {
            loop {
                if peer.coming.is_none() {
                    peer.coming = waiting(peer.rank).map(|length| {
                        let mut moving =
                            Moving { bytes: vec![0; length], asked: Asked(Vec::new()) };
                        moving.asked.receive(&mut moving.bytes, peer.rank, MAIL, MOST);
                        moving
                    });
                }
                let Some(Moving { mut bytes, .. }) =
                    peer.coming.take_if(|moving| moving.asked.is_done())
                else {
                    break;
                };
                peer.heard = now;
                let letter = bytes.split_off(1);
                match bytes[0] {
                    FAREWELL => peer.has_left = true,
                    STOP if interrupt(&self.stop) => {
                        let name = self.world.name(peer.rank);
                        eprintln!("\n{name} was told to stop; stopping behind what is under way");
                    }
                    LETTER => {
                        // Nobody may be there to read it any more.
                        let _ = self.arrivals.send((peer.rank, letter));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Ends the process if somebody has been silent for too long.
    fn miss(&self, now: Instant) {
        // The first rank that still answers is the one that speaks.
        let patience = self.world.silence + TURN * self.world.rank.min(3) as u32;
        let silent =
            |peer: &&Peer| !peer.has_left && now.saturating_duration_since(peer.heard) > patience;
        let silent: Vec<usize> = self.peers.iter().filter(silent).map(|peer| peer.rank).collect();
        if !silent.is_empty() {
            self.world.give_up(
                &silent,
                patience,
                "the same command goes on, with any number of processes, behind what was written",
            );
        }
    }
}

/// The length of the next message of a rank, if there is one.
fn waiting(from: usize) -> Option<usize> {
    let (mut is_there, mut length) = (0, 0);
    let mut status = MaybeUninit::<ffi::MPI_Status>::zeroed();
    // SAFETY: the world is up, and a status that is asked about was written.
    unsafe {
        let world = ffi::RSMPI_COMM_WORLD;
        ffi::MPI_Iprobe(from as c_int, MAIL, world, &mut is_there, status.as_mut_ptr());
        if is_there != 0 {
            ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut length);
        }
    }
    (is_there != 0).then_some(length as usize)
}
