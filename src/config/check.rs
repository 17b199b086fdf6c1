//! Whether the numbers of a config fit together.

use super::{BatchSize, Config, ConfigError, Learn, MOST_POSITIONS, VERSION, nearest};
use crate::architecture::Array;
use crate::loss::{Loss, LossShape};
use crate::train::layers::{Layer, stands_for};
use crate::train::optimizer::Name;
use crate::train::schedule::{Length, not_a_share};

/// Positions of a step; a larger batch is a slip of the pen, not a plan.
const LARGEST_BATCH: u64 = 1 << 22;
const MOST_EPOCHS: f64 = 1e6;
/// Beyond, floats of 32 bits overflow or a logit says nothing; no evaluation comes near.
const LEAST_SCALE: f64 = 0.01;
const MOST_SCALE: f64 = 1e6;
/// What rounding may change of the centipawns that a net speaks.
const NEARLY: f64 = 0.05;
/// Nobody means more.
const MOST_ASYMMETRY: f64 = 1e6;

impl Config {
    /// # Errors
    /// The first key whose value cannot be used.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        if !(1..=VERSION).contains(&self.version) {
            let found = self.version;
            let reason = format!("this program reads versions 1 to {VERSION}, found {found}");
            return wrong("version", reason);
        }
        self.check_files()?;
        if !(0.0..1.0).contains(&self.data.held_out) {
            let found = self.data.held_out;
            return wrong("data.held_out", format!("a share from 0 to below 1, found {found}"));
        }
        if !(0.0..=1.0).contains(&self.test().0) {
            let found = self.test().0;
            return wrong("data.test", format!("a share from 0 to 1, found {found}"));
        }
        if !(self.data.share > 0.0 && self.data.share <= 1.0) {
            let found = self.data.share;
            return wrong("data.share", format!("a share above 0, up to 1, found {found}"));
        }
        if self.data.limit == Some(0) {
            return wrong("data.limit", "must be at least 1; leave it out to take all".into());
        }
        if self.data.window.is_some_and(|window| !(1..=1 << 31).contains(&window)) {
            return wrong("data.window", "must hold 1 to 2147483648 positions".into());
        }
        self.check_chunk()?;
        self.format()?;
        self.view()?;
        let scale = self.scale();
        let is_meant =
            self.target.scale.is_some() || (scale / self.score_scale() - 1.0).abs() <= NEARLY;
        let is_whole = scale.fract() == 0.0 && (1.0..=32_767.0).contains(&scale);
        match self.architecture()? {
            Some(_) if !is_whole || !is_meant => {
                let found = "engines count in whole centipawns, 1 to 32767, found";
                return match (self.target.scale, self.target.score_scale) {
                    (None, Some(of_scores)) => wrong(
                        "target.score_scale",
                        format!(
                            "{found} {of_scores:?}, which `target.scale` follows unless it is set"
                        ),
                    ),
                    _ => wrong("target.scale", format!("{found} {scale:?}")),
                };
            }
            None if self.model.hidden.is_some() => {
                return wrong("model.hidden", "handcrafted terms have no hidden layer".into());
            }
            None if self.model.activation.is_some() => {
                return wrong("model.activation", "handcrafted terms have no activation".into());
            }
            _ => {}
        }
        let mirrors = self.architecture()?.is_none_or(|net| net.inputs.kings.mirror);
        if self.data.mirrored_copies
            && (mirrors || self.model.base.is_some() || self.learns_moves())
        {
            let reason = "is for nets that are not mirrored, stand on no base, and learn what \
                          positions are worth";
            return wrong("data.mirrored_copies", reason.into());
        }
        self.check_terms()?;
        for (key, scale) in
            [("target.scale", self.scale()), ("target.score_scale", self.score_scale())]
        {
            if !(scale.is_finite() && scale > 0.0) {
                return wrong(key, format!("a number of centipawns above 0, found {scale}"));
            }
        }
        self.check_loss()?;
        let (low, high) = self.target.wdl.range();
        if !(0.0..=1.0).contains(&low) || !(0.0..=1.0).contains(&high) {
            return wrong("target.wdl", format!("lies between 0 and 1, found {low} to {high}"));
        }
        if self.target.wdl.end().is_none() {
            let reason = "losses are measured with its value at the end, which must not hang on \
                          the length of the run: give the last stage's `every` as a share";
            return wrong("target.wdl", reason.into());
        }
        let (low, high) = self.learning_rate().range();
        if !(low >= 0.0 && high.is_finite()) {
            let reason = format!("must be finite and not negative, found {low} to {high}");
            return wrong("schedule.learning_rate", reason);
        }
        self.optimizer.check(self.is_net())?;
        let name = self.optimizer().name;
        self.check_layers()?;
        if name.is_direct() {
            self.check_direct(name)?;
        } else if self.schedule.learning_rate.is_none() {
            let reason = "give a number such as 0.001, or stages; only gauss-newton and \
                          local-search go without";
            return wrong("schedule.learning_rate", reason.into());
        }
        self.check_rounding().and_then(|()| self.check_plan())
    }

    /// An error where a value can be used, but not be meant. What a run has recorded is what it was
    /// trained with, and stands.
    pub(super) fn check_meant(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        for (key, scale) in
            [("target.scale", self.target.scale), ("target.score_scale", self.target.score_scale)]
        {
            if let Some(scale) = scale.filter(|scale| !(LEAST_SCALE..=MOST_SCALE).contains(scale)) {
                let reason = format!(
                    "lies between {LEAST_SCALE} and {MOST_SCALE} centipawns, found {scale:?}"
                );
                return wrong(key, reason);
            }
        }
        for (key, stages) in
            [("schedule.learning_rate", &self.learning_rate()), ("target.wdl", &self.target.wdl)]
        {
            stages.meant().or_else(|reason| wrong(key, reason))?;
        }
        if self.learning_rate().range().1 == 0.0 {
            return wrong("schedule.learning_rate", "is 0: nothing would be learnt".into());
        }
        Ok(())
    }

    /// What an error costs, and what a score promises.
    fn check_loss(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: &str| Err(ConfigError::Value { key, reason: reason.into() });
        let target = &self.target;
        let Loss { shape, power, asymmetry } = self.loss();
        if target.power.is_some() && shape != LossShape::Power {
            return wrong("target.power", "goes with `loss = \"power\"`");
        }
        if !(power > 1.0 && power.is_finite()) {
            return wrong("target.power", "is an exponent above 1");
        }
        if !(asymmetry > -1.0 && asymmetry <= MOST_ASYMMETRY) {
            return wrong("target.asymmetry", "is above -1: 0.1 costs a tenth more");
        }
        if asymmetry != 0.0 && matches!(&self.model.inputs[..], "hce" | "trace" | "plain") {
            let reason = "is about what the side to move is promised, and these inputs see with \
                          White's eyes";
            return wrong("target.asymmetry", reason);
        }
        if !target.score_offset.is_none_or(|offset| offset >= 0.0 && offset.is_finite()) {
            return wrong("target.score_offset", "is a number of centipawns, 0 or more");
        }
        let usual = matches!(shape, LossShape::Squared | LossShape::Absolute);
        if self.optimizer().name == Name::GaussNewton && !(usual && asymmetry == 0.0) {
            let key = if usual { "target.asymmetry" } else { "target.loss" };
            return wrong(key, "gauss-newton knows squared and absolute errors that cost alike");
        }
        if let Some((key, reason)) = target.weights.wrong() {
            let key = match key {
                "ply" => "target.weights.ply",
                "pieces" => "target.weights.pieces",
                _ => "target.weights.score",
            };
            return Err(ConfigError::Value { key, reason });
        }
        if !self.weighing().is_level() && self.learns_moves() {
            let of_sources = target.weights.is_level();
            let key = if of_sources { "data.source.weight" } else { "target.weights" };
            let reason = "is of positions alone, and not for `learn = \"moves\"`";
            return wrong(key, reason);
        }
        if !target.weights.is_level() && self.model.inputs == "trace" {
            return wrong("target.weights", "ask for positions, and traces have none");
        }
        if self.learns_moves() && self.loss() != Loss::SQUARED {
            return wrong("target.loss", "is of positions alone, and not for `learn = \"moves\"`");
        }
        Ok(())
    }

    /// What handcrafted terms have, and nets have not.
    fn check_terms(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: &str| Err(ConfigError::Value { key, reason: reason.into() });
        let (model, only) = (&self.model, "is for handcrafted terms (`inputs = \"hce\"`)");
        if self.is_net() {
            for (key, given) in [
                ("model.terms", model.terms.is_some()),
                ("model.tune", model.tune.is_some()),
                ("model.rare", model.rare.is_some()),
            ] {
                if given {
                    return wrong(key, only);
                }
            }
            if self.schedule.batch == Some(BatchSize::All) {
                return wrong("schedule.batch", "\"all\" is for handcrafted terms");
            }
        }
        for (key, given) in [
            ("model.king_buckets", model.king_buckets.is_some()),
            ("model.start_size", model.start_size.is_some()),
            ("model.factorised", model.factorised.is_some()),
            ("model.pairwise", model.pairwise.is_some()),
            ("model.head", model.head.is_some()),
            ("model.skip", model.skip.is_some()),
            ("model.output_buckets", model.output_buckets.is_some()),
        ] {
            if given && !self.is_net() {
                return wrong(key, "is for nets, and these are handcrafted terms");
            }
        }
        if self.is_net() && matches!(model.start.as_deref(), Some("material" | "zero")) {
            let reason = "that is for handcrafted terms; a net starts from a run folder, a \
                          checkpoint or a net, or without this key from chance";
            return wrong("model.start", reason);
        }
        if let Some(reason) = model.wrong_start_size() {
            return wrong("model.start_size", reason);
        }
        if model.base.is_some() && !self.is_net() {
            return wrong("model.base", "is what a net is added to; terms have `model.start`");
        }
        if model.tune_base && model.base.is_none() {
            let reason = "is about the terms that a net is added to; name them with `model.base`";
            return wrong("model.tune_base", reason);
        }
        if model.tune_base && self.target.learn != Learn::Values {
            return wrong("model.tune_base", "goes with `target.learn = \"values\"`");
        }
        if model.inputs == "trace" && model.start.is_some() {
            return wrong("model.start", "the term list has the weights to start from");
        }
        if model.inputs == "trace" && model.mirror.is_some() {
            let reason = "is for the built-in terms; let the engine give both wings one number";
            return wrong("model.mirror", reason);
        }
        self.check_learn()?;
        match (&model.inputs[..], &model.term_list) {
            ("trace", None) => {
                wrong("model.term_list", "name the file with the terms of the engine")
            }
            ("trace", Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => wrong("model.term_list", "goes with `inputs = \"trace\"`"),
        }
    }

    /// Whether the model and the method can learn what they are to.
    fn check_learn(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: &str| Err(ConfigError::Value { key, reason: reason.into() });
        if self.model.inputs == "trace" && self.target.learn != Learn::Values {
            let reason = "is \"values\" for another engine's terms: only that engine can search \
                          with them";
            return wrong("target.learn", reason);
        }
        if self.learns_moves() && self.optimizer().name == Name::LocalSearch {
            return wrong("optimizer.name", "local-search cannot learn moves; gauss-newton can");
        }
        match self.target.force {
            Some(_) if !self.learns_moves() => {
                wrong("target.force", "goes with `learn = \"moves\"`")
            }
            Some(force) if !(force >= 0.0 && force.is_finite()) => {
                wrong("target.force", "is a number of centipawns, 0 or more")
            }
            _ => Ok(()),
        }
    }

    /// The arrays that have a clip or a learning rate of their own.
    fn check_layers(&self) -> Result<(), ConfigError> {
        let wrong = |reason| Err(ConfigError::Value { key: "optimizer.layers", reason });
        let layers = &self.optimizer.layers;
        let Some(net) = self.architecture()? else {
            return match layers.is_empty() {
                true => Ok(()),
                false => wrong("is for nets, and these are handcrafted terms".into()),
            };
        };
        let arrays = net.arrays();
        let mut known: Vec<&str> = Vec::new();
        for Array { name, .. } in &arrays {
            let above = name.match_indices('.').map(|(at, _)| &name[..at]);
            known.extend(above.chain([&name[..]]));
        }
        let terms = if self.model.tune_base { &["tempo", "terms"][..] } else { &[] };
        known.extend(terms);
        known.sort();
        known.dedup();
        for (name, &Layer { clip, rate }) in &layers.0 {
            let mut names = arrays.iter().map(|array| &array.name[..]).chain(terms.iter().copied());
            if !names.any(|array| stands_for(name, array)) {
                return wrong(nearest(format!("the net has no `{name}`"), name, &known));
            }
            if let Some(clip) = clip.filter(|clip| !(clip.is_finite() && *clip >= 0.0)) {
                return wrong(format!(
                    "`{name}.clip` must be finite and not negative, found {clip}; 0 leaves it free"
                ));
            }
            if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                return wrong(format!(
                    "`{name}.rate` must be finite and above 0, found {rate}; 1 is the learning rate \
                     of all others"
                ));
            }
        }
        Ok(())
    }

    /// The methods that look at all positions and end by themselves.
    fn check_direct(&self, name: Name) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let optimizer = self.optimizer();
        if self.is_net() {
            let reason = format!("{} is for handcrafted terms", name.text());
            return wrong("optimizer.name", reason);
        }
        if self.schedule.batch.is_some_and(|batch| batch != BatchSize::All) {
            let reason = format!("{} looks at \"all\" positions", name.text());
            return wrong("schedule.batch", reason);
        }
        if self.schedule.learning_rate.is_some() {
            return wrong("schedule.learning_rate", format!("{} has none", name.text()));
        }
        if self.data.window.is_some() {
            let reason = format!("{} keeps all positions in memory", name.text());
            return wrong("data.window", reason);
        }
        if !(optimizer.prior.is_finite() && optimizer.prior > 0.0) {
            let reason = format!("centipawns above 0, found {}", optimizer.prior);
            return wrong("optimizer.prior", reason);
        }
        if !(1..=1000).contains(&optimizer.step) {
            let reason = format!("1 to 1000 centipawns, found {}", optimizer.step);
            return wrong("optimizer.step", reason);
        }
        Ok(())
    }

    fn check_plan(&self) -> Result<(), ConfigError> {
        let wrong = |key, reason: String| Err(ConfigError::Value { key, reason });
        let plan = &self.schedule;
        for (key, value) in [
            ("schedule.batch", self.batch().of(1)),
            ("schedule.batches_per_superbatch", plan.batches_per_superbatch),
            ("schedule.validations", plan.validations),
            ("schedule.checkpoints", plan.checkpoints),
            ("schedule.patience", plan.patience.unwrap_or(1)),
        ] {
            if value == 0 {
                return wrong(key, "must be at least 1".into());
            }
        }
        let batch = self.batch().of(1);
        if batch > LARGEST_BATCH {
            let reason = format!("must be at most {LARGEST_BATCH}, found {batch}");
            return wrong("schedule.batch", reason);
        }
        let most = MOST_POSITIONS as f64;
        let superbatch = plan.batches_per_superbatch as f64 * batch as f64;
        if superbatch > most {
            let reason = format!("with this batch a superbatch has more than {most} positions");
            return wrong("schedule.batches_per_superbatch", reason);
        }
        let given: Vec<(&'static str, f64, f64)> = [
            ("schedule.epochs", plan.epochs, MOST_EPOCHS),
            ("schedule.positions", plan.positions.map(|count| count as f64), most),
            ("schedule.superbatches", plan.superbatches, most / superbatch),
        ]
        .into_iter()
        .filter_map(|(key, length, most)| Some((key, length?, most)))
        .collect();
        if given.is_empty() && self.optimizer().name.is_direct() {
            return Ok(());
        }
        if let Some(Length::Share(share)) = plan.keep_every
            && share >= 1.0
        {
            return wrong("schedule.keep_every", not_a_share("keep_every", share, "run"));
        }
        let steps: Vec<u64> = plan.extended.iter().map(|earlier| earlier.until_step).collect();
        if !steps.is_sorted_by(|one, next| one < next) || steps.contains(&0) {
            let reason = format!("the steps must rise, from 1 on, found {steps:?}");
            return wrong("schedule.extended", reason);
        }
        let [(key, length, most)] = given[..] else {
            let reason = "give one of `epochs`, `positions` and `superbatches`";
            return wrong("schedule", format!("{reason}, found {}", given.len()));
        };
        if !(length > 0.0 && length <= most) {
            return wrong(key, format!("must be above 0 and at most {most}, found {length}"));
        }
        if plan.patience.is_some() && !self.validates() {
            let reason = "patience needs games that validate; name files in \
                          `data.validation`, raise `data.held_out`, lower `data.test`, or remove \
                          patience";
            return wrong("schedule.patience", reason.into());
        }
        Ok(())
    }
}
