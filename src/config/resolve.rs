//! Checks of a config and its defaults.

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds as _;

use super::{
    BatchSize, Config, ConfigError, ConfigFile, MAX_POSITIONS, MIN_WIDE_HIDDEN, Net, Objective,
    Optimizer, StartSize, VERSION,
};
use crate::architecture::{
    Activation, Architecture, ArrayKind, ImpossibleNet, Integer, MAX_ACTIVE, NetArray, NetForm,
};
use crate::format::Format;
use crate::loader::{MAX_IN_CHUNK, TestShare};
use crate::loss::{Loss, LossShape};
use crate::model::Precision;
use crate::net::format::stockfish;
use crate::net::{self, NetError, Number, StoredArray};
use crate::point_of_view::PointOfView;
use crate::scales::Scales;
use crate::train::optimizer::{OptimizerName, OptimizerSettings, stands_for};
use crate::train::schedule::Stages;
use crate::train::target::WinRateModel;

/// The default clip of nets: products with QB, 64, are bytes.
const CLIP: f64 = 1.98;
/// The largest batch in positions; a larger number is a mistake.
const LARGEST_BATCH: u64 = 1 << 22;
const MAX_EPOCHS: f64 = 1e6;
/// The smallest scale: below it, f32 overflows or a logit is meaningless.
pub(crate) const MIN_SCALE: f64 = 0.01;
pub(crate) const MAX_SCALE: f64 = 1e6;
/// The largest relative difference between the scales of the net and its scores, unless both are given.
const NEARLY: f64 = 0.05;
/// Upper sanity limit of factors.
const MAX_FACTOR: f64 = 1e6;
/// The default chunk of large batches, in positions. It is halved in small batches, and quadrupled
/// in nets with many rows, so that a row is used a few times in a chunk.
const CHUNK: usize = 512;
/// The smallest large batch, which has work for many threads.
const LARGE: usize = 8192;
/// The minimum number of chunks in a batch.
const CHUNKS: usize = 4;
const MAX_SOURCES: usize = 255;
type ConfigResult<T = ()> = Result<T, ConfigError>;

impl Config {
    /// Checks a config and fills in its defaults.
    ///
    /// # Errors
    ///
    /// Fails with the first wrong key.
    pub fn resolve_file(mut file: ConfigFile) -> ConfigResult<Self> {
        if file.version != VERSION {
            let reason = format!("expected version {VERSION}, found {}", file.version);
            return Err(ConfigError::for_key("version", reason));
        }
        if !file.stage.is_empty() {
            return Self::resolve_stages(file);
        }
        let is_net = file.net.is_some();
        let mut optimizer = file.optimizer.resolve_optimizer(is_net);
        // For moves, each position has all its legal moves.
        let default_batch = match file.target.learn {
            _ if optimizer.name.is_direct() => BatchSize::All,
            Objective::Moves => BatchSize::Positions(1024),
            _ => BatchSize::Positions(16_384),
        };
        let batch = file.schedule.batch.get_or_insert(default_batch).fixed_positions();
        let default_test = if file.data.validation.is_empty() { TestShare::DEFAULT.0 } else { 1.0 };
        let test = TestShare(*file.data.test.get_or_insert(default_test));
        check_numbers(&file, &optimizer, batch.unwrap_or(1) as u64)?;
        check_keys(&file, optimizer.name)?;
        let formats = file.data.source.iter().map(|it| ("data.source.format", &it.format));
        for (key, name) in formats.chain([("data.format", &file.data.format)]) {
            let format = name.as_deref().map(Format::named).transpose();
            format.map_err(|missing| ConfigError::for_key(key, missing))?;
        }

        let target = &mut file.target;
        let score_scale = target.score_scale.filter(|_| is_net).map(f64::round);
        let scale = target.scale.or(score_scale).unwrap_or(Scales::default().scale.into());
        let win_rate = WinRateModel {
            scale: target.score_scale.unwrap_or(scale),
            offset: target.score_offset.unwrap_or(0.0),
            clamp: target.clamp_score.unwrap_or(f64::INFINITY),
        };
        let loss = Loss {
            shape: target.loss,
            power: target.power.unwrap_or(Loss::SQUARED.power),
            asymmetry: target.asymmetry.unwrap_or(0.0),
        };
        let (mut architecture, mut scales, mut precision) = Default::default();
        if let Some(net) = &mut file.net {
            if scale.fract() != 0.0 || !(1.0..=32_767.0).contains(&scale) {
                let reason = "expected a whole number from 1 to 32767, the net's SCALE";
                return Err(ConfigError::for_key("target.scale", reason));
            }
            if target.scale.is_none() && (scale / win_rate.scale - 1.0).abs() > NEARLY {
                let reason = "expected a whole number, the net's SCALE; set `target.scale` to the \
                              centipawns per logit";
                return Err(ConfigError::for_key("target.score_scale", reason));
            }
            let (described, integers) = net.resolve_net(scale as i32)?;
            let batch = batch.unwrap_or(usize::MAX);
            let default_chunk = if batch < LARGE { CHUNK / 2 } else { CHUNK };
            let factor = if described.inputs.is_large() { 4 } else { 1 };
            let chunk = file.data.chunk.unwrap_or(factor * default_chunk);
            file.data.chunk = Some(if batch >= CHUNKS * chunk { chunk } else { 0 });
            // A base evaluation has a separate scale, which is known once it is opened.
            if net.base.is_none() {
                target.scale = Some(scale);
            }
            check_layers(&described, net.tune_base, &file.optimizer)?;
            fit_layers(&described, integers, net, &mut optimizer);
            (architecture, scales, precision) = (Some(described), integers, net.precision);
        }
        if target.scale.is_some() {
            target.score_scale = Some(win_rate.scale);
        }
        Ok(Self {
            architecture,
            scales,
            precision: precision.unwrap_or_default(),
            optimizer,
            learning_rate: file.schedule.learning_rate.clone().unwrap_or(Stages::constant(1.0)),
            batch_size: batch,
            test_share: test,
            scale,
            win_rate,
            loss,
            file,
            staged: None,
        })
    }
}

