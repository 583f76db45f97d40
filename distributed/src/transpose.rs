//! Transposes, whose rows belong to other ranks.

use std::ops::Range;

use host::format::{RowCounts, TripletSlices};
use host::memory::with_capacity;
use host::{Csr, Scalar};

use crate::communicator::Communicator;
use crate::deal::{self, Deal, balanced};
use crate::error::Error;
use crate::ranges::Ranges;

/// Entries that all ranks together send at a time.
const AT_ONCE: usize = 1 << 21;

/// Entries that each sends at least.
const LEAST_AT_ONCE: usize = 1 << 10;

/// Returns the number of entries of each column of this rank, with the columns divided by `columns`: `rows` are the rows of
/// this rank, with all columns. All ranks must call it.
///
/// # Errors
/// When the number of columns differs, a rank fails, or memory runs out.
pub fn column_lengths<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    columns: &Ranges,
) -> Result<Vec<usize>, Error> {
    check_columns(rows, columns)?;
    let own = columns.of(communicator.rank());
    let mut entries = [rows.nnz() as u64];
    communicator.reduce(&mut entries, |sum, next| sum + next)?;
    let mut counts = RowCounts::new((own.end - own.start) as usize, rows.rows(), entries[0].into())?;
    in_portions(communicator, rows.nnz(), |entries| {
        Deal::new(communicator, columns, &[&rows.column_indices()[entries]])?.count(&mut counts)
    })?;
    Ok(counts.into_lengths()?)
}

/// This rank's rows of the transpose, divided by `columns`: `rows` are this rank's rows of the matrix, divided by
/// `of_rows`, with all columns. Rows are sorted, and duplicate entries are added up. All ranks must call it. Each holds
/// only its rows of both matrices, and a bounded number of entries in transit.
///
/// ```
/// use host::Csr;
/// use warp_spmv_distributed::{Ranges, threads, transposed};
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// let parts = threads::run(2, |communicator| {
///     // Each of two ranks has one row of a 2 x 3 matrix: (1 2 0) and (0 3 4).
///     let rank = communicator.rank() as u32;
///     let values = if rank == 0 { vec![1.0, 2.0] } else { vec![3.0, 4.0] };
///     let row = Csr::try_new(1, 3, vec![0u32, 2], vec![rank, rank + 1], values)?;
///     transposed(communicator, &row, &Ranges::even(2, 2)?, &Ranges::even(3, 2)?)
/// })?;
/// // Column 0 is the first rank's, columns 1 and 2 are the other's.
/// assert_eq!((parts[0].rows(), parts[0].values().to_vec()), (1, vec![1.0]));
/// assert_eq!(parts[1].column_indices().to_vec(), [0, 1, 1]);
/// assert_eq!(parts[1].values().to_vec(), [2.0, 3.0, 4.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the number of rows or columns differs, a rank fails, or memory runs out.
pub fn transposed<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    of_rows: &Ranges,
    columns: &Ranges,
) -> Result<Csr<T>, Error> {
    let lengths = column_lengths(communicator, rows, columns)?;
    transposed_of(communicator, rows, of_rows, columns, lengths, at_once(communicator))
}

/// [`transposed`], whose rows are divided so that each rank has about the same number of entries. Returns the ranges, too.
///
/// # Errors
/// As for [`transposed`].
pub fn transposed_balanced<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    of_rows: &Ranges,
) -> Result<(Ranges, Csr<T>), Error> {
    let (columns, lengths) = balanced_columns(communicator, rows)?;
    let rows = transposed_of(communicator, rows, of_rows, &columns, lengths, at_once(communicator))?;
    Ok((columns, rows))
}

/// Divides the columns so that each rank has about the same number of entries, and returns the number of entries of each
/// column of this rank.
pub(crate) fn balanced_columns<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
) -> Result<(Ranges, Vec<usize>), Error> {
    let even = Ranges::even(rows.columns() as u64, communicator.ranks())?;
    let lengths = column_lengths(communicator, rows, &even)?;
    balanced(communicator, &lengths, &even)
}

