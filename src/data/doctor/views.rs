//! From whose point of view results and scores are, over the whole file and over parts of it.

use serde::Serialize;

use crate::format::view::{Of, Verdict, measure};
use crate::point_of_view::PointOfView;
use crate::sample::Sample;

/// A file is looked at in so many parts too: others may have been appended to it.
const PARTS: usize = 8;
/// Smaller parts are not judged on their own.
const PART: usize = 4096;

/// What the data say about the view under which they were read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// `results` or `scores`.
    pub of: &'static str,
    /// `holds`, `other view`, `turned`, or `unsure`.
    pub verdict: &'static str,
    /// What was measured, in one sentence.
    pub evidence: Option<String>,
    /// Why the view cannot be right, with the cure.
    pub contradiction: Option<String>,
}

/// Measures results, and scores where there are any, over samples in the order of the file.
pub(super) fn seen(samples: &[Sample], view: PointOfView, colours: bool) -> Vec<Seen> {
    let mut all = vec![one(samples, Of::Result, view, colours)];
    if samples.iter().any(|sample| sample.score.is_some()) {
        all.push(one(samples, Of::Score, view, colours));
    }
    all
}

fn one(samples: &[Sample], of: Of, view: PointOfView, colours: bool) -> Seen {
    let mut verdict = measure(samples, of, colours);
    let mut place = String::new();
    if verdict.contradiction(view).is_none() && samples.len() >= PARTS * PART {
        let parts = samples.chunks(samples.len().div_ceil(PARTS));
        for (number, part) in parts.enumerate() {
            let told = measure(part, of, colours);
            if told.contradiction(view).is_some() {
                verdict = told;
                place = format!("in part {} of {PARTS} of the file, ", number + 1);
                break;
            }
        }
    }
    let (name, evidence) = match verdict {
        Verdict::Holds(evidence) => ("holds", Some(evidence)),
        Verdict::OtherView(evidence) => ("other view", Some(evidence)),
        Verdict::Turned(evidence) => ("turned", Some(evidence)),
        Verdict::Unsure => ("unsure", None),
    };
    Seen {
        of: if of == Of::Result { "results" } else { "scores" },
        verdict: name,
        evidence: evidence.map(|evidence| evidence.to_string()),
        contradiction: verdict.contradiction(view).map(|why| place + &why),
    }
}
