//! Options of all commands that read nets.

use crate::architecture::{Activation, Views};
use crate::export::Given;
use crate::scales::HeadFormat;

/// Facts that a net's file lacks.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "What the net is")]
pub struct Shape {
    /// Feature set, such as perspective [default: the manifest's, else perspective]
    #[arg(long, value_name = "NAME", value_parser = named(Views::named))]
    features: Option<Views>,
    /// relu, crelu or screlu [default: the manifest's, else screlu]
    #[arg(long, value_name = "NAME", value_parser = named(Activation::named))]
    activation: Option<Activation>,
    /// Factor of the accumulator's weights [default: the manifest's, else 255]
    #[arg(long, value_name = "INTEGER")]
    qa: Option<i32>,
    /// Factor of the output weights [default: the manifest's, else 64]
    #[arg(long, value_name = "INTEGER")]
    qb: Option<i32>,
    /// Centipawns of one unit of the output [default: the manifest's, else 400]
    #[arg(long, value_name = "INTEGER")]
    scale: Option<i32>,
    /// Numbers behind the accumulators of nets with more layers: float, or int8 for weights of the
    /// first layer in 8 bits [default: the manifest's, else float]
    #[arg(long = "head", value_name = "FORMAT", value_parser = named(HeadFormat::named))]
    head_format: Option<HeadFormat>,
}

impl Shape {
    pub fn given(&self) -> Given {
        let Shape { features, activation, qa, qb, scale, head_format } = *self;
        Given { features, activation, qa, qb, scale, head_format }
    }
}

/// Parses one of the names that the help lists.
fn named<T: Clone + Send + Sync + 'static>(
    find: fn(&str) -> Option<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |name| find(name).ok_or_else(|| "unknown, see --help".to_string())
}
