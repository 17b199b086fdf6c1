//! `nnuance data doctor`: is this fit to train on?

mod chart;
mod html;
mod page;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;

use anyhow::{Result, anyhow};
use serde::Serialize;

use crate::cli::out;
use crate::cli::progress::bar;
use crate::data::doctor::{Diagnosis, Exam, Fitted, Keys, Reading};
use crate::draw::Section;
use crate::format::{Format, Source};
use crate::output;
use crate::point_of_view::PointOfView;
use crate::report::fit;
use crate::sample::Sample;

/// Say whether files are fit to train on: results, scores, point of view, repeats, order, leaks
///
/// Each finding is ok, a note, or a problem with its cure. The exit status is 1 if training on
/// one of the files would be a mistake.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance data doctor data/selfplay-sf15.vf --html doctor.html")]
pub struct Args {
    /// Files of positions; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Files that must not hold the same games or positions, such as those to measure on
    #[arg(long, value_name = "FILE", num_args = 1..)]
    against: Vec<PathBuf>,
    /// Look at so many positions of each file, the first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Format of the files [default: by their content]
    #[arg(long, alias = "from", value_name = "NAME", value_parser = format)]
    format: Option<&'static Format>,
    /// Who sees scores and results in the files, white or side-to-move [default: as is usual]
    #[arg(long, alias = "view", value_name = "VIEW", value_parser = view)]
    point_of_view: Option<PointOfView>,
    /// The diagnosis as JSON
    #[arg(long)]
    json: bool,
    /// The diagnosis as a page with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

fn format(name: &str) -> Result<&'static Format, String> {
    let names = || {
        let names: Vec<_> = crate::format::ALL.iter().map(|format| format.name).collect();
        names.join(", ")
    };
    Format::named(name).ok_or_else(|| format!("expected one of {}", names()))
}

fn view(name: &str) -> Result<PointOfView, String> {
    PointOfView::named(name).ok_or_else(|| "expected white or side-to-move".to_string())
}

/// A file and what is wrong with it.
#[derive(Serialize)]
struct Examined {
    file: PathBuf,
    format: &'static str,
    /// `gzip`, `zstd`, `xz`, `zip`; none where the file is not packed.
    packed: Option<&'static str>,
    /// None for standard input.
    bytes: Option<u64>,
    /// Who sees scores and results in the file.
    seen_by: &'static str,
    /// Only the first positions were looked at.
    limited: bool,
    fit: bool,
    diagnosis: Diagnosis,
}

/// What is to be said of a file, as part of a page.
pub fn section(path: &Path) -> Result<Section> {
    let args = Args {
        files: Vec::new(),
        against: Vec::new(),
        limit: None,
        format: None,
        point_of_view: None,
        json: false,
        html: None,
    };
    Ok(html::section(&examine(path, &args, None)?))
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.html.as_deref().map(out::may_be_page).transpose()?;
    let mut others = (!args.against.is_empty()).then(Keys::new);
    for path in &args.against {
        let source = open(path, &args)?;
        let add = |sample: &Sample| {
            if let Some(keys) = &mut others {
                keys.add(sample);
            }
        };
        let read = read(source, None, "reading the other set", add)?;
        if let Some(ended) = read.ended {
            return Err(anyhow!(ended));
        }
    }
    let examined: Vec<Examined> = args
        .files
        .iter()
        .map(|path| examine(path, &args, others.as_ref()))
        .collect::<Result<_>>()?;
    if let Some(path) = &args.html {
        output::write(path, html::whole(&examined).as_bytes())?;
    }
    match args.json {
        true => out::line(serde_json::to_string_pretty(&examined)?)?,
        false => {
            let pages: Vec<String> = examined.iter().map(text::page).collect();
            out::line(pages.join("\n\n").trim_end())?;
        }
    }
    if let Some(path) = &args.html {
        eprintln!("the page is {}", path.display());
    }
    match examined.iter().all(|file| file.fit) {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

fn open(path: &Path, args: &Args) -> Result<Source> {
    let source = Source::open(path, args.format, u64::MAX)?;
    match args.point_of_view {
        Some(view) => Ok(source.seen_by(view)?),
        None => Ok(source),
    }
}

fn examine(path: &Path, args: &Args, others: Option<&Keys>) -> Result<Examined> {
    let source = open(path, args)?;
    let (format, view) = (source.format(), source.view());
    let mut exam = Exam::new(&format.facts);
    let read = read(source, args.limit, "examining", |sample| exam.add(sample))?;
    let limited = read.limited;
    let (scores, results) = exam.scored();
    let fitted = match scores.len() {
        0 => None,
        _ => {
            let fit = fit::fit(&scores, &results);
            fit.scale.map(|scale| Fitted::new(scale, fit.loss, fit.at_border, &results))
        }
    };
    let reading = Reading {
        view,
        bad: read.source.bad_records().clone(),
        unfinished: read.source.unfinished(),
        ended: read.ended,
    };
    let diagnosis = exam.diagnose(&reading, fitted, others);
    Ok(Examined {
        file: path.to_path_buf(),
        format: format.name,
        packed: packed(path),
        bytes: std::fs::metadata(path).ok().filter(|it| it.is_file()).map(|it| it.len()),
        seen_by: view.name(),
        limited,
        fit: diagnosis.is_fit(),
        diagnosis,
    })
}

/// How far a file was read.
struct Read {
    source: Source,
    limited: bool,
    ended: Option<String>,
}

/// Hands the samples of a file on, up to `limit`; another thread reads ahead.
fn read(
    mut source: Source,
    limit: Option<u64>,
    what: &str,
    mut each: impl FnMut(&Sample),
) -> Result<Read> {
    let bar = bar(None, what);
    let mut left = limit.unwrap_or(u64::MAX);
    let mut limited = false;
    let joined = std::thread::scope(|scope| {
        let (sender, blocks) = sync_channel::<Vec<Sample>>(4);
        let reader = scope.spawn(move || {
            loop {
                let mut block = Vec::new();
                let more = source.next_block(&mut block);
                // Nobody wants any more once the limit is reached. What came before a fault is as
                // good as ever.
                let wanted = block.is_empty() || sender.send(block).is_ok();
                match more {
                    Ok(true) if wanted => {}
                    Ok(_) => return (source, None),
                    Err(error) => return (source, Some(error.to_string())),
                }
            }
        });
        for block in blocks {
            let some = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            block[..some].iter().for_each(&mut each);
            bar.inc(some as u64);
            left -= some as u64;
            if some < block.len() {
                limited = true;
                break;
            }
        }
        reader.join()
    });
    bar.finish_and_clear();
    let (source, ended) = joined.map_err(|_| anyhow!("the thread that reads has died"))?;
    Ok(Read { source, limited, ended: ended.filter(|_| !limited) })
}

/// What a file is packed with, by its first bytes.
fn packed(path: &Path) -> Option<&'static str> {
    use std::io::Read as _;
    if path == Path::new("-") {
        return None;
    }
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(6).read_to_end(&mut head).ok()?;
    let kinds: [(&[u8], &str); 4] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"PK\x03\x04", "zip"),
    ];
    kinds.into_iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| name)
}
