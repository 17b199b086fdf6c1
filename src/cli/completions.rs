//! Shell completions and manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Cli, out};

/// Print completions for a shell
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance completions bash > /etc/bash_completion.d/nnuance")]
pub struct CompletionArgs {
    /// Shell that reads them
    shell: Shell,
}

/// Write the manual pages, one a command
#[derive(clap::Args)]
#[command(before_help = "\
Example:
  nnuance man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Folder of the pages; those of the same names are replaced
    folder: PathBuf,
}

pub fn write_completions(args: CompletionArgs) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "nnuance", &mut text);
    out::print_line(String::from_utf8(text)?.trim_end())
}

pub fn write_manual(args: ManArgs) -> Result<()> {
    fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder))
        .with_context(|| format!("cannot write manual pages to {}", args.folder.display()))
}
