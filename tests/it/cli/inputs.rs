//! Invalid inputs: devices, pipes, huge files and weights that are NaN.

use nnuance::input;

use crate::support::kit::*;

fn fails(args: &[&str]) -> String {
    failure(nnuance().args(args).stdin(Stdio::null()))
}
const FEN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused() {
    let work = Workdir::empty();
    let (pipe, out) = (work.name("pipe"), work.name("out"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let text = "version = 3\ndata.files = ['a']\noptimizer.name = 'gauss-newton'\n";
    let traces = work.write("traces.toml", text);
    for path in ["/dev/zero", &pipe] {
        let terms = "train configs/hce-pst.toml --out OUT --set";
        for command in [
            "train PATH --out OUT",
            &format!("{terms} data.files=[\"PATH\"]"),
            &format!("{terms} terms.start=\"PATH\""),
            &format!("train {traces} --out OUT --set traces.list=\"PATH\""),
            &format!("eval PATH {FEN}"),
            "verify PATH",
            "export PATH -o OUT",
            &format!("compare PATH material --data {QUIET}"),
        ] {
            let whole = command.replace(FEN, "FEN");
            let words: Vec<String> = whole
                .split(' ')
                .map(|it| it.replace("PATH", path).replace("OUT", &out).replace("FEN", FEN))
                .collect();
            let said = fails(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let is_refused = ["device", "only once"].iter().any(|word| said.contains(word));
            assert!(is_refused || command.starts_with("verify"), "{command}: {said}");
        }
    }
    assert!(!Path::new(&out).join("config.toml").exists());
    let book = nnuance::engine::opening::Openings {
        start: nnuance::engine::opening::StartPosition::Book("/dev/zero".into()),
        ..Default::default()
    };
    nnuance::engine::opening::Opener::new(&book, 1, 1).unwrap_err();
    fails(&["eval", QUICKSTART, "--fens", "/dev/zero"]);
}

#[test]
fn files_have_a_limit() {
    let folder = Workdir::empty();
    let path = folder.path("a");
    fs::write(&path, b"12345").unwrap();
    assert_eq!(input::read_bytes(&path, 5).unwrap(), b"12345");
    input::read_bytes(&path, 4).unwrap_err();
    fs::write(&path, b"ok\nno\xff\n").unwrap();
    assert!(input::read_text(&path, 99).unwrap_err().to_string().contains("line 2"));
    assert!(input::read_bytes(folder.root_path(), 9).is_err());
    assert_eq!(
        input::require_regular(Path::new("no/such")).unwrap_err().kind(),
        std::io::ErrorKind::NotFound
    );
}

#[test]
fn missing_files_are_errors() {
    for command in [
        &["train", "configs/nosuch.toml"][..],
        &["eval", "nets/nosuch.bin", FEN],
        &["data", "stats", "nosuch/selfplay-sf15.vf"],
        &["eval", QUICKSTART, "--fens", "nosuch.md"],
    ] {
        assert!(fails(command).contains("nosuch"), "{command:?}");
    }
}

#[test]
fn positions_in_place_of_a_config() {
    for name in ["selfplay_sf151_200games.pgn", "selfplay_sf151_quiet.epd", "selfplay-sf15.vf"] {
        assert!(fails(&["train", &format!("data/{name}")]).contains("data.files"), "{name}");
    }
}

#[test]
fn nested_names_of_terms() {
    let name = |words: usize| vec!["a"; words].join(".");
    let parse = |words| {
        let text = format!("x normal 1 2\n{} normal 1 2\n", name(words));
        EngineTerms::parse(&text, Path::new("terms.txt"))
    };
    assert_eq!(parse(32).unwrap().list.len(), 2);
    let error = parse(10_000).unwrap_err().to_string();
    assert!(error.starts_with("terms.txt: line 2") && error.len() < 300, "{error}");
}

fn floats(work: &Workdir, change: impl FnOnce(&mut Weights)) -> String {
    let bytes = fs::read("nets/quickstart-32.safetensors").unwrap();
    let mut packed = Weights::from_bytes(&bytes).unwrap();
    change(&mut packed.weights);
    work.write("changed.safetensors", packed.weights.to_bytes(&packed.facts, &[]).unwrap())
}

#[test]
fn weights_that_are_no_numbers() {
    let work = Workdir::empty();
    for value in [f32::NAN, f32::INFINITY] {
        let path = floats(&work, |weights| {
            weights.0.get_mut("output.weight").unwrap().values[7] = value;
        });
        for args in [&["eval", &path, FEN][..], &["compare", &path, "material", "--data", QUIET]] {
            let said = fails(args);
            assert!(said.contains(&format!("output.weight[7] is {value}")), "{said}");
        }
    }
    // Finite, but too large for f32.
    let path = floats(&work, |weights| {
        for array in ["accumulator.weight", "output.weight"] {
            weights.0.get_mut(array).unwrap().values.fill(3e38);
        }
        weights.0.get_mut("output.weight").unwrap().values[0] = -3e38;
    });
    fails(&["eval", &path, FEN]);

    let json = HceWeights::material_only().to_json();
    let hce = work.write("hce.json", json.replace("\"mg\": 320", "\"mg\": 1e300"));
    let said = fails(&["eval", &hce, FEN]);
    assert!(said.contains("`material.knight.mg`"), "{said}");
}

#[test]
fn nets_without_neurons() {
    let work = Workdir::empty();
    let name = floats(&work, |weights| {
        for (name, shape) in [
            ("accumulator.weight", vec![768, 0]),
            ("accumulator.bias", vec![0]),
            ("output.weight", vec![0]),
        ] {
            weights.insert(name, &shape, Vec::new());
        }
    });
    for args in [
        &["compare", &name, "material", "--data", QUIET][..],
        &["eval", &name, FEN],
        &["inspect", &name, "--data", QUIET],
    ] {
        fails(args);
    }
    let path = floats(&work, |weights| {
        weights.insert("output.weight", &[3], vec![0.0; 3]);
    });
    let error =
        import_weights(&fs::read(path).unwrap(), &Default::default()).unwrap_err().to_string();
    assert!(error.contains("output.weight") && error.contains("[64]"), "{error}");
}

#[test]
fn windows_of_zstd_are_bounded() {
    let folder = Workdir::empty();
    let text = fs::read(QUIET).unwrap();
    let read = |log: u32| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        std::io::copy(&mut Cursor::new(&text), &mut encoder).unwrap();
        let path = folder.path(format!("{log}.epd.zst"));
        fs::write(&path, encoder.finish().unwrap()).unwrap();
        let mut source = SampleSource::open_file(&path, None, 0)?;
        source.next_block(&mut Vec::new())
    };
    assert!(read(27).unwrap());
    assert!(read(28).is_err());
}
