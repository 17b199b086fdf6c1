//! `nnuance train` on handcrafted terms: every method, what it moves, and what it leaves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use assert_cmd::assert::OutputAssertExt;
use nnuance::batch::{Batch, Inputs, Terms};
use nnuance::hce::{self, Coding, HceWeights, Trace};
use nnuance::loader::{self, Encoder, Part, Plan, Split, Store, TermsEncoder, collect};
use nnuance::loss::Loss;
use nnuance::sample::Sample;
use nnuance::terms::{Chosen, Kind, TermList};
use nnuance::train::checkpoint::Checkpoint;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use tempfile::TempDir;

use crate::problems::with_threads;

const POSITIONS: &str = "data/selfplay_sf151_scored.txt";
const SCALE: f64 = 160.0;

/// A run on the first positions of a file.
fn config(limit: u64, model: &str, optimizer: &str, schedule: &str) -> String {
    format!(
        "version = 1\nseed = 3\n\
         [data]\nfiles = [\"{POSITIONS}\"]\nlimit = {limit}\n\
         [model]\ninputs = \"hce\"\n{model}\n\
         [target]\nwdl = 1.0\nscale = {SCALE}\n\
         [optimizer]\n{optimizer}\n\
         [schedule]\n{schedule}\n"
    )
}

const GAUSS_NEWTON: &str = "name = \"gauss-newton\"";
const LOCAL_SEARCH: &str = "name = \"local-search\"";
const ADAM: &str = "name = \"adam\"";
const ADAGRAD: &str = "name = \"adagrad\"";
const MINIBATCH: &str = "epochs = 4\nbatch = 512\nlearning_rate = 1.0";

pub fn nnuance() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nnuance"))
}

pub fn written(folder: &TempDir, text: &str) -> String {
    let path = folder.path().join("run.toml");
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// What a command that succeeds says: standard output and standard error.
pub fn said(command: &mut Command) -> [String; 2] {
    let assert = command.assert().success();
    let output = assert.get_output();
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// What a command that fails says.
pub fn complaint(command: &mut Command) -> String {
    let assert = command.assert().failure();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
    said
}

/// A finished run in a folder of its own.
pub struct Run {
    /// Deleted with the run.
    _folder: TempDir,
    pub out: PathBuf,
    pub said: [String; 2],
}

impl Run {
    pub fn new(text: &str, threads: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (config, out) = (written(&folder, text), folder.path().join("out"));
        let said = said(train(&config, &out).args(["--threads", threads]));
        Self { _folder: folder, out, said }
    }

    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.out.join(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.file(name)).unwrap()
    }

    /// Where the run ended.
    pub fn last(&self) -> Checkpoint {
        Checkpoint::read(&self.out.join("last.safetensors")).unwrap()
    }

    /// The weights of the run's end, by term, and what training began with.
    fn weights(&self) -> [HceWeights; 2] {
        let (list, last) = (hce::terms::list(), self.last().weights);
        [
            HceWeights::from_weights(&last, list.clone(), SCALE).unwrap(),
            HceWeights::started_from(&last, list, SCALE).unwrap(),
        ]
    }

    /// The rows of the table of changes, by the name of the term.
    fn changes(&self) -> BTreeMap<String, Vec<String>> {
        let rows = self.text("terms.csv");
        let rows = rows.lines().skip(1).map(|row| row.split(',').map(String::from).collect());
        rows.map(|row: Vec<String>| (row[0].clone(), row)).collect()
    }
}

pub fn train(config: &str, out: &Path) -> Command {
    let mut command = nnuance();
    command.args(["train", config, "--out"]).arg(out);
    command
}

/// Runs a config that must be refused, before anything is written; what was said.
pub fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (config, out) = (written(&folder, text), folder.path().join("out"));
    let said = complaint(&mut train(&config, &out));
    assert!(!out.exists(), "a folder is left behind: {said}");
    said
}

/// The log without the column of speeds.
pub fn log(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("log.csv")).unwrap();
    text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_string()).collect()
}

/// A column of the log.
pub fn column(folder: &Path, name: &str) -> Vec<f64> {
    let rows = log(folder);
    let place = rows[0].split(',').position(|column| column == name).unwrap();
    rows[1..].iter().filter_map(|row| row.split(',').nth(place)?.parse().ok()).collect()
}

