//! Stockfish's nets: that of the engine's own program, its values, bytes and damage.

use nnuance::architecture::{ArrayKind, Buckets};
use nnuance::export::{prove, stockfish_cautions};
use nnuance::net::format::stockfish::write_net;
use nnuance::net::{Numbers, StoredArray, stored_arrays};

use crate::nets::fixed_point;
use crate::support::kit::*;

/// FEN, value, bucket, piece-square and positional sixteenths of Stockfish 15.1, in its internal units.
const VALUES: &str = include_str!("../fixtures/stockfish/15.1.txt");

/// The net of 15.1, as `export_net` of Debian's program writes it.
static NET: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| {
    let engine = need::engine("stockfish")?;
    let folder = Workdir::empty();
    let path = folder.path("exported.nnue");
    let commands = format!("export_net {}\nquit\n", path.display());
    let output = feed_command(&mut Command::new(engine), commands.as_bytes());
    assert!(output.status.success());
    let bytes = fs::read(path).unwrap();
    // Another version has another net.
    need::found("stockfish", "15.1", bytes.len() == 47_001_499).then_some(bytes)
});

#[test]
fn values_are_those_of_the_engine() {
    let Some(bytes) = &*NET else { return };
    let net = Net::read(bytes, &Hints::default()).unwrap();
    assert!(net.to_bytes() == *bytes, "the file is written as it was read");
    compare_columns(&net, VALUES);
}

/// Compares a net with lines of the engine: position, value, bucket, and both parts in sixteenths.
fn compare_columns(net: &Net, lines: &str) {
    let without = net.numbers().iter().enumerate().map(|(place, numbers)| {
        let is_psqt = place >= net.numbers().len() - net.architecture().inputs.sets().len();
        let zeros = numbers.number_type().convert_exactly(std::iter::repeat_n(0.0, numbers.len()));
        if is_psqt { zeros } else { numbers.clone() }
    });
    let without = Net::from_arrays(net.architecture(), net.scales(), without.collect()).unwrap();
    let mut evaluator = PositionEvaluator::new(net);
    for line in lines.lines() {
        let (fen, columns) = line.split_once(';').unwrap();
        let columns: Vec<i32> = columns.split(';').map(|it| it.parse().unwrap()).collect();
        let [value, bucket, psqt, positional] = columns[..] else { panic!("{line}") };
        let position = Position::from_fen(fen).unwrap();
        assert_eq!(net.architecture().bucket_of(&position), bucket as usize, "{fen}");
        let [own, other] = fixed_point::sum_piece_squares(net, &position);
        assert_eq!((own - other) / 2, i64::from(psqt), "{fen}");
        assert_eq!(without.evaluate_slowly(&position), positional / 16, "{fen}");
        assert_eq!(net.evaluate_slowly(&position), value, "{fen}");
        assert_eq!(net.evaluate(&position), value, "{fen}");
        assert_eq!(evaluator.evaluate(&position), value, "{fen}");
    }
}

/// Its weights quantise to a net in our layout, which has the same values.
#[test]
fn weights_make_a_net_of_ours() {
    let Some(bytes) = &*NET else { return };
    let source = import_weights(bytes, &Hints::default()).unwrap();
    let net = quantise(&source.weights, &source.architecture, source.scales).unwrap();
    let net = net.written_by(source.write);
    let hints = Hints { net: source.architecture, scales: source.scales };
    let again = Net::read(&net.to_bytes(), &hints).unwrap();
    let right = Net::read(bytes, &Hints::default()).unwrap();
    for position in games::positions(50, 3) {
        let value = right.evaluate(&position);
        assert_eq!([net.evaluate(&position), again.evaluate(&position)], [value; 2]);
    }
}

#[test]
fn damage_is_named() {
    let Some(bytes) = &*NET else { return };
    let error = |bytes: &[u8]| Net::read(bytes, &Hints::default()).unwrap_err().to_string();
    for size in [9, 40, 5000, 20_000_000, bytes.len() - 5000, bytes.len() - 1] {
        let error = error(&bytes[..size]);
        assert!(error.contains("a net of Stockfish 15.1") && error.contains("complete"), "{error}");
    }
    let more = error(&[&bytes[..], &[0]].concat());
    assert!(more.contains("1 bytes follow"), "{more}");
    let mut wrong = bytes.clone();
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    wrong[12 + length] ^= 1;
    let error = error(&wrong);
    assert!(error.contains("the transformer has the hash"), "{error}");
}

