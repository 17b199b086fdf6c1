//! What the program makes of data, of a run and of tuned terms, in words.

use nnuance::data::doctor::size::{Amount, SIZES, Verdict as Enough, clauses, sizes};
use nnuance::hce::terms::TERMS;
use nnuance::report::before_after::TermResult;
use nnuance::report::overfit::{Losses, Overfitting, Verdict};
use nnuance::report::sanity::{Counted, Sanity, gathered, role};
use nnuance::terms::Kind;
use rand::RngExt;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::tuning::{nnuance, said, written};

fn amount(games: Option<u64>, positions: u64, scored: u64) -> Amount {
    Amount { games, positions, scored }
}

#[test]
fn sizes_are_those_of_our_models() {
    let weights = |name: &str| SIZES.iter().find(|size| size.0 == name).unwrap().1;
    // Pairs of material and squares, and the tempo; COMPLEXITY terms count as pairs here.
    assert_eq!(weights("piece-square tables"), 2 * (5 + 384) + 1);
    assert_eq!(weights("all 914 terms"), 2 * TERMS as u64 + 1);
    for hidden in [32, 128, 256] {
        assert_eq!(weights(&hidden.to_string()), 768 * hidden + hidden + 2 * hidden + 1);
    }
}

#[test]
fn the_anchors_come_out_as_they_were_measured() {
    // The games of the quickstart, to train on.
    let quickstart = amount(Some(11_216), 897_574, 897_574);
    let net = |hidden: u64| 771 * hidden + 1;
    let verdict = |weights, wdl| quickstart.verdict(weights, wdl);
    assert_eq!(verdict(1_829, 1.0), Enough::Enough, "all terms, on results alone");
    assert_eq!(verdict(net(32), 0.1), Enough::Enough, "nets gain up to 32 neurons");
    assert_eq!(verdict(net(64), 0.1), Enough::Thin, "and no more at 64");
    assert_eq!(verdict(net(64), 0.5), Enough::Thin, "with results they get worse with size");
    assert_eq!(verdict(net(32), 1.0), Enough::Thin);
    // Master games: 64 neurons are still a gain on 300,000 games.
    assert_eq!(amount(Some(250_000), 1_500_000, 0).verdict(net(64), 1.0), Enough::Enough);
    // Where games are unknown they are between one a position and one in eighty positions.
    assert_eq!(amount(None, 1_500_000, 0).verdict(net(64), 1.0), Enough::Unknown);
    assert_eq!(amount(None, 1_500_000, 0).verdict(1_829, 1.0), Enough::Enough);
    assert_eq!(amount(None, 20_000, 0).verdict(net(64), 1.0), Enough::Thin);
}

#[test]
fn few_games_are_called_few() {
    // What was once called fit for 49,000 weights.
    let few = amount(Some(330), 26_000, 26_000);
    let told = few.caution(49_345, 0.1).unwrap();
    assert!(told.starts_with("49,345 weights are many for 330 games and 26,000 scored positions"));
    assert!(told.contains("about 780"), "{told}");
    assert_eq!(few.caution(700, 0.0), None);
    assert!(few.caution(700, 1.0).unwrap().contains("330 games, which carry about 66"));
    let unknown = amount(None, 1_500_000, 0).caution(49_345, 1.0).unwrap();
    assert!(unknown.contains("as the games are unknown"), "{unknown}");
    let sizes = sizes(&few);
    assert_eq!(
        clauses(&sizes, |size| size.by_scores),
        "enough for piece-square tables, thin for all 914 terms, nets of 8 neurons, 32, 128 and 256"
    );
    assert!(clauses(&sizes, |size| size.by_results).starts_with("thin for piece-square tables,"));
}

