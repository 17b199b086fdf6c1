//! What the data commands share: files in, files out, and the count of what became of positions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::pace::Pace;
use super::tally::Tally;
use crate::cli::out;
use crate::cli::progress::interrupts;
use crate::data::carry;
use crate::digits::grouped;
use crate::format::view::{self, Of};
use crate::format::{ALL, Format, Holds, ReadError, Sink, Source, View, WriteError};
use crate::output;
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// Files to read.
#[derive(clap::Args)]
pub struct Inputs {
    /// Files of positions in any format, packed or not; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Format of the files [default: by their content]
    #[arg(long, alias = "from", value_name = "NAME", value_parser = format)]
    pub format: Option<&'static Format>,
    /// Who sees scores and results in the files, white or side-to-move [default: as is usual]
    #[arg(long, alias = "view", value_name = "VIEW", value_parser = point_of_view)]
    point_of_view: Option<PointOfView>,
    /// Bad records to skip, a file
    #[arg(long, value_name = "N", default_value = "0")]
    pub bad_records: u64,
}

/// How files are written.
#[derive(clap::Args)]
pub struct Writing {
    /// Format to write [default: by the ending of the output; -, standard output, needs it]
    #[arg(long, value_name = "NAME", value_parser = format)]
    to: Option<&'static Format>,
    /// Replace an output that exists
    #[arg(long)]
    overwrite: bool,
}

pub fn format(name: &str) -> Result<&'static Format, String> {
    Format::named(name).ok_or_else(|| {
        format!("no such format, known are {}", ALL.map(|format| format.name).join(", "))
    })
}

fn point_of_view(name: &str) -> Result<PointOfView, String> {
    PointOfView::named(name).ok_or_else(|| "expected white or side-to-move".to_string())
}

pub fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err("expected a number between 0 and 1".to_string()),
    }
}

/// A count of positions or games, 1 or more.
pub fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected 1 or more".to_string()),
    }
}

impl Inputs {
    /// Opens one of the files.
    pub fn open(&self, path: &Path) -> Result<Source> {
        let source = Source::open(path, self.format, self.bad_records).map_err(worded)?;
        match self.point_of_view {
            Some(view) => source.seen_by(view).map_err(worded),
            None => Ok(source),
        }
    }

    /// Reads all files once, in order, and hands on their samples in blocks.
    pub fn each(
        &self,
        what: &str,
        take: impl FnMut(&Source, &[Sample]) -> Result<()>,
    ) -> Result<Tally> {
        self.read(what, |source| source, take)
    }

    /// The same for commands that write games: positions that are left out of theirs come, too,
    /// marked. No block ends within a game.
    pub fn each_of_games(
        &self,
        what: &str,
        take: impl FnMut(&Source, &[Sample]) -> Result<()>,
    ) -> Result<Tally> {
        self.read(what, Source::whole_games, take)
    }

    fn read(
        &self,
        what: &str,
        as_wanted: fn(Source) -> Source,
        mut take: impl FnMut(&Source, &[Sample]) -> Result<()>,
    ) -> Result<Tally> {
        let mut pace = Pace::new(what);
        let mut tally = Tally::default();
        for path in &self.files {
            let mut source = as_wanted(self.open(path)?);
            let mut block = Vec::new();
            let mut first = true;
            while source.next_block(&mut block).map_err(worded)? {
                if std::mem::take(&mut first) {
                    warn_of_view(&source, &block);
                }
                take(&source, &block)?;
                pace.step(block.len() as u64)?;
                tally.read += block.iter().filter(|sample| !sample.is_left_out()).count() as u64;
                block.clear();
            }
            tally.bad(&source);
        }
        pace.finish();
        Ok(tally)
    }

    /// Whether positions are left out of their games in any file, or may be in one that cannot be
    /// read twice.
    fn have_gaps(&self) -> Result<bool> {
        for path in &self.files {
            if !path.is_file() {
                return Ok(true);
            }
            let mut source = self.open(path)?;
            if !source.format().writer.is_some_and(|writer| writer().marks()) {
                continue;
            }
            let mut block = Vec::new();
            while source.next_block(&mut block).map_err(worded)? {
                if source.left_out() > 0 {
                    return Ok(true);
                }
                interrupted()?;
                block.clear();
            }
        }
        Ok(false)
    }

