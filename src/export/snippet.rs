//! Inference code for engines: one source file for one net, from templates.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, merge_maps};
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, context};

use super::{Golden, Overflow, Proof, prove};
use crate::architecture::{
    Architecture, BucketChoice, CodeContext, CodeValue, Curve, FixedPoint, Integer, Node,
    Operation, Perspectives,
};
use crate::digest::sha256_prefix;
pub use crate::features::Language;
use crate::net::{Net, has_bytes};
use crate::scales::Scales;

words!(Language: Rust = "rust", C = "c");

impl Language {
    pub fn file_name(self) -> &'static str {
        self.choose_between("nnue.rs", "nnue.h")
    }

    /// The command that compiles a file of code to the program `nnue`.
    fn compile_command(self, file: &str, floats: bool) -> String {
        // C compilers may fuse a product into a sum, which rounds differently.
        let exact = if floats { " -ffp-contract=off" } else { "" };
        self.choose_between(
            format!("rustc --edition 2024 -O {file} -o nnue"),
            format!("gcc -O3 -std=c11{exact} -DNNUE_TEST -x c {file} -o nnue"),
        )
    }

    /// Escapes a text for a literal; the result is safe in comments, too.
    fn escape_literal(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            match (letter, self) {
                ('"' | '\\', _) => out.extend(['\\', letter]),
                (' '..='~', _) if !matches!(letter, '*' | '?') => out.push(letter),
                (_, Language::Rust) => out += &format!("\\u{{{:x}}}", u32::from(letter)),
                (_, Language::C) => {
                    let mut bytes = [0; 4];
                    let bytes = letter.encode_utf8(&mut bytes).bytes();
                    bytes.for_each(|byte| out += &format!("\\{byte:03o}"));
                }
            }
        }
        out
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SnippetError {
    #[error("this net could overflow in an engine: {0}")]
    Overflow(#[from] Overflow),
    #[error(
        "there is no code for output buckets of one's own, `{0}`; build the engine on this library, \
         or train with a number of buckets"
    )]
    OwnBuckets(&'static str),
    #[error(
        "the feature set `{set}` has no code in {}; add `FeatureSet::engine_code`, or list its rows in \
         code of your own",
        language.name()
    )]
    Set { set: String, language: Language },
    #[error(
        "the file has the layout of {0}, which this code does not read; export it as NAME.bin first, \
         and write the code of that"
    )]
    Layout(String),
    #[error(
        "an evaluation may reach {0} centipawns, outside of 32 bits; export with a smaller SCALE"
    )]
    Centipawns(i64),
}

/// Whether there is code for the output buckets and feature sets of a net.
pub fn has_code(language: Language, architecture: &Architecture) -> bool {
    !matches!(architecture.bucket_choice, BucketChoice::Own(_))
        && set_facts(language, architecture).is_ok()
}

/// Generates source code `code_file` for a net's file; `golden` is its self-test.
///
/// # Errors
///
/// Fails with [`SnippetError::OwnBuckets`] for output buckets of a program's own, with
/// [`SnippetError::Layout`] for a file of Stockfish, with [`SnippetError::Set`] for a feature set
/// without code, with [`SnippetError::Overflow`] as [`prove`](fn@prove) does, and with
/// [`SnippetError::Centipawns`] if evaluations may leave 32 bits.
pub fn write_snippet(
    language: Language,
    net: &Net,
    [net_file, code_file]: [&str; 2],
    golden: &[Golden],
) -> Result<String, SnippetError> {
    if let BucketChoice::Own(custom) = net.architecture().bucket_choice {
        return Err(SnippetError::OwnBuckets(custom.name));
    }
    if let Some(engine) = net.engine_name() {
        return Err(SnippetError::Layout(engine));
    }
    let proof = prove(net)?;
    let Scales { qa, qb, .. } = net.scales();
    let unit = net.fixed_output().map_or(i64::from(qa) * i64::from(qb), |output| output.unit);
    let largest = (proof.product.most / unit).max(-(proof.product.least / unit));
    if largest > i32::MAX.into() {
        return Err(SnippetError::Centipawns(largest));
    }
    // A file name that shells would interpret is replaced by the default name.
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_plain = code_file.bytes().all(is_letter) && !code_file.is_empty();
    let is_plain = is_plain && !code_file.starts_with('-');
    let code_file = if is_plain { code_file } else { language.file_name() };
    let is_deep = net.architecture().is_deep();
    let compile = language.compile_command(code_file, is_deep && net.fixed_output().is_none());
    let compile = Value::from_safe_string(compile);
    let sets = set_facts(language, net.architecture())?;
    Ok(render_template(
        language,
        &merge_maps([
            context! { compile },
            sets,
            template_facts(language, net, &proof, net_file, golden),
        ]),
    ))
}