#[test]
fn the_doctor_weighs_data_against_models() {
    let doctor = |file: &str| {
        let mut command = nnuance();
        command.args(["data", "doctor", file, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&said(&mut command)[0]).unwrap();
        let findings = json[0]["diagnosis"]["findings"].as_array().unwrap().clone();
        let size = findings.into_iter().find(|finding| finding["about"] == "size of model");
        let size = size.unwrap();
        let text = |key: &str| size[key].as_str().unwrap_or_default().to_string();
        [text("grade"), text("says"), text("cure")]
    };
    let [grade, says, _] = doctor("data/selfplay-sf15.vf");
    assert_eq!(grade, "ok", "{says}");
    assert!(says.starts_with("the results of 12,4"), "{says}");
    assert!(says.contains("enough for piece-square tables and all 914 terms, thin for nets"));
    let [_, scores] = says.split_once(';').map(|(one, two)| [one, two]).unwrap();
    assert!(scores.contains("nets of 8 neurons and 32, thin for nets of 128 and 256"), "{scores}");
    let [grade, says, cure] = doctor("data/selfplay_sf151_200games.pgn");
    assert_eq!(grade, "note", "{says}");
    assert!(says.starts_with("the results of 200 games are thin for"), "{says}");
    assert!(cure.contains("a weight wants about 5 games"), "{cure}");
}

#[test]
fn the_doctor_sees_where_results_know_nothing_of_material() {
    use nnuance::data::doctor::{Exam, Grade, Reading};
    use nnuance::format::{BadRecords, Format};
    use nnuance::point_of_view::PointOfView;
    use nnuance::sample::Sample;
    let samples = crate::games::samples(20_000, 5);
    // Who has more wins by this much, in positions with many pieces and with few.
    let grade = |early: f32, late: f32| {
        let mut exam = Exam::new(&Format::named("epd").unwrap().facts);
        for (i, sample) in samples.iter().enumerate() {
            let worth = |letters: &str| {
                let board = sample.position.fen();
                let board = board.split(' ').next().unwrap().to_string();
                board.chars().filter(|c| letters.contains(*c)).count() as i32
            };
            let white = worth("P") + 3 * worth("NB") + 5 * worth("R") + 9 * worth("Q")
                - worth("p")
                - 3 * worth("nb")
                - 5 * worth("r")
                - 9 * worth("q");
            let own = if sample.position.turn().is_white() { white } else { -white };
            let phase = worth("NBnb") + 2 * worth("Rr") + 4 * worth("Qq");
            let share = if phase > 12 { early } else { late };
            let sure = (i % 100) as f32 / 100.0 < share;
            let result = match (own.signum(), sure) {
                (1, true) => 1.0,
                (-1, true) => 0.0,
                _ => 0.5,
            };
            exam.add(&Sample { result, score: None, ..*sample });
        }
        let reading = Reading {
            view: PointOfView::White,
            bad: BadRecords::default(),
            unfinished: 0,
            ended: None,
        };
        let diagnosis = exam.diagnose(&reading, None, None);
        let found = diagnosis.findings.iter().find(|finding| finding.about == "material");
        found.map(|finding| (finding.grade, diagnosis.material.unwrap()))
    };
    let (grade_of_both, both) = grade(0.5, 0.5).expect("both phases occur");
    assert_eq!(grade_of_both, Grade::Ok);
    assert!(both.middlegame > 0.1 && both.endgame > 0.1, "{both:?}");
    assert_eq!(grade(0.05, 0.6).unwrap().0, Grade::Note);
}

/// Losses of `games` games of 20 positions each: the reference's, and those of an evaluation that
/// gains `gain` over it on average.
fn losses(games: usize, gain: f64, seed: u64) -> [Vec<f64>; 2] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut trained, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..games {
        let hard: f64 = random.random_range(0.05..0.15);
        let gain = gain + random.random_range(-0.01..0.01);
        for _ in 0..20 {
            let noise: f64 = random.random_range(-0.02..0.02);
            reference.push(hard + noise);
            trained.push(hard + noise - gain);
        }
    }
    [trained, reference]
}

fn overfitting(games: usize, gains: [f64; 2], rose: f64) -> Overfitting {
    let [one, other] = [losses(2_000, gains[0], 7), losses(games, gains[1], 8)];
    let named = |count: usize| -> Vec<u64> { (0..20 * count as u64).map(|i| i / 20).collect() };
    let (first, second) = (named(2_000), named(games));
    let training = Losses { trained: &one[0], reference: &one[1], games: &first };
    let validation = Losses { trained: &other[0], reference: &other[1], games: &second };
    Overfitting::of(training, validation, "material", rose, "fewer neurons").unwrap()
}

