//! A self-contained page: no script, nothing to load, light and dark, phone and paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart;
use super::colour::theme_variables;

/// A section of a page, with a heading that the table of contents links to.
#[derive(Clone, Debug)]
pub struct Section {
    pub title: String,
    pub body: Markup,
}

impl Section {
    pub fn new(title: impl Into<String>, body: Markup) -> Self {
        Self { title: title.into(), body }
    }
}

/// Mark by which our pages are recognised.
pub const MARK: &str = "nnuance";
/// Content policy: a page loads and runs nothing, whatever text it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const STYLE: &str = "
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; margin: 1rem 0 .3rem; }
h2, h3, p, figcaption, summary { overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .4rem; padding-top: .5rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
p { margin: .3rem 0; max-width: 52rem; } a { color: inherit; }
.soft:not(text) { color: var(--soft); } p.soft, li.soft { font-size: .9rem; }
nav { margin: .8rem 0; font-size: .9rem; } nav a { display: inline-block; max-width: 100%;
  margin-right: 1rem; overflow-wrap: anywhere; }
ul.names { list-style: none; padding: 0; margin: .6rem 0; max-width: 52rem; }
.wide { overflow-x: auto; background: linear-gradient(90deg, var(--paper) 40%, transparent) 0 0,
  linear-gradient(270deg, var(--paper) 40%, transparent) 100% 0,
  linear-gradient(90deg, var(--line), transparent) 0 0,
  linear-gradient(270deg, var(--line), transparent) 100% 0;
  background-size: 2rem 100%, 2rem 100%, 1rem 100%, 1rem 100%; background-repeat: no-repeat;
  background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
td, th { padding: .15rem 1.1rem .15rem 0; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
td.left, th.left { text-align: left; }
.facts td { white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
.facts td:first-child { white-space: nowrap; }
.figures { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }
.figures figure { display: grid; grid-row: span 4; grid-template-rows: subgrid; }
figure { margin: 1.2rem 0 0; break-inside: avoid; min-width: 0; }
figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; margin-top: .3rem; }
.squares { grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); }
.square svg { max-width: 20rem; } .ranking svg { max-width: 32rem; } .board svg { max-width: 17rem; }
.board p { font-size: .85rem; margin: .1rem 0; }
.boards { display: grid; gap: 0 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(13rem, 100%), 1fr)); }
.legend { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .85rem; margin-top: .2rem; }
.legend span::before { content: ''; display: inline-block; width: 1.1rem; height: .22rem;
  margin-right: .35rem; vertical-align: middle; background: var(--c); }
.legend span.dashed::before { background: repeating-linear-gradient(90deg, var(--c) 0 .35rem,
  transparent .35rem .55rem); }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; margin-top: .5rem; }
img.pixels { image-rendering: pixelated; width: 100%; height: auto; display: block; }
@media (max-width: 40rem) { table { font-size: .8rem; }
  td, th { padding-right: .6rem; } td:last-child, th:last-child { padding-right: 0; }
  th { white-space: normal; } }
@media print { html { font-size: 70%; } body { max-width: none; } nav { display: none; }
  h2, h3 { break-after: avoid; } .wide { overflow: visible; background: none; } }
";

/// Seconds between two loads of a page that reloads itself.
const RELOAD: u32 = 5;

/// Renders the whole page: title, lead, table of contents of several sections, and sections.
pub fn page(title: &str, lead: &Markup, sections: &[Section]) -> String {
    render_document(title, lead, sections, false)
}

/// Renders the whole page. If `reloads`, it reloads itself every few seconds.
pub fn render_document(title: &str, lead: &Markup, sections: &[Section], reloads: bool) -> String {
    let style = format!("{}{STYLE}{}{}", theme_variables(), chart::STYLE, super::board::STYLE);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(MARK);
                @if reloads { meta http-equiv="refresh" content=(RELOAD); }
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                // Browsers request an icon where none is named.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body {
                h1 { (title) }
                (lead)
                @if sections.len() > 1 {
                    nav {
                        @for (i, section) in sections.iter().enumerate() {
                            a href={ "#part-" (i) } { (section.title) } " "
                        }
                    }
                }
                @for (i, section) in sections.iter().enumerate() {
                    section id={ "part-" (i) } {
                        h2 { (section.title) }
                        (section.body)
                    }
                }
            }
        }
    };
    markup.into_string()
}

/// Renders a picture with its title and a line of text; `class` may be empty.
pub fn render_figure(title: &str, about: &str, class: &str, picture: &Markup) -> Markup {
    html! {
        figure class=[Some(class).filter(|class| !class.is_empty())] {
            figcaption { (title) }
            // Present even if empty, so that neighbours line up.
            p.soft { (about) }
            (picture)
        }
    }
}