/// Kills a run at random moments and resumes it with other numbers of threads; it must end with
/// the bits of a run that nobody touched.
pub fn killed_and_resumed(text: &str, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let config = written(&folder, text);
    let untouched = folder.path().join("untouched");
    let start = Instant::now();
    said(train(&config, &untouched).args(["--threads", "2"]));
    let length = start.elapsed();
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).ok();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(text.len() as u64);
    let (mut killed, mut underway) = (0, 0);
    while underway < kills {
        assert!(killed < 40 * kills, "the run is too short to be killed");
        let out = folder.path().join(format!("killed-{killed}"));
        // The longest part before the first step is reading.
        let moment = length.mul_f64(random.random_range(0.2..1.0));
        let mut command = train(&config, &out);
        command.args(["--threads", ["1", "2", "3"][killed % 3]]);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().unwrap();
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
        let there = read(&out, "last.safetensors");
        // One that was never begun has nothing to resume; one that had ended was not killed.
        if there.is_none() || there == read(&untouched, "last.safetensors") {
            continue;
        }
        underway += 1;
        let threads = ["3", "1", "2"][underway % 3];
        said(nnuance().args(["train", "--threads", threads, "--resume"]).arg(&out));
        for name in ["last.safetensors", "best.safetensors", "terms.json", "sources.csv"] {
            let same = read(&out, name) == read(&untouched, name);
            assert!(same, "killed after {moment:?} of {length:?}: {name} differs");
        }
        assert_eq!(log(&out), log(&untouched), "killed after {moment:?} of {length:?}");
    }
}

/// The positions that a run of [`config`] trains on, with `share` of them held out.
fn trained_on(limit: u64, share: f64) -> Vec<Sample> {
    let split = Split { share, seed: 0 };
    let plan = Plan { split, ..Plan::reading(vec![POSITIONS.into()]).limited(limit) };
    let mut samples = collect(&plan, Part::All, &|_| ()).unwrap();
    samples.retain(|sample| !split.holds_out(sample));
    samples
}

/// Positions as rows of terms, and their results seen by White.
struct Encoded {
    terms: Terms,
    results: Vec<f64>,
}

impl Encoded {
    fn new(samples: &[Sample]) -> Self {
        let coding = Coding::new(&vec![true; hce::terms::list().len()], true);
        let (mut terms, mut trace) = (Terms::default(), Trace::default());
        samples.iter().for_each(|sample| coding.encode(&sample.position, &mut trace, &mut terms));
        let white = |sample: &Sample| match sample.position.turn().is_black() {
            true => 1.0 - f64::from(sample.result),
            false => sample.result.into(),
        };
        Self { terms, results: samples.iter().map(white).collect() }
    }

    /// The same with all terms but these as sums.
    fn held(self, chosen: &Chosen, start: &[[f64; 2]], kinds: &[Kind]) -> Self {
        Self { terms: hce::hold(self.terms, chosen, start, kinds), ..self }
    }

    /// Centipawns of a position, seen by White, and the shares of the phases.
    fn value(&self, row: usize, weights: &[[f64; 2]], tempo: f64) -> f64 {
        let sums = self.terms.sums(row, weights);
        sums.white(self.shares(row)) + tempo * f64::from(self.terms.turn[row])
    }

    fn shares(&self, row: usize) -> [f64; 2] {
        [self.terms.middlegame[row], self.terms.endgame[row]].map(f64::from)
    }

    fn loss(&self, weights: &[[f64; 2]], tempo: f64, loss: Loss) -> f64 {
        let of = |row: usize| loss.of(self.value(row, weights, tempo) / SCALE, self.results[row]);
        let sum: f64 = (0..self.results.len()).map(of).sum();
        sum / self.results.len() as f64
    }

    fn loss_of(&self, weights: &HceWeights, loss: Loss) -> f64 {
        self.loss(&weights.values, weights.tempo, loss)
    }

    /// In how many positions each term has an entry.
    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; hce::terms::list().len()];
        for row in 0..self.results.len() {
            let Terms { normal, safety, complexity, .. } = &self.terms;
            let mut there: Vec<usize> = normal.row(row).map(|(term, _)| term).collect();
            there.extend(safety.row(row).map(|(term, _)| term));
            there.extend(complexity.row(row).map(|(term, _)| term));
            there.sort_unstable();
            there.dedup();
            there.into_iter().for_each(|term| counts[term] += 1);
        }
        counts
    }
}

fn kinds(list: &TermList) -> Vec<Kind> {
    list.terms.iter().map(|term| term.kind).collect()
}

