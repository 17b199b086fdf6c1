//! One spelling of each option, whatever the command.

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
    let mut root = Cli::command();
    root.build();
    leaves(&root, "", &mut found);
    assert!(found.len() > 20);
    found
}

#[test]
fn options_have_one_spelling() {
    for (name, command) in commands() {
        for arg in command.get_arguments().filter(|arg| arg.get_long().is_some()) {
            let long = arg.get_long().unwrap();
            let old = ["view", "output", "output-file", "pov"];
            assert!(!old.contains(&long), "{name}: --{long}");
            let short = match long {
                "out" => Some('o'),
                "verbose" => Some('v'),
                "help" => Some('h'),
                _ => None,
            };
            assert_eq!(arg.get_short(), short, "{name}: --{long}");
        }
    }
}

#[test]
fn helps_begin_with_an_example() {
    for (name, mut command) in commands().into_iter().filter(|(name, _)| !name.contains("help")) {
        let text = command.render_long_help().to_string();
        assert!(text.starts_with("Example"), "{name}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{name}: {text}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{name}: {}", arg.get_id());
        }
    }
}
