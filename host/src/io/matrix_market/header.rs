//! The banner and the size line.

use super::cursor::Cursor;
use super::document::Document;
use crate::error::Error;
use crate::format::LARGEST_DIMENSION;

/// Rows or columns that any file may have, however short it is.
const FREE_DIMENSION: u64 = 1 << 24;

/// Rows or columns for each byte of the file that it may have beyond that.
const DIMENSION_PER_BYTE: u64 = 16;

/// What the values of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Real numbers.
    Real,
    /// Integers of at most 64 bits.
    Integer,
    /// None: only places are given, and each value is 1.
    Pattern,
}

/// Which entries a file leaves out because others imply them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// Those above the diagonal: A = Aᵀ.
    Symmetric,
    /// Those on and above the diagonal: A = -Aᵀ.
    SkewSymmetric,
}

/// What a file says before its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// What the values are.
    pub field: Field,
    /// Which entries are left out.
    pub symmetry: Symmetry,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of entries in the file, which need not be that of the matrix.
    pub entries: u64,
}

/// How a file lists its values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Entry by entry, each with its row and column.
    Coordinate,
    /// All values, column by column.
    Array,
}

/// Reads banner and size line of a document that should be of one layout. Also answers where the rest begins.
pub(super) fn read(document: &Document<'_>, expected: Layout) -> Result<(Header, usize), Error> {
    if document.text.is_empty() {
        return Err(document.error(0, "the file is empty, expected '%%MatrixMarket'"));
    }
    if document.text.starts_with(&[0x1f, 0x8b]) {
        return Err(document.error(0, "the file is compressed with gzip: decompress it first"));
    }
    let byte_order_mark = "\u{feff}".as_bytes();
    let begin = if document.text.starts_with(byte_order_mark) { byte_order_mark.len() } else { 0 };
    let mut cursor = Cursor::new(document.text, begin);
    let (field, symmetry) = read_banner(document, &mut cursor, expected)?;
    let header = read_sizes(document, &mut cursor, expected, field, symmetry)?;
    Ok((header, cursor.at()))
}

fn read_banner(document: &Document<'_>, cursor: &mut Cursor<'_>, expected: Layout) -> Result<(Field, Symmetry), Error> {
    // A word of the banner, as one of the words that may stand there.
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
        "complex" => return fail("complex values are not supported yet"),
        "integer" => Field::Integer,
        "pattern" => Field::Pattern,
        _ => Field::Real,
    };
    let symmetry = match word("symmetry", &["general", "symmetric", "skew-symmetric", "hermitian"])? {
        "hermitian" => return fail("only a complex matrix can be hermitian"),
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

    for (what, dimension) in [("rows", rows), ("columns", columns)] {
        if dimension > LARGEST_DIMENSION as u64 {
            return fail(format!("{dimension} {what} are more than the {LARGEST_DIMENSION} that can be indexed"));
        }
        let bytes = document.text.len() as u64;
        if dimension > FREE_DIMENSION.max(bytes.saturating_mul(DIMENSION_PER_BYTE)) {
            return fail(format!(
                "{dimension} {what} in a file of {bytes} bytes: more than {FREE_DIMENSION} are taken only up to \
                 {DIMENSION_PER_BYTE} for each byte"
            ));
        }
    }
    if symmetry != Symmetry::General && rows != columns {
        return fail(format!("a symmetric or skew-symmetric matrix is square, and this one is {rows} x {columns}"));
    }
    // Below 2^64 by the limit on rows and columns.
    let entries = announced.unwrap_or(rows * columns);
    // The shortest entry, with its line end, which the last line may lack.
    let shortest = if layout == Layout::Coordinate { "1 1\n" } else { "1\n" }.len() as u64;
    let rest = (document.text.len() - cursor.at()) as u64;
    if entries > (rest + 1) / shortest {
        return fail(format!("{entries} entries announced, more than the {rest} bytes after this line can hold"));
    }
    Ok(Header { field, symmetry, rows: rows as usize, columns: columns as usize, entries })
}
