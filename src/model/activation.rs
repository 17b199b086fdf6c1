//! The activations as tensor operations.

use burn::tensor::{Tensor, activation::relu};

use crate::architecture::Activation;

/// Applies an activation element by element.
pub fn activate(activation: Activation, a: Tensor<2>) -> Tensor<2> {
    match activation {
        Activation::ReLU => relu(a),
        Activation::CReLU => a.clamp(0.0, 1.0),
        Activation::SCReLU => {
            let clamped = a.clamp(0.0, 1.0);
            clamped.clone() * clamped
        }
    }
}
