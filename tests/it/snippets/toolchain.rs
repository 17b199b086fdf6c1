//! How the code of a language becomes a program.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use nnuance::export::Golden;
use nnuance::export::snippet::{Language, snippet};
use nnuance::net::Net;
use tempfile::TempDir;

use super::program::{Program, command, text};
use crate::need;

/// The tools of a language. All of them run in the folder of the source. Another language is a row
/// in [`TOOLCHAINS`].
pub struct Toolchain {
    pub language: Language,
    /// With arguments that turn all warnings into errors, where the compiler has them.
    compiler: &'static [&'static str],
    /// The argument that asks it for its version.
    version: &'static str,
    optimised: &'static [&'static str],
    /// For programs that do little.
    quick: &'static [&'static str],
    /// What else must find no fault in the source.
    critics: &'static [&'static [&'static str]],
    embedding: Embedding,
    pub program: &'static [&'static str],
    /// Virtual machines take their time to start and to get fast.
    virtual_machine: bool,
}

/// How the net gets into the program.
enum Embedding {
    /// The source asks for it.
    Always,
    /// By an argument.
    Argument(&'static str),
    /// By an argument that ends in the name of the net's file.
    Resource(&'static str),
    /// By lying in a folder.
    Folder(&'static str),
}

const TOOLCHAINS: [Toolchain; 6] = [
    Toolchain {
        language: Language::Rust,
        compiler: &["rustc", "--edition", "2024", "-D", "warnings", "nnue.rs"],
        version: "--version",
        optimised: &["-O", "-C", "overflow-checks=on"],
        // Which also looks for overflows.
        quick: &[],
        critics: &[],
        embedding: Embedding::Always,
        program: &["./nnue"],
        virtual_machine: false,
    },
    Toolchain {
        language: Language::C,
        compiler: &[
            "gcc",
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-ffp-contract=off",
            "nnue.c",
            "-o",
            "nnue",
        ],
        version: "--version",
        optimised: &["-O3"],
        quick: &[],
        critics: &[],
        embedding: Embedding::Argument("-DNNUE_EMBED"),
        program: &["./nnue"],
        virtual_machine: false,
    },
    Toolchain {
        language: Language::Cpp,
        compiler: &[
            "g++",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-ffp-contract=off",
            "nnue.cpp",
            "-o",
            "nnue",
        ],
        version: "--version",
        optimised: &["-O3"],
        quick: &[],
        critics: &[],
        embedding: Embedding::Argument("-DNNUE_EMBED"),
        program: &["./nnue"],
        virtual_machine: false,
    },
    Toolchain {
        language: Language::CSharp,
        compiler: &["mcs", "-langversion:7", "-optimize", "-warn:4", "-warnaserror", "Nnue.cs"],
        version: "--version",
        optimised: &[],
        quick: &[],
        critics: &[],
        embedding: Embedding::Resource("-resource:"),
        program: &["mono", "Nnue.exe"],
        virtual_machine: true,
    },
    Toolchain {
        language: Language::Java,
        // Both virtual machines live too briefly to be worth much optimisation.
        compiler: &[
            "javac",
            "-J-XX:+UseSerialGC",
            "-J-XX:TieredStopAtLevel=1",
            "-Xlint:all",
            "-Werror",
            "-d",
            "classes",
            "Nnue.java",
        ],
        version: "-version",
        optimised: &[],
        quick: &[],
        critics: &[],
        embedding: Embedding::Folder("classes"),
        program: &["java", "-cp", "classes", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "Nnue"],
        virtual_machine: true,
    },
    Toolchain {
        language: Language::Go,
        compiler: &["go", "build", "nnue.go"],
        version: "version",
        optimised: &[],
        quick: &[],
        critics: &[&["gofmt", "-d", "nnue.go"], &["go", "vet", "nnue.go"]],
        embedding: Embedding::Always,
        program: &["./nnue"],
        virtual_machine: false,
    },
];

/// What a program is made of, and how.
pub struct Build<'a> {
    pub net: &'a Net,
    pub net_file: &'a str,
    pub golden: &'a [Golden],
    pub optimised: bool,
    pub embed: bool,
}

impl Toolchain {
    /// The row of a language, if its tools are there.
    pub fn of(language: Language) -> Option<&'static Toolchain> {
        let toolchain = TOOLCHAINS.iter().find(|row| row.language == language).expect("a row");
        let critics = toolchain.critics.iter().map(|critic| critic[0]);
        let tools = [toolchain.compiler[0], toolchain.program[0]].into_iter().chain(critics);
        let missing = |tool: &'static str| match tool {
            _ if tool.starts_with("./") => false,
            // It knows no other question.
            "gofmt" => !need::tool(tool, "-l"),
            _ => !need::tool(tool, toolchain.version),
        };
        // All are asked for, so that all that are missing are told.
        let missing = tools.filter(|tool| missing(tool)).count();
        (missing == 0).then_some(toolchain)
    }

    /// So many of these as this language has the time for.
    pub fn some<'a, T>(&self, of: &'a [T], few: usize) -> &'a [T] {
        if self.virtual_machine { &of[..few.min(of.len())] } else { of }
    }

    /// Source, net and program in a folder of their own.
    pub fn build(&'static self, build: &Build) -> Program {
        let temporary = TempDir::new().unwrap();
        let folder = temporary.path();
        let Build { net, net_file, golden, .. } = *build;
        let source =
            snippet(self.language, net, [net_file, self.language.file_name()], golden).unwrap();
        fs::write(folder.join(self.language.file_name()), source).unwrap();
        fs::write(folder.join(net_file), net.to_bytes()).unwrap();
        let embedding = match self.embedding {
            Embedding::Argument(argument) if build.embed => Some(argument.to_string()),
            Embedding::Resource(argument) if build.embed => Some(format!("{argument}{net_file}")),
            _ => None,
        };
        self.compile(folder, build.optimised, embedding);
        if let (Embedding::Folder(place), true) = (&self.embedding, build.embed) {
            fs::copy(folder.join(net_file), folder.join(place).join(net_file)).unwrap();
        }
        let about = format!("{}, {}", self.language.name(), net.architecture());
        Program { toolchain: self, folder: temporary, about }
    }

    /// The source in this folder becomes a program; nobody has anything to say of it.
    pub fn compile(&self, folder: &Path, optimised: bool, embedding: Option<String>) {
        let level = if optimised { self.optimised } else { self.quick };
        let compiler = self.compiler.iter().chain(level).map(|word| word.to_string());
        let compiler: Vec<String> = compiler.chain(embedding).collect();
        self.says_nothing(&compiler, folder);
        for critic in self.critics {
            self.says_nothing(critic, folder);
        }
    }

    fn says_nothing(&self, words: &[impl AsRef<OsStr>], folder: &Path) {
        let output = command(words, folder).output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        let tool = words[0].as_ref().display();
        assert!(output.status.success(), "{}, {tool}: {said}", self.language.name());
        assert_eq!(said, "", "{}, {tool} warns", self.language.name());
    }
}
