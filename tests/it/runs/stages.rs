//! Stages of a config: what each is, and that kills, boundaries and sweeps change nothing.

use crate::runs::kills::{Case, left_behind, require_same};
use crate::support::kit::*;

/// `[data]`, `[target]` and `[schedule]` of a config with stages; `own` are the other lines.
fn config(own: &str) -> String {
    let file = absolute(SCORED);
    format!(
        "version = 3\nseed = 5\n\
         [data]\nfiles = [{file:?}]\nheld_out = 0.2\nlimit = 6000\n\
         [net]\ninputs = \"perspective\"\nhidden = 8\nstart_size = 1.0\nKEYS\n\
         [target]\nscore_scale = 126\n\
         [schedule]\nbatch = 1024\nvalidations = 4\nkeep_every = \"40k positions\"\n\
         epochs = 3\nlearning_rate = 0.01\n{own}"
    )
}

/// Two stages, by keys of the command line that make the same configs without them.
const STAGES: &str = "\n[[stage]]\nschedule.positions = 60000\n\
    [[stage]]\ndata = { window = 4096, filter.min_pieces = 6 }\n\
    target.clamp_score = 1000\n\
    target.wdl = { shape = \"linear\", from = 0.2, to = 0.5 }\n\
    schedule = { positions = 50000, learning_rate = 0.002 }\nnet.qat = 0.5\n";
const FIRST: [&str; 1] = ["schedule.positions=60000"];
const SECOND: [&str; 10] = [
    "seed=6",
    "data.window=4096",
    "data.filter.min_pieces=6",
    "target.clamp_score=1000",
    "target.wdl={shape=\"linear\",from=0.2,to=0.5}",
    "schedule.positions=50000",
    "schedule.learning_rate=0.002",
    "net.qat=0.5",
    "net.start=run/stage-1",
    "net.start_optimizer=true",
];

/// `nnuance train` in a folder, with these keys.
fn train(folder: &Workdir, out: &str, sets: &[&str]) -> Command {
    let mut command = folder.command(&format!("train run.toml --out {out}"));
    command.args(sets.iter().flat_map(|set| ["--set", set]));
    command
}

#[test]
fn stages_equal_runs_by_hand() {
    for keys in ["", "[optimizer]\nname = \"ranger\"", "[optimizer]\naverage_decay = 0.9"] {
        let text = |own: &str| config(own).replace("KEYS", keys);
        let [stages, by_hand] = [text(STAGES), text("")].map(|text| Workdir::new(&text));
        said(&mut train(&stages, "run", &[]));
        said(&mut train(&by_hand, "run/stage-1", &FIRST));
        said(&mut train(&by_hand, "run", &SECOND));
        let [mut one, other] = [&stages, &by_hand].map(|it| left_behind(&it.path("run"), vec![]));
        let text = one.remove("stages.toml").expect("the config of all stages");
        require_same(&other, &one, keys);
        // It starts the same stages again.
        let again = Workdir::new(std::str::from_utf8(&text).expect("UTF-8"));
        said(&mut train(&again, "run", &[]));
        let again = left_behind(&again.path("run"), vec![]);
        one.insert("stages.toml".into(), text);
        require_same(&one, &again, keys);
    }
}

/// The state of the optimiser goes on, and its steps are counted on.
#[test]
fn optimizer_goes_on() {
    let work = Workdir::new(&config(STAGES).replace("KEYS", ""));
    said(&mut train(&work, "run", &["stage.2.schedule.positions=1"]));
    let steps = |run: &str| {
        let last = checkpoint(&work.path(run), "last.safetensors");
        let state = Weights::from_bytes(&last.optimizer).expect("a state");
        let steps = state.facts.values().map(|steps| steps.parse::<u64>().expect("a number"));
        (last.state.step, steps.collect::<BTreeSet<u64>>())
    };
    let (first, counted) = steps("run/stage-1");
    assert_eq!(counted, BTreeSet::from([first]));
    assert_eq!(steps("run"), (1, BTreeSet::from([first + 1])));
    // The checkpoint of the last stage knows the data of all.
    let (_, recipe) =
        recipe::open_checkpoint(&work.path("run/best.safetensors")).expect("a recipe");
    let start = recipe.start.expect("a start");
    assert!(start.recipe.expect("its config").contains("positions = 60000"));
    assert_eq!((&start.data[0].sha256, start.start), (&recipe.data[0].sha256, None));
}

#[test]
fn kills_change_nothing() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    Case::named("train in stages").survives(12, &mut random);
}

/// The files whose appearance is a boundary.
#[test]
fn kills_at_boundaries_change_nothing() {
    let text = config(STAGES).replace("KEYS", "");
    let whole = Workdir::new(&text);
    said(&mut train(&whole, "run", &[]));
    let whole = left_behind(&whole.path("run"), vec![]);
    for file in [
        "stages.toml",
        "stage-1/config.toml",
        "stage-1/last.safetensors",
        "stage-1/net.bin",
        "stage-1/net.json",
        "stage-1/report.html",
        "config.toml",
        "last.safetensors",
        "net.bin",
    ] {
        let work = Workdir::new(&text);
        kill_at(train(&work, "run", &[]), &work.path("run").join(file));
        if !work.path("run/last.safetensors").exists() {
            let said = complaint(&mut train(&work, "run", &[]));
            assert!(said.contains("--resume"), "{file}: {said}");
            let mut longer = work.command("train --resume run --set schedule.epochs=9");
            assert!(complaint(&mut longer).contains("has not begun"), "{file}");
        }
        said(&mut work.command("train --resume run"));
        require_same(&whole, &left_behind(&work.path("run"), vec![]), file);
    }
    // Overwritten, nothing of the old run is left.
    let work = Workdir::new(&text);
    said(&mut train(&work, "run", &["seed=6"]));
    said(train(&work, "run", &[]).arg("--overwrite"));
    require_same(&whole, &left_behind(&work.path("run"), vec![]), "overwritten");
    said(train(&work, "run", &["stage=[]"]).arg("--overwrite"));
    assert!(names(&work.path("run")).iter().all(|name| !name.starts_with("stage")));
}

