//! An engine's term list, and the guide with its engine in C.

use nnuance::format;
use nnuance::format::trace::{self, TraceEntry};
use nnuance::terms::TermKind;

use crate::formats::registry::read;
use crate::support::kit::*;

const LIST: &str = "\
# An engine of four terms.
phase 24
scale 128
tempo 12

material.pawn    normal      82    94      # pawns
king.attackers   safety      30.5  5
complexity.all   complexity  0     -0.125  # 1, always
bishop.pair      normal      2.5e1 40
";

pub const ENGINE: &str = "docs/own-engine/engine.c";

fn list(text: &str) -> Result<EngineTerms, String> {
    let text = nnuance::input::decode_utf8(text.into()).map_err(|error| error.to_string())?;
    EngineTerms::parse(&text, Path::new("terms.txt")).map_err(|error| error.to_string())
}

/// Four terms: normal, safety, complexity, normal.
pub fn own() -> EngineTerms {
    list(LIST).unwrap()
}

#[test]
fn lists_round_trip() {
    let own = own();
    assert_eq!((own.phase, own.scale, own.list.tempo), (24.0, 128.0, 12.0));
    let terms = &own.list.terms;
    let kinds = [TermKind::Normal, TermKind::Safety, TermKind::Complexity, TermKind::Normal];
    assert_eq!(terms.iter().map(|term| term.kind).collect::<Vec<_>>(), kinds);
    assert_eq!((terms[0].name.as_str(), terms[0].counts.as_str()), ("material.pawn", "pawns"));
    assert_eq!([terms[1].start, terms[2].start], [[30.5, 5.0], [0.0, -0.125]]);
    assert_eq!(list(&own.to_string()).as_ref(), Ok(&own));
    let bare = list("\u{feff}a normal 1 2\r\n").unwrap();
    assert_eq!((bare.phase, bare.scale, bare.list.tempo), (1.0, 1.0, 0.0));
    assert_eq!(bare.list.terms[0].counts, "");
}

#[test]
fn wrong_lists_are_refused() {
    for (text, expected) in [
        ("", "has no terms"),
        ("a normal 1 2\n\na normal 1 2", "line 3: `a`"),
        ("a norml 1 2", "line 1: unknown kind"),
        ("a normal nan 2", "`nan`"),
        ("a..b normal 1 2", "`a..b`"),
        ("tempo normal 1 2", "tempo"),
        ("phase 0", "more than 0"),
    ] {
        let error = list(text).unwrap_err();
        assert!(error.contains(expected), "{text:?} gives {error:?}");
    }
    let many: String = (0..65_536).map(|i| format!("t{i} normal 0 0\n")).collect();
    assert!(list(&many).unwrap_err().contains("line 65536"));
    let most = many.strip_suffix("t65535 normal 0 0\n").unwrap();
    assert_eq!(list(most).unwrap().list.len(), 65_535);
}

pub fn compiled(folder: &Path, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let [code, program] = ["engine.c", "engine"].map(|name| folder.join(name));
    fs::write(&code, source).unwrap();
    if !need::tool("cc", "--version") {
        return None;
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-o"]).arg(&program).arg(&code).args(flags);
    assert!(compiler.status().unwrap().success(), "it does not compile");
    Some(program)
}

/// Standard output of an engine, which reads lines from a file.
pub fn printed(engine: &Path, what: &str, lines: &Path) -> Vec<u8> {
    let lines = Stdio::from(fs::File::open(lines).unwrap());
    let output = Command::new(engine).arg(what).stdin(lines).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The blocks of C in the guide are parts of its engine.
#[test]
fn guide_shows_its_engine() {
    let engine = fs::read_to_string(ENGINE).unwrap();
    let text = fs::read_to_string("docs/own-engine.md").unwrap();
    let blocks = text.split("```c\n").skip(1).map(|block| block.split("```").next().unwrap());
    assert_eq!(blocks.clone().count(), 2);
    blocks.for_each(|block| assert!(engine.contains(block), "not in engine.c: {block}"));
}

#[test]
fn guide_engine_traces_its_evaluation() {
    let folder = Workdir::empty();
    let (source, flags) = (fs::read_to_string(ENGINE).unwrap(), "-Wall -Wextra -Werror");
    let flags: Vec<&str> = flags.split(' ').chain(["-pedantic"]).collect();
    let Some(program) = compiled(folder.root_path(), &source, &flags) else { return };
    let run = |what: &str, lines: &Path| printed(&program, what, lines);
    let random = folder.path("random.epd");
    let samples = games::samples(2000, 5);
    write_all(&random, format::Format::named("epd").unwrap(), &samples).unwrap();
    let own = list(&String::from_utf8(run("--terms", &random)).unwrap()).unwrap();
    let weights: Vec<[f64; 2]> = own.list.terms.iter().map(|term| term.start).collect();
    let (mut safe, mut scaled, mut crossed, mut all) = (0, 0, 0, 0);
    let data = [QUIET, SCORED].map(Path::new);
    for lines in [random.as_path()].into_iter().chain(data) {
        let trace = folder.path("positions.trace");
        fs::write(&trace, run("--trace", lines)).unwrap();
        let values = String::from_utf8(run("--eval", lines)).unwrap();
        let mut traces = Vec::new();
        trace::read_traces(&trace, &own, 0, GivenViews::default(), |traced| {
            traces.push(traced.clone())
        })
        .unwrap();
        let samples = read(lines).unwrap();
        assert_eq!([values.lines().count(), traces.len()], [samples.len(); 2]);
        for ((value_text, sample), traced) in values.lines().zip(samples).zip(traces) {
            let theirs = value_text.parse::<f64>().unwrap();
            let ours = traced.evaluate_white(&own, &weights, own.list.tempo);
            assert!((theirs - ours).abs() < 1e-9, "{theirs} and {ours}");
            // The counts belong to the input's positions.
            assert_eq!(traced.sample, sample);
            let kind = |kind| {
                let of = |entry: &&TraceEntry| own.list.terms[usize::from(entry.term)].kind == kind;
                traced.entries.iter().filter(of).count()
            };
            safe += kind(TermKind::Safety);
            scaled += usize::from(traced.scale < 128.0);
            crossed += usize::from(ours.abs() == own.list.tempo);
            all += 1;
        }
    }
    assert!(safe > all / 2, "{safe} safety entries in {all} positions");
    assert!(scaled > 20 && crossed > 20, "{scaled} scaled, {crossed} crossed of {all}");
}
