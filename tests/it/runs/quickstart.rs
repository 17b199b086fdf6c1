//! The quickstart, with the README's table, and where there is no repository; and each config of
//! `configs/`, trained briefly.

use crate::support::kit::*;

/// A folder with the repository's configs and data, for runs of its own.
fn beside() -> Workdir {
    let folder = Workdir::empty();
    for name in ["configs", "data"] {
        fs::create_dir(folder.path(name)).unwrap();
        for path in files_of(name) {
            fs::copy(&path, folder.path(&path)).unwrap();
        }
    }
    folder
}

/// The last table of evaluations in a text: where it begins and ends.
fn last_table(text: &str) -> (usize, usize) {
    let begin = text.rfind("\nevaluation ").expect("a table") + 1;
    let end = ["\n\n", "\n```"].iter().filter_map(|end| text[begin..].find(end)).min();
    (begin, end.map_or(text.len(), |end| begin + end))
}

/// The README has the table that the quickstart ends with. `NNUANCE_BLESS=1` writes it there.
#[test]
fn quickstart_prints_the_readme_table() {
    let folder = beside();
    let [printed, progress] = said(nnuance().arg("quickstart").current_dir(folder.root_path()));
    let lines = || printed.lines().chain(progress.lines());
    assert!(lines().count() <= 100 && lines().all(|it| it.chars().count() <= 80), "{progress}");
    assert!(!printed.contains("NaN") && !printed.contains("FAILED"), "{printed}");
    for run in ["hce-pst", "quickstart-hce", "mirrored-net", "threats-net", "net-on-terms"] {
        let report = folder.path(format!("runs/quickstart/{run}/report.html"));
        assert!(report.exists(), "{run}");
    }
    // A page has the ranking of all, and Elo from the match.
    let page = folder.path("runs/quickstart/report.html");
    let html = fs::read_to_string(&page).unwrap();
    stands_alone(&html);
    let (head, _) = html.split_once("<nav").unwrap();
    assert_eq!(head.matches("<circle").count(), 7 + 6, "{head}");
    assert!(printed.contains("\npage   runs/quickstart/report.html"), "{printed}");
    // The comparison is what the story ends with.
    let (begin, end) = last_table(&printed);
    let table = &printed[begin..end];
    let names =
        ["net-on-terms", "quickstart-hce", "threats-net", "mirrored-net", "hce-pst", "score"];
    assert!(names.iter().all(|name| table.contains(name)), "{table}");

    let readme = fs::read_to_string("README.md").unwrap();
    let (begin, end) = last_table(&readme);
    let bless = std::env::var("NNUANCE_BLESS").is_ok_and(|bless| bless == "1");
    // Other instructions round differently, from the third digit that differs between nets on.
    let avx512 = SimdLevel::list_available().contains(&SimdLevel::Avx512);
    if !need::found("avx512", "a processor with AVX-512", avx512) || &readme[begin..end] == table {
        return;
    }
    if bless {
        fs::write("README.md", format!("{}{table}{}", &readme[..begin], &readme[end..])).unwrap();
    }
    let cure = "run this test with NNUANCE_BLESS=1 to write it into README.md";
    assert!(bless, "the quickstart ends with another table than the README; {cure}:\n{table}");
}

#[test]
fn every_config_trains() {
    let folder = beside();
    let mut trained = 0;
    for config in files_of("configs") {
        let config = config.to_str().unwrap();
        // It has no data: `climb.rs` tests it.
        if config.ends_with("climb.toml") {
            continue;
        }
        let mut args = vec!["train", config];
        args.extend(["--set", "data.limit=30000", "--set", "schedule.epochs=2"]);
        if config.ends_with("net-on-terms.toml") {
            // The terms that it names may not be trained yet.
            args.extend(["--set", "net.base=material"]);
        }
        said(nnuance().args(&args).current_dir(folder.root_path()));
        let name = Path::new(config).file_stem().unwrap();
        let run = folder.path("runs").join(name);
        // Of a net the training loss of a row is that of a batch or two; terms take all at once.
        let is_net = fs::read_to_string(run.join("config.toml")).unwrap().contains("hidden =");
        let losses = column(&run, if is_net { "validation_loss" } else { "train_loss" });
        assert!(losses.iter().all(|loss| loss.is_finite()), "{config}: {losses:?}");
        assert!(losses.len() >= 2 && losses.last() < losses.first(), "{config}: {losses:?}");
        assert!(run.join("best.safetensors").exists(), "{config}");
        trained += 1;
    }
    assert!(trained >= 6, "{trained}");
}

/// Stops at its first step, after the files are written.
fn begun(folder: &Path) -> String {
    complaint(nnuance().args(["quickstart", "--device", "none"]).current_dir(folder))
}

#[test]
fn quickstart_lays_out_its_files() {
    let folder = Workdir::empty();
    begun(folder.root_path());
    let laid = folder.path("nnuance-quickstart");
    let files = [GAMES, "configs/hce-pst.toml", "configs/net-2-mirrored.toml"];
    for name in files {
        assert_eq!(fs::read(laid.join(name)).unwrap(), fs::read(name).unwrap(), "{name}");
    }
    // Again: files stay, and changed ones are not overwritten.
    begun(folder.root_path());
    let config = laid.join(files[1]);
    fs::write(&config, "mine").unwrap();
    assert!(begun(folder.root_path()).contains("changed"));
    assert_eq!(fs::read_to_string(&config).unwrap(), "mine");
    // Inside the folder itself no file is written.
    fs::remove_file(&config).unwrap();
    begun(folder.root_path());
    begun(&laid);
    assert!(!laid.join("nnuance-quickstart").exists());
}
