//! `nnuance keys`: the reference of a config's keys.

use anyhow::{Result, ensure};

use super::out;
use crate::report::wrap_all;

/// Show the keys of a config: meaning, units, ranges, defaults
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  nnuance keys
  nnuance keys learning_rate
  nnuance keys data.filter")]
pub struct Args {
    /// Part of the name of keys or sections [default: all]
    pattern: Option<String>,
}

/// The reference, with a heading for each section and key.
const PAGE: &str = include_str!("../../docs/config.md");

pub fn run_command(args: Args) -> Result<()> {
    let Some(pattern) = args.pattern else { return out::print_line(wrap_page(PAGE).trim_end()) };
    let entries = PAGE.split("\n##").skip(1).map(|entry| entry.trim_start_matches('#').trim());
    let fits = |entry: &&str| entry.lines().next().is_some_and(|name| name.contains(&pattern));
    let matching: Vec<&str> = entries.filter(fits).collect();
    ensure!(!matching.is_empty(), "no key has {pattern:?} in its name; `nnuance keys` shows all");
    out::print_line(wrap_page(&matching.join("\n\n")).trim_end())
}

/// Wraps paragraphs and lists, but not code.
fn wrap_page(page: &str) -> String {
    let (mut text, mut is_code) = (String::new(), false);
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        match is_code {
            true => text += &format!("{line}\n"),
            false if line.starts_with("- ") => text += &wrap_all([line]),
            false => text += &wrap_all([line]).replace("\n  ", "\n"),
        }
    }
    text
}
