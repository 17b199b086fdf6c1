//! Commands that are killed at random moments, again and again, end as if they had not been.
//!
//! `NNUANCE_KILLS` is the number of kills a command.

use crate::runs::train::DEEP;
use crate::support::fake_engine::with_fake;
use crate::support::kit::*;

/// A command, its words between blanks, in a folder with the config `run.toml`. `@` is the folder
/// of the repository, and `FAKE` the fake engine.
pub struct Case {
    pub name: &'static str,
    words: String,
    config: String,
}

/// `model` is the rest of `[data]`, and the other sections.
fn config(model: &str, schedule: &str) -> String {
    format!(
        "version = 3\nseed = 5\n\
         [data]\nfiles = [\"@/data/selfplay_sf151_scored.txt\"]\nheld_out = 0.2\n{model}\n\
         [target]\nscore_scale = 126\nwdl = {{ shape = \"linear\", from = 0.0, to = 0.5 }}\n\
         [schedule]\n{schedule}\n"
    )
}

/// With 12 validations and 20 checkpoints.
fn steps(positions: u64, model: &str) -> String {
    let more = "keep_every = \"110k positions\"\nbatch = 1024\nvalidations = 12\ncheckpoints = 20";
    config(model, &format!("positions = {positions}\nlearning_rate = 0.01\n{more}"))
}

const NET: &str = "[net]\ninputs = \"perspective\"\n";

pub fn cases() -> Vec<Case> {
    let case = |name, words: &str, config| Case { name, words: words.to_string(), config };
    let train = |name, config| case(name, "train run.toml --out out", config);
    let plain = |name, words: &str| case(name, words, String::new());
    let kept = |sizes: &str| steps(900_000, &format!("limit = 9000\n{NET}{sizes}"));
    let threats = "sets = [\"pieces\", \"threats\"]\nhidden = 8";
    let direct = "limit = 4000\n[terms]\ntune = [\"material\", \"mobility\", \"tempo\"]\n\
                  [optimizer]\nname = \"gauss-newton\"";
    let stages = "[[stage]]\nschedule = { positions = 300000, learning_rate = 0.01 }\n\
                  [[stage]]\ndata.window = 4096\ndata.filter.min_pieces = 6\n\
                  schedule = { positions = 200000, learning_rate = 0.002 }\nnet.qat = 0.5\n";
    let many = " @/data/selfplay_sf151_scored.txt".repeat(20);
    vec![
        train("train a net", kept("hidden = 8")),
        train("train a deep net", kept(DEEP)),
        train("train on threats", steps(60_000, &format!("limit = 4000\n{NET}{threats}"))),
        train("train on a stream", steps(900_000, &format!("window = 4096\n{NET}hidden = 8"))),
        train("train in stages", kept("hidden = 8") + stages),
        train("train terms by gradient", steps(600_000, "limit = 9000\n[terms]")),
        train("train terms by gauss-newton", config(direct, "epochs = 12")),
        plain("data shuffle", &format!("data shuffle{many} --memory 8 -o out.bf")),
        plain(
            "data label, own search",
            "data label @/data/selfplay_sf151_quiet.epd --part 1/20 --with \
             @/nets/quickstart-32.bin --nodes 400 -o out.txt",
        ),
        plain(
            "data label, engine",
            "data label @/data/selfplay_sf151_quiet.epd --part 1/3 --nodes 9 --engines 2 FAKE -o \
             out.txt",
        ),
        plain(
            "data selfplay",
            "data selfplay --with @/nets/quickstart-32.bin --games 60 --soft-nodes 100 -o out.vf",
        ),
        plain(
            "match",
            "match @/nets/quickstart-32.bin material --pairs 80 --nodes 150 --pgn out.pgn",
        ),
        plain(
            "climb",
            "climb @/configs/climb.toml --out out --generations 2 --games 40 --soft-nodes 40 \
             --pairs 4 --nodes 40 --set data.held_out=0.3 --set net.hidden=8 --set \
             schedule.epochs=2 --set schedule.batch=256 --set schedule.learning_rate=0.01",
        ),
        case(
            "sweep",
            "sweep run.toml --out out --over net.hidden=4,8 --seeds 2 --json",
            steps(60_000, &format!("limit = 9000\n{NET}hidden = 4")),
        ),
    ]
}

