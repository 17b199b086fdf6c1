#!/usr/bin/env bash
# Surprise: clipping the gradient by norm changes its direction.
# Package: crate burn 0.22.1
# Behaviour: `GradientClippingConfig::Norm(1.0)` is set on the optimiser of a whole module, but it is
#   applied to each array separately: every array with a norm above 1 is scaled to 1. Feature rows
#   whose gradient is 100 times that of the biases end at twice theirs. torch's `clip_grad_norm_` and
#   optax' `clip_by_global_norm` scale all arrays by one factor, so bounds and learning rates found
#   with them do not carry over, and a spike in one array does not slow down the others.
# Guess: one norm of the whole gradient: rows [-0.6, -0.8], biases [-0.006, -0.008].
# Seen: gradients: rows [30.0, 40.0], biases [0.3, 0.4]
#   a step of rate 1, clipped to norm 1: rows [-0.6, -0.8], biases [-0.3, -0.4]
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

mkdir src
cat >Cargo.toml <<'EOF'
[package]
name = "clip"
version = "0.0.0"
edition = "2024"

[dependencies]
burn = { version = "=0.22.1", default-features = false, features = ["std", "optim", "autodiff", "flex"] }

[profile.dev]
debug = false
EOF
cat >src/main.rs <<'EOF'
use burn::{
    grad_clipping::GradientClippingConfig,
    module::{Module, Param},
    optim::{GradientsParams, SgdConfig},
    tensor::{Device, Tensor},
};

#[derive(Module, Debug)]
struct Net {
    rows: Param<Tensor<1>>,
    biases: Param<Tensor<1>>,
}

fn rounded(array: Tensor<1>) -> Vec<f32> {
    let values = array.into_data().try_to_vec::<f32>().unwrap();
    values.iter().map(|value| (value * 1000.0).round() / 1000.0).collect()
}

fn main() {
    let device = Device::flex().autodiff();
    let zeros = || Param::from_tensor(Tensor::<1>::zeros([2], &device));
    let net = Net { rows: zeros(), biases: zeros() };
    let (rows, biases) = ([30.0, 40.0], [0.3, 0.4]);
    println!("gradients: rows {rows:?}, biases {biases:?}");

    let slope = |values: [f32; 2]| Tensor::<1>::from_floats(values, &device);
    let loss = (net.rows.val() * slope(rows)).sum() + (net.biases.val() * slope(biases)).sum();
    let gradients = GradientsParams::from_grads(loss.backward(), &net);
    let clip = GradientClippingConfig::Norm(1.0);
    let net = SgdConfig::new().with_gradient_clipping(Some(clip)).init().step(1.0, net, gradients);
    let (rows, biases) = (rounded(net.rows.val()), rounded(net.biases.val()));
    println!("a step of rate 1, clipped to norm 1: rows {rows:?}, biases {biases:?}");
}
EOF
CARGO_TARGET_DIR=$dir/target cargo run -q | tee seen

cat >expected <<'EOF'
gradients: rows [30.0, 40.0], biases [0.3, 0.4]
a step of rate 1, clipped to norm 1: rows [-0.6, -0.8], biases [-0.3, -0.4]
EOF
diff expected seen || { echo "The behaviour changed."; exit 1; }
