//! A board of a FEN as text: eight lines, rank 8 on top, with facts beside it.

/// How pieces are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signs {
    /// As in the FEN: White's are capitals.
    #[default]
    Letters,
    /// Chess pieces of Unicode.
    Pieces,
}

impl Signs {
    fn draw(self, letter: char) -> char {
        const LETTERS: &str = "KQRBNPkqrbnp";
        let place = LETTERS.find(letter).filter(|_| self == Signs::Pieces);
        // The twelve pieces stand there in this order from U+2654 on.
        place.and_then(|i| char::from_u32(0x2654 + i as u32)).unwrap_or(letter)
    }
}

/// The ranks, then the files, one line each; facts stand to the right of ranks, from the top, and
/// below each other where there are more than eight.
///
/// Reads the board field only, and shows what is there: a rank that is too short is filled with
/// empty squares. None where the field cannot be a board, with a letter of no piece, or with more
/// than eight ranks or files.
pub fn board(fen: &str, signs: Signs, facts: &[String]) -> Option<String> {
    let field = fen.split_whitespace().next()?;
    let mut ranks: Vec<Vec<char>> =
        field.split('/').map(|it| rank(it, signs)).collect::<Option<_>>()?;
    if ranks.len() > 8 {
        return None;
    }
    ranks.resize(8, vec!['.'; 8]);
    let mut lines: Vec<String> = ranks
        .iter()
        .zip((1..=8).rev())
        .map(|(squares, number)| {
            let squares: Vec<String> = squares.iter().map(char::to_string).collect();
            format!("{number}  {}", squares.join(" "))
        })
        .collect();
    lines.push("   a b c d e f g h".to_string());
    let width = 18;
    while lines.len() < facts.len() {
        lines.push(" ".repeat(width));
    }
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let fact = facts.get(i).map_or("", String::as_str);
        text.push_str(format!("{line}    {fact}").trim_end());
        text.push('\n');
    }
    Some(text)
}

fn rank(text: &str, signs: Signs) -> Option<Vec<char>> {
    let mut squares = Vec::with_capacity(8);
    for letter in text.chars() {
        match letter {
            '1'..='8' => {
                let empty = letter as usize - '0' as usize;
                squares.extend(std::iter::repeat_n('.', empty));
            }
            _ if "KQRBNPkqrbnp".contains(letter) => squares.push(signs.draw(letter)),
            _ => return None,
        }
    }
    (squares.len() <= 8).then(|| {
        squares.resize(8, '.');
        squares
    })
}
