//! Gradients that are held within a norm.

use burn::module::{Module as _, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::model::{Model, is_gpu, to_host};

/// The gradients of a model, all of them made smaller by one factor where together they are longer
/// than `most`: R. Pascanu et al., "On the difficulty of training recurrent neural networks", 2013.
pub fn clipped(gradients: GradientsParams, model: &Model, most: f64) -> GradientsParams {
    let mut norm = Norm { gradients: &gradients, squared: None };
    model.visit(&mut norm);
    let Some(squared) = norm.squared else { return gradients };
    let norm = squared.sqrt(); // [1]
    if is_gpu(&norm.device()) {
        // Nobody waits for the number.
        let factor = (norm.recip() * most as f32).clamp_max(1.0);
        return scaled(gradients, model, &factor);
    }
    let found = f64::from(to_host(norm.clone())[0]);
    if found <= most {
        return gradients;
    }
    scaled(gradients, model, &(norm.recip() * most as f32))
}

struct Norm<'a> {
    gradients: &'a GradientsParams,
    /// `[1]`
    squared: Option<Tensor<1>>,
}

impl ModuleVisitor for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.get::<D>(param.id) else { return };
        let len = gradient.shape().num_elements();
        // A product of matrices adds up in a fixed order; Burn's `sum` as threads finish.
        let row = gradient.reshape([1, len]);
        let squared = row.clone().matmul(row.transpose()).reshape([1]);
        self.squared = Some(match self.squared.take() {
            None => squared,
            Some(sum) => sum + squared,
        });
    }
}

fn scaled(gradients: GradientsParams, model: &Model, factor: &Tensor<1>) -> GradientsParams {
    struct Scale<'a> {
        from: GradientsParams,
        to: GradientsParams,
        factor: &'a Tensor<1>,
    }

    impl ModuleVisitor for Scale<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.from.remove::<D>(param.id) {
                let factor = self.factor.clone().unsqueeze::<D>();
                self.to.register(param.id, gradient * factor);
            }
        }
    }

    let mut scale = Scale { from: gradients, to: GradientsParams::new(), factor };
    model.visit(&mut scale);
    scale.to
}
