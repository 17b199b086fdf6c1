//! What the templates know of a net.
//!
//! They ask for what an activation or a view does, not for its name: code for a new one comes out
//! right, or not at all.

use minijinja::context;
use minijinja::value::Value;

use super::super::{Golden, Proof, digest};
use super::{SnippetError, escape};
use crate::architecture::{Activation, Architecture, Curve, Views};
use crate::net::Net;
use crate::scales::{HeadFormat, Scales};

/// # Errors
/// If the templates have no code for the activation.
pub(super) fn facts(
    net: &Net,
    proof: &Proof,
    net_file: &str,
    golden: &[Golden],
) -> Result<Value, SnippetError> {
    let architecture = net.architecture();
    let Architecture { inputs, hidden, activation, pairwise, skip, buckets, .. } = architecture;
    let Scales { qa, qb, scale, head_format } = net.scales();
    let [bounded, squared] = clamps(*activation)?;
    let own_views = match inputs.views {
        Views::Plain => false,
        Views::SideToMove | Views::Perspective => true,
    };
    let bytes_in = match head_format {
        HeadFormat::Float => false,
        HeadFormat::Int8 => true,
    };
    let file = net.to_bytes();
    let golden: Vec<Value> = golden
        .iter()
        .map(|golden| context! { fen => golden.fen.as_str(), cp => golden.cp })
        .collect();
    let kings: Vec<String> = (0..64).map(|king| inputs.kings.seen(king).1.to_string()).collect();
    let (shift, _) = net.unit();
    let name = architecture.to_string();
    Ok(context! {
        // Whether it takes a line of its own.
        long => name.len() > 33,
        architecture => name,
        // Inputs: whether each colour has a view, and whether that hangs on its king.
        own_views,
        views => architecture.views(),
        kings => inputs.kings.matter(),
        mirrored => inputs.kings.mirror,
        king_buckets => inputs.kings.count(),
        king_table => kings.chunks(8).map(|rank| rank.join(", ")).collect::<Vec<_>>(),
        rows => architecture.rows(),
        // Accumulators: `max(0, acc)`, `clamp(acc, 0, QA)` if bounded, that squared or in pairs.
        hidden,
        bounded,
        squared,
        pairwise,
        outputs => architecture.outputs_of_view(),
        // What is behind them.
        buckets,
        pieces_per_bucket => architecture.pieces_per_bucket(),
        maps => maps(architecture, bytes_in),
        skip,
        bytes_in,
        shift,
        shifted => 1_i64 << shift,
        top => net.top(),
        qa,
        qb,
        scale,
        i16_trick => proof.i16_trick,
        product_fits_i32 => proof.product_fits_i32,
        // Files.
        net_file,
        assembler_file => escape::assembler(net_file),
        bytes => net.payload(),
        file_bytes => file.len(),
        sha256 => digest(&file),
        golden,
        version => env!("CARGO_PKG_VERSION"),
    })
}

/// Whether accumulators are clamped at QA, and whether they are squared then.
fn clamps(activation: Activation) -> Result<[bool; 2], SnippetError> {
    match activation.curve() {
        Curve::RELU => Ok([false, false]),
        Curve::CRELU => Ok([true, false]),
        Curve::SCRELU => Ok([true, true]),
        _ => Err(SnippetError::Activation(activation.name())),
    }
}

/// The affine maps behind the accumulators, each with what becomes of its values.
fn maps(net: &Architecture, bytes_in: bool) -> Vec<Value> {
    let map = |(i, [inputs, outputs]): (usize, [usize; 2])| {
        let layer = net.head.get(i);
        let curves = layer.map_or(&[][..], |layer| layer.activation.curves());
        context! {
            inputs,
            outputs,
            bytes => bytes_in && i == 0,
            // Neurons without the one that skips.
            size => layer.map_or(outputs, |layer| layer.size),
            skip => net.skip && i == 0,
            curves => curves.iter().map(curve).collect::<Vec<_>>(),
        }
    };
    net.maps().into_iter().enumerate().map(map).collect()
}

/// `clamp(z^inner, 0, bound)^outer`, in parts and in words.
fn curve(curve: &Curve) -> Value {
    let Curve { inner, bounded, outer } = *curve;
    let (raised, squared) = (inner == 2, outer == 2);
    let z = if raised { "z^2" } else { "z" };
    let clamped = if bounded { format!("clamp({z}, 0, 1)") } else { format!("max(0, {z})") };
    let words = if squared { format!("{clamped}^2") } else { clamped };
    context! { raised, bounded, squared, words }
}
