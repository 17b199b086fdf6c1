#!/usr/bin/env bash
# Surprise: Stockfish silently ignores all moves from the first castling on that chessops writes.
# Packages: npm chessops 0.15.1; Debian stockfish 15.1-4
# Behaviour: `makeUci` writes castling as the king's move onto its own rook (e1h1), in standard chess
#   too. Stockfish expects e1g1 unless UCI_Chess960 is set. It stops reading at the first move that it
#   does not know, prints no error, and searches the position before that move. Its answer is a legal
#   move and a plausible score of an earlier position, perhaps with the other side to move.
# Guess: e1g1 is written, or Stockfish prints an error.
# Seen: e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1h1 f6e4 f1e1 e4d6
#   chessops:            r1bqkb1r/pppp1ppp/2nn4/1B2p3/8/5N2/PPPP1PPP/RNBQR1K1 w kq - 2 6
#   Stockfish:           r1bqkb1r/pppp1ppp/2n2n2/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4
#   with UCI_Chess960:   r1bqkb1r/pppp1ppp/2nn4/1B2p3/8/5N2/PPPP1PPP/RNBQR1K1 w ha - 2 6
#   lines with an error: 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

npm install --silent --no-audit --no-fund --prefix . chessops@0.15.1
apt-get -qq download stockfish=15.1-4 2>apt.log || { cat apt.log; exit 2; }
dpkg -x stockfish_*.deb .

cat >write.mjs <<'EOF'
import { Chess } from 'chessops/chess';
import { makeFen } from 'chessops/fen';
import { parseSan } from 'chessops/san';
import { makeUci } from 'chessops/util';

const position = Chess.default();
const moves = [];
for (const san of 'e4 e5 Nf3 Nc6 Bb5 Nf6 O-O Nxe4 Re1 Nd6'.split(' ')) {
  const move = parseSan(position, san);
  moves.push(makeUci(move));
  position.play(move);
}
console.log(moves.join(' '));
console.log(makeFen(position.toSetup()));
EOF
node write.mjs >written
moves=$(head -1 written)

fen() { # what Stockfish stands at after these moves, with these options
    printf '%s\nposition startpos moves %s\nd\nquit\n' "$1" "$moves" | usr/games/stockfish >"$2"
    sed -n 's/^Fen: //p' "$2"
}
{
    echo "$moves"
    echo "chessops:            $(tail -1 written)"
    echo "Stockfish:           $(fen uci plain.log)"
    echo "with UCI_Chess960:   $(fen 'setoption name UCI_Chess960 value true' chess960.log)"
    echo "lines with an error: $(grep -ciE 'illegal|invalid|unknown|error' plain.log || true)"
} | tee seen

cat >expected <<'EOF'
e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1h1 f6e4 f1e1 e4d6
chessops:            r1bqkb1r/pppp1ppp/2nn4/1B2p3/8/5N2/PPPP1PPP/RNBQR1K1 w kq - 2 6
Stockfish:           r1bqkb1r/pppp1ppp/2n2n2/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4
with UCI_Chess960:   r1bqkb1r/pppp1ppp/2nn4/1B2p3/8/5N2/PPPP1PPP/RNBQR1K1 w ha - 2 6
lines with an error: 0
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