impl Net {
    /// Writes the defaults of a net with the given SCALE into the section.
    fn resolve_net(&mut self, scale: i32) -> ConfigResult<(Architecture, Scales)> {
        let form = NetForm {
            inputs: self.inputs,
            sets: self.sets.clone(),
            integers: self.integers.clone(),
            mirror: *self.mirror.get_or_insert(is_of_mover(self)),
            king_buckets: self.king_buckets.clone(),
            merged_kings: false,
            factorised: self.factorised,
            hidden: self.hidden,
            activation: *self.activation.get_or_insert(match self.pairwise {
                true => Activation::CReLU,
                false => Activation::SCReLU,
            }),
            pairwise: self.pairwise,
            head: self.head.clone(),
            skip: self.skip,
            psqt: self.psqt,
            output_buckets: self.output_buckets,
        };
        let wrong =
            |ImpossibleNet { key, reason }| ConfigError::for_key(&format!("net.{key}"), reason);
        let architecture = Architecture::try_from(form).map_err(wrong)?;
        let qa = self.qa.unwrap_or(Scales::default().qa);
        let Self { qb, head_format, head_shift, head_round, .. } = *self;
        let scales = Scales { qa, qb, scale, head_format, head_shift, head_round };
        let key = if head_shift.is_some() { "net.head_shift" } else { "net.head_format" };
        net::Net::check_architecture(&architecture.without_factoriser(), scales).map_err(
            |error| match error {
                NetError::ImpossibleNet(impossible) => wrong(impossible),
                error => ConfigError::for_key(key, error),
            },
        )?;
        if let Some(format) = &self.format {
            stockfish::check_keys(format, &architecture, scales)
                .map_err(|reason| ConfigError::for_key("net.format", reason))?;
            if self.base.is_some() {
                let reason = "a file of Stockfish has no base evaluation; remove one of both keys";
                return Err(ConfigError::for_key("net.base", reason));
            }
        }
        if let StartSize::Sets(sizes) = &self.start_size
            && let Some(name) = sizes.keys().find(|name| !self.sets.contains(name))
        {
            let reason = format!("this net has no set {name:?}; it has {}", self.sets.join(", "));
            return Err(ConfigError::for_key("net.start_size", reason));
        }
        let fits_mixed = architecture.fits_mixed_precision();
        let narrow = architecture.is_deep() || architecture.hidden < MIN_WIDE_HIDDEN || !fits_mixed;
        let usual = if narrow { Precision::F32 } else { Precision::Mixed };
        if *self.precision.get_or_insert(usual) != Precision::F32 && !fits_mixed {
            let reason = "values of this net have no bound, as 16-bit numbers need; use `\"f32\"`";
            return Err(ConfigError::for_key("net.precision", reason));
        }
        Ok((architecture, scales))
    }
}

