//! Small valid files of every format, from the games that come with the project, for the fuzzer to
//! start from: `corpus/reader`, `corpus/sniff` and `corpus/round_trip` below the working folder.

use std::error::Error;
use std::fs;
use std::path::Path;

use nnuance::format::{ALL, Source};

const GAMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/selfplay-sf15.vf");
const TRACE: &str = "nnuance-trace 1\n1.0 w 24 128 cp=3 | 0:5:4 17:1:0 | \
                     rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n";

fn main() -> Result<(), Box<dyn Error>> {
    let mut samples = Vec::new();
    Source::open(Path::new(GAMES), None, 0)?.next_block(&mut samples)?;
    for (choice, format) in ALL.iter().enumerate() {
        let mut bytes = Vec::new();
        match format.writer {
            None => bytes.extend_from_slice(TRACE.as_bytes()),
            Some(writer) => {
                let mut writer = writer();
                for sample in &samples[..40] {
                    writer.write(sample, &mut bytes)?;
                }
                writer.finish(&mut bytes);
            }
        }
        let choice = u8::try_from(choice)?;
        for (target, head) in
            [("reader", &[choice][..]), ("sniff", &[]), ("round_trip", &[choice, choice ^ 1])]
        {
            let folder = Path::new("corpus").join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format.name), [head, &bytes].concat())?;
        }
    }
    Ok(())
}
