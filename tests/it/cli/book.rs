//! The pages of the book: the summary lists them, links and commands are valid, and the guides run.

use clap::Parser as _;
use nnuance::cli::Cli;

use crate::formats::registry::exhaust;
use crate::support::kit::*;

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir("docs").expect("the book");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    pages.sort();
    assert!(pages.len() > 10);
    pages
}

/// All pages: the book and those beside the code.
fn texts() -> Vec<PathBuf> {
    let others = ["README.md", "data/README.md", "nets/README.md", "ARCHITECTURE.md"];
    pages().into_iter().chain(others.map(PathBuf::from)).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("UTF-8")
}

struct Block {
    info: String,
    lines: Vec<String>,
}

fn parts(page: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_string()),
            (None, Some(info)) => open = Some(Block { info: info.into(), lines: Vec::new() }),
            (None, None) => prose.push(line),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    (blocks, prose)
}

/// The targets of all links and pictures in prose, without spans of code.
fn links(prose: &[&str]) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose {
        let outside: Vec<&str> = line.split('`').step_by(2).collect();
        let plain = outside.join("");
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        links.extend(targets.map(String::from));
    }
    links
}

/// The anchors of a page, as mdBook and forges make them of headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let (_, prose) = parts(page);
    let headings = prose.iter().filter(|line| line.starts_with('#'));
    let anchor = |heading: &&str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = text(Path::new("docs/SUMMARY.md"));
    let listed: BTreeSet<String> = links(&parts(&summary).1).into_iter().collect();
    let there: BTreeSet<String> = pages()
        .iter()
        .map(|page| page.file_name().expect("a name").to_string_lossy().into_owned())
        .filter(|name| name != "SUMMARY.md")
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    for page in texts() {
        for link in links(&parts(&text(&page)).1) {
            let release = page == Path::new("README.md") && link == "../../releases/latest";
            if link.contains("://") || release {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().expect("a folder");
            let target = if path.is_empty() { page.clone() } else { folder.join(path) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            // The book that mdBook makes has nothing of the repository but its own folder.
            let inside = !page.starts_with("docs") || !path.starts_with("..");
            assert!(inside, "{}: {link} leads out of the book", page.display());
            if !anchor.is_empty() {
                let there = anchors(&text(&target)).contains(anchor);
                assert!(there, "{}: {link} names no heading", page.display());
            }
            followed += 1;
        }
    }
    assert!(followed > 30);
}

/// The commands of a shell script, one a line, with what is continued put together.
fn commands(block: &Block) -> Vec<String> {
    let joined = block.lines.join("\n").replace("\\\n", " ");
    joined.lines().map(str::trim).map(String::from).collect()
}

/// The words of a command up to a pipe, a redirection or the next command.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (None, '|' | '>' | '<' | '#' | '&' | ';') if !begun => break,
            (None, ' ') if begun => {
                words.push(std::mem::take(&mut word));
                begun = false;
            }
            (None, ' ') => {}
            (None, _) => {
                word.push(c);
                begun = true;
            }
        }
    }
    words.extend(begun.then_some(word));
    words
}

fn calls(line: &str) -> Vec<Vec<String>> {
    let starts = ["nnuance ", "./nnuance ", "cargo run --release -- "];
    let mut calls = Vec::new();
    for start in starts {
        for (at, _) in line.match_indices(start) {
            if at == 0 || line[..at].ends_with("&& ") || line[..at].ends_with("| ") {
                let mut call = vec!["nnuance".to_string()];
                call.extend(words(&line[at + start.len()..]));
                calls.push(call);
            }
        }
    }
    calls
}

