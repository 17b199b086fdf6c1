#!/usr/bin/env bash
# Surprise: most scores that Stockfish gives after a fixed number of nodes are only bounds.
# Package: Debian stockfish 15.1-4
# Behaviour: `go nodes N` stops in the middle of an iteration. The last line with a score shows the
#   state of that iteration, and it is usually marked `upperbound` or `lowerbound`, because the root
#   search was failing low or high when it was cut off. `go depth N` ends with exact scores. A
#   reader that takes the last score uses bounds as values. A reader that skips bounds loses most
#   positions, and selects those with a stable search. The last exact score stands some lines above.
# Guess: one score in ten is a bound.
# Seen: go nodes 5000: exact 24, lowerbound 2, upperbound 34
#   go nodes 20000: exact 24, lowerbound 11, upperbound 25
#   go depth 9: exact 60, lowerbound 0, upperbound 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

apt-get -qq download stockfish=15.1-4 2>apt.log || { cat apt.log; exit 2; }
dpkg -x stockfish_*.deb .

cat >ask.py <<'EOF'
import subprocess

engine = subprocess.Popen(
    ["usr/games/stockfish"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
)


def ask(command, last):
    engine.stdin.write(command + "\n")
    lines = []
    while not lines or not lines[-1].startswith(last):
        lines.append(engine.stdout.readline().strip())
    return lines


def kinds(limit):
    """How the last score of 60 searches along a game is marked."""
    count = {"exact": 0, "lowerbound": 0, "upperbound": 0}
    moves = []
    for _ in range(60):
        ask("ucinewgame\nisready", "readyok")
        lines = ask(f"position startpos moves {' '.join(moves)}\ngo {limit}", "bestmove")
        words = [line for line in lines if " score " in line][-1].split()
        mark = words[words.index("score") + 3]
        count[mark if mark in count else "exact"] += 1
        moves.append(lines[-1].split()[1])
    return ", ".join(f"{name} {number}" for name, number in count.items())


ask("uci", "uciok")
for limit in ["nodes 5000", "nodes 20000", "depth 9"]:
    print(f"go {limit}: {kinds(limit)}")
engine.communicate("quit\n")
EOF
python3 ask.py | tee seen

cat >expected <<'EOF'
go nodes 5000: exact 24, lowerbound 2, upperbound 34
go nodes 20000: exact 24, lowerbound 11, upperbound 25
go depth 9: exact 60, lowerbound 0, upperbound 0
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
