//! Inference code for engines: one complete source file that belongs to one net.
//!
//! The code is that which a net needs, with one kind of inputs and one activation; its sums are as
//! wide as [`prove`] says they must be. What templates know of the net are its `facts`. Each
//! language is a row in [`Language`]: a template for nets whose output follows the accumulators at
//! once, and one that extends it for all others.

mod escape;
mod facts;
mod go_name;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, context};

use super::{Golden, Overflow, prove};
use crate::net::Net;
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
        self.row().name
    }

    /// The file that the code expects to be in; Java insists on it.
    pub fn file_name(self) -> &'static str {
        self.row().file
    }

    pub fn named(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }

    /// Whether there is code for nets with more than integers behind the accumulators.
    pub fn takes_floats(self) -> bool {
        self.row().of_floats.is_some()
    }

    /// How a file of code becomes a program called as [`Language::file_name`] without its ending.
    fn compile(self, file: &str, floats: bool) -> String {
        let usual = file == self.file_name();
        // Compilers of C and C++ may fuse a product into a sum, which rounds otherwise.
        let exact = if floats { " -ffp-contract=off" } else { "" };
        match self {
            Language::Rust if usual => format!("rustc --edition 2024 -O {file}"),
            Language::Rust => format!("rustc --edition 2024 -O {file} -o nnue"),
            Language::C => format!("gcc -O3 -std=c11{exact} {file} -o nnue"),
            Language::Cpp => format!("g++ -O3 -std=c++17{exact} {file} -o nnue"),
            Language::CSharp if usual => format!("mcs -optimize {file}"),
            Language::CSharp => format!("mcs -optimize -out:Nnue.exe {file}"),
            Language::Java => format!("javac {file}"),
            Language::Go if usual => format!("go build {file}"),
            Language::Go => format!("go build -o nnue {file}"),
        }
    }

    fn row(self) -> Row {
        let row = |name, file, of_integers, of_floats| Row { name, file, of_integers, of_floats };
        let only = |name, file, template| row(name, file, template, None);
        match self {
            Language::Rust => {
                let floats = include_str!("floats.rs.jinja");
                row("rust", "nnue.rs", include_str!("nnue.rs.jinja"), Some(floats))
            }
            Language::C => {
                let floats = include_str!("floats.c.jinja");
                row("c", "nnue.c", include_str!("nnue.c.jinja"), Some(floats))
            }
            Language::Cpp => {
                let floats = include_str!("floats.cpp.jinja");
                row("cpp", "nnue.cpp", include_str!("nnue.cpp.jinja"), Some(floats))
            }
            Language::CSharp => only("csharp", "Nnue.cs", include_str!("nnue.cs.jinja")),
            Language::Java => only("java", "Nnue.java", include_str!("nnue.java.jinja")),
            Language::Go => only("go", "nnue.go", include_str!("nnue.go.jinja")),
        }
    }
}

/// What there is of a language.
struct Row {
    name: &'static str,
    file: &'static str,
    /// The template for nets of integers.
    of_integers: &'static str,
    /// The template for all others, which extends the first by its name, `nnue` with the ending of
    /// the language.
    of_floats: Option<&'static str>,
}

/// Why a net gets no code.
#[derive(Debug, thiserror::Error)]
pub enum SnippetError {
    #[error("this net could overflow in an engine: {0}")]
    Overflow(#[from] Overflow),
    #[error(
        "there is no {language} code for nets with pairwise products or more layers, such as {net}; \
         take {takers}"
    )]
    Floats { language: &'static str, net: String, takers: String },
    #[error("there is no code for nets whose accumulators go through {0}")]
    Activation(&'static str),
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
    let floats = net.architecture().is_deep();
    if floats && !language.takes_floats() {
        return Err(SnippetError::Floats {
            language: language.name(),
            net: net.architecture().to_string(),
            takers: takers_of_floats(),
        });
    }
    let proof = prove(net)?;
    let Scales { qa, qb, .. } = net.scales();
    let unit = i64::from(qa) * i64::from(qb);
    let most = (proof.product.most / unit).max(-(proof.product.least / unit));
    if most > i32::MAX.into() {
        return Err(SnippetError::Centipawns(most));
    }
    let facts = facts::facts(net, &proof, net_file, golden)?;
    let code_file = plain(code_file).unwrap_or(language.file_name());
    let compile = format!("{:<35}  ", language.compile(code_file, floats));
    Ok(render(language, floats, &context! { code_file, compile, floats, ..facts }))
}

/// The languages with code for all nets, in words.
fn takers_of_floats() -> String {
    let takers = Language::ALL.into_iter().filter(|language| language.takes_floats());
    let names: Vec<_> = takers.map(Language::name).collect();
    let (last, others) = names.split_last().expect("there is one");
    format!("{} or {last}", others.join(", "))
}

/// A file's name, if a shell takes it as it stands.
fn plain(name: &str) -> Option<&str> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    (name.bytes().all(letter) && !name.is_empty() && !name.starts_with('-')).then_some(name)
}

/// Fills in the template of a language. Strings come out as the inside of one of its literals,
/// which is safe in its comments too.
fn render(language: Language, floats: bool, facts: &Value) -> String {
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
    let Row { file, of_integers, of_floats, .. } = language.row();
    // As the templates for floats call it.
    let name = format!("nnue.{}.jinja", file.rsplit('.').next().unwrap_or_default());
    let rendered = environment.add_template(&name, of_integers).and_then(|()| {
        let template = of_floats.filter(|_| floats);
        match template {
            Some(template) => environment.render_str(template, facts.clone()),
            None => environment.get_template(&name)?.render(facts.clone()),
        }
    });
    rendered.expect("templates use known facts only, and the tests render all of them")
}
