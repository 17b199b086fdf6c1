//! A program made of the code for a net, and what it says.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::toolchain::Toolchain;

pub struct Program {
    pub toolchain: &'static Toolchain,
    pub folder: TempDir,
    /// Language and architecture.
    pub about: String,
}

impl Program {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let path = self.folder().join("input.txt");
        fs::write(&path, input).unwrap();
        command(self.toolchain.program, self.folder())
            .args(arguments)
            .stdin(File::open(path).unwrap())
            .output()
            .unwrap()
    }

    /// What it prints when all goes well.
    fn success(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        assert_eq!(text(&output.stderr), "", "{}", self.about);
        assert!(output.status.success(), "{}: {}", self.about, output.status);
        text(&output.stdout)
    }

    /// What it says, in one line, when it fails with exit code 1; and what it printed before.
    pub fn failure(&self, arguments: &[&str], input: &str) -> (String, String) {
        let output = self.run(arguments, input);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", self.about);
        assert_eq!(said.lines().count(), 1, "{}: {said}", self.about);
        (said, text(&output.stdout))
    }

    /// `arguments` begin with `selftest`, or are none.
    pub fn selftest(&self, arguments: &[&str]) {
        assert_eq!(self.success(arguments, "").trim_end(), "ok, 16 positions", "{}", self.about);
    }

    /// It must find the centipawns that stand beside the lines.
    pub fn agrees(&self, arguments: &[&str], parts: [&[(String, i32)]; 2]) {
        let cases = parts.concat();
        let lines: Vec<&str> = cases.iter().map(|(line, _)| line.as_str()).collect();
        // The last line needs no end.
        let said = self.success(&[&["eval"], arguments].concat(), &lines.join("\n"));
        let found: Vec<i32> = said.lines().map(|number| number.parse().unwrap()).collect();
        assert_eq!(found.len(), cases.len(), "{}", self.about);
        for ((line, expected), found) in cases.iter().zip(found) {
            assert_eq!(found, *expected, "{}: {line}", self.about);
        }
    }
}

pub fn command(words: &[impl AsRef<OsStr>], folder: &Path) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(folder);
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
