//! Nets that are added to handcrafted terms, or to nets.

use nnuance::batch::BatchInputs;
use nnuance::evaluation::Evaluation;
use nnuance::export::{Manifest, StoredEvaluation, load_net};
use nnuance::hce::terms;
use nnuance::loader::Base;
use nnuance::progress::SilentProgress;
use nnuance::run::objective::QuietSearcher;
use nnuance::run::{Evaluator, Host};

use crate::runs::together::loss;
use crate::support::kit::*;

pub fn config(base: &str, target: &str, epochs: usize) -> String {
    format!(
        "version = 3\nseed = 3\n\
         [data]\nfiles = [\"{GAMES}\"]\nlimit = 6000\nheld_out = 0.2\n\
         [net]\ninputs = \"perspective\"\nmirror = false\nstart_size = 1.0\nhidden = 8\nbase = \"{base}\"\n\
         [target]\nscore_scale = 126\n{target}\n\
         [schedule]\nepochs = {epochs}\nbatch = 512\nlearning_rate = 0.01\n"
    )
}

fn uneven() -> HceWeights {
    let mut weights = HceWeights { scale: 170.4, ..HceWeights::material_only() };
    weights.values.iter_mut().for_each(|pair| pair.iter_mut().for_each(|it| *it *= 0.937));
    weights
}

fn terms_in(folder: &Workdir) -> String {
    folder.write("terms.json", uneven().to_json())
}

fn open(path: &Path) -> Evaluator {
    let host = Host { device: Device::flex(), compute: Compute::Plain, listener: &SilentProgress };
    Evaluator::open_evaluation(&path.to_string_lossy(), &host).unwrap()
}

fn cp(evaluator: &Evaluator, samples: &[Sample]) -> Vec<f64> {
    evaluator.predict_samples(samples, &[]).unwrap().cp.unwrap()
}

fn manifest(net: &Path) -> Manifest {
    load_net(net).unwrap().manifest.unwrap()
}

#[test]
fn sum_learns_evaluates_and_plays() {
    let folder = Workdir::empty();
    let terms = terms_in(&folder);
    let evaluator = HceEvaluator::new(&uneven());
    let of_terms = |position: &Position| evaluator.evaluate(position).round();
    let base = load_net(Path::new(QUICKSTART)).unwrap();
    let of_net = |position: &Position| f64::from(base.net.evaluate_slowly(position));
    let scale = f64::from(base.net.scales().scale);
    let [with_terms, with_net] = ["terms", "net"].map(|name| folder.path(name));
    type Case<'a> = (&'a str, &'a Path, f64, &'a dyn Fn(&Position) -> f64);
    let cases: [Case; 2] =
        [(&terms, &with_terms, 170.0, &of_terms), (QUICKSTART, &with_net, scale, &of_net)];
    for (path, out, scale, below) in cases {
        said(&mut train(&folder.write("run.toml", config(path, "wdl = 0.3", 6)), out));
        let (best, found) = recipe::open_checkpoint(&out.join("best.safetensors")).unwrap();
        assert_eq!((found.config.scale, found.config.win_rate.scale), (scale, 126.0));
        let plan = data_plan::read_plan(&found.config);
        let samples = collect_samples(&plan, Some(Subset::Validation), &|_| ()).unwrap();

        // As in engines: the net's integers plus the base, also along a search.
        let upper = load_net(&out.join("net.bin")).unwrap().net;
        let sum = |it: &Position| f64::from(upper.evaluate_slowly(it)) + below(it);
        let net = open(&out.join("net.bin"));
        let (sums, floats) = (cp(&net, &samples), cp(&open(out), &samples));
        let mut search = net.search_evaluation().unwrap();
        for (number, (sample, value)) in samples.iter().zip(&sums).enumerate() {
            assert_eq!(*value, sum(&sample.position));
            search.refresh(&sample.position);
            let chess = sample.position.to_chess().unwrap();
            for played in chess.legal_moves().into_iter().filter(|_| number < 50) {
                let mut after = chess.clone();
                after.play_unchecked(played);
                let after = Position::from_chess(&after);
                search.play_move(Some(&DirtyPieces::from_move(chess.turn(), &played)), &after);
                assert_eq!(f64::from(search.value()), sum(&after));
                search.undo_move();
            }
            assert_eq!(f64::from(search.value()), *value);
        }
        let ends = QuietSearcher::from_weights(&found, &best.weights).unwrap();
        let mut of_run = ends.open_evaluation();
        of_run.refresh(&samples[7].position);
        assert_eq!(f64::from(of_run.value()), sums[7]);

        // The validation loss is that of the floats, and the integers are near them.
        let apart = |(one, other): (&f64, &f64)| (one - other).abs();
        let apart: Vec<f64> = floats.iter().zip(&sums).map(apart).collect();
        assert!(path == QUICKSTART || apart.iter().all(|apart| *apart < 25.0));
        assert!(path != QUICKSTART || apart.iter().sum::<f64>() / (samples.len() as f64) < 3.0);
        let loss = |values: &[f64]| loss(values.iter().copied(), &samples, scale);
        let alone: Vec<f64> = samples.iter().map(|it| below(&it.position)).collect();
        let first = column(out, "validation_loss")[0];
        assert!((loss(&alone) / first - 1.0).abs() < 1e-5, "{} {first}", loss(&alone));
        let lowest = best.state.best.unwrap().loss;
        assert!((loss(&floats) / lowest - 1.0).abs() < 1e-5, "{} {lowest}", loss(&floats));
        assert!(lowest < loss(&alone), "{lowest}, the base alone {}", loss(&alone));
    }

    // Exported again from the net alone it is still a part of the sum; another scale is refused.
    let (net, again) = (with_terms.join("net.bin"), folder.path("again.bin"));
    assert!(complaint(export(&net, &again).args(["--scale", "400"])).contains("400"));
    said(&mut export(&net, &again));
    let of = |net: &Path| manifest(net).provenance.base;
    assert!(of(&net).is_some() && of(&again) == of(&net));
    said(nnuance().arg("verify").arg(&again));

    let net = with_net.join("net.bin");
    let recorded = of(&net).unwrap();
    assert_eq!(recorded.sha256, Some(base.manifest.unwrap().sha256));
    let StoredEvaluation::Net(whole) = &recorded.below else { panic!("{recorded:?}") };
    assert_eq!(whole.read_net().unwrap().to_bytes(), fs::read(QUICKSTART).unwrap());
    let [page, pgn] = ["net.html", "games.pgn"].map(|name| folder.path(name));
    said(nnuance().arg("inspect").arg(&net).args(["--data", GAMES, "-o"]).arg(page));
    said(nnuance().arg("verify").arg(&net));
    let few = ["--pairs", "1", "--nodes", "50", "--pgn"];
    said(nnuance().arg("match").arg(&net).arg(QUICKSTART).args(few).arg(pgn));
    said(nnuance().arg("compare").arg(&net).args(["material", "--data", GAMES]));
}

