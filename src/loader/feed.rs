//! One of several sources of positions.

use std::path::{Path, PathBuf};

use super::{Filter, Plan, Scan};
use crate::format::Format;
use crate::point_of_view::PointOfView;

/// Some of the files of a plan, and what holds for them alone.
#[derive(Clone, Debug)]
pub struct Feed {
    /// How it is called in the log and on the page.
    pub name: String,
    pub files: Vec<PathBuf>,
    /// None: each file's content tells.
    pub format: Option<&'static Format>,
    /// None: that which is usual for the format.
    pub view: Option<PointOfView>,
    pub filter: Filter,
    /// Whether positions without a score are skipped.
    pub scores: bool,
    /// Positions to take of each file at most.
    pub limit: Option<u64>,
    /// Its share of each batch, against those of the others; none where batches take positions as
    /// they come.
    pub share: Option<f64>,
    /// Positions to train on, once they were counted.
    pub expected: Option<u64>,
}

/// How a file is read.
pub(super) struct Reading<'a> {
    /// The number of its source, counted from 1; 0 where it is of none.
    pub source: u8,
    pub format: Option<&'static Format>,
    pub view: Option<PointOfView>,
    pub filter: &'a Filter,
    pub scores: bool,
    pub limit: Option<u64>,
}

/// The positions of a batch that one source gives.
#[derive(Clone, Debug)]
pub(super) struct Quota {
    /// Its part of the plan.
    pub plan: Plan,
    /// Positions, at least 1.
    pub positions: usize,
}

impl Plan {
    /// How a file of the plan is read.
    pub(super) fn reading_of(&self, path: &Path) -> Reading<'_> {
        let of = self.feeds.iter().position(|feed| feed.files.iter().any(|file| file == path));
        match of.map(|number| (number, &self.feeds[number])) {
            None => {
                let Self { format, view, ref filter, scores, limit, .. } = *self;
                Reading { source: 0, format, view, filter, scores, limit }
            }
            Some((number, feed)) => {
                let Feed { format, view, ref filter, scores, limit, .. } = *feed;
                let source = u8::try_from(number + 1).expect("a plan has up to 255 sources");
                Reading { source, format, view, filter, scores, limit }
            }
        }
    }

    /// The data were counted.
    pub fn expect(&mut self, scan: &Scan) {
        self.expected = Some(scan.train);
        let counted = self.feeds.iter_mut().zip(&scan.of_feeds);
        counted.for_each(|(feed, count)| feed.expected = Some(*count));
    }

    /// Positions of a batch that each source gives; none where batches take them as they come.
    pub fn shares(&self) -> Option<Vec<usize>> {
        let shares: Vec<f64> = self.feeds.iter().map(|feed| feed.share).collect::<Option<_>>()?;
        (!shares.is_empty()).then(|| apportion(&shares, self.batch))
    }

    /// The positions of a batch by source: by their shares, or all from one.
    pub(super) fn quotas(&self) -> Vec<Quota> {
        let Some(shares) = self.shares() else {
            return vec![Quota { plan: self.clone(), positions: self.batch }];
        };
        let quota = |(number, positions): (usize, usize)| {
            let feed = &self.feeds[number];
            let part = positions as f64 / self.batch as f64;
            let expected = feed.expected;
            // What fits the window as a whole is kept, each source of it as well.
            let whole = self.expected.is_some_and(|all| all <= self.window as u64);
            let window = match expected {
                Some(expected) if whole => expected.max(1) as usize,
                _ => ((self.window as f64 * part) as usize).max(positions),
            };
            // Sources that share a seed must not share an order.
            let seed = crate::sample::mix(self.seed, number as u64);
            let plan = Self { files: feed.files.clone(), expected, window, seed, ..self.clone() };
            Quota { plan, positions }
        };
        shares.into_iter().enumerate().map(quota).collect()
    }
}

/// Cuts a batch by shares: each gets at least 1, and what is left over goes to those that miss most
/// of theirs, the first where they are level.
pub fn apportion(shares: &[f64], batch: usize) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let due: Vec<f64> = shares.iter().map(|share| share / sum * batch as f64).collect();
    let mut parts: Vec<usize> = due.iter().map(|due| (*due as usize).max(1)).collect();
    loop {
        let given: usize = parts.iter().sum();
        let lacks = |place: &usize| due[*place] - parts[*place] as f64;
        let places = 0..parts.len();
        let by_lack = |one: &usize, other: &usize| lacks(one).total_cmp(&lacks(other));
        match given.cmp(&batch) {
            std::cmp::Ordering::Equal => return parts,
            std::cmp::Ordering::Less => {
                let place = places.rev().max_by(by_lack).expect("there are shares");
                parts[place] += 1;
            }
            std::cmp::Ordering::Greater => {
                let large = places.filter(|place| parts[*place] > 1);
                // More sources than positions.
                let Some(place) = large.min_by(by_lack) else { return parts };
                parts[place] -= 1;
            }
        }
    }
}
