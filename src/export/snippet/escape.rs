//! Text as the inside of a string literal, safe in comments too.

use super::Language;

/// The inside of a literal in double quotes. No line end, no end of a comment and no trigraph is
/// left in it; other languages' letters are spelt out where a compiler may mistake them.
pub(super) fn literal(language: Language, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            // The stars would open or close a comment, the question marks make trigraphs.
            ' '..='~' if !matches!(letter, '*' | '?') => out.push(letter),
            _ => out.push_str(&spelt_out(language, letter)),
        }
    }
    out
}

fn spelt_out(language: Language, letter: char) -> String {
    let code = u32::from(letter);
    match language {
        Language::Rust => format!("\\u{{{code:x}}}"),
        Language::C | Language::Cpp => {
            let mut bytes = [0; 4];
            letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        // Java reads \u before it looks for literals, so a line end must not be written so.
        Language::Java if code < 128 => format!("\\{code:03o}"),
        Language::Java | Language::CSharp => {
            let mut units = [0; 2];
            letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        Language::Go => format!("\\U{code:08x}"),
    }
}

/// The inside of a literal for the assembler, still to be made one for C.
pub(super) fn assembler(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
