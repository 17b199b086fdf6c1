//! Export of weights and their facts to a net with floats and manifest.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::Host;
use super::base::{base_fact, open_base, read_base, replace_base_terms};
use super::evaluator::{Evaluator, explain_untrained_net};
use super::inspect;
use super::measure::position_facts;
use super::recipe::{Recipe, list_names};
use crate::config::Config;
use crate::evaluation::Evaluation;
use crate::export::{
    self, ExportedNet, ImportedWeights, ManifestLosses, NeuronOrder, Provenance, ScaleReference,
    ZeroBlocks, fitted_scale, is_stockfish, largest_scales, round_counts,
};
use crate::inspect::ordinary_values;
use crate::loader::ReadPlan;
use crate::progress::Progress;
use crate::report::{MatchedScale, match_scale};
use crate::sample::{Position, Sample};
use crate::train::checkpoint::Checkpoint;
use crate::weights::Weights;
use crate::{input, output};

pub struct WrittenNet {
    pub exported: ExportedNet,
    /// Kind of its source, in words.
    pub kind: &'static str,
    /// Paths of floats, net and manifest.
    pub paths: [PathBuf; 3],
    /// Reason why the net is worthless, see [`explain_untrained_net`].
    pub unlearnt: Option<String>,
    /// Differences that engines of Stockfish may compute.
    pub cautions: Vec<String>,
}

pub fn export_checkpoint(
    path: &Path,
    net: &Path,
    config: &Config,
    validation: &[Sample],
) -> Result<WrittenNet> {
    let (mut source, origin) = read_source(path)?;
    source.scales = config.scales;
    let ImportedWeights { weights, architecture, scales, .. } = &source;
    let quantised = export::quantise(weights, architecture, *scales)?;
    if config.file.net.as_ref().is_some_and(|net| net.qa.is_none())
        && export::prove(&quantised).is_err()
    {
        source.scales = largest_scales(weights, architecture, *scales).unwrap_or(*scales);
    }
    let samples = validation[..validation.len().min(MEASURED)].to_vec();
    let basis = ExportPositions { samples, on: origin.describe_positions(None) };
    let options = ExportOptions { force: true, ..ExportOptions::default() };
    write_export(&source, origin.provenance, &basis, None, options, net)
}

/// Reads weights with their origin, or dequantises a net, as the file or its sidecar describes.
pub fn read_source(path: &Path) -> Result<(ImportedWeights, Origin)> {
    let name = path.display();
    let bytes =
        input::read_bytes(path, input::WEIGHTS).with_context(|| format!("cannot read {name}"))?;
    let beside = export::sidecar_of(path, &bytes)?;
    let hints = beside.hints.unwrap_or_default();
    let mut source = export::import_weights(&bytes, &hints).with_context(|| name.to_string())?;
    replace_base_terms(&mut source.facts, &source.weights).with_context(|| name.to_string())?;
    let mut origin = Origin::origin_of(&source).with_context(|| name.to_string())?;
    export::check_agreement(path, beside.hidden, &source.architecture)?;
    if let Some(manifest) = beside.manifest {
        // The file itself has no base evaluation.
        source.facts.extend(base_fact(manifest.provenance.base.as_ref())?);
        origin.provenance = manifest.provenance;
    }
    Ok((source, origin))
}

/// Fails if an export would overwrite its source, by any path or link.
pub fn require_distinct(checkpoint: &Path, net: &Path) -> Result<()> {
    for path in export::output_paths(net)? {
        ensure!(
            !output::is_device(&path),
            "{} is no regular file, and a net is one of three files; name another",
            path.display()
        );
        ensure!(
            !output::is_same(checkpoint, &path),
            "the export would overwrite {}, which it is made from; choose another name than {}",
            path.display(),
            net.display()
        );
    }
    Ok(())
}

/// Number of positions to compare integers with floats: enough for the mean and rare extremes.
const MEASURED: usize = 100_000;

/// Positions on which an export is measured.
pub struct ExportPositions {
    pub samples: Vec<Sample>,
    /// Origin of the positions, in words.
    pub on: String,
}

/// Origin of a checkpoint, from its header.
pub struct Origin {
    pub provenance: Provenance,
    /// Recipe in the header; None for a net that a manifest describes.
    pub recipe: Option<Recipe>,
}

impl Origin {
    /// Reads the origin; it is empty for files of other programs.
    fn origin_of(source: &ImportedWeights) -> Result<Self> {
        let recipe = Recipe::read_header(&source.facts)?;
        let state = Checkpoint::read_state(&source.facts).unwrap_or_default();
        let losses = ManifestLosses {
            train: state.train_loss,
            validation: state.best.map(|best| best.loss),
        };
        let provenance = Provenance {
            base: read_base(&source.facts)?,
            positions: (state.positions > 0).then_some(state.positions),
            losses,
            ..recipe.as_ref().map(Recipe::to_provenance).unwrap_or_default()
        };
        Ok(Self { provenance, recipe })
    }

    /// Describes the positions of [`Origin::load_positions`] in words.
    fn describe_positions(&self, given: Option<&ReadPlan>) -> String {
        let shown = |file: &PathBuf| file.display().to_string();
        match (given, &self.recipe) {
            (Some(plan), _) => plan.files.iter().map(shown).collect::<Vec<_>>().join(", "),
            (None, Some(recipe)) => {
                format!("validation games of {}", list_names(recipe.validation_files()))
            }
            (None, None) => String::new(),
        }
    }

