//! Writing matrices and vectors.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::array::DenseMatrix;
use super::chunks::write_file;
use super::coordinate::Coordinates;
use super::value::Value;
use crate::header::{Field, Symmetry};
use crate::number::Number;
use host::error::{Error, check_length};
use host::format::{Csr, check_indices};
use host::parallel;

/// Rows or entries that a thread checks at a time.
const AT_ONCE: usize = 1 << 12;

/// The banner of a file to be written. It is checked against the matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixMarketOptions {
    /// How the values are written: with [`Real`](Field::Real), the default, as numbers of their own type, even complex
    /// ones; as [`Integer`](Field::Integer)s, if all are; or not at all, as a [`Pattern`](Field::Pattern), if each is 1.
    /// [`Complex`](Field::Complex) is only for complex values.
    pub field: Field,
    /// The half that is left out; none by default.
    pub symmetry: Symmetry,
}

/// Writes a vector as a Matrix Market `array real general` file with one column, compressed with gzip if the name ends
/// in `.gz`. O(n).
///
/// Each number is the shortest text that reads back as the same bits, including `-0.0` and infinities (`inf`, `-inf`);
/// all NaNs become `NaN`.
///
/// The file appears under its name only when it is complete. On an error nothing is left behind, and an existing file
/// is untouched; a replaced file passes on its permissions.
///
/// # Errors
/// The system's error; also when `path` is a directory or a write-protected file, or memory runs out.
pub fn write_vector<V: Value>(path: impl AsRef<Path>, vector: &[V]) -> Result<(), Error> {
    write_array(path.as_ref(), vector.len(), 1, vector)
}

/// Writes a dense matrix as a Matrix Market `array general` file of real or complex values. Numbers are written, and
/// the file appears, as described for [`write_vector`]. O(rows · columns).
///
/// # Errors
/// The system's error; also when `path` is a directory or a write-protected file, the number of values does not match
/// the shape, or memory runs out.
pub fn write_dense<V: Value>(path: impl AsRef<Path>, matrix: &DenseMatrix<V>) -> Result<(), Error> {
    let &DenseMatrix { rows, columns, ref values } = matrix;
    let Some(expected) = rows.checked_mul(columns) else {
        let (value, limit) = (rows as u128 * columns as u128, usize::MAX as u128);
        return Err(Error::TooLarge { what: "number of values", value, limit });
    };
    check_length("values", values.len(), expected)?;
    write_array(path.as_ref(), rows, columns, values)
}

fn write_array<V: Value>(path: &Path, rows: usize, columns: usize, values: &[V]) -> Result<(), Error> {
    let first = format!("%%MatrixMarket matrix array {} general\n{rows} {columns}\n", V::FIELD.name());
    write_file(path, &first, values.len(), &|range, text| {
        for value in &values[range] {
            value.append_value(text);
            text.push(b'\n');
        }
    })
}

/// Writes the entries of a sparse matrix as a Matrix Market `coordinate general` file, with real or complex values, in
/// their order. Numbers are written, and the file appears, as described for [`write_vector`]. O(nnz).
///
/// # Errors
/// The system's error; also when `path` is a directory or a write-protected file, the lengths of the arrays differ, an
/// index exceeds the shape, or memory runs out.
pub fn write_coordinates<V: Value>(path: impl AsRef<Path>, entries: &Coordinates<V>) -> Result<(), Error> {
    let Coordinates { rows, columns, row_indices, column_indices, values } = entries;
    check_length("column_indices", column_indices.len(), row_indices.len())?;
    check_length("values", values.len(), row_indices.len())?;
    check_indices("COO", "row", *rows, row_indices)?;
    check_indices("COO", "column", *columns, column_indices)?;
    let field = V::FIELD.name();
    let first = format!("%%MatrixMarket matrix coordinate {field} general\n{rows} {columns} {}\n", values.len());
    write_file(path.as_ref(), &first, values.len(), &|range, text| {
        let mut number = itoa::Buffer::new();
        for entry in range {
            for index in [row_indices[entry], column_indices[entry]] {
                text.extend_from_slice(number.format(u64::from(index) + 1).as_bytes());
                text.push(b' ');
            }
            values[entry].append_value(text);
            text.push(b'\n');
        }
    })
}

