//! The search tree: alpha-beta with a principal variation. A mate in `ply` is `Score::MATE - ply`.

use std::sync::{
    LazyLock,
    atomic::{AtomicBool, Ordering},
};

use shakmaty::{Chess, Move, MoveList, Position as _};

use super::order::{History, PackedMove, Picker, is_quiet, static_exchange};
use super::table::{ScoreBound, TableHit, TranspositionTable};
use super::{Evaluate, MATES, MAX_PLIES, SearchGame, follow_move, position_key};
use crate::features::DirtyPieces;
use crate::sample::Position;
use crate::score::Score;

/// A number above every score.
pub const INFINITE: i32 = Score::MATE + 1;
/// Nodes between two checks of the stop flag.
const POLL: u64 = 256;
/// Largest number of quiet moves that get a malus when a later move causes a cutoff.
const TRIED: usize = 32;

/// State of each node on the path from the root.
#[derive(Clone, Debug, Default)]
struct SearchFrame {
    /// Static evaluation; None in check.
    value: Option<i32>,
    /// Quiet moves that caused cutoffs here, the latest first.
    killers: [PackedMove; 2],
    pv: Vec<Move>,
}

pub struct SearchTree<'a> {
    pub(super) evaluation: &'a mut dyn Evaluate,
    pub(super) table: &'a mut TranspositionTable,
    pub(super) history: &'a mut History,
    pub(super) margins: Margins,
    stop: &'a AtomicBool,
    /// Number of evaluated positions: one per played move.
    pub nodes: u64,
    most_nodes: u64,
    /// Whether the search was stopped; its results are then meaningless.
    pub is_stopped: bool,
    /// Half-moves of the iteration.
    pub depth: i32,
    /// Half-moves of the longest path so far.
    pub reached: usize,
    /// Score of the root's best move so far, if it is exact.
    pub so_far: Option<i32>,
    /// Hashes of the game's positions and of the path from the root.
    keys: Vec<u64>,
    root: usize,
    /// The moves of the root.
    pub(super) moves: MoveList,
    /// Index in `keys` after the last null move, which no repetition crosses.
    passed: usize,
    frames: Vec<SearchFrame>,
}

impl<'a> SearchTree<'a> {
    pub fn new(
        game: &SearchGame,
        evaluation: &'a mut dyn Evaluate,
        (table, history): (&'a mut TranspositionTable, &'a mut History),
        margins: Margins,
        most_nodes: u64,
        stop: &'a AtomicBool,
    ) -> Self {
        evaluation.refresh(&Position::from_chess(game.chess()));
        let keys = game.keys.clone();
        let root = keys.len() - 1;
        let frames = vec![SearchFrame::default(); MAX_PLIES + 2];
        Self {
            evaluation,
            table,
            history,
            margins,
            stop,
            nodes: 0,
            most_nodes,
            is_stopped: false,
            depth: 0,
            reached: 0,
            so_far: None,
            keys,
            root,
            moves: game.legal_moves(),
            passed: 0,
            frames,
        }
    }

    /// Returns the principal variation of the last search of the root.
    pub fn pv(&self) -> &[Move] {
        &self.frames[0].pv
    }

