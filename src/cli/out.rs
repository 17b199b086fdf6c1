//! Output of the commands: results to stdout, progress to stderr, either of which may be closed.

use std::fmt::{Arguments, Display};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use super::terminal::above_bars;
use crate::draw::page::MARK;
use crate::input;
use crate::output::{self, Output};
use crate::report::{self, WIDTH};

/// Replaces the standard macro, which panics on a closed pipe: a long run must not end because
/// `tee` did.
macro_rules! eprintln {
    () => { $crate::cli::out::note(format_args!("")) };
    ($($text:tt)*) => { $crate::cli::out::note(format_args!($($text)*)) };
}

/// Results of the command that another command runs; none otherwise.
static CAPTURED: Mutex<Option<String>> = Mutex::new(None);

fn captured() -> MutexGuard<'static, Option<String>> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command; returns what it would print as results. Remarks are dropped.
pub fn capture<T>(run: impl FnOnce() -> T) -> (T, String) {
    *captured() = Some(String::new());
    let ended = run();
    (ended, captured().take().unwrap_or_default())
}

/// Escapes control characters and those that change the direction of text, which may come from paths
/// and data; line ends and tabs stay.
fn visible(text: &str) -> String {
    let turns = |letter| matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let stays =
        |letter: char| matches!(letter, '\n' | '\t') || !letter.is_control() && !turns(letter);
    let shown = |letter: char| {
        if stays(letter) { letter.into() } else { letter.escape_unicode().to_string() }
    };
    text.chars().map(shown).collect()
}

/// Writes a line to standard error; failures are ignored.
pub fn note(text: Arguments) {
    if captured().is_some() {
        return;
    }
    // A single write, so that output of other processes cannot interleave.
    above_bars(|| drop(io::stderr().write_all((visible(&text.to_string()) + "\n").as_bytes())));
}

/// Fails if a file exists, unless `overwrite`.
pub fn require_new(paths: &[&Path], overwrite: bool) -> Result<()> {
    let there = |path: &&&Path| path.exists() && !output::is_device(path);
    let there: Vec<String> =
        paths.iter().filter(there).map(|path| path.display().to_string()).collect();
    ensure!(
        overwrite || there.is_empty(),
        "{} exist{} already; replace {} with --overwrite, or choose another name",
        there.join(", "),
        if there.len() == 1 { "s" } else { "" },
        if there.len() == 1 { "it" } else { "them" }
    );
    Ok(())
}

/// Opens and drops the file of a page, so that an unwritable one is found before the long work.
/// Fails if it cannot be written, or exists and is not a page of ours.
pub fn require_page(path: &Path) -> Result<()> {
    if path.exists() {
        let mark = format!("name=\"generator\" content=\"{MARK}\"");
        let mut head = Vec::new();
        let read = input::regular(path).and_then(|()| File::open(path));
        let _ = read.map(|file| file.take(1000).read_to_end(&mut head));
        ensure!(
            output::is_device(path) || String::from_utf8_lossy(&head).contains(&mark),
            "{} exists and is no page of nnuance; choose another name with -o",
            path.display()
        );
    }
    if !output::is_device(path) {
        Output::create(path)?;
    }
    Ok(())
}

/// Prints help, or the error of a command line.
pub fn usage(usage: &clap::Error) -> Result<ExitCode> {
    let shown = usage.print();
    // A usage error keeps its exit code, even if it cannot be printed.
    if !usage.use_stderr() {
        ended(shown)?;
    }
    Ok(ExitCode::from(usage.exit_code() as u8))
}

/// Formats a command in lines that a shell takes, to stand behind five characters.
pub fn command<S: AsRef<str>>(words: &[S]) -> String {
    let quoted = words.iter().map(AsRef::as_ref).map(|word| match word.contains([' ', '"']) {
        true => format!("'{word}'"),
        false => word.to_string(),
    });
    let quoted: Vec<String> = quoted.collect();
    report::lines(quoted.iter().map(String::as_str), WIDTH - 7).join(" \\\n     ")
}

/// The program as the user called it, if by a relative path such as `./nnuance`, else by its name.
fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let is_relative = called.contains(['/', '\\']) && Path::new(&called).is_relative();
    if is_relative { called } else { "nnuance".to_string() }
}

/// Next steps: commands of this program, one after the other.
pub fn next(commands: &[Vec<&str>]) -> String {
    let program = program();
    list_next(commands.iter().map(|words| [&[&program[..]], &words[..]].concat()))
}

/// Next steps in a folder below the current one.
pub fn next_in(folder: &str, commands: &[Vec<&str>]) -> String {
    let program = match program() {
        name if name == "nnuance" => name,
        path => format!("../{path}"),
    };
    let commands = commands.iter().map(|words| [&[&program[..]], &words[..]].concat());
    list_next(std::iter::once(vec!["cd", folder]).chain(commands))
}

fn list_next<S: AsRef<str>>(commands: impl Iterator<Item = Vec<S>>) -> String {
    let line = |(number, words): (usize, Vec<S>)| {
        let title = if number == 0 { "next" } else { "" };
        format!("{title:<6}{}", command(&words))
    };
    commands.enumerate().map(line).collect::<Vec<_>>().join("\n")
}

pub fn result(json: bool, value: &impl Serialize, text: impl Display) -> Result<()> {
    match json {
        true => line(serde_json::to_string_pretty(value)?),
        false => line(text.to_string().trim_end()),
    }
}

/// Writes a line. A closed pipe, as of `head`, is no error.
pub fn line(text: impl Display) -> Result<()> {
    lines([Ok(visible(&text.to_string()))])
}

/// Writes lines up to the first error, or until the pipe is closed; the rest is not computed.
pub fn lines<T: Display>(lines: impl IntoIterator<Item = Result<T>>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut failed = Ok(());
    for line in lines {
        let written = match line {
            Ok(line) => match &mut *captured() {
                Some(text) => {
                    *text += &format!("{line}\n");
                    Ok(())
                }
                None => writeln!(out, "{line}"),
            },
            Err(error) => {
                failed = Err(error);
                break;
            }
        };
        if written.is_err() {
            return ended(written);
        }
    }
    // Lines before an error are valid.
    ended(out.flush()).and(failed)
}

fn ended(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}
