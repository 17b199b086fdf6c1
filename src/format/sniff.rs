//! Recognition of formats by content. The name of a file only chooses the reader that words the
//! error of a file that no format recognises.

use std::path::Path;

use super::{ALL, Format};

/// Finds the format of a file by the first bytes of its content, which are not empty, and checks
/// the format `given` by the user; the error describes the content.
pub fn sniff(
    path: &Path,
    head: &[u8],
    given: Option<&'static Format>,
) -> Result<&'static Format, String> {
    if let Some(given) = given.filter(|format| (format.recognises)(head)) {
        return Ok(given);
    }
    let names = |formats: &[&Format], separator: &str| {
        formats.iter().map(|format| format.name).collect::<Vec<_>>().join(separator)
    };
    let all: Vec<_> = ALL.into_iter().filter(|format| (format.recognises)(head)).collect();
    let found = match all[..] {
        [] => None,
        [one] => Some(one),
        _ => {
            let names = names(&all, " or ");
            return Err(format!("it may be {names}; name the format (data.format, --format)"));
        }
    };
    match (given, found) {
        (None, Some(found)) => Ok(found),
        (Some(given), Some(found)) => {
            Err(format!("it looks like {}, not like {}", found.name, given.name))
        }
        // Its first record may be bad; the reader then says where and why.
        (given, None) => {
            let named = given.or_else(|| ALL.into_iter().find(|format| format.names(path)));
            match foreign(head) {
                None => named.ok_or_else(|| {
                    format!("{}, which is none of {}", start(head), names(&ALL, ", "))
                }),
                Some(looks) => Err(format!("{looks}; the formats are {}", names(&ALL, ", "))),
            }
        }
    }
}

/// Other files that are taken for training data.
fn foreign(head: &[u8]) -> Option<&'static str> {
    let starts: [(&[u8], &str); 4] = [
        (b"BZh", "it is packed with bzip2; unpack it first"),
        (b"PK\x03\x04", "it is a zip archive; unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it first"),
        (b"\xff\xfe", "it is UTF-16 text; convert it to UTF-8"),
    ];
    if let Some((_, looks)) = starts.iter().find(|(start, _)| head.starts_with(start)) {
        return Some(looks);
    }
    if head.len() > 9 && head[8] == b'{' && head[3..8] == [0; 5] {
        return Some("it is a safetensors file, weights and not positions");
    }
    let json = matches!(head.trim_ascii_start(), [b'{', ..] | [b'[', b'{' | b'"' | b'[', ..]);
    json.then_some("it is JSON")
}

/// The first line of a text, or the first bytes.
fn start(head: &[u8]) -> String {
    let line = head.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
    match std::str::from_utf8(line).map(str::trim) {
        Ok(line) if !line.is_empty() && !line.contains(char::is_control) => {
            format!("its first line is `{}`", line.chars().take(80).collect::<String>())
        }
        _ => {
            let bytes: Vec<_> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("it begins with the bytes {}", bytes.join(" "))
        }
    }
}
