//! Entries and elements on their way to the owners of their rows.

use std::mem;
use std::ops::Range;

use bytemuck::Pod;
use host::format::{RowCounts, TripletSlices};
use host::memory::{collect, with_capacity, zeros};
use host::{Scalar, parallel};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;

/// Entries as rows, columns and values.
pub(crate) type Entries<T> = (Vec<u32>, Vec<u32>, Vec<T>);

/// Rows that one thread deals at a time, at least.
const DEALT_AT_ONCE: usize = 1 << 14;

/// They are at least this many times the ranks, for each of which a thread keeps a place in a list.
const FOR_EACH_RANK: usize = 16;

/// Rows whose items go to the ranks that own them, in several parts.
pub(crate) struct Deal<'c> {
    communicator: &'c Communicator,
    /// In the order of the rows.
    chunks: Vec<Chunk>,
    /// Number of rows of each rank.
    counts: Vec<usize>,
}

/// Some consecutive rows of a part.
struct Chunk {
    part: usize,
    places: Range<usize>,
    owners: Vec<u32>,
    /// The number of each row, relative to the first row of its owner.
    numbers: Vec<u32>,
    /// Number of rows of each rank.
    counts: Vec<usize>,
}

impl<'c> Deal<'c> {
    /// Finds the owners of the rows of all parts. O(rows log ranks), in parallel.
    pub fn new(communicator: &'c Communicator, ranges: &Ranges, parts: &[&[u32]]) -> Result<Self, Error> {
        let at_once = DEALT_AT_ONCE.max(FOR_EACH_RANK * ranges.ranks());
        let ends = parts.iter().enumerate().flat_map(|(part, rows)| {
            (0..rows.len()).step_by(at_once).map(move |begin| (part, begin..rows.len().min(begin + at_once)))
        });
        let mut places = with_capacity(ends.clone().count())?;
        places.extend(ends);
        let chunk = |number: usize| {
            let (part, places): (usize, Range<usize>) = places[number].clone();
            Chunk::new(ranges, part, &parts[part][places.clone()], places)
        };
        let found = parallel::map(places.len(), 1, &chunk)?;
        let (mut chunks, mut counts) = (with_capacity(found.len())?, zeros::<usize>(ranges.ranks())?);
        for chunk in found {
            let chunk = chunk?;
            counts.iter_mut().zip(&chunk.counts).for_each(|(all, count)| *all += count);
            chunks.push(chunk);
        }
        Ok(Self { communicator, chunks, counts })
    }

    /// Returns the owner of each row.
    pub fn owners(&self) -> impl Iterator<Item = usize> + '_ {
        self.chunks.iter().flat_map(|chunk| &chunk.owners).map(|&owner| owner as usize)
    }

    /// Sends an item of each row to its owner; the parts are as long as those of the rows. Returns one list per rank, in the
    /// sender's order.
    pub fn items<T: Pod + Send + Sync>(&self, parts: &[&[T]]) -> Result<Vec<Vec<T>>, Error> {
        self.send(&|chunk| &parts[chunk.part][chunk.places.clone()])
    }

    /// Sends each row to its owner, relative to the owner's first row.
    pub fn rows(&self) -> Result<Vec<Vec<u32>>, Error> {
        self.send(&|chunk| &chunk.numbers)
    }

    fn send<'a, T: Pod + Send + Sync>(
        &'a self,
        items: &(dyn Fn(&'a Chunk) -> &'a [T] + Sync),
    ) -> Result<Vec<Vec<T>>, Error> {
        let mut lists = with_capacity(self.counts.len())?;
        for &count in &self.counts {
            lists.push(zeros::<T>(count)?);
        }
        // What is left of the lists for the chunks that follow.
        let mut left: Vec<&mut [T]> = with_capacity(lists.len())?;
        left.extend(lists.iter_mut().map(Vec::as_mut_slice));
        let mut shares = with_capacity(self.chunks.len())?;
        for chunk in &self.chunks {
            let mut share = with_capacity(left.len())?;
            for (left, &count) in left.iter_mut().zip(&chunk.counts) {
                let (own, rest) = mem::take(left).split_at_mut(count);
                *left = rest;
                share.push(own.iter_mut());
            }
            shares.push(share);
        }
        parallel::map_items(shares, &|(number, mut share)| {
            let chunk = &self.chunks[number];
            for (&owner, &item) in chunk.owners.iter().zip(items(chunk)) {
                if let Some(place) = share[owner as usize].next() {
                    *place = item;
                }
            }
        })?;
        self.communicator.exchange_lists(lists)
    }

    /// Adds each row to the counts of its owner.
    pub fn count(&self, counts: &mut RowCounts) -> Result<(), Error> {
        let rows = self.rows()?;
        Ok(counts.add(&collect(rows.iter().map(Vec::as_slice))?)?)
    }
}

impl Chunk {
    fn new(ranges: &Ranges, part: usize, rows: &[u32], places: Range<usize>) -> Result<Self, Error> {
        let (mut owners, mut numbers) = (with_capacity(rows.len())?, with_capacity(rows.len())?);
        let mut counts = zeros::<usize>(ranges.ranks())?;
        for &row in rows {
            let owner = ranges.owner(row.into());
            owners.push(owner as u32);
            counts[owner] += 1;
            numbers.push((u64::from(row) - ranges.begins()[owner]) as u32);
        }
        Ok(Self { part, places, owners, numbers, counts })
    }
}

/// Sends each entry to the owner of its row, with the row relative to the owner's first. Returns the entries of each rank
/// in the sender's order.
pub(crate) fn entries<T: Scalar>(
    communicator: &Communicator,
    ranges: &Ranges,
    parts: &[TripletSlices<'_, T>],
) -> Result<Vec<Entries<T>>, Error> {
    let deal = Deal::new(communicator, ranges, &collect(parts.iter().map(|part| part.0))?)?;
    let rows = deal.rows()?;
    let columns = deal.items(&collect(parts.iter().map(|part| part.1))?)?;
    let values = deal.items(&collect(parts.iter().map(|part| part.2))?)?;
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
    joined(&communicator.exchange_lists(lists)?)
}

/// Divides rows so that each rank has about the same number of entries; `lengths` are those of this rank's rows by an
/// `even` division. Returns the ranges and the lengths of this rank's rows.
pub(crate) fn balanced(
    communicator: &Communicator,
    lengths: &[usize],
    even: &Ranges,
) -> Result<(Ranges, Vec<usize>), Error> {
    let ranges = Ranges::balanced_together(communicator, lengths)?;
    let lengths = redistributed(communicator, lengths, even, &ranges)?;
    Ok((ranges, lengths))
}

/// Returns the received parts, concatenated.
pub(crate) fn joined<T: Copy>(received: &[Vec<T>]) -> Result<Vec<T>, Error> {
    let mut all = with_capacity(received.iter().map(Vec::len).sum())?;
    received.iter().for_each(|part| all.extend_from_slice(part));
    Ok(all)
}
