//! The text after the tags as moves, comments and the end of the game.

use super::frame::without_mark;
use super::shown;
use super::tags::Outcome;

/// What matters of the moves; their numbers, NAGs and variations are passed over.
#[derive(Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A move in SAN, without check signs and marks such as `!?`.
    San(&'a [u8]),
    /// What stands between braces.
    Comment(&'a [u8]),
    Outcome(Outcome),
}

/// Reads the tokens of a game one by one.
pub struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    from: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens behind the tags, which end at `at`.
    pub fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at, from: at }
    }

    /// The first byte of the token read last.
    pub fn start(&self) -> usize {
        self.from
    }

    /// Whether nothing but white space follows the token read last.
    pub fn at_end(&self) -> bool {
        self.text[self.at..].trim_ascii().is_empty()
    }

    /// The next token, none at the end of the text.
    pub fn next(&mut self) -> Result<Option<Token<'a>>, String> {
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                self.from = self.at;
                return Ok(None);
            };
            self.from = self.at;
            match byte {
                b'%' if self.at == 0 || self.text[self.at - 1] == b'\n' => self.pass_line(),
                b';' => self.pass_line(),
                b'{' => return self.comment().map(Token::Comment).map(Some),
                b'(' => self.pass_variation()?,
                b'$' => self.at += 1 + digits(&self.text[self.at + 1..]),
                _ if byte.is_ascii_whitespace() => self.at += 1,
                _ => match self.number() {
                    Some(length) => self.at += length,
                    None => {
                        if let Some(token) = self.word()? {
                            return Ok(Some(token));
                        }
                    }
                },
            }
        }
    }

    fn pass_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    /// The length of the number of a move with a dot behind it, or of a mark of byte order, which
    /// stands where files were put together.
    fn number(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        let digits = digits(rest);
        match rest.get(digits) {
            _ if digits == 0 => {
                Some(rest.len() - without_mark(rest).len()).filter(|&mark| mark > 0)
            }
            None => Some(digits),
            Some(b'.') => Some(digits + 1),
            Some(byte) => (byte.is_ascii_whitespace() || b"{(;".contains(byte)).then_some(digits),
        }
    }

    fn comment(&mut self) -> Result<&'a [u8], String> {
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.iter().position(|&byte| byte == b'}') else {
            self.at = self.text.len();
            return Err("a comment is not closed".to_string());
        };
        self.at += end + 2;
        Ok(&rest[..end])
    }

    /// Variations may hold variations, and braces of theirs may hold parentheses.
    fn pass_variation(&mut self) -> Result<(), String> {
        let mut depth = 0u32;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'{' => {
                    self.comment()?;
                    continue;
                }
                b';' => {
                    self.pass_line();
                    continue;
                }
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err("a variation is not closed".to_string())
    }

    /// A move or the end of the game; none for dots and marks that stand alone.
    fn word(&mut self) -> Result<Option<Token<'a>>, String> {
        let rest = &self.text[self.at..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b"{}()[];$".contains(byte);
        let length = match rest {
            // A tag in a place that is none, or what is left of one.
            [b'[', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
            // Another byte that cannot begin a word is a word of its own.
            _ => rest.iter().position(ends).unwrap_or(rest.len()).max(1),
        };
        self.at += length;
        let word = &rest[..length];
        if let Some(outcome) = Outcome::from_text(word) {
            return Ok(Some(Token::Outcome(outcome)));
        }
        let dots = word.iter().take_while(|&&byte| byte == b'.').count();
        let mut san = &word[dots..];
        self.from += dots;
        while let [before @ .., b'!' | b'?' | b'+' | b'#'] = san {
            san = before;
        }
        match san {
            [] => Ok(None),
            [b'a'..=b'h' | b'N' | b'B' | b'R' | b'Q' | b'K' | b'O' | b'0' | b'P', ..] => {
                Ok(Some(Token::San(san)))
            }
            b"--" | b"Z0" | b"null" | b"@@@@" => {
                Err(format!("`{}` is a null move, which no game has", shown(san)))
            }
            _ => Err(format!("`{}` is not a move", shown(word))),
        }
    }
}

/// How many digits a text begins with.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}