    /// Loads the positions of the files, or else the run's validation positions, if its data still
    /// exist. Scales are chosen on these, and choices must not use the test.
    pub fn load_positions(
        &self,
        given: Option<ReadPlan>,
        checkpoint: &Path,
        listener: &dyn Progress,
    ) -> Result<ExportPositions> {
        let recipe = self.recipe.as_ref();
        let on = self.describe_positions(given.as_ref());
        let is_given = given.is_some();
        if !is_given && !recipe.is_some_and(|recipe| recipe.config.file.data.has_validation()) {
            return Ok(ExportPositions { samples: Vec::new(), on });
        }
        let mut samples = match inspect::choose_positions(given, recipe, checkpoint, listener) {
            Err(error) if !is_given => {
                listener
                    .report_remark(&format!("integers are not measured against floats: {error:#}"));
                Vec::new()
            }
            samples => samples?,
        };
        samples.truncate(MEASURED);
        Ok(ExportPositions { samples, on })
    }
}

/// How a net is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Whether neurons get an order with many zero blocks.
    pub permutes: bool,
    /// Whether a worthless net is written.
    pub force: bool,
}

/// Puts the neurons of a net into an order in which many blocks of inputs are zero.
pub fn permute_neurons(
    source: &ImportedWeights,
    positions: &[Position],
) -> Result<(Weights, ZeroBlocks)> {
    let ImportedWeights { weights, architecture, scales, .. } = source;
    ensure!(
        !positions.is_empty(),
        "an order of neurons is chosen on positions: name some with --data"
    );
    let order =
        NeuronOrder::choose_order(&export::quantise(weights, architecture, *scales)?, positions);
    Ok((order.apply_order(weights, architecture)?, order.zero_blocks))
}

/// Quantises, proves, measures and writes a net. Fails if it is worthless, unless `force`.
pub fn write_export(
    source: &ImportedWeights,
    provenance: Provenance,
    ExportPositions { samples, on }: &ExportPositions,
    matched: Option<ScaleReference>,
    ExportOptions { permutes, force }: ExportOptions,
    path: &Path,
) -> Result<WrittenNet> {
    let ImportedWeights { weights, architecture, scales, write, facts, format, .. } = source;
    if let Some(export::StoredBase { name, scale, .. }) = &provenance.base {
        ensure!(
            *scale == f64::from(scales.scale),
            "it is added to {name} in centipawns of SCALE {scale}, and with {} the sum would be \
             another; leave the scale as it is",
            scales.scale
        );
    }
    let base = open_base(provenance.base.as_ref())?.map(|base| base.evaluation);
    let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
    let ordered = permutes.then(|| permute_neurons(source, &positions)).transpose()?;
    let weights = ordered.as_ref().map_or(weights, |(weights, _)| weights);
    let mut rounded = round_counts(weights, architecture, *scales, samples)?;
    // A file made from another file keeps its rows.
    let keeps_rows = is_stockfish(path) && provenance.start.is_some();
    if !source.is_quantised() && !keeps_rows {
        export::clear_unreachable(&mut rounded, architecture);
    }
    let quantised = export::quantise(&rounded, architecture, *scales)?.written_by(*write);
    let quantised = quantised.with_header(source.header.clone());
    let data = provenance.recipe.is_some().then(|| provenance.data.clone());
    let mut exported =
        ExportedNet::from_net(quantised, weights, architecture, provenance, &positions)?;
    let evaluation = Evaluation::from_net(exported.net.clone(), base);
    let value = |position: &Position| evaluation.evaluate(position);
    let values = ordinary_values(|position| value(position).into());
    let unlearnt = data.and_then(|data| explain_untrained_net(&values, &data));
    if let Some(why) = unlearnt.as_ref().filter(|_| !force) {
        bail!("{why} To write it all the same, add --force");
    }
    exported.manifest.fitted_scale = fitted_scale(value, samples, on);
    exported.manifest.matched = matched;
    exported.manifest.zero_blocks = match ordered {
        Some((_, zero_blocks)) => Some(zero_blocks),
        None => ZeroBlocks::measure_blocks(&exported.net, &positions),
    };
    let cautions = match is_stockfish(path) {
        true => export::stockfish_cautions(&exported.net, &exported.manifest.proof, &positions),
        false => Vec::new(),
    };
    let paths = exported.write_files(path, &rounded, facts)?;
    Ok(WrittenNet { exported, kind: format.name, paths, unlearnt, cautions })
}

/// Sets SCALE so that centipawns mean the same as in an old evaluation. Also returns its name.
pub fn match_to(
    source: &mut ImportedWeights,
    old: &str,
    samples: &[Sample],
    host: &Host,
) -> Result<(ScaleReference, String, MatchedScale)> {
    ensure!(
        !samples.is_empty(),
        "scales are matched on positions: name some with results with --data"
    );
    let evaluator = Evaluator::open_evaluation(old, host)?;
    let old_cp = evaluator.predict_samples(samples, &[])?.cp;
    let old_cp = old_cp.with_context(|| format!("{old} gives no centipawns to match"))?;
    let net = export::quantise(&source.weights, &source.architecture, source.scales)?;
    let base = open_base(read_base(&source.facts)?.as_ref())?;
    let evaluation = Evaluation::from_net(net, base.map(|base| base.evaluation));
    let new = samples
        .iter()
        .map(|sample| evaluation.evaluate_exactly(&sample.position))
        .collect::<Vec<_>>();
    let truth = position_facts(samples, "positions");
    let matched = match_scale(&old_cp, &new, &truth, source.scales.scale)?;
    source.scales.scale = matched.scale_after;
    let sha256 = evaluator.digest.unwrap_or_default();
    Ok((ScaleReference { sha256, factor: matched.factor.mean }, evaluator.name, matched))
}
