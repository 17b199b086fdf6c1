//! Input that may keep its reader waiting: standard input, pipes, devices.
//!
//! A thread of its own opens and reads it, so that whoever waits can be told to stop: to open a
//! pipe that nobody writes to lasts for ever, and no signal ends it.

use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

static STOPPED: AtomicBool = AtomicBool::new(false);

/// Ends all waiting: from now on, input that does not come is an error.
pub fn stop() {
    STOPPED.store(true, Ordering::SeqCst);
}

/// Whether [`stop`] made this error.
pub fn is_stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Stopped>())
}

#[derive(Debug, thiserror::Error)]
#[error("interrupted while waiting for it")]
struct Stopped;

const PIECE: usize = 1 << 16;
/// Pieces that are read ahead.
const AHEAD: usize = 4;
/// How soon a wait notices that it is to end.
const TICK: Duration = Duration::from_millis(50);

/// Such an input being read.
pub struct Pipe {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
}

impl Pipe {
    /// Begins to open and to read.
    pub fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> Self {
        let (sender, pieces) = sync_channel(AHEAD);
        thread::spawn(move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => {
                    // Nobody left to hear it is no error, here and below.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            loop {
                let mut piece = vec![0; PIECE];
                let read = match input.read(&mut piece) {
                    Ok(0) => return,
                    Ok(length) => {
                        piece.truncate(length);
                        Ok(piece)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        });
        Self { pieces, piece: Cursor::default() }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.position() == self.piece.get_ref().len() as u64 {
            self.piece = match self.pieces.recv_timeout(TICK) {
                Ok(piece) => Cursor::new(piece?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if STOPPED.load(Ordering::SeqCst) => {
                    return Err(io::Error::other(Stopped));
                }
                Err(RecvTimeoutError::Timeout) => continue,
            };
        }
        self.piece.read(buffer)
    }
}