/// Whether a net evaluates from the point of view of the side to move.
fn is_of_mover(net: &Net) -> bool {
    net.inputs.point_of_view() == PointOfView::SideToMove
}

impl Optimizer {
    /// Resolves the optimiser with defaults that fit the model, and completes the used keys. Weights
    /// of nets are clipped to be quantised; handcrafted weights are centipawns without bounds.
    fn resolve_optimizer(&mut self, is_net: bool) -> OptimizerSettings {
        let default_name = if is_net { OptimizerName::AdamW } else { OptimizerName::Adam };
        let name = *self.name.get_or_insert(default_name);
        let usual = OptimizerSettings::default_of(name);
        match name {
            OptimizerName::GaussNewton => _ = self.prior.get_or_insert(usual.prior),
            OptimizerName::LocalSearch => _ = self.step.get_or_insert(usual.step),
            _ => {}
        }
        OptimizerSettings {
            beta1: *self.beta1.get_or_insert(usual.beta1),
            beta2: *self.beta2.get_or_insert(usual.beta2),
            epsilon: *self.epsilon.get_or_insert(usual.epsilon),
            weight_decay: *self.weight_decay.get_or_insert(usual.weight_decay),
            bias_correction: *self.bias_correction.get_or_insert(usual.bias_correction),
            average_decay: self.average_decay,
            clip: *self.clip.get_or_insert(if is_net { CLIP } else { 0.0 }),
            layers: self.layers.clone(),
            prior: self.prior.unwrap_or(usual.prior),
            step: self.step.unwrap_or(usual.step),
            ..usual
        }
    }
}

