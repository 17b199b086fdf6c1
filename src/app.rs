//! A custom program: all of `nnuance`, plus feature sets, filters and the like.

use std::process::ExitCode;

use crate::architecture::CustomBuckets;
use crate::cli;
use crate::features::{self, FeatureSet, Set};
use crate::format::Format;
use crate::loader::{CustomFilter, CustomWeight};
use crate::registry::{NameTaken, add};
use crate::sample::{Position, Sample};

type AppAddition = Box<dyn FnOnce() -> Result<(), NameTaken>>;

/// Additions of a program, by name. Configs, manifests and checkpoints store the names. The
/// functions are called on several threads, perhaps more than once for the same position. Their
/// results depend on their argument alone.
#[derive(Default)]
#[must_use = "it does nothing before `run` or `install`"]
pub struct App(Vec<AppAddition>);

impl App {
    /// A program without additions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a feature set for `net.sets`.
    pub fn features(self, set: impl FeatureSet) -> Self {
        self.with_addition(move || features::register_set(Set::new(set)))
    }

    /// Adds output buckets for `net.output_buckets`: their number, 1 to 32, and the choice of one.
    pub fn output_buckets(
        self,
        name: &'static str,
        count: usize,
        choose: impl Fn(&Position) -> usize + Send + Sync + 'static,
    ) -> Self {
        self.with_addition(move || add(name, CustomBuckets { count, choose: Box::new(choose) }))
    }

    /// Adds a filter for `data.filter.own`; it returns whether a position passes.
    pub fn filter(
        self,
        name: &'static str,
        passes: impl Fn(&Sample) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.with_addition(move || add(name, CustomFilter(Box::new(passes))))
    }

    /// Adds weights of positions for `target.weights.own`, from 0 to 1.
    pub fn weight(
        self,
        name: &'static str,
        weight: impl Fn(&Sample) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.with_addition(move || add(name, CustomWeight(Box::new(weight))))
    }

    /// Adds a file format, which is recognised and named as the built-in formats are.
    pub fn format(self, format: Format) -> Self {
        self.with_addition(move || format.register_format())
    }

    fn with_addition(mut self, addition: impl FnOnce() -> Result<(), NameTaken> + 'static) -> Self {
        self.0.push(Box::new(addition));
        self
    }

    /// Registers all additions, before any config, net or file is read.
    ///
    /// # Errors
    ///
    /// Fails if a name is taken.
    pub fn install(self) -> Result<(), NameTaken> {
        self.0.into_iter().try_for_each(|addition| addition())
    }

    /// Runs the command line of `nnuance`.
    pub fn run(self) -> ExitCode {
        cli::run_program(|| Ok(self.install()?))
    }
}
