//! Every cure that a message names: `cures.txt` has the messages with the command that provokes
//! each and what the message says to do, which must end the complaint. A message with a remedy that
//! is not in the table fails [`messages_with_a_remedy_are_in_the_table`].
//!
//! ```text
//! @ text of the message in src, or a part of it     a case
//! NAME: text                                        writes a file
//! % cp A B, % mv A B, % rm A, % mkdir A, % head BYTES A B
//! > arguments                                       the program, which succeeds
//! $ arguments                                       the program; the first such call complains
//! $ arguments                                       the last one follows the cure
//! ~ text of another complaint                       that the last call may end with
//! - text of a message: reason                       why it cannot be provoked here
//! ```

use proc_macro2::{TokenStream, TokenTree};
use rayon::prelude::*;
use syn::Lit;

use crate::cli::tidy::files;
use crate::support::games::changed_lines;
use crate::support::kit::*;

const TABLE: &str = include_str!("cures.txt");

/// A message, and the steps that provoke and cure it.
#[derive(Default)]
struct Case {
    message: &'static str,
    steps: Vec<&'static str>,
    other: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '-']));
    for line in lines {
        match (line.strip_prefix("@ "), line.strip_prefix("~ ")) {
            (Some(message), _) => cases.push(Case { message, ..Case::default() }),
            (_, Some(other)) => cases.last_mut().expect("a case").other = Some(other),
            _ => cases.last_mut().expect("a case").steps.push(line),
        }
    }
    cases
}

/// Messages that no test can provoke.
fn unprovoked() -> impl Iterator<Item = &'static str> {
    let lines = TABLE.lines().filter_map(|line| line.strip_prefix("- "));
    lines.map(|line| line.rsplit_once(": ").expect("a message and a reason").0)
}

#[test]
fn cures_end_the_complaint() {
    let kit = kit_folder();
    let failed: Vec<String> =
        cases().par_iter().filter_map(|case| case.failure(kit.root_path())).collect();
    assert!(failed.is_empty(), "{} cures:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn messages_with_a_remedy_are_in_the_table() {
    let cases = cases();
    let rows: Vec<&str> = cases.iter().map(|case| case.message).chain(unprovoked()).collect();
    let mut found = vec![false; rows.len()];
    let mut missing = Vec::new();
    for (path, text) in files("src") {
        for literal in literals(text.parse().expect("Rust")).into_iter().map(|it| one_line(&it)) {
            let covers = |row: &&str| literal.contains(&one_line(row));
            let any = rows.iter().zip(&mut found).filter(|(row, _)| covers(row));
            let covered = any.map(|(_, found)| *found = true).count() > 0;
            if names_remedy(&literal) && !covered {
                missing.push(format!("{}: {literal}", path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "not in cures.txt:\n{}", missing.join("\n"));
    let gone: Vec<_> = rows.iter().zip(&found).filter(|(_, found)| !**found).collect();
    assert!(gone.is_empty(), "cures.txt has messages that src has not: {gone:?}");
}

impl Case {
    /// Why the cure does not end the complaint, if so.
    fn failure(&self, kit: &Path) -> Option<String> {
        let folder = Workdir::empty();
        copy_all(kit, folder.root_path());
        let mut outputs = Vec::new();
        for step in &self.steps {
            match step.split_once(' ').expect("a step") {
                ("$", arguments) => outputs.push(call(folder.root_path(), arguments)),
                (">", arguments) => {
                    let (succeeds, text) = call(folder.root_path(), arguments);
                    assert!(succeeds, "{}: {arguments}: {text}", self.message);
                }
                ("%", words) => change_files(folder.root_path(), words),
                _ => write_file(folder.root_path(), step),
            }
        }
        let [first, .., last] = &outputs[..] else { panic!("{}: two calls", self.message) };
        let problem = if !contains_message(&first.1, self.message) {
            format!("is not what comes: {}", first.1)
        } else if contains_message(&last.1, self.message) {
            format!("comes again: {}", last.1)
        } else {
            match self.other {
                None if last.0 => return None,
                Some(other) if contains_message(&last.1, other) => return None,
                _ => format!("has a cure that fails: {}", last.1),
            }
        };
        Some(format!("`{}` {problem}", self.message))
    }
}

/// Runs the program; returns whether it succeeds, and its output in one line.
fn call(folder: &Path, arguments: &str) -> (bool, String) {
    let (arguments, input) = match arguments.split_once(" < ") {
        Some((arguments, input)) => (arguments, File::open(folder.join(input)).unwrap().into()),
        None => (arguments, Stdio::null()),
    };
    let mut command = nnuance();
    command.current_dir(folder).args(shell_words(arguments)).stdin(input);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), one_line(&String::from_utf8_lossy(&text)))
}

/// Words between blanks; single quotes keep blanks.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("a word").push(letter),
        }
    }
    words.iter().map(|word| expand(word)).collect()
}