/// The net of a format as its file has it, with another width if one is given.
fn net_of(format: &str, more: &str) -> (Architecture, Scales) {
    let config = config_with(&format!("[net]\nformat = {format:?}\n{more}")).unwrap();
    let merged_kings = format != "stockfish-19-lite";
    let form = NetForm { merged_kings, ..config.architecture().unwrap().clone().into() };
    (form.try_into().unwrap(), config.scales)
}

/// Nets of engines that were built for another width, as small as possible.
const NARROW: [(&str, usize); 5] = [
    ("stockfish-19-lite", 4),
    ("stockfish-15.1", 2),
    ("stockfish-16", 2),
    ("stockfish-18", 2),
    ("stockfish-19", 2),
];

fn narrow(format: &str, hidden: usize) -> Net {
    let (net, scales) = net_of(format, &format!("hidden = {hidden}"));
    fixed_point::random(&net, scales, hidden as u64).written_by(write_net)
}

#[test]
fn nets_of_formats_are_read_as_written() {
    let small = |format| {
        let (net, scales) = net_of(format, "");
        fixed_point::random(&net, scales, 3).written_by(write_net)
    };
    let narrow = NARROW.map(|(format, hidden)| narrow(format, hidden));
    for net in narrow.into_iter().chain([small("stockfish-17-small")]) {
        let bytes = net.to_bytes();
        let again = Net::read(&bytes, &Hints::default()).unwrap();
        assert_eq!(again.architecture(), net.architecture());
        assert_eq!(again.scales(), net.scales());
        assert!(again.numbers() == net.numbers() && again.to_bytes() == bytes);
    }
}

/// No damage of a file ends in a panic, and what is read has the structure of the file.
#[test]
fn damaged_files_are_refused_or_whole() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(15);
    let positions = games::positions(3, 8);
    for ((format, hidden), count) in NARROW.into_iter().zip([9000, 300, 300, 200, 200]) {
        let bytes = narrow(format, hidden).to_bytes();
        let (mut refused, mut read) = (0, 0);
        for _ in 0..count {
            let damaged = damage(&bytes, &mut random);
            // Without its version a file is none of Stockfish's.
            let read_net = Net::read(&damaged, &Hints::default());
            let Some(net) = read_net.ok().filter(|net| net.is_foreign()) else {
                refused += 1;
                continue;
            };
            read += 1;
            assert_eq!(damaged.len(), bytes.len(), "{format}: what has other bytes is another net");
            for position in &positions {
                assert_eq!(net.evaluate(position), net.evaluate_slowly(position), "{format}");
            }
        }
        assert!(
            refused > count / 20 && read > count / 20,
            "{format}: {refused} refused, {read} read"
        );
    }
}

/// A file with some bytes changed, left out, put in or moved.
fn damage(bytes: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    for _ in 0..random.random_range(1..4) {
        // Half of the time in the headers.
        let end = if random.random_range(0..2) == 0 { 160 } else { damaged.len() };
        let place = random.random_range(0..end.min(damaged.len()));
        let length = random.random_range(1..40).min(damaged.len() - place);
        match random.random_range(0..8) {
            0 => drop(damaged.drain(place..place + length)),
            1 => damaged.truncate(place.max(1)),
            2 => damaged.insert(place, random.random_range(0..=255)),
            3 => damaged[place..place + length].fill(0),
            4 => damaged.extend(vec![7; length]),
            5 => damaged[place] ^= 1 << random.random_range(0..8),
            _ => damaged[place] = random.random_range(0..=255),
        }
    }
    damaged
}

