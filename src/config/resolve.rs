//! The one place that checks a config and fills in its defaults.

use super::{
    BatchSize, Config, ConfigError, ConfigFile, Data, Learn, MOST_POSITIONS, Model, Net, NetModel,
    Optimizer, Source, Target, VERSION, WIDE, nearest,
};
use crate::architecture::{Activation, Architecture, Form, Impossible};
use crate::format::Format;
use crate::loader::{DataSource, MOST_IN_CHUNK, Reading, Test};
use crate::loss::{Loss, LossShape};
use crate::model::Precision;
use crate::net;
use crate::point_of_view::PointOfView;
use crate::scales::Scales;
use crate::train::optimizer::{Layer, Name, Settings, stands_for};
use crate::train::schedule::{Length, Stages, not_a_share};
use crate::train::target::Promise;

/// Positions of a step; a larger batch is a slip of the pen, not a plan.
const LARGEST_BATCH: u64 = 1 << 22;
const MOST_EPOCHS: f64 = 1e6;
/// Beyond, floats of 32 bits overflow or a logit says nothing; no evaluation comes near.
pub(crate) const LEAST_SCALE: f64 = 0.01;
pub(crate) const MOST_SCALE: f64 = 1e6;
/// The share by which rounding may change the centipawns of a net.
const NEARLY: f64 = 0.05;
/// Upper sanity limit.
const MOST_ASYMMETRY: f64 = 1e6;
/// Positions that stay together in large batches by default; half of it in small ones.
const CHUNK: usize = MOST_IN_CHUNK;
/// From here on batches are large: there is work for many threads.
const LARGE: usize = 8192;
/// The fewest chunks that a batch mixes.
const CHUNKS: usize = 4;
/// Sources that a config may have.
const MOST_SOURCES: usize = 255;

/// Returns an error about a key unless a condition holds.
macro_rules! require {
    ($condition:expr, $key:expr, $($reason:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            let reason = format!($($reason)+);
            return Err(ConfigError::Value { key: $key.into(), reason });
        }
    };
}

type Checked<T = ()> = Result<T, ConfigError>;

impl Config {
    /// Checks a config and fills in its defaults.
    ///
    /// # Errors
    /// The first key whose value cannot be used.
    pub fn resolve(mut file: ConfigFile) -> Checked<Self> {
        let found = file.version;
        require!(
            found == VERSION,
            "version",
            "this program reads version {VERSION}, found {found}"
        );
        let models = [file.net.is_some(), file.terms.is_some(), file.traces.is_some()];
        let found = models.iter().filter(|it| **it).count();
        require!(found == 1, "net", "give one of [net], [terms] and [traces], found {found}");
        let is_net = file.net.is_some();
        let learns_moves = file.target.learn == Learn::Moves;

        let mut optimizer = file.optimizer.settings(is_net);
        file.optimizer.check(&optimizer)?;
        let direct = optimizer.name.is_direct();
        let usual = match direct {
            true => BatchSize::All,
            // A position comes with all its legal moves.
            false if learns_moves => BatchSize::Positions(1024),
            false => BatchSize::Positions(16_384),
        };
        let batch = file.schedule.batch.unwrap_or(usual);
        let separate = !file.data.validation.is_empty();
        let test = file.data.test.map_or(if separate { Test(1.0) } else { Test::DEFAULT }, Test);
        let of_scores = file.target.score_scale.filter(|_| is_net).map(f64::round);
        let scale = file.target.scale.or(of_scores).unwrap_or(Scales::default().scale.into());
        let promise = Promise {
            scale: file.target.score_scale.unwrap_or(scale),
            offset: file.target.score_offset.unwrap_or(0.0),
        };

        check_numbers(&file, &optimizer, batch)?;
        check_files(&file, test)?;
        check_data(&file.data, is_net)?;
        let format = format("data.format", file.data.format.as_deref())?;
        let sources = file.data.source.iter().map(|it| data_source(it, &file, format));
        let sources = sources.collect::<Checked<Vec<DataSource>>>()?;
        check_sources(&file)?;
        check_target(&file)?;
        let target = &mut file.target;
        let model = match (&mut file.net, &file.terms, &file.traces) {
            (Some(net), ..) => {
                check_scale(target, scale, promise.scale)?;
                let chunk = file.data.chunk.unwrap_or(match batch {
                    BatchSize::Positions(batch) if batch < LARGE => CHUNK / 2,
                    _ => CHUNK,
                });
                let mixes = matches!(batch, BatchSize::Positions(it) if it >= CHUNKS * chunk);
                file.data.chunk = Some(if mixes { chunk } else { 0 });
                let model = net.resolve(scale as i32)?;
                // A base decides, once it has been opened.
                if net.base.is_none() {
                    target.scale = Some(scale);
                }
                Model::Net(Box::new(model))
            }
            (_, Some(terms), _) => Model::Terms(terms.clone()),
            (.., Some(traces)) => Model::Traces(traces.clone()),
            (None, None, None) => unreachable!("one model is there"),
        };
        if let Model::Net(net) = &model {
            check_net(net, &file, direct, batch)?;
            if net.tune_base {
                // Centipawns are some hundred times the weights of nets, and have no bounds.
                for name in ["tempo", "terms"] {
                    let layer = optimizer.layers.0.entry(name.into()).or_default();
                    layer.clip.get_or_insert(0.0);
                    layer.rate.get_or_insert(100.0);
                }
            }
            check_layers(&net.architecture, net.tune_base, &file.optimizer)?;
        } else {
            require!(
                file.optimizer.layers.is_empty(),
                "optimizer.layers",
                "is for nets, and these are handcrafted terms"
            );
        }
        let loss = check_loss(&file, &model, optimizer.name)?;
        check_learn(&file, &model, optimizer.name)?;
        let learning_rate = file.schedule.learning_rate.clone();
        check_direct(&file, &optimizer)?;
        let learning_rate = learning_rate.unwrap_or(Stages::constant(1.0));

        if file.target.scale.is_some() {
            file.target.score_scale = Some(promise.scale);
        }
        file.data.test = Some(test.0);
        file.schedule.batch = Some(batch);
        file.optimizer.complete(&optimizer);
        let text = toml::to_string(&file).expect("a config has a TOML form");
        let ConfigFile { seed, data, target, schedule, .. } = file;
        let chunk = data.chunk.unwrap_or(0);
        let config = Self {
            text,
            seed,
            data,
            model,
            target,
            schedule,
            optimizer,
            learning_rate,
            batch,
            chunk,
            test,
            scale,
            promise,
            loss,
            format,
            sources,
        };
        config.check_schedule()?;
        Ok(config)
    }

