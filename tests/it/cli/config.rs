//! Configs: what is refused, defaults, schedules in every unit, and overrides.

use nnuance::train::optimizer::ArraySettings;

use crate::support::kit::*;

const CONFIG: &str = r#"version = 3
[data]
files = ["games.vf"]
[net]
inputs = "perspective"
hidden = 8
[schedule]
epochs = 2
learning_rate = 0.001
"#;

fn parse(text: &str, overrides: &[&str]) -> Result<Config, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    Config::parse_text(text, "runs/x.toml", &overrides).map_err(|error| error.to_string())
}

fn set(overrides: &[&str]) -> Result<Config, String> {
    parse(CONFIG, overrides)
}

fn refuses(key: &str, values: &[&str]) {
    for value in values {
        let text = format!("{key}={value}");
        let said = set(&[&text]).expect_err(&text);
        assert!(said.contains(&format!("--set {text}")), "{said}");
    }
}

fn steps(factor: &str, every: &str) -> String {
    format!("{{ shape = \"step\", from = 0.001, factor = {factor}, every = {every} }}")
}

#[test]
fn values_out_of_bounds() {
    let warmed = |share: &str| {
        format!(
            "[{{ shape = \"linear\", from = 0.1, to = 1.0, {share} }}, \
             {{ shape = \"constant\", from = 1.0 }}]"
        )
    };
    let rates = [
        steps("-1", "0.1"),
        steps("0.5", "0"),
        steps("10.0", "1e-4"),
        "{ shape = \"linear\", from = nan, to = 0.1 }".into(),
        "{ shape = \"exponential\", from = 0.1, to = 0 }".into(),
        "[]".into(),
        warmed("length = 2"),
    ];
    let lengths = ["8 superbatch es", "eight epochs", "-1 epochs", "0 steps", "inf steps"];
    let lengths = lengths.map(|every| steps("0.3", &format!("\"{every}\"")));
    for rate in rates.iter().chain(&lengths) {
        refuses("schedule.learning_rate", &[rate]);
    }
    let wdl = "{ shape = \"step\", from = 1.0, factor = 0.5, every = \"1 epoch\" }";
    for (key, values) in [
        ("schedule.learning_rate", &["nan", "inf", "-inf", "-0.1", "0"][..]),
        ("schedule.batch", &["0", "4194305", "many", "99999999999999999999"]),
        ("schedule.epochs", &["1e7", "nan", "0"]),
        ("schedule.positions", &["9223372036854775807"]),
        ("schedule.superbatches", &["1e12"]),
        ("schedule.batches_per_superbatch", &["9223372036854775807"]),
        ("schedule.keep_every", &["2", "\"2 moons\""]),
        ("target.wdl", &["nan", "1.5", wdl]),
        ("target.power", &["3"]),
        ("target.asymmetry", &["-1"]),
        ("target.score_offset", &["-3"]),
        ("target.score_scale", &["1e-308", "0.2"]),
        ("target.scale", &["1e39"]),
        ("target.weights.ply", &["[[8, 1], [4, 2]]"]),
        ("target.weights.pieces", &["[[8, -1]]"]),
        ("target.weights.score", &["[[8, 0]]"]),
        ("optimizer.epsilon", &["0"]),
        ("optimizer.average_decay", &["1"]),
        ("optimizer.prior", &["3"]),
        ("net", &["3"]),
        ("net.start_size", &["0", "nan", "{ pieces = -1 }", "{ threats = 1 }"]),
        ("net.hidden", &["abc"]),
        ("data.held_out", &["abc"]),
        ("data.shuffle", &["abc"]),
        ("data.test", &["-0.1", "1.1", "nan"]),
        ("data.share", &["0", "0.0", "-0.5", "1.01", "nan"]),
        ("seed", &["-1"]),
    ] {
        refuses(key, values);
    }
    let terms = ["target.score_scale=1e-308", "target.scale=1e39"];
    for sets in terms {
        let text = "version = 3\ndata.files = ['a']\nterms = {}\n\
                    optimizer.name = 'gauss-newton'\n";
        assert!(parse(text, &[sets]).is_err_and(|said| said.contains("scale")));
    }
    assert!(set(&["schedule"]).is_err_and(|said| said.contains("key=value")));
    assert!(set(&["schedule.patience=2", "data.held_out=0"]).is_err());
    let large = set(&["net.hidden=65536", "net.sets=['pieces', 'threats']"]);
    assert!(large.is_err_and(|said| said.contains("weights")));
    for fine in [
        &["schedule.patience=2"][..],
        &["schedule.batch=4194304"],
        &["target.score_scale=0.2", "target.scale=100"],
        &["target.score_scale=132.4"],
    ] {
        set(fine).expect("within bounds");
    }
    for (given, wdl) in [("0.5", 0.5), ("1", 1.0)] {
        let config = set(&[&format!("target.wdl={given}")]).expect("a number");
        assert_eq!(config.final_wdl(), wdl);
    }
}