    /// An error where a command must read the files more than once and one of them is a pipe.
    pub fn refuse_pipe(&self, why: &str) -> Result<()> {
        let pipe = |path: &&PathBuf| *path == Path::new("-") || output::is_device(path);
        match self.files.iter().find(pipe) {
            Some(dash) if dash == Path::new("-") => {
                bail!("standard input can be read only once, and {why}; write it to a file first")
            }
            Some(path) => bail!(
                "{} is a pipe or a device, which can be read only once, and {why}; write it to a \
                 file first",
                path.display()
            ),
            None => Ok(()),
        }
    }
}

/// Says so where results or scores look as if others saw them; the doctor says more.
fn warn_of_view(source: &Source, block: &[Sample]) {
    if matches!(source.format().view, View::Usual(_)) {
        let colours = source.format().facts.colours != Holds::Never;
        let verdict = view::measure(block, Of::Result, colours);
        if let Some(reason) = verdict.contradiction(source.view()) {
            let cure = reason.replace("set data.point_of_view = ", "pass --point-of-view ");
            eprintln!("warning: {}: {}", source.path().display(), cure.replace('"', ""));
        }
    }
}

/// The cure is an option here, not a key of a config.
pub fn worded(error: ReadError) -> anyhow::Error {
    match error {
        ReadError::Bad { path, bad, limit } => {
            let cure = match limit {
                0 => "to skip up to N bad records, pass --bad-records N".to_string(),
                _ => format!("one more bad record than --bad-records {limit} allows"),
            };
            anyhow!("{}, {bad} ({cure})", path.display())
        }
        ReadError::View { path, format, view } => anyhow!(
            "{} is {format}, whose scores and results are always seen by {view}; leave --point-of-view \
             out",
            path.display()
        ),
        ReadError::Unrecognised { path, looks } => anyhow!(
            "cannot tell the positions in {}: {}",
            path.display(),
            looks.replace("set data.format = ", "pass --format ").replace('"', "")
        ),
        other => other.into(),
    }
}

impl Writing {
    /// The format to write to a path: as said, or by the ending of its name.
    pub fn format(&self, path: &Path) -> Result<&'static Format> {
        if let Some(format) = self.to {
            return Ok(format);
        }
        let mut name = path.to_path_buf();
        if name.extension().is_some_and(|end| ["gz", "zst", "xz"].iter().any(|&it| end == it)) {
            name.set_extension("");
        }
        let ending = name.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        let found = ALL.iter().copied().find(|format| format.extensions.contains(&ending));
        found.with_context(|| {
            let usual = ALL.iter().filter(|it| it.writer.is_some());
            let usual: Vec<_> =
                usual.map(|it| format!(".{} {}", it.extensions[0], it.name)).collect();
            format!(
                "the ending of {} tells no format; name it with --to, or end the name in {}",
                path.display(),
                usual.join(", ")
            )
        })
    }

    /// Refuses an output that is an input, or that exists already.
    pub fn check(&self, path: &Path, inputs: &Inputs) -> Result<()> {
        if output::is_standard(path) {
            return Ok(());
        }
        // The name of an input may be that of a device, which is both read and written into.
        let same = |input: &&PathBuf| output::same(input, path) && !output::is_device(path);
        if let Some(input) = inputs.files.iter().find(same) {
            bail!("the output {} is also an input; choose another name", input.display());
        }
        out::refuse_existing(&[path], self.overwrite)?;
        out::sweep(path);
        Ok(())
    }

    /// Begins a file.
    pub fn create(&self, path: &Path, inputs: &Inputs) -> Result<Written> {
        self.check(path, inputs)?;
        let format = self.format(path)?;
        let standard = output::is_standard(path);
        let sink = Sink::create(path, format)?;
        let (path, told, no_games) = (path.to_path_buf(), Vec::new(), None);
        let written = Written { path, sink, format, standard, told, no_games, count: 0 };
        if written.loses_gaps() && inputs.have_gaps()? {
            return Ok(written.with_gaps());
        }
        Ok(written)
    }
}

