//! From edges to a symmetric matrix, where a row cannot know its entries by itself.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use host::format::{Csr, Offsets, parallel_rows};
use host::parallel;
use host::real::Scalar;

use crate::assemble::{ROWS_AT_ONCE, check_bytes, check_rows, expected_nnz, zeroed};
use crate::draw::{keep_distinct, mix, unit, value_of};
use crate::{Error, Generate};

/// A graph whose edges can be made vertex by vertex.
pub(crate) trait EdgeByEdge: Generate + Sync {
    /// Where the random numbers begin.
    fn seed(&self) -> u64;

    /// Calls `edge` with both ends of each edge that a vertex brings: the same ones whenever it is asked.
    ///
    /// # Errors
    /// When memory runs out.
    fn edges_of(&self, vertex: usize, edge: impl FnMut(usize, usize)) -> Result<(), host::Error>;
}

/// Some rows of the symmetric adjacency matrix of a graph, with random values. Edges that come twice are one entry, and an edge
/// from a vertex to itself is one on the diagonal.
///
/// The edges are made twice: to count the entries of each row, and to put them there. The order in which threads put
/// them does not show, since each row is sorted after that. All edges are made, whichever rows are wanted.
pub(crate) fn assemble_edges<T: Scalar>(graph: &impl EdgeByEdge, wanted: Range<usize>) -> Result<Csr<T>, Error> {
    graph.check()?;
    check_rows(graph, &wanted)?;
    let rows = wanted.len();
    // Offsets before and after edges that come twice are dropped, 8 bytes each.
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

/// Where the rows begin, and the columns of each row in any order.
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
    // What is the beginning of a row now is its end after this, which is the beginning of the next one.
    for_each_entry(graph, wanted.clone(), |row, column| {
        let place = next[row].fetch_add(1, Ordering::Relaxed) as usize;
        columns[place].store(column as u32, Ordering::Relaxed);
    })?;
    // Collected where they are, without memory of their own.
    let mut offsets: Vec<u64> = next.into_iter().map(AtomicU64::into_inner).collect();
    offsets.rotate_right(1);
    offsets[0] = 0;
    Ok((offsets, columns.into_iter().map(AtomicU32::into_inner).collect()))
}

/// Calls `entry` with row and column of each entry of some rows, which are counted from the first of them, from all
/// threads.
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

/// Sorts each row and keeps one of each column. Returns where the rows begin after that.
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