/// Paths of the program and of the repository.
fn expand(word: &str) -> String {
    let word = word.replace("NNUANCE", env!("CARGO_BIN_EXE_nnuance"));
    word.replace("REPO", env!("CARGO_MANIFEST_DIR"))
}

fn change_files(folder: &Path, words: &str) {
    let words = shell_words(words);
    let at = |number: usize| folder.join(&words[number]);
    match &words[0][..] {
        "cp" => drop(fs::copy(at(1), at(2)).unwrap()),
        "mv" => fs::rename(at(1), at(2)).unwrap(),
        "rm" => fs::remove_file(at(1)).unwrap(),
        "mkdir" => fs::create_dir(at(1)).unwrap(),
        "cat" => {
            fs::write(at(2), [fs::read(at(2)).unwrap(), fs::read(at(1)).unwrap()].concat()).unwrap()
        }
        "head" => {
            let bytes = fs::read(at(2)).unwrap();
            fs::write(at(3), &bytes[..words[1].parse().unwrap()]).unwrap();
        }
        other => panic!("{other}"),
    }
}

/// Writes `NAME: text`.
fn write_file(folder: &Path, step: &str) {
    let (name, text) = step.split_once(": ").expect("a name and a text");
    fs::write(folder.join(name), format!("{}\n", text.replace("\\n", "\n"))).unwrap();
}

