//! Entries and elements on their way to the owners of their rows.

use bytemuck::Pod;
use host::Scalar;
use host::format::TripletSlices;
use host::memory::{collect, with_capacity, zeros};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;

/// Entries as rows, columns and values.
pub(crate) type Entries<T> = (Vec<u32>, Vec<u32>, Vec<T>);

/// Adds each item to the list of the rank that owns its row.
fn lists<T: Pod>(
    ranges: &Ranges,
    rows: impl Iterator<Item = u32> + Clone,
    items: impl Iterator<Item = T>,
) -> Result<Vec<Vec<T>>, Error> {
    let mut counts = zeros::<usize>(ranges.ranks())?;
    rows.clone().for_each(|row| counts[ranges.owner(row.into())] += 1);
    let mut lists = with_capacity(ranges.ranks())?;
    for &count in &counts {
        lists.push(with_capacity(count)?);
    }
    rows.zip(items).for_each(|(row, item)| lists[ranges.owner(row.into())].push(item));
    Ok(lists)
}

/// Returns row numbers relative to the first row of their owner.
pub(crate) fn own<'a>(ranges: &'a Ranges, rows: impl Iterator<Item = u32> + 'a) -> impl Iterator<Item = u32> + 'a {
    rows.map(|row| (u64::from(row) - ranges.of(ranges.owner(row.into())).start) as u32)
}

/// Sends each row number to its owner, relative to the owner's first row. Returns one list per rank.
pub(crate) fn rows(communicator: &Communicator, ranges: &Ranges, parts: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, Error> {
    let rows = parts.iter().flatten().copied();
    items(communicator, ranges, rows.clone(), own(ranges, rows))
}

/// Sends each item to the owner of its row. Returns one list per rank, in the sender's order.
pub(crate) fn items<T: Pod>(
    communicator: &Communicator,
    ranges: &Ranges,
    rows: impl Iterator<Item = u32> + Clone,
    items: impl Iterator<Item = T>,
) -> Result<Vec<Vec<T>>, Error> {
    communicator.all_to_all(&lists(ranges, rows, items)?)
}

/// Sends each entry to the owner of its row, with the row relative to the owner's first. Returns the entries of each rank
/// in the sender's order.
pub(crate) fn entries<T: Scalar>(
    communicator: &Communicator,
    ranges: &Ranges,
    parts: &[TripletSlices<'_, T>],
) -> Result<Vec<Entries<T>>, Error> {
    let rows = || parts.iter().flat_map(|(rows, _, _)| rows.iter().copied());
    let columns = parts.iter().flat_map(|(_, columns, _)| columns.iter().copied());
    let values = parts.iter().flat_map(|(_, _, values)| values.iter().copied());
    let own_rows = communicator.all_to_all(&lists(ranges, rows(), own(ranges, rows()))?)?;
    let columns = communicator.all_to_all(&lists(ranges, rows(), columns)?)?;
    let values = communicator.all_to_all(&lists(ranges, rows(), values)?)?;
    Ok(own_rows.into_iter().zip(columns).zip(values).map(|((rows, columns), values)| (rows, columns, values)).collect())
}

/// Returns this rank's elements of a vector after changing its division.
///
/// # Errors
/// When the number of elements is not this rank's, the ranges are those of other vectors, a rank fails, or memory runs out.
pub fn redistributed<T: Pod>(
    communicator: &Communicator,
    elements: &[T],
    from: &Ranges,
    to: &Ranges,
) -> Result<Vec<T>, Error> {
    let own = from.of(communicator.rank());
    if elements.len() as u64 != own.end - own.start || from.total() != to.total() {
        let reason = format!("{} elements, expected {}", elements.len(), own.end - own.start);
        return Err(Error::Ranges { what: "elements", reason });
    }
    let mut lists = with_capacity(to.ranks())?;
    for rank in 0..to.ranks() {
        let range = to.of(rank);
        let begin = range.start.clamp(own.start, own.end) - own.start;
        let end = range.end.clamp(own.start, own.end) - own.start;
        lists.push(collect(elements[begin as usize..end.max(begin) as usize].iter().copied())?);
    }
    joined(&communicator.all_to_all(&lists)?)
}

/// Returns the received parts, concatenated.
pub(crate) fn joined<T: Copy>(received: &[Vec<T>]) -> Result<Vec<T>, Error> {
    let mut all = with_capacity(received.iter().map(Vec::len).sum())?;
    received.iter().for_each(|part| all.extend_from_slice(part));
    Ok(all)
}
