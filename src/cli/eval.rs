//! `nnuance eval`: a net's opinion of positions.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use crate::architecture::Activation;
use crate::export::{self, Given, Loaded};
use crate::features::{self, Features};
use crate::net::Net;
use crate::sample::Position;
use crate::scales::Scales;
use anyhow::Context as _;

/// Evaluate positions with a net, in integers as an engine does; one line `FEN;cp` each
///
/// Centipawns are seen by the side to move. What the net's file does not say comes from the
/// manifest beside it (NAME.json for NAME.bin), or else from the options.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  nnuance eval nets/first.bin '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
  nnuance eval nets/first.bin --fens positions.txt
  zstdcat positions.epd.zst | nnuance eval nets/first.bin --fens -")]
pub struct Args {
    /// The net
    net: PathBuf,
    /// Positions
    #[arg(value_name = "FEN", required_unless_present = "fens", conflicts_with = "fens")]
    positions: Vec<String>,
    /// File of lines `FEN` or `FEN;anything`; `-` is standard input
    #[arg(long, value_name = "FILE")]
    fens: Option<PathBuf>,
    #[command(flatten)]
    shape: Shape,
}

/// What a net's file does not say about itself.
#[derive(clap::Args)]
#[command(next_help_heading = "What the net is")]
pub struct Shape {
    /// Feature set [default: the manifest's, else perspective]
    #[arg(long, value_name = "NAME", value_parser = parse_features)]
    features: Option<&'static Features>,
    /// relu, crelu or screlu [default: the manifest's, else screlu]
    #[arg(long, value_name = "NAME", value_parser = parse_activation)]
    activation: Option<Activation>,
    /// Factor of the accumulator's weights [default: the manifest's, else 255]
    #[arg(long, value_name = "INTEGER")]
    qa: Option<i32>,
    /// Factor of the output weights [default: the manifest's, else 64]
    #[arg(long, value_name = "INTEGER")]
    qb: Option<i32>,
    /// Centipawns of one unit of the output [default: the manifest's, else 400]
    #[arg(long, value_name = "INTEGER")]
    scale: Option<i32>,
}

impl Shape {
    pub fn given(&self) -> Given {
        let Shape { features, activation, qa, qb, scale } = *self;
        Given { features, activation, qa, qb, scale }
    }

    fn is_given(&self) -> bool {
        let Shape { features, activation, qa, qb, scale } = self;
        features.is_some() || activation.is_some() || [qa, qb, scale].iter().any(|n| n.is_some())
    }
}

fn parse_features(name: &str) -> Result<&'static Features, String> {
    Features::named(name).ok_or_else(|| {
        let known: Vec<_> = features::ALL.iter().map(|features| features.name).collect();
        format!("expected one of {}", known.join(", "))
    })
}

fn parse_activation(name: &str) -> Result<Activation, String> {
    let found = Activation::ALL.into_iter().find(|activation| activation.name() == name);
    found.ok_or_else(|| "expected relu, crelu or screlu".to_string())
}

pub fn run(args: Args) -> anyhow::Result<()> {
    let loaded = export::load(&args.net, &args.shape.given())?;
    for warning in &loaded.warnings {
        eprintln!("{}: {warning}", args.net.display());
    }
    say_what_it_is(&args, &loaded);
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match &args.fens {
        Some(path) => file(&loaded.net, path, &mut out),
        None => args.positions.iter().try_for_each(|fen| line(&loaded.net, fen, &mut out)),
    };
    // A reader that has seen enough, such as `head`, is no failure.
    match written.and_then(|()| Ok(out.flush()?)) {
        Err(error) if is_broken_pipe(&error) => Ok(()),
        other => other,
    }
}

/// Says on standard error what the net was taken for, where its manifest does not say so.
fn say_what_it_is(args: &Args, loaded: &Loaded) {
    let Scales { qa, qb, scale } = loaded.net.scales();
    let architecture = loaded.net.architecture();
    let features = architecture.features.name;
    let why = match &loaded.manifest {
        None => "no manifest; N follows from the size",
        Some(_) if args.shape.is_given() => "options over the manifest",
        Some(_) => return,
    };
    eprintln!(
        "{}: {architecture}, {features} features, QA {qa}, QB {qb}, SCALE {scale} ({why})",
        args.net.display()
    );
}

fn file(net: &Net, path: &PathBuf, out: &mut impl Write) -> anyhow::Result<()> {
    let (name, input): (String, Box<dyn BufRead>) = if path.as_os_str() == "-" {
        ("standard input".into(), Box::new(io::stdin().lock()))
    } else {
        let name = path.display().to_string();
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {name}"))?;
        (name, Box::new(BufReader::new(file)))
    };
    for (i, text) in input.lines().enumerate() {
        let at = || format!("{name}, line {}", i + 1);
        let text = text.with_context(at)?;
        if !text.trim().is_empty() {
            line(net, &text, out).with_context(at)?;
        }
    }
    Ok(())
}

fn line(net: &Net, text: &str, out: &mut impl Write) -> anyhow::Result<()> {
    let fen = text.split(';').next().unwrap_or_default().trim();
    let position = Position::from_fen(fen).with_context(|| format!("{fen:?}"))?;
    writeln!(out, "{fen};{}", net.evaluate(&position))?;
    Ok(())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