    fn check_schedule(&self) -> Checked {
        let plan = &self.schedule;
        let given = [plan.epochs.is_some(), plan.positions.is_some(), plan.superbatches.is_some()];
        let given = given.iter().filter(|given| **given).count();
        if given == 0 && self.optimizer.name.is_direct() {
            return Ok(());
        }
        if let Some(Length::Share(share)) = plan.keep_every {
            let reason = not_a_share("keep_every", share, "run");
            require!(share < 1.0, "schedule.keep_every", "{reason}");
        }
        let steps: Vec<u64> = plan.extended.iter().map(|earlier| earlier.until_step).collect();
        require!(
            steps.is_sorted_by(|one, next| one < next) && !steps.contains(&0),
            "schedule.extended",
            "the steps must rise, from 1 on, found {steps:?}"
        );
        require!(
            given == 1,
            "schedule",
            "give one of `epochs`, `positions` and `superbatches`, found {given}"
        );
        require!(
            plan.patience.is_none() || self.validates(),
            "schedule.patience",
            "patience needs games that validate; name files in `data.validation`, raise \
             `data.held_out`, lower `data.test`, or remove patience"
        );
        Ok(())
    }
}

impl Net {
    /// The model, with its defaults written into the section.
    fn resolve(&mut self, scale: i32) -> Checked<NetModel> {
        let sees_as_mover = self.inputs.point_of_view() == PointOfView::SideToMove;
        let mirror = *self.mirror.get_or_insert(sees_as_mover);
        let usual = if self.pairwise { Activation::CReLU } else { Activation::SCReLU };
        let activation = *self.activation.get_or_insert(usual);
        let form = Form {
            inputs: self.inputs,
            mirror,
            king_buckets: self.king_buckets.clone(),
            factorised: self.factorised,
            hidden: self.hidden,
            activation,
            pairwise: self.pairwise,
            head: self.head.clone(),
            skip: self.skip,
            output_buckets: self.output_buckets,
        };
        let wrong = |Impossible { key, reason }| ConfigError::Value {
            key: format!("net.{key}").into(),
            reason,
        };
        let architecture = Architecture::try_from(form).map_err(wrong)?;
        let scales = Scales { qa: self.qa, qb: self.qb, scale, head_format: self.head_format };
        if let Err(error) = net::Net::check(&architecture.merged(), scales) {
            require!(false, "net.head_format", "{error}");
        }
        require!(
            !matches!(self.start.as_deref(), Some("material" | "zero")),
            "net.start",
            "that is for handcrafted terms; a net starts from a run folder, a checkpoint or a net, or \
             without this key from random weights"
        );
        require!(
            !self.tune_base || self.base.is_some(),
            "net.tune_base",
            "is about the terms that a net is added to; name them with `net.base`"
        );
        let narrow = architecture.is_deep() || architecture.hidden < WIDE;
        let usual = if narrow { Precision::F32 } else { Precision::Mixed };
        Ok(NetModel {
            architecture,
            start: self.start.clone(),
            start_size: self.start_size,
            base: self.base.clone(),
            tune_base: self.tune_base,
            precision: *self.precision.get_or_insert(usual),
            scales,
        })
    }
}

