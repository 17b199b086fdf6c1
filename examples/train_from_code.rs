//! A net trained, exported and evaluated without a command line:
//!
//! ```sh
//! cargo run --release --example train_from_code
//! ```

use nnuance::{Config, Position, shakmaty::Chess};

const CONFIG: &str = "
    version = 3
    data = { files = ['data/selfplay-sf15.vf'], filter = { min_ply = 16, skip_in_check = true } }
    net = { inputs = 'perspective', hidden = 32 }
    target = { score_scale = 126.0, wdl = 0.1 }
    schedule = { epochs = 2, batch = 4096, learning_rate = 0.002 }
";

fn main() -> Result<(), nnuance::Error> {
    let path = std::env::args().nth(1).unwrap_or("runs/from-code".into());
    let overrides: Vec<String> = std::env::args().skip(2).collect();
    let config = Config::parse_text(CONFIG, "the config", &overrides)?;
    let run = nnuance::train(config, &path)?;
    let net = run.net().expect("the config has a net");
    println!("{path}: {}", net.architecture());
    println!("validation loss {:.6}", run.validation_loss.unwrap_or(f64::NAN));
    println!("{} cp before the first move", net.evaluate(&Position::from_chess(&Chess::default())));
    Ok(())
}
