//! The rules of ARCHITECTURE.md.

use crate::support::kit::*;

/// Each part of the library, with a colon, and the parts that it may name. These stand above it, so
/// that there are no cycles.
const ARROWS: &str = "\
data_file: digits: draw: input: linear: loss: output: point_of_view: prefetch: registry: sample:
scales: score: sketch: sums: terms: weights: words:
resume_point: digits sketch
features: point_of_view registry sample
architecture: features registry sample
log: input output
progress: log
batch: architecture resume_point sums
digest: input
floats: architecture features sample weights
model: architecture batch loss prefetch sums weights
terms: words
format: digits input output point_of_view registry sample score sums terms
hce: batch sample scales sums terms weights
net: architecture features floats prefetch sample scales weights
evaluation: hce net point_of_view sample score
report: digits draw linear log loss terms
search: evaluation features hce net prefetch sample score
interface: score search
train: batch input linear log loss model output resume_point progress sums terms weights
data: data_file digits format loss sample
engine: digest digits format interface output progress sample score words
export: architecture data_file digest digits features floats input linear net output report sample scales
    sums terms weights
inspect: architecture digits draw features floats hce report sample scales weights
loader: architecture batch data_file digest evaluation features format hce input resume_point point_of_view
    registry sample sketch terms
config: architecture format input loader loss model net point_of_view scales train words
run: architecture batch config data_file digest digits draw engine evaluation export format hce input
    inspect interface loader log loss model net output resume_point point_of_view progress report sample
    scales search sketch terms train weights
cli: architecture batch config data data_file digits draw engine evaluation export features format input interface loader
    log model output resume_point point_of_view progress registry report run sample scales search train
error: config
app: architecture cli features format loader registry sample
";

pub fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("UTF-8");
                files.push((path, text));
            }
        }
    }
    files
}

fn without_comments(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// Every source file with the part that it belongs to and its code without comments.
fn sources() -> Vec<(PathBuf, String, String)> {
    let files = files("src").into_iter().map(|(path, text)| {
        let inside = path.strip_prefix("src").expect("it lies in src");
        let part = Path::new(inside.components().next().expect("a name").as_os_str());
        let part = part.with_extension("").to_string_lossy().into_owned();
        (path, part, without_comments(&text))
    });
    files.collect()
}

/// The parts named by `crate::...` in a piece of code, groups in braces included.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        names.insert(word(rest));
        let mut depth = 0;
        for (at, c) in rest.char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 {
                break;
            }
            if depth == 1 && matches!(c, '{' | ',') {
                names.insert(word(&rest[at + 1..]));
            }
        }
    }
    names.remove("");
    names
}

#[test]
fn parts_name_only_parts_above() {
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut part = "";
    for word in ARROWS.split_whitespace() {
        if let Some(name) = word.strip_suffix(':') {
            part = name;
            arrows.insert(part, BTreeSet::new());
        } else {
            assert!(
                word != part && arrows.contains_key(word),
                "{word} does not stand above {part}"
            );
            arrows.get_mut(part).expect("a part").insert(word);
        }
    }
    let mut idle = arrows.clone();
    for (path, part, code) in sources() {
        if matches!(&part[..], "lib" | "main") {
            continue;
        }
        let path = path.display();
        let Some(allowed) = arrows.get(&part[..]) else {
            panic!("{path}: part `{part}` has no arrows here; add them to ARROWS");
        };
        for name in named(&code) {
            let fine = name == part || allowed.contains(&name[..]);
            assert!(fine, "{path} names crate::{name}, which {part} must not name");
            idle.get_mut(&part[..]).expect("a part").remove(&name[..]);
        }
    }
    idle.retain(|_, names| !names.is_empty());
    assert!(idle.is_empty(), "these arrows are unused: {idle:?}");
}