    /// Searches a position to `depth` half-moves. Between `alpha` and `beta` the score is exact, else
    /// a bound. The best line of the root is in [`SearchTree::pv`].
    pub fn search_node(
        &mut self,
        chess: &Chess,
        [mut alpha, mut beta]: [i32; 2],
        mut depth: i32,
        ply: usize,
        may_pass: bool,
    ) -> i32 {
        self.frames[ply].pv.clear();
        if ply > 0 {
            if self.is_drawn(chess) {
                return 0;
            }
            // No line from here is better than mate in one, or worse than being mated now.
            alpha = alpha.max(ply as i32 - Score::MATE);
            beta = beta.min(Score::MATE - 1 - ply as i32);
            if alpha >= beta {
                return alpha;
            }
        }
        let in_check = chess.is_check();
        if in_check && ply < 2 * self.depth as usize {
            depth += 1;
        }
        if depth <= 0 || ply >= MAX_PLIES {
            return self.quiesce_node(chess, [alpha, beta], ply);
        }
        self.reached = self.reached.max(ply);
        let (on_pv, key) = (beta - alpha > 1, self.key());
        let hit = self.table.find_entry(key, ply);
        if let Some(hit) = hit.filter(|it| !on_pv && it.depth >= depth)
            && hit.is_sufficient([alpha, beta], chess)
        {
            return hit.score;
        }
        let value = self.static_value(in_check, hit);
        self.frames[ply].value = value;
        self.frames[ply + 1].killers = Default::default();
        let improves = match (value, ply.checked_sub(2).and_then(|ply| self.frames[ply].value)) {
            (Some(now), Some(before)) => now > before,
            (now, _) => now.is_some(),
        };
        let value = value.map(|value| sharpen_value(value, hit));
        if let Some(value) = value.filter(|_| !on_pv && beta.abs() < MATES) {
            // Reverse futility: the value is far enough above beta for a few moves.
            let margin = self.margins.reverse_margin(depth, improves);
            if depth <= 8 && value - margin >= beta {
                return value;
            }
            if may_pass && depth >= 3 && value >= beta {
                let score = self.try_null_move(chess, value, beta, depth, ply);
                if self.is_stopped {
                    return 0;
                }
                if let Some(score) = score.filter(|score| *score >= beta) {
                    return score.min(MATES);
                }
            }
        }
        let first = hit.map_or(PackedMove::default(), |hit| hit.best);
        if first.is_none() && depth >= 4 {
            // Without a first move, the search is shallower.
            depth -= 1;
        }
        let mut moves = if ply == 0 { self.moves.clone() } else { chess.legal_moves() };
        if moves.is_empty() {
            return if in_check { ply as i32 - Score::MATE } else { 0 };
        }
        let killers = self.frames[ply].killers;
        let mut picker = Picker::new(chess, &mut moves, first, killers, self.history);
        let (mut best, mut best_move, lowest) = (-INFINITE, PackedMove::default(), alpha);
        let (mut count, mut tried, mut quiets) = (0, [PackedMove::default(); TRIED], 0);
        while let Some(played) = picker.pick_next() {
            let (packed, quiet) = (PackedMove::from_move(played), is_quiet(played));
            let history_score = self.history.score_of(chess.turn(), packed);
            if ply > 0 && best > -MATES && !in_check {
                let futile = || {
                    value.is_some_and(|value| value + self.margins.futility_margin(depth) <= alpha)
                };
                if quiet
                    && depth <= 8
                    && (count >= late_move_count(depth, improves) || !on_pv && futile())
                {
                    continue;
                }
                if depth <= 6 && loses_material(chess, played, quiet, depth) {
                    continue;
                }
            }
            if self.is_over() {
                return 0;
            }
            let after = self.play_move(chess, played);
            count += 1;
            let (next, ply_after) = (depth - 1, ply + 1);
            let mut score = 0;
            let mut full_window = count == 1;
            if count > 1 {
                // It suffices to prove that moves after the first are no better.
                let mut reduction = 0;
                if depth >= 3 && quiet && count > 2 + i32::from(on_pv) {
                    reduction = late_move_reduction(depth, count) - i32::from(on_pv)
                        + i32::from(!improves)
                        - i32::from(killers.contains(&packed))
                        - i32::from(in_check)
                        - history_score / (History::LIMIT / 2);
                    reduction = reduction.clamp(0, next - 1);
                }
                let window = [-alpha - 1, -alpha];
                score = -self.search_node(&after, window, next - reduction, ply_after, true);
                if score > alpha && reduction > 0 && !self.is_stopped {
                    score = -self.search_node(&after, window, next, ply_after, true);
                }
                full_window = on_pv && score > alpha && !self.is_stopped;
            }
            if full_window {
                score = -self.search_node(&after, [-beta, -alpha], next, ply_after, true);
            }
            self.undo();
            if self.is_stopped {
                return 0;
            }
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    best_move = packed;
                    if on_pv {
                        self.extend_pv(ply, played);
                    }
                    if ply == 0 {
                        self.so_far = (score < beta).then_some(score);
                    }
                    if score >= beta {
                        if quiet {
                            self.learn_cutoff(chess, packed, &tried[..quiets], depth, ply);
                        }
                        break;
                    }
                }
            }
            if quiet && quiets < TRIED {
                tried[quiets] = packed;
                quiets += 1;
            }
        }
        // All moves may have been pruned.
        if best == -INFINITE {
            return alpha;
        }
        let bound = ScoreBound::from_window(best, [lowest, beta]);
        let value = self.frames[ply].value;
        let result = TableHit { score: best, bound, depth, value, best: best_move };
        self.table.store_entry(key, ply, &result);
        best
    }

    /// Tries a null move. None if the side to move has fewer than two pieces besides pawns.
    fn try_null_move(
        &mut self,
        chess: &Chess,
        value: i32,
        beta: i32,
        depth: i32,
        ply: usize,
    ) -> Option<i32> {
        let pieces = chess.us() & !chess.board().pawns() & !chess.board().kings();
        // With a single piece zugzwang is likely, in which a null move would be best.
        if pieces.count() < 2 || self.is_over() {
            return None;
        }
        let swapped = chess.clone().swap_turn();
        let after = swapped.or_else(shakmaty::PositionError::ignore_too_much_material).ok()?;
        let before = std::mem::replace(&mut self.passed, self.keys.len());
        self.nodes += 1;
        self.keys.push(position_key(&after));
        self.evaluation.play_move(None, &Position::from_chess(&after));
        let reduction = self.margins.null_move_reduction(depth, value - beta);
        let score = -self.search_node(&after, [-beta, 1 - beta], depth - reduction, ply + 1, false);
        self.undo();
        self.passed = before;
        Some(score)
    }

    /// Updates history and killers after a quiet move's cutoff. Moves tried before it get a malus.
    fn learn_cutoff(
        &mut self,
        chess: &Chess,
        best: PackedMove,
        tried: &[PackedMove],
        depth: i32,
        ply: usize,
    ) {
        let killers = &mut self.frames[ply].killers;
        if killers[0] != best {
            *killers = [best, killers[0]];
        }
        let bonus = (16 * depth * depth).min(History::LIMIT / 8);
        self.history.learn_bonus(chess.turn(), best, bonus);
        tried.iter().for_each(|packed| self.history.learn_bonus(chess.turn(), *packed, -bonus));
    }

    /// Writes a better move and its continuation into the principal variation.
    fn extend_pv(&mut self, ply: usize, played: Move) {
        let (frames, next_frames) = self.frames.split_at_mut(ply + 1);
        let pv = &mut frames[ply].pv;
        pv.clear();
        pv.push(played);
        pv.extend_from_slice(&next_frames[0].pv);
    }

    /// Returns the static evaluation of the position; None in check.
    fn static_value(&mut self, in_check: bool, hit: Option<TableHit>) -> Option<i32> {
        if in_check {
            return None;
        }
        Some(hit.and_then(|hit| hit.value).unwrap_or_else(|| self.evaluate_position()))
    }

    pub(super) fn evaluate_position(&mut self) -> i32 {
        self.evaluation.value().clamp(-MATES, MATES)
    }

    fn key(&self) -> u64 {
        self.keys[self.keys.len() - 1]
    }

    fn play_move(&mut self, chess: &Chess, played: Move) -> Chess {
        let (after, key) = follow_move(chess, self.key(), played);
        self.table.prefetch_entries(key);
        self.nodes += 1;
        self.keys.push(key);
        let moved = DirtyPieces::from_move(chess.turn(), &played);
        self.evaluation.play_move(Some(&moved), &Position::from_chess(&after));
        after
    }

    fn undo(&mut self) {
        self.keys.pop();
        self.evaluation.undo_move();
    }

    /// Returns whether to stop; called before each move.
    fn is_over(&mut self) -> bool {
        let is_requested = || self.nodes.is_multiple_of(POLL) && self.stop.load(Ordering::Relaxed);
        self.is_stopped = self.is_stopped || self.nodes >= self.most_nodes || is_requested();
        self.is_stopped
    }

    /// Returns whether the position is drawn by rule. A repetition within this search is a draw at
    /// once, since it adds nothing. A position of the game needs its third occurrence.
    fn is_drawn(&self, chess: &Chess) -> bool {
        if chess.halfmoves() >= 100 && !chess.is_checkmate() {
            return true;
        }
        let last = self.keys.len() - 1;
        let first = self.passed.max(last.saturating_sub(chess.halfmoves() as usize));
        let mut occurrences = 0;
        for index in (first..last.saturating_sub(3)).rev().step_by(2) {
            if self.keys[index] == self.keys[last] {
                occurrences += 1;
                if index >= self.root || occurrences == 2 {
                    return true;
                }
            }
        }
        chess.is_insufficient_material()
    }
}

