//! `nnuance rows`.

use crate::support::kit::*;

/// Lists that Stockfish's trainer made: per line a FEN, then the rows of three sets, White's
/// perspective and Black's.
const LISTS: &str = "../shared/data/features/stockfish-2026-07.txt";
const LISTED: [&str; 3] = ["pieces", "threats", "pawn-pairs"];

/// The row of HalfKAv2_hm, with two planes of kings, of a row of `pieces` with these buckets: kings
/// stand on files e to h, the last square first, and a role's planes lie side by side.
fn row_of_stockfish(row: u32) -> u32 {
    let (bucket, kind, square) = (row / 768, row / 64 % 12, row % 64);
    let (rank, file) = (bucket / 4, 7 - bucket % 4);
    768 * (31 - (4 * rank + file - 4)) + 64 * (2 * (kind % 6) + kind / 6) + (square ^ 7)
}

fn printed(text: &str) -> Vec<BTreeMap<String, Vec<u32>>> {
    let mut positions = Vec::new();
    let text = text.replace("\n  ", " ");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("In the net")) {
        match line.split_once(':') {
            None => positions.push(BTreeMap::new()),
            Some((name, rows)) => {
                let rows = rows.split_whitespace().map(|row| row.parse().unwrap()).collect();
                positions.last_mut().unwrap().insert(name.to_string(), rows);
            }
        }
    }
    positions
}

fn config(sets: &[&str]) -> String {
    format!(
        "version = 3\ndata.files = ['a']\n[net]\ninputs = 'perspective'\nhidden = 8\nsets = {sets:?}\n[schedule]\n\
         epochs = 1\nlearning_rate = 1"
    )
}

#[test]
fn rows_are_those_of_stockfish() {
    if !need::shared(LISTS) {
        return;
    }
    let folder = Workdir::empty();
    let buckets = format!("king_buckets = {:?}\nsets", kings_in_turn(true, 32).bucket_numbers());
    let path = folder.write("run.toml", config(&LISTED).replace("sets", &buckets));
    let [out, _] = said(nnuance().args(["rows", &path, "--fens", LISTS]));
    assert!(out.lines().all(|line| line.chars().count() <= 80));
    let (printed, text) = (printed(&out), fs::read_to_string(LISTS).unwrap());
    assert_eq!([printed.len(), text.lines().count()], [200; 2]);
    for (printed, line) in printed.iter().zip(text.lines()) {
        let listed = LISTED.into_iter().flat_map(|set| ["White", "Black"].map(|it| (set, it)));
        assert_eq!(line.split(';').count(), 1 + 2 * LISTED.len(), "{line}");
        for ((set, perspective), listed) in listed.zip(line.split(';').skip(1)) {
            let mut found = printed[&format!("{set}, {perspective}")].clone();
            if set == "pieces" {
                found = found.into_iter().map(row_of_stockfish).collect();
                found.sort_unstable();
            }
            let found: Vec<String> = found.iter().map(u32::to_string).collect();
            assert_eq!(found.join(" "), listed, "{set}, {perspective}, {line}");
        }
    }
}

/// Both kings stand on the left half, where mirrored nets have the rows of others.
const FEN: &str = "3k4/8/8/8/8/8/4P3/3K4 w - - 0 1";

#[test]
fn nets_and_configs_alike() {
    let folder = Workdir::empty();
    let rows =
        |path: &str, more: &[&str]| said(nnuance().args(["rows", path, FEN]).args(more))[0].clone();
    let net = rows(QUICKSTART, &[]);
    assert_eq!(printed(&net)[0].len(), 2);
    assert_eq!(rows("nets/quickstart-32.safetensors", &[]), net);
    let path = folder.write("run.toml", config(&["pieces"]));
    assert_eq!(rows(&path, &[]), net);
    fs::rename(&path, folder.path("config.toml")).unwrap();
    assert_eq!(rows(folder.root_path().to_str().unwrap(), &[]), net);

    let path = folder.write("run.toml", config(&["pieces", "attack-counts"]));
    let words = rows(&path, &["--words"]);
    assert!(words.contains("768 to 803"), "{words}");
    assert!(words.contains("      5  mobility of own kings, 5 times"), "{words}");
    assert!(words.contains("own pawn on e2"), "{words}");
}

#[test]
fn page_shows_output() {
    let folder = Workdir::empty();
    let path = folder.write("run.toml", config(&["threats"]));
    let fen = "4k3/8/8/3p4/8/2N5/2PP4/6K1 w - - 0 1";
    let [out, _] = said(nnuance().args(["rows", &path, fen, "--words"]));
    let page = fs::read_to_string("docs/own-code.md").unwrap();
    assert!(page.contains(&format!("```text\n{}\n```", out.trim_end())), "{out}");
}

#[test]
fn terms_have_no_rows() {
    let said = complaint(nnuance().args(["rows", "configs/hce-pst.toml", FEN]));
    assert!(said.contains("hce-pst.toml"), "{said}");
    complaint(nnuance().args(["rows", QUICKSTART, "no position"]));
    complaint(nnuance().args(["rows", "configs/none.toml", FEN]));
}