fn of_zeros(folder: &Workdir, name: &str, inputs: &str, hidden: usize) -> String {
    let views = if inputs == "perspective" { 2 } else { 1 };
    let numbers = 768 * hidden + hidden + views * hidden + 1;
    let about = format!("inputs = \"{inputs}\"\nhidden = {hidden}\nactivation = \"screlu\"\n");
    folder.write(format!("{name}.toml"), about);
    folder.write(format!("{name}.bin"), vec![0; (2 * numbers).next_multiple_of(64)])
}

/// The last weights of a run in the folder `out`.
fn trained(folder: &Workdir, text: &str) -> Weights {
    let out = folder.path("out");
    said(train(&folder.write("run.toml", text), &out).arg("--overwrite"));
    checkpoint(&out, "last.safetensors").weights
}

/// A run, its best checkpoint and its net are one base. A run continues with it and the sum itself.
#[test]
fn run_or_its_net_as_base() {
    let folder = Workdir::empty();
    let below = folder.path("below");
    let alone = config("x", "wdl = 0.3", 2).replace("base = \"x\"\n", "");
    said(&mut train(&folder.write("run.toml", &alone), &below));
    let weights = ["", "best.safetensors", "net.bin"]
        .map(|name| trained(&folder, &config(&below.join(name).to_string_lossy(), "wdl = 0.3", 2)));
    assert!(weights[0] == weights[1] && weights[0] == weights[2]);

    let (sum, again) = (folder.path("out"), folder.path("again"));
    let text = config(&sum.to_string_lossy(), "wdl = 0.3", 1);
    // A sum is no base. The last one was of the net.
    assert!(refused(&text).contains("net.start"));
    let [base, start] = [("base", below.join("net.bin")), ("start", sum.clone())]
        .map(|(key, path)| format!("net.{key} = \"{}\"", path.display()));
    let mut command = train(&folder.write("run.toml", &text), &again);
    said(command.args(["--set", &base, "--set", &start]));
    let first = column(&again, "validation_loss")[0];
    let best = checkpoint(&sum, "best.safetensors").state.best.unwrap().loss;
    assert!((first / best - 1.0).abs() < 1e-6, "{first} {best}");
}

