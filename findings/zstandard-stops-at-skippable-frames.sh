#!/usr/bin/env bash
# Surprise: two readers of a library find nothing in a file that its other readers read.
# Packages: PyPI zstandard 0.25.0; pzstd of Debian zstd 1.5.4+dfsg2-5
# Behaviour: pzstd writes a frame without content before each frame with content, to note its
#   size; large public databases of games are packed so. `read_to_iter` and `decompressobj` take
#   that first frame for the whole file and end well, with nothing; a loop over their pieces has no
#   games to complain about. `stream_reader` crosses frames when it is read piece by piece or to its
#   end, and `copy_stream` does; but one `read(size)` returns at the end of a frame, however large
#   the size is. `read_across_frames` exists for `stream_reader` alone.
# Guess: all read all, or all need the same option.
# Seen: stream_reader, line by line   200000
#   stream_reader.read(2**30)     123184
#   copy_stream                   200000
#   read_to_iter                  0
#   decompressobj                 0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 -m venv env
env/bin/pip install -q zstandard==0.25.0
apt-get -qq download zstd=1.5.4+dfsg2-5 2>apt.log || { cat apt.log; exit 2; }
dpkg -x zstd_*.deb .

for i in $(seq 1 200000); do
    echo "line $i rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
done >lines.txt
usr/bin/pzstd -q -p 2 lines.txt -o lines.zst

cat >read.py <<'EOF'
import io

import zstandard


def count(name, read):
    with open("lines.zst", "rb") as file:
        print(f"{name:29} {read(zstandard.ZstdDecompressor(), file)}")


def copied(zstd, file):
    out = io.BytesIO()
    zstd.copy_stream(file, out)
    return out.getvalue().count(b"\n")


count("stream_reader, line by line", lambda zstd, file: sum(1 for _ in io.TextIOWrapper(zstd.stream_reader(file))))
count("stream_reader.read(2**30)", lambda zstd, file: zstd.stream_reader(file).read(2**30).count(b"\n"))
count("copy_stream", copied)
count("read_to_iter", lambda zstd, file: sum(piece.count(b"\n") for piece in zstd.read_to_iter(file)))
count("decompressobj", lambda zstd, file: zstd.decompressobj().decompress(file.read()).count(b"\n"))
EOF
env/bin/python read.py | tee seen

cat >expected <<'EOF'
stream_reader, line by line   200000
stream_reader.read(2**30)     123184
copy_stream                   200000
read_to_iter                  0
decompressobj                 0
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
