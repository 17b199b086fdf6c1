//! Output of the commands: results to stdout, progress to stderr, either of which may be closed.

use std::fmt::{Arguments, Display};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use super::terminal::write_above_bars;
use crate::draw::page::MARK;
use crate::input;
use crate::output::{self, Output};
use crate::report::{self, WIDTH};

/// Replaces the standard macro, which panics on a closed pipe. A long run must not end because
/// `tee` ended.
macro_rules! eprintln {
    () => { $crate::cli::out::print_note(format_args!("")) };
    ($($text:tt)*) => { $crate::cli::out::print_note(format_args!($($text)*)) };
}

/// Results of a command that another command runs; None otherwise.
static CAPTURED: Mutex<Option<String>> = Mutex::new(None);

fn lock_capture() -> MutexGuard<'static, Option<String>> {
    CAPTURED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command and returns the results it would print. Remarks are dropped.
pub fn capture_output<T>(run: impl FnOnce() -> T) -> (T, String) {
    *lock_capture() = Some(String::new());
    let value = run();
    (value, lock_capture().take().unwrap_or_default())
}

/// Escapes control characters and characters that change the direction of text, which may come from
/// paths and data. Line ends and tabs stay.
fn escape_controls(text: &str) -> String {
    let changes_direction = |letter| matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_safe = |letter: char| {
        matches!(letter, '\n' | '\t') || !letter.is_control() && !changes_direction(letter)
    };
    let escape = |letter: char| {
        if is_safe(letter) { letter.into() } else { letter.escape_unicode().to_string() }
    };
    text.chars().map(escape).collect()
}

/// Writes a line to standard error; failures are ignored.
pub fn print_note(text: Arguments) {
    if lock_capture().is_some() {
        return;
    }
    // A single write, so that output of other processes cannot interleave.
    write_above_bars(|| {
        drop(io::stderr().write_all((escape_controls(&text.to_string()) + "\n").as_bytes()))
    });
}

/// Fails if a file exists, unless `overwrite`.
pub fn require_new(paths: &[impl AsRef<Path>], overwrite: bool) -> Result<()> {
    let is_taken = |path: &&Path| path.exists() && !output::is_device(path);
    let taken = paths.iter().map(AsRef::as_ref).filter(is_taken);
    let taken: Vec<String> = taken.map(|path| path.display().to_string()).collect();
    ensure!(
        overwrite || taken.is_empty(),
        "{} exist{} already; replace {} with --overwrite, or choose another name",
        taken.join(", "),
        if taken.len() == 1 { "s" } else { "" },
        if taken.len() == 1 { "it" } else { "them" }
    );
    Ok(())
}

/// Opens and drops the file of a page, so that an unwritable one fails before the long work. Fails
/// if it cannot be written, or exists and is not our page.
pub fn require_page(path: &Path) -> Result<()> {
    if path.exists() {
        let mark = format!("name=\"generator\" content=\"{MARK}\"");
        let mut head = Vec::new();
        let read = input::require_regular(path).and_then(|()| File::open(path));
        let _ = read.map(|file| file.take(1000).read_to_end(&mut head));
        ensure!(
            output::is_device(path) || String::from_utf8_lossy(&head).contains(&mark),
            "{} exists and is no page of nnuance; choose another name with -o",
            path.display()
        );
    }
    if !output::is_device(path) {
        Output::create_file(path)?;
    }
    Ok(())
}

/// Prints help, or the error of a command line.
pub fn print_usage(usage: &clap::Error) -> Result<ExitCode> {
    let printed = usage.print();
    // A usage error keeps its exit code, even if it cannot be printed.
    if !usage.use_stderr() {
        ignore_closed_pipe(printed)?;
    }
    Ok(ExitCode::from(usage.exit_code() as u8))
}

/// Formats a command in lines that a shell accepts. Five characters stand before the first one.
pub fn format_command<S: AsRef<str>>(words: &[S]) -> String {
    let quoted = words.iter().map(AsRef::as_ref).map(|word| match word.contains([' ', '"']) {
        true => format!("'{word}'"),
        false => word.to_string(),
    });
    let quoted: Vec<String> = quoted.collect();
    report::join_lines(quoted.iter().map(String::as_str), WIDTH - 7).join(" \\\n     ")
}

/// Returns the program's relative path, such as `./nnuance`, if the user gave one, else its name.
fn program_name() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let is_relative = called.contains(['/', '\\']) && Path::new(&called).is_relative();
    if is_relative { called } else { "nnuance".to_string() }
}

/// Lists next steps: commands of this program, one after the other. Those in a `folder` within the
/// current one begin with a `cd`.
pub fn list_next_steps(folder: Option<&str>, commands: &[Vec<&str>]) -> String {
    let mut program = program_name();
    if folder.is_some() && program != "nnuance" {
        program.insert_str(0, "../");
    }
    let mut lines: Vec<String> = folder.map(|folder| format!("cd {folder}")).into_iter().collect();
    for words in commands {
        lines.push(format_command(&[&[&program[..]], &words[..]].concat()));
    }
    format!("next  {}", lines.join("\n      "))
}

pub fn print_result(json: bool, value: &impl Serialize, text: impl Display) -> Result<()> {
    match json {
        true => print_line(serde_json::to_string_pretty(value)?),
        false => print_line(text.to_string().trim_end()),
    }
}

/// Writes a line. A closed pipe, as of `head`, is no error.
pub fn print_line(text: impl Display) -> Result<()> {
    print_lines([Ok(escape_controls(&text.to_string()))])
}

/// Writes lines up to the first error, or until the pipe is closed; the rest is not computed.
pub fn print_lines(lines: impl IntoIterator<Item = Result<String>>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut failed = Ok(());
    for line in lines {
        let written = match line {
            Ok(line) => match &mut *lock_capture() {
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
            return ignore_closed_pipe(written);
        }
    }
    // Lines before an error are valid.
    ignore_closed_pipe(out.flush()).and(failed)
}

fn ignore_closed_pipe(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}
