//! A net of too few games: every command that it passes through calls it worthless.

use crate::loader::held_out::games;
use crate::support::kit::*;

const CONFIG: &str = r#"
version = 3
data = { files = ["GAMES"], filter.min_ply = 16 }
net = { inputs = "perspective", hidden = 32, mirror = false }
target = { score_scale = 136.0, wdl = 0.2 }
[schedule]
epochs = 8
batch = 4096
learning_rate = { shape = "cosine", from = 0.005, to = 0.00002 }
"#;

const WARNING: &str = "does not know the pieces";

#[test]
fn few_games_are_called_too_few() {
    for (count, fit_for, is_few) in [(330, "terms", true), (1500, "nets", false)] {
        let folder = Workdir::empty();
        let data = folder.path("games.vf");
        fs::write(&data, games(count).concat()).unwrap();
        let doctor = json(nnuance().args(["data", "doctor", "--json"]).arg(&data));
        assert_eq!(doctor[0]["diagnosis"]["fit_for"], fit_for);
        // The first positions of a file say nothing of its size.
        let limited = ["data", "doctor", "--json", "--limit", "20000"];
        let doctor = json(nnuance().args(limited).arg(&data));
        assert_eq!(doctor[0]["diagnosis"]["fit_for"], "nets");

        let config = folder.write("run.toml", CONFIG.replace("GAMES", data.to_str().unwrap()));
        let run = folder.path("run");
        let [printed, remarks] = said(&mut train(&config, &run));
        assert_eq!(printed.lines().next().unwrap().contains(WARNING), is_few, "{printed}");
        assert_eq!(remarks.contains("too few for a net"), is_few, "{remarks}");
        let page = fs::read_to_string(run.join("report.html")).unwrap();
        let (_, body) = page.split_once("</h1>").unwrap();
        assert_eq!(body.split("<table").next().unwrap().contains(WARNING), is_few);

        let [net, forced] = ["net.bin", "forced.bin"].map(|name| folder.path(name));
        if is_few {
            assert!(complaint(&mut export(&run, &net)).contains("--force"));
            assert!(!net.exists());
        } else {
            said(&mut export(&run, &net));
        }
        said(export(&run, &forced).arg("--force"));
        // A net has its origin from its manifest.
        let again = folder.path("again.bin");
        let written = export(&forced, &again).output().unwrap();
        assert_eq!(written.status.success(), !is_few);
        let compared = json(nnuance().args(["compare", "material", "--json"]).arg(&forced));
        assert_eq!(compared["evaluations"].to_string().contains(WARNING), is_few, "{compared}");
    }
}
