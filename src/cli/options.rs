//! Options shared by several commands: device, net, data files, beginning and end of games.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::data::io::Reading;
use crate::engine::game::Adjudication;
use crate::engine::opening::{Openings, StartPosition};
use crate::loader::ReadPlan;
use crate::progress::Progress;
use crate::run::{self, Host};

/// Options of all commands that compute with floats.
#[derive(clap::Args)]
#[command(next_help_heading = "Where to compute")]
pub struct DeviceArgs {
    /// flex (CPU), ndarray (slow CPU), wgpu or vulkan (GPU; wgpu:1 is the second one), or auto (a
    /// graphics card, else flex)
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
    /// Vector instructions: avx512, avx2, neon or portable [default: the best available]
    #[arg(long, env = "NNUANCE_SIMD", value_name = "LEVEL")]
    simd: Option<String>,
    /// Compute by Burn's plain tensor operations
    #[arg(long)]
    plain: bool,
}

impl DeviceArgs {
    pub fn to_options(&self) -> run::DeviceOptions {
        let Self { device, simd, plain } = self;
        run::DeviceOptions { device: device.clone(), level: simd.clone(), plain: *plain }
    }

    /// Opens the host of a command that does not train.
    pub fn open_host<'a>(&self, listener: &'a dyn Progress) -> Result<Host<'a>> {
        self.to_options().open_host(listener)
    }
}

/// Files of positions instead of a run's own.
#[derive(clap::Args)]
#[command(next_help_heading = "Data")]
pub struct DataFiles {
    /// Files of positions, packed or not [default: those of the run]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Bad records to skip in each file
    #[arg(long, value_name = "N", default_value = "0")]
    bad_records: u64,
}

impl DataFiles {
    /// Plans to read all positions of the files; None without files.
    pub fn read_plan(&self) -> Option<ReadPlan> {
        let Self { data, reading, bad_records } = self;
        let mut plan = ReadPlan::new(data.clone());
        plan.bad_records = *bad_records;
        (plan.reading.format, plan.reading.views) = (reading.format, reading.given_views());
        (!data.is_empty()).then_some(plan)
    }
}

#[derive(clap::Args)]
#[command(next_help_heading = "Openings")]
pub struct Beginning {
    /// Random half-moves before a game, a number or a range [default: 8..9; 0 with --book]
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    random_plies: Option<(u32, u32)>,
    /// Start positions, packed or not: FEN, EPD, or the last positions of games in PGN
    #[arg(long, value_name = "FILE", conflicts_with = "chess960")]
    pub book: Option<PathBuf>,
    /// Start arrays of Chess960: one for both sides (single) or one for each (double)
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Chess960::None)]
    chess960: Chess960,
    /// Skip openings that a first search scores above this for a side, in centipawns [default: 400];
    /// a match plays a book without random half-moves as it is
    #[arg(long, value_name = "CP", value_parser = clap::value_parser!(i16).range(0..))]
    bound: Option<i16>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Chess960 {
    None,
    Single,
    Double,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Adjudication")]
pub struct Rules {
    /// Win when all last scores are at least this for one side, in centipawns
    #[arg(long, value_name = "CP", default_value_t = Adjudication::default().win_score)]
    #[arg(value_parser = clap::value_parser!(i16).range(1..))]
    win_score: i16,
    /// Half-moves in a row beyond --win-score
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().win_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    win_plies: u32,
    /// Draw when no last score exceeds this for a side, in centipawns
    #[arg(long, value_name = "CP", default_value_t = Adjudication::default().draw_score)]
    #[arg(value_parser = clap::value_parser!(i16).range(0..))]
    draw_score: i16,
    /// Half-moves in a row within --draw-score
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().draw_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    draw_plies: u32,
    /// First half-move at which --draw-score applies, counted from move number 1
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().draw_from)]
    draw_from: u32,
    /// Draw after this many half-moves behind the opening
    #[arg(long, value_name = "N", default_value_t = Adjudication::default().max_plies)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_plies: u32,
}

fn parse_range(text: &str) -> Result<(u32, u32), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if from <= to && to <= 100 => Ok((from, to)),
        _ => Err("expected a number or a range such as 8..9, of 0 to 100".to_string()),
    }
}

impl Beginning {
    pub fn into_openings(self) -> Openings {
        let default = if self.book.is_some() { (0, 0) } else { Openings::default().plies };
        let start = match (self.book, self.chess960) {
            (Some(book), _) => StartPosition::Book(book),
            (None, Chess960::None) => StartPosition::Standard,
            (None, Chess960::Single) => StartPosition::Chess960,
            (None, Chess960::Double) => StartPosition::DoubleChess960,
        };
        let bound = self.bound.unwrap_or(Openings::default().bound);
        Openings { start, plies: self.random_plies.unwrap_or(default), bound }
    }

    /// Returns the openings of a match, in which both sides play all openings of a book.
    pub fn into_match_openings(self) -> Result<Openings> {
        let is_given = self.bound.is_some();
        let openings = self.into_openings();
        ensure!(
            !is_given || openings.plies.1 > 0 || !matches!(openings.start, StartPosition::Book(_)),
            "a match plays a book as it is, whatever --bound; leave it out, or give --random-plies"
        );
        Ok(openings)
    }
}

impl Rules {
    pub fn to_adjudication(&self) -> Adjudication {
        let &Self { win_score, win_plies, draw_score, draw_plies, draw_from, max_plies } = self;
        Adjudication { win_score, win_plies, draw_score, draw_plies, draw_from, max_plies }
    }
}
