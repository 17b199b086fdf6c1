//! `nnuance train` on handcrafted terms: every method, and which weights it changes.

use nnuance::batch::{BatchInputs, TermBatch};
use nnuance::hce::{self, Trace};
use nnuance::loader::{self, Store};

use crate::support::kit::*;
const SCALE: f64 = 160.0;

fn config(limit: u64, model: &str, optimizer: &str, schedule: &str) -> String {
    format!(
        "version = 3\nseed = 3\n\
         [data]\nfiles = [\"{SCORED}\"]\nlimit = {limit}\n\
         [terms]\n{model}\n\
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

/// The positions that a run of [`config`] trains on, with `share` of them held out.
fn trained_on(limit: u64, share: f64) -> Vec<Sample> {
    let split = Split { share, seed: 0 };
    let plan = ReadPlan { split, ..plan_first_positions(SCORED, limit) };
    let mut samples = collect_samples(&plan, None, &|_| ()).unwrap();
    samples.retain(|sample| !split.holds_out(sample.split_group()));
    samples
}

struct Encoded {
    terms: TermBatch,
    results: Vec<f64>,
}

impl Encoded {
    fn new(samples: &[Sample]) -> Self {
        let coding = Coding::new(&vec![true; hce::terms::built_in_list().len()], true);
        let (mut terms, mut trace) = (TermBatch::default(), Trace::default());
        samples
            .iter()
            .for_each(|sample| coding.encode_position(&sample.position, &mut trace, &mut terms));
        let white = |sample: &Sample| match sample.position.turn().is_black() {
            true => 1.0 - f64::from(sample.result),
            false => sample.result.into(),
        };
        Self { terms, results: samples.iter().map(white).collect() }
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; hce::terms::built_in_list().len()];
        for (entries, ..) in rows(&BatchInputs::Terms(vec![Arc::new(self.terms.clone())])) {
            let there: BTreeSet<usize> = entries.iter().map(|entry| entry.0).collect();
            there.into_iter().for_each(|term| counts[term] += 1);
        }
        counts
    }
}

fn patterns(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|pattern| pattern.to_string()).collect()
}

/// Trains a subset; no other weight may change, and at least this share of the subset must.
fn moves_only(limit: u64, tune: &[&str], optimizer: &str, schedule: &str, share: f64) {
    let run = Run::new(&config(limit, &format!("tune = {tune:?}"), optimizer, schedule), "2");
    let list = hce::terms::built_in_list();
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
fn frozen_weights_keep_their_bits() {
    moves_only(6000, &["pawns.*", "king.safety"], ADAM, MINIBATCH, 0.95);
    let tune = ["pawns", "!pawns.isolated.*", "!*.phalanx.*", "tempo"];
    moves_only(6000, &tune, ADAGRAD, "epochs = 9\nbatch = \"all\"\nlearning_rate = 1.0", 0.95);
    moves_only(6000, &tune, GAUSS_NEWTON, "epochs = 4", 0.95);
    moves_only(3000, &tune, LOCAL_SEARCH, "epochs = 5", 0.7);
}

const TUNE: &str = "tune = [\"material\", \"mobility\", \"pawns\", \"king.safety\", \"complexity\", \
                    \"tempo\"]";

#[test]
fn killed_and_resumed_with_every_method() {
    let local = format!("{LOCAL_SEARCH}\nstep = 8");
    let shape = "{ shape = \"cosine\", from = 1.0, to = 0.01 }";
    let from_memory =
        format!("epochs = 25.3\nbatch = 700\nlearning_rate = {shape}\nvalidations = 12");
    for (limit, optimizer, schedule, runs) in [
        (15_000, GAUSS_NEWTON, "", 4),
        (6000, &local, "epochs = 25", 3),
        (30_000, ADAM, &from_memory, 4),
    ] {
        killed_and_resumed(&config(limit, TUNE, optimizer, schedule), runs);
    }
}

#[test]
fn same_bits_for_any_threads() {
    let whole = "epochs = 20\nbatch = \"all\"\nlearning_rate = 4.0";
    for (limit, optimizer, schedule) in [
        (12_000, GAUSS_NEWTON, "epochs = 4"),
        (6000, LOCAL_SEARCH, "epochs = 3"),
        (12_000, ADAGRAD, whole),
        (12_000, ADAM, MINIBATCH),
    ] {
        same_for_any_threads(&config(limit, TUNE, optimizer, schedule));
    }
}

/// The rows of `terms.csv` have the counts of a scan, and rare terms keep their start.
#[test]
fn rare_terms_keep_their_start() {
    let model = "use = [\"material\", \"psqt\", \"scale_factor\"]";
    let run = Run::new(&config(4000, model, GAUSS_NEWTON, "epochs = 2"), "2");
    let list = hce::terms::built_in_list();
    let counts = Encoded::new(&trained_on(4000, 0.1)).counts();
    let start = HceWeights::default();
    let table = run.text("terms.csv");
    let mut rare = 0;
    for row in table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>()) {
        let term = list.terms.iter().position(|term| term.name == row[0]).unwrap();
        assert!(["material.", "psqt."].iter().any(|group| row[0].starts_with(group)), "{row:?}");
        assert_eq!(row[2], counts[term].to_string(), "{row:?}");
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert_eq!([number(3), number(4)], start.values[term]);
        assert_eq!(row[11], if counts[term] < 20 { "rare" } else { "" }, "{row:?}");
        match counts[term] < 20 {
            true => assert_eq!(([number(7), number(8)], row[9]), ([0.0; 2], ""), "{row:?}"),
            false => assert!(number(9) > 0.0, "{row:?}"),
        }
        rare += usize::from(counts[term] < 20);
    }
    assert!((5..200).contains(&rare), "{rare} are rare");
}

