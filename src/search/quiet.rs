//! Quiescence: an evaluation is asked only where no capture is pending.

use shakmaty::{Chess, Position as _};

use super::order::exchange;
use super::order::{Packed, Picker, is_quiet};
use super::table::{Bound, Found};
use super::tree::{INFINITE, Tree, sharper};
use super::{MATES, MOST_PLIES};
use crate::score::Score;

impl Tree<'_> {
    /// The score after captures and promotions alone, or all moves in check.
    pub(super) fn quiesce(
        &mut self,
        chess: &Chess,
        [mut alpha, beta]: [i32; 2],
        ply: usize,
    ) -> i32 {
        self.clear_pv(ply);
        self.reached = self.reached.max(ply);
        if ply > 0 && self.is_drawn(chess) {
            return 0;
        }
        if ply >= MOST_PLIES {
            return self.value();
        }
        let (on_pv, key) = (beta - alpha > 1, self.key());
        let found = self.table.find(key, ply);
        if let Some(found) = found.filter(|it| !on_pv && it.answers([alpha, beta], chess)) {
            return found.score;
        }
        let in_check = chess.is_check();
        let value = self.look(in_check, found);
        let (mut best, mut best_move, lowest) = (-INFINITE, Packed::default(), alpha);
        if let Some(value) = value {
            best = sharper(value, found);
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
        let first = found.map_or(Packed::default(), |found| found.best);
        let mut picker = Picker::new(chess, &mut moves, first, Default::default(), self.history);
        while let Some(played) = picker.pick() {
            if !in_check {
                if picker.is_losing() {
                    break;
                }
                // So far below alpha, only material can help.
                let hope = stand + self.margins.hope();
                if hope <= alpha && exchange(chess, played) <= 0 {
                    best = best.max(hope);
                    continue;
                }
            } else if best > -MATES && is_quiet(played) {
                // One evasion is known that is not mate; the others are tried if they take.
                continue;
            }
            if self.is_over() {
                return 0;
            }
            let after = self.play(chess, played);
            let score = -self.quiesce(&after, [-beta, -alpha], ply + 1);
            self.undo();
            if self.is_stopped {
                return 0;
            }
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    best_move = Packed::of(played);
                    if on_pv {
                        self.extend(ply, played);
                    }
                    if score >= beta {
                        break;
                    }
                }
            }
        }
        let bound = Bound::of(best, [lowest, beta]);
        self.table.keep(key, ply, &Found { score: best, bound, depth: 0, value, best: best_move });
        best
    }
}