#[test]
fn commands_shown_are_valid() {
    use clap::error::ErrorKind;
    let mut tried = 0;
    for page in texts() {
        let page_text = text(&page);
        let (blocks, prose) = parts(&page_text);
        let scripts = blocks.iter().filter(|block| block.info.starts_with("sh"));
        let spans = prose.iter().flat_map(|line| line.split('`').skip(1).step_by(2));
        // In prose a command may lack its arguments: `nnuance compare`, `nnuance train CONFIG`.
        let whole: Vec<String> = scripts.flat_map(commands).collect();
        let whole = whole.iter().map(|line| (&line[..], true));
        for (line, complete) in whole.chain(spans.map(|span| (span, false))) {
            for call in calls(line) {
                let fine =
                    Cli::try_parse_from(&call).err().is_none_or(|error| match error.kind() {
                        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
                        ErrorKind::MissingRequiredArgument
                        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !complete,
                        _ => false,
                    });
                let example = call.iter().any(|word| word == "..." || word == "COMMAND");
                assert!(fine || example, "{}: `{line}` is refused", page.display());
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

/// Configs shown as a whole must be complete; parts of one must at least be TOML.
#[test]
fn configs_shown_are_valid() {
    for page in texts() {
        let page_text = text(&page);
        for block in parts(&page_text).0.iter().filter(|block| block.info.starts_with("toml")) {
            let config = block.lines.join("\n");
            let name = page.display().to_string();
            match config.contains("version = ") {
                true => drop(Config::parse_text(&config, &name, &[]).expect("a config")),
                false => drop(config.parse::<toml::Table>().expect(&name)),
            }
        }
    }
}

/// The deep config of the page on bullet makes a file as large as that of bullet's own example.
#[test]
fn deep_config_has_bullets_size() {
    let page = text(Path::new("docs/from-bullet.md"));
    let mut blocks = parts(&page).0.into_iter().map(|block| block.lines.join("\n"));
    let config = blocks.rfind(|block| block.contains("baseline.data")).expect("a config");
    let config: toml::Table = config.parse().expect("TOML");
    let mut net = config["net"].as_table().expect("a net").clone();
    net.remove("start_size");
    let folder = Workdir::empty();
    let [bin, described] = ["net.bin", "net.toml"].map(|name| folder.path(name));
    fs::write(described, net.to_string()).expect("a file");
    for (bytes, fits) in [(15_880_768, true), (15_880_704, false)] {
        fs::write(&bin, vec![0; bytes]).expect("a file");
        assert_eq!(nnuance::export::load_net(&bin).is_ok(), fits, "{bytes}");
    }
}

/// Runs a page's configs and commands in order, with two epochs; returns their numbers.
fn run_page(name: &str, folder: &Path) -> (usize, usize) {
    let page = text(Path::new(name));
    let program = Path::new(env!("CARGO_BIN_EXE_nnuance"));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let beside = program.parent().expect("a folder").to_path_buf();
    let paths = std::iter::once(beside).chain(std::env::split_paths(&others));
    let search = std::env::join_paths(paths).expect("paths without colons");
    let (mut configs, mut scripts) = (0, 0);
    for block in parts(&page).0 {
        let name = block.lines.first().and_then(|line| line.strip_prefix("# "));
        let lines = block.lines.join("\n") + "\n";
        if let Some(name) = name.filter(|name| block.info == "toml" && name.ends_with(".toml")) {
            let shorter = lines.replace("epochs = 8", "epochs = 2");
            assert_eq!(shorter != lines, lines.contains("[schedule]"));
            fs::write(folder.join(name), shorter).expect("a config");
            configs += 1;
        } else if block.info == "sh,runnable" {
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", &lines]).env("PATH", &search).current_dir(folder);
            let output = shell.output().expect("a shell");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{lines}\n{said}");
            scripts += 1;
        }
    }
    (configs, scripts)
}

#[test]
fn guides_run() {
    let net =
        ["runs/my-net/net.bin", "runs/my-net/net.json", "my-net.bin", "my-net.json", "nnue.h"];
    for (page, scripts, made) in
        [("docs/pgn-to-engine.md", 6, &net[..]), ("docs/tuning.md", 1, &["terms.h"])]
    {
        let folder = Workdir::empty();
        let data = folder.path("data");
        fs::create_dir(&data).expect("a folder");
        let name = "selfplay_sf151_quiet.epd";
        let whole = text(&Path::new("data").join(name));
        let some: Vec<&str> = whole.lines().step_by(4).collect();
        fs::write(data.join(name), some.join("\n")).expect("a file");
        let games = data.join("selfplay-sf15.vf").to_string_lossy().into_owned();
        let sample = ["sample", GAMES, "--share", "0.2", "-o"];
        crate::formats::tools::fine(&[&sample[..], &[&games]].concat());
        assert_eq!(run_page(page, folder.root_path()), (1, scripts), "{page}");
        for made in made {
            assert!(folder.path(made).exists(), "{made}");
        }
    }
}

#[test]
fn examples_of_formats_are_read() {
    let page = text(Path::new("docs/formats.md"));
    let mut shown = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let Ok(format) = Format::named(section.lines().next().unwrap()) else { continue };
        let Some((_, rest)) = section.split_once("```text\n") else { continue };
        let example = rest.split("```").next().unwrap();

        let (samples, faults) = exhaust(format, example.as_bytes());
        assert!(faults == 0 && !samples.is_empty(), "{}: {example}", format.name);
        shown.push(format.name);
    }
    assert_eq!(shown, ["text", "epd", "plain"]);
}
