//! Devices: names, the choice of `auto`, and the memory that a run needs.

use nnuance::architecture::{Activation, Architecture, Views};
use nnuance::model::{
    Adapter, AdapterKind, Backend, Choice, Compute, DeviceError, Kind, Need, is_gpu, steps_ahead,
};

use crate::program::{complaint, nnuance, said};

#[test]
fn names_have_numbers() {
    let choice = |text| Choice::named(text).expect("a choice");
    assert_eq!(choice("flex"), Choice { backend: Backend::Flex, index: 0 });
    assert_eq!(choice("wgpu:3"), Choice { backend: Backend::Wgpu, index: 3 });
    for text in ["cuda", "wgpu:", "wgpu:-1", "wgpu:one", ":1", ""] {
        let error = Choice::named(text).expect_err(text);
        assert!(matches!(error, DeviceError::Unknown(_)), "{text}: {error}");
    }
    Choice { backend: Backend::Flex, index: 2 }.device().expect_err("there is one");
    let auto = choice("auto").device().expect("flex is always there");
    assert!(!is_gpu(&auto) || cfg!(feature = "wgpu"));
}

#[test]
fn auto_takes_cards_only() {
    use AdapterKind::{Card, Integrated, Software, Unknown, Virtual};
    let flex = Choice { backend: Backend::Flex, index: 0 };
    for kinds in [&[][..], &[Software], &[Integrated, Software], &[Unknown, Virtual]] {
        assert_eq!(Choice::among(kinds), flex, "{kinds:?}");
    }
    let second = Choice { backend: Backend::Wgpu, index: 1 };
    assert_eq!(Choice::among(&[Integrated, Card, Card]), second);
}

/// The processor waits for the GPU before the steps on their way fill the memory.
#[test]
fn steps_ahead_are_bounded() {
    assert_eq!([1, 128, 8192].map(steps_ahead), [64; 3]);
    assert_eq!([16_384, 65_536, 1 << 19, 1 << 22].map(steps_ahead), [32, 8, 1, 1]);
    let kind = Kind::Net(Architecture::simple(Views::Perspective, 1, Activation::SCReLU));
    let need = |batch| Need::of(&kind, batch, Compute::Gpu { room: 1 << 20 }, 2, 0).expect("a net");
    // Two lists of 32 places, 16 bits each, of all steps on their way.
    for batch in [16_384, 65_536] {
        assert!(need(batch).total > (1 << 19) * 2 * 32 * 2, "{batch}");
    }
}

#[test]
fn too_little_memory_is_refused() {
    let shape =
        |hidden| Kind::Net(Architecture::simple(Views::Perspective, hidden, Activation::SCReLU));
    let gpu = Compute::Gpu { room: 512 << 20 };
    let need = |hidden, batch| Need::of(&shape(hidden), batch, gpu, 2, 0).expect("it is a net");
    assert_eq!(Need::of(&shape(8), 1, Compute::Plain, 2, 0), None);
    // Four copies of the weights that stay and four that come and go, and the gradients of the
    // accumulators of all positions.
    let bytes = need(1024, 16_384);
    assert!((8 * 768 * 1024 * 4 + 2 * 16_384 * 1024 * 4..512 << 20).contains(&bytes.total));
    let adapter = Adapter {
        name: "a small one".into(),
        kind: AdapterKind::Card,
        language: "SPIR-V",
        memory: Some(1 << 30),
        largest: 1 << 31,
    };
    assert!(need(256, 16_384).check_adapter(&adapter).is_ok());
    let error = need(8192, 1 << 16).check_adapter(&adapter).expect_err("too little");
    assert!(matches!(error, DeviceError::TooSmall { what: "memory", .. }), "{error}");
    let error = need(65_536, 1 << 20).check_adapter(&adapter).expect_err("too large");
    assert!(matches!(error, DeviceError::TooSmall { what: "a buffer", .. }), "{error}");
}

#[test]
fn devices_are_listed_or_named() {
    let text = &said(nnuance().arg("devices"))[0];
    assert!(text.contains("flex") && text.contains("processor"), "{text}");
    assert_eq!(text.contains("--features wgpu"), !cfg!(feature = "wgpu"), "{text}");
    for (device, word) in [("wgpu:99", "wgpu"), ("cuda", "cuda")] {
        assert!(complaint(nnuance().args(["bench", "--device", device])).contains(word));
    }
}