impl Optimizer {
    /// The settings, with defaults that fit the model: nets are clipped so that they quantise,
    /// handcrafted weights are centipawns and run free.
    fn settings(&self, is_net: bool) -> Settings {
        let name = self.name.unwrap_or(if is_net { Name::AdamW } else { Name::Adam });
        let usual = Settings::usual(name);
        Settings {
            name,
            beta1: self.beta1.unwrap_or(usual.beta1),
            beta2: self.beta2.unwrap_or(usual.beta2),
            epsilon: self.epsilon.unwrap_or(usual.epsilon),
            weight_decay: self.weight_decay.unwrap_or(usual.weight_decay),
            bias_correction: self.bias_correction.unwrap_or(usual.bias_correction),
            average_decay: self.average_decay,
            clip: self.clip.unwrap_or(if is_net { 1.98 } else { 0.0 }),
            layers: self.layers.clone(),
            prior: self.prior.unwrap_or(usual.prior),
            step: self.step.unwrap_or(usual.step),
        }
    }

    /// Writes out every default that has a meaning.
    fn complete(&mut self, settings: &Settings) {
        self.name = Some(settings.name);
        self.beta1 = Some(settings.beta1);
        self.beta2 = Some(settings.beta2);
        self.epsilon = Some(settings.epsilon);
        self.weight_decay = Some(settings.weight_decay);
        self.bias_correction = Some(settings.bias_correction);
        self.clip = Some(settings.clip);
        self.prior = (settings.name == Name::GaussNewton).then_some(settings.prior);
        self.step = (settings.name == Name::LocalSearch).then_some(settings.step);
    }

    fn check(&self, settings: &Settings) -> Checked {
        let name = settings.name;
        require!(
            name == Name::AdamW || self.bias_correction != Some(false),
            "optimizer.bias_correction",
            "only adamw can go without it"
        );
        for (key, given, owner) in [
            ("optimizer.prior", self.prior.is_some(), Name::GaussNewton),
            ("optimizer.step", self.step.is_some(), Name::LocalSearch),
        ] {
            let (owner_name, name_) = (owner.text(), name.text());
            require!(!given || name == owner, key, "belongs to {owner_name}, not to {name_}");
        }
        require!(
            self.average_decay.is_none() || !name.is_direct(),
            "optimizer.average_decay",
            "is for methods that follow gradients, not {}",
            name.text()
        );
        Ok(())
    }
}

/// A bound of a number, and whether the bound itself is allowed.
type Limit = (f64, bool);

fn from(bound: f64) -> Limit {
    (bound, true)
}

fn beyond(bound: f64) -> Limit {
    (bound, false)
}

/// Any finite number.
const FINITE: Limit = (f64::INFINITY, false);

