//! What a file is, told by its content; the name only says which reader tells best what is wrong
//! with a file that no format recognises.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::{ALL, Format};

/// Finds the format of a file by the first bytes of its content, which are not empty, and checks
/// what the user said about it; the error tells what the file looks like.
pub fn sniff(
    path: &Path,
    head: &[u8],
    said: Option<&'static Format>,
) -> Result<&'static Format, String> {
    if let Some(said) = said.filter(|format| (format.recognises)(head)) {
        return Ok(said);
    }
    let found: Vec<_> = ALL.into_iter().filter(|format| (format.recognises)(head)).collect();
    let found = match found[..] {
        [] => None,
        [one] => Some(one),
        _ => {
            let names: Vec<_> = found.iter().map(|format| format.name).collect();
            return Err(format!(
                "it may be {}; name the format (data.format, --format)",
                names.join(" or ")
            ));
        }
    };
    let named = ALL.into_iter().find(|format| format.names(path));
    match (said, found) {
        (None, Some(found)) => Ok(found),
        (Some(said), Some(found)) => {
            Err(format!("it looks like {}, not like {}", found.name, said.name))
        }
        // Its first record may be bad; the reader then tells where and why.
        (said, None) => match (foreign(path, head), said.or(named)) {
            (Some(looks), _) => Err(format!("{looks}; the formats read are {}", names())),
            (None, Some(format)) => Ok(format),
            (None, None) => Err(describe(head)),
        },
    }
}

/// What else a chess programmer might have taken for training data.
fn foreign(path: &Path, head: &[u8]) -> Option<String> {
    let starts: [(&[u8], &str); 4] = [
        (b"BZh", "it is packed with bzip2; unpack it first"),
        (b"PK\x03\x04", "it is a zip archive; unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it first"),
        (b"\xff\xfe", "it is UTF-16 text; convert it to UTF-8"),
    ];
    if let Some((_, looks)) = starts.iter().find(|(start, _)| head.starts_with(start)) {
        return Some(looks.to_string());
    }
    let looks = if head.len() > 9 && head[8] == b'{' && head[3..8] == [0; 5] {
        "it is a safetensors file, weights and not positions"
    } else if ends_with_padding(path) {
        "it is a net, padded as bullet does it, and not positions"
    } else {
        let text = head.trim_ascii_start();
        match text {
            [b'{', ..] | [b'[', b'{' | b'"' | b'[', ..] => "it is JSON",
            _ => return None,
        }
    };
    Some(looks.to_string())
}

/// Nets of bullet end with its name, over and over, up to a multiple of 64 bytes.
fn ends_with_padding(path: &Path) -> bool {
    // A pipe would wait for another writer.
    if !path.is_file() {
        return false;
    }
    let mut tail = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::End(-62))?;
        file.take(62).read_to_end(&mut tail)
    });
    read.is_ok() && tail.windows(12).any(|window| window == b"bulletbullet")
}

fn first_line(head: &[u8]) -> Option<&str> {
    let line = head.split(|&byte| byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim();
    (!line.is_empty() && !line.contains(|letter: char| letter.is_control())).then_some(line)
}

fn describe(head: &[u8]) -> String {
    let start = match first_line(head.trim_ascii_start()) {
        Some(line) => {
            let cut: String = line.chars().take(80).collect();
            let dots = if cut.len() < line.len() { "..." } else { "" };
            format!("its first line is `{cut}{dots}`")
        }
        None => {
            let bytes: Vec<_> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("it begins with the bytes {}", bytes.join(" "))
        }
    };
    format!("{start}, which is none of {}", names())
}

fn names() -> String {
    ALL.map(|format| format.name).join(", ")
}