type Row = (Vec<(usize, i32, i32)>, [f32; 2], i8);

fn rows(inputs: &BatchInputs) -> Vec<Row> {
    let BatchInputs::Terms(pieces) = inputs else { panic!("terms") };
    let row = |piece: &TermBatch, row: usize| {
        let TermBatch { normal, safety, complexity, .. } = piece;
        let mut entries: Vec<_> =
            normal.entries_of_row(row).map(|(term, count)| (term, count.into(), 0)).collect();
        entries.extend(safety.entries_of_row(row).map(|(term, [a, b])| (term, a.into(), b.into())));
        entries.extend(complexity.entries_of_row(row).map(|(term, count)| (term, count.into(), 0)));
        (entries, [piece.middlegame[row], piece.endgame[row]], piece.turn[row])
    };
    let all =
        |piece: &Arc<TermBatch>| (0..piece.len()).map(|at| row(piece, at)).collect::<Vec<_>>();
    pieces.iter().flat_map(all).collect()
}

#[test]
fn memory_holds_what_the_files_say() {
    let list = hce::terms::built_in_list();
    let start = HceWeights::default();
    let encoder = || TermsEncoder {
        coding: Coding::new(&vec![true; list.len()], true),
        chosen: TermSelection::all(list.len()),
        weights: start.values.clone(),
    };
    let files = [SCORED, QUIET].map(PathBuf::from).to_vec();
    let split = Split { share: 0.2, seed: 4 };
    let mut plan = ReadPlan { split, ..ReadPlan::new(files) };
    plan.reading.limit = Some(6000);
    let kept = loader::scan(&plan, u64::MAX, &|_| ()).unwrap().kept.unwrap();
    let store = Store::encode_records(kept, &encoder());
    let mut samples = collect_samples(&plan, None, &|_| ()).unwrap();
    samples.retain(|sample| !split.holds_out(sample.split_group()));
    let streamed = Encoder::Hce(Arc::new(encoder())).encode_samples(&samples);
    let stored = store.whole_batch();
    assert_eq!((stored.len(), store.len()), (samples.len(), samples.len()));
    assert!(samples.len() > 9000 && samples.len() < 10_200, "{}", samples.len());
    assert_eq!(rows(&stored.inputs), rows(&streamed.inputs));
    assert_eq!(stored.results, streamed.results);
    assert!(stored.scores.is_empty() && streamed.scores.is_empty());
    // The same as the plainest way to encode, and with the same loss.
    let plain = Encoded::new(&samples);
    let terms = vec![Arc::new(plain.terms.clone())];
    assert_eq!(rows(&stored.inputs), rows(&BatchInputs::Terms(terms)));
    let results: Vec<f64> = stored.results.iter().map(|result| (*result).into()).collect();
    assert_eq!(results, plain.results);
    // Batches of the store have the requested rows.
    let places: Vec<u32> = (0..store.len() as u32).rev().step_by(7).collect();
    let Batch { inputs, results, .. } = store.batch_of(&places);
    let (all, some) = (rows(&stored.inputs), rows(&inputs));
    for (i, place) in places.iter().enumerate() {
        assert_eq!(some[i], all[*place as usize]);
        assert_eq!(results[i], stored.results[*place as usize]);
    }
}
