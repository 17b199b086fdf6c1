//! A net trained, exported and evaluated without a command line:
//!
//! ```sh
//! cargo run --release --example train_from_code
//! ```

use std::path::Path;

use anyhow::{Result, bail};
use nnuance::config::Config;
use nnuance::log::Row;
use nnuance::progress::Progress;
use nnuance::run::DeviceOptions;
use nnuance::run::folder::RunFolder;
use nnuance::run::train::{RunContext, RunResult, begin};
use nnuance::sample::Position;
use nnuance::shakmaty::Chess;
use nnuance::train::ranks::SingleRank;

const CONFIG: &str = "
    version = 3
    data = { files = ['data/selfplay-sf15.vf'], filter = { min_ply = 16, skip_in_check = true } }
    net = { inputs = 'perspective', hidden = 32 }
    target = { score_scale = 126.0, wdl = 0.1 }
    schedule = { epochs = 2, batch = 4096, learning_rate = 0.002 }
";

/// Prints the losses of each validation.
struct Losses;

impl Progress for Losses {
    fn row(&self, row: &Row) {
        println!("step {}: validation loss {:.6}", row.step, row.held_out_loss.unwrap_or(f64::NAN));
    }
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or("runs/from-code".into());
    let overrides: Vec<String> = std::env::args().skip(2).collect();
    let config = Config::parse(CONFIG, "the config", &overrides)?;
    let folder = RunFolder::take(Path::new(&path), true, &Losses)?;
    let device = DeviceOptions::default();
    let means = RunContext { device: &device, listener: &Losses, page: true, ranks: &SingleRank };
    let Some(finished) = begin(config, &folder, &means)? else { return Ok(()) };
    let RunResult::Net(written, _) = finished.made else { bail!("the config has a net") };
    let net = written.exported.net;
    println!("{}: {}", written.paths[1].display(), net.architecture());
    println!("{} cp before the first move", net.evaluate(&Position::from_chess(&Chess::default())));
    Ok(())
}
