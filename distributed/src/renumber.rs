//! Renumbering the rows of matrices and vectors, which moves them to other ranks.

use bytemuck::Pod;
use host::error::check_square;
use host::format::RowCounts;
use host::memory::{collect, with_capacity, zeros};
use host::{Csr, Scalar};

use crate::communicator::Communicator;
use crate::deal::{self, Deal};
use crate::error::Error;
use crate::needed::Needed;
use crate::ranges::Ranges;
use crate::together::together;
use crate::transpose::{in_portions, numbers_of_rows};

/// Renumbers the rows and columns of a square matrix, and returns this rank's rows of the result, divided by `to`. `rows`
/// are this rank's rows of the original matrix, divided by `ranges` and with all columns, and `numbers` are their new
/// numbers. Rows are sorted by column; duplicate entries are kept, in their order. All ranks must call it. Each rank holds
/// only its rows of both matrices, the new numbers of other ranks' columns in which it has entries, and a bounded number of
/// entries in transit. O(nnz log(those columns)) on each rank.
///
/// ```
/// use host::Csr;
/// use warp_spmv_distributed::{Ranges, renumber_elements, renumbered, restore_elements, threads};
///
/// # fn main() -> Result<(), warp_spmv_distributed::Error> {
/// threads::run(2, |communicator| {
///     // Each of two ranks has one row of (1 2; 0 4); then the other has it, as one of (4 0; 2 1).
///     let (rank, ranges) = (communicator.rank() as u32, Ranges::even(2, 2)?);
///     let row = match rank {
///         0 => Csr::try_new(1, 2, vec![0u32, 2], vec![0, 1], vec![1.0, 2.0])?,
///         _ => Csr::try_new(1, 2, vec![0u32, 1], vec![1], vec![4.0])?,
///     };
///     let numbers = [1 - rank];
///     let new = renumbered(communicator, &row, &ranges, &numbers, &ranges)?;
///     assert_eq!(new.values(), if rank == 0 { &[4.0][..] } else { &[2.0, 1.0] });
///     // Elements of vectors go the same way, and back.
///     let x = renumber_elements(communicator, &[rank], &ranges, &numbers, &ranges)?;
///     assert_eq!(x, numbers);
///     assert_eq!(restore_elements(communicator, &x, &ranges, &numbers, &ranges)?, [rank]);
///     Ok(())
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the matrix is not square, the number of a rank's rows or new numbers differs from its range, the ranks have
/// different ranges, two rows have the same number, a rank fails, or memory runs out.
pub fn renumbered<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    ranges: &Ranges,
    numbers: &[u32],
    to: &Ranges,
) -> Result<Csr<T>, Error> {
    let is_square = check_square("the matrix", ranges.total() as usize, rows.columns());
    together(communicator, is_square.map_err(Error::from))?;
    let lengths: Vec<usize> = collect(rows.row_lengths())?;
    let lengths = renumber_elements(communicator, &lengths, ranges, numbers, to)?;
    let first = ranges.of(communicator.rank()).start;
    let columns = Columns::new(communicator, rows, ranges, numbers)?;
    let mut assembly = RowCounts::of_lengths(rows.columns(), &lengths)?.into_assembly()?;
    drop(lengths);
    in_portions(communicator, rows.nnz(), |entries| {
        let mut of_rows = numbers_of_rows(rows, entries.clone(), first)?;
        of_rows.iter_mut().for_each(|row| *row = numbers[(u64::from(*row) - first) as usize]);
        let new = collect(rows.column_indices()[entries.clone()].iter().map(|&column| columns.new_number(column)))?;
        let received = deal::entries(communicator, to, &[(&of_rows, &new, &rows.values()[entries])])?;
        let parts = received.iter().map(|(rows, columns, values)| (&**rows, &**columns, &**values));
        Ok(assembly.place(&collect(parts)?)?)
    })?;
    Ok(assembly.finish_with_duplicates()?)
}

/// Returns ranges with about the same number of entries for the renumbered rows of a matrix, as
/// [`balanced`](Ranges::balanced) makes them: `rows` are this rank's rows of the original matrix, divided by `ranges`, and
/// `numbers` are their new numbers. All ranks must call it, and each holds the lengths of only its share of the rows.
///
/// # Errors
/// As for [`renumber_elements`].
pub fn renumbered_ranges<T: Scalar>(
    communicator: &Communicator,
    rows: &Csr<T>,
    ranges: &Ranges,
    numbers: &[u32],
) -> Result<Ranges, Error> {
    let lengths: Vec<usize> = collect(rows.row_lengths())?;
    let even = Ranges::even(ranges.total(), communicator.ranks())?;
    let lengths = renumber_elements(communicator, &lengths, ranges, numbers, &even)?;
    Ranges::balanced_together(communicator, &lengths)
}

