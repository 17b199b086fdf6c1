#!/usr/bin/env bash
# Surprise: an index past the end reads the last row in the forward pass, and no row in the backward.
# Packages: PyPI jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6
# Behaviour: lists of active features are often padded with the number of rows as an index.
#   `rows[index]` then returns the last row, so a real feature is added once per padding, and the
#   gradient of that is dropped: the gradient is not that of the computed function. `jnp.take`
#   returns NaN, with a gradient of zero. Only `mode="clip"` uses the same row in both passes.
#   `rows.at[index].add` and `segment_sum` ignore the index. None of them raises an error.
# Guess: an error, or a gradient that belongs to the value.
# Seen: rows[3]             value 3.0, gradient [0, 0, 0]
#   jnp.take            value nan, gradient [0, 0, 0]
#   jnp.take, clip      value 3.0, gradient [0, 0, 1]
#   at[3].add(10)       [1, 2, 3]
#   segment_sum of 10   [0, 0, 0]
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

python3 -m venv env
env/bin/pip install -q jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6

cat >rows.py <<'EOF'
import jax
import jax.numpy as jnp

rows = jnp.array([1.0, 2.0, 3.0])
past = jnp.array([3])


def whole(array):
    return [int(number) for number in array]


for name, pick in {
    "rows[3]": lambda rows: rows[past],
    "jnp.take": lambda rows: jnp.take(rows, past),
    "jnp.take, clip": lambda rows: jnp.take(rows, past, mode="clip"),
}.items():
    value, gradient = jax.jit(jax.value_and_grad(lambda rows: pick(rows).sum()))(rows)
    print(f"{name:19} value {value}, gradient {whole(gradient)}")
print(f"{'at[3].add(10)':19} {whole(rows.at[past].add(10.0))}")
print(f"{'segment_sum of 10':19} {whole(jax.ops.segment_sum(jnp.array([10.0]), past, 3))}")
EOF
JAX_PLATFORMS=cpu env/bin/python rows.py | tee seen

cat >expected <<'EOF'
rows[3]             value 3.0, gradient [0, 0, 0]
jnp.take            value nan, gradient [0, 0, 0]
jnp.take, clip      value 3.0, gradient [0, 0, 1]
at[3].add(10)       [1, 2, 3]
segment_sum of 10   [0, 0, 0]
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
