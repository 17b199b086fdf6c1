//! Programs of several nets at once: they take less time to compile than a program for each.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use nnuance::export::golden;
use nnuance::export::snippet::{Language, snippet};
use tempfile::TempDir;

use super::nets::Case;
use super::program::Program;
use super::toolchain::{Build, Toolchain};

/// How many nets go into one program. In C, where nothing keeps their names apart, there is one.
pub fn size(language: Language) -> usize {
    if language == Language::C { 1 } else { 12 }
}

/// The file of a net, by which the program is asked for it.
pub fn net_file(i: usize) -> String {
    format!("{i}.bin")
}

/// One program, quickly made, for the nets of some cases.
pub fn build(toolchain: &'static Toolchain, cases: &[Case]) -> Program {
    let language = toolchain.language;
    if let [Case { net, .. }] = cases {
        let (net_file, golden) = (&net_file(0)[..], &golden::evaluations(net)[..]);
        return toolchain.build(&Build { net, net_file, golden, optimised: false, embed: false });
    }
    let folder = TempDir::new().unwrap();
    let mut sources = Vec::new();
    for (i, Case { net, .. }) in cases.iter().enumerate() {
        let names = [&net_file(i)[..], language.file_name()];
        let source = snippet(language, net, names, &golden::evaluations(net)).unwrap();
        fs::write(folder.path().join(net_file(i)), net.to_bytes()).unwrap();
        let source = source.replacen("\nfn main()", "\npub fn main()", 1);
        fs::write(folder.path().join(part(i)), &source).unwrap();
        sources.push(source);
    }
    let main = match language {
        Language::Rust => rust(cases.len()),
        Language::Cpp => cpp(&sources),
        _ => unreachable!("no other language keeps the names of several nets apart"),
    };
    fs::write(folder.path().join(language.file_name()), main).unwrap();
    toolchain.compile(folder.path(), false, None);
    let nets: Vec<String> = cases.iter().map(|it| it.net.architecture().to_string()).collect();
    Program { toolchain, folder, about: format!("{}, {nets:?}", language.name()) }
}

/// The file with the code of a net.
fn part(i: usize) -> String {
    format!("net{i}.part")
}

/// Each net is a module.
fn rust(nets: usize) -> String {
    let (mut modules, mut arms) = (String::new(), String::new());
    for i in 0..nets {
        writeln!(modules, "#[path = {:?}]\nmod net{i};", part(i)).unwrap();
        writeln!(arms, "Some({:?}) => net{i}::main(),", net_file(i)).unwrap();
    }
    format!(
        "{modules}\
         fn main() -> std::process::ExitCode {{\n\
         match std::env::args().nth(2).as_deref() {{\n\
         {arms}\
         other => panic!(\"no net is {{other:?}}\"),\n\
         }}\n\
         }}\n"
    )
}

/// Each net is a namespace, with what it includes outside of it.
fn cpp(sources: &[String]) -> String {
    let includes = sources.iter().flat_map(|source| source.lines());
    let includes: BTreeSet<&str> = includes.filter(|line| line.starts_with("#include <")).collect();
    let mut text: String = includes.into_iter().flat_map(|line| [line, "\n"]).collect();
    let mut ways = String::new();
    for i in 0..sources.len() {
        writeln!(text, "namespace net{i} {{\n#include {:?}\n}}", part(i)).unwrap();
        let file = net_file(i);
        writeln!(ways, "if (net == {file:?}) return net{i}::main(argc, argv);").unwrap();
    }
    text + "int main(int argc, char **argv) {\n\
            const std::string net = argc > 2 ? argv[2] : \"\";\n"
        + &ways
        + "return 2;\n}\n"
}
