//! Nets that are mirrored where they can be.

use nnuance::config::Config;

#[test]
fn nets_are_mirrored_unless_told_otherwise() {
    for (inputs, said, mirrored) in [
        ("perspective", "", true),
        ("side-to-move", "", true),
        ("perspective", "mirror = false", false),
        ("plain", "", false),
    ] {
        let text = format!(
            "version = 3\ndata.files = ['a']\n[net]\ninputs = '{inputs}'\nhidden = 8\n{said}\n\
             [schedule]\nepochs = 1\nlearning_rate = 1"
        );
        let config = Config::parse(&text, "it", &[]).unwrap();
        let net = config.architecture().unwrap().clone();
        assert_eq!(net.inputs.kings().mirror, mirrored, "{text}");
        // Read again from a run's complete config.
        let again = Config::parse(&config.to_toml(), "again", &[]).unwrap();
        assert_eq!(again.to_toml(), config.to_toml());
        assert!(config.to_toml().contains(&format!("mirror = {mirrored}")));
    }
}