/// Checks that the keys fit each other. Direct methods use all positions and have no learning rate.
fn check_keys(file: &ConfigFile, name: OptimizerName) -> ConfigResult {
    let ConfigFile { data, net, terms, traces, target, optimizer, schedule, .. } = file;
    let count = |given: [bool; 3]| given.iter().filter(|it| **it).count();
    let models = count([net.is_some(), terms.is_some(), traces.is_some()]);
    let length = [schedule.epochs.is_some(), schedule.positions.is_some()];
    let lengths = count([length[0], length[1], schedule.superbatches.is_some()]);
    let batch = schedule.batch.and_then(BatchSize::fixed_positions);
    let [is_net, direct] = [net.is_some(), name.is_direct()];
    let [gauss, corrects] = [OptimizerName::GaussNewton, OptimizerName::AdamW].map(|it| it == name);
    let (values, moves) = (target.learn == Objective::Values, target.learn == Objective::Moves);
    let asymmetric = target.asymmetry.is_some_and(|it| it != 0.0);
    let [level, squared] = [target.weights.is_level(), target.loss == LossShape::Squared];
    if direct && is_net {
        let reason = "this method is for handcrafted terms only; use another one for nets";
        return Err(ConfigError::for_key("optimizer.name", reason));
    }
    for (key, fits) in [
        ("schedule.learning_rate", !direct || schedule.learning_rate.is_none()),
        ("schedule.batch", !direct || batch.is_none()),
        ("data.window", !direct || data.window.is_none()),
        ("optimizer.bias_correction", corrects || optimizer.bias_correction != Some(false)),
        ("optimizer.average_decay", !direct || optimizer.average_decay.is_none()),
        ("optimizer.prior", gauss || optimizer.prior.is_none()),
        ("optimizer.step", name == OptimizerName::LocalSearch || optimizer.step.is_none()),
    ] {
        if !fits {
            let reason = format!("{} does not have it; remove the key", name.display_name());
            return Err(ConfigError::for_key(key, reason));
        }
    }
    let source_filters = data.source.iter().filter_map(|source| source.filter.as_ref());
    if source_filters.chain([&data.filter]).any(|filter| !filter.has_valid_line()) {
        let reason = "expected points in rising order with shares from 0 to 1, such as \
                      [[2, 0.3], [16, 1]]";
        return Err(ConfigError::for_key("data.filter.accept_pieces", reason));
    }
    if let Some(key) = target.weights.invalid_key() {
        let reason = "expected points in rising order with weights from 0, not all 0, such as \
                      [[0, 0.2], [30, 1]]";
        return Err(ConfigError::for_key(&format!("target.weights.{key}"), reason));
    }
    let (key, reason) = if models != 1 {
        ("net", "expected exactly one of the sections [net], [terms] and [traces]")
    } else if is_net && batch.is_none() {
        ("schedule.batch", "\"all\" is for handcrafted terms only; give a number of positions")
    } else if !direct && schedule.learning_rate.is_none() {
        ("schedule.learning_rate", "give a number such as 0.001, or stages")
    } else if data.files.is_empty() && data.source.is_empty() {
        ("data.files", "no files are named; name them here, or in sources with [[data.source]]")
    } else if !data.files.is_empty() && !data.source.is_empty() {
        ("data.source", "files are named in `data.files` too; name all of them here")
    } else if data.source.iter().any(|it| it.files.is_empty()) {
        ("data.source.files", "a source names no file; name at least one")
    } else if data.source.len() > MAX_SOURCES {
        ("data.source", "expected at most 255 sources")
    } else if !data.source.is_empty() && traces.is_some() {
        ("data.source", "traces cannot have sources; name the files in `data.files`")
    } else if !data.validation.is_empty() && data.test != Some(1.0) {
        ("data.test", "with `data.validation` all held-out games are the test; remove this key")
    } else if !is_net && data.chunk.is_some_and(|it| it > 0) {
        ("data.chunk", "is for nets; remove the key")
    } else if lengths > 1 || lengths == 0 && !direct {
        ("schedule", "give one of `epochs`, `positions` and `superbatches`")
    } else if schedule.patience.is_some() && !data.has_validation() {
        ("schedule.patience", "no game validates; raise `data.held_out`, or remove `patience`")
    } else if target.wdl.final_value().is_none() {
        ("target.wdl", "its last value depends on the length of the run; give `every` as a share")
    } else if target.power.is_some() && target.loss != LossShape::Power {
        ("target.power", "goes with `loss = \"power\"`")
    } else if asymmetric && !net.as_ref().is_some_and(is_of_mover) {
        ("target.asymmetry", "is for nets with `inputs = \"perspective\"` or \"side-to-move\" only")
    } else if target.sparsity.is_some()
        && !net.as_ref().is_some_and(|net| net.pairwise || !net.head.is_empty())
    {
        ("target.sparsity", "is for nets with `pairwise` or a `head`; remove the key")
    } else if net.as_ref().is_some_and(|net| net.qat.is_some()) && moves {
        ("net.qat", "is not for `learn = \"moves\"`")
    } else if target.sparsity.is_some() && moves {
        ("target.sparsity", "is not for `learn = \"moves\"`")
    } else if gauss && !squared {
        ("target.loss", "gauss-newton needs `loss = \"squared\"`; use another method for others")
    } else if moves && !level {
        ("target.weights", "is not for `learn = \"moves\"`")
    } else if moves && (!squared || asymmetric) {
        ("target.loss", "is not for `learn = \"moves\"`")
    } else if traces.is_some() && !level {
        ("target.weights", "traces have no positions; remove the key")
    } else if target.force.is_some() && !moves {
        ("target.force", "goes with `learn = \"moves\"`")
    } else if traces.is_some() && !values {
        ("target.learn", "traces cannot be searched; use `learn = \"values\"`")
    } else if moves && name == OptimizerName::LocalSearch {
        ("optimizer.name", "local-search cannot learn moves; gauss-newton can")
    } else if net.as_ref().is_some_and(|net| net.tune_base && (!values || net.base.is_none())) {
        ("net.tune_base", "needs `net.base`, and `target.learn = \"values\"`")
    } else if net.as_ref().is_some_and(|net| net.start_optimizer && net.start.is_none()) {
        ("net.start_optimizer", "needs `net.start`, the run whose state it is")
    } else if !is_net && !optimizer.layers.is_empty() {
        ("optimizer.layers", "is for nets only; remove the key")
    } else {
        return Ok(());
    };
    Err(ConfigError::for_key(key, reason))
}

