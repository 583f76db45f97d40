//! Containers by row ranges.

use files::{ContainerRows, Number, PartSum, ReadProgress};
use host::memory::{collect, with_capacity};

use super::{FileRows, agree};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::ranges::Ranges;
use crate::together::together;

/// Reads the rows of each rank. Each rank first reads the offsets of an equal number of rows, to find out which rows it
/// will own, and then reads those.
pub(super) fn read<T: Number>(
    communicator: &Communicator,
    file: &ContainerRows,
    progress: ReadProgress<'_>,
) -> Result<FileRows<T>, Error> {
    let header = file.header();
    agree(communicator, &header)?;
    together(communicator, file.check_values::<T>().map_err(Error::from))?;
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let even = Ranges::even(header.rows as u64, ranks)?;
    let own = even.of(rank);

    // There is one more offset than there are rows.
    let own_offsets = own.start..own.end + u64::from(rank + 1 == ranks);
    let sums = communicator.all_gather(&file.offset_sum(own_offsets)?)?;
    let sums: Vec<PartSum> = collect(sums.iter().map(|sum| [sum[0], sum[1]]))?;
    together(communicator, file.check_offset_sums(&sums).map_err(Error::from))?;
    let offsets = together(communicator, file.offsets(own).map_err(Error::from))?;
    let lengths = collect(offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize))?;
    let ranges = Ranges::balanced_together(communicator, &lengths)?;
    drop((lengths, offsets));

    let offsets = together(communicator, file.offsets(ranges.of(rank)).map_err(Error::from))?;
    let entries = offsets[0]..offsets[offsets.len() - 1];
    let bytes = (entries.end - entries.start) * size_of::<T>() as u64;
    let report = |done| progress.map_or((), |progress| progress(done, bytes));
    report(0);
    let sums = communicator.all_gather(file.entry_sums(entries)?.as_flattened())?;
    let mut parts = with_capacity(ranks)?;
    parts.extend(sums.iter().map(|sums| [[sums[0], sums[1]], [sums[2], sums[3]]]));
    together(communicator, file.check_entry_sums(&parts).map_err(Error::from))?;
    let rows = together(communicator, file.rows(&offsets).map_err(Error::from))?;
    report(bytes);
    Ok(FileRows { header, ranges, rows })
}
