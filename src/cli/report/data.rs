//! The data of a report: what the doctor says of it.

use std::path::PathBuf;

use anyhow::Result;
use maud::html;

use crate::cli::data::doctor;
use crate::draw::Section;

pub fn section(files: &[PathBuf]) -> Result<Section> {
    let pages: Vec<Section> =
        files.iter().map(|file| doctor::section(file)).collect::<Result<_>>()?;
    Ok(Section::new("Data", html! { @for page in &pages { h3 { (page.title) } (page.body) } }))
}
