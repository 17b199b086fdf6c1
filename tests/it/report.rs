//! Comparisons: published figures, scales, intervals and honest sentences.

use nnuance::loss::sigmoid;
use nnuance::report::board::{board, side_by_side};
use nnuance::report::estimate::Groups;
use nnuance::report::estimate::Means;
use nnuance::report::fit::{fit, loss, near};
use nnuance::report::{
    Align, Comparison, Options, Predictions, Table, Truth, Values, compare, part,
};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::snapshot;

/// Uniform in 0..1.
fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn the_scale_is_recovered() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    for scale in [3.0, 120.0, 400.0, 20_000.0] {
        let cp: Vec<f64> =
            (0..50_000).map(|_| (uniform(&mut random) - 0.5) * 6.0 * scale).collect();
        let targets: Vec<f64> = cp.iter().map(|cp| sigmoid(cp / scale)).collect();
        let exact = fit(&cp, &targets);
        assert!((exact.scale.unwrap() / scale - 1.0).abs() < 1e-5, "{exact:?}");
        let results: Vec<f64> = targets
            .iter()
            .map(|target| if uniform(&mut random) < *target { 1.0 } else { 0.0 })
            .collect();
        let noisy = fit(&cp, &results);
        assert!((noisy.scale.unwrap() / scale - 1.0).abs() < 0.05, "{noisy:?}");
        assert!(!noisy.at_border);
        assert!(noisy.loss <= loss(&cp, &results, scale));
    }
}

#[test]
fn a_scale_found_from_nearby_is_the_one_that_a_search_finds() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(6);
    for (count, scale) in [(40_000, 150.0), (300, 30.0), (60, 400.0)] {
        let cp: Vec<f64> = (0..count).map(|_| (uniform(&mut random) - 0.5) * 5.0 * scale).collect();
        let results: Vec<f64> = cp
            .iter()
            .map(|cp| f64::from(u8::from(uniform(&mut random) < sigmoid(cp / scale))))
            .collect();
        let whole = fit(&cp, &results).scale.unwrap();
        for part in 0..5 {
            let on: Vec<usize> = (0..count).filter(|i| i % 5 != part).collect();
            let take = |list: &[f64]| on.iter().map(|i| list[*i]).collect::<Vec<f64>>();
            let searched = fit(&take(&cp), &take(&results)).scale.unwrap();
            let found = near(&cp, &results, &on, whole).unwrap();
            assert!((found / searched - 1.0).abs() < 1e-5, "{count}: {found} {searched}");
        }
    }
    // Where the minimum is another one or none, nothing is found.
    assert_eq!(near(&[100.0, -100.0], &[0.0, 1.0], &[0, 1], 100.0), None);
    assert_eq!(near(&[0.0, 0.0], &[0.0, 1.0], &[0, 1], 100.0), None);
}

#[test]
fn scales_of_values_that_say_nothing() {
    let results = [0.0, 1.0, 1.0, 0.5];
    let zero = fit(&[0.0; 4], &results);
    assert_eq!((zero.scale, zero.loss), (None, 0.1875));
    // A constant can be scaled to the mean, 0.625.
    let equal = fit(&[50.0; 4], &results);
    assert!((sigmoid(50.0 / equal.scale.unwrap()) - 0.625).abs() < 1e-6);
    let opposite = fit(&[100.0, -100.0, -200.0, 0.0], &results);
    assert!(opposite.at_border && opposite.scale.unwrap() > 9e4);
    let huge = fit(&[1e300, -1e300, -1e300, 0.0], &results);
    assert!(huge.loss.is_finite());
    assert!(fit(&[], &[]).scale.is_none());
}