/// Renders the template of a language, with strings escaped for its literals.
fn render_template(language: Language, facts: &Value) -> String {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build().expect("the marks of blocks are the usual ones"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(move |out, _, value| {
        let written = match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => out.write_str(&language.escape_literal(text)),
            None => write!(out, "{value}"),
        };
        written.map_err(|_| Error::from(ErrorKind::WriteFailure))
    });
    // This template has the lines for nets of several feature sets.
    let sets = language.choose_between(
        include_str!("snippet/sets.rs.jinja"),
        include_str!("snippet/sets.h.jinja"),
    );
    environment.add_template("sets", sets).expect("the tests render it");
    let template = language.choose_between(
        include_str!("snippet/nnue.rs.jinja"),
        include_str!("snippet/nnue.h.jinja"),
    );
    let rendered = environment.render_str(template, facts);
    rendered.expect("templates use known facts only, and the tests render all of them")
}

fn template_facts(
    language: Language,
    net: &Net,
    proof: &Proof,
    net_file: &str,
    golden: &[Golden],
) -> Value {
    let architecture = net.architecture();
    let Architecture { inputs, hidden, activation, pairwise, buckets, .. } = architecture;
    let Scales { qa, qb, scale, .. } = net.scales();
    let Curve { inner, bounded, outer, .. } = activation.curve();
    let floats = architecture.is_deep();
    let bytes_in = floats && has_bytes(architecture, net.scales());
    let fixed = net.fixed_point();
    let rounds = floats && net.fixed_output().is_none();
    let file = net.to_bytes();
    let kings: Vec<String> =
        (0..64).map(|king| inputs.kings().flip_and_bucket(king).1.to_string()).collect();
    let (shift, _) = net.shift_and_unit();
    let (head, output) = if floats { head_code(language, net) } else { Default::default() };
    context! {
        architecture => Value::from_safe_string(architecture.to_string()),
        floats,
        // Inputs: the perspectives, the number used by the output, whether they depend on kings.
        sides => if inputs.perspectives == Perspectives::Plain { 1 } else { 2 },
        perspectives => architecture.perspective_count(),
        kings => inputs.kings().has_effect(),
        mirrored => inputs.kings().mirror,
        king_buckets => inputs.kings().bucket_count(),
        origins => inputs.kings().bucket_count() * (1 + usize::from(inputs.kings().mirror)),
        bucket_rows => inputs.kings().rows_per_bucket(),
        merged_kings => inputs.has_merged_kings(),
        king_table => kings
            .chunks(8)
            .map(|rank| Value::from_safe_string(rank.join(", ")))
            .collect::<Vec<_>>(),
        rows => architecture.row_count(),
        // Accumulators: `max(0, acc)`, or `clamp(acc, 0, QA)` if bounded; squared or multiplied in pairs.
        hidden,
        bounded,
        squared => inner * outer == 2,
        pairwise,
        outputs => architecture.outputs_of_perspective(),
        // Behind the accumulators.
        buckets,
        pieces_per_bucket => architecture.pieces_per_bucket(),
        bucket_table => match &architecture.bucket_choice {
            BucketChoice::Table(table) => {
                let text = |row: &[u8]| row.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
                table.0.chunks(11).map(|row| Value::from_safe_string(text(row))).collect()
            }
            _ => Vec::new(),
        },
        maps => map_facts(architecture, fixed, bytes_in),
        fixed => fixed.maps.iter().any(Option::is_some),
        // Whether there are maps of integers other than bytes, and maps of floats.
        fixed_maps => fixed.maps.iter().skip(1).any(Option::is_some),
        float_maps => floats && fixed.maps.iter().skip(usize::from(bytes_in)).any(Option::is_none),
        rounds,
        // The unit of the output, if it is an integer after layers.
        psqt_unit => fixed.psqt,
        output_unit => net.fixed_output().map(|output| output.unit),
        head => Value::from_safe_string(head),
        output,
        psqt => architecture.psqt,
        bytes_in,
        shift,
        shifted => 1_i64 << shift,
        // The number that rounds the shift.
        half => net.first_half(),
        top => net.largest_product(),
        qa,
        qb,
        scale,
        i16_trick => proof.i16_trick,
        product_fits_i32 => proof.product_fits_i32,
        // Files. The assembler reads a literal within a literal.
        net_file,
        assembler_file => net_file.replace('\\', "\\\\").replace('"', "\\\""),
        bytes => net.payload_bytes(),
        file_bytes => file.len(),
        sha256 => sha256_prefix(&file),
        golden => golden
            .iter()
            .map(|it| context! { fen => &it.fen[..], cp => it.cp })
            .collect::<Vec<_>>(),
        version => env!("CARGO_PKG_VERSION"),
    }
}

