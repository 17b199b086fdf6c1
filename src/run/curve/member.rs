//! The runs of a curve.

use anyhow::{Result, ensure};

use crate::config::{BatchSize, Config};

/// What the runs of a curve differ in.
pub struct Points<'a> {
    /// The smallest share is one in so many of the games; a power of 2.
    pub shares: u32,
    /// Sizes of the hidden layer; none: the config's.
    pub hidden: &'a [usize],
    /// How many, from the config's on.
    pub seeds: u64,
}

/// A run of a curve.
pub struct Member {
    /// Of its folder.
    pub name: String,
    /// Trained on one in so many of the games.
    pub part: u32,
    /// None for handcrafted terms.
    pub hidden: Option<usize>,
    pub config: Config,
}

/// All runs of a curve, for data of which the config takes this many positions.
///
/// # Errors
/// Sizes that the config cannot have, and a curve with a single point.
pub fn members(config: &Config, points: &Points, positions: u64) -> Result<Vec<Member>> {
    ensure!(
        points.hidden.is_empty() || config.is_net(),
        "--hidden is for nets; handcrafted terms have no neurons"
    );
    let mut sizes: Vec<Option<usize>> = points.hidden.iter().copied().map(Some).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        sizes.push(config.model.hidden);
    }
    ensure!(
        points.shares > 1 || sizes.len() > 1,
        "a curve has two points or more: raise --shares, or name several sizes with --hidden"
    );
    let mut members = Vec::new();
    for seed in (0..points.seeds).map(|number| config.seed.wrapping_add(number)) {
        for hidden in &sizes {
            for halvings in (0..=points.shares.ilog2()).rev() {
                members.push(Member::new(config, 1 << halvings, *hidden, seed, positions)?);
            }
        }
    }
    Ok(members)
}

impl Member {
    fn new(
        whole: &Config,
        part: u32,
        hidden: Option<usize>,
        seed: u64,
        positions: u64,
    ) -> Result<Self> {
        let mut config = whole.clone();
        config.data.share /= f64::from(part);
        config.model.hidden = hidden;
        config.seed = seed;
        let plan = &mut config.schedule;
        if plan.epochs.is_some() || plan.positions.is_some() || plan.superbatches.is_some() {
            // As many steps as on all of the data.
            let steps = whole.steps(positions);
            (plan.epochs, plan.positions, plan.superbatches) = (None, None, None);
            match whole.batch() {
                BatchSize::Positions(batch) => plan.positions = Some(steps * batch as u64),
                BatchSize::All => plan.epochs = Some(steps as f64),
            }
        }
        let mut name = format!("share-1-{part}");
        if let Some(hidden) = hidden.filter(|_| hidden != whole.model.hidden) {
            name += &format!("-hidden-{hidden}");
        }
        if seed != whole.seed {
            name += &format!("-seed-{seed}");
        }
        let config = Config::parse(&config.to_toml(), &name, &[])?;
        Ok(Self { name, part, hidden, config })
    }
}