/// Returns the static value, or the table's score if its bound is tighter.
fn sharpen_value(value: i32, hit: Option<TableHit>) -> i32 {
    match hit {
        Some(TableHit { score, .. }) if score.abs() > MATES => value,
        Some(TableHit { score, bound: ScoreBound::Exact, .. }) => score,
        Some(TableHit { score, bound: ScoreBound::Lower, .. }) => value.max(score),
        Some(TableHit { score, bound: ScoreBound::Upper, .. }) => value.min(score),
        None => value,
    }
}

/// A separate quiescence search without window and table.
#[derive(Debug)]
pub struct Quiescence {
    table: TranspositionTable,
    history: History,
    margins: Margins,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietEnd {
    /// Centipawns for the side to move at the beginning.
    pub score: i32,
    /// The position whose evaluation is the score.
    pub position: Position,
    /// Half-moves to that position.
    pub plies: usize,
    /// Whether the score is a mate or a draw by the rules, not an evaluation.
    pub is_decided: bool,
}

impl QuietEnd {
    /// Returns +1, or -1 if the other side is to move at the end.
    pub fn sign(&self) -> i32 {
        if self.plies.is_multiple_of(2) { 1 } else { -1 }
    }
}

/// Node limit of one search: far more than the captures of a position in practice.
const MAX_NODES: u64 = 1 << 16;

impl Quiescence {
    /// Creates a search with margins at the scale of a [`SearchSettings`](super::SearchSettings).
    pub fn new(scale: f64) -> Self {
        Self {
            table: TranspositionTable::default(),
            history: History::new(),
            margins: Margins::new(scale),
        }
    }