/// The ranges of all numbers.
fn check_numbers(file: &ConfigFile, settings: &Settings, batch: BatchSize) -> Checked {
    let ConfigFile { data, target, optimizer, schedule, .. } = file;
    let whole = |count: Option<u64>| count.map(|count| count as f64);
    // At 0 a weight that never had a gradient would become 0 / 0.
    let single = |value: f64| Some(f64::from(value as f32));
    let (one, most) = (from(1.0), MOST_POSITIONS as f64);
    let batch = batch.of(1);
    let superbatch = schedule.batches_per_superbatch as f64 * batch as f64;
    let longest = most / superbatch.max(1.0);
    let (wdl, rate) = (target.wdl.range(), schedule.learning_rate.as_ref().map(Stages::range));
    let scales = |scale: Option<f64>| scale.filter(|_| file.net.is_none());
    let mut rows = vec![
        ("data.held_out", Some(data.held_out), from(0.0), beyond(1.0)),
        ("data.test", data.test, from(0.0), one),
        ("data.share", Some(data.share), beyond(0.0), one),
        ("data.limit", whole(data.limit), one, FINITE),
        ("data.window", whole(data.window.map(|it| it as u64)), one, from((1u64 << 31) as f64)),
        ("data.chunk", data.chunk.map(|it| it as f64), from(0.0), from(MOST_IN_CHUNK as f64)),
        ("target.scale", scales(target.scale), from(LEAST_SCALE), from(MOST_SCALE)),
        ("target.score_scale", scales(target.score_scale), from(LEAST_SCALE), from(MOST_SCALE)),
        ("target.score_offset", target.score_offset, from(0.0), FINITE),
        ("target.power", target.power, beyond(1.0), FINITE),
        ("target.asymmetry", target.asymmetry, beyond(-1.0), from(MOST_ASYMMETRY)),
        ("target.force", target.force, from(0.0), FINITE),
        ("target.wdl", Some(wdl.0), from(0.0), one),
        ("target.wdl", Some(wdl.1), from(0.0), one),
        ("optimizer.beta1", Some(settings.beta1), from(0.0), beyond(1.0)),
        ("optimizer.beta2", Some(settings.beta2), from(0.0), beyond(1.0)),
        ("optimizer.average_decay", optimizer.average_decay, from(0.0), beyond(1.0)),
        ("optimizer.weight_decay", Some(settings.weight_decay), from(0.0), FINITE),
        ("optimizer.clip", Some(settings.clip), from(0.0), FINITE),
        ("optimizer.epsilon", single(settings.epsilon), beyond(0.0), FINITE),
        ("optimizer.prior", optimizer.prior, beyond(0.0), FINITE),
        ("optimizer.step", optimizer.step.map(f64::from), one, from(1000.0)),
        ("schedule.learning_rate", rate.map(|it| it.0), from(0.0), FINITE),
        ("schedule.learning_rate", rate.map(|it| it.1), beyond(0.0), FINITE),
        ("schedule.batch", Some(batch as f64), one, from(LARGEST_BATCH as f64)),
        ("schedule.batches_per_superbatch", Some(superbatch), one, from(most)),
        ("schedule.validations", whole(Some(schedule.validations)), one, FINITE),
        ("schedule.checkpoints", whole(Some(schedule.checkpoints)), one, FINITE),
        ("schedule.patience", whole(schedule.patience), one, FINITE),
        ("schedule.epochs", schedule.epochs, beyond(0.0), from(MOST_EPOCHS)),
        ("schedule.positions", whole(schedule.positions), beyond(0.0), from(most)),
        ("schedule.superbatches", schedule.superbatches, beyond(0.0), from(longest)),
    ];
    if let Some(net) = &file.net {
        let most = from(i16::MAX.into());
        rows.push(("net.start_size", Some(net.start_size), beyond(0.0), from(10.0)));
        rows.push(("net.qa", Some(net.qa.into()), one, most));
        rows.push(("net.qb", Some(net.qb.into()), one, most));
    }
    for source in &data.source {
        rows.push(("data.source.score_scale", source.score_scale, beyond(0.0), from(1e6)));
        rows.push(("data.source.wdl", source.wdl, from(0.0), one));
        rows.push(("data.source.limit", whole(source.limit), one, FINITE));
    }
    for (key, value, (low, with_low), (high, with_high)) in rows {
        let Some(value) = value else { continue };
        let above = value > low || with_low && value == low;
        let below = value < high || with_high && value == high;
        let low = format!("{} {low}", if with_low { "from" } else { "above" });
        let high = match (high.is_finite(), with_high) {
            (false, _) => String::new(),
            (true, true) => format!(" to {high}"),
            (true, false) => format!(" to below {high}"),
        };
        require!(above && below, key, "a number {low}{high}, found {value}");
    }
    Ok(())
}

fn check_data(data: &Data, is_net: bool) -> Checked {
    let chunk = data.chunk.unwrap_or(0);
    require!(is_net || chunk == 0, "data.chunk", "only nets take positions chunk by chunk");
    Ok(())
}