#[test]
fn no_length_overflows() {
    let longest = set(&["schedule.epochs=1e6", "schedule.batch=1"]).expect("a long run");
    assert_eq!(longest.run_span(u64::MAX).steps, 1 << 53);
    assert_eq!(longest.run_span(10).steps, 10_000_000);
}

#[test]
fn errors_name_file_and_line() {
    let misspelt = CONFIG.replace("hidden", "hiden");
    let both = misspelt.replace("files = [\"games.vf\"]\n", "");
    let wrong = CONFIG.replace("epochs = 2", "epochs = \"two\"");
    let lacking = CONFIG.replace("learning_rate = 0.001\n", "");
    for (text, sets, line, word) in [
        (&CONFIG.replace("epochs = 2", "epochs = 2\nbatch = 0"), "seed=2", "", "batch"),
        (&CONFIG.replace("0.001", "\"fast\""), "seed=2", "line 9", "learning_rate"),
        (&CONFIG.replace("perspective", "perspektive"), "seed=2", "line 5", "inputs"),
        // An error keeps its line, whatever is set or missing before it.
        (&misspelt, "schedule.epochs=4", "line 6", "hidden"),
        (&both, "data.files=[\"a.vf\"]", "line 5", "hidden"),
        (&wrong, "schedule.epochs=2", "line 8", "epochs"),
        (&lacking, "seed=2", "", "learning_rate"),
        (&String::new(), "seed=2", "", "version"),
    ] {
        let said = parse(text, &[sets]).expect_err(word);
        let names = said.starts_with("runs/x.toml") && said.contains(word);
        assert!(names && said.contains(line), "{said}");
    }
    parse(&lacking, &["schedule.learning_rate=0.1"]).expect("the override gives what lacks");
    let said = set(&["net.hiden=4"]).expect_err("a slip");
    assert!(said.contains("--set net.hiden=4: ") && said.contains("`hidden`"), "{said}");
}

#[test]
fn set_length_replaces_the_others() {
    let plan = set(&["schedule.positions=100"]).expect("one length").file.schedule.clone();
    assert_eq!((plan.epochs, plan.positions, plan.superbatches), (None, Some(100), None));
    let plan = set(&["schedule.positions=100", "schedule.superbatches=3"])
        .expect("one")
        .file
        .schedule
        .clone();
    assert_eq!((plan.epochs, plan.positions, plan.superbatches), (None, None, Some(3.0)));
}

/// `schedule.learning_rate` at the beginning of each of the 40 superbatches of a run.
fn rates(stages: &str) -> Vec<f64> {
    let text = CONFIG.replace("epochs = 2", "superbatches = 40").replace("0.001", stages);
    let config = parse(&text, &[]).expect(stages);
    let span = config.run_span(1_000_000);
    assert_eq!(span.steps, 40 * 6104);
    let schedule = config.learning_rate.fit_to_span(&span).expect(stages);
    let at = |superbatch: u64| schedule.value_at((superbatch * 6104) as f64 / span.steps as f64);
    (0..40).map(at).collect()
}

