#!/usr/bin/env bash
# Surprise: an index past the last row reads the last row, and teaches it nothing.
# Packages: PyPI jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6
# Behaviour: lists of features are padded, often with the number of rows as the index of nothing.
#   `rows[i]` then returns the last row, so a real feature is added once for each padding, and the
#   gradient of that is dropped: forward and backward are two functions. `jnp.take` returns NaN
#   there, and a gradient of zero; `mode="clip"` alone gives both passes the same row. Adding to
#   such a row (`rows.at[i].add`) and summing by segments leave the number out. None of them raises.
#   -1 is the last row for all but segments.
# Guess: an error, or at least a gradient that belongs to the value.
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
