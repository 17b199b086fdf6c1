//! Handcrafted terms looked into: what their tuning did.

use anyhow::{Context, Result, bail};

use super::Args;
use crate::cli::out;
use crate::cli::terminal::Terminal;
use crate::input;
use crate::report::wrap;
use crate::run::folder::JUDGEMENT;
use crate::run::inspect::sanity;
use crate::run::judgement::Judgement;

/// Says what a run made of its terms, or what a file of terms is worth in the positions of
/// `--data`.
pub fn show(args: &Args) -> Result<()> {
    let name = args.net.display();
    if args.output.is_some() {
        bail!("{name} has handcrafted terms; `nnuance export {name} -o terms.svg` draws them");
    }
    let kept = args.net.join(JUDGEMENT);
    let judgement = match (args.data.is_empty(), kept.exists()) {
        (true, true) => {
            let text = input::text(&kept, input::TEXT)
                .with_context(|| format!("cannot read {}", kept.display()))?;
            serde_json::from_str(&text).with_context(|| kept.display().to_string())?
        }
        (true, false) if !args.net.is_dir() => bail!(
            "{name} tells the weights alone; name files of positions with --data, to see what \
             pieces are worth where they stand"
        ),
        _ => {
            let most = args.positions as usize;
            let terms = sanity(&args.net, &args.data, most, &Terminal::default())?;
            Judgement { terms: Some(terms), ..Judgement::default() }
        }
    };
    if args.json {
        return out::line(serde_json::to_string_pretty(&judgement)?);
    }
    let mut text = judgement.terms.map_or(String::new(), |terms| terms.text());
    if let Some(overfitting) = judgement.overfitting {
        text.push('\n');
        wrap(&overfitting.text(), &mut text);
    }
    out::line(text.trim_end())
}
