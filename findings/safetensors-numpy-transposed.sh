#!/usr/bin/env bash
# Surprise: a transposed matrix is saved with the numbers in the wrong places, without a word.
# Packages: PyPI safetensors 0.8.0 (0.7.0 beside it), numpy 2.4.6
# Behaviour: `safetensors.numpy.save` writes the memory of an array as it lies there, and the shape
#   as if it lay row by row. Weights that are turned for another program (`w.T`), columns first
#   (`order="F"`), or come out of a decomposition lie column by column. 0.7.0 saved them rightly.
#   Shapes, types, sizes and a sum over all weights are right in the file; the net plays badly.
#   `numpy.ascontiguousarray(w.T)` is saved rightly by both.
# Guess: what is loaded is what was saved, or an error, as for tensors of torch.
# Seen: 0.7.0: saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 3], [1, 4], [2, 5]]
#   0.8.0: saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 1], [2, 3], [4, 5]]
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 -m venv env
env/bin/pip install -q numpy==2.4.6
for version in 0.7.0 0.8.0; do
    env/bin/pip install -q --no-deps --target "$version" "safetensors==$version"
done

cat >turn.py <<'EOF'
import numpy
import safetensors
from safetensors.numpy import load, save

weights = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
turned = weights.T
loaded = load(save({"w": turned}))["w"]
print(f"{safetensors.__version__}: saved {turned.tolist()}, loaded {loaded.tolist()}")
copied = load(save({"w": numpy.ascontiguousarray(turned)}))["w"]
assert copied.tolist() == turned.tolist()
EOF
for version in 0.7.0 0.8.0; do
    PYTHONPATH=$version env/bin/python turn.py
done | tee seen

cat >expected <<'EOF'
0.7.0: saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 3], [1, 4], [2, 5]]
0.8.0: saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 1], [2, 3], [4, 5]]
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