fn check_numbers(file: &ConfigFile, settings: &OptimizerSettings, batch: u64) -> ConfigResult {
    let ConfigFile { data, target, optimizer, schedule, .. } = file;
    let whole = |count: Option<u64>| count.map(|count| count as f64);
    let size = |count: Option<usize>| count.map(|count| count as f64);
    let [zero, one, positive] = [Included(0.0), Included(1.0), Excluded(0.0)];
    let max_positions = MAX_POSITIONS as f64;
    let superbatch = schedule.batches_per_superbatch as f64 * batch as f64;
    let longest = max_positions / superbatch.max(1.0);
    let wdl = target.wdl.value_range();
    let rate = schedule.learning_rate.as_ref().map(Stages::value_range);
    // If epsilon is 0 in 32 bits, a weight without a gradient becomes 0 / 0.
    let epsilon = f64::from(settings.epsilon as f32);
    let mut rows = vec![
        ("data.held_out", Some(data.held_out), zero, Excluded(1.0)),
        ("data.test", data.test, zero, one),
        ("data.share", Some(data.share), positive, one),
        ("data.limit", whole(data.limit), one, Unbounded),
        ("data.filter.random_skip", data.filter.random_skip, zero, Excluded(1.0)),
        ("data.window", size(data.window), one, Included((1u64 << 31) as f64)),
        ("data.positions", whole(data.positions), one, Included(max_positions)),
        ("data.chunk", size(data.chunk), zero, Included(MAX_IN_CHUNK as f64)),
        ("target.scale", target.scale, Included(MIN_SCALE), Included(MAX_SCALE)),
        ("target.score_scale", target.score_scale, Included(MIN_SCALE), Included(MAX_SCALE)),
        ("target.score_offset", target.score_offset, zero, Unbounded),
        ("target.clamp_score", target.clamp_score, positive, Unbounded),
        ("target.power", target.power, Excluded(1.0), Unbounded),
        ("target.asymmetry", target.asymmetry, Excluded(-1.0), Included(MAX_FACTOR)),
        ("target.sparsity", target.sparsity, zero, Included(MAX_FACTOR)),
        ("target.force", target.force, zero, Unbounded),
        ("target.wdl", Some(wdl.0), zero, one),
        ("target.wdl", Some(wdl.1), zero, one),
        ("optimizer.beta1", Some(settings.beta1), zero, Excluded(1.0)),
        ("optimizer.beta2", Some(settings.beta2), zero, Excluded(1.0)),
        ("optimizer.average_decay", optimizer.average_decay, zero, Excluded(1.0)),
        ("optimizer.weight_decay", Some(settings.weight_decay), zero, Unbounded),
        ("optimizer.clip", Some(settings.clip), zero, Unbounded),
        ("optimizer.epsilon", Some(epsilon), positive, Unbounded),
        ("optimizer.prior", optimizer.prior, positive, Unbounded),
        ("optimizer.step", optimizer.step.map(f64::from), one, Included(1000.0)),
        ("schedule.learning_rate", rate.map(|it| it.0), zero, Unbounded),
        ("schedule.learning_rate", rate.map(|it| it.1), positive, Unbounded),
        ("schedule.batch", Some(batch as f64), one, Included(LARGEST_BATCH as f64)),
        ("schedule.batches_per_superbatch", Some(superbatch), one, Included(max_positions)),
        ("schedule.validations", whole(Some(schedule.validations)), one, Unbounded),
        ("schedule.checkpoints", whole(Some(schedule.checkpoints)), one, Unbounded),
        ("schedule.patience", whole(schedule.patience), one, Unbounded),
        ("schedule.epochs", schedule.epochs, positive, Included(MAX_EPOCHS)),
        ("schedule.positions", whole(schedule.positions), positive, Included(max_positions)),
        ("schedule.superbatches", schedule.superbatches, positive, Included(longest)),
    ];
    if let Some(net) = &file.net {
        let max_scale = Included(i16::MAX.into());
        let (sizes, lower_bound) = match &net.start_size {
            StartSize::Number(size) => (vec![*size], positive),
            StartSize::Sets(sizes) => (sizes.values().copied().collect(), zero),
        };
        let row = |size| ("net.start_size", Some(size), lower_bound, Included(10.0));
        rows.extend(sizes.into_iter().map(row));
        rows.push(("net.qa", net.qa.map(f64::from), one, max_scale));
        rows.push(("net.qat", net.qat, zero, Excluded(1.0)));
        rows.push(("net.qb", Some(net.qb.into()), one, max_scale));
    }
    for source in &data.source {
        rows.push(("data.source.score_scale", source.score_scale, positive, Included(MAX_SCALE)));
        rows.push(("data.source.wdl", source.wdl, zero, one));
        rows.push(("data.source.limit", whole(source.limit), one, Unbounded));
        let random_skip = source.filter.as_ref().and_then(|filter| filter.random_skip);
        rows.push(("data.source.filter.random_skip", random_skip, zero, Excluded(1.0)));
    }
    for layer in optimizer.layers.0.values() {
        rows.push(("optimizer.layers", layer.clip, zero, Unbounded));
        rows.push(("optimizer.layers", layer.rate, positive, Unbounded));
        rows.push(("optimizer.layers", layer.decay, zero, Unbounded));
    }
    let format_bound = |bound, included, excluded| match bound {
        Included(bound) => format!("{included} {bound}"),
        Excluded(bound) => format!("{excluded} {bound}"),
        Unbounded => String::new(),
    };
    for (key, value, low, high) in rows {
        let Some(value) = value else { continue };
        if !(value.is_finite() && (low, high).contains(&value)) {
            let range =
                format_bound(low, "from", "above") + &format_bound(high, " to", " to below");
            return Err(ConfigError::for_key(
                key,
                format!("expected a number {range}, found {value}"),
            ));
        }
    }
    Ok(())
}

