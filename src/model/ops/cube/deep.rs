//! Nets with a product or layers behind their accumulators: Burn's operations on the kernel's
//! accumulators, and their derivatives by Burn's autodiff.

use burn::backend::Cube;
use burn::tensor::{Shape, Tensor};
use burn_cubecl::tensor::CubeTensor;

use super::super::FusedGradients;
use super::form::Positions;
use super::gpu::Buffer;
use super::net::Pass;
use super::slope::Written;
use super::sums;
use crate::architecture::ArrayKind;
use crate::model::aim::HeadOutputs;
use crate::model::head::{self, Map};

pub(super) fn gradients(pass: &Pass) -> FusedGradients<Cube> {
    let net = &pass.job.kernel.net;
    let maps: Vec<Map> = maps(pass)
        .into_iter()
        .map(|map| map.map(|array| array.autodiff().require_grad()))
        .collect();
    // The loss, the gradients of the accumulators' bias, and those of the maps.
    let mut sums: Option<Vec<Tensor<1>>> = None;
    let rows = pass.rows(|part| {
        let accumulators = accumulators(pass, part).autodiff().require_grad();
        let outputs = outputs_of(pass, &maps, accumulators.clone(), part);
        let loss = pass.job.aim.of_head(outputs, part.positions.start);
        let gradients = loss.backward();
        let slopes = accumulators.grad(&gradients).expect("it requires one");
        let slopes = Buffer::of(primitive(slopes));
        let lists = part.positions.len() * net.views();
        let run = 0..lists;
        let bias = sums::runs(&pass.gpu, &slopes, &[run], net.hidden);
        let bias = pass.gpu.tensor(bias, Shape::new([net.hidden]));
        let of_maps = maps.as_flattened().iter();
        let of_maps = of_maps.map(|array| array.grad(&gradients).expect("it requires one"));
        let here = [loss.inner(), Tensor::from_primitive::<Cube>(bias)].into_iter().chain(of_maps);
        sums = Some(match sums.take() {
            None => here.collect(),
            Some(sums) => sums.into_iter().zip(here).map(|(sum, more)| sum + more).collect(),
        });
        slopes
    });
    let mut sums = sums.expect("a batch has parts").into_iter().map(primitive);
    let loss = sums.next().expect("the loss comes first");
    let others = [ArrayKind::AccumulatorBias].into_iter().chain(parts(pass).into_iter().flatten());
    pass.slope(loss, rows, others.zip(sums.map(Buffer::of)))
}

pub(super) fn logits(pass: &Pass) -> CubeTensor {
    let maps = maps(pass);
    let of_part = |part| outputs_of(pass, &maps, accumulators(pass, part), part).logits;
    primitive(Tensor::cat(pass.tiles.parts.iter().map(of_part).collect(), 0))
}

/// `[positions * views, N]` of a part.
fn accumulators(pass: &Pass, part: &Positions) -> Tensor<2> {
    let net = &pass.job.kernel.net;
    let lists = part.positions.len() * net.views();
    let values = pass.gpu.empty(lists * net.hidden);
    pass.positions(part, Written::Accumulators, &values, &pass.gpu.empty(1));
    Tensor::from_primitive::<Cube>(pass.gpu.tensor(values, Shape::new([lists, net.hidden])))
}

fn outputs_of(pass: &Pass, maps: &[Map], accumulators: Tensor<2>, part: &Positions) -> HeadOutputs {
    let buckets = &pass.listed.buckets[..];
    let buckets = if buckets.is_empty() { &[] } else { &buckets[part.positions.clone()] };
    head::outputs(&pass.job.kernel.net, maps, accumulators, buckets)
}

/// Weights and biases of each affine map behind the accumulators.
fn parts(pass: &Pass) -> Vec<[ArrayKind; 2]> {
    let net = &pass.job.kernel.net;
    (0..net.maps().len()).map(|map| net.parts_of_map(map)).collect()
}

fn maps(pass: &Pass) -> Vec<Map> {
    let tensor = |part| Tensor::from_primitive::<Cube>(pass.array(part));
    parts(pass).into_iter().map(|map| map.map(tensor)).collect()
}

fn primitive<const D: usize>(tensor: Tensor<D>) -> CubeTensor {
    tensor.try_into_primitive::<Cube>().expect("it was made here")
}
