//! An engine from its traces to its tuned weights, as in the guide.

use nnuance::report::{Predictions, compare};

use crate::cli::own_engine::{ENGINE, compiled, printed};
use crate::support::kit::*;

struct Engine {
    folder: Workdir,
    list: PathBuf,
    trace: PathBuf,
}

impl Engine {
    fn new() -> Option<Self> {
        let folder = Workdir::empty();
        let program = compiled(folder.root_path(), &fs::read_to_string(ENGINE).unwrap(), &[])?;
        let [list, trace] = ["terms.txt", "positions.trace"].map(|name| folder.path(name));
        fs::write(&list, printed(&program, "--terms", QUIET.as_ref())).unwrap();
        fs::write(&trace, printed(&program, "--trace", QUIET.as_ref())).unwrap();
        Some(Self { folder, list, trace })
    }

    fn terms(&self) -> EngineTerms {
        EngineTerms::parse(&fs::read_to_string(&self.list).unwrap(), &self.list).unwrap()
    }

    /// The lines of the trace changed, in a file of another name.
    fn changed(&self, name: &str, change: impl Fn(usize, &str) -> String) -> PathBuf {
        let text = fs::read_to_string(&self.trace).unwrap();
        let lines = text.lines().enumerate().map(|(i, line)| match i {
            0 => format!("{line}\n"),
            i => format!("{}\n", change(i, line)),
        });
        let path = self.folder.path(name);
        fs::write(&path, lines.collect::<String>()).unwrap();
        path
    }

    fn config(&self, trace: &Path, optimizer: &str, schedule: &str) -> String {
        format!(
            "version = 3\n[data]\nfiles = [\"{}\"]\n\
             [traces]\nlist = \"{}\"\n\
             [target]\nwdl = 1.0\n[optimizer]\n{optimizer}\n[schedule]\n{schedule}\n",
            trace.display(),
            self.list.display()
        )
    }
}

const GAUSS_NEWTON: &str = "name = \"gauss-newton\"";
const ADAM: &str = "name = \"adam\"";

/// The engine's values of all lines with these weights in its source, for the side to move.
fn engine_values(engine: &Engine, weights: &HceWeights, samples: &[Sample]) -> Vec<f64> {
    let source = fs::read_to_string(ENGINE).unwrap();
    let mut tuned = String::from("start_weights();\n");
    for (i, [mg, eg]) in weights.values.iter().enumerate() {
        tuned += &format!("    weight[{i}] = (Pair){{{mg:?}, {eg:?}}};\n");
    }
    let (before, behind) = source.rsplit_once("start_weights();\n").unwrap();
    let source = [before, &tuned, behind].concat();
    let source =
        source.replace("#define TEMPO 12\n", &format!("#define TEMPO ({:?})\n", weights.tempo));
    let folder = engine.folder.path("tuned");
    fs::create_dir(&folder).unwrap();
    let values = printed(&compiled(&folder, &source, &[]).unwrap(), "--eval", QUIET.as_ref());
    let values = String::from_utf8(values).unwrap();
    let values: Vec<f64> = values.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), samples.len());
    let sign = |sample: &Sample| sample.position.turn().fold_wb(1.0, -1.0);
    values.iter().zip(samples).map(|(value, sample)| value * sign(sample)).collect()
}

#[test]
fn comparison_equals_the_tuned_engine() {
    let Some(engine) = Engine::new() else { return };
    let run = Run::new(&engine.config(&engine.trace, GAUSS_NEWTON, "epochs = 6"), "2");
    let best = checkpoint(&run.out, "best.safetensors");
    let list = Arc::new(engine.terms().list);
    let weights = HceWeights::from_weights(&best.weights, list.clone(), 400.0, true).unwrap();
    assert_ne!(weights.values, HceWeights::of_list(list, 400.0).values);

    let samples =
        collect_samples(&ReadPlan::new(vec![engine.trace.clone()]), None, &|_| ()).unwrap();
    let values = engine_values(&engine, &weights, &samples);
    let evaluation = Predictions::new("engine", values);
    let results: Vec<f64> = samples.iter().map(|sample| sample.result.into()).collect();
    let groups: Vec<u64> = samples.iter().map(Sample::split_group).collect();
    let truth = facts_of_games(&results, &groups, "positions");
    let expected = compare(&[evaluation], &truth).unwrap();
    let expected = serde_json::to_value(&expected).unwrap();

    let mut command = nnuance();
    command.args(["compare", "material", QUICKSTART, "--all", "--json"]);
    let found = json(command.arg(&run.out).arg("--data").arg(&engine.trace));
    assert_eq!(found["measured_on"]["positions"], samples.len());
    let all = found["evaluations"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    let loss = |one: &Value| one["loss"]["mean"].as_f64().unwrap();
    let named = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
    let (own, engine) = (loss(named("out")), loss(&expected["evaluations"][0]));
    assert!((own - engine).abs() < 1e-9, "{own}, the engine's {engine}");
    assert!(own < loss(named("material")));
}

#[test]
fn killed_and_resumed_on_traces() {
    let Some(engine) = Engine::new() else { return };
    killed_and_resumed(&engine.config(&engine.trace, GAUSS_NEWTON, ""), 3);
    let schedule = "epochs = 60.5\nbatch = 700\nlearning_rate = 0.5\nvalidations = 9";
    killed_and_resumed(&engine.config(&engine.trace, ADAM, schedule), 3);
}

#[test]
fn wrong_traces_are_named() {
    let Some(engine) = Engine::new() else { return };
    let third = |i: usize, line: &str| match i {
        2 => line.replacen(" | ", " | 95:1:0 ", 1),
        _ => line.to_string(),
    };
    let trace = engine.changed("term.trace", third);
    let said = refused(&engine.config(&trace, GAUSS_NEWTON, ""));
    assert!(said.contains("term.trace, line 3"), "{said}");

    // A list with other weights than the engine's: a pawn more for a knight.
    let list = fs::read_to_string(&engine.list).unwrap();
    let list = list.replace("knight normal 337 281", "knight normal 437 381");
    fs::write(&engine.list, list).unwrap();
    let said = refused(&engine.config(&engine.trace, GAUSS_NEWTON, "epochs = 1"));
    assert!(said.contains("positions.trace, line "), "{said}");
}
