//! Reports on results: a page for the browser, figures as SVG, and a table for a README.

mod ceilings_table;
mod contents;
mod conversions;
mod document;
mod group;
mod import;
mod matrix_table;
mod page;
mod plots;
mod products;
mod provenance;
mod series;
mod speed_table;
mod table;
mod vectors_table;

use std::path::Path;

pub use contents::Report;
pub use document::{document, first_difference};
pub(crate) use plots::draw;
pub use plots::{Figure, residual_history, structure};
pub use series::Series;

use crate::error::Error;
use crate::record::Entry;
use crate::results;

/// Returns the entries of all files, file by file.
///
/// # Errors
/// With the file and, for its contents, the line and column; also when there are no entries.
pub fn read<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for path in paths {
        let mut read = results::read(path.as_ref())?;
        if read.is_empty() {
            let reason = "the array is empty, expected an entry for each matrix".into();
            return Err(Error::Content { path: path.as_ref().into(), line: 1, column: 1, reason });
        }
        entries.append(&mut read);
    }
    Ok(entries)
}

pub use import::import;

impl Report {
    /// Returns the self-contained page: scripts, styles and data.
    pub fn page(&self) -> String {
        page::page(self)
    }

    /// Returns the figures as SVG.
    ///
    /// # Errors
    /// When one cannot be drawn.
    pub fn figures(&self) -> Result<Vec<Figure>, Error> {
        plots::figures(self)
    }

    /// Returns a table in Markdown: our fastest format compared with the fastest peer, by family and precision. If
    /// [`Format::Auto`](host::Format::Auto) was measured, a second one rates its choices. If several vectors were
    /// multiplied at once, two more compare those products with the peers' and with single ones: for all matrices together,
    /// and for each.
    pub fn table(&self) -> String {
        table::table(&self.entries)
    }
}