fn patterns(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| pattern.to_string()).collect()
}

/// Trains a subset; nothing else may move, and at least this share of the subset must.
fn moves_only(limit: u64, tune: &[&str], optimizer: &str, schedule: &str, share: f64) {
    let run = Run::new(&config(limit, &format!("tune = {tune:?}"), optimizer, schedule), "2");
    let list = hce::terms::list();
    let chosen = list.choose(&patterns(tune)).unwrap();
    let counts = Encoded::new(&trained_on(limit, 0.1)).counts();
    let last = run.last().weights;
    let changes = last.get("terms.change", &[list.len(), 2]).unwrap();
    let (mut moved, mut free) = (0, 0);
    for (i, change) in changes.chunks_exact(2).enumerate() {
        let name = &list.terms[i].name;
        if chosen.terms[i] && counts[i] >= 20 {
            free += 1;
            moved += usize::from(change != [0.0; 2]);
        } else {
            assert_eq!(change, [0.0; 2], "{optimizer}: {name} has moved");
        }
    }
    let tempo = last.get("tempo.change", &[1]).unwrap()[0];
    assert_eq!(tempo != 0.0, chosen.tempo, "{optimizer}: the tempo by {tempo}");
    let enough = moved as f64 >= share * free as f64 && free > 10;
    assert!(enough, "{optimizer}: {moved} of {free} have moved");
}

#[test]
fn what_is_not_tuned_keeps_its_bits() {
    moves_only(6000, &["pawns.*", "king.safety"], ADAM, MINIBATCH, 0.95);
    let tune = ["pawns", "!pawns.isolated.*", "!*.phalanx.*", "tempo"];
    moves_only(6000, &tune, ADAGRAD, "epochs = 9\nbatch = \"all\"\nlearning_rate = 1.0", 0.95);
    moves_only(6000, &tune, GAUSS_NEWTON, "epochs = 4", 0.95);
    moves_only(3000, &tune, LOCAL_SEARCH, "epochs = 5", 0.7);
}

#[test]
fn terms_that_are_not_there_weigh_nothing_and_do_not_move() {
    let model = "terms = [\"material\", \"psqt\"]\ntune = [\"*\"]";
    let run = Run::new(&config(6000, model, GAUSS_NEWTON, "epochs = 3"), "2");
    let [tuned, start] = run.weights();
    for (i, term) in tuned.list.terms.iter().enumerate() {
        let there = ["material.", "psqt."].iter().any(|group| term.name.starts_with(group));
        assert!(there || (tuned.values[i], start.values[i]) == ([0.0; 2], [0.0; 2]));
        assert_eq!(run.changes().contains_key(&term.name), there, "{}", term.name);
    }
    assert_eq!(tuned.tempo, 0.0);
}

#[test]
fn a_local_search_ends_where_no_step_helps() {
    let tune = ["material", "bishops", "pawns.supported", "tempo"];
    let run = Run::new(&config(3400, &format!("tune = {tune:?}"), LOCAL_SEARCH, ""), "2");
    assert!(run.said[1].contains("converged at step"), "{}", run.said[1]);
    let list = hce::terms::list();
    let mut chosen = list.choose(&patterns(&tune)).unwrap();
    let [tuned, start] = run.weights();
    let encoded = Encoded::new(&trained_on(3400, 0.1));
    let counts = encoded.counts();
    // In the order of the program, whose sums are rounded: those not chosen, then those rare.
    let encoded = encoded.held(&chosen, &start.values, &kinds(&list));
    chosen.terms.iter_mut().zip(&counts).for_each(|(chosen, count)| *chosen &= *count >= 20);
    let encoded = encoded.held(&chosen, &start.values, &kinds(&list));
    let loss = |weights: &HceWeights| encoded.loss_of(weights, Loss::SQUARED);
    let least = loss(&tuned);
    assert!(least < 0.999 * loss(&start), "{least} from {}", loss(&start));
    let mut tried = 0;
    for i in (0..list.len()).filter(|i| chosen.terms[*i]) {
        for phase in 0..2 {
            assert_eq!(tuned.values[i][phase].fract(), 0.0);
            for by in [1.0, -1.0] {
                let mut there = tuned.clone();
                there.values[i][phase] += by;
                let name = &list.terms[i].name;
                assert!(loss(&there) >= least * (1.0 - 1e-12), "{name}, phase {phase}, {by}");
                tried += 1;
            }
        }
    }
    for by in [1.0, -1.0] {
        let there = HceWeights { tempo: tuned.tempo + by, ..tuned.clone() };
        assert!(loss(&there) >= least * (1.0 - 1e-12), "tempo {by}");
    }
    assert!(tried >= 60, "only {tried} were tried");
}

