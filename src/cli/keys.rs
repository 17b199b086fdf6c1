//! `nnuance keys`: what a config may say.

use anyhow::{Result, ensure};

use super::out;
use crate::config::keys::{self, Key, Section};
use crate::config::nearest;

/// Show the keys of a config: what they do, their units, ranges and defaults
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  nnuance keys
  nnuance keys learning_rate
  nnuance keys 'data.filter.*'
  nnuance keys --schema > nnuance.schema.json")]
pub struct Args {
    /// Only the keys that this is a part of; * stands for anything
    pattern: Option<String>,
    /// The page docs/config.md
    #[arg(long, conflicts_with = "pattern")]
    markdown: bool,
    /// A JSON schema, for editors that complete and check TOML, such as those with taplo
    #[arg(long, conflicts_with_all = ["pattern", "markdown"])]
    schema: bool,
}

pub fn run(args: Args) -> Result<()> {
    if args.markdown {
        return out::line(keys::markdown().trim_end());
    }
    if args.schema {
        return out::line(serde_json::to_string_pretty(&keys::schema())?);
    }
    let Some(pattern) = &args.pattern else {
        let sections = keys::sections().into_iter().chain([keys::stage()]);
        let overviews: Vec<String> = sections.map(|section| overview(&section)).collect();
        return out::line(overviews.join("\n\n"));
    };
    let (all, stage) = (keys::keys(), keys::stage().keys);
    let glob = glob::Pattern::new(pattern)?;
    let fits = |key: &&Key| key.path.contains(pattern) || glob.matches(&key.path);
    let found: Vec<String> = all.iter().filter(fits).map(entry).collect();
    let nested = stage.iter().filter(fits).map(|key| {
        let title = format!("{}, of a stage of schedule.learning_rate or target.wdl", key.path);
        entry(&Key { path: title, ..key.clone() })
    });
    let found: Vec<String> = found.into_iter().chain(nested).collect();
    ensure!(!found.is_empty(), "{}", {
        let names: Vec<&str> = all.iter().chain(&stage).map(|key| &key.path[..]).collect();
        nearest(format!("no key matches {pattern:?}"), pattern, &names)
    });
    out::line(found.join("\n\n"))
}

/// A section with a line a key, and the first sentence of what it does.
fn overview(section: &Section) -> String {
    let mut text = match section.name {
        "" => wrapped(&section.about, 0),
        _ => format!("{}\n{}", section.heading(), wrapped(&section.about, 0)),
    };
    for key in &section.keys {
        let name = key.path.rsplit('.').next().unwrap_or(&key.path);
        let default = match (&key.default, key.needed) {
            (Some(default), _) => format!(" = {}", default.replace('`', "")),
            (None, true) => " (must be given)".into(),
            (None, false) => String::new(),
        };
        text += &format!("\n  {name}{default}\n{}", wrapped(first_sentence(&key.about), 6));
    }
    text
}

/// Up to the first full stop or colon that ends a clause.
fn first_sentence(about: &str) -> &str {
    about.find(". ").map_or(about, |end| &about[..=end])
}

/// All about a key.
fn entry(key: &Key) -> String {
    let mut text = format!("{}\n", key.path);
    text += &wrapped(&keys::facts(key).replace('`', ""), 2);
    for paragraph in key.about.lines() {
        text += &format!("\n\n{}", wrapped(paragraph, 2));
    }
    for (word, about) in key.words.iter().filter(|(_, about)| !about.is_empty()) {
        text += &format!("\n  \"{word}\"\n{}", wrapped(about, 6));
    }
    text
}

/// Lines of at most 90 columns, all indented.
fn wrapped(text: &str, indent: usize) -> String {
    const COLUMNS: usize = 90;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && indent + line.chars().count() + word.chars().count() >= COLUMNS {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect::<Vec<_>>().join("\n")
}
