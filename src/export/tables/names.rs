//! Identifiers made of dotted names.

use std::collections::HashSet;

/// How a language writes the names of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// `PSQT_KNIGHT`.
    Screaming,
    /// `PsqtKnight`, with an underscore only between two digits.
    Camel,
}

/// The identifiers of one file: no two are the same, and none is taken by the language.
pub(super) struct Names {
    case: Case,
    taken: HashSet<String>,
}

impl Names {
    /// `taken` are words of the language and of the file itself.
    pub(super) fn new(case: Case, taken: &[&str]) -> Self {
        Self { case, taken: taken.iter().map(|name| name.to_string()).collect() }
    }

    /// The identifier of a name. Whatever is neither an ASCII letter nor a digit parts words; an
    /// identifier that is taken gets a number at its end.
    pub(super) fn make(&mut self, name: &str) -> String {
        let mut words = words(name);
        if words.first().is_none_or(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            words.insert(0, "term".to_string());
        }
        let base = match self.case {
            Case::Screaming => words.join("_").to_ascii_uppercase(),
            Case::Camel => words.iter().fold(String::new(), |name, word| camel(name, word)),
        };
        let numbered = (2u64..).map(|number| format!("{base}_{number}"));
        let mut all = std::iter::once(base.clone()).chain(numbered);
        let name = all.find(|name| !self.taken.contains(name));
        let name = name.expect("there are more numbers than names");
        self.taken.insert(name.clone());
        name
    }
}

/// Lower-case words; a capital after a small letter begins one.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut before = '.';
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            let begins = c.is_ascii_uppercase() && before.is_ascii_lowercase();
            if begins || !before.is_ascii_alphanumeric() {
                words.push(String::new());
            }
            let word = words.last_mut().expect("the first letter or digit begins a word");
            word.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words
}

fn camel(mut name: String, word: &str) -> String {
    let digits = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    if digits(name.chars().last()) && digits(word.chars().next()) {
        name.push('_');
    }
    let mut letters = word.chars();
    name.extend(letters.next().map(|c| c.to_ascii_uppercase()));
    name.extend(letters);
    name
}