    /// Searches each legal move for its mover's score; None beyond the node limit.
    pub fn moves(
        &mut self,
        chess: &Chess,
        evaluation: &mut dyn Evaluate,
    ) -> Option<Vec<(Move, QuietEnd)>> {
        let search_move = |played: Move| {
            let mut after = chess.clone();
            after.play_unchecked(played);
            let end = self.find_quiet_end(&after, evaluation)?;
            let drawn = after.is_insufficient_material() || after.halfmoves() >= 100;
            let is_decided = end.is_decided || drawn;
            Some((played, QuietEnd { score: -end.score, plies: end.plies + 1, is_decided, ..end }))
        };
        chess.legal_moves().into_iter().map(search_move).collect()
    }

    /// Searches a position; None beyond the node limit.
    pub fn find_quiet_end(
        &mut self,
        chess: &Chess,
        evaluation: &mut dyn Evaluate,
    ) -> Option<QuietEnd> {
        let game = SearchGame::new(chess.clone());
        let stop = AtomicBool::new(false);
        let memory = (&mut self.table, &mut self.history);
        let mut tree = SearchTree::new(&game, evaluation, memory, self.margins, MAX_NODES, &stop);
        let score = tree.quiesce_node(chess, [-INFINITE, INFINITE], 0);
        if tree.is_stopped {
            return None;
        }
        let (mut end, plies) = (chess.clone(), tree.pv().len());
        tree.pv().iter().for_each(|&played| end.play_unchecked(played));
        let drawn = end.is_insufficient_material() || end.halfmoves() >= 100;
        let is_decided = score.abs() > MATES || plies > 0 && drawn || end.is_stalemate();
        Some(QuietEnd { score, position: Position::from_chess(&end), plies, is_decided })
    }
}

/// Margins in centipawns of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Margins {
    reverse: i32,
    futility: i32,
    /// Largest gain besides the captured material that quiescence expects.
    pub hope: i32,
    /// Half-width of the first window around the last iteration's score.
    pub window: i32,
    /// Evaluation above beta that reduces a null move by another half-move.
    null_move: i32,
}

impl Margins {
    /// Creates margins for evaluations whose expected result is `sigmoid(cp / scale)`.
    pub fn new(scale: f64) -> Self {
        assert!(scale > 0.0 && scale.is_finite(), "a scale is above 0 and finite");
        // Bounded like scores, so that sums of a few of them fit.
        let margin = |percent: f64| (scale * percent / 100.0).clamp(1.0, 30_000.0).round() as i32;
        Self {
            reverse: margin(60.0),
            futility: margin(60.0),
            hope: margin(120.0),
            window: margin(12.0),
            null_move: margin(160.0),
        }
    }

