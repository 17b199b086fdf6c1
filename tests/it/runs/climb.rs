//! `nnuance climb`: the loop, its end, and what a kill leaves of it.

use crate::support::kit::*;

fn climb(out: &Path, more: &[&str]) -> Command {
    let mut command = nnuance();
    command.args(["climb", "configs/climb.toml", "--out"]).arg(out).args(SMALL.split(' '));
    let sets = ["data.held_out=0.3", "net.hidden=8", "schedule.epochs=2", "schedule.batch=256"];
    let sets = sets.into_iter().chain(["schedule.learning_rate=0.01"]);
    command.args(sets.flat_map(|set| ["--set", set])).args(more);
    command
}

const SMALL: &str = "--games 40 --soft-nodes 40 --pairs 4 --nodes 40";

fn two(out: &Path, threads: &str) -> Command {
    climb(out, &["--generations", "2", "--threads", threads])
}

fn made(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let of = |number: u64| {
        let folder = PathBuf::from(format!("{number:03}"));
        ["games.vf", "run/net.bin", "match.json"].map(|name| folder.join(name))
    };
    let files = (1..=2).flat_map(of);
    files.map(|file| (file.clone(), fs::read(out.join(file)).expect("a file"))).collect()
}

#[test]
fn killed_loop_ends_alike() {
    let folder = Workdir::empty();
    let [whole, killed] = ["whole", "killed"].map(|name| folder.path(name));
    let printed = &said(&mut two(&whole, "1"))[0];
    for place in [
        "001/games.vf.journal",
        "001/games.vf",
        "001/run/last.safetensors",
        "001/run/net.bin",
        "001/match.json",
        "002/games.vf",
    ] {
        kill_at(two(&killed, "3"), &killed.join(place));
    }
    let lines = |text: &str| text.lines().count();
    assert_eq!(lines(&said(&mut two(&killed, "3"))[0]), lines(printed));
    assert!(made(&killed) == made(&whole));
    // Once more, and one generation more: files of before stay.
    let more = said(&mut climb(&whole, &["--generations", "3"]));
    assert_eq!(lines(&more[0]), lines(printed) + 1);
    assert!(whole.join("003/match.json").exists() && made(&whole) == made(&killed));
}

#[test]
fn terms_climb_too() {
    let folder = Workdir::empty();
    let config = folder.path("terms.toml");
    let text = "version = 3
         data = { files = ['games.vf'], held_out = 0.3 }
         terms = { use = ['material', 'psqt'], tune = ['psqt'] }
         target = { wdl = 1.0 }
         optimizer = { name = 'gauss-newton' }";
    fs::write(&config, text).expect("a config");
    let out = folder.path("terms");
    let mut command = nnuance();
    command.arg("climb").arg(&config).arg("--out").arg(&out);
    said(command.args(["--generations", "1"]).args(SMALL.split(' ')));
    assert!(out.join("001/run/terms.json").exists() && out.join("001/match.json").exists());
}

#[test]
fn starts_that_cannot_play() {
    let folder = Workdir::empty();
    for start in ["score", "no/such.bin"] {
        complaint(&mut climb(&folder.path("out"), &["--start", start]));
    }
    assert!(!folder.path("out").exists());
}