/// [`transposed`], where `lengths` has the number of entries of each of this rank's columns, and each rank sends `at_once`
/// entries at a time.
pub(crate) fn transposed_of<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    of_rows: &Ranges,
    columns: &Ranges,
    lengths: Vec<usize>,
    at_once: usize,
) -> Result<Csr<T>, Error> {
    of_rows.check_length(communicator, "rows", rows.rows())?;
    let own = of_rows.of(communicator.rank());
    let mut assembly = RowCounts::of_lengths(of_rows.total() as usize, &lengths)?.into_assembly()?;
    drop(lengths);
    in_portions_of(communicator, rows.nnz(), at_once, |entries| {
        let part = numbers_of_rows(rows, entries.clone(), own.start)?;
        let slices: TripletSlices<'_, T> = (&rows.column_indices()[entries.clone()], &part, &rows.values()[entries]);
        let received = deal::entries(communicator, columns, &[slices])?;
        let parts = received.iter().map(|(columns, rows, values)| (&**columns, &**rows, &**values));
        Ok(assembly.place(&host::memory::collect(parts)?)?)
    })?;
    Ok(assembly.finish()?)
}

pub(crate) fn check_columns<T: Scalar>(rows: &Csr<T>, columns: &Ranges) -> Result<(), Error> {
    if columns.total() == rows.columns() as u64 {
        return Ok(());
    }
    Err(Error::Ranges { what: "columns", reason: format!("{} of {} columns", columns.total(), rows.columns()) })
}

/// Calls `work`, which performs collectives, equally often on each rank, with some of its entries or none.
pub(crate) fn in_portions(
    communicator: &Communicator,
    entries: usize,
    work: impl FnMut(Range<usize>) -> Result<(), Error>,
) -> Result<(), Error> {
    in_portions_of(communicator, entries, at_once(communicator), work)
}

/// Returns the number of entries that each rank sends at a time. The data that a rank may receive at a time does not grow
/// with the number of ranks.
pub(crate) fn at_once(communicator: &Communicator) -> usize {
    (AT_ONCE / communicator.ranks()).max(LEAST_AT_ONCE)
}

fn in_portions_of(
    communicator: &Communicator,
    entries: usize,
    at_once: usize,
    mut work: impl FnMut(Range<usize>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rounds = [entries.div_ceil(at_once) as u64];
    communicator.reduce(&mut rounds, u64::max)?;
    (0..rounds[0] as usize).try_for_each(|round| {
        let begin = entries.min(round * at_once);
        work(begin..entries.min(begin + at_once))
    })
}

/// Returns the row of each entry, numbered over all ranks.
pub(crate) fn numbers_of_rows<T: Scalar>(rows: &Csr<T>, entries: Range<usize>, first: u64) -> Result<Vec<u32>, Error> {
    let mut numbers = with_capacity(entries.len())?;
    if entries.is_empty() {
        return Ok(numbers);
    }
    let mut row = rows.row_of(entries.start);
    for entry in entries {
        while rows.range(row).end <= entry {
            row += 1;
        }
        numbers.push((first + row as u64) as u32);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;
    use crate::threads;

    #[test]
    fn entries_arrive_in_order_however_many_go_at_a_time() {
        // Rows of 0 to 12 entries, some of them twice in a column, whose order decides the rounding of their sum.
        let lengths: Vec<usize> = (0..200).map(|row| row * 7 % 13).collect();
        let row_of = |row: usize| std::iter::repeat_n(row as u32, lengths[row]);
        let of_entries: Vec<u32> = (0..lengths.len()).flat_map(row_of).collect();
        let columns: Vec<u32> = (0..of_entries.len() as u32).map(|entry| entry * entry % 97).collect();
        let values: Vec<f64> = (0..of_entries.len()).map(|entry| 1.0 / (1 + entry) as f64).collect();
        let expected = Csr::try_from_triplets(97, 200, &columns, &of_entries, &values).unwrap();
        assert!(expected.nnz() < values.len());
        let offsets: Vec<u32> = (0..=200).map(|row| lengths[..row].iter().sum::<usize>() as u32).collect();
        let whole = Csr::try_new(200, 97, offsets, columns, values).unwrap();
        // The second rank has no rows, and the last far fewer entries than the first.
        let (of_rows, columns) = (Ranges::try_new(vec![0, 150, 150, 200]).unwrap(), Ranges::even(97, 3).unwrap());
        for at_once in [1, 34, AT_ONCE] {
            let parts = threads::run(3, |communicator| {
                let rows = Rows::of(&whole, of_rows.of(communicator.rank()))?.block(0..97)?;
                let lengths = column_lengths(communicator, &rows, &columns)?;
                transposed_of(communicator, &rows, &of_rows, &columns, lengths, at_once)
            });
            for (rank, part) in parts.unwrap().into_iter().enumerate() {
                assert!(Rows::from_csr(part).unwrap() == Rows::of(&expected, columns.of(rank)).unwrap(), "{at_once}");
            }
        }
    }
}