/// Some files are there to learn from.
fn check_files(file: &ConfigFile, test: Test) -> Checked {
    let (data, files) = (&file.data, file.data.all_files());
    let key = data.key_of_files();
    require!(!files.is_empty(), key, "name at least one file");
    require!(
        data.source.is_empty() || data.files.is_empty(),
        "data.files",
        "stands beside [[data.source]]; make these files a source of their own"
    );
    require!(
        data.validation.is_empty() || test.0 == 1.0,
        "data.test",
        "with files in `data.validation` all held-out games are the test; remove `data.test`, or set \
         `data.held_out` to 0 for no test"
    );
    Ok(())
}

fn check_sources(file: &ConfigFile) -> Checked {
    let (sources, most) = (&file.data.source, MOST_SOURCES);
    let (count, named) = (sources.len(), sources.iter().all(|source| !source.files.is_empty()));
    require!(count <= most, "data.source", "there are {count} sources, and {most} are the most");
    require!(
        count == 0 || file.traces.is_none(),
        "data.source",
        "is for positions, and traces of another engine have none; name the files in `data.files`"
    );
    require!(named, "data.source.files", "a source names no file");
    Ok(())
}

fn check_target(file: &ConfigFile) -> Checked {
    require!(
        file.target.wdl.end().is_some(),
        "target.wdl",
        "losses are measured with its value at the end, which must not depend on the length of the \
         run: give the last stage's `every` as a share"
    );
    Ok(())
}

/// The scale of a net is a whole number, and that of its scores near it unless both are given.
fn check_scale(target: &Target, scale: f64, score_scale: f64) -> Checked {
    let is_meant = target.scale.is_some() || (scale / score_scale - 1.0).abs() <= NEARLY;
    let is_whole = scale.fract() == 0.0 && (1.0..=32_767.0).contains(&scale);
    let found = "engines count in whole centipawns, 1 to 32767, found";
    if let (None, Some(scores)) = (target.scale, target.score_scale) {
        let follows = "which `target.scale` follows unless it is set";
        require!(is_meant && is_whole, "target.score_scale", "{found} {scores:?}, {follows}");
    }
    require!(is_meant && is_whole, "target.scale", "{found} {scale:?}");
    let fits = (LEAST_SCALE..=MOST_SCALE).contains(&score_scale);
    require!(
        fits,
        "target.score_scale",
        "lies between {LEAST_SCALE} and {MOST_SCALE} centipawns, found {score_scale:?}"
    );
    Ok(())
}

fn check_net(net: &NetModel, file: &ConfigFile, direct: bool, batch: BatchSize) -> Checked {
    let name = file.optimizer.name.map_or(String::new(), Name::text);
    require!(!direct, "optimizer.name", "{name} is for handcrafted terms");
    require!(batch != BatchSize::All, "schedule.batch", "\"all\" is for handcrafted terms");
    let values = file.target.learn == Learn::Values;
    let tunes = net.tune_base;
    require!(!tunes || values, "net.tune_base", "goes with `target.learn = \"values\"`");
    Ok(())
}

/// The loss, the weights of positions and the force on moves.
fn check_loss(file: &ConfigFile, model: &Model, name: Name) -> Checked<Loss> {
    let target = &file.target;
    let (shape, asymmetry) = (target.loss, target.asymmetry.unwrap_or(0.0));
    let loss = Loss { shape, power: target.power.unwrap_or(Loss::SQUARED.power), asymmetry };
    require!(
        target.power.is_none() || shape == LossShape::Power,
        "target.power",
        "goes with `loss = \"power\"`"
    );
    let sees_as_mover = match model {
        Model::Net(net) => net.architecture.inputs.views.point_of_view() == PointOfView::SideToMove,
        Model::Terms(_) | Model::Traces(_) => false,
    };
    require!(
        asymmetry == 0.0 || sees_as_mover,
        "target.asymmetry",
        "is about the side to move, and these inputs have White's point of view"
    );
    if name == Name::GaussNewton {
        let reason = "gauss-newton minimises squared and absolute errors that cost alike";
        let usual = matches!(shape, LossShape::Squared | LossShape::Absolute);
        require!(usual, "target.loss", "{reason}");
        require!(asymmetry == 0.0, "target.asymmetry", "{reason}");
    }
    if let Some((key, reason)) = target.weights.wrong() {
        require!(false, format!("target.weights.{key}"), "{reason}");
    }
    let moves = target.learn == Learn::Moves;
    let level = target.weights.is_level();
    let of_moves = "is for values, and not for `learn = \"moves\"`";
    require!(!moves || level, "target.weights", "{of_moves}");
    require!(!moves || loss == Loss::SQUARED, "target.loss", "{of_moves}");
    require!(
        level || file.traces.is_none(),
        "target.weights",
        "need positions, and traces have none"
    );
    let force = target.force;
    require!(force.is_none() || moves, "target.force", "goes with `learn = \"moves\"`");
    Ok(loss)
}

