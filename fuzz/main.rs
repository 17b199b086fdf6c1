//! Fuzzing that goes on: runs a target over its corpus, changed at random, and keeps in
//! `fuzz/artifacts` an input for each place that panics and each input that takes seconds.

use std::collections::BTreeSet;
use std::env::args;
use std::error::Error;
use std::fs;
use std::panic::{catch_unwind, set_hook};
use std::sync::Mutex;
use std::time::{Duration, Instant};

mod mutate;
mod targets;

/// Where the last panic was, and what it said.
static PANIC: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

const SLOW: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), ToString::to_string);
        *PANIC.lock().expect("one thread") = (place, panic.to_string());
    }));
    let (Some(wanted), Some(amount)) = (args().nth(1), args().nth(2)) else {
        let names = targets::TARGETS.map(|(name, _)| name).join(" ");
        return Err(format!("nnuance-fuzz TARGET|all COUNT|SECONDSs [SEED]: {names}").into());
    };
    let seconds = amount.strip_suffix('s').map(str::parse).transpose()?;
    let count: u64 = if seconds.is_some() { u64::MAX } else { amount.parse()? };
    let most = seconds.map_or(Duration::MAX, Duration::from_secs);
    let first = args().nth(3).map_or(Ok(0), |seed| seed.parse())?;
    let chosen = |name: &str| wanted == "all" || wanted == name;
    for (name, target) in targets::TARGETS.into_iter().filter(|(name, _)| chosen(name)) {
        let corpus = targets::corpus(name);
        let keep = |input: &[u8], seed: u64, text: &str| {
            println!("{name} {seed}: {text}");
            fs::create_dir_all("fuzz/artifacts")?;
            fs::write(format!("fuzz/artifacts/{name}-{seed}"), input)
        };
        let (start, mut done, mut valid, mut panics) = (Instant::now(), 0, 0, BTreeSet::new());
        while done < count && start.elapsed() < most {
            let (seed, began) = (first + done, Instant::now());
            let input = mutate::mutated(&corpus, seed);
            match catch_unwind(|| target(&input)) {
                Ok(is_valid) => valid += u64::from(is_valid),
                Err(_) => {
                    let (place, text) = PANIC.lock()?.clone();
                    if panics.insert(place) {
                        keep(&input, seed, &text)?;
                    }
                }
            }
            if began.elapsed() > SLOW {
                keep(&input, seed, "seconds")?;
            }
            done += 1;
        }
        let (share, speed) =
            (100 * valid / done.max(1), done as f64 / start.elapsed().as_secs_f64());
        let found = panics.len();
        println!("{name}: {done} inputs, {share}% valid, {speed:.0} a second, {found} panics");
    }
    Ok(())
}
