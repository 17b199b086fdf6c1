//! One spelling of each option, whatever the command; the old ones still work.

use clap::{Command, CommandFactory as _};
use nnuance::cli::Cli;

/// All commands that take arguments, by their full names.
fn leaves(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
    let mut below = command.get_subcommands().peekable();
    if below.peek().is_none() {
        found.push((name.to_string(), command.clone()));
    }
    for one in below {
        leaves(one, format!("{name} {}", one.get_name()).trim(), found);
    }
}

fn commands() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    leaves(&Cli::command(), "", &mut found);
    assert!(found.len() > 20);
    found
}

#[test]
fn options_have_one_spelling() {
    for (name, command) in commands() {
        for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let long = arg.get_long().unwrap();
            let old = ["view", "output", "output-file", "force", "pov"];
            assert!(!old.contains(&long), "{name}: --{long}");
            // What is written is named by -o or --out, and nothing else is.
            assert_eq!(arg.get_short() == Some('o'), long == "out", "{name}: --{long}");
            if let Some(short) = arg.get_short() {
                assert_eq!(short, 'o', "{name}: --{long}");
            }
        }
    }
}

/// A config from before the keys had their present names.
#[test]
fn old_keys_are_still_understood() {
    let text = |min: &str, max: &str, often: &str| {
        format!(
            "version = 3\n[data]\nfiles = [\"a.vf\"]\n[data.filter]\n{min} = 4\n{max} = 30\n[net]\n\
             inputs = \"perspective\"\nhidden = 8\n[schedule]\nepochs = 1\nlearning_rate = 0.001\n\
             {often} = 7\n"
        )
    };
    let config = |text: &str| nnuance::config::Config::parse(text, "a.toml", &[]).unwrap();
    let [new, old] = [("min_pieces", "max_pieces", "validations"), ("min_men", "max_men", "looks")]
        .map(|(min, max, often)| config(&text(min, max, often)));
    assert_eq!(new, old);
    assert_eq!((new.data.filter.min_pieces, new.schedule.validations), (Some(4), 7));
    // What is written has the present names.
    let written = old.to_toml();
    assert!(written.contains("min_pieces") && !written.contains("min_men"), "{written}");
}
