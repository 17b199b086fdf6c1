//! Scales that are chosen or matched, as a library and by `nnuance export`.

use nnuance::export::{largest_scales, prove};
use nnuance::report::fit::fit_scale;
use nnuance::report::{MatchedScale, match_scale};

use crate::support::kit::*;

const NET: &str = "nets/quickstart-32.safetensors";

fn export(args: &[&str], output: &Path) -> Command {
    let mut command = nnuance();
    command.arg("export").args(args).arg("-o").arg(output);
    command
}

fn manifest(net: &Path) -> Value {
    let text = fs::read_to_string(net.with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn largest_scales_are_safe() {
    let bytes = fs::read(NET).unwrap();
    let weights = Weights::from_bytes(&bytes).unwrap().weights;
    let net = Architecture::simple(Perspectives::Perspective, 32, Activation::SCReLU);
    for [most_qa, most_qb] in [[255, 4096], [4000, 9000]] {
        let most = Scales { qa: most_qa, qb: most_qb, ..Scales::default() };
        let found = largest_scales(&weights, &net, most).unwrap();
        let safe = |qa, qb| {
            let net = quantise(&weights, &net, Scales { qa, qb, ..most });
            net.is_ok_and(|net| prove(&net).is_ok())
        };
        assert!(safe(found.qa, found.qb));
        assert!(found.qa == most_qa || !safe(found.qa + 1, 1), "{found}");
        assert!(found.qb == most_qb || !safe(found.qa, found.qb + 1), "{found}");
        assert!(found.qa >= 255 && found.qb >= 32, "{found}");
    }
}

#[test]
fn scales_are_chosen_and_matched() {
    let folder = Workdir::empty();
    let [usual, finest, loud, same] =
        ["usual.bin", "finest.bin", "loud.bin", "same.bin"].map(|name| folder.path(name));
    said(&mut export(&[NET, "--data", GAMES, "--scale", "400"], &usual));
    let best = [NET, "--data", GAMES, "--scale", "400", "--largest-scales"];
    said(&mut export(&best, &finest));
    let error = |net: &Path| manifest(net)["float_error"]["mean_cp"].as_f64().unwrap();
    assert!(error(&finest) < error(&usual), "{} {}", error(&finest), error(&usual));
    assert!(manifest(&finest)["scales"]["qa"].as_i64().unwrap() <= 255);

    // The same net with another SCALE gets the old one again.
    said(&mut export(&[NET, "--data", GAMES, "--scale", "700"], &loud));
    let fitted = |net: &Path| manifest(net)["fitted_scale"]["centipawns"].as_f64().unwrap();
    assert!((fitted(&loud) / fitted(&usual) - 1.75).abs() < 0.01);
    let old = usual.to_str().unwrap();
    said(&mut export(&[loud.to_str().unwrap(), "--data", GAMES, "--match-scale", old], &same));
    let matched = manifest(&same);
    assert!((matched["scales"]["scale"].as_i64().unwrap() - 400).abs() <= 1);
    assert_eq!(matched["matched"]["sha256"], manifest(&usual)["sha256"]);
}

#[test]
fn code_overwrites_no_net() {
    let folder = Workdir::empty();
    for ending in ["bin", "json", "safetensors"] {
        let from = Path::new("nets/quickstart-32").with_extension(ending);
        fs::copy(from, folder.path("net.bin").with_extension(ending)).unwrap();
    }
    let net = folder.path("net.bin");
    let args = |language| [net.to_str().unwrap(), "--snippet", language, "--overwrite"];
    for own in ["net.bin", "net.json", "net.safetensors"] {
        let before = folder.bytes(own);
        let around = folder.path("..").join(folder.root_path().file_name().unwrap()).join(own);
        complaint(&mut export(&args("c"), &around));
        assert_eq!(folder.bytes(own), before);
    }
    for (language, head) in [("rust", "//!"), ("c", "/*")] {
        said(&mut export(&args(language), &folder.path("mine")));
        assert!(folder.text("mine").starts_with(head));
    }
    complaint(&mut export(&args("c")[..3], &folder.path("mine")));
    complaint(&mut export(&args("pascal"), &folder.path("other")));
}

#[test]
fn unfit_options_are_refused() {
    let folder = Workdir::empty();
    let net = folder.path("net.bin");
    complaint(&mut export(&[NET, "--licence", " "], &net));
    if cfg!(target_os = "linux") {
        complaint(&mut export(&[NET], Path::new("/proc/x.bin")));
    }
    assert_eq!(folder.names().len(), 0);
}

#[test]
fn manifest_is_read_with_its_net() {
    let folder = Workdir::empty();
    let [net, again] = ["net.bin", "again.bin"].map(|name| folder.path(name));
    said(&mut export(&[NET, "--scale", "700", "--qa", "181"], &net));
    said(&mut export(&[net.to_str().unwrap()], &again));
    assert_eq!(fs::read(&net).unwrap(), fs::read(&again).unwrap());
    assert_eq!(manifest(&net)["scales"], manifest(&again)["scales"]);
    let other = folder.path("other.bin");
    // A few positions fit no scale.
    let few = folder.path("few.txt");
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 [1.0]\n8/8/8/4k3/8/8/4P3/4K3 b - - 0 1 [0.5]\n";
    fs::write(&few, line).unwrap();
    said(&mut export(&[NET, "--data", few.to_str().unwrap()], &other));
    assert!(manifest(&other)["fitted_scale"].is_null());
}

struct Data {
    old: Vec<f64>,
    new: Vec<f64>,
    results: Vec<f64>,
    games: Vec<u64>,
}

/// Games of ten positions around a value that decides the result; the new evaluation is 1.7 times
/// the old one, with noise.
fn data(games: u64, noise: f64, seed: u64) -> Data {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bell = |width: f64| -> f64 {
        width * (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>()
    };
    let mut data = Data { old: vec![], new: vec![], results: vec![], games: vec![] };
    for game in 0..games {
        let strength = bell(200.0);
        let won = bell(1.0).abs().fract() < sigmoid(strength / 150.0);
        for _ in 0..10 {
            let value = strength + bell(60.0);
            data.old.push(value + bell(noise));
            data.new.push(1.7 * (value + bell(noise)));
            data.results.push(if won { 1.0 } else { 0.0 });
            data.games.push(game);
        }
    }
    data
}

fn matched(data: &Data) -> MatchedScale {
    let truth = facts_of_games(&data.results, &data.games, "games");
    match_scale(&data.old, &data.new, &truth, 400).unwrap()
}

#[test]
fn a_multiple_is_divided_out() {
    let found = matched(&data(300, 0.0, 1));
    assert!((found.factor.mean * 1.7 - 1.0).abs() < 1e-6, "{found:?}");
    assert_eq!((found.scale_before, found.scale_after), (400, 235));
    let [low, high] = found.factor.interval.unwrap();
    assert!((low * 1.7 - 1.0).abs() < 1e-6 && (high * 1.7 - 1.0).abs() < 1e-6);
}

/// The interval from Newton steps per omitted game, against resampled fits.
#[test]
fn interval_equals_the_bootstrap() {
    let games = 200;
    let data = data(games, 60.0, 5);
    let found = matched(&data);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
    let mut factors: Vec<f64> = (0..300)
        .map(|_| {
            let drawn: Vec<usize> = (0..games)
                .flat_map(|_| {
                    let game = random.random_range(0..games as usize);
                    10 * game..10 * game + 10
                })
                .collect();
            let of = |list: &[f64]| drawn.iter().map(|i| list[*i]).collect::<Vec<f64>>();
            let results = of(&data.results);
            let scale = |cp: &[f64]| fit_scale(&of(cp), &results).scale.unwrap();
            scale(&data.old) / scale(&data.new)
        })
        .collect();
    factors.sort_by(f64::total_cmp);
    let [low, high] = found.factor.interval.unwrap();
    let width = factors[292] - factors[7];
    assert!(((high - low) / width - 1.0).abs() < 0.25, "{low} to {high}, {factors:?}");
    assert!((low - factors[7]).abs() < 0.25 * width && (high - factors[292]).abs() < 0.25 * width);
}

#[test]
fn nothing_to_match_is_refused() {
    let with = |old: &[f64], new: &[f64], results: &[f64]| {
        let groups: Vec<u64> = (0..old.len() as u64).collect();
        match_scale(old, new, &facts_of_games(results, &groups, "games"), 400).is_err()
    };
    assert!(with(&[], &[], &[]));
    assert!(with(&[10.0, -20.0], &[0.0, 0.0], &[1.0, 0.0]));
    // Inverse results fit no scale.
    assert!(with(&[10.0, -20.0, 30.0], &[10.0, -20.0, 30.0], &[0.0, 1.0, 0.5]));
}
