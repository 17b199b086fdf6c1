#!/usr/bin/env bash
# Surprise: with more degrees of freedom a quantile of Student's t moves away from the normal one.
# Package: crate statrs 0.19.1
# Behaviour: `StudentsT::inverse_cdf` computes sqrt(freedom * (1 - y) / y) from a quantile y of the
#   beta distribution, which approaches 1, so that 1 - y loses its digits. With 100,000 degrees the
#   two-sided 5 % quantile is off by .00001, with a million by .0001, with 3 million by .0036. The
#   cumulative distribution, by which a caller may check, stays right.
# Guess: 1.95997 with a million degrees and with three million, as from the normal distribution.
# Seen: 30: 2.04227, 100000: 1.95998, 1000000: 1.95985, 3000000: 1.95635
#   the probability beyond 1.959964 is .0500 for the last two
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir src
cat >Cargo.toml <<'EOF'
[package]
name = "quantiles"
version = "0.0.0"
edition = "2024"

[dependencies]
statrs = { version = "=0.19.1", default-features = false }
EOF
cat >src/main.rs <<'EOF'
use statrs::distribution::{ContinuousCDF, StudentsT};

fn main() {
    for freedom in [30.0, 1e5, 1e6, 3e6] {
        let t = StudentsT::new(0.0, 1.0, freedom).unwrap();
        let tails = 2.0 * t.cdf(-1.959964);
        println!("{freedom}: quantile {:.5}, tails {tails:.4}", -t.inverse_cdf(0.025));
    }
}
EOF
CARGO_TARGET_DIR=$dir/target cargo run -q | tee seen

cat >expected <<'EOF'
30: quantile 2.04227, tails 0.0593
100000: quantile 1.95998, tails 0.0500
1000000: quantile 1.95985, tails 0.0500
3000000: quantile 1.95635, tails 0.0500
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
