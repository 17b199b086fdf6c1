//! The engine side of UCI, the Universal Chess Interface (Meyer-Kahlen and Huber, 2000): commands
//! and answers. It reads no input, prints nothing and has no clock.

use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, Move};

use crate::score::Score;
use crate::search::{Limits, SearchGame, SearchResult};

#[derive(Clone, Debug)]
pub enum UciCommand {
    Uci,
    IsReady,
    NewGame,
    Set {
        name: String,
        value: String,
    },
    Position(Box<SearchGame>),
    Go(GoCommand),
    Stop,
    Quit,
    /// Extension: prints the value of the evaluation.
    Eval,
    /// Extension: prints the position as FEN.
    Show,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoCommand {
    pub limits: Limits,
    /// Milliseconds for this move.
    pub movetime: Option<u64>,
    /// Clocks of White and Black.
    pub clocks: [Option<Clock>; 2],
    /// Whether to search until the command `stop`.
    pub infinite: bool,
    /// Moves to search; all if empty.
    pub searchmoves: Vec<UciMove>,
}

impl GoCommand {
    /// The time for the side to move, less `overhead` milliseconds; none without a limit.
    pub fn time_budget(&self, turn: Color, overhead: u64) -> Option<Budget> {
        if self.infinite {
            return None;
        }
        let clock = self.clocks[turn.fold_wb(0, 1)];
        match self.movetime {
            Some(time) => Some(Budget::exact_time(time, overhead)),
            None => clock.map(|clock| clock.divide_time(overhead)),
        }
    }

    /// Whether no limit ends the search within about a day, so that it has to be stopped.
    pub fn is_endless(&self, turn: Color, overhead: u64) -> bool {
        let Limits { depth, nodes, .. } = self.limits;
        let is_timed = self.time_budget(turn, overhead).is_some_and(|budget| budget.hard < DAY);
        let is_small = depth.is_some_and(|depth| depth < ENDLESS_DEPTH)
            || nodes.is_some_and(|nodes| nodes < ENDLESS_NODES);
        self.infinite || !(is_timed || is_small)
    }
}

const DAY: u64 = 86_400_000;
/// Limits that searches of positions with a choice do not reach within a day.
const ENDLESS_DEPTH: u32 = 64;
const ENDLESS_NODES: u64 = 1 << 37;

/// Parses a line; none without a known command. Fails if the arguments of a command are wrong.
pub fn parse_command(line: &str, mode: CastlingMode) -> Result<Option<UciCommand>, String> {
    let mut words = line.split_ascii_whitespace();
    while let Some(word) = words.next() {
        return Ok(Some(match word {
            "uci" => UciCommand::Uci,
            "isready" => UciCommand::IsReady,
            "ucinewgame" => UciCommand::NewGame,
            "setoption" => parse_option(words),
            "position" => UciCommand::Position(Box::new(parse_position(words, mode)?)),
            "go" => UciCommand::Go(parse_go(words)),
            "stop" => UciCommand::Stop,
            "quit" => UciCommand::Quit,
            "eval" => UciCommand::Eval,
            "d" => UciCommand::Show,
            // Words before the first command are skipped.
            _ => continue,
        }));
    }
    Ok(None)
}

/// Parses `name NAME [value VALUE]`, both of any number of words.
fn parse_option<'a>(words: impl Iterator<Item = &'a str>) -> UciCommand {
    let (mut name, mut value) = (Vec::new(), Vec::new());
    let mut in_value = false;
    for word in words {
        match (word, in_value) {
            ("name", false) if name.is_empty() => {}
            ("value", false) => in_value = true,
            (word, false) => name.push(word),
            (word, true) => value.push(word),
        }
    }
    UciCommand::Set { name: name.join(" "), value: value.join(" ") }
}

/// Parses `startpos | fen FEN`, then `moves MOVE...`.
fn parse_position<'a>(
    mut words: impl Iterator<Item = &'a str>,
    mode: CastlingMode,
) -> Result<SearchGame, String> {
    let chess = match words.next() {
        Some("startpos") => match words.next() {
            None | Some("moves") => Chess::default(),
            Some(word) => return Err(format!("`{word}` where `moves` is expected")),
        },
        Some("fen") => {
            let fen: Vec<&str> = words.by_ref().take_while(|word| *word != "moves").collect();
            let fen = fen.join(" ");
            let parsed: Fen =
                fen.parse().map_err(|error| format!("`{fen}` is not a FEN: {error}"))?;
            let position = parsed.into_position(mode);
            position.map_err(|error| format!("`{fen}` is not a legal position: {error}"))?
        }
        _ => return Err("`position` is followed by `startpos` or `fen`".into()),
    };
    let mut game = SearchGame::new(chess);
    for word in words {
        let played = word.parse::<UciMove>().ok().and_then(|it| it.to_move(game.chess()).ok());
        game.play_move(played.ok_or_else(|| format!("`{word}` is not a legal move"))?);
    }
    Ok(game)
}