#[test]
fn held_out_games_stay_held_out() {
    let own =
        format!("[[stage]]\n[[stage]]\ndata = {{ files = [{GAMES:?}], filter.min_ply = 30 }}\n");
    let text = config(&own).replace("KEYS", "").replace("6000", "30000");
    let file = absolute(SCORED);
    let text = text.replace(&format!("{file:?}"), &format!("{GAMES:?}"));
    let stages = Config::parse_text(&text, "stages", &[]).expect("a config").list_stages();
    assert_eq!(stages.len(), 2);
    let groups = |stage: &Config, subset| -> BTreeSet<u64> {
        let samples =
            collect_samples(&data_plan::read_plan(stage), Some(subset), &|_| {}).expect("games");
        samples.iter().map(Sample::split_group).collect()
    };
    for held in [Subset::Validation, Subset::Test] {
        for [one, other] in [[0, 1], [1, 0]] {
            let held = groups(&stages[one], held);
            let trained = groups(&stages[other], Subset::Train);
            assert!(held.len() > 10 && trained.len() > 100 && held.is_disjoint(&trained));
        }
    }
    // What a comparison finds: test games of both, and no doubt.
    let work = Workdir::new(&config(STAGES).replace("KEYS", ""));
    said(&mut train(&work, "run", &[]));
    let compared = json(&mut work.command("compare material run --json"));
    assert!(!compared.to_string().contains("other games"), "{compared}");
}

#[test]
fn mistakes_name_the_stage() {
    let text = config(STAGES).replace("KEYS", "");
    let cut = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    for (from, to, words) in [
        ("filter.min_pieces", "filter.min_piece", ["stage 2: ", "`min_piece`"]),
        ("target.wdl = {", "target.wld = {", ["stage 2: ", "`wld`"]),
        ("net.qat = 0.5", "net.qat = 2", ["stage 2: ", "net.qat"]),
        ("net.qat = 0.5", "net.hidden = 4", ["stage 2: ", "net.hidden"]),
        ("window = 4096", "held_out = 0.3", ["stage 2: ", "held_out"]),
        ("window = 4096", "files = [\"none.vf\"]", ["stage 2", "none.vf"]),
        ("filter.min_pieces", "filter.min_ply", ["stage 2", "min_ply"]),
        ("schedule.positions = 60000", "optimizer.name = \"sgd\"", ["`optimizer`", "`schedule`"]),
    ] {
        let said = refused(&cut(&text, from, to));
        assert!(words.iter().all(|word| said.contains(word)), "{to}: {said}");
    }
    let said = refused(&config("").replace("KEYS", "start_optimizer = true"));
    assert!(said.contains("net.start"), "{said}");
    let terms =
        cut(&text, "[net]\ninputs = \"perspective\"\nhidden = 8\nstart_size = 1.0", "[terms]");
    assert!(refused(&terms).contains("is for nets"));
}

/// The optimiser's state is that of a run of the same kind.
#[test]
fn other_states_are_refused() {
    let work = Workdir::new(&config("").replace("KEYS", ""));
    said(&mut train(&work, "one", &["schedule.epochs=1"]));
    let start = |name: &str| [format!("net.start={name}"), "net.start_optimizer=true".into()];
    for (name, other, word) in [
        ("one", "net.hidden=16", "another net or method"),
        ("one", "optimizer.name=sgd", "another net or method"),
        ("one", "optimizer.average_decay=0.9", "another net or method"),
        ("one/best.safetensors", "seed=5", "no state"),
        ("one/net.bin", "seed=5", "no state"),
    ] {
        let [start, goes_on] = start(name);
        let said = complaint(&mut train(&work, "two", &[&start, &goes_on, other]));
        assert!(said.contains(word) && !work.path("two").exists(), "{name} {other}: {said}");
    }
}

#[test]
fn sweep_has_stages() {
    let work = Workdir::new(&config(STAGES).replace("KEYS", ""));
    let over = "sweep run.toml --out out --over stage.1.target.wdl=0.1,0.9 --json";
    let first = json(&mut work.command(over));
    let log = work.bytes("out/1.target.wdl-0.1-seed-5/stage-1/log.csv");
    assert_eq!(json(&mut work.command(over)), first);
    assert!(work.bytes("out/1.target.wdl-0.1-seed-5/stage-1/log.csv") == log);
    for key in ["stage.2.data.limit=1,2", "stage.9.target.wdl=0,1"] {
        complaint(&mut work.command(&format!("sweep run.toml --out no --over {key}")));
    }
    // Another config in an earlier stage is another run.
    let other = format!("{over} --set stage.1.schedule.positions=1");
    assert!(complaint(&mut work.command(&other)).contains("another config"));
}