#[test]
fn overfitting_is_said_where_it_is() {
    let it = overfitting(500, [0.02, 0.012], 0.0);
    assert_eq!(it.verdict, Verdict::Overfitted);
    assert!((it.gap - 0.008).abs() < 0.002, "{it:?}");
    assert!(it.interval[0] < it.gap && it.gap < it.interval[1]);
    let text = it.text();
    assert!(
        text.contains("it has overfitted: ") && text.ends_with("would help, and fewer neurons may")
    );
    let it = overfitting(500, [0.02, 0.02], 0.0);
    assert_eq!(it.verdict, Verdict::None, "{}", it.text());
    assert!(it.text().contains("no sign of overfitting"));
    let it = overfitting(20_000, [0.02, 0.019], 0.0);
    assert_eq!(it.verdict, Verdict::Slightly, "{}", it.text());
    let it = overfitting(4, [0.02, 0.016], 0.0);
    assert_eq!(it.verdict, Verdict::Unclear, "{}", it.text());
    let it = overfitting(500, [-0.01, -0.01], 0.0);
    assert_eq!(it.verdict, Verdict::NotYet);
    // What chance may have brought is no gain, of which a share could be missing.
    let it = overfitting(500, [0.0001, -0.01], 0.0);
    assert_eq!(it.verdict, Verdict::NotYet, "{}", it.text());
    let it = overfitting(500, [0.02, 0.02], 0.002);
    assert!(it.text().contains("rose by 0.00200 after its lowest"), "{}", it.text());
}

#[test]
fn harder_games_are_no_overfitting() {
    // The validation games are harder for every evaluation alike.
    let [one, [trained, reference]] = [losses(4_000, 0.02, 1), losses(4_000, 0.02, 2)];
    let harder = |losses: &[f64]| losses.iter().map(|loss| loss + 0.03).collect::<Vec<_>>();
    let (trained, reference) = (harder(&trained), harder(&reference));
    let training = Losses { trained: &one[0], reference: &one[1], games: &[] };
    let validation = Losses { trained: &trained, reference: &reference, games: &[] };
    let it = Overfitting::of(training, validation, "material", 0.0, "").unwrap();
    assert!(it.validation > it.training + 0.025);
    assert_eq!(it.verdict, Verdict::None, "{}", it.text());
    assert!(it.text().contains("games are unknown"));
}

#[test]
fn the_interval_holds_and_grows_with_the_games() {
    // Of 400 pairs of samples without a gap about one in twenty should miss zero.
    let mut missed = 0;
    for seed in 0..400 {
        let [one, other] = [losses(100, 0.02, 2 * seed + 100), losses(60, 0.02, 2 * seed + 101)];
        let named: Vec<u64> = (0..2_000).map(|i| i / 20).collect();
        let training = Losses { trained: &one[0], reference: &one[1], games: &named };
        let validation = Losses { trained: &other[0], reference: &other[1], games: &named[..1200] };
        let it = Overfitting::of(training, validation, "material", 0.0, "").unwrap();
        missed += usize::from(it.interval[0] > 0.0 || it.interval[1] < 0.0);
    }
    assert!((8..=36).contains(&missed), "{missed} of 400 intervals miss the truth");
}

fn term(name: &str, start: [f64; 2], tuned: [f64; 2]) -> TermResult {
    TermResult {
        name: name.to_string(),
        kind: Kind::Normal,
        count: Some(100),
        start,
        tuned,
        error: Some([2.0, 2.0]),
        held: None,
    }
}

fn sane(terms: &[(TermResult, f64)]) -> Sanity {
    let counted = terms.iter().map(|(result, times)| Counted { result, times: *times });
    Sanity::of(&counted.collect::<Vec<_>>(), 0.5, None)
}