/// A base with a view of White needs data that name White.
#[test]
fn base_needs_its_inputs() {
    let folder = Workdir::empty();
    let packed = folder.name("turned.bin");
    said(nnuance().args(["data", "convert", GAMES, "--to", "bulletformat", "-o", &packed]));
    let on = |inputs: &str| {
        let base = of_zeros(&folder, inputs, inputs, 2);
        config(&base, "wdl = 0.3", 1).replace(GAMES, &packed)
    };
    said(&mut train(&folder.write("run.toml", on("perspective")), &folder.path("out")));
    assert!(refused(&on("plain")).contains("White"));
}

#[test]
fn zeros_as_a_base() {
    let folder = Workdir::empty();
    let nothing = HceWeights { tempo: 0.0, ..HceWeights::of_list(terms::built_in_list(), 160.0) };
    let values = vec![[0.0; 2]; nothing.values.len()];
    let path = folder.write("nothing.json", HceWeights { values, ..nothing }.to_json());
    let net = of_zeros(&folder, "zeros", "perspective", 1);
    let targets = ["wdl = 0.5\nlearn = \"quiescence\"", "wdl = 1.0\nlearn = \"moves\""];
    let cases = [(&path, targets[0]), (&net, targets[0]), (&net, targets[1])];
    for (base, target) in cases.into_iter().chain([(&path, targets[1])]) {
        let target = format!("scale = 160\n{target}");
        let on = config(base, &target, 2);
        // Else a net on a base begins with another output.
        let on = on.replace("hidden = 8", "hidden = 32\nstart = \"nets/quickstart-32.bin\"");
        let line = on.lines().find(|line| line.starts_with("base = ")).unwrap().to_string();
        let weights = [&on, &on.replace(&line, "")].map(|text| trained(&folder, text));
        assert!(weights[0] == weights[1], "{target}");
    }
}

#[test]
fn killed_and_resumed_with_a_base() {
    let folder = Workdir::empty();
    killed_and_resumed(&config(&terms_in(&folder), "wdl = 0.3", 12), 2);
    let moves = "wdl = 0.3\nlearn = \"moves\"";
    killed_and_resumed(&config(&terms_in(&folder), moves, 3), 2);
    killed_and_resumed(&config(QUICKSTART, "wdl = 0.3", 8), 2);
    killed_and_resumed(&config(QUICKSTART, moves, 3), 1);
}

/// Windows that are read as they stream give the bits of data in memory.
#[test]
fn bases_stay_with_their_records() {
    let folder = Workdir::empty();
    let evaluation = Evaluation::from_terms(&uneven());
    let base = Base { evaluation, scale: 170.0 };
    let text = config(&terms_in(&folder), "wdl = 0.3", 1).replace("limit", "window = 700\nlimit");
    let config = Config::parse_text(&text, "it", &[]).unwrap();
    let plan = data_plan::read_plan(&config);
    let net = config.architecture().unwrap().clone();
    let encoder = Encoder::for_net_on_base(&net, Some(base.clone()));
    let expected = Some(collect_samples(&plan, Some(Subset::Train), &|_| ()).unwrap().len() as u64);
    let order = data_plan::pass_order(&config, None);
    let kept = PassOrder { window: 1 << 20, ..order };
    for plan in [StreamPlan::new(plan.clone(), order), stream_plan(plan, kept, expected)] {
        let stream = Stream::new(plan, encoder.clone(), Default::default());
        // Equal rows have equal bases, wherever they come from.
        let samples = games(&encoder);
        for batch in stream.take(20) {
            let batch = batch.unwrap();
            let BatchInputs::Active(active) = &batch.inputs else { panic!() };
            for (rows, base) in near(active).chunks_exact(64).zip(&batch.base[..]) {
                assert_eq!(samples[rows], *base);
            }
        }
    }
}

/// Base of each position of the data, by the rows of its lists.
fn games(encoder: &Encoder) -> HashMap<Vec<u16>, f32> {
    let plan = plan_first_positions(GAMES, 6000);
    let samples = collect_samples(&plan, None, &|_| ()).unwrap();
    let batch = encoder.encode_samples(&samples);
    let base = encoder.base().unwrap();
    let BatchInputs::Active(active) = &batch.inputs else { panic!() };
    let rows = near(active).chunks_exact(64).map(<[u16]>::to_vec);
    rows.zip(samples.iter().map(|it| base.base_logit(&it.position))).collect()
}

#[test]
fn unfit_bases_are_refused() {
    let folder = Workdir::empty();
    let large = of_zeros(&folder, "large", "perspective", 22_000);
    for (base, word) in [("score", "score"), ("nowhere.json", "nowhere"), (&large, "33 MiB")] {
        assert!(refused(&config(base, "wdl = 0.3", 1)).contains(word), "{base}");
    }
}
