//! Imports of most tests, files of the repository, and helpers for numbers of threads and models.

pub use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
pub use std::fs::{self, File};
pub use std::io::Cursor;
pub use std::path::{Path, PathBuf};
pub use std::process::{Command, Output, Stdio};
pub use std::sync::{Arc, LazyLock};
pub use std::thread;
pub use std::time::{Duration, Instant};

pub use nnuance::architecture::{Activation, Architecture, Kings, Layer, NetForm, Perspectives};
pub use nnuance::batch::Batch;
pub use nnuance::config::{Config, ConfigError};
pub use nnuance::engine::journal::path_of;
pub use nnuance::export::{import_weights, quantise};
pub use nnuance::features::DirtyPieces;
pub use nnuance::floats::Float;
pub use nnuance::format::{Format, GivenViews, LabelKind, Presence, SampleSource};
pub use nnuance::hce::terms::TERMS;
pub use nnuance::hce::{Coding, HceEvaluator, HceWeights};
pub use nnuance::loader::{
    Encoder, InputLayout, PassOrder, ReadPlan, ScanFacts, Split, Stream, StreamPlan, Subset,
    TermsEncoder, collect_samples, scan,
};
pub use nnuance::log::LogRow;
pub use nnuance::loss::{Loss, LossShape, sigmoid};
pub use nnuance::model::{
    Aim, Backend, Compute, Device, LossInputs, Model, ModelKind, Precision, SimdLevel,
    initial_weights, to_host,
};
pub use nnuance::net::{Hints, Net, PositionEvaluator};
pub use nnuance::point_of_view::PointOfView;
pub use nnuance::progress::Progress;
pub use nnuance::run::{data_plan, recipe};
pub use nnuance::sample::{PlayedMove, Position, Sample, mix_hash};
pub use nnuance::scales::{HeadFormat, Scales};
pub use nnuance::terms::{EngineTerms, TermSelection};
pub use nnuance::train::checkpoint::Checkpoint;
pub use nnuance::train::target::{SourceTarget, WinRateModel};
pub use nnuance::weights::Weights;
pub use rand::RngExt;
pub use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
pub use serde_json::{Value, json};
pub use shakmaty::fen::Fen;
pub use shakmaty::uci::UciMove;
pub use shakmaty::{CastlingMode, Chess, Color, Position as _};

use nnuance::format::{FileSink, WriteError};
use nnuance::hce::terms::built_in_list;
use nnuance::report::PositionFacts;

pub use crate::reports::pictures::stands_alone;
pub use crate::support::largest::{
    assert_close, assert_near, distance, error_and_size, largest, smallest,
};
pub use crate::support::listed_rows::near;
pub use crate::support::net_shapes::*;
pub use crate::support::program::*;
pub use crate::support::term_positions::Dice;
pub(crate) use crate::{
    support::games, support::listed_rows as listed, support::need, support::playouts,
    support::program, support::random_nets as drawn,
};

pub const GAMES: &str = "data/selfplay-sf15.vf";
pub const NOTATED: &str = "data/selfplay_sf151_200games.pgn";
pub const QUIET: &str = "data/selfplay_sf151_quiet.epd";
pub const SCORED: &str = "data/selfplay_sf151_scored.txt";
pub const QUICKSTART: &str = "nets/quickstart-32.bin";

/// Activations that accumulators may have: one number a neuron.
pub fn of_accumulators() -> impl Iterator<Item = Activation> {
    Activation::ALL.into_iter().filter(|it| it.is_for_accumulators())
}

/// The index of a built-in term.
pub fn term_named(name: &str) -> usize {
    let index = built_in_list().terms.iter().position(|term| term.name == name);
    index.unwrap_or_else(|| panic!("{name}"))
}

pub fn facts_of_games(results: &[f64], groups: &[u64], noun: &'static str) -> PositionFacts {
    let (results, groups) = (results.to_vec(), groups.to_vec());
    PositionFacts { results, targets: None, groups, noun, games_known: true, cautions: vec![] }
}

/// Runs in a pool of so many threads.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads can be had").install(work)
}

/// The result of one thread; asserts that other numbers of threads give the same bits.
pub fn same_for_threads<T: PartialEq + Send>(
    others: &[usize],
    what: &str,
    work: impl Fn() -> T + Sync,
) -> T {
    let one = with_threads(1, &work);
    for &threads in others {
        assert!(with_threads(threads, &work) == one, "{what}: {threads} threads");
    }
    one
}

/// The model `sigmoid(score / scale)`.
pub fn win_rate(scale: f64) -> WinRateModel {
    WinRateModel { scale, offset: 0.0, clamp: f64::INFINITY }
}

pub fn flex() -> Device {
    Backend::Flex.first_device().expect("flex is always there")
}

pub fn fused(level: SimdLevel, precision: Precision) -> Compute {
    Compute::Fused { level, precision }
}

/// The fused operations with the best instructions of this machine.
pub fn fastest() -> Compute {
    fused(SimdLevel::detect_fastest(), Precision::F32)
}

/// The plain tensor operations, and the fused ones with every set of instructions that is here.
pub fn computes() -> impl Iterator<Item = Compute> {
    let levels = SimdLevel::list_available().into_iter();
    [Compute::Plain].into_iter().chain(levels.map(|level| fused(level, Precision::F32)))
}

pub fn model_of(kind: &ModelKind, weights: &Weights, device: &Device, compute: Compute) -> Model {
    Model::new(kind, weights, &device.clone().autodiff(), compute).expect("the weights fit")
}

pub fn bits(weights: &Weights) -> Vec<u32> {
    weights.0.values().flat_map(|array| &array.values).map(|it| it.to_bits()).collect()
}

pub fn model_on(device: &Device, net: &Architecture, weights: &Weights, compute: Compute) -> Model {
    model_of(&ModelKind::Net(net.clone()), weights, device, compute)
}

/// A net on the CPU.
pub fn model(net: &Architecture, weights: &Weights, compute: Compute) -> Model {
    model_on(&flex(), net, weights, compute)
}

/// A config with these lines, and the least of the others.
pub fn config_with(lines: &str) -> Result<Config, ConfigError> {
    let schedule = "schedule = { epochs = 1, learning_rate = 0.01 }";
    let text = format!("version = 3\ndata.files = [\"games.vf\"]\n{schedule}\n{lines}");
    Config::parse_text(&text, "it", &[])
}

/// A plan of a stream whose training positions are counted, or not.
pub fn stream_plan(read: ReadPlan, order: PassOrder, positions: Option<u64>) -> StreamPlan {
    let facts = ScanFacts { positions, ..ScanFacts::default() };
    StreamPlan { facts, ..StreamPlan::new(read, order) }
}

/// Plans to read the first positions of a file.
pub fn plan_first_positions(path: impl Into<PathBuf>, limit: u64) -> ReadPlan {
    let mut plan = ReadPlan::new(vec![path.into()]);
    plan.reading.limit = Some(limit);
    plan
}

/// Writes samples to a file of a format and returns their number.
pub fn write_all<'a>(
    path: &Path,
    format: &'static Format,
    samples: impl IntoIterator<Item = &'a Sample>,
) -> Result<u64, WriteError> {
    let mut sink = FileSink::create_file(path, format)?;
    for sample in samples {
        sink.write_sample(sample)?;
    }
    sink.finish_file()
}
