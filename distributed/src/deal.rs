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

/// Rows whose items go to the ranks that own them.
pub(crate) struct Deal<'c> {
    communicator: &'c Communicator,
    owners: Vec<u32>,
    /// Number of rows of each rank.
    counts: Vec<usize>,
    /// See [`numbers`](Self::numbers).
    numbers: Vec<u32>,
}

impl<'c> Deal<'c> {
    /// Finds the owners of these rows. O(rows log ranks).
    pub fn new(
        communicator: &'c Communicator,
        ranges: &Ranges,
        rows: impl Iterator<Item = u32> + Clone,
    ) -> Result<Self, Error> {
        let count = rows.clone().count();
        let mut deal = Self {
            communicator,
            owners: with_capacity(count)?,
            counts: zeros(ranges.ranks())?,
            numbers: with_capacity(count)?,
        };
        for row in rows {
            let owner = ranges.owner(row.into());
            deal.owners.push(owner as u32);
            deal.counts[owner] += 1;
            deal.numbers.push((u64::from(row) - ranges.begins()[owner]) as u32);
        }
        Ok(deal)
    }

    /// Returns the owner of each row.
    pub fn owners(&self) -> impl Iterator<Item = usize> + '_ {
        self.owners.iter().map(|&owner| owner as usize)
    }

    /// Returns the number of each row, relative to the first row of its owner.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.numbers.iter().copied()
    }

    /// Sends an item of each row to its owner. Returns one list per rank, in the sender's order.
    pub fn items<T: Pod>(&self, items: impl Iterator<Item = T>) -> Result<Vec<Vec<T>>, Error> {
        let mut lists = with_capacity(self.counts.len())?;
        for &count in &self.counts {
            lists.push(with_capacity(count)?);
        }
        self.owners().zip(items).for_each(|(owner, item)| lists[owner].push(item));
        self.communicator.all_to_all(&lists)
    }

    /// Sends each row to its owner, as in [`numbers`](Self::numbers).
    pub fn rows(&self) -> Result<Vec<Vec<u32>>, Error> {
        self.items(self.numbers())
    }

    /// Adds to the count of each row of this rank how often all ranks have it.
    pub fn count(&self, counts: &mut [usize]) -> Result<(), Error> {
        self.rows()?.iter().flatten().for_each(|&row| counts[row as usize] += 1);
        Ok(())
    }
}

/// Sends each entry to the owner of its row, with the row relative to the owner's first. Returns the entries of each rank
/// in the sender's order.
pub(crate) fn entries<T: Scalar>(
    communicator: &Communicator,
    ranges: &Ranges,
    parts: &[TripletSlices<'_, T>],
) -> Result<Vec<Entries<T>>, Error> {
    let deal = Deal::new(communicator, ranges, parts.iter().flat_map(|(rows, _, _)| rows.iter().copied()))?;
    let rows = deal.rows()?;
    let columns = deal.items(parts.iter().flat_map(|(_, columns, _)| columns.iter().copied()))?;
    let values = deal.items(parts.iter().flat_map(|(_, _, values)| values.iter().copied()))?;
    Ok(rows.into_iter().zip(columns).zip(values).map(|((rows, columns), values)| (rows, columns, values)).collect())
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
