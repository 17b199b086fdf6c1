//! Base evaluations of nets: their header entry, and the terms that are trained with a net.

use std::collections::BTreeMap;

use anyhow::{Context, Error, Result, bail};

use super::recipe::{format_fact, parse_entry};
use crate::evaluation::Evaluation;
use crate::export::{StoredBase, StoredEvaluation};
use crate::hce::HceWeights;
use crate::loader::Base;
use crate::weights::Weights;

/// Key of the header for a net's base evaluation.
const BASE: &str = "base";

/// Reads the base evaluation of a net from the header of its weights.
pub fn read_base(facts: &BTreeMap<String, String>) -> Result<Option<StoredBase>> {
    parse_entry(facts, BASE)
}

/// Replaces the base's terms in the header by those trained with the net.
pub fn replace_base_terms(facts: &mut BTreeMap<String, String>, weights: &Weights) -> Result<()> {
    if !HceWeights::are_in(weights) {
        return Ok(());
    }
    let Some(mut base) = read_base(facts)? else { return Ok(()) };
    base.below = StoredEvaluation::Terms(trained_terms(&base, weights)?.to_json());
    // The terms differ from those of the file now.
    base.sha256 = None;
    facts.extend(base_fact(Some(&base))?);
    Ok(())
}

/// Reads the terms of a base that is trained with its net. Fails if the base is a net.
pub fn base_terms(base: &StoredBase) -> Result<HceWeights> {
    match &base.below {
        StoredEvaluation::Terms(text) => {
            HceWeights::from_json(text).with_context(|| format!("base {}", base.name))
        }
        StoredEvaluation::Net(_) => bail!(
            "`net.tune_base`: {} is a net, and only handcrafted terms learn together with one; \
             leave tune_base out",
            base.name
        ),
    }
}

/// Reads the terms of a base from a checkpoint of its net: as `trained`, or as they were before.
pub fn read_base_terms(base: &StoredBase, weights: &Weights, trained: bool) -> Result<HceWeights> {
    let HceWeights { list, scale, scale_factor, source, .. } = base_terms(base)?;
    let terms = HceWeights::from_weights(weights, list, scale, trained)?;
    Ok(HceWeights { scale_factor, source, ..terms })
}

/// Reads the terms of a base after training with a net.
pub fn trained_terms(base: &StoredBase, weights: &Weights) -> Result<HceWeights> {
    let source = Some(format!("{}, trained on together with a net", base.name));
    Ok(HceWeights { source, ..read_base_terms(base, weights, true)? }.round_values(2))
}

/// Formats the header entry of a base.
pub fn base_fact(base: Option<&StoredBase>) -> Result<Option<(String, String)>> {
    base.map(|base| format_fact(BASE, base)).transpose()
}

/// Opens a base, if there is one, for evaluating positions.
pub fn open_base(base: Option<&StoredBase>) -> Result<Option<Base>> {
    let Some(base) = base else { return Ok(None) };
    let read = || -> Result<Evaluation> {
        Ok(match &base.below {
            StoredEvaluation::Terms(text) => Evaluation::from_terms(&HceWeights::from_json(text)?),
            StoredEvaluation::Net(net) => {
                Evaluation::from_net(net.read_net().map_err(Error::msg)?, None)
            }
        })
    };
    let evaluation = read().with_context(|| format!("base {}", base.name))?;
    Ok(Some(Base { evaluation, scale: base.scale }))
}