/// Writes a sparse matrix as a Matrix Market `coordinate` file, compressed with gzip if the name ends in `.gz`, entry
/// by entry in stored order. Numbers are written, and the file appears, as described for [`write_vector`].
///
/// In parallel, O(rows + nnz), with the memory of a few chunks of text. With a symmetry it takes O(nnz log (longest
/// row)), and a matrix with unsorted rows or duplicate entries is copied and sorted.
///
/// # Errors
/// The system's error; also when `path` is a directory or a write-protected file, the matrix contradicts `options`, or
/// memory runs out.
///
/// ```no_run
/// use host::Csr;
/// use files::{MatrixMarketOptions, Symmetry, write_matrix_market};
///
/// let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1], &[0, 1, 0], &[1.0, 0.1, 0.1])?;
/// let options = MatrixMarketOptions { symmetry: Symmetry::Symmetric, ..Default::default() };
/// write_matrix_market("small.mtx.gz", &matrix, options)?;
/// # Ok::<(), host::Error>(())
/// ```
pub fn write_matrix_market<T: Number>(
    path: impl AsRef<Path>,
    matrix: &Csr<T>,
    options: MatrixMarketOptions,
) -> Result<(), Error> {
    let (path, MatrixMarketOptions { field, symmetry }) = (path.as_ref(), options);
    check_field(matrix, options).map_err(|reason| Error::contents(path, reason))?;
    let field = if field == Field::Real { T::FIELD } else { field };
    let matrix = match symmetry {
        Symmetry::General => Cow::Borrowed(matrix),
        _ => in_order(matrix)?,
    };
    let entries = match symmetry {
        Symmetry::General => matrix.nnz(),
        _ => half(&matrix, symmetry).map_err(|reason| Error::contents(path, reason))?,
    };
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let first =
        format!("%%MatrixMarket matrix coordinate {} {}\n{rows} {columns} {entries}\n", field.name(), symmetry.name());
    let options = MatrixMarketOptions { field, symmetry };
    write_file(path, &first, matrix.nnz(), &|range, text| append_entries(&matrix, 0, options, range, text))
}

/// Appends the lines of a range of entries. The rows of the matrix are numbered from the zero-based `first_row` on.
pub(super) fn append_entries<T: Number>(
    matrix: &Csr<T>,
    first_row: usize,
    MatrixMarketOptions { field, symmetry }: MatrixMarketOptions,
    range: Range<usize>,
    text: &mut Vec<u8>,
) {
    let mut number = itoa::Buffer::new();
    let mut row = matrix.row_of(range.start);
    let mut entry = range.start;
    while entry < range.end {
        let end = matrix.range(row).end.min(range.end);
        let row_number = number.format(first_row + row + 1).to_owned();
        for (&column, &value) in matrix.column_indices()[entry..end].iter().zip(&matrix.values()[entry..end]) {
            if symmetry != Symmetry::General && column as usize > first_row + row {
                continue;
            }
            text.extend_from_slice(row_number.as_bytes());
            text.push(b' ');
            text.extend_from_slice(number.format(column + 1).as_bytes());
            match field {
                Field::Pattern => {}
                Field::Integer => {
                    text.push(b' ');
                    text.extend_from_slice(number.format(value.parts()[0] as i64).as_bytes());
                }
                Field::Real | Field::Complex => {
                    text.push(b' ');
                    value.append_value(text);
                }
            }
            text.push(b'\n');
        }
        entry = end;
        row += 1;
    }
}