const RESUMED: &str = "tune = [\"material\", \"mobility\", \"pawns\", \"king.safety\", \"complexity\", \
                       \"tempo\"]";

#[test]
fn gauss_newton_killed_and_resumed_ends_with_the_same_bits() {
    killed_and_resumed(&config(15_000, RESUMED, GAUSS_NEWTON, ""), 4);
}

#[test]
fn a_local_search_killed_and_resumed_ends_with_the_same_bits() {
    let optimizer = format!("{LOCAL_SEARCH}\nstep = 8");
    killed_and_resumed(&config(6000, RESUMED, &optimizer, "epochs = 25"), 3);
}

#[test]
fn adam_from_memory_killed_and_resumed_ends_with_the_same_bits() {
    let shape = "{ shape = \"cosine\", from = 1.0, to = 0.01 }";
    let schedule = format!("epochs = 25.3\nbatch = 700\nlearning_rate = {shape}\nlooks = 12");
    killed_and_resumed(&config(30_000, RESUMED, ADAM, &schedule), 4);
}

#[test]
fn threads_do_not_show_in_tuned_weights() {
    let whole = "epochs = 20\nbatch = \"all\"\nlearning_rate = 4.0";
    for (limit, optimizer, schedule) in [
        (12_000, GAUSS_NEWTON, "epochs = 4"),
        (6000, LOCAL_SEARCH, "epochs = 3"),
        (12_000, ADAGRAD, whole),
        (12_000, ADAM, MINIBATCH),
    ] {
        let text = config(limit, RESUMED, optimizer, schedule);
        let one = Run::new(&text, "1");
        for threads in ["2", "3", "8"] {
            let other = Run::new(&text, threads);
            for name in ["last.safetensors", "best.safetensors", "terms.json", "terms.csv"] {
                let same = one.file(name) == other.file(name);
                assert!(same, "{optimizer}: {name} differs with {threads} threads");
            }
            assert_eq!(log(&one.out), log(&other.out));
        }
    }
}

/// Terms row by row, whatever the pieces.
type Row = (Vec<(usize, i32, i32)>, [f32; 2], i8);

fn rows(inputs: &Inputs) -> Vec<Row> {
    let Inputs::Terms(pieces) = inputs else { panic!("terms") };
    let row = |piece: &Terms, row: usize| {
        let Terms { normal, safety, complexity, .. } = piece;
        let mut entries: Vec<_> =
            normal.row(row).map(|(term, count)| (term, count.into(), 0)).collect();
        entries.extend(safety.row(row).map(|(term, [a, b])| (term, a.into(), b.into())));
        entries.extend(complexity.row(row).map(|(term, count)| (term, count.into(), 0)));
        (entries, [piece.middlegame[row], piece.endgame[row]], piece.turn[row])
    };
    let all = |piece: &Arc<Terms>| (0..piece.len()).map(|at| row(piece, at)).collect::<Vec<_>>();
    pieces.iter().flat_map(all).collect()
}

