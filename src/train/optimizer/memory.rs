//! What an optimiser of our own keeps for each parameter.

use burn::optim::{RecordState, StateSink, StateSource};
use burn::tensor::{Device, Tensor};
use burn_pack::Scalar;

/// What an optimiser of our own keeps for each parameter.
#[derive(Clone)]
pub struct Memory<const D: usize> {
    /// Steps so far.
    pub time: usize,
    /// In the shape of the parameter; as many as the optimiser wants.
    pub arrays: Vec<Tensor<D>>,
    /// Numbers of the optimiser's own.
    pub numbers: [f64; 2],
}

impl<const D: usize> Memory<D> {
    /// Before the first step.
    pub fn of(arrays: Vec<Tensor<D>>) -> Self {
        Self { time: 0, arrays, numbers: [0.0; 2] }
    }

    pub fn on(self, device: &Device) -> Self {
        let arrays = self.arrays.into_iter().map(|it| it.to_device(device)).collect();
        Self { arrays, ..self }
    }
}

const NUMBERS: [&str; 2] = ["number_0", "number_1"];

// Burn's derive names paths that are those of its own crate.
impl<const D: usize> RecordState for Memory<D> {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        out.push_scalar(prefix, "time", Scalar::from(self.time));
        out.push_scalar(prefix, "arrays", Scalar::from(self.arrays.len()));
        for (name, number) in NUMBERS.iter().zip(self.numbers) {
            out.push_scalar(prefix, name, Scalar::from(number));
        }
        for (i, array) in self.arrays.iter().enumerate() {
            out.push_tensor(prefix, &format!("array_{i}"), array.clone().into_data());
        }
    }

    fn state_unflatten(prefix: &str, from: &mut StateSource, device: &Device) -> Option<Self> {
        let time = usize::try_from(from.take_scalar(prefix, "time")?).ok()?;
        let count = usize::try_from(from.take_scalar(prefix, "arrays")?).ok()?;
        let mut numbers = [0.0; 2];
        for (name, number) in NUMBERS.iter().zip(&mut numbers) {
            *number = f64::try_from(from.take_scalar(prefix, name)?).ok()?;
        }
        let array = |i| from.take_tensor(prefix, &format!("array_{i}"));
        let arrays = (0..count).map(array).collect::<Option<Vec<_>>>()?;
        let arrays = arrays.into_iter().map(|it| Tensor::from_data(it, device)).collect();
        Some(Self { time, arrays, numbers })
    }
}
