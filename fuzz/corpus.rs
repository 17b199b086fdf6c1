//! Small valid files of every format, from the games that come with the project, for the fuzzer to
//! start from: `corpus/reader`, `corpus/sniff` and `corpus/round_trip` below the working folder.

use std::error::Error;
use std::fs;
use std::path::Path;

use nnuance::format::Source;

#[allow(dead_code, reason = "only the corpus is wanted")]
mod targets;

const GAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/selfplay-sf15.vf");

fn main() -> Result<(), Box<dyn Error>> {
    let mut samples = Vec::new();
    Source::open(Path::new(GAMES), None, 0)?.next_block(&mut samples)?;
    for (choice, (name, bytes)) in targets::corpus(&samples[..40]).into_iter().enumerate() {
        let choice = u8::try_from(choice)?;
        for (target, head) in
            [("reader", &[choice][..]), ("sniff", &[]), ("round_trip", &[choice, choice ^ 1])]
        {
            let folder = Path::new("corpus").join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(name), [head, &bytes].concat())?;
        }
    }
    Ok(())
}
