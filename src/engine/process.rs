//! A program that is talked to in lines and watched by a clock.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::clock::Deadline;

/// No engine says more in a line; one that does talks nonsense, and must not fill the memory.
const LONGEST: u64 = 1 << 16;
/// Lines that wait to be read. A program that says more waits, too.
const WAITING: usize = 256;
/// Milliseconds that a program which closed its output may take to end, so that its status can be
/// told.
const FAREWELL: u64 = 500;

/// Why a program has no more to say.
#[derive(Debug, thiserror::Error)]
pub enum Silence {
    #[error("ended by itself ({0})")]
    Ended(String),
    #[error("did not answer within {0} ms")]
    Late(u64),
    #[error("cannot be talked to ({0})")]
    Io(#[from] io::Error),
}

/// A running program; dropped, it is killed.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<io::Result<String>>,
}

impl Process {
    /// Starts a program. What it says on its error output is not looked at.
    pub fn start(program: &Path, arguments: &[String]) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            // Ctrl-C in a terminal goes to a whole group; the engines are to finish their item.
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("the output was piped");
        let (sender, lines) = sync_channel(WAITING);
        thread::spawn(move || listen(output, &sender));
        Ok(Self { child, input, lines })
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) -> Result<(), Silence> {
        let input = self.input.as_mut().expect("the input is open until the drop");
        let sent = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        sent.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => self.ended(),
            _ => Silence::Io(error),
        })
    }

    /// The next line, without its end.
    pub fn line(&mut self, deadline: Deadline) -> Result<String, Silence> {
        let late = || Silence::Late(deadline.patience_ms());
        let left = deadline.left();
        if left.is_zero() {
            return Err(late());
        }
        match self.lines.recv_timeout(left) {
            Ok(line) => Ok(line?),
            Err(RecvTimeoutError::Timeout) => Err(late()),
            Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    fn ended(&mut self) -> Silence {
        let deadline = Deadline::after(FAREWELL);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Silence::Ended(status.to_string()),
                Ok(None) if !deadline.left().is_zero() => {
                    thread::sleep(Duration::from_millis(5));
                }
                Ok(None) => return Silence::Ended("it closed its output".to_string()),
                Err(error) => return Silence::Io(error),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The end of its input also stops an engine that a script started and `kill` cannot reach.
        self.input = None;
        // It may have ended before; there is nobody left to tell of anything else.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands on line by line until the program closes its output or nobody listens any more.
fn listen(output: impl Read, sender: &SyncSender<io::Result<String>>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = output.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        let said = match read {
            Ok(0) => return,
            Ok(length) if length as u64 == LONGEST => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it said a line without end"))
            }
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim().to_string()),
            Err(error) => Err(error),
        };
        let broken = said.is_err();
        if sender.send(said).is_err() || broken {
            return;
        }
    }
}
