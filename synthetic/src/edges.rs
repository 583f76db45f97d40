//! Assembly of a symmetric matrix from edges, if a row cannot determine its own entries.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use host::format::{Csr, Offsets, parallel_rows};
use host::parallel;
use host::real::Scalar;

use crate::assemble::{ROWS_AT_ONCE, check_bytes, check_rows, expected_nnz, zeroed};
use crate::draw::{keep_distinct, mix, unit, value_of};
use crate::{Error, Generate};

/// A graph whose edges can be generated vertex by vertex.
pub(crate) trait EdgeByEdge: Generate + Sync {
    /// The seed of the random numbers.
    fn seed(&self) -> u64;

    /// Calls `edge` with both ends of each edge that a vertex generates: the same ones in each call.
    ///
    /// # Errors
    /// When memory runs out.
    fn edges_of(&self, vertex: usize, edge: impl FnMut(usize, usize)) -> Result<(), host::Error>;
}

/// Generates some rows of the symmetric adjacency matrix of a graph, with random values. Duplicate edges are one entry, and
/// a loop is one on the diagonal.
///
/// The edges are generated twice: to count the entries of each row, and to store them. The order in which threads store
/// them does not matter, since each row is sorted afterwards. All edges are generated, whichever rows are wanted.
pub(crate) fn assemble_edges<T: Scalar>(graph: &impl EdgeByEdge, wanted: Range<usize>) -> Result<Csr<T>, Error> {
    graph.check()?;
    check_rows(graph, &wanted)?;
    let rows = wanted.len();
    // Offsets before and after duplicates are dropped, 8 bytes each.
    check_bytes::<T>(rows, expected_nnz(graph, &wanted), 16 * (rows as u128 + 1))?;
    let (offsets, mut columns) = scatter(graph, wanted.clone())?;
    let offsets = drop_duplicates(&Offsets::try_from(offsets)?, &mut columns)?;
    let mut values: Vec<T> = zeroed("values", columns.len())?;
    parallel_rows(&offsets, ROWS_AT_ONCE, &mut columns, &mut values, &|chunk, columns, values| {
        let base = offsets.get(chunk.start);
        for row in chunk {
            for entry in offsets.get(row) - base..offsets.get(row + 1) - base {
                let (row, column) = ((wanted.start + row) as u64, u64::from(columns[entry]));
                values[entry] = value_of(unit(mix(graph.seed(), row.min(column), row.max(column))));
            }
        }
        Ok(())
    })?;
    Ok(Csr::try_new(rows, graph.columns(), offsets, columns, values)?)
}

/// The start of each row, and the columns of each row in any order.
fn scatter(graph: &impl EdgeByEdge, wanted: Range<usize>) -> Result<(Vec<u64>, Vec<u32>), Error> {
    let rows = wanted.len();
    let next: Vec<AtomicU64> = zeroed("row offsets", rows + 1)?;
    for_each_entry(graph, wanted.clone(), |row, _| {
        next[row + 1].fetch_add(1, Ordering::Relaxed);
    })?;
    let mut sum = 0;
    for length in &next {
        sum += length.load(Ordering::Relaxed);
        length.store(sum, Ordering::Relaxed);
    }
    let columns: Vec<AtomicU32> = zeroed("column indices", sum as usize)?;
    // This loop turns the start of each row into its end, which is the start of the next.
    for_each_entry(graph, wanted.clone(), |row, column| {
        let place = next[row].fetch_add(1, Ordering::Relaxed) as usize;
        columns[place].store(column as u32, Ordering::Relaxed);
    })?;
    // Collected in place, without further memory.
    let mut offsets: Vec<u64> = next.into_iter().map(AtomicU64::into_inner).collect();
    offsets.rotate_right(1);
    offsets[0] = 0;
    Ok((offsets, columns.into_iter().map(AtomicU32::into_inner).collect()))
}

/// Calls `entry` with the row and column of each entry of some rows, from all threads. Rows are relative to the first
/// of them.
fn for_each_entry(
    graph: &impl EdgeByEdge,
    wanted: Range<usize>,
    entry: impl Fn(usize, usize) + Sync,
) -> Result<(), Error> {
    let entry = |row: usize, column: usize| {
        if wanted.contains(&row) {
            entry(row - wanted.start, column);
        }
    };
    let both_ways = |from, to| {
        entry(from, to);
        if from != to {
            entry(to, from);
        }
    };
    let failure = |mut vertices: Range<usize>| vertices.find_map(|vertex| graph.edges_of(vertex, both_ways).err());
    parallel::first(graph.rows(), ROWS_AT_ONCE, &failure).map_or(Ok(()), |error| Err(error.into()))
}

/// Sorts each row and removes duplicate columns. Returns the new row offsets.
fn drop_duplicates(offsets: &Offsets, columns: &mut Vec<u32>) -> Result<Offsets, Error> {
    const DROPPED: u32 = u32::MAX;
    let rows = offsets.len() - 1;
    let mut no_values = vec![(); columns.len()];
    parallel_rows(offsets, ROWS_AT_ONCE, columns, &mut no_values, &|chunk, columns, _| {
        let base = offsets.get(chunk.start);
        for row in chunk {
            let row = &mut columns[offsets.get(row) - base..offsets.get(row + 1) - base];
            row.sort_unstable();
            let distinct = keep_distinct(row);
            row[distinct..].fill(DROPPED);
        }
        Ok(())
    })?;
    let mut ends: Vec<u64> = zeroed("row offsets", rows + 1)?;
    let mut kept = 0;
    for row in 0..rows {
        let (begin, end) = (offsets.get(row), offsets.get(row + 1));
        let distinct = columns[begin..end].partition_point(|&column| column != DROPPED);
        columns.copy_within(begin..begin + distinct, kept);
        kept += distinct;
        ends[row + 1] = kept as u64;
    }
    columns.truncate(kept);
    Ok(ends.try_into()?)
}