/// The feature sets with their code; empty for pieces alone, for which the templates have code.
fn set_facts(
    language: Language,
    Architecture { inputs, .. }: &Architecture,
) -> Result<Value, SnippetError> {
    let mut sets = Vec::new();
    let mut code = String::new();
    for (index, set) in inputs.sets().iter().enumerate().filter(|_| !inputs.is_pieces()) {
        let missing = || SnippetError::Set { set: set.name().into(), language };
        let source = set.engine_code(language).ok_or_else(missing)?;
        let source = source.trim_matches('\n');
        let first = inputs.first_row(index);
        code += source;
        sets.push(context! {
            name => Value::from_safe_string(set.name().into()),
            field => Value::from_safe_string(set.name().replace('-', "_")),
            source => Value::from_safe_string(format!("{source}\n")),
            first,
            end => first + set.row_count(),
            bytes => set.integer() == Integer::I8,
        });
    }
    // Unused code would cause warnings.
    Ok(context! {
        sets,
        active => inputs.max_active(),
        attacks => code.contains("attacks"),
        victims => code.contains("pieces_on"),
        flips => code.contains("flip("),
    })
}

/// The affine maps after the accumulators.
fn map_facts(net: &Architecture, fixed: &FixedPoint, bytes_in: bool) -> Vec<Value> {
    let map = |(map, [inputs, outputs]): (usize, [usize; 2])| {
        let fixed = fixed.maps[map].as_ref();
        let bits = fixed.map(|it| match it.weights {
            Integer::I8 => 8,
            Integer::I16 => 16,
            Integer::I32 => 32,
        });
        context! { inputs, outputs, bytes => bytes_in && map == 0, bits }
    };
    net.maps().into_iter().enumerate().map(map).collect()
}

/// Writes the code of all operations from the first map on, which takes `x0`, and names the output.
fn head_code(language: Language, net: &Net) -> (String, String) {
    let fixed = net.fixed_point();
    let bytes_in = has_bytes(net.architecture(), net.scales());
    let factors = [net.scales().qa, net.scales().qb];
    let psqt_apart = fixed.psqt.is_some();
    let context = CodeContext { language, bytes_in, factors, maps: &fixed.maps, psqt_apart };
    let graph = net.architecture().graph();
    let name = |value: usize| format!("v{value}");
    let is_first = |node: &Node| node.operation == Operation::Affine(0);
    let first = graph.nodes().iter().position(is_first).expect("a net has an output");
    let mut lines = String::new();
    for (value, node) in graph.nodes().iter().enumerate() {
        let input = |input: usize| (name(input), graph.nodes()[input].width, fixed.values[input]);
        let inputs: Vec<_> = match node.operation {
            Operation::PieceSquares => Vec::new(),
            Operation::Affine(0) => vec![("x0".into(), net.architecture().feature_count(), None)],
            _ if value < first => continue,
            _ => node.input_nodes().map(input).collect(),
        };
        let inputs = inputs.iter().map(|(name, width, fixed)| CodeValue {
            name,
            width: *width,
            fixed: *fixed,
        });
        let inputs: Vec<CodeValue> = inputs.collect();
        let name = &name(value);
        let output = CodeValue { name, width: node.width, fixed: fixed.values[value] };
        lines += &node.operation.engine_code(&context, &inputs, output);
    }
    let indent = language.choose_between("        ", "    ");
    let lines: Vec<String> = lines.lines().map(|line| format!("{indent}{line}")).collect();
    (lines.join("\n"), name(graph.nodes().len() - 1))
}
