//! Options of all commands that read nets.

use anyhow::Result;

use crate::architecture::{Activation, Views};
use crate::export::Given;
use crate::scales::HeadFormat;

/// What a net's file does not say about itself.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "What the net is")]
pub struct Shape {
    /// Feature set [default: the manifest's, else perspective]
    #[arg(long, value_name = "NAME", value_parser = parse_features)]
    features: Option<Views>,
    /// relu, crelu or screlu [default: the manifest's, else screlu]
    #[arg(long, value_name = "NAME", value_parser = parse_activation)]
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
    #[arg(long = "head", value_name = "FORMAT", value_parser = parse_head_format)]
    head_format: Option<HeadFormat>,
}

impl Shape {
    pub fn given(&self) -> Given {
        let Shape { features, activation, qa, qb, scale, head_format } = *self;
        Given { features, activation, qa, qb, scale, head_format }
    }
}

fn parse_features(name: &str) -> Result<Views, String> {
    let known = || format!("expected one of {}", Views::ALL.map(Views::name).join(", "));
    Views::named(name).ok_or_else(known)
}

fn parse_activation(name: &str) -> Result<Activation, String> {
    Activation::named(name).ok_or_else(|| "expected relu, crelu or screlu".to_string())
}

fn parse_head_format(name: &str) -> Result<HeadFormat, String> {
    HeadFormat::named(name).ok_or_else(|| "expected float or int8".to_string())
}
