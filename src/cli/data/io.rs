//! Options and loops shared by the data commands: input files, output files, progress and counts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::cli::out;
use crate::cli::terminal::{catch_interrupts, estimate_total, exit_with, progress_bar};
use crate::digits::group_digits;
use crate::format::{
    FileSink, Format, GivenViews, Presence, SampleSource, WriteError, all_formats,
};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;
use crate::{data, output};

/// How files of positions are read.
#[derive(Default, clap::Args)]
pub struct Reading {
    /// Format of the files [default: recognised by content]
    #[arg(long, value_name = "NAME", value_parser = Format::named)]
    pub format: Option<&'static Format>,
    /// Point of view of scores: white or side-to-move [default: the format's]
    #[arg(long, value_name = "VIEW", value_parser = point_of_view)]
    score_view: Option<PointOfView>,
    /// Point of view of results: white or side-to-move [default: the format's]
    #[arg(long, value_name = "VIEW", value_parser = point_of_view)]
    result_view: Option<PointOfView>,
}

/// Files to read.
#[derive(clap::Args)]
pub struct InputFiles {
    /// Files of positions in any format, packed or not; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
    /// Bad records to skip in each file
    #[arg(long, value_name = "N", default_value = "0")]
    pub bad_records: u64,
}

/// The file to write, and how.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Writing {
    /// File to write; .gz and .zst pack it, - is standard output
    #[arg(short, long = "out", value_name = "FILE")]
    pub output: PathBuf,
    /// Format to write [default: by the ending of the output]
    #[arg(long, value_name = "NAME", value_parser = Format::named)]
    to: Option<&'static Format>,
    /// Replace an existing output
    #[arg(long)]
    pub overwrite: bool,
}

/// Files to read, and the file to write.
#[derive(clap::Args)]
pub struct ConvertFiles {
    #[command(flatten)]
    pub inputs: InputFiles,
    #[command(flatten)]
    pub writing: Writing,
}

fn point_of_view(name: &str) -> Result<PointOfView, String> {
    PointOfView::named(name).ok_or_else(|| "expected white or side-to-move".to_string())
}

pub fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1".to_string()),
    }
}

impl Reading {
    /// Opens a file that may contain up to `bad_records` bad records.
    pub fn open_source(&self, path: &Path, bad_records: u64) -> Result<SampleSource> {
        Ok(SampleSource::open_file(path, self.format, bad_records)?.seen_by(self.given_views())?)
    }

    /// Returns the points of view that are given.
    pub fn given_views(&self) -> GivenViews {
        GivenViews { scores: self.score_view, results: self.result_view }
    }
}

impl InputFiles {
    /// Reads all files in order and passes on their samples in blocks of whole games.
    pub fn read_each(
        &self,
        what: &'static str,
        mut take: impl FnMut(&SampleSource, &[Sample]) -> Result<()>,
    ) -> Result<PositionCounts> {
        let bar = progress_bar(None, what);
        let mut counts = PositionCounts::default();
        for (file, path) in self.files.iter().enumerate() {
            let mut source = self.reading.open_source(path, self.bad_records)?;
            let mut block = Vec::new();
            while source.next_block(&mut block)? {
                take(&source, &block)?;
                bar.inc(block.len() as u64);
                let files_read = file as f64 + source.share_read();
                estimate_total(&bar, files_read / self.files.len() as f64);
                check_interrupted()?;
                counts.read += block.len() as u64;
                block.clear();
            }
            counts.add_bad_records(&source);
        }
        Ok(counts)
    }
}

impl Writing {
    /// Returns the output format: as given, or by the ending of a name.
    pub fn output_format(&self, path: &Path) -> Result<&'static Format> {
        if let Some(format) = self.to {
            return Ok(format);
        }
        let format = all_formats().find(|format| format.names_path(path));
        format.with_context(|| {
            let written = all_formats().filter(|it| it.writer.is_some());
            let ending = |it: &Format| Some(format!(".{} {}", it.extensions.first()?, it.name));
            let endings: Vec<_> = written.filter_map(ending).collect();
            format!(
                "{} has the ending of no format; name one with --to, or end the name in {}",
                path.display(),
                endings.join(", ")
            )
        })
    }
}

impl ConvertFiles {
    pub fn create_output(&self) -> Result<OutputFile> {
        self.create_at(&self.writing.output)
    }

    /// Creates the output of a command that leaves positions out of games.
    pub fn create_selection(&self) -> Result<OutputFile> {
        let format = self.writing.output_format(&self.writing.output)?;
        ensure!(
            format.facts.games == Presence::Never,
            "{} holds whole games, and positions are left out here; write plain, marlinformat, \
             bulletformat, text or epd",
            format.name
        );
        self.create_output()
    }