#[test]
fn effective_values_are_material_and_the_mean_of_what_occurs() {
    let sane = sane(&[
        (term("material.pawn", [100.0; 2], [80.0, 100.0]), 1000.0),
        (term("psqt.pawn.a2", [0.0; 2], [-10.0, 20.0]), 750.0),
        (term("psqt.pawn.e4", [0.0; 2], [30.0, 0.0]), 250.0),
        (term("pawns.doubled", [-8.0; 2], [-20.0, -40.0]), 100.0),
        (term("threats.pawn", [50.0; 2], [90.0, 90.0]), 300.0),
    ]);
    let pawn = &sane.pieces[0];
    // 80 - 10 * .75 + 30 * .25 - 20 * .1, and 100 + 20 * .75 - 40 * .1
    assert!((pawn.tuned[0] - 78.0).abs() < 1e-9 && (pawn.tuned[1] - 111.0).abs() < 1e-9);
    assert!((pawn.start[0] - 99.2).abs() < 1e-9);
    assert!(sane.marks.is_empty(), "{:?}", sane.marks);
    assert!(sane.text().contains("in order, and no sign has turned"));
}

#[test]
fn odd_orders_ratios_and_signs_are_marked_first() {
    let sane = sane(&[
        (term("material.pawn", [100.0; 2], [36.0, 196.0]), 8.0),
        (term("material.knight", [320.0; 2], [310.0, 420.0]), 2.0),
        (term("material.rook", [500.0; 2], [173.0, 970.0]), 2.0),
        (term("rooks.trapped", [-30.0, -10.0], [25.0, -1.0]), 1.0),
        (term("rooks.open", [26.0, 8.0], [-3.0, 8.0]), 1.0),
        (term("mobility.rook.0", [-14.0; 2], [40.0; 2]), 1.0),
        (term("mobility.rook.1", [-12.0; 2], [40.0; 2]), 1.0),
        (term("mobility.rook.2", [-10.0; 2], [40.0; 2]), 1.0),
    ]);
    let text = sane.text();
    for told in [
        "! in the middlegame a knight (310.0) is worth as much as a rook",
        "! a pawn is worth 36.0 in the middlegame and 196.0 in the endgame, 5.4 times as much",
        "rooks.trapped, middlegame: a penalty became a bonus, -30.0 to +25.0, 12 standard",
        "piece",
    ] {
        assert!(text.replace("\n  ", " ").contains(told), "{told:?} is not in {text}");
    }
    // One and a half errors are no sign, and a table shares its mean with material.
    assert!(!text.contains("rooks.open") && !text.contains("mobility"));
    assert!(text.find("! in the").unwrap() < text.find("Effective values").unwrap());
}

#[test]
fn roles_are_read_from_names() {
    assert_eq!(role("psqt.pawn.e4"), Some(0));
    assert_eq!(role("rooks.trapped"), Some(3));
    assert_eq!(role("rank.queen.3"), Some(4));
    assert_eq!(role("bishop.pair"), Some(2));
    for none in ["threats.rook.pawn", "king.pawns.1", "psqt.king.e1", "pawnstorm.x", "tempo"] {
        assert_eq!(role(none), None, "{none}");
    }
    let names = ["material.pawn", "psqt.pawn.a2", "psqt.pawn.a3"].map(String::from);
    assert_eq!(gathered(&names), ["material.pawn", "psqt.pawn.*"]);
    // Where they are many the beginnings are shorter.
    let many = (0..4).flat_map(|i| (0..4).map(move |j| format!("pawns.passed.own.{i}.{j}")));
    let many: Vec<String> = many.chain(["tempo".to_string()]).collect();
    assert_eq!(gathered(&many[..4]), ["pawns.passed.own.0.*"]);
    let all: Vec<String> = (0..9)
        .flat_map(|i| {
            let name = move |j: usize| format!("king.{i}.{j}");
            (0..2).map(name)
        })
        .chain(many)
        .collect();
    assert_eq!(gathered(&all), ["king.*", "pawns.*", "tempo"]);
}

/// A run on some games of the repository.
fn run(text: &str) -> (tempfile::TempDir, String, String, serde_json::Value) {
    let folder = tempfile::tempdir().unwrap();
    let config = written(&folder, text);
    let out = folder.path().join("run");
    let mut command = nnuance();
    command.args(["train", &config, "--out"]).arg(&out);
    let [stdout, stderr] = said(&mut command);
    let judged = std::fs::read_to_string(out.join("judgement.json")).unwrap();
    (folder, stdout, stderr, serde_json::from_str(&judged).unwrap())
}

