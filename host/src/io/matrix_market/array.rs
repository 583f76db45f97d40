//! Vectors.

use super::document::Document;
use super::entries::read_entries;
use super::header::{self, Layout};
use crate::error::Error;
use crate::io::Progress;
use crate::io::header::{Field, Symmetry};
use crate::real::Real;

/// Reads an array file with one column or one row.
pub(super) fn read<T: Real>(document: &Document<'_>, progress: Progress<'_>) -> Result<Vec<T>, Error> {
    let (header, begin) = header::read(document, Layout::Array)?;
    if header.symmetry != Symmetry::General {
        return Err(document.error(0, "a vector has no symmetry, expected 'general'"));
    }
    if header.rows != 1 && header.columns != 1 {
        return Err(document.error(
            begin - 1,
            format!(
                "expected a vector, with one column or one row, found a matrix of {} x {}",
                header.rows, header.columns
            ),
        ));
    }
    let integer = header.field == Field::Integer;
    let chunks = read_entries(document, begin, header.entries, progress, Vec::with_capacity, |cursor, values| {
        values.push(if integer { cursor.integer()? } else { cursor.real()? });
        Ok(())
    })?;
    Ok(chunks.concat())
}