/// A file being written.
pub struct Written {
    path: PathBuf,
    sink: Sink,
    pub format: &'static Format,
    /// Whether it goes to standard output; then counts go to standard error.
    pub standard: bool,
    /// The formats whose losses were told.
    told: Vec<&'static str>,
    /// Why games are unknown in it, if they are forgotten.
    no_games: Option<String>,
    pub count: u64,
}

impl Written {
    /// For commands that may leave positions out: where the format cannot mark them in their
    /// games, games are unknown.
    pub fn with_gaps(self) -> Self {
        if !self.loses_gaps() {
            return self;
        }
        let why = format!("{} cannot mark what is left out of a game", self.format.name);
        self.without_games(why)
    }

    /// Whether the format holds games, but no marks in them.
    fn loses_gaps(&self) -> bool {
        self.format.facts.games != Holds::Never && !self.sink.marks()
    }

    /// Games are unknown in the file, whatever samples say.
    pub fn without_games(mut self, why: String) -> Self {
        if self.format.facts.games != Holds::Never {
            self.sink.forget_games();
            self.no_games = Some(why);
        }
        self
    }

    /// Says in one line what positions of a file lose here, once a format.
    pub fn tell_losses(&mut self, source: &Source) {
        let from = source.format();
        if self.told.contains(&from.name) {
            return;
        }
        self.told.push(from.name);
        let lost = carry::lost(from, self.format);
        if !lost.is_empty() {
            eprintln!(
                "{} does not hold {}, which {} may",
                self.format.name,
                lost.join(", "),
                from.name
            );
        }
    }

    /// Adds a sample, or leaves it out if it was left out of its game before.
    pub fn write(&mut self, sample: &Sample) -> Result<()> {
        self.write_or(sample, "")
    }

    /// The same with a cure for samples that the format cannot hold.
    pub fn write_or(&mut self, sample: &Sample, cure: &str) -> Result<()> {
        if sample.is_left_out() {
            return self.leave_out(sample);
        }
        self.count += 1;
        self.sink.write(sample).map_err(|error| match error {
            WriteError::Sample { .. } => anyhow!("{error}{cure}"),
            error => unread(error),
        })
    }

    /// Leaves a sample out, marked in its game where the format can do that.
    pub fn leave_out(&mut self, sample: &Sample) -> Result<()> {
        self.sink.leave_out(sample).map_err(unread)
    }

    /// Gives the file its name and prints the counts; they are part of the error if nothing was
    /// written.
    pub fn finish(self, mut tally: Tally) -> Result<ExitCode> {
        tally.written = self.count;
        let standard = self.standard;
        self.close(&tally)?;
        match standard {
            true => eprintln!("{tally}"),
            false => out::line(tally)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Gives the file its name, and says what became of games.
    pub fn close(self, tally: &Tally) -> Result<()> {
        let told = match self.sink.finish() {
            Ok(finished) => finished.told,
            Err(error @ WriteError::Empty(_)) => bail!("{error}: {tally}"),
            Err(error) => return Err(unread(error)),
        };
        let path = self.path.display();
        if told.marked > 0 {
            let marked = grouped(told.marked);
            eprintln!(
                "{path}: games stay whole; {marked} positions in them are marked as left out"
            );
        }
        if told.games_lost {
            let said = carry::games_unknown(self.format, self.no_games.as_deref());
            eprintln!("{path}: {said}");
        }
        Ok(())
    }
}

/// Ends the program where nobody reads what it writes any more, as `head` does: no failure.
fn unread(error: WriteError) -> anyhow::Error {
    if let WriteError::Output(error) = &error
        && error.is_closed_pipe()
    {
        std::process::exit(0);
    }
    error.into()
}

/// An error after Ctrl-C, so that what is half written goes away.
pub fn interrupted() -> Result<()> {
    ensure!(!interrupts().load(Ordering::SeqCst), "interrupted; nothing was written");
    Ok(())
}