/// Renumbers the elements of a vector, and returns this rank's elements of the result, divided by `to`. `elements` are this
/// rank's elements of the original vector, divided by `ranges`, and `numbers` are their new numbers. All ranks must call
/// it; see [`renumbered`].
///
/// # Errors
/// When the number of a rank's elements or new numbers differs from its range, the ranks have different ranges, two
/// elements have the same number, a rank fails, or memory runs out.
pub fn renumber_elements<T: Pod + Send + Sync>(
    communicator: &Communicator,
    elements: &[T],
    ranges: &Ranges,
    numbers: &[u32],
    to: &Ranges,
) -> Result<Vec<T>, Error> {
    check(communicator, ranges, numbers, to, (ranges, elements.len()))?;
    let deal = Deal::new(communicator, to, &[numbers])?;
    let (places, received) = (deal.rows()?, deal.items(&[elements])?);
    let own = to.of(communicator.rank());
    let mut renumbered = zeros::<T>((own.end - own.start) as usize)?;
    let mut is_there = zeros::<bool>(renumbered.len())?;
    let mut twice = None;
    for (&place, element) in places.iter().flatten().zip(received.into_iter().flatten()) {
        if std::mem::replace(&mut is_there[place as usize], true) {
            twice = Some(own.start + u64::from(place));
        }
        renumbered[place as usize] = element;
    }
    // There are as many numbers as elements: without duplicates, none is missing.
    let expected = "one that no other row has";
    let twice = twice.map(|number| Error::Setting { what: "a new number", value: number.to_string(), expected });
    together(communicator, twice.map_or(Ok(renumbered), Err))
}

/// Restores the original order of a vector: returns this rank's elements, divided by `ranges`, from its `elements` in the
/// new order, divided by `to`. This inverts [`renumber_elements`] with the same numbers. All ranks must call it.
///
/// # Errors
/// When the number of a rank's elements or new numbers differs from its range, the ranks have different ranges, a rank
/// fails, or memory runs out.
pub fn restore_elements<T: Pod>(
    communicator: &Communicator,
    elements: &[T],
    ranges: &Ranges,
    numbers: &[u32],
    to: &Ranges,
) -> Result<Vec<T>, Error> {
    check(communicator, ranges, numbers, to, (to, elements.len()))?;
    fetched(communicator, to, elements, numbers)
}

/// Checks the numbers, and the number of elements.
fn check(
    communicator: &Communicator,
    ranges: &Ranges,
    numbers: &[u32],
    to: &Ranges,
    (of_elements, elements): (&Ranges, usize),
) -> Result<(), Error> {
    ranges.agree(communicator, "rows")?;
    to.agree(communicator, "new numbers")?;
    let checked = || {
        if to.total() != ranges.total() {
            let reason = format!("{} new numbers for {} rows", to.total(), ranges.total());
            return Err(Error::Ranges { what: "new numbers", reason });
        }
        ranges.check_length(communicator, "new numbers", numbers.len())?;
        of_elements.check_length(communicator, "elements", elements)?;
        match numbers.iter().find(|&&number| u64::from(number) >= to.total()) {
            Some(number) => {
                let expected = "less than the number of rows";
                Err(Error::Setting { what: "a new number", value: number.to_string(), expected })
            }
            None => Ok(()),
        }
    };
    together(communicator, checked())
}

/// The new numbers of the columns in which a rank has entries.
struct Columns<'a> {
    first: u64,
    /// Those of the rank's own rows.
    own: &'a [u32],
    others: Needed,
    of_others: Vec<u32>,
}

impl<'a> Columns<'a> {
    /// Requests the numbers of other ranks' columns, each once.
    fn new<T: Scalar>(
        communicator: &Communicator,
        rows: &Csr<T>,
        ranges: &Ranges,
        own: &'a [u32],
    ) -> Result<Self, Error> {
        let range = ranges.of(communicator.rank());
        let others = Needed::of(&rows, range.start, &range, ranges.total())?;
        let numbers: Vec<u32> = collect(others.columns().iter().map(|&column| column as u32))?;
        let of_others = fetched(communicator, ranges, own, &numbers)?;
        Ok(Self { first: range.start, own, others, of_others })
    }

    fn new_number(&self, column: u32) -> u32 {
        let place = u64::from(column).wrapping_sub(self.first);
        match usize::try_from(place).ok().and_then(|place| self.own.get(place)) {
            Some(&number) => number,
            // Every such column is included.
            None => self.of_others[self.others.index(column.into()) as usize],
        }
    }
}

/// Returns the elements with the given numbers, in their order, of a divided vector of which this rank has `own`.
fn fetched<T: Pod>(communicator: &Communicator, ranges: &Ranges, own: &[T], numbers: &[u32]) -> Result<Vec<T>, Error> {
    let deal = Deal::new(communicator, ranges, &[numbers])?;
    let asked = deal.rows()?;
    let mut answers = with_capacity(asked.len())?;
    for places in &asked {
        answers.push(collect(places.iter().map(|&place| own[place as usize]))?);
    }
    drop(asked);
    let answers = communicator.exchange_lists(answers)?;
    let mut next = zeros::<usize>(answers.len())?;
    let mut fetched = with_capacity(numbers.len())?;
    fetched.extend(deal.owners().map(|rank| {
        next[rank] += 1;
        answers[rank][next[rank] - 1]
    }));
    Ok(fetched)
}
