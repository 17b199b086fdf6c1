//! `nnuance eval`.

use nnuance::export::GOLDEN_FENS;

use crate::nets::files::random;
use crate::support::kit::*;

/// Runs `nnuance` with standard input; its output and errors.
fn output(words: &[&str], input: &str, success: bool) -> [String; 2] {
    let output = feed_command(nnuance().args(words), input.as_bytes());
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert_eq!(output.status.success(), success, "{text:?}");
    text
}

#[test]
fn lists_and_arguments_evaluate_alike() {
    let work = Workdir::empty();
    let net = random(Perspectives::Perspective, 16, Activation::SCReLU);
    let path = work.write("net.bin", net.to_bytes());
    let fens = GOLDEN_FENS.map(|fen| format!("{fen};something;else\n")).concat();
    let lines = GOLDEN_FENS
        .map(|fen| format!("{fen};{}\n", net.evaluate(&Position::from_fen(fen).unwrap())));
    let [out, _] = output(&[&["eval", &path], &GOLDEN_FENS[..]].concat(), "", true);
    assert_eq!(out, lines.concat());
    let [out, _] = output(&["eval", &path, "--fens", "-"], &fens, true);
    assert_eq!(out, lines.concat());

    let list = work.write("list.txt", fens + "no position\n");
    let [out, said] = output(&["eval", &path, "--fens", &list], "", false);
    assert!(out == lines.concat() && said.contains("list.txt, line 17"), "{said}");
}

#[test]
fn lines_of_many_kinds() {
    let whole = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
    let four = "4k3/8/8/8/8/8/4P3/4K3 w - -";
    for (line, read) in [
        (whole.to_string(), whole),
        (format!(" {whole} ; 12"), whole),
        (format!("{whole} | 12 | 0.5"), whole),
        (format!("{whole} [0.5] 12"), whole),
        (format!("{four} c9 \"1-0\";"), four),
        (format!("{four} bm e4; id \"a | b\";"), four),
        (format!("{four} 3 [0.5]"), four),
        (format!("{whole} bm e4;"), whole),
    ] {
        let [out, _] = output(&["eval", QUICKSTART, "--fens", "-"], &line, true);
        assert_eq!(out.split_once(';').unwrap().0, read);
    }
    for none in ["", "\n  \n"] {
        output(&["eval", QUICKSTART, "--fens", "-"], none, false);
    }
}

fn centipawns(evaluation: &str, fens: &str) -> Vec<i64> {
    let [out, _] = output(&["eval", evaluation, "--fens", "-"], fens, true);
    out.lines().map(|line| line.rsplit_once(';').unwrap().1.parse().unwrap()).collect()
}

#[test]
fn eval_and_compare_have_same_values() {
    let folder = Workdir::empty();
    let [tables, sampled] = ["tables", "some.txt"].map(|name| folder.name(name));
    let few = ["--set", "data.limit=20000", "--set", "schedule.epochs=1"];
    said(nnuance().args(["train", "configs/hce-pst.toml", "--out", &tables]).args(few));
    let sample = ["data", "sample", GAMES, "--share", "0.002", "-o", &sampled];
    said(nnuance().args(sample));
    let lines = fs::read_to_string(&sampled).unwrap();
    let best = format!("{tables}/best.safetensors");
    for (evaluation, exact) in [
        (QUICKSTART, true),
        ("material", true),
        ("nets/quickstart-32.safetensors", false),
        ("tests/it/fixtures/pesto.json", false),
        (&tables, false),
        (&best, false),
    ] {
        // The values replace the scores, so that `compare` measures them as `score`.
        let values = centipawns(evaluation, &lines);
        assert_eq!(values.len(), lines.lines().count());
        let scored: String = lines
            .lines()
            .zip(&values)
            .map(|(line, value)| {
                let parts: Vec<&str> = line.split(" | ").collect();
                let white = if parts[0].contains(" b ") { -value } else { *value };
                format!("{} | {white} | {}\n", parts[0], parts[2])
            })
            .collect();
        let file = folder.name("scored.txt");
        fs::write(&file, scored).unwrap();
        let args = ["compare", "--all", "--json", "--data", &file, "--", evaluation, "score"];
        let json = json(nnuance().args(args));
        let loss = |i: usize| json["evaluations"][i]["loss"]["mean"].as_f64().unwrap();
        let apart = (loss(0) - loss(1)).abs();
        // Half a centipawn of rounding moves no loss by more.
        let most = if exact { 0.0 } else { 2e-5 };
        assert!(apart <= most, "{evaluation}: {} and {}", loss(0), loss(1));
    }
}

/// Rounded to the nearest whole centipawn, halves away from zero, and never to a negative zero.
#[test]
fn floats_are_rounded_to_the_nearest() {
    let work = Workdir::empty();
    let text = fs::read_to_string("tests/it/fixtures/pesto.json").unwrap();
    let mut weights = HceWeights::from_json(&text).unwrap();
    weights.values.iter_mut().for_each(|pair| *pair = [0.0; 2]);
    for (tempo, said) in [(2.5, 3), (-2.5, -3), (2.4, 2), (-0.4, 0), (0.5, 1)] {
        weights.tempo = tempo;
        let path = work.write("pawn.json", weights.to_json());
        assert_eq!(centipawns(&path, GOLDEN_FENS[0]), [said], "{tempo}");
    }
}

/// Many blocks of positions with an error after them, in a packed file.
#[test]
fn long_files_up_to_the_error() {
    let work = Workdir::empty();
    let lines = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n".repeat(3000);
    let evaluate = |text: &str| {
        let path = work.write("many.epd.gz", crate::formats::registry::gz(text.as_bytes()));
        output(&["eval", "material", "--fens", &path], "", false)
    };
    let [out, said] = evaluate(&format!("{lines}no position\n4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n"));
    assert!(said.contains("line 3001"), "{said}");
    assert_eq!(out, lines.replace('\n', ";100\n"));
    evaluate(&"x".repeat(1 << 20));
}

const FEN: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1";

#[test]
fn unusable_evaluations_are_refused() {
    let folder = Workdir::empty();
    let empty = folder.root_path().to_str().unwrap();
    for (args, word) in [
        (&["score", FEN][..], "score"),
        (&["constant", FEN], "constant"),
        (&["nets/quickstart-32.json", FEN], ".bin"),
        (&[empty, FEN], empty),
        (&["nets/none.bin", FEN], "nets/none.bin"),
    ] {
        let said = complaint(nnuance().arg("eval").args(args));
        assert!(said.contains(word), "{args:?}: {said}");
    }
}
