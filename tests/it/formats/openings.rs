//! Books of openings: lines and games, packed or not.

use nnuance::format::book::read_book;

use crate::formats::registry::gz;
use crate::support::kit::*;

const LINES: &str = "# openings\n\
    rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n\n\
    rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1 ; the queen's pawn\r\n\
    8/8/4k3/8/8/4K3/4P3/8 w - - 0 1\n";

/// The same positions as games: a result or none, comments and variations, and a start position.
const GAMES: &str = "[Event \"?\"]\n[Result \"1/2-1/2\"]\n\n1. e4 {best} e5 (1... c5 2. Nf3) 1/2-1/2\n\n\
    [Event \"?\"]\n\n1. d4\n\n\
    [Event \"?\"]\n[FEN \"8/8/4k3/8/8/4K3/4P3/8 w - - 0 1\"]\n[Result \"*\"]\n\n*\n";

fn boards(book: &[Position]) -> Vec<String> {
    let board = |position: &Position| -> String {
        position.to_fen().split(' ').take(4).collect::<Vec<_>>().join(" ")
    };
    book.iter().map(board).collect()
}

#[test]
fn lines_and_games_packed_or_not() {
    let work = Workdir::empty();
    let write = |name: &str, content: &[u8]| {
        boards(&read_book(Path::new(&work.write(name, content))).unwrap())
    };
    let lines = write("lines.epd", LINES.as_bytes());
    assert_eq!(lines.len(), 3);
    assert_eq!(write("games.pgn", GAMES.as_bytes()), lines);
    // The file name is irrelevant.
    assert_eq!(write("games.epd", GAMES.as_bytes()), lines);
    assert_eq!(write("lines.epd.gz", &gz(LINES.as_bytes())), lines);
    assert_eq!(write("games.pgn.gz", &gz(GAMES.as_bytes())), lines);
    let zst = |content: &str| zstd::encode_all(content.as_bytes(), 3).unwrap();
    assert_eq!(write("lines.epd.zst", &zst(LINES)), lines);
    assert_eq!(write("games.pgn.zst", &zst(GAMES)), lines);
}

#[test]
fn faults_name_their_place() {
    let folder = Workdir::empty();
    let path = folder.path("book");
    for (content, expected) in [
        (&b""[..], "no positions"),
        (b"\n# nothing\n", "no positions"),
        (b"8/8/4k3/8/8/4K3/4P3/8 w - -\nnonsense\n", "line 2"),
        (b"[Event \"?\"]\n\n1. e4 e5 2. Ke3 *\n", "book, game 1, line 3, move 2."),
        (b"\xff\xfe\x00\x01", "line 1"),
    ] {
        fs::write(&path, content).unwrap();
        let said = read_book(&path).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    assert!(read_book(&folder.path("none")).is_err());
}
