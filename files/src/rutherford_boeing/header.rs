//! The first lines.

use super::fields::Lines;
use super::format::{FortranFormat, parse_integer};
use crate::header::{Field, Header, Symmetry};
use crate::limits::check_dimension;
use crate::number::COMPLEX_VALUES;
use crate::quote::quote;

/// Width of a number in the header.
const NUMBER: usize = 14;

/// The contents of the first lines.
pub(super) struct Head {
    pub(super) header: Header,
    pub(super) pointers: FortranFormat,
    pub(super) indices: FortranFormat,
    /// Same as that of the indices in a file without values.
    pub(super) values: FortranFormat,
}

/// Whether a text begins like such a file: with a type in its third line and a format in its fourth.
pub(crate) fn has_header(text: &[u8]) -> bool {
    let mut lines = Lines::new(text);
    lines.next();
    lines.next();
    let has_type = lines.next().is_some_and(|line| {
        let letters = line.get(..3).unwrap_or_default().to_ascii_lowercase();
        matches!(*letters, [b'r' | b'c' | b'p' | b'i' | b'q', b'u' | b's' | b'h' | b'z' | b'r', b'a' | b'e'])
    });
    has_type && lines.next().is_some_and(|line| line.trim_ascii_start().starts_with(b"("))
}

/// Reads the first lines, and rejects complex values unless they are accepted.
pub(super) fn read(lines: &mut Lines<'_>, takes_complex: bool) -> Result<Head, String> {
    next(lines, "the title")?;
    let counts = next(lines, "the numbers of lines")?;
    // Only Harwell-Boeing files have a fifth number.
    let right_hand_sides = match column(counts, 4 * NUMBER, NUMBER) {
        b"" => 0,
        _ => number(counts, 4, "the number of lines with right-hand sides")?,
    };

    let line = next(lines, "the type of the matrix")?;
    let (field, symmetry) = matrix_type(column(line, 0, 3))?;
    if field == Field::Complex && !takes_complex {
        return Err(COMPLEX_VALUES.into());
    }
    let rows = number(line, 1, "the number of rows")?;
    let columns = number(line, 2, "the number of columns")?;
    let entries = number(line, 3, "the number of entries")?;
    for (what, dimension) in [("rows", rows), ("columns", columns)] {
        check_dimension(what, dimension, lines.length())?;
    }
    if symmetry != Symmetry::General && rows != columns {
        return Err(format!("a {} matrix is square, but this one is {rows} x {columns}", symmetry.name()));
    }

    let line = next(lines, "the formats")?;
    let format = |begin, length| FortranFormat::parse(column(line, begin, length));
    let (pointers, indices) = (format(0, 16)?, format(16, 16)?);
    let values = if field == Field::Pattern { indices } else { format(32, 20)? };
    if right_hand_sides > 0 {
        next(lines, "the kind of the right-hand sides")?;
    }
    let header = Header { field, symmetry, rows: rows as usize, columns: columns as usize, entries };
    Ok(Head { header, pointers, indices, values })
}

fn next<'a>(lines: &mut Lines<'a>, what: &str) -> Result<&'a [u8], String> {
    lines.next().ok_or_else(|| format!("the file ends before the line with {what}"))
}

/// Some columns of a line without surrounding blanks; fewer if the line is shorter.
fn column(line: &[u8], begin: usize, length: usize) -> &[u8] {
    let line = &line[begin.min(line.len())..];
    line[..length.min(line.len())].trim_ascii()
}

/// A number of the header by its index in the line.
fn number(line: &[u8], place: usize, what: &str) -> Result<u64, String> {
    let text = column(line, place * NUMBER, NUMBER);
    parse_integer(text).and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        let begin = place * NUMBER + 1;
        format!("expected {what} in columns {begin} to {}, found {}", begin + NUMBER - 1, quote(text))
    })
}

/// The meaning of the three letters of a type.
fn matrix_type(text: &[u8]) -> Result<(Field, Symmetry), String> {
    let unknown = || format!("unknown type of matrix {}: expected three letters such as rua", quote(text));
    let &[values, symmetry, storage] = &*text.to_ascii_lowercase() else { return Err(unknown()) };
    let field = match values {
        b'r' => Field::Real,
        b'i' => Field::Integer,
        b'p' => Field::Pattern,
        b'c' => Field::Complex,
        b'q' => return Err("values in a file of their own are not supported".into()),
        _ => return Err(unknown()),
    };
    let symmetry = match symmetry {
        b'u' | b'r' => Symmetry::General,
        b's' => Symmetry::Symmetric,
        b'z' if field == Field::Pattern => return Err("a pattern has no signs and cannot be skew-symmetric".into()),
        b'z' => Symmetry::SkewSymmetric,
        b'h' if field != Field::Complex => return Err("only a complex matrix can be hermitian".into()),
        b'h' => Symmetry::Hermitian,
        _ => return Err(unknown()),
    };
    match storage {
        b'a' => Ok((field, symmetry)),
        b'e' => Err("a matrix of elements that are not assembled is not supported".into()),
        _ => Err(unknown()),
    }
}