/// Checks that values can be written as a field requires.
fn check_field<T: Number>(matrix: &Csr<T>, options: MatrixMarketOptions) -> Result<(), String> {
    // -0.0 is not an integer: it would lose its sign.
    let is_integer = |value: &T| {
        let [value, imaginary] = value.parts();
        (value as i64 as f64).to_bits() == value.to_bits() && value < i64::MAX as f64 && imaginary.to_bits() == 0
    };
    let is_one = |value: &T| value.parts() == [1.0, 0.0];
    let wrong = |fits: &(dyn Fn(&T) -> bool + Sync)| {
        let search = |entries: Range<usize>| matrix.values()[entries].iter().find(|value| !fits(value));
        parallel::first(matrix.nnz(), AT_ONCE, &search)
    };
    if options.symmetry == Symmetry::Hermitian
        && (!T::COMPLEX || options.field != Field::Real && options.field != Field::Complex)
    {
        return Err("only a complex matrix can be hermitian".into());
    }
    match options.field {
        Field::Pattern if options.symmetry == Symmetry::SkewSymmetric => {
            Err("a pattern has no signs and cannot be skew-symmetric".into())
        }
        Field::Pattern => wrong(&is_one)
            .map_or(Ok(()), |value| Err(format!("cannot be written as a pattern: a value is {value:?}, expected 1"))),
        Field::Integer => wrong(&is_integer).map_or(Ok(()), |value| {
            Err(format!("cannot be written as integers: a value is {value:?}, expected one of 64 bits"))
        }),
        Field::Complex if !T::COMPLEX => Err("cannot be written as complex numbers: the values are real".into()),
        Field::Real | Field::Complex => Ok(()),
    }
}

/// The matrix with sorted rows and without duplicate entries.
fn in_order<T: Number>(matrix: &Csr<T>) -> Result<Cow<'_, Csr<T>>, Error> {
    let ordered = |row| matrix.column_indices()[matrix.range(row)].is_sorted_by(|left, right| left < right);
    if parallel::all(matrix.rows(), AT_ONCE, &ordered) {
        return Ok(Cow::Borrowed(matrix));
    }
    let mut matrix = matrix.try_clone()?;
    matrix.sort_rows()?;
    matrix.sum_duplicates()?;
    Ok(Cow::Owned(matrix))
}

/// Number of entries in a file of this symmetry, after checking that the matrix, whose rows are sorted, has it.
fn half<T: Number>(matrix: &Csr<T>, symmetry: Symmetry) -> Result<usize, String> {
    let name = symmetry.name();
    if matrix.rows() != matrix.columns() {
        return Err(format!("a matrix of {} x {} cannot be {name}", matrix.rows(), matrix.columns()));
    }
    let mirrored = |row: usize, column: usize, value: T| {
        let range = matrix.range(column);
        let Ok(place) = matrix.column_indices()[range.clone()].binary_search(&(row as u32)) else { return false };
        let twin = matrix.values()[range.start + place].twin(symmetry);
        // Signs and payloads of NaNs are not written.
        let same = |(value, twin): (f64, f64)| value.to_bits() == twin.to_bits() || value.is_nan() && twin.is_nan();
        value.parts().into_iter().zip(twin.parts()).all(same)
    };
    let fits_diagonal = |value: T| match symmetry {
        Symmetry::SkewSymmetric => false,
        Symmetry::Hermitian => value.is_real(),
        Symmetry::General | Symmetry::Symmetric => true,
    };
    let wrong_in = |row: usize| {
        let mut entries = matrix.row(row);
        let (column, _) = entries.find(|&(column, value)| match column as usize {
            column if column == row => !fits_diagonal(value),
            column => !mirrored(row, column, value),
        })?;
        Some((row + 1, column as usize + 1))
    };
    match parallel::first(matrix.rows(), AT_ONCE, &|mut rows| rows.find_map(wrong_in)) {
        Some((row, column)) if row == column => Err(match symmetry {
            Symmetry::Hermitian => format!("not {name}: the entry in row {row} on the diagonal is not real"),
            _ => format!("not {name}: there is an entry in row {row} on the diagonal"),
        }),
        Some((row, column)) => {
            Err(format!("not {name}: the entry in row {row} and column {column} differs from that across the diagonal"))
        }
        None => {
            let up_to_diagonal =
                |row| matrix.column_indices()[matrix.range(row)].partition_point(|&column| column as usize <= row);
            let entries = AtomicUsize::new(0);
            parallel::for_each(matrix.rows().div_ceil(AT_ONCE), 1, &|chunk| {
                let rows = chunk * AT_ONCE..matrix.rows().min((chunk + 1) * AT_ONCE);
                entries.fetch_add(rows.map(up_to_diagonal).sum(), Ordering::Relaxed);
            });
            Ok(entries.into_inner())
        }
    }
}
