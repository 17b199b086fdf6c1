//! Tables of text as tables of a page.

use maud::Markup;

use crate::draw::page::{Side, table};
use crate::report::{Align, Table};

impl Table {
    /// The same table in HTML, with nothing cut.
    pub fn markup(&self) -> Markup {
        let header: Vec<(&str, Side)> = self
            .header()
            .iter()
            .map(|(title, align)| match align {
                Align::Left => (&title[..], Side::Left),
                Align::Right => (&title[..], Side::Right),
            })
            .collect();
        table(&header, self.rows())
    }
}