    /// Returns the distance above beta that reverse futility requires.
    pub fn reverse_margin(&self, depth: i32, improves: bool) -> i32 {
        self.reverse * (depth - i32::from(improves))
    }

    /// Returns the gain of a quiet move that futility expects.
    pub fn futility_margin(&self, depth: i32) -> i32 {
        self.futility * (depth + 1)
    }

    /// Returns the depth reduction of a null move, by depth and evaluation above beta.
    pub fn null_move_reduction(&self, depth: i32, above: i32) -> i32 {
        4 + depth / 4 + (above / self.null_move).min(3)
    }
}

/// Returns whether a move loses more material on its square than `depth` half-moves can win back.
fn loses_material(chess: &Chess, played: Move, quiet: bool, depth: i32) -> bool {
    static_exchange(chess, played) < if quiet { -60 * depth } else { -100 * depth }
}

/// Returns the number of moves after which quiet ones are pruned near the leaves.
fn late_move_count(depth: i32, improves: bool) -> i32 {
    (3 + depth * depth) / if improves { 1 } else { 2 }
}

/// Returns the depth reduction of a late quiet move, before adjustments.
fn late_move_reduction(depth: i32, count: i32) -> i32 {
    let index = |number: i32| number.clamp(0, SIDE as i32 - 1) as usize;
    REDUCTIONS[index(depth)][index(count)]
}

const SIDE: usize = 64;
/// Depth reductions by depth and move count, from the product of their logarithms, as usual.
static REDUCTIONS: LazyLock<[[i32; SIDE]; SIDE]> = LazyLock::new(|| {
    let ln = |number: usize| (number.max(1) as f64).ln();
    std::array::from_fn(|depth| {
        std::array::from_fn(|count| (0.8 + ln(depth) * ln(count) / 2.4) as i32)
    })
});

impl SearchTree<'_> {
    /// Searches captures and promotions only, or all moves in check, and returns the score.
    fn quiesce_node(&mut self, chess: &Chess, [mut alpha, beta]: [i32; 2], ply: usize) -> i32 {
        self.frames[ply].pv.clear();
        self.reached = self.reached.max(ply);
        if ply > 0 && self.is_drawn(chess) {
            return 0;
        }
        if ply >= MAX_PLIES {
            return self.evaluate_position();
        }
        let (on_pv, key) = (beta - alpha > 1, self.key());
        let hit = self.table.find_entry(key, ply);
        if let Some(hit) = hit.filter(|it| !on_pv && it.is_sufficient([alpha, beta], chess)) {
            return hit.score;
        }
        let in_check = chess.is_check();
        let value = self.static_value(in_check, hit);
        let (mut best, mut best_move, lowest) = (-INFINITE, PackedMove::default(), alpha);
        if let Some(value) = value {
            best = sharpen_value(value, hit);
            if best >= beta {
                return best;
            }
            alpha = alpha.max(best);
        }
        let stand = best;
        let mut moves = chess.legal_moves();
        if moves.is_empty() {
            return if in_check { ply as i32 - Score::MATE } else { 0 };
        }
        if !in_check {
            moves.retain(|played| !is_quiet(*played));
        }
        let first = hit.map_or(PackedMove::default(), |hit| hit.best);
        let mut picker = Picker::new(chess, &mut moves, first, Default::default(), self.history);
        while let Some(played) = picker.pick_next() {
            if !in_check {
                if picker.is_losing() {
                    break;
                }
                // If the value is so far below alpha, only material can help.
                let hope = stand + self.margins.hope;
                if hope <= alpha && static_exchange(chess, played) <= 0 {
                    best = best.max(hope);
                    continue;
                }
            } else if best > -MATES && is_quiet(played) {
                // One evasion without mate is known; others are tried if they capture.
                continue;
            }
            if self.is_over() {
                return 0;
            }
            let after = self.play_move(chess, played);
            let score = -self.quiesce_node(&after, [-beta, -alpha], ply + 1);
            self.undo();
            if self.is_stopped {
                return 0;
            }
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    best_move = PackedMove::from_move(played);
                    if on_pv {
                        self.extend_pv(ply, played);
                    }
                    if score >= beta {
                        break;
                    }
                }
            }
        }
        let bound = ScoreBound::from_window(best, [lowest, beta]);
        let result = TableHit { score: best, bound, depth: 0, value, best: best_move };
        self.table.store_entry(key, ply, &result);
        best
    }
}