fn check_learn(file: &ConfigFile, model: &Model, name: Name) -> Checked {
    let learn = file.target.learn;
    require!(
        learn == Learn::Values || !matches!(model, Model::Traces(_)),
        "target.learn",
        "is \"values\" for another engine's terms: only that engine can search with them"
    );
    require!(
        !(learn == Learn::Moves && name == Name::LocalSearch),
        "optimizer.name",
        "local-search cannot learn moves; gauss-newton can"
    );
    Ok(())
}

/// The arrays that have a clip or a learning rate of their own.
fn check_layers(net: &Architecture, tune_base: bool, optimizer: &Optimizer) -> Checked {
    let key = "optimizer.layers";
    let arrays = net.arrays();
    let mut known: Vec<&str> = Vec::new();
    for array in &arrays {
        let above = array.name.match_indices('.').map(|(at, _)| &array.name[..at]);
        known.extend(above.chain([&array.name[..]]));
    }
    let terms = if tune_base { &["tempo", "terms"][..] } else { &[] };
    known.extend(terms);
    known.sort();
    known.dedup();
    for (name, &Layer { clip, rate }) in &optimizer.layers.0 {
        let mut names = arrays.iter().map(|array| &array.name[..]).chain(terms.iter().copied());
        let there = names.any(|array| stands_for(name, array));
        require!(there, key, "{}", nearest(format!("the net has no `{name}`"), name, &known));
        let (clip, rate) = (clip.unwrap_or(0.0), rate.unwrap_or(1.0));
        require!(
            clip.is_finite() && clip >= 0.0,
            key,
            "`{name}.clip` must be finite and not negative, found {clip}; 0 leaves it free"
        );
        require!(
            rate.is_finite() && rate > 0.0,
            key,
            "`{name}.rate` must be finite and above 0, found {rate}; 1 is the learning rate of all \
             others"
        );
    }
    Ok(())
}

/// Methods that look at all positions end by themselves, and have no learning rate; all others need
/// one.
fn check_direct(file: &ConfigFile, optimizer: &Settings) -> Checked {
    let (schedule, key) = (&file.schedule, "schedule.learning_rate");
    let name = optimizer.name.text();
    if !optimizer.name.is_direct() {
        require!(
            schedule.learning_rate.is_some(),
            key,
            "give a number such as 0.001, or stages; only gauss-newton and local-search go without"
        );
        return Ok(());
    }
    let all = schedule.batch.is_none_or(|batch| batch == BatchSize::All);
    require!(all, "schedule.batch", "{name} looks at \"all\" positions");
    require!(schedule.learning_rate.is_none(), key, "{name} has none");
    let window = file.data.window;
    require!(window.is_none(), "data.window", "{name} keeps all positions in memory");
    Ok(())
}

fn data_source(
    source: &Source,
    file: &ConfigFile,
    of_all: Option<&'static Format>,
) -> Checked<DataSource> {
    let (data, target) = (&file.data, &file.target);
    let wdl = source.wdl.unwrap_or(target.wdl.range().0);
    Ok(DataSource {
        files: source.files.clone(),
        reading: Reading {
            format: format("data.source.format", source.format.as_deref())?.or(of_all),
            view: source.point_of_view.or(data.point_of_view),
            filter: source.filter.as_ref().unwrap_or(&data.filter).clone(),
            scores: target.learn != Learn::Moves && wdl < 1.0,
            limit: source.limit.or(data.limit),
        },
    })
}

fn format(key: &'static str, name: Option<&str>) -> Checked<Option<&'static Format>> {
    let Some(name) = name else { return Ok(None) };
    let found = Format::named(name);
    let names: Vec<&str> = crate::format::ALL.iter().map(|format| format.name).collect();
    let no_format = format!("no format is named {name:?}");
    require!(found.is_some(), key, "{}", nearest(no_format, name, &names));
    Ok(found)
}
