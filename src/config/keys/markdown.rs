//! The reference as a page.

use std::fmt::Write as _;

use super::{Key, Section, sections, stage};

const HEAD: &str = "\
<!-- Written by `nnuance keys --markdown`; change the comments in src/config/ instead. -->

# The keys of a config
";

const USE: &str = "\
Any key can be given on the command line, which comes before the file: `nnuance train CONFIG --set \
model.hidden=64`. A misspelt key is refused with the nearest known one. `nnuance keys batch` shows \
what this page says in a terminal; `nnuance keys --schema` is a JSON schema, with which editors \
complete and check configs.

Terms are the handcrafted terms of `inputs = \"hce\"` or `\"trace\"`.
";

/// The reference of all keys in Markdown, as `docs/config.md` has it.
pub fn markdown() -> String {
    let [top, others @ ..] = &sections()[..] else { unreachable!("a config has a top") };
    let mut page = format!("{HEAD}\n{}\n\n{USE}", top.about);
    keys(&mut page, top);
    for section in others {
        let _ = write!(page, "\n## `{}`\n\n{}\n", section.heading(), section.about);
        keys(&mut page, section);
    }
    let stage = stage();
    let _ = write!(page, "\n## Stages\n\n{}\n", stage.about);
    keys(&mut page, &stage);
    page
}

fn keys(page: &mut String, section: &Section) {
    for key in &section.keys {
        let _ = write!(page, "\n### `{}`\n\n*{}*\n\n", key.path, facts(key));
        let _ = writeln!(page, "{}", key.about.replace('\n', "\n\n"));
        if key.words.iter().any(|(_, about)| !about.is_empty()) {
            page.push('\n');
            for (word, about) in &key.words {
                let _ = writeln!(page, "- `\"{word}\"`: {about}");
            }
        }
    }
}

/// Kind, default and example in a line.
pub fn facts(key: &Key) -> String {
    let mut facts = vec![key.kind.clone()];
    match &key.default {
        Some(default) => facts.push(format!("default {default}")),
        None if key.needed => facts.push("must be given".into()),
        None => {}
    }
    facts.extend(key.example.as_ref().map(|example| format!("for example `{example}`")));
    facts.join("; ")
}
