//! Random games from a seed, with every kind of move.

use shakmaty::{Board, EnPassantMode, FromSetup, Move, Setup};

use crate::support::kit::*;

pub static GAMES: LazyLock<Vec<Game>> = LazyLock::new(|| games(1000, 4));

#[derive(Default)]
pub struct Game {
    pub start: String,
    pub moves: Vec<String>,
    /// Changes by each move.
    pub moved: Vec<DirtyPieces>,
    /// Before the first move and after each.
    pub positions: Vec<Position>,
}

impl Game {
    /// `FEN moves e2e4 ...`
    pub fn line(&self) -> String {
        let separator = if self.moves.is_empty() { "" } else { " moves " };
        format!("{}{separator}{}", self.start, self.moves.join(" "))
    }

    pub fn last(&self) -> &Position {
        self.positions.last().expect("a game has a start")
    }
}

pub fn part(i: usize) -> impl Iterator<Item = &'static Game> {
    GAMES.iter().skip(i).step_by(20)
}

/// Random games of up to 160 half-moves, every other one of Chess960.
fn games(count: usize, seed: u64) -> Vec<Game> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count)
        .map(|i| {
            let mode = [CastlingMode::Standard, CastlingMode::Chess960][i % 2];
            game(mode, random.random_range(0..=160), &mut random)
        })
        .collect()
}

pub fn positions(count: usize, seed: u64) -> Vec<Position> {
    let mut positions: Vec<Position> =
        games(count / 40 + 10, seed).into_iter().flat_map(|game| game.positions).collect();
    assert!(positions.len() >= count, "games are too short");
    positions.truncate(count);
    positions
}

fn game(mode: CastlingMode, length: usize, random: &mut Xoshiro256PlusPlus) -> Game {
    let mut chess = start(mode, random);
    let fen = |chess: &Chess| Fen::from_position(chess, EnPassantMode::Legal).to_string();
    let mut game = Game { start: fen(&chess), ..Game::default() };
    game.positions.push(Position::from_chess(&chess));
    while game.moves.len() < length {
        let moves = chess.legal_moves();
        if moves.is_empty() || chess.is_insufficient_material() {
            break;
        }
        // Rare moves are chosen every other time that there are any.
        let rare: Vec<Move> = moves.iter().copied().filter(is_rare).collect();
        let among = if rare.is_empty() || random.random() { &moves[..] } else { &rare[..] };
        let chosen = among[random.random_range(0..among.len())];
        game.moves.push(chosen.to_uci(mode).to_string());
        game.moved.push(DirtyPieces::from_move(chess.turn(), &chosen));

        chess.play_unchecked(chosen);
        game.positions.push(Position::from_chess(&chess));
    }
    game
}

fn start(mode: CastlingMode, random: &mut Xoshiro256PlusPlus) -> Chess {
    let mut setup = Setup::initial();
    if mode.is_chess960() {
        setup.board = Board::chess960(random.random_range(0..960));
        setup.castling_rights = setup.board.rooks();
    }
    Chess::from_setup(setup, mode).expect("starts are legal")
}

fn is_rare(m: &Move) -> bool {
    m.is_castle() || m.is_en_passant() || m.is_promotion()
}