#[test]
fn intervals_cover_what_they_should() {
    // 200 worlds of 120 games with 1 to 20 positions that share most of their noise.
    let (mut covered, mut paired, worlds) = (0, 0, 200);
    for world in 0..worlds {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(100 + world);
        let (mut keys, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
        for game in 0..120 {
            let shared = uniform(&mut random) - 0.5;
            let better = 0.2 * (uniform(&mut random) - 0.5);
            for _ in 0..1 + random.next_u64() % 20 {
                keys.push(game);
                let noise = 0.1 * (uniform(&mut random) - 0.5);
                one.push(1.0 + shared + noise);
                two.push(0.7 + shared + better);
            }
        }
        let groups = Groups::new(keys);
        let means = Means::new(&groups, &[groups.sums(one), groups.sums(two)]);
        let inside = |[low, high]: [f64; 2], truth: f64| low <= truth && truth <= high;
        covered += usize::from(inside(means.mean(0).interval.unwrap(), 1.0));
        let difference = means.difference(0, 1);
        paired += usize::from(inside(difference.interval.unwrap(), 0.3));
        // What games share cancels out in a pair.
        let error = difference.standard_error.unwrap();
        assert!(error < 0.5 * means.mean(0).standard_error.unwrap());
        assert!((difference.z().unwrap() - difference.mean / error).abs() < 1e-12);
    }
    assert!((180..=198).contains(&covered), "{covered} of {worlds}");
    assert!((180..=198).contains(&paired), "{paired} of {worlds}");
}

/// The jackknife over groups and Student's t with one degree of freedom less than groups.
#[test]
fn intervals_follow_the_definition() {
    let keys = [0, 0, 1, 2, 2, 2, 3, 4, 4];
    let values = [0.3, 0.1, 0.9, 0.2, 0.5, 0.4, 0.8, 0.1, 0.7];
    let mean = |without: Option<u64>| -> f64 {
        let left = keys.iter().zip(values).filter(|(key, _)| Some(**key) != without);
        let left: Vec<f64> = left.map(|(_, value)| value).collect();
        left.iter().sum::<f64>() / left.len() as f64
    };
    let whole = mean(None);
    let squares: f64 = (0..5).map(|key| (mean(Some(key)) - whole).powi(2)).sum();
    let error = (4.0 / 5.0 * squares).sqrt();
    let groups = Groups::new(keys);
    let found = Means::new(&groups, &[groups.sums(values)]).mean(0);
    assert!((found.mean - whole).abs() < 1e-12);
    assert!((found.standard_error.unwrap() - error).abs() < 1e-12);
    // t for 5 % and 4 degrees of freedom, from a table.
    let [low, high] = found.interval.unwrap();
    assert!(((high - low) / (2.0 * error) - 2.776_445).abs() < 1e-5, "{low} {high}");
    assert!(found.p.unwrap() > 0.0 && !found.can_tell());
}

#[test]
fn intervals_are_reproducible() {
    let values: Vec<f64> = (0..20_000).map(|i| f64::from(i % 97)).collect();
    let groups = Groups::new((0..20_000).map(|i| i / 7));
    assert_eq!((groups.len(), groups.records()), (2858, 20_000));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let targets: Vec<f64> = values.iter().map(|v| v / 97.0).collect();
            let means = Means::new(&groups, &[groups.sums(values.clone())]);
            (means.mean(0), means.statistic(|means| means[0].ln()), fit(&values, &targets))
        })
    };
    assert_eq!(run(1), run(4));
    let flat = Means::new(&groups, &[groups.sums(vec![3.0; 20_000])]).mean(0);
    assert_eq!((flat.interval, flat.standard_error), (Some([3.0, 3.0]), Some(0.0)));
    assert_eq!((flat.z(), flat.p), (None, None));
    let single = Means::new(&Groups::new([1, 1]), &[vec![1.0]]).mean(0);
    assert_eq!((single.mean, single.interval, single.contains_zero()), (0.5, None, true));
}

#[test]
fn many_groups_keep_their_standard_error() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let values: Vec<f64> = (0..100_000).map(|_| uniform(&mut random)).collect();
    let groups = Groups::new(0..100_000);
    let mean = Means::new(&groups, &[groups.sums(values)]).mean(0);
    let exact = (1.0 / 12.0 / 1e5_f64).sqrt();
    assert!((mean.standard_error.unwrap() / exact - 1.0).abs() < 0.08, "{mean:?}");
}

/// Games of ten positions; each evaluation sees the truth in its own unit, with its own noise.
struct World {
    results: Vec<f64>,
    groups: Vec<u64>,
    evaluations: Vec<Predictions>,
}

fn world(games: u64, units: &[(&str, f64, f64)]) -> World {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(4);
    let (mut results, mut groups) = (Vec::new(), Vec::new());
    let mut cp = vec![Vec::new(); units.len()];
    for game in 0..games {
        let strength = 4.0 * (uniform(&mut random) - 0.5);
        let won = uniform(&mut random) < sigmoid(strength);
        for _ in 0..10 {
            results.push(if won { 1.0 } else { 0.0 });
            groups.push(game);
            for (cp, (_, unit, noise)) in cp.iter_mut().zip(units) {
                cp.push(unit * (strength + noise * (uniform(&mut random) - 0.5)));
            }
        }
    }
    let evaluations =
        units.iter().zip(cp).map(|((name, ..), cp)| Predictions::new(*name, cp)).collect();
    World { results, groups, evaluations }
}

impl World {
    fn truth(&self) -> Truth<'_> {
        Truth::of_games(&self.results, &self.groups, "held-out games")
    }

    fn compare(&self, options: &Options) -> Comparison {
        compare(&self.evaluations, &self.truth(), options).unwrap()
    }
}

