//! Inference code for engines: one complete source file that belongs to one net.
//!
//! The code is that which a net needs, with one feature set and one activation; the sums are as
//! wide as [`prove`] says they must be. Each language is a template and a row in [`Language`].

mod escape;
mod go_name;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, context};

use super::{Golden, Overflow, Proof, digest, prove};
use crate::architecture::Architecture;
use crate::features::chess768;
use crate::net::{Net, payload};
use crate::scales::Scales;

/// A language that engines are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    C,
    Cpp,
    CSharp,
    Java,
    Go,
}

impl Language {
    pub const ALL: [Language; 6] = [
        Language::Rust,
        Language::C,
        Language::Cpp,
        Language::CSharp,
        Language::Java,
        Language::Go,
    ];

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The file that the code expects to be in; Java insists on it.
    pub fn file_name(self) -> &'static str {
        self.row().1
    }

    pub fn named(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }

    /// How a file of code becomes a program called as [`Language::file_name`] without its ending.
    fn compile(self, file: &str) -> String {
        let usual = file == self.file_name();
        match self {
            Language::Rust if usual => format!("rustc --edition 2024 -O {file}"),
            Language::Rust => format!("rustc --edition 2024 -O {file} -o nnue"),
            Language::C => format!("gcc -O3 -std=c11 {file} -o nnue"),
            Language::Cpp => format!("g++ -O3 -std=c++17 {file} -o nnue"),
            Language::CSharp if usual => format!("mcs -optimize {file}"),
            Language::CSharp => format!("mcs -optimize -out:Nnue.exe {file}"),
            Language::Java => format!("javac {file}"),
            Language::Go if usual => format!("go build {file}"),
            Language::Go => format!("go build -o nnue {file}"),
        }
    }

    /// Name, file and template.
    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Language::Rust => ("rust", "nnue.rs", include_str!("nnue.rs.jinja")),
            Language::C => ("c", "nnue.c", include_str!("nnue.c.jinja")),
            Language::Cpp => ("cpp", "nnue.cpp", include_str!("nnue.cpp.jinja")),
            Language::CSharp => ("csharp", "Nnue.cs", include_str!("nnue.cs.jinja")),
            Language::Java => ("java", "Nnue.java", include_str!("nnue.java.jinja")),
            Language::Go => ("go", "nnue.go", include_str!("nnue.go.jinja")),
        }
    }
}

/// Why a net gets no code.
#[derive(Debug, thiserror::Error)]
pub enum SnippetError {
    #[error("this net could overflow in an engine: {0}")]
    Overflow(#[from] Overflow),
    #[error("the code knows the 768 inputs of pieces on squares only, the net has {0}")]
    Inputs(usize),
    #[error(
        "an evaluation may reach {0} centipawns, outside of 32 bits; export with a smaller SCALE"
    )]
    Centipawns(i64),
    #[error("Go embeds no file called {name:?}, {fault}; rename the net, to net.bin for instance")]
    GoName { name: String, fault: String },
}

/// The source file `code_file` for a net whose file is called `net_file`; `golden` is what it
/// tests itself with.
///
/// # Errors
/// If some legal position could overflow the integers of the code, see [`prove`]; in Go also if
/// `net_file` is a name that `//go:embed` refuses.
pub fn snippet(
    language: Language,
    net: &Net,
    [net_file, code_file]: [&str; 2],
    golden: &[Golden],
) -> Result<String, SnippetError> {
    if let (Language::Go, Some(fault)) = (language, go_name::fault(net_file)) {
        return Err(SnippetError::GoName { name: net_file.to_string(), fault });
    }
    let inputs = net.architecture().features.inputs;
    if inputs != chess768::INPUTS {
        return Err(SnippetError::Inputs(inputs));
    }
    let proof = prove(net)?;
    let Scales { qa, qb, .. } = net.scales();
    let unit = i64::from(qa) * i64::from(qb);
    let most = (proof.product.most / unit).max(-(proof.product.least / unit));
    if most > i32::MAX.into() {
        return Err(SnippetError::Centipawns(most));
    }
    let about_net = facts(net, &proof, net_file, golden);
    let code_file = plain(code_file).unwrap_or(language.file_name());
    let compile = format!("{:<35}  ", language.compile(code_file));
    Ok(render(language, &context! { code_file, compile, ..about_net }))
}

/// A file's name, if a shell takes it as it stands.
fn plain(name: &str) -> Option<&str> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    (name.bytes().all(letter) && !name.is_empty() && !name.starts_with('-')).then_some(name)
}

/// What the templates know of the net.
fn facts(net: &Net, proof: &Proof, net_file: &str, golden: &[Golden]) -> Value {
    let architecture = net.architecture();
    let Architecture { features, hidden, activation } = *architecture;
    let Scales { qa, qb, scale } = net.scales();
    let file = net.to_bytes();
    let golden: Vec<Value> = golden
        .iter()
        .map(|golden| context! { fen => golden.fen.as_str(), cp => golden.cp })
        .collect();
    context! {
        architecture => architecture.to_string(),
        hidden,
        views => features.views,
        features => features.name,
        activation => activation.name(),
        qa,
        qb,
        scale,
        net_file,
        assembler_file => escape::assembler(net_file),
        bytes => payload(features.inputs, features.views, hidden),
        file_bytes => file.len(),
        sha256 => digest(&file),
        golden,
        i16_trick => proof.i16_trick,
        product_fits_i32 => proof.product_fits_i32,
        version => env!("CARGO_PKG_VERSION"),
    }
}

/// Fills in the template of a language. Strings come out as the inside of one of its literals,
/// which is safe in its comments too.
fn render(language: Language, facts: &Value) -> String {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().expect("the marks of blocks are the usual ones"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(move |out, _, value| {
        let written = match value.as_str() {
            Some(text) => out.write_str(&escape::literal(language, text)),
            None => write!(out, "{value}"),
        };
        written.map_err(|_| Error::from(ErrorKind::WriteFailure))
    });
    let (_, file_name, template) = language.row();
    environment
        .render_named_str(file_name, template, facts.clone())
        .expect("templates use known facts only, and the tests render all of them")
}