fn copy_all(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&to).unwrap();
            copy_all(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Whether an output has the words of a message around its placeholders, in order.
fn contains_message(output: &str, message: &str) -> bool {
    let message = one_line(message).replace("{{", "\u{1}").replace("}}", "\u{2}");
    let mut rest = output;
    message.split('{').enumerate().all(|(number, part)| {
        let part = if number == 0 { part } else { part.split_once('}').expect("a brace").1 };
        let part = part.replace('\u{1}', "{").replace('\u{2}', "}");
        let found = rest.find(part.trim()).map(|at| &rest[at + part.trim().len()..]);
        rest = found.unwrap_or("");
        found.is_some()
    })
}

/// The string literals of a source, without those of comments and of attributes other than errors.
fn literals(tokens: TokenStream) -> Vec<String> {
    let (mut found, mut is_attribute) = (Vec::new(), false);
    for token in tokens {
        let was_attribute = std::mem::take(&mut is_attribute);
        match token {
            TokenTree::Punct(mark) => {
                is_attribute = mark.as_char() == '#' || was_attribute && mark.as_char() == '!';
            }
            TokenTree::Group(group) => {
                let is_error = group.stream().to_string().starts_with("error");
                if !was_attribute || is_error {
                    found.extend(literals(group.stream()));
                }
            }
            TokenTree::Literal(literal) => {
                if let Lit::Str(text) = Lit::new(literal) {
                    found.push(text.value());
                }
            }
            _ => {}
        }
    }
    found
}

/// Verbs of remedies.
const VERBS: &str = "add begin build call check choose close convert correct cut describe drop export \
    fetch give go install label leave list lower make name pass play put quantise raise read remove \
    replace restore run set shuffle split start take train try tune unpack use wait write";

/// Fragments of literals that look like remedies and are none.
const OTHERS: [&str; 10] = [
    "var(--",
    "use is the standard deviation",
    "lower loss than",
    "Lower is better",
    "complexity: the counts",
    "made by `nnuance quickstart`",
    "# A run of nnuance",
    "rustc --edition",
    "{ name = \"first\", size",
    "runs/quickstart/quickstart-hce",
];

/// Whether a message names a command or an option, or has a clause that begins with such a verb.
fn names_remedy(text: &str) -> bool {
    let text = text.trim_start_matches("{error}; ");
    if OTHERS.iter().any(|other| text.contains(other)) || text.split(' ').count() < 3 {
        return false;
    }
    let has_option = text.contains(" --") || text.contains("`--");
    let has_command = ["`nnuance ", "(nnuance ", "next nnuance"].iter().any(|it| text.contains(it));
    let is_command =
        ["--", "data ", "train ", "export ", "{command}"].iter().any(|it| text.starts_with(it));
    let clauses = text.split([';', ',', '.', ':', '(']).flat_map(|clause| clause.split(" or "));
    let is_verb = |word: &str| VERBS.split_whitespace().any(|verb| word.eq_ignore_ascii_case(verb));
    let orders = clauses
        .map(str::trim)
        .any(|clause| clause.split_once(' ').is_some_and(|(verb, _)| is_verb(verb)));
    !is_command && (has_option || has_command || orders)
}

/// Files that the cases begin with.
fn kit_folder() -> Workdir {
    let kit = Workdir::empty();
    let folder = kit.root_path();
    for (from, to) in [
        (NOTATED, "games.pgn"),
        (QUIET, "quiet.epd"),
        (SCORED, "scored.txt"),
        (QUICKSTART, "quickstart-32.bin"),
        ("nets/quickstart-32.json", "quickstart-32.json"),
    ] {
        fs::copy(from, folder.join(to)).unwrap();
    }
    copy_all(Path::new("tests/it/fixtures/cures"), folder);
    let [games, quiet, scored] = ["games.pgn", "quiet.epd", "scored.txt"]
        .map(|name| fs::read_to_string(folder.join(name)).unwrap());
    let few: String = scored.split_inclusive('\n').take(40).collect();
    let forfeits = games.replacen("[Result ", "[Termination \"time forfeit\"]\n[Result ", 20);
    for (name, text) in [
        ("traces.txt", material_traces(&quiet)),
        ("forfeits.pgn", forfeits),
        ("comments.pgn", with_comments(&games)),
        ("few.txt", few.clone()),
        ("bad.txt", few + "nonsense | 1 | 2\n"),
        (
            "won.txt",
            changed_lines(|_, fen, score, result| {
                (fen.contains(" w ") && result == 1.0).then_some((score, result))
            }),
        ),
        ("same.txt", changed_lines(|_, _, _, result| Some((0, result)))),
        (
            "noise.txt",
            changed_lines(|line, _, _, result| Some(((line * 7919 % 401) as i32 - 200, result))),
        ),
        (
            "tenfold.txt",
            changed_lines(|_, _, score, result| {
                Some(((10 * score).clamp(-30_000, 30_000), result))
            }),
        ),
        (
            "drawn.txt",
            changed_lines(|line, _, score, result| {
                Some((score, if line % 10 == 0 { result } else { 0.5 }))
            }),
        ),
        (
            "turned.txt",
            changed_lines(|_, fen, score, result| {
                Some(if fen.contains(" b ") { (-score, 1.0 - result) } else { (score, result) })
            }),
        ),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    // As bulletformat and as marlinformat a position; as lz4 its mark.
    let record =
        [&[0x10, 0x10, 0, 0, 0, 0, 0, 0x10, 0x05, 0x0d][..], &[0; 14], &[64, 0, 0, 4, 4, 0, 0, 0]];
    fs::write(folder.join("ambiguous"), record.concat()).unwrap();
    fs::write(folder.join("few.lz4"), b"\x04\x22\x4d\x18 and more of it").unwrap();
    write_weights(folder);
    for arguments in [
        "train net.toml --out run",
        "train terms.toml --out terms",
        "train traces.toml --out tr",
        "train net.toml --out sum --set net.base=material",
    ] {
        said(&mut kit.command(arguments));
    }
    kit
}

/// Traces of material, from lines of EPD.
fn material_traces(epd: &str) -> String {
    let mut text = "nnuance-trace 1\n".to_string();
    for line in epd.lines().take(2000) {
        let fields: Vec<&str> = line.split(' ').take(4).collect();
        let result = match line.split('"').nth(1).expect("a result") {
            "1-0" => "1.0",
            "0-1" => "0.0",
            _ => "0.5",
        };
        let count = |letter: char| fields[0].matches(letter).count();
        let pairs =
            "PNBRQ".chars().map(|letter| (count(letter), count(letter.to_ascii_lowercase())));
        let pairs: Vec<_> =
            pairs.enumerate().filter(|(_, (white, black))| white + black > 0).collect();
        let weights = [0, 1, 1, 2, 4];
        let phase: usize =
            pairs.iter().map(|(term, (white, black))| weights[*term] * (white + black)).sum();
        let counts = pairs.iter().map(|(term, (white, black))| format!(" {term}:{white}:{black}"));
        text += &format!(
            "{result} {} {} 128 |{} | {}\n",
            fields[1],
            phase.min(24),
            counts.collect::<String>(),
            fields.join(" ")
        );
    }
    text
}

/// Games whose comments are numbers without a point.
fn with_comments(games: &str) -> String {
    let parts = games.split('{').enumerate();
    let parts = parts.map(|(number, part)| match number {
        0 => part.to_string(),
        _ => format!("{{+35}}{}", part.split_once('}').expect("an end").1),
    });
    parts.collect()
}

/// A net of eight neurons as bullet's `weights.bin` and `raw.bin`.
fn write_weights(folder: &Path) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut array = |id: &'static str, len: usize| {
        let floats = (0..len).flat_map(|_| random.random_range(-0.2f32..0.2).to_le_bytes());
        (id, len as u64, floats.collect::<Vec<u8>>())
    };
    let arrays = [array("l0w", 768 * 8), array("l0b", 8), array("l1w", 16), array("l1b", 1)];
    let raw: Vec<u8> = arrays.iter().flat_map(|(.., floats)| floats.clone()).collect();
    fs::write(folder.join("raw.bin"), raw).unwrap();
    let mut sorted = arrays;
    sorted.sort();
    let named = sorted
        .iter()
        .flat_map(|(id, len, floats)| [id.as_bytes(), b"\n", &len.to_le_bytes(), floats].concat());
    fs::write(folder.join("weights.bin"), named.collect::<Vec<u8>>()).unwrap();
}
