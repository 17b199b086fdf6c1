//! The nets of engines in `configs/engines`, narrowed: trained for ten steps, by the operations of
//! training and by plain ones, to the same losses, and proved.

use crate::support::kit::*;

const TEN_STEPS: &str = "net.hidden=32 data.limit=3000 schedule.epochs=1 schedule.batch=256 \
                         schedule.validations=1 schedule.checkpoints=1";

#[test]
fn nets_of_engines_train() {
    let folder = Workdir::empty();
    let mut trained = 0;
    for entry in fs::read_dir("configs/engines").unwrap() {
        let config = entry.unwrap().path();
        let name = config.file_stem().unwrap().to_str().unwrap();
        let [fast, plain] = [&[][..], &["--plain"]].map(|more| {
            let run = folder.path(format!("{name}{}", more.len()));
            let mut command = train(config.to_str().unwrap(), &run);
            command.args(TEN_STEPS.split_whitespace().flat_map(|key| ["--set", key]));
            said(command.args(more));
            assert!(run.join("net.bin").exists(), "{name}");
            ["train_loss", "validation_loss"].map(|losses| column(&run, losses)).concat()
        });
        assert!(fast.len() == 3 && plain.len() == 3, "{name}: {fast:?}, plain {plain:?}");
        for (fast, plain) in fast.iter().zip(&plain) {
            assert!((fast - plain).abs() < 1e-5 * plain, "{name}: {fast}, plain {plain}");
        }
        trained += 1;
    }
    assert!(trained >= 14, "{trained}");
}
