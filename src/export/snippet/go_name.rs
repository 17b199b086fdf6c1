//! Names of files that Go embeds.
//!
//! Go takes fewer names than systems do: the file has to go into the archive of a module, which
//! must unpack anywhere (`CheckFilePath` of `golang.org/x/mod/module`), and what `//go:embed` says
//! is a pattern.

/// What stands in the way of embedding a file of this name.
///
/// Some letters that are marks to Unicode, such as vowel signs, pass here; of these the Go compiler
/// complains itself.
pub(super) fn fault(name: &str) -> Option<String> {
    if let Some(letter) = name.chars().find(|&letter| !takes(letter)) {
        return Some(format!("a name with {letter:?}"));
    }
    // Or else the file would look like an argument to the tools.
    let begins = |letter: char| {
        !letter.is_ascii() || letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_')
    };
    if !name.starts_with(begins) {
        return Some("a name that does not begin with a letter or a digit".to_string());
    }
    if name.ends_with('.') {
        return Some("a name that ends with a dot".to_string());
    }
    is_reserved(name).then(|| "a name that Windows or version control reserves".to_string())
}

fn takes(letter: char) -> bool {
    if letter.is_ascii() {
        // The opening bracket would do in a name, but not in a pattern.
        letter.is_ascii_alphanumeric() || "!#$%&()+,-.=@]^_{}~ ".contains(letter)
    } else {
        letter.is_alphabetic() && !letter.is_numeric()
    }
}

/// The devices of Windows, whatever their ending, and the folders of version control.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |port: &str| {
        stem.strip_prefix(port).is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9']))
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul")
        || ["com", "lpt"].into_iter().any(numbered)
        || [".bzr", ".git", ".hg", ".svn"].contains(&name)
}