/// The largest number of a command, so that sums and products of times fit.
const LARGEST: f64 = (1u64 << 53) as f64;

/// Reads any arguments, since every `go` needs a move; invalid numbers are ignored.
fn parse_go<'a>(words: impl Iterator<Item = &'a str>) -> GoCommand {
    let mut words = words.peekable();
    let mut go = GoCommand::default();
    let (mut times, mut increments, mut to_go) = ([None; 2], [0; 2], None);
    while let Some(word) = words.next() {
        // Some interfaces send fractions, or a negative time when the clock has run out.
        let mut number = || {
            let value = words.next_if_map(|value| value.parse::<f64>().map_err(|_| value));
            value.filter(|value| !value.is_nan()).map(|value| value.clamp(0.0, LARGEST) as u64)
        };
        match word {
            "infinite" => go.infinite = true,
            "depth" => {
                let depth = number().map(|depth| depth.clamp(1, u32::MAX.into()) as u32);
                go.limits.depth = depth;
            }
            "nodes" => go.limits.nodes = number().map(|nodes| nodes.max(1)),
            "movetime" => go.movetime = number(),
            "wtime" => times[0] = number(),
            "btime" => times[1] = number(),
            "winc" => increments[0] = number().unwrap_or(0),
            "binc" => increments[1] = number().unwrap_or(0),
            "movestogo" => to_go = number().map(|moves| moves.max(1)),
            "searchmoves" => {
                let mut next =
                    || words.next_if_map(|word| word.parse::<UciMove>().map_err(|_| word));
                go.searchmoves.extend(std::iter::from_fn(&mut next));
            }
            _ => {}
        }
    }
    // If only one side has a clock, the other side's has run out.
    let is_timed = times != [None; 2] && go.limits == Limits::default();
    for side in 0..2 {
        let clock = |time| Clock { time, increment: increments[side], moves_to_go: to_go };
        go.clocks[side] = times[side].or(is_timed.then_some(0)).map(clock);
    }
    let timeless = go.movetime.is_none() && go.clocks == [None; 2];
    go.infinite |= timeless && go.limits == Limits::default();
    go
}

pub fn format_move(played: Move, mode: CastlingMode) -> String {
    UciMove::from_move(played, mode).to_string()
}

/// Formats the `info` line of an iteration, `milliseconds` after the start.
pub fn format_info(result: &SearchResult, milliseconds: u64, mode: CastlingMode) -> String {
    let SearchResult { score, pv, depth, seldepth, nodes } = result;
    let score = match score {
        Score::Centipawns(score) => format!("cp {score}"),
        Score::Mate(moves) => format!("mate {moves}"),
    };
    let speed = nodes * 1000 / milliseconds.max(1);
    let pv: String = pv.iter().map(|&played| format!(" {}", format_move(played, mode))).collect();
    let pv = if pv.is_empty() { pv } else { format!(" pv{pv}") };
    format!(
        "info depth {depth} seldepth {seldepth} score {score} nodes {nodes} nps {speed} \
         time {milliseconds}{pv}"
    )
}

/// Formats the last line of a search; `0000` if there is no move.
pub fn format_best_move(best: Option<Move>, mode: CastlingMode) -> String {
    format!("bestmove {}", best.map_or("0000".into(), |best| format_move(best, mode)))
}

/// The clock of a side, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    pub time: u64,
    pub increment: u64,
    /// The number of moves until more time is added; None if no time is added.
    pub moves_to_go: Option<u64>,
}

/// The time for a move, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The time after which no new iteration starts: it would hardly finish.
    pub soft: u64,
    pub hard: u64,
}

/// The estimated number of remaining moves, if the clock does not give it.
const MOVES: u64 = 25;

impl Clock {
    /// Divides the clock, less `overhead` a move, among the remaining moves.
    pub fn divide_time(self, overhead: u64) -> Budget {
        let Self { time, increment, moves_to_go } = self;
        let left = time.saturating_sub(overhead).max(1);
        let moves = moves_to_go.unwrap_or(MOVES).min(MOVES);
        // Most of the increment is regained; the last move before more time may use everything.
        let share = left / moves + increment * 3 / 4;
        let limit = if moves == 1 { left } else { left * 2 / 5 };
        let hard = (share * 3).min(limit).max(1);
        Budget { soft: (share / 2).clamp(1, hard), hard }
    }
}

impl Budget {
    /// A fixed time less the overhead.
    pub fn exact_time(time: u64, overhead: u64) -> Self {
        let time = time.saturating_sub(overhead).max(1);
        Self { soft: time, hard: time }
    }
}