#[test]
fn steps_fall_as_in_bullet() {
    let every = &steps("0.3", "\"8 superbatches\"");
    for (superbatch, rate) in rates(every).into_iter().enumerate() {
        let wanted = 0.001 * 0.3_f64.powi(superbatch as i32 / 8);
        assert!((rate / wanted - 1.0).abs() < 1e-12, "{superbatch}: {rate} {wanted}");
    }
    // Just before it is due.
    let config = parse(&CONFIG.replace("0.001", every), &["schedule.superbatches=40"]).unwrap();
    let span = config.run_span(1_000_000);
    let schedule = config.learning_rate.fit_to_span(&span).expect("a schedule");
    let at = |step: u64| schedule.value_at(step as f64 / span.steps as f64);
    assert_eq!((at(8 * 6104 - 1), at(8 * 6104)), (0.001, 0.001 * 0.3));
    // The same in every unit.
    let same = rates(every);
    for other in ["\"800063488 positions\"", "\"800.063488 epochs\"", "\"48832 steps\"", "0.2"] {
        let others = rates(&every.replace("\"8 superbatches\"", other));
        let near = |(one, other): (&f64, &f64)| (one / other - 1.0).abs() < 1e-12;
        assert!(same.iter().zip(&others).all(near), "{other}");
        assert_eq!(others[..8], [0.001; 8], "{other}");
    }
}