#[test]
fn a_large_net_on_few_games_is_cautioned_and_overfits() {
    let net = |hidden: usize, epochs: usize, limit: usize| {
        run(&format!(
            "version = 1\nseed = 1\n\
             [data]\nfiles = [\"data/selfplay-sf15.vf\"]\nlimit = {limit}\nheld_out = 0.3\ntest = 0\n\
             [model]\ninputs = \"perspective\"\nhidden = {hidden}\nactivation = \"screlu\"\n\
             [target]\nwdl = 0.5\nscore_scale = 126\nscale = 400\n\
             [schedule]\nepochs = {epochs}\nbatch = 512\nlearning_rate = 0.005\nlooks = 4\n"
        ))
    };
    let (_folder, stdout, stderr, judged) = net(32, 12, 20_000);
    assert!(stderr.contains("caution: 24,673 weights are many for"), "{stderr}");
    let it = &judged["overfitting"];
    assert_eq!(it["verdict"], "overfitted", "{it}");
    assert!(stdout.contains("it has overfitted"), "{stdout}");
    assert!(it["training"].as_f64() < it["validation"].as_f64(), "{it}");
    assert_eq!(it["games_known"], true);
    let (_folder, stdout, stderr, judged) = net(1, 1, 80_000);
    assert!(!stderr.contains("caution"), "{stderr}");
    assert_ne!(judged["overfitting"]["verdict"], "overfitted", "{stdout}");
}

/// Of a target that is the same everywhere nothing is learnt, and the loss looks good.
#[test]
fn scores_or_results_that_are_all_the_same_are_cautioned() {
    let folder = tempfile::tempdir().unwrap();
    let games = std::fs::read_to_string("data/selfplay_sf151_scored.txt").unwrap();
    let file = folder.path().join("same.txt");
    let cautions = |score: Option<&str>, result: Option<&str>, wdl: f64| {
        let line = |line: &str| {
            let [fen, own, of_game] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!() };
            format!("{fen} | {} | {}\n", score.unwrap_or(own), result.unwrap_or(of_game))
        };
        std::fs::write(&file, games.lines().take(300).map(line).collect::<String>()).unwrap();
        let (_folder, _, stderr, _) = run(&format!(
            "version = 1\nseed = 1\n[data]\nfiles = ['{}']\nheld_out = 0\ncheck_view = false\n\
             [model]\ninputs = \"perspective\"\nhidden = 1\nactivation = \"screlu\"\n\
             [target]\nwdl = {wdl}\n\
             [schedule]\nepochs = 1\nbatch = 100\nlearning_rate = 0.001\n",
            file.display()
        ));
        ["every score is 0 cp", "every result is 0.5"].map(|words| stderr.contains(words))
    };
    assert_eq!(cautions(Some("0"), None, 0.5), [true, false]);
    assert_eq!(cautions(Some("0"), None, 1.0), [false, false], "results alone count");
    assert_eq!(cautions(None, Some("0.5"), 0.5), [false, true]);
    assert_eq!(cautions(None, Some("0.5"), 0.0), [false, false], "scores alone count");
    assert_eq!(cautions(None, None, 0.5), [false, false]);
}

#[test]
fn tuned_terms_are_judged_after_training() {
    let (_folder, stdout, _, judged) = run("version = 1\nseed = 1\n\
         [data]\nfiles = [\"data/selfplay-sf15.vf\"]\nlimit = 60000\n\
         [model]\ninputs = \"hce\"\nterms = [\"material\", \"psqt\"]\n\
         [target]\nwdl = 1.0\n[optimizer]\nname = \"gauss-newton\"\n");
    assert!(stdout.contains("What the tuning did"), "{stdout}");
    let rank = &judged["terms"]["rank"];
    let (weights, determined) = (&rank["weights"], &rank["determined"]);
    assert!(weights.as_f64() > determined.as_f64(), "{rank}");
    // Material of each piece is the sum of its table, in both phases.
    let groups = rank["collinear"].as_array().unwrap();
    let pawns = serde_json::json!([["material.pawn", "psqt.pawn.*"], 2]);
    assert!(groups.contains(&pawns), "{rank}");
    let pieces = judged["terms"]["pieces"].as_array().unwrap();
    assert_eq!(pieces.len(), 5);
    assert!(pieces[4]["tuned"][1].as_f64() > pieces[0]["tuned"][1].as_f64());
}