#[test]
fn memory_holds_what_the_files_say() {
    let list = hce::terms::list();
    let start = HceWeights::default();
    let encoder = || TermsEncoder {
        coding: Coding::new(&vec![true; list.len()], true),
        chosen: Chosen::all(list.len()),
        weights: start.values.clone(),
        kinds: kinds(&list),
    };
    let files = [POSITIONS, "data/selfplay_sf151_quiet.epd"].map(PathBuf::from).to_vec();
    let split = Split { share: 0.2, seed: 4 };
    let plan = Plan { split, ..Plan::reading(files).limited(6000) };
    let kept = loader::scan(&plan, u64::MAX, &|_| ()).unwrap().kept.unwrap();
    let store = Store::encode(kept, &encoder());
    // Found on the way, or behind a clone that leaves behind what was found.
    for (threads, clone) in [(1, false), (2, false), (3, true)] {
        let on_the_way = with_threads(threads, || {
            let scan = loader::scan_terms(&plan, u64::MAX, Some(&encoder()), &|_| ()).unwrap();
            let kept = scan.kept.unwrap();
            Store::encode(if clone { kept.clone() } else { kept }, &encoder())
        });
        assert!(on_the_way.pieces == store.pieces && on_the_way.counts == store.counts);
        assert!(on_the_way.all() == store.all());
    }
    let mut samples = collect(&plan, Part::All, &|_| ()).unwrap();
    samples.retain(|sample| !split.holds_out(sample));
    let streamed = Encoder::Hce(Arc::new(encoder())).encode(&samples);
    let stored = store.all();
    assert_eq!((stored.len(), store.len()), (samples.len(), samples.len()));
    assert!(samples.len() > 9000 && samples.len() < 10_200, "{}", samples.len());
    assert_eq!(rows(&stored.inputs), rows(&streamed.inputs));
    assert_eq!(stored.results, streamed.results);
    assert!(stored.scores.is_empty() && streamed.scores.is_empty());
    // The same as the plainest way to encode, and with the same loss.
    let plain = Encoded::new(&samples);
    let terms = vec![Arc::new(plain.terms.clone())];
    assert_eq!(rows(&stored.inputs), rows(&Inputs::Terms(terms)));
    let results: Vec<f64> = stored.results.iter().map(|result| (*result).into()).collect();
    assert_eq!(results, plain.results);
    // Batches of the store hold the rows that were asked for.
    let places: Vec<u32> = (0..store.len() as u32).rev().step_by(7).collect();
    let Batch { inputs, results, .. } = store.batch(&places);
    let (all, some) = (rows(&stored.inputs), rows(&inputs));
    for (i, place) in places.iter().enumerate() {
        assert_eq!(some[i], all[*place as usize]);
        assert_eq!(results[i], stored.results[*place as usize]);
    }
}

#[test]
fn a_few_steps_of_gauss_newton_do_what_hundreds_of_adam_do() {
    let model = "terms = [\"material\", \"psqt\", \"scale_factor\"]";
    let encoded = Encoded::new(&trained_on(20_000, 0.1));
    let optimizer = format!("{GAUSS_NEWTON}\nprior = 10000.0");
    let newton = Run::new(&config(20_000, model, &optimizer, "epochs = 6"), "2");
    let schedule = "epochs = 300\nbatch = \"all\"\nlearning_rate = 2.0";
    let adam = Run::new(&config(20_000, model, ADAM, schedule), "2");
    assert!(newton.last().state.step <= 6 && adam.last().state.step == 300);
    let loss = |run: &Run| encoded.loss_of(&run.weights()[0], Loss::SQUARED);
    let start = encoded.loss_of(&newton.weights()[1], Loss::SQUARED);
    let (newton, adam) = (loss(&newton), loss(&adam));
    assert!(newton <= adam && adam < 0.97 * start, "{newton}, Adam {adam}, start {start}");
}

#[test]
fn rare_terms_are_held_and_listed() {
    let model = "terms = [\"material\", \"psqt\", \"scale_factor\"]";
    let run = Run::new(&config(4000, model, GAUSS_NEWTON, "epochs = 2"), "2");
    let list = hce::terms::list();
    let counts = Encoded::new(&trained_on(4000, 0.1)).counts();
    let present = list.choose(&patterns(&["material", "psqt"])).unwrap();
    let there: Vec<usize> = (0..list.len()).filter(|i| present.terms[*i]).collect();
    let rare = there.iter().filter(|i| counts[**i] < 20).count();
    assert!((5..200).contains(&rare), "{rare} are rare");
    assert!(run.said[1].contains(&format!("{rare} terms are held")), "{}", run.said[1]);
    let changes = run.changes();
    assert_eq!(changes.len(), there.len());
    let columns: Vec<String> =
        run.text("terms.csv").lines().next().unwrap().split(',').map(String::from).collect();
    assert_eq!(columns[..3], ["term", "kind", "positions"]);
    let [tuned, start] = run.weights();
    for i in there {
        let row = &changes[&list.terms[i].name];
        assert_eq!(row.len(), columns.len());
        assert_eq!(row[2], counts[i].to_string(), "{row:?}");
        assert_eq!(row[11], if counts[i] < 20 { "rare" } else { "" }, "{row:?}");
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert_eq!([number(3), number(4)], start.values[i]);
        if counts[i] < 20 {
            assert_eq!([number(7), number(8)], [0.0; 2], "{row:?}");
            assert_eq!(tuned.values[i], start.values[i]);
            assert_eq!(row[9], "", "{row:?}");
        } else {
            assert!(number(9) > 0.0, "{row:?}");
        }
    }
}
