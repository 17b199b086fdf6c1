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
            // Only outputs are named -o or --out.
            assert_eq!(arg.get_short() == Some('o'), long == "out", "{name}: --{long}");
            if let Some(short) = arg.get_short() {
                assert_eq!(short, 'o', "{name}: --{long}");
            }
        }
    }
}