    /// Creates an output with another name. Fails if it is an input, or exists.
    pub fn create_at(&self, path: &Path) -> Result<OutputFile> {
        let standard = output::is_standard(path);
        if !standard {
            // An input may be a device, which can be read and written.
            let is_output =
                |input: &&PathBuf| output::is_same(input, path) && !output::is_device(path);
            if let Some(input) = self.inputs.files.iter().find(is_output) {
                bail!("the output {} is also an input; choose another name", input.display());
            }
            out::require_new(&[path], self.writing.overwrite)?;
        }
        let format = self.writing.output_format(path)?;
        let sink = FileSink::create_file(path, format)?;
        Ok(OutputFile { sink, format, standard, count: 0 })
    }

    /// Reads all files once, in order, and passes on their samples in blocks. Prints what the format
    /// `to` does not hold of them.
    pub fn read_to_convert(
        &self,
        what: &'static str,
        to: &Format,
        mut take: impl FnMut(&SampleSource, &[Sample]) -> Result<()>,
    ) -> Result<PositionCounts> {
        let mut last_format = None;
        self.inputs.read_each(what, |source, block| {
            // Once per change of format.
            if last_format.replace(source.format().name) != Some(source.format().name) {
                print_losses(source.format(), to);
            }
            take(source, block)
        })
    }
}

pub fn print_losses(from: &Format, to: &Format) {
    let lost = data::lost_facts(from, to);
    if !lost.is_empty() {
        eprintln!("{} has no place for {}; {} may hold them", to.name, lost.join(", "), from.name);
    }
}

pub struct OutputFile {
    sink: FileSink,
    pub format: &'static Format,
    /// Whether it is standard output. Then counts go to standard error.
    standard: bool,
    pub count: u64,
}

impl OutputFile {
    pub fn write_sample(&mut self, sample: &Sample) -> Result<()> {
        self.count += 1;
        let holds_games = self.format.facts.games != Presence::Never;
        self.sink.write_sample(sample).map_err(|error| match &error {
            WriteError::Sample { .. } => {
                let skip = ", or leave out what does not fit by `data convert --skip-unfit`";
                let rest = if holds_games { "" } else { skip };
                anyhow!("{error}; write epd, which holds any position{rest}")
            }
            _ => write_error(error),
        })
    }

    /// Renames the finished file and prints the counts, or returns an error with them.
    pub fn finish_counted(self, mut counts: PositionCounts) -> Result<ExitCode> {
        counts.written = self.count;
        let standard = self.standard;
        self.close_file(&counts)?;
        match standard {
            true => eprintln!("{counts}"),
            false => out::print_line(counts)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    pub fn close_file(self, counts: &PositionCounts) -> Result<()> {
        match self.sink.finish_file() {
            Ok(_) => Ok(()),
            Err(error @ WriteError::Empty(_)) => bail!("{error}: {counts}"),
            Err(error) => Err(write_error(error)),
        }
    }
}

/// Converts a write error to the program's. A closed pipe, as of `head`, ends it without an error.
fn write_error(error: WriteError) -> anyhow::Error {
    if let WriteError::Output(error) = &error
        && error.is_closed_pipe()
    {
        exit_with(0);
    }
    error.into()
}

/// Fails after Ctrl-C, so that a half-written file is removed.
pub fn check_interrupted() -> Result<()> {
    ensure!(!catch_interrupts().load(Ordering::SeqCst), "interrupted; nothing was written");
    Ok(())
}

#[derive(Default)]
pub struct PositionCounts {
    pub read: u64,
    pub written: u64,
    /// Positions, records or games that are not written, by reason.
    pub left_out: Vec<(String, u64)>,
}

impl PositionCounts {
    pub fn add_skipped(&mut self, reason: &str, count: u64) {
        match self.left_out.iter_mut().find(|(known, _)| known == reason) {
            Some((_, sum)) => *sum += count,
            None if count > 0 => self.left_out.push((reason.to_string(), count)),
            None => {}
        }
    }

    /// Counts and prints records that a reader skipped.
    pub fn add_bad_records(&mut self, source: &SampleSource) {
        let bad = source.bad_records();
        for record in &bad.first {
            eprintln!("{}, {record}; skipped", source.path().display());
        }
        if let Some(unread) = source.unread_comments() {
            eprintln!("{}: {unread}; {}", source.path().display(), unread.cure);
        }
        self.add_skipped("bad records", bad.count);
        self.add_skipped("games without a result", source.unfinished_games());
    }
}

impl fmt::Display for PositionCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [read, written] = [self.read, self.written].map(group_digits);
        write!(f, "{read} positions read, {written} written")?;
        for (i, (reason, count)) in self.left_out.iter().enumerate() {
            let separator = if i == 0 { "; left out: " } else { ", " };
            write!(f, "{separator}{reason} {}", group_digits(*count))?;
        }
        Ok(())
    }
}