/// The table of Debian's engine for a net of ours: all buckets, and both parts of each.
#[test]
fn engine_prints_our_values() {
    let Some(engine) = need::engine("stockfish").filter(|_| NET.is_some()) else { return };
    let (architecture, scales) = net_of("stockfish-15.1", "");
    let net = fixed_point::random_of(&architecture, scales, 5, 40).written_by(write_net);
    let work = Workdir::empty();
    let path = work.write("ours.nnue", net.to_bytes());
    let positions = games::positions(400, 9).into_iter().step_by(4).filter(|it| !it.in_check());
    let positions: Vec<Position> = positions.collect();
    let mut commands = format!("setoption name EvalFile value {path}\n");
    positions.iter().for_each(|it| commands += &format!("position fen {}\neval\n", it.to_fen()));
    commands += "quit\n";
    let output = feed_command(&mut Command::new(engine), commands.as_bytes());
    let printed = String::from_utf8(output.stdout).unwrap();
    let cell = |text: &str| text.replace(' ', "");
    let rows = printed.lines().filter(|line| line.matches('|').count() > 3);
    let rows = rows.filter(|line| line.contains('.')).filter_map(|line| {
        let cells: Vec<String> = line.split('|').map(cell).collect();
        let bucket: usize = cells[1].parse().ok()?;
        Some((bucket, cells[2..5].to_vec()))
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 8 * positions.len(), "{printed}");
    for bucket in 0..8 {
        let [squares, layers] = [true, false].map(|it| part_of(&net, bucket, it));
        let of_bucket = rows.iter().filter(|row| row.0 == bucket);
        for ((_, found), position) in of_bucket.zip(&positions) {
            let parts = [&squares, &layers].map(|net| net.evaluate(position));
            let shown = |value: i32| {
                let sign = if value < 0 { "-" } else { ["", "+"][usize::from(value > 0)] };
                format!("{sign}{:.2}", f64::from(value.abs()) / 361.0)
            };
            let right = [parts[0], parts[1], parts[0] + parts[1]].map(shown);
            assert_eq!(*found, right, "{bucket}: {}", position.to_fen());
        }
    }
}

/// The net of one output bucket, with only its piece-square values or its layers.
fn part_of(net: &Net, bucket: usize, squares: bool) -> Net {
    let mut form = NetForm::from(net.architecture().clone());
    form.output_buckets = Buckets::default();
    let architecture = Architecture::try_from(form).unwrap();
    let buckets = net.architecture().buckets;
    let part = |(it, numbers): (&StoredArray, &Numbers)| {
        let (count, number) = (it.array.len(), numbers.number_type());
        let is_of_squares = matches!(it.array.kind, ArrayKind::Psqt(_));
        let from = |place: usize| match it.array.kind {
            ArrayKind::Rows(_) | ArrayKind::AccumulatorBias => numbers.get(place),
            _ if is_of_squares != squares => 0.0,
            ArrayKind::Psqt(_) => numbers.get(place * buckets + bucket),
            _ => numbers.get(bucket * count + place),
        };
        number.convert_exactly((0..count).map(from))
    };
    let numbers = stored_arrays(&architecture, net.scales());
    let numbers = numbers.iter().zip(net.numbers()).map(part).collect();
    Net::from_arrays(&architecture, net.scales(), numbers).unwrap()
}

/// A run that starts from a file, and changes nothing, writes it again; one that learns, another net.
#[test]
fn training_starts_from_a_file_and_writes_one() {
    let (net, scales) = net_of("stockfish-19-lite", "hidden = 8");
    let start = fixed_point::random_of(&net, scales, 4, 40).written_by(write_net).to_bytes();
    let work = Workdir::empty();
    let path = work.write("start.nnue", &start);
    let config = |rate: f64| {
        format!(
            "version = 3\ndata.files = [\"data/selfplay-sf15.vf\"]\ndata.limit = 20000\n\
             target.score_scale = 136\n\
             schedule = {{ positions = 10240, batch = 1024, learning_rate = {rate} }}\n\
             [net]\nformat = \"stockfish-19-lite\"\nhidden = 8\nstart = {path:?}\n"
        )
    };
    let made = |rate: f64, name: &str| {
        let config = work.write("run.toml", config(rate));
        said(&mut train(&config, &work.path(name)));
        let file = work.path(format!("{name}.nnue"));
        let [_, remarks] = said(export(&work.path(name), &file).arg("--force"));
        let hash = nnuance::digest::sha256_prefix(&fs::read(&file).unwrap());
        assert!(remarks.contains(&format!("nn-{}.nnue", &hash[..12])), "{remarks}");
        assert!(remarks.contains("caution: Stockfish 19-lite has 1024 neurons"), "{remarks}");
        said(nnuance().arg("verify").arg(&file));
        let refused = complaint(nnuance().arg("export").arg(&file).args(["--snippet", "c"]));
        assert!(refused.contains("export it as NAME.bin first"), "{refused}");
        fs::read(&file).unwrap()
    };
    assert!(made(1e-12, "same") == start, "the same numbers");
    let learnt = made(0.01, "learnt");
    let [before, after] = [&start, &learnt].map(|it| Net::read(it, &Hints::default()).unwrap());
    assert_eq!(before.architecture(), after.architecture());
    assert!(before.numbers() != after.numbers());
    // And a file from a file, with its description.
    let copy = work.path("copy.nnue");
    let mut named = Vec::from(&start[..8]);
    named.extend(5_u32.to_le_bytes());
    named.extend(b"mine!");
    named.extend(&start[12 + start[8] as usize..]);
    let named_path = work.write("named.nnue", &named);
    said(export(Path::new(&named_path), &copy).arg("--force"));
    assert!(fs::read(&copy).unwrap() == named);
    let config =
        work.write("run.toml", config(0.01).replace("19-lite\"\n", "19-lite\"\nqa = 127\n"));
    let said = complaint(&mut train(&config, &work.path("other")));
    assert!(
        said.contains("stockfish-19-lite has other keys than this net: qa; remove these"),
        "{said}"
    );
}

/// Bytes are clipped as they quantise; all other numbers may be as large as in the engine's nets.
#[test]
fn only_bytes_are_clipped() {
    let clips = |more: &str| {
        let net = "net = { format = \"stockfish-19\", factorised = true }";
        let config = config_with(&format!("{more}\n{net}")).unwrap();
        let names = config.architecture().unwrap().list_arrays().into_iter().map(|it| it.name);
        let layers = config.optimizer.layers.clone();
        names.map(|name| (name.clone(), layers.layer_of(&name).clip)).collect::<BTreeMap<_, _>>()
    };
    for (name, clip) in clips("") {
        let of_sets = ["accumulator.weight", "factoriser.weight", "pawn-pairs.weight"];
        let is_of_head = name.starts_with("head.") || name.starts_with("output.");
        let is_of_bytes = of_sets.contains(&&name[..]) || is_of_head && name.ends_with("weight");
        assert_eq!(clip == Some(0.0), !is_of_bytes, "{name}: {clip:?}");
    }
    assert_eq!(clips("optimizer.clip = 1")["accumulator.bias"], None);
}

/// Nets that no engine of Stockfish takes are refused with what differs.
#[test]
fn other_nets_are_refused() {
    let work = Workdir::empty();
    let to = work.path("net.nnue");
    let said = complaint(&mut export(Path::new(QUICKSTART), &to));
    assert!(said.contains("it is no net of Stockfish") && said.contains("`net.format"), "{said}");
    assert!(!to.exists());
}

/// Weights that saturate the 16 bits of some engines are named, and only these.
#[test]
fn saturating_weights_are_named() {
    let (architecture, scales) = net_of("stockfish-15.1", "hidden = 64");
    for (most, is_named) in [(64, false), (127, true)] {
        let net = fixed_point::random_of(&architecture, scales, 1, most);
        let cautions = stockfish_cautions(&net, &prove(&net).unwrap(), &[]).join("\n");
        assert_eq!(cautions.contains("may saturate 16 bits"), is_named, "{cautions}");
        assert!(cautions.contains("build an engine with 64"), "{cautions}");
    }
}

/// Labels and matches have centipawns where an engine has units of its own.
#[test]
fn units_become_centipawns() {
    for (format, pawn) in [("stockfish-15.1", 361), ("stockfish-19", 303)] {
        let mut net = narrow(format, 2);
        assert_eq!(net.clone().use_centipawns(), None, "it is a net of ours until it is a file");
        net = Net::read(&net.to_bytes(), &Hints::default()).unwrap();
        let engine = net.engine_name().unwrap();
        assert!(engine.ends_with(" with 2 neurons in the place of 1024"), "{engine}");
        let positions = games::positions(50, 4);
        let units: Vec<i32> = positions.iter().map(|it| net.evaluate(it)).collect();
        assert_eq!(net.use_centipawns(), Some(pawn));
        for (position, units) in positions.iter().zip(units) {
            let right = f64::from(units) * 100.0 / f64::from(pawn);
            let (found, bound) = (f64::from(net.evaluate(position)), 2.0 + right.abs() / 100.0);
            assert!((found - right).abs() < bound, "{format}: {found}, expected {right}");
        }
    }
}