impl Case {
    pub fn command(&self, folder: &Path, threads: &str) -> Command {
        let root = env!("CARGO_MANIFEST_DIR");
        fs::create_dir_all(folder).unwrap();
        if !self.config.is_empty() {
            fs::write(folder.join("run.toml"), self.config.replace('@', root)).unwrap();
        }
        let mut words = self.words.replace('@', root);
        let begun = ["out/last.safetensors", "out/stages.toml"].map(|it| folder.join(it).exists());
        if self.words.starts_with("train") && begun.contains(&true) {
            words = "train --resume out".to_string();
        }
        let mut command = nnuance();
        command.current_dir(folder).args(["--threads", threads]);
        for word in words.split(' ') {
            if word == "FAKE" {
                with_fake(&mut command)
            } else {
                command.arg(word)
            };
        }
        command
    }
}

type Left = BTreeMap<String, Vec<u8>>;

const STDOUT: &str = "standard output";

/// Files and output of a command.
///
/// Parts that depend on the clock are left out: the speed in the last column of a log, and the
/// chart of it, duration and date in a report.
pub fn left_behind(folder: &Path, stdout: Vec<u8>) -> Left {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(inner) = folders.pop() {
        for path in fs::read_dir(inner).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = fs::read(&path).unwrap();
            let text = || String::from_utf8(bytes.clone()).unwrap();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if name.ends_with("log.csv") {
                let cut = |line: &str| line.rsplit_once(',').unwrap().0.to_string() + "\n";
                bytes = text().lines().map(cut).collect::<String>().into();
            } else if name.ends_with("report.html") {
                let mut text = text();
                // A run that was stopped before its first step has no speed.
                for (start, end) in
                    [("<p class=\"soft made\">", "</p>"), ("<figcaption>Speed", "</svg>")]
                {
                    if let Some((before, rest)) = text.split_once(start) {
                        text = [before, rest.split_once(end).unwrap().1].concat();
                    }
                }
                bytes = text.into();
            }
            files.insert(name, bytes);
        }
    }
    files.insert(STDOUT.to_string(), stdout);
    files
}

pub fn require_same(whole: &Left, parts: &Left, what: &str) {
    assert_eq!(whole.keys().collect::<Vec<_>>(), parts.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in whole {
        assert!(*bytes == parts[name], "{what}: {name} differs");
    }
}

impl Case {
    pub fn named(name: &str) -> Self {
        cases().into_iter().find(|case| case.name == name).expect(name)
    }

    /// Kills the command at drawn moments until it has been killed `most` times; each of its ends
    /// must be as if it had not been. Returns the number of kills.
    pub fn survives(&self, most: usize, random: &mut Xoshiro256PlusPlus) -> usize {
        let work = Workdir::empty();
        let [whole, parts] = ["whole", "parts"].map(|name| work.path(name));
        let start = Instant::now();
        let output = self.command(&whole, "2").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", self.name);
        let (length, whole) = (start.elapsed(), left_behind(&whole, output.stdout));
        assert!(whole.keys().all(|name| !name.ends_with(".part")), "{:?}", whole.keys());
        let (mut kills, mut ends, mut since) = (0, 0, 0);
        while kills < most || since > 0 {
            let threads = ["1", "2", "3"][random.random_range(0..3)];
            let mut command = self.command(&parts, threads);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            if kills < most {
                std::thread::sleep(length.mul_f64(random.random_range(0.0..1.0)));
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let what = format!("{}, {kills} kills, {since} since the start: {said}", self.name);
            let Some(code) = output.status.code() else {
                (kills, since) = (kills + 1, since + 1);
                continue;
            };
            // A job that was killed right after its end is not done again.
            let is_done = said.contains("--overwrite");
            assert!(code == 0 || is_done, "{what}");
            // A run without a kill shows nothing.
            if since > 0 {
                let stdout = if is_done { whole[STDOUT].clone() } else { output.stdout };
                require_same(&whole, &left_behind(&parts, stdout), &what);
                ends += 1;
            }
            since = 0;
            fs::remove_dir_all(&parts).unwrap();
        }
        println!("{}: {length:.1?}, {kills} kills, {ends} ends alike", self.name);
        kills
    }
}

#[test]
#[ignore = "takes minutes; NNUANCE_KILLS=77 makes a thousand kills"]
fn kills() {
    let most = std::env::var("NNUANCE_KILLS").map_or(4, |kills| kills.parse().unwrap());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(50);
    let total: usize = cases().iter().map(|case| case.survives(most, &mut random)).sum();
    println!("{total} kills");
}
