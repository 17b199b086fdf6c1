//! Losses that still lie on the device.
//!
//! Whoever asks a GPU for a number waits until it has done all that it was told. So the losses of
//! many steps are asked for at once, while a processor's are there at once anyway.

use burn::tensor::{Tensor, Transaction};

/// The losses of steps, in order, that nobody has looked at yet.
#[derive(Default)]
pub struct Unread(Vec<(Step, Tensor<1>)>);

/// A step, and how far it went.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub number: u64,
    pub learning_rate: f64,
}

impl Unread {
    pub fn push(&mut self, step: Step, loss: Tensor<1>) {
        self.0.push((step, loss));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The losses, which are forgotten here.
    ///
    /// # Errors
    /// What the device says is wrong with it.
    pub fn read(&mut self) -> Result<Vec<(Step, f64)>, String> {
        let (steps, losses): (Vec<Step>, Vec<Tensor<1>>) = self.0.drain(..).unzip();
        let read = losses.into_iter().fold(Transaction::default(), Transaction::register);
        let read = read.try_execute().map_err(|error| error.to_string())?;
        let value = |data: burn::tensor::TensorData| {
            data.try_into_vec::<f32>().map_or(f64::NAN, |values| values[0].into())
        };
        Ok(steps.into_iter().zip(read.into_iter().map(value)).collect())
    }
}