/// Sets the default clips and learning rates of arrays. Weights that are exported in i8 are clipped to
/// be quantised; a row and its factor are added, so each has half of the range. If rows repeat, clip
/// and learning rate are smaller, so that sums and their changes are as large as with pieces.
fn fit_layers(
    architecture: &Architecture,
    scales: Scales,
    net: &Net,
    optimizer: &mut OptimizerSettings,
) {
    let max_clip = |stored: &StoredArray| {
        let factor = stored.factors.iter().copied().fold(0.0, f64::max);
        f64::from(i8::MAX) / factor
    };
    let stored = net::stored_arrays(&architecture.without_factoriser(), scales);
    for it in stored.iter().filter(|it| it.number == Number::I8) {
        let is_layer = matches!(it.array.kind, ArrayKind::Layer(_) | ArrayKind::Output);
        let clips_more = optimizer.clip <= 0.0 || max_clip(it) < optimizer.clip;
        if is_layer && clips_more {
            optimizer.layers.set_missing_clip(&it.array.name, max_clip(it));
        }
    }
    // In nets for Stockfish only bytes are clipped, since Stockfish's nets have larger numbers.
    if net.format.is_some() && optimizer.clip == CLIP {
        let is_bytes = |array: &NetArray| match array.kind {
            ArrayKind::Rows(set) | ArrayKind::Factor(set) => {
                architecture.inputs.sets()[set].integer() == Integer::I8
            }
            kind => stored.iter().any(|it| it.array.kind == kind && it.number == Number::I8),
        };
        for array in architecture.list_arrays().into_iter().filter(|array| !is_bytes(array)) {
            optimizer.layers.set_missing_clip(&array.name, 0.0);
        }
    }
    for array in architecture.list_arrays() {
        let (ArrayKind::Rows(set) | ArrayKind::Factor(set)) = array.kind else { continue };
        let inputs = &architecture.inputs;
        let parts = if inputs.factor_rows(set) > 0 { 2.0 } else { 1.0 };
        let input_set = &inputs.sets()[set];
        let mut clip = if optimizer.clip > 0.0 { optimizer.clip } else { f64::INFINITY };
        let share = MAX_ACTIVE as f64 / input_set.max_active() as f64;
        let share = if input_set.has_repeats() { share.min(1.0) } else { 1.0 };
        clip *= share;
        if input_set.integer() == Integer::I8 {
            clip = clip.min(f64::from(i8::MAX) / f64::from(scales.qa) / parts);
        }
        if clip.is_finite() && clip != optimizer.clip {
            optimizer.layers.set_missing_clip(&array.name, clip);
        }
        if share < 1.0 && optimizer.layers.layer_of(&array.name).rate.is_none() {
            optimizer.layers.0.entry(array.name).or_default().rate = Some(share);
        }
    }
    // Terms are unbounded centipawns, about a hundred times as large as weights of nets. The value
    // of a queen exceeds the bound of weights that are multiplied.
    for (name, is_trained, rate) in
        [("tempo", net.tune_base, 100.0), ("terms", net.tune_base, 100.0), ("psqt", net.psqt, 1.0)]
    {
        if is_trained {
            let layer = optimizer.layers.0.entry(name.into()).or_default();
            layer.clip.get_or_insert(0.0);
            layer.rate.get_or_insert(rate);
        }
    }
}

fn check_layers(net: &Architecture, tune_base: bool, optimizer: &Optimizer) -> ConfigResult {
    let mut names: Vec<String> = net.list_arrays().into_iter().map(|array| array.name).collect();
    if tune_base {
        names.extend(["tempo", "terms"].map(String::from));
    }
    let unknown = |name: &&String| !names.iter().any(|array| stands_for(name, array));
    let Some(name) = optimizer.layers.0.keys().find(unknown) else { return Ok(()) };
    let reason = format!("the net has no `{name}`; its arrays are {}", names.join(", "));
    Err(ConfigError::for_key("optimizer.layers", reason))
}