#[test]
fn words_stand_where_they_may() {
    let commands = ["cli", "main"];
    let words: [(&[&str], &[&str]); 7] = [
        (&["burn::", "use burn"], &["model", "train"]),
        // The macros of the standard library panic where the reader has gone.
        (&["println!(", "print!(", "eprint!("], &[]),
        (&["eprintln!"], &["cli"]),
        (&["dbg!", "process::exit", "SystemTime", "env::var", "env::args"], &commands),
        // The time limits of engines change no result.
        (&["Instant::now"], &["cli", "main", "engine/clock.rs"]),
        (&["stdin()"], &["cli", "main", "format/unpack.rs"]),
        // A file read whole may be `/dev/zero`.
        (&["fs::read(", "fs::read_to_string("], &[]),
    ];
    for (path, part, code) in sources() {
        for (words, places) in words {
            let fine = places.iter().any(|it| *it == part || path.ends_with(it));
            for word in words {
                let code =
                    if word.starts_with("print") { &code.replace("eprint", "") } else { &code };
                assert!(fine || !code.contains(word), "{} has {word}", path.display());
            }
        }
        let opens = code.contains("std::fs") || code.contains("File::");
        assert!(part != "model" || !opens, "{} opens files", path.display());
    }
    let commands = fs::read_to_string("src/cli/mod.rs").expect("the commands");
    let first = commands.find("\nmod ").or(commands.find("\npub mod "));
    let own = commands.find("#[macro_use]\nmod out;").expect("our own macro");
    assert!(first.is_some_and(|first| own < first), "a module stands before its macros");
}

#[test]
fn files_have_one_noun() {
    for (path, text) in files("src") {
        let lines = text.lines().count();
        assert!(lines <= 900, "{} has {lines} lines", path.display());
    }
}

#[test]
fn dependencies_have_reasons() {
    let manifest = fs::read_to_string("Cargo.toml").expect("the manifest");
    let mut before = "";
    let mut counts = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            counts = line.contains("dependencies");
        } else if counts && line.contains('=') && !line.starts_with('#') {
            let reasoned = before.starts_with('#') || line.contains(" # ");
            assert!(reasoned, "Cargo.toml: no reason stands at {line}");
        }
        before = line;
    }
}

/// The tests with their code, without those that name forbidden code.
fn tests() -> Vec<(PathBuf, String)> {
    let mut files = files("tests/it");
    files.retain(|(path, _)| {
        !["tidy.rs", "need.rs", "largest.rs"].iter().any(|it| path.ends_with(it))
    });
    assert!(files.len() > 70);
    files.into_iter().map(|(path, text)| (path, without_comments(&text))).collect()
}

/// `f64::max` skips NaN, and a bound on the result would hold.
#[test]
fn no_test_loses_nan() {
    for (path, code) in tests() {
        for line in code.lines() {
            let of = |word: &str| line.contains(&format!("f64::{word}"));
            let of = |word: &str| of(word) || line.contains(&format!("f32::{word}"));
            let folds = line.contains("fold(")
                && [".max(", ".min("].map(|it| line.contains(it)) != [false; 2];
            let cure = "`largest` and `smallest` in largest.rs keep NaN";
            assert!(!of("max") && !of("min") && !folds, "{}: {line}: {cure}", path.display());
        }
    }
}

/// A test that is skipped silently looks like one that passed.
#[test]
fn no_test_skips_silently() {
    for (path, code) in tests() {
        let path = path.display();
        let cure = "ask `need`, which counts what is skipped";
        assert!(!code.contains("println!(\"skip"), "{path} skips on its own; {cure}");
        let has_need = code.contains("need::") || code.contains("engine_net(");
        assert!(has_need || !code.contains("\"../shared"), "{path} reads ../shared; {cure}");
        for tool in ["cc", "gcc", "g++", "rustc", "rustfmt", "mcs", "mono", "javac", "java", "go"] {
            let runs = code.contains(&format!("Command::new(\"{tool}\")"));
            assert!(has_need || !runs, "{path} runs {tool}; {cure}");
        }
        for condition in [".exists() {", ".is_file() {", ".is_err() {"] {
            for (at, _) in code.match_indices(condition) {
                let then = code[at + condition.len()..].trim_start();
                let gone = ["return;", "continue;"].iter().any(|word| then.starts_with(word));
                assert!(!gone, "{path}: `{condition}` and away; {cure}");
            }
        }
    }
}
