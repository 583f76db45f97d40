//! The banner and the size line.

use super::array;
use super::cursor::Cursor;
use super::document::Document;
use super::value::Value;
use crate::gzip;
use crate::header::{Field, Header, Symmetry};
use crate::limits::check_dimension;
use crate::number::COMPLEX_VALUES;
use host::error::Error;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The order in which a file lists its values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Entry by entry, each with its row and column.
    Coordinate,
    /// All values, column by column.
    Array,
}

/// Whether a text begins like a file with a banner.
pub(crate) fn has_banner(text: &[u8]) -> bool {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_ascii_start().starts_with(b"%%")
}

/// Reads the banner and the size line of a document of the expected layout. Also returns the position of the rest.
pub(super) fn read(document: &Document<'_>, expected: Layout) -> Result<(Header, usize), Error> {
    if document.text.is_empty() {
        return Err(document.error(0, "the file is empty, expected '%%MatrixMarket'"));
    }
    if gzip::is_compressed(document.text) {
        return Err(document.error(0, "the file is compressed with gzip more than once"));
    }
    let begin = if document.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut cursor = Cursor::new(document.text, begin);
    let (field, symmetry) = read_banner(document, &mut cursor, expected)?;
    let header = read_sizes(document, &mut cursor, expected, field, symmetry)?;
    Ok((header, cursor.at()))
}

/// Checks that `V` can hold the values of a file.
pub(super) fn check_values<V: Value>(document: &Document<'_>, header: &Header) -> Result<(), Error> {
    if header.field == Field::Complex && V::FIELD != Field::Complex {
        return Err(document.error(0, COMPLEX_VALUES));
    }
    Ok(())
}

fn read_banner(document: &Document<'_>, cursor: &mut Cursor<'_>, expected: Layout) -> Result<(Field, Symmetry), Error> {
    // Reads a word of the banner, which must be one of the known ones.
    let mut word = |what: &str, known: &[&'static str]| {
        cursor.skip_blanks();
        let at = cursor.at();
        let token = cursor.token();
        known.iter().copied().find(|name| token.eq_ignore_ascii_case(name.as_bytes())).ok_or_else(|| {
            let unknown = if token.is_empty() { "missing" } else { "unknown" };
            document.error(at, format!("{unknown} {what}: expected {}, found {}", known.join(", "), document.quote(at)))
        })
    };
    let fail = |reason: &str| Err(document.error(0, reason));

    word("banner", &["%%MatrixMarket"])?;
    word("object", &["matrix"])?;
    let layout = match word("layout", &["coordinate", "array"])? {
        "coordinate" => Layout::Coordinate,
        _ => Layout::Array,
    };
    let field = match word("field", &["real", "integer", "pattern", "double", "complex"])? {
        "complex" => Field::Complex,
        "integer" => Field::Integer,
        "pattern" => Field::Pattern,
        _ => Field::Real,
    };
    let symmetry = match word("symmetry", &["general", "symmetric", "skew-symmetric", "hermitian"])? {
        "hermitian" if field != Field::Complex => return fail("only a complex matrix can be hermitian"),
        "hermitian" => Symmetry::Hermitian,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::SkewSymmetric,
        _ => Symmetry::General,
    };
    cursor.end_line().map_err(|problem| document.problem(&problem))?;

    if field == Field::Pattern && symmetry == Symmetry::SkewSymmetric {
        return fail("a pattern has no signs and cannot be skew-symmetric");
    }
    match (expected, layout) {
        (Layout::Coordinate, Layout::Array) => fail("an array file holds a dense matrix, expected a coordinate file"),
        (Layout::Array, Layout::Coordinate) => {
            fail("a coordinate file holds a sparse matrix, expected an array file with a vector")
        }
        (Layout::Array, Layout::Array) if field == Field::Pattern => fail("an array file cannot be a pattern"),
        _ => Ok((field, symmetry)),
    }
}

fn read_sizes(
    document: &Document<'_>,
    cursor: &mut Cursor<'_>,
    layout: Layout,
    field: Field,
    symmetry: Symmetry,
) -> Result<Header, Error> {
    if !cursor.skip_to_content() {
        return Err(document.error_at_end("the file ends before its size line"));
    }
    let begin = cursor.at();
    let fail = |reason: String| Err(document.error(begin, reason));
    let mut count = |expected| cursor.count(expected).map_err(|problem| document.problem(&problem));
    let rows = count("the number of rows")?;
    let columns = count("the number of columns")?;
    let announced = match layout {
        Layout::Coordinate => Some(count("the number of entries")?),
        Layout::Array => None,
    };
    cursor.end_line().map_err(|problem| document.problem(&problem))?;

    let bytes = usize::try_from(document.bytes).unwrap_or(usize::MAX);
    for (what, dimension) in [("rows", rows), ("columns", columns)] {
        check_dimension(what, dimension, bytes).map_err(|reason| document.error(begin, reason))?;
    }
    if symmetry != Symmetry::General && rows != columns {
        return fail(format!("a {} matrix is square, but this one is {rows} x {columns}", symmetry.name()));
    }
    // Less than 2^64 by the limit on rows and columns.
    let entries = announced.unwrap_or_else(|| array::listed(rows, columns, symmetry));
    // The shortest entry, including its line end, which the last line may lack.
    let shortest = if layout == Layout::Coordinate { "1 1\n" } else { "1\n" }.len() as u64;
    let rest = document.bytes - cursor.at() as u64;
    if entries > (rest + 1) / shortest {
        return fail(format!("{entries} entries announced, more than the {rest} bytes after this line can hold"));
    }
    Ok(Header { field, symmetry, rows: rows as usize, columns: columns as usize, entries })
}
