//! Parts by METIS, for ranks.

use warp_spmv::Csr;
use warp_spmv::distributed::{Communicator, Ranges, redistributed};
use warp_spmv::format::Offsets;
use warp_spmv::io::Number;
use warp_spmv::memory::{collect, copy, filled, with_capacity, zeros};
use warp_spmv::synthetic::reorder;

use crate::cli::error::Error;

/// Returns the new number of each row of this rank, and the rows of each rank in the new order. Rank 0 temporarily
/// holds the pattern of all rows.
pub fn by_metis<T: Number>(
    communicator: &Communicator,
    rows: &Csr<T>,
    ranges: &Ranges,
) -> Result<(Vec<u32>, Ranges), Error> {
    let lengths: Vec<u64> = collect(rows.row_lengths().map(|length| length as u64))?;
    let lengths = communicator.gather(0, &lengths)?;
    let columns = communicator.gather(0, rows.column_indices())?;
    let (numbers, begins) = match lengths.zip(columns) {
        Some((lengths, columns)) => {
            let (lengths, columns) = (joined(lengths)?, joined(columns)?);
            let offsets = Offsets::from_lengths(lengths.iter().map(|&length| length as usize))?;
            let values = zeros::<f32>(columns.len())?;
            let pattern = Csr::try_new(lengths.len(), rows.columns(), offsets, columns, values)?;
            let (order, begins) = reorder::metis(&pattern, communicator.ranks())?;
            (copy(order.inverse()?.old_places())?, begins)
        }
        None => (Vec::new(), Vec::new()),
    };
    let to = Ranges::try_new(communicator.broadcast(0, &begins)?)?;
    let mut on_first = filled(communicator.ranks() + 1, ranges.total())?;
    on_first[0] = 0;
    Ok((redistributed(communicator, &numbers, &Ranges::try_new(on_first)?, ranges)?, to))
}

/// Concatenates the parts.
fn joined<T: Copy>(parts: Vec<Vec<T>>) -> Result<Vec<T>, warp_spmv::Error> {
    let mut joined = with_capacity(parts.iter().map(Vec::len).sum())?;
    parts.into_iter().for_each(|part| joined.extend_from_slice(&part));
    Ok(joined)
}
