//! From a config to what the loader reads, in which order, and in which layout.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};

use super::Recipe;
use crate::batch::RankShare;
use crate::config::{Config, Objective, Source};
use crate::data_file::DataFile;
use crate::loader::{
    self, DataSource, Filter, InputLayout, LoadError, MAX_PLAN_BYTES, PassOrder, ReadOptions,
    ReadPlan, ScanFacts, Subset, TrainingShare, most_pairs, select_pairs,
};
use crate::model::{Compute, Precision};
use crate::point_of_view::PointOfView;
use crate::progress::Progress;
use crate::sample::Sample;
use crate::{digest, input};

/// Makes the plan that reads the files of a run, with their split.
pub fn read_plan(config: &Config) -> ReadPlan {
    let data = &config.file.data;
    let source =
        |it: &Source| DataSource { files: it.files.clone(), reading: config.read_options(it) };
    let reading = config.read_options(&Source::default());
    ReadPlan {
        files: data.all_files(),
        reading: ReadOptions { scores: config.needs_scores(), ..reading },
        sources: data.source.iter().map(source).collect(),
        validation: data.validation.clone(),
        bad_records: data.bad_records,
        check_view: data.check_view,
        weighing: config.file.target.weights.clone(),
        split: config.game_split(),
        test: config.test_share,
        share: TrainingShare(data.share),
        needs_colours: (config.architecture())
            .is_some_and(|net| net.inputs.perspectives.point_of_view() == PointOfView::White),
    }
}

/// Returns the order of a run's data, for `positions` training positions if they are counted.
pub fn pass_order(config: &Config, positions: Option<u64>) -> PassOrder {
    PassOrder {
        window: config.window_positions(positions.unwrap_or(u64::MAX)),
        shuffle: config.file.data.shuffle,
        chunk: config.file.data.chunk.unwrap_or(0),
        seed: config.file.seed,
        batch: config.batch_size.unwrap_or(usize::MAX),
        of_rank: RankShare::ALL,
    }
}

/// Size in bytes of accumulators of pieces, with short lists, whose pairs pay off in a stream.
const LONG_ACCUMULATOR: usize = 512;

/// Chooses the layout in which a run's model reads its inputs. Chunks of data in memory are planned
/// once for all passes. A GPU orders rows itself and uses only the lists and pairs of such plans,
/// of nets with one king bucket. Chunks of streamed data are planned one by one if the net has one
/// king bucket, with pairs if rows are long enough. Pairs are selected from a `sample`.
pub fn choose_layout(
    config: &Config,
    compute: Compute,
    order: &PassOrder,
    facts: &ScanFacts,
    sample: &[Sample],
) -> InputLayout {
    let Some(net) = config.architecture().filter(|_| !config.tunes_base()) else {
        return InputLayout::Lists;
    };
    if compute == Compute::Plain {
        return InputLayout::Lists;
    }
    let has_single_bucket = net.inputs.kings().bucket_count() == 1;
    let takes_plans = match compute {
        Compute::Gpu { .. } => has_single_bucket && net.inputs.is_pieces(),
        _ => true,
    };
    if order.has_fixed_chunks(facts) && takes_plans {
        let max_pairs = config.pair_count(facts.positions.unwrap_or(1));
        let inverted = !matches!(compute, Compute::Gpu { .. });
        return InputLayout::CachedPlans { max_bytes: MAX_PLAN_BYTES, max_pairs, inverted };
    }
    let number = match compute {
        Compute::Fused { precision: Precision::F32, .. } => size_of::<f32>(),
        Compute::Fused { precision: Precision::Mixed, .. } => size_of::<i16>(),
        Compute::Plain | Compute::Gpu { .. } => return InputLayout::Lists,
    };
    let streams = !order.keeps_in_memory(facts) && config.file.target.learn == Objective::Values;
    if !(streams && has_single_bucket && order.has_several_chunks()) {
        return InputLayout::Lists;
    }
    let is_long = net.hidden * number >= LONG_ACCUMULATOR || !net.inputs.is_pieces();
    let max_pairs = if is_long { most_pairs(net) } else { 0 };
    InputLayout::for_streamed_data(net, Arc::new(select_pairs(net, sample, max_pairs)))
}

/// Makes the plan that reads a run's data for a measurement, with its limit of positions per file.
pub fn measuring_plan(recipe: &Recipe) -> Result<ReadPlan> {
    let ReadPlan { mut reading, bad_records, mut sources, .. } = read_plan(&recipe.config);
    let readings = sources.iter_mut().map(|source| &mut source.reading).chain([&mut reading]);
    for reading in readings.filter(|reading| reading.limit.is_none()) {
        (reading.filter, reading.scores) = (Filter::default(), false);
    }
    Ok(ReadPlan { reading, bad_records, sources, ..ReadPlan::new(unchanged_files(&recipe.data)?) })
}

/// Returns a run's files, for commands with `--data`. Fails if one has changed or is missing.
pub fn unchanged_files(files: &[DataFile]) -> Result<Vec<PathBuf>> {
    for DataFile { path, bytes, sha256, .. } in files {
        // The header of a checkpoint may name any file: files of another length are not read.
        let same = input::require_regular(path).and_then(|()| {
            Ok(path.metadata()?.len() == *bytes && digest::of_data(path)?.sha256 == *sha256)
        });
        let name = path.display();
        ensure!(
            same.with_context(|| format!("cannot read {name}; name the files with --data"))?,
            "{name} has changed since the run began; restore it, or name files with --data"
        );
    }
    Ok(files.iter().map(|file| file.path.clone()).collect())
}

/// Collects the positions of all files of a plan, with progress.
pub fn collect_samples(
    plan: &ReadPlan,
    subset: Option<Subset>,
    listener: &dyn Progress,
) -> Result<Vec<Sample>, LoadError> {
    let counter = listener.count(None, "reading");
    loader::collect_samples(plan, subset, &*counter)
}
