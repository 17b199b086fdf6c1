//! `nnuance quickstart`: all stages on the games in `data/`, by the usual commands.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;

use super::{Cli, out};
use crate::{input, output};

/// Train terms and nets on the games in data/, and compare them
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance quickstart")]
#[command(after_help = "\
Each step shows its command. Outside of the repository the games and configs
are first written to the folder nnuance-quickstart.")]
pub struct Args {
    /// Where to train, see `nnuance devices`
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
}

/// The steps: titles and commands.
const STEPS: [(&str, &str); 10] = [
    (
        "piece-square tables, tuned on the results of games",
        "train configs/hce-pst.toml --out runs/quickstart/hce-pst --overwrite",
    ),
    (
        "all handcrafted terms: mobility, pawns, threats, king safety and more",
        "train configs/quickstart-hce.toml --out runs/quickstart/quickstart-hce --overwrite",
    ),
    (
        "a net on the same games, mirrored by its king",
        "train configs/net-2-mirrored.toml --out runs/quickstart/mirrored-net --overwrite",
    ),
    (
        "a net that also sees attacks, mobility and pairs of pawns",
        "train configs/net-6-threats.toml --out runs/quickstart/threats-net --overwrite",
    ),
    (
        "a net that is added to the handcrafted terms",
        "train configs/net-on-terms.toml --set net.base=runs/quickstart/quickstart-hce \
         --out runs/quickstart/net-on-terms --overwrite",
    ),
    (
        "the file of a net holds what its manifest says",
        "verify runs/quickstart/mirrored-net/net.bin",
    ),
    (
        "the start position, and the same without White's queen",
        "eval runs/quickstart/mirrored-net/net.bin \
         'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1' \
         'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1'",
    ),
    (
        "games of each with each, by the same search",
        "match runs/quickstart/net-on-terms runs/quickstart/quickstart-hce \
         runs/quickstart/threats-net runs/quickstart/mirrored-net runs/quickstart/hce-pst material \
         --pairs 50 --nodes 200 --pgn runs/quickstart/match.pgn --overwrite",
    ),
    (
        "all of them on one page, by loss and Elo",
        "report runs/quickstart/hce-pst runs/quickstart/quickstart-hce \
         runs/quickstart/mirrored-net runs/quickstart/threats-net runs/quickstart/net-on-terms \
         --pgn runs/quickstart/match.pgn -o runs/quickstart/report.html",
    ),
    (
        "loss on games that none has seen, and Elo",
        "compare material runs/quickstart/hce-pst runs/quickstart/quickstart-hce \
         runs/quickstart/mirrored-net/net.bin runs/quickstart/threats-net/net.bin \
         runs/quickstart/net-on-terms/net.bin score --pgn runs/quickstart/match.pgn",
    ),
];

const MADE: &str = "
page   runs/quickstart/report.html, all by loss and Elo
pages  runs/quickstart/*/report.html
nets   runs/quickstart/*/net.bin, terms.json
";

const NEXT: [&str; 3] = [
    "export runs/quickstart/mirrored-net --snippet c -o nnue.h",
    "data doctor MY.pgn",
    "train configs/net-2-mirrored.toml --set data.files=[\"MY.pgn\"]",
];

pub fn run_command(args: Args) -> Result<ExitCode> {
    let folder = enter_kit()?.then_some(KIT);
    prepare_folder()?;
    let mut printed = String::new();
    for (number, (title, command)) in (1..).zip(STEPS) {
        let command = match (command.starts_with("train "), &args.device[..]) {
            (true, device) if device != "flex" => format!("{command} --device {device}"),
            _ => command.to_string(),
        };
        eprintln!("{number}  {title}\n   $ {}", out::format_command(&split_words(&command)));
        let start = Instant::now();
        let code;
        (code, printed) =
            out::capture_output(|| Cli::parse_from(split_words(&command)).run_command());
        let code = code?;
        if code != ExitCode::SUCCESS {
            out::print_line(printed)?;
            return Ok(code);
        }
        let seconds = start.elapsed().as_secs_f64();
        let fact = match command.split(' ').next() {
            Some("train") => output_file_of(&printed),
            Some("verify") => "it does".to_string(),
            Some("eval") => {
                let each = printed.lines().filter_map(|line| line.rsplit(';').next());
                format!("{} centipawns", each.collect::<Vec<_>>().join(" and "))
            }
            Some("match") => "runs/quickstart/match.pgn".to_string(),
            Some("report") => "runs/quickstart/report.html".to_string(),
            _ => String::new(),
        };
        eprintln!("{}\n", format!("   {seconds:.1} s  {fact}").trim_end());
    }
    let next = NEXT.map(|it| it.split(' ').collect());
    out::print_line(printed + MADE + &out::list_next_steps(folder, &next))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the file that a training made. Its losses are against different targets.
fn output_file_of(printed: &str) -> String {
    let mut lines = printed.lines().filter_map(|line| line.split_once(' '));
    let line = lines.find(|(name, _)| matches!(*name, "net" | "terms"));
    line.map_or(String::new(), |(_, file)| file.trim().to_string())
}

/// Folder of all outputs, replaced each time.
const FOLDER: &str = "runs/quickstart";

/// Makes the folder, or recognises it by its mark. Any other folder contains work of the user.
fn prepare_folder() -> Result<()> {
    let folder = Path::new(FOLDER);
    let mark = folder.join(".quickstart");
    ensure!(
        !folder.exists() || mark.exists(),
        "{FOLDER} is there, and not by quickstart, which would replace what it holds; move it away"
    );
    output::write_file(&mark, b"made by `nnuance quickstart`, and replaced by the next one\n")?;
    Ok(())
}

/// Splits a command into words; single quotes preserve spaces.
fn split_words(command: &str) -> Vec<String> {
    let mut words = vec!["nnuance".to_string()];
    for (number, text) in command.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(text.split_whitespace().map(String::from)),
            _ => words.push(text.to_string()),
        }
    }
    words
}

/// Files that quickstart needs: an installed program has no repository around it.
const FILES: [(&str, &[u8]); 6] = [
    ("data/selfplay-sf15.vf", include_bytes!("../../data/selfplay-sf15.vf")),
    ("configs/hce-pst.toml", include_bytes!("../../configs/hce-pst.toml")),
    ("configs/quickstart-hce.toml", include_bytes!("../../configs/quickstart-hce.toml")),
    ("configs/net-2-mirrored.toml", include_bytes!("../../configs/net-2-mirrored.toml")),
    ("configs/net-6-threats.toml", include_bytes!("../../configs/net-6-threats.toml")),
    ("configs/net-on-terms.toml", include_bytes!("../../configs/net-on-terms.toml")),
];

/// Folder for these files outside the repository.
const KIT: &str = "nnuance-quickstart";

/// Writes the kit and enters its folder, unless the current folder has all files. Returns whether
/// it entered the kit.
fn enter_kit() -> Result<bool> {
    if FILES.iter().all(|(name, _)| Path::new(name).exists()) {
        return Ok(false);
    }
    for (name, content) in FILES {
        let path = PathBuf::from(KIT).join(name);
        match input::read_bytes(&path, input::TEXT) {
            Ok(existing) => ensure!(
                existing == content,
                "{} is there and was changed; move it away, and quickstart writes it again",
                path.display()
            ),
            Err(_) => {
                output::write_file(&path, content)?;
            }
        }
    }
    std::env::set_current_dir(KIT).with_context(|| format!("cannot go to {KIT}"))?;
    eprintln!("all of it lies in the folder {KIT}, where the commands below run\n");
    Ok(true)
}
