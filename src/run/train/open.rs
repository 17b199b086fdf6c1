//! The data of a run, and the weights that it starts with.

use anyhow::{Context, Result};

use super::data::{BatchSource, Data, Summary, keep_records, read, to_prepare, validation};
use super::tuning;
use crate::architecture::{Architecture, Part};
use crate::config::{Config, Learn};
use crate::export;
use crate::hce::HceWeights;
use crate::loader::{Encoder, Plan};
use crate::model::{Compute, Device, initial_of_size};
use crate::progress::Progress;
use crate::run::recipe;
use crate::run::terms::RunTerms;
use crate::weights::Weights;

/// Opens the data of a run, and gives the weights that training starts with. `begun` are the
/// weights of a run that goes on, `base` is what a net is added to. The config gets its scale, where it has none.
pub fn open(
    config: &mut Config,
    term_list: Option<&str>,
    begun: Option<&Weights>,
    base: Option<&export::Base>,
    place: &(Device, Compute),
    listener: &dyn Progress,
) -> Result<(Data, Weights)> {
    let Some(terms) = RunTerms::of(config, term_list)? else {
        return net(config, base, begun, place, listener);
    };
    let start = match begun {
        Some(weights) => HceWeights::started_from(weights, terms.list.clone(), config.scale)?,
        None => terms.start(config.start(), listener)?,
    };
    match terms.own {
        Some(_) => tuning::traces(config, terms, start, place, listener),
        None => tuning::positions(config, terms, start, place, listener),
    }
}

fn net(
    config: &Config,
    base: Option<&export::Base>,
    begun: Option<&Weights>,
    (_, compute): &(Device, Compute),
    listener: &dyn Progress,
) -> Result<(Data, Weights)> {
    let section = config.net().context("no terms, so a net")?;
    let net = &section.architecture;
    let joins = base.filter(|_| section.tune_base);
    let terms = joins.map(|base| beside_net(base, begun)).transpose()?;
    let encoder = match (&terms, base) {
        (Some(terms), _) => Encoder::sum(net, RunTerms::of_base(terms).encoder(terms)),
        (None, base) => Encoder::net(net).on(base.map(recipe::added).transpose()?),
    };
    let mut plan = Plan { colours: encoder.needs_colours(), ..recipe::plan(config) };
    let mut scan = read(&plan, keep_records(config), None, listener)?;
    let rounds = config.target.learn != Learn::Values;
    let samples = rounds.then(|| to_prepare(&plan, config, listener)).transpose()?;
    plan.expect(&scan);
    plan.window = config.window(scan.train);
    recipe::plan_chunks(&mut plan, config, *compute, scan.train, &scan.some);
    let mut weights = initial_of_size(net, config.seed, section.start_size);
    if base.is_some() {
        // So the sum begins as what is there already.
        zero(&mut weights, net);
    }
    weights.0.extend(terms.into_iter().flat_map(|terms| terms.to_weights().0));
    let source = match samples {
        Some(samples) => {
            scan.train = samples.len() as u64;
            BatchSource::Prepared { samples, weighing: plan.weighing, by: None }
        }
        None => {
            let fits = scan.train <= plan.window as u64;
            let kept = scan.kept.take().filter(|_| fits);
            BatchSource::Files { plan: Box::new(plan), encoder: encoder.clone(), kept }
        }
    };
    let weights_of = config.weighing().weights(&scan.validation.samples);
    let validation = validation(&encoder, &scan.validation.samples, &weights_of);
    let data = Data {
        validation,
        validating: std::mem::take(&mut scan.validation.samples),
        test: std::mem::take(&mut scan.test.samples),
        some: std::mem::take(&mut scan.some),
        source,
        encoder: Some(encoder),
        summary: Summary::of(scan),
        terms: None,
    };
    Ok((data, weights))
}

/// The terms that learn with a net, as they were when this began.
fn beside_net(base: &export::Base, begun: Option<&Weights>) -> Result<HceWeights> {
    let terms = recipe::terms_of(base)?;
    let Some(begun) = begun else { return Ok(terms) };
    let HceWeights { scale_factor, source, .. } = terms;
    let began = HceWeights::started_from(begun, terms.list, terms.scale)?;
    Ok(HceWeights { scale_factor, source, ..began })
}

/// The output of a net becomes nothing.
pub fn zero(weights: &mut Weights, net: &Architecture) {
    for part in [Part::Output, Part::OutputBias] {
        let name = net.array(part).expect("every net has it").name;
        weights.0.get_mut(&name).expect("a net has its arrays").values.fill(0.0);
    }
}
