//! Devices: their names, the list of them, and their speeds.

use nnuance::model::{DEFAULT_BUDGET, DeviceChoice, DeviceError, choose_budget, is_gpu};
use nnuance::run::check_memory;

use crate::support::kit::*;

#[test]
fn names_have_numbers() {
    let choice = |text| DeviceChoice::parse_name(text).expect("a choice");
    assert_eq!(choice("flex"), DeviceChoice { backend: Backend::Flex, index: 0 });
    assert_eq!(choice("wgpu:3"), DeviceChoice { backend: Backend::Wgpu, index: 3 });
    for text in ["cuda", "wgpu:", "wgpu:-1", "wgpu:one", ":1", ""] {
        let error = DeviceChoice::parse_name(text).expect_err(text);
        assert!(matches!(error, DeviceError::Unknown(_)), "{text}: {error}");
    }
    DeviceChoice { backend: Backend::Flex, index: 2 }.open_device().expect_err("there is one");
    let auto = choice("auto").open_device().expect("flex is always there");
    assert!(!is_gpu(&auto) || cfg!(feature = "wgpu"));
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

/// The memory of a net is known before its first step, and the remedies lower it.
#[test]
fn nets_beyond_a_gpu_are_refused() {
    let config = |hidden: usize, batch: usize| {
        let text = format!(
            "version = 3\ndata.files = [\"games.vf\"]\nschedule = {{ epochs = 1, batch = {batch}, \
             learning_rate = 1e-3 }}\nnet = {{ inputs = \"perspective\", sets = [\"pieces\", \
             \"threats\"], hidden = {hidden} }}\n"
        );
        Config::parse_text(&text, "large", &[]).unwrap()
    };
    let memory = Some(4 << 30);
    let check = |hidden, batch| {
        let config = config(hidden, batch);
        check_memory(&config, choose_budget(memory), memory).map_err(|error| error.to_string())
    };
    let error = check(4096, 16_384).unwrap_err();
    assert!(error.contains("`net.hidden`") && error.contains("which has 4.3 GB"), "{error}");
    check(512, 16_384).unwrap();
    check(512, 1 << 22).unwrap_err();
    check_memory(&config(4096, 16_384), DEFAULT_BUDGET, None).unwrap();
}

fn bench(words: &[&str]) -> Value {
    let data = ["--data", SCORED];
    json(nnuance().args(["bench", "--json"]).args(words).args(data))
}

/// A net in the form of an engine, whose scale is not the bench's.
#[test]
fn nets_with_a_format_are_measured() {
    let folder = Workdir::new(
        "version = 3\ndata.files = [\"games.vf\"]\n\
         net = { format = \"stockfish-15.1\", hidden = 8 }\n\
         schedule = { epochs = 1, learning_rate = 0.001 }\n",
    );
    let figures = bench(&["--net", &folder.name("run.toml"), "--seconds", "0.1", "--batch", "256"]);
    assert_eq!(figures["nets"][0]["hidden"], 8);
}

#[test]
fn figures_are_positive() {
    let figures = bench(&["--hidden", "8", "--seconds", "0.3", "--batch", "2048"]);
    assert_eq!(figures["positions"], 30_000);
    let text = figures.to_string();
    let speeds = text.split("positions_per_second\":").skip(1);
    let speeds: Vec<f64> =
        speeds.map(|it| it.split([',', '}']).next().unwrap().parse().expect("a speed")).collect();
    // Three of loading, and three of each net.
    assert!(speeds.len() == 3 + 2 * 3 && speeds.iter().all(|it| *it > 0.0), "{text}");
}
