#!/usr/bin/env bash
# Surprise: two readers of a library find nothing in a file that its other readers read.
# Packages: PyPI zstandard 0.25.0; pzstd of Debian zstd 1.5.4+dfsg2-5
# Behaviour: pzstd writes a skippable frame before each frame of data, with the size of that frame;
#   large public databases of games are written like this. `read_to_iter` and `decompressobj` stop
#   after the first frame, which is empty, without an error, so a loop over the games does nothing.
#   `copy_stream` reads all frames, and so does `stream_reader` when it is read in pieces or to the
#   end. But `stream_reader(...).read(size)` returns at the end of a frame, however large the size
#   is, unless `read_across_frames` is set. The others have no such option.
# Guess: all read all frames, or all need the same option.
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


def copy(zstd, file):
    out = io.BytesIO()
    zstd.copy_stream(file, out)
    return [out.getvalue()]


for name, read in {
    "stream_reader, line by line": lambda zstd, file: io.TextIOWrapper(zstd.stream_reader(file)),
    "stream_reader.read(2**30)": lambda zstd, file: [zstd.stream_reader(file).read(2**30)],
    "copy_stream": copy,
    "read_to_iter": lambda zstd, file: zstd.read_to_iter(file),
    "decompressobj": lambda zstd, file: [zstd.decompressobj().decompress(file.read())],
}.items():
    with open("lines.zst", "rb") as file:
        pieces = read(zstandard.ZstdDecompressor(), file)
        lines = sum(piece.count("\n" if isinstance(piece, str) else b"\n") for piece in pieces)
    print(f"{name:29} {lines}")
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
