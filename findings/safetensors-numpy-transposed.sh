#!/usr/bin/env bash
# Surprise: a transposed array is saved with its numbers in the wrong places, without an error.
# Packages: PyPI safetensors 0.8.0 (and 0.7.0 to compare), numpy 2.4.6
# Behaviour: `safetensors.numpy.save` writes the memory of an array as it is, and its shape as if
#   that memory were in row-major order. Weights that are transposed for another program (`w.T`) or
#   allocated with `order="F"` are in column-major order. 0.7.0 saved them correctly. In the file
#   shape, type, size, and the sum of all weights are right, and the net plays badly.
#   `numpy.ascontiguousarray(w.T)` is saved correctly by both.
# Guess: the loaded array equals the saved one, or saving fails as it does for tensors of torch.
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
