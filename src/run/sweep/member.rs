//! The members of a sweep: all combinations of the values.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::axis::Axis;
use crate::config::Config;

/// Beyond, a slip of the pen is likelier than patience.
const MOST: usize = 10_000;

/// Letters of a value in the name of a folder, at most.
const LONGEST: usize = 24;

/// A combination of values.
#[derive(Clone, Debug)]
pub struct Member {
    /// Of its folders.
    pub name: String,
    /// In words: "hidden 16, wdl 0.1".
    pub label: String,
    /// A value an axis.
    pub values: Vec<String>,
    /// With the first seed.
    pub config: Config,
}

/// All combinations, the last axis the fastest. `sets` are changes of the config's keys that all
/// of them share.
///
/// # Errors
/// If there are fewer than two or too many, one is no config, or two are the same.
pub fn members(config: &Path, sets: &[String], axes: &[Axis]) -> Result<Vec<Member>> {
    for (i, axis) in axes.iter().enumerate() {
        ensure!(
            axes[..i].iter().all(|other| other.key != axis.key),
            "--over names `{}` twice; give all its values at once",
            axis.key
        );
    }
    let count = axes.iter().try_fold(1, |all: usize, axis| all.checked_mul(axis.values.len()));
    let count = count.filter(|count| *count <= MOST).with_context(|| {
        format!("a sweep has at most {MOST} members; leave out some of the values")
    })?;
    ensure!(count > 1, "a sweep needs two members or more; give --over more values");
    let mut members: Vec<Member> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    for number in 0..count {
        let mut member = Member::new(config, sets, axes, number)?;
        let text = member.config.to_toml();
        if let Some(other) = known.insert(text, number) {
            let (one, other) = (&member.label, &members[other].label);
            ensure!(one != other, "{one} is named twice; give each value once");
            bail!("{other} and {one} are the same member; leave out one of the values");
        }
        // What folders cannot be called may make two names one.
        let twins = names.entry(member.name.clone()).or_default();
        *twins += 1;
        if *twins > 1 {
            member.name += &format!("-no-{twins}");
        }
        members.push(member);
    }
    Ok(members)
}

impl Member {
    fn new(path: &Path, sets: &[String], axes: &[Axis], number: usize) -> Result<Self> {
        let mut rest = number;
        let mut values: Vec<String> = Vec::new();
        for axis in axes.iter().rev() {
            values.push(axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        values.reverse();
        let titles = titles(axes);
        let pairs = || titles.iter().zip(&values);
        let words = |(title, value): (&String, &String)| format!("{title} {}", bare(value));
        let label = pairs().map(words).collect::<Vec<_>>().join(", ");
        let names = pairs().map(|(title, value)| format!("{title}-{}", plain(bare(value))));
        let name = names.collect::<Vec<_>>().join("-");
        let own = axes.iter().zip(&values).map(|(axis, value)| format!("{}={value}", axis.key));
        let sets: Vec<String> = sets.iter().cloned().chain(own).collect();
        let config = Config::read(path, &sets).with_context(|| format!("member {label}"))?;
        Ok(Self { name, label, values, config })
    }

    /// The config of its run with one of its seeds, the first of which is 0.
    pub fn run(&self, seed: u64) -> Config {
        let seed = self.config.seed.wrapping_add(seed);
        Config { seed, ..self.config.clone() }
    }
}

/// What the axes are called: by their last part, where that tells them apart.
pub fn titles(axes: &[Axis]) -> Vec<String> {
    let twins = |title: &String| axes.iter().filter(|other| other.title == *title).count() > 1;
    let title = |axis: &Axis| if twins(&axis.title) { &axis.key } else { &axis.title }.clone();
    axes.iter().map(title).collect()
}

/// A value without the quotes of TOML.
pub fn bare(value: &str) -> &str {
    let unquoted = |quote| value.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
    unquoted('"').or(unquoted('\'')).unwrap_or(value)
}

/// A value as a part of a folder's name.
fn plain(value: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() || it == '.' { it } else { '_' };
    value.chars().map(letter).take(LONGEST).collect()
}