#[test]
fn one_model_of_this_version() {
    let both = CONFIG.replace("[schedule]", "[terms]\n[schedule]");
    let none = CONFIG.replace("[net]\ninputs = \"perspective\"\nhidden = 8\n", "");
    let old = CONFIG.replacen("version = 3", "version = 2", 1);
    for (text, word) in [(old, "`version`"), (both, "[traces]"), (none, "[traces]")] {
        let said = parse(&text, &[]).expect_err(word);
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn stages_with_lengths() {
    let stages = "[{ shape = \"linear\", from = 0.0, to = 1.0, length = \"2 superbatches\" }, \
                  { shape = \"constant\", from = 1.0 }, \
                  { shape = \"exponential\", from = 1.0, to = 0.01, length = \"20 superbatches\" }]";
    let rates = rates(stages);
    assert_eq!(rates[..3], [0.0, 0.5, 1.0]);
    assert_eq!(rates[3..21], [1.0; 18]);
    for (number, rate) in rates[20..].iter().enumerate() {
        let wanted = 0.01_f64.powf(number as f64 / 20.0);
        assert!((rate - wanted).abs() < 1e-12, "{number}: {rate} {wanted}");
    }
    let config = |length: &str| {
        let text = CONFIG.replace("epochs = 2", length).replace("0.001", stages);
        let config = parse(&text, &[]).expect("a config");
        assert_eq!(
            parse(&config.to_toml(), &[]).expect("it reads back").to_toml(),
            config.to_toml()
        );
        config.learning_rate.fit_to_span(&config.run_span(1_000_000)).map(drop)
    };
    config("superbatches = 22").expect("nothing is left for the constant");
    let said = config("superbatches = 21").expect_err("too short").to_string();
    assert!(said.contains("134288 steps") && said.contains("128184"), "{said}");
    let all = CONFIG.replace(
        "0.001",
        "[{ shape = \"linear\", from = 0.0, to = 1.0, length = \"5 steps\" }, \
         { shape = \"constant\", from = 1.0, length = \"7 steps\" }]",
    );
    let over = |steps: u64| {
        let length = format!("schedule.positions={}", 16_384 * steps);
        let config = parse(&all, &[&length]).expect("a config");
        config.learning_rate.fit_to_span(&config.run_span(1000)).map(drop)
    };
    over(12).expect("they fit");
    over(20).expect("the last value holds");
    over(10).expect_err("too short");
}

#[test]
fn scale_follows_the_scores() {
    let scales = |overrides: &[&str]| {
        let config = set(overrides).expect("a config");
        (config.scale, config.win_rate.scale)
    };
    assert_eq!(scales(&[]), (400.0, 400.0));
    assert_eq!(scales(&["target.score_scale=126.4"]), (126.0, 126.4));
    assert_eq!(scales(&["target.scale=300"]), (300.0, 300.0));
    assert_eq!(scales(&["target.scale=400", "target.score_scale=126"]), (400.0, 126.0));
}

#[test]
fn encodings_of_files() {
    let work = Workdir::empty();
    let read = |bytes: &[u8]| {
        let path = work.write("my.toml", bytes);
        Config::read_file(Path::new(&path), &[]).map_err(|error| error.to_string())
    };
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(CONFIG.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let latin = [CONFIG.as_bytes(), b"# caf\xe9\n"].concat();
    let large = vec![b'#'; 2 << 20];
    for (bytes, word) in [(utf16, "UTF-8"), (latin, "line 10"), (large, "1 MiB")] {
        let said = read(&bytes).expect_err(word);
        assert!(said.contains("my.toml") && said.contains(word), "{said}");
    }
    read(&[b"\xef\xbb\xbf", CONFIG.as_bytes()].concat()).expect("a byte-order mark");
}

#[test]
fn layers_by_the_names_of_arrays() {
    let deep = CONFIG.replace(
        "hidden = 8\n",
        "hidden = 8\nhead = [{ size = 4, activation = \"crelu\" }, { size = 1 }]\n",
    );
    let layers = |text: &str| parse(&format!("{deep}[optimizer.layers]\n{text}"), &[]);
    let text = "\"head.0\" = { clip = 1, rate = 0.5, decay = 0 }\n\"head.0.bias\".clip = 0";
    let config = layers(text).expect("names");
    let found = config.optimizer.layers.clone();
    let (rate, decay) = (Some(0.5), Some(0.0));
    assert_eq!(found.layer_of("head.0.weight"), ArraySettings { clip: Some(1.0), rate, decay });
    assert_eq!(found.layer_of("head.0.bias"), ArraySettings { clip: Some(0.0), rate, decay });
    assert_eq!(found.layer_of("output.weight"), ArraySettings::default());
    assert_eq!(parse(&config.to_toml(), &[]).expect("what it wrote").to_toml(), config.to_toml());
    assert!(!parse(&deep, &[]).expect("a config").to_toml().contains("layers"));

    for (text, word) in [
        ("outptu.clip = 1", "output.weight"),
        ("\"head.1\".clip = 1", "`head.1`"),
        ("\"head.0.weights\".clip = 1", "head.0.weight,"),
        ("factoriser.rate = 0.5", "`factoriser`"),
        ("output.clip = -1", "-1"),
        ("output.clip = inf", "inf"),
        ("output.clip = nan", "NaN"),
        ("output.rate = 0", "0"),
        ("output.rate = -0.5", "-0.5"),
        ("output.rate = nan", "NaN"),
        ("output.decay = -0.1", "-0.1"),
        ("output.decay = inf", "inf"),
        ("output.clipp = 1", "`clip`"),
        ("clip = 1", "clip"),
        ("output = 1", "output"),
        ("output = \"free\"", "output"),
        ("output.clip = \"free\"", "free"),
    ] {
        let said = layers(text).expect_err(text);
        assert!(said.contains(word), "{text}: {said}");
    }
    let terms = CONFIG.replace("[net]\ninputs = \"perspective\"\nhidden = 8\n", "[terms]\n");
    let said = parse(&terms, &["optimizer.layers.output.clip=1"]);
    assert!(said.is_err_and(|said| said.contains("optimizer.layers")));
}

#[test]
fn mixed_precision_needs_bounds() {
    for net in ["net.activation=\"sqrrelu\"", "net.psqt=true"] {
        assert!(!set(&[net]).unwrap().architecture().unwrap().fits_mixed_precision());
        assert!(set(&[net, "net.precision=\"mixed\""]).unwrap_err().contains("net.precision"));
    }
}

#[test]
fn lists_lack_brackets() {
    for (set_to, shown) in [
        ("data.files=a.vf", "`data.files = [\"a.vf\"]`"),
        ("net.king_buckets=3", "`net.king_buckets = [3]`"),
        ("target.weights.ply=0.5", "`target.weights.ply = [0.5]`"),
    ] {
        let said = set(&[set_to]).expect_err(set_to);
        assert!(said.contains(shown), "{said}");
    }
    let said = parse(&CONFIG.replace("[\"games.vf\"]", "\"a.vf\""), &[]).expect_err("no list");
    assert!(said.contains("line 3") && said.contains("`[\"a.vf\"]`"), "{said}");
}

#[test]
fn nets_are_mirrored_by_default() {
    for (inputs, mirrored) in [
        ("'perspective'", true),
        ("'side-to-move'", true),
        ("'perspective', mirror = false", false),
        ("'plain'", false),
    ] {
        let config = config_with(&format!("net = {{ hidden = 8, inputs = {inputs} }}")).unwrap();
        let net = config.architecture().unwrap().clone();
        assert_eq!(net.inputs.kings().mirror, mirrored, "{inputs}");
        // Read again from a run's complete config.
        let again = Config::parse_text(&config.to_toml(), "again", &[]).unwrap();
        assert_eq!(again.to_toml(), config.to_toml());
        assert!(config.to_toml().contains(&format!("mirror = {mirrored}")));
    }
}