#[test]
fn comparison_text_is_as_stored() {
    let world = world(400, &[("net", 300.0, 1.0), ("hce", 100.0, 8.0), ("twin", 250.0, 1.0)]);
    let mut evaluations = world.evaluations.clone();
    let Values::Cp(cp) = &evaluations[0].values else { panic!() };
    let upside_down = cp.iter().map(|cp| -cp).collect();
    evaluations[0].doubt = Some("it was trained on these".into());
    evaluations.push(Predictions::constant());
    evaluations.push(Predictions::new("zero", vec![0.0; 4000]));
    evaluations.push(Predictions::new("upside down", upside_down));
    let targets = vec![0.5; 4000];
    let truth = Truth { targets: Some(&targets), ..world.truth() };
    let options = Options { fixed_scale: Some(400.0), ..Options::default() };
    let comparison = compare(&evaluations, &truth, &options).unwrap();
    let pairs = comparison.pair_table().width(200);
    snapshot::check("compare.txt", &format!("{}\n{pairs}", comparison.text()));
    let named = |name: &str| comparison.evaluations.iter().find(|one| one.name == name).unwrap();
    assert!((named("zero").loss.mean - 0.25).abs() < 1e-12 && named("upside down").at_border);
    let json = serde_json::to_value(named("hce")).unwrap();
    let number = |key: &str| json["scale"][key].as_f64().unwrap();
    assert!((number("S") * number("k") - 1.0).abs() < 1e-12);
    assert!((number("S") * number("Ke") - 400.0).abs() < 1e-9);
    assert!((number("S") * number("K10") - 173.7178).abs() < 1e-3);
}

/// No game helps to fit the scale that it is measured with.
#[test]
fn each_fifth_is_measured_with_the_scale_of_the_others() {
    let world = world(60, &[("net", 300.0, 4.0)]);
    let Values::Cp(cp) = &world.evaluations[0].values else { panic!() };
    let mut sum = 0.0;
    for fold in 0..5 {
        let is_own = |i: &usize| part(world.groups[*i]) == fold;
        let (own, others): (Vec<usize>, Vec<usize>) = (0..cp.len()).partition(is_own);
        assert!(!own.is_empty());
        let take = |list: &[f64]| others.iter().map(|i| list[*i]).collect::<Vec<f64>>();
        let scale = fit(&take(cp), &take(&world.results)).scale.unwrap();
        let square = |i: usize| (sigmoid(cp[i] / scale) - world.results[i]).powi(2);
        sum += own.into_iter().map(square).sum::<f64>();
    }
    let found = world.compare(&Options::default()).evaluations[0].loss.mean;
    assert!((found - sum / cp.len() as f64).abs() < 1e-7, "{found}");
    let flattered = world.compare(&Options { fit_on_same: true, ..Options::default() });
    assert!(found - flattered.evaluations[0].loss.mean > 1e-5);
    // The constant of a fifth is the mean of the others.
    let constant = compare(&[Predictions::constant()], &world.truth(), &Options::default());
    let mean = |i: usize| {
        let fold = part(world.groups[i]);
        let others = (0..cp.len()).filter(|j| part(world.groups[*j]) != fold);
        let others: Vec<f64> = others.map(|j| world.results[j]).collect();
        others.iter().sum::<f64>() / others.len() as f64
    };
    let loss = (0..cp.len()).map(|i| (mean(i) - world.results[i]).powi(2)).sum::<f64>();
    let found = constant.unwrap().evaluations[0].loss.mean;
    assert!((found - loss / cp.len() as f64).abs() < 1e-12);
}

#[test]
fn wrong_input_is_named() {
    let world = world(20, &[("net", 300.0, 1.0)]);
    let fail = |evaluations: &[Predictions], truth: Truth, options: &Options| {
        compare(evaluations, &truth, options).unwrap_err().to_string()
    };
    let options = Options::default();
    assert!(fail(&[], world.truth(), &options).starts_with("no evaluation"));
    let mut nan = world.evaluations.clone();
    nan[0].values = Values::Cp(vec![f64::NAN; 200]);
    let message = fail(&nan, world.truth(), &options);
    assert_eq!(message, "net gives no finite number for position 0 (from 0)");
    let groups = vec![7; 200];
    let truth = Truth { groups: &groups, ..world.truth() };
    assert!(fail(&world.evaluations, truth, &options).contains("cannot be cut into parts"));
    let fixed = Options { fixed_scale: Some(0.0), ..options };
    assert!(fail(&world.evaluations, world.truth(), &fixed).contains("fixed scale is 0"));
}

#[test]
fn boards_are_as_stored() {
    let fen = "4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1";
    let pieces = nnuance::sample::Position::from_fen(fen).unwrap().letters();
    let mut values = [None; 64];
    values[0] = Some(511.6);
    values[12] = Some(-0.3);
    let list = [("net".to_string(), -40.0, Some(400.0)), ("hce".to_string(), 12.34, None)];
    let table = side_by_side(&list, false);
    snapshot::check("board.txt", &format!("{}\n{table}", board(&pieces, &values)));
    let wide = [1e300, -1e300, 1e9, f64::NAN, f64::INFINITY, -12_345_678.0, 1e-320];
    let values: [_; 64] = std::array::from_fn(|i| Some(wide[i % wide.len()]));
    let text = board(&[Some('Q'); 64], &values);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn tables_are_aligned_and_narrow() {
    let mut table = Table::new(&[("name", Align::Left), ("loss", Align::Right)]).width(24);
    table.row(["short", "0.1"]);
    table.row(["a name that is far too long", "0.12345"]);
    assert_eq!(
        table.to_string(),
        "name                loss\n\
         ---------------  -------\n\
         short                0.1\n\
         a name that is…  0.12345\n"
    );
}
