//! Reorderings of rows and columns: to bring entries near the diagonal, to group rows of equal length, or to spoil
//! both.
//!
//! Each function returns an [`Ordering`] and leaves the matrix unchanged; [`Ordering::apply_symmetric`] and
//! [`Ordering::apply_rows`] return the reordered one.
//!
//! ```
//! use host::Csr;
//! use synthetic::{Generator, reorder};
//!
//! let matrix: Csr<f64> = "elasticity:width=8".parse::<Generator>()?.generate()?;
//! let ordering = reorder::reverse_cuthill_mckee(&matrix)?;
//! let reordered = ordering.apply_symmetric(&matrix)?;
//! assert!(reorder::bandwidth(&reordered) < reorder::bandwidth(&matrix) / 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod graph;
#[cfg(feature = "metis")]
mod metis;
mod ordering;
mod reverse_cuthill_mckee;

#[cfg(feature = "metis")]
pub use self::metis::metis;
pub use ordering::Ordering;
pub use reverse_cuthill_mckee::reverse_cuthill_mckee;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use host::format::Offsets;
use host::{Csr, Error, Scalar, memory, parallel};

use crate::bijection::Bijection;

/// Longest rows first; rows of equal length keep their order. O(rows log rows).
///
/// # Errors
/// When memory runs out.
pub fn by_row_length<T: Scalar>(matrix: &Csr<T>) -> Result<Ordering, Error> {
    longest_first(matrix.row_offsets())
}

// Not generic, so that the parallel sort is compiled here, and once.
fn longest_first(offsets: &Offsets) -> Result<Ordering, Error> {
    let mut rows = memory::collect(0..offsets.len() as u32 - 1)?;
    let length = |row: u32| offsets.get(row as usize + 1) - offsets.get(row as usize);
    // Also by row: a stable sort would allocate, and abort if that failed.
    parallel::sort_unstable_by(&mut rows, |&left, &right| length(right).cmp(&length(left)).then(left.cmp(&right)));
    Ok(Ordering::from_valid(rows))
}

/// A random order of `rows` rows, determined by the seed. O(rows).
///
/// # Errors
/// When there are more rows than a matrix can have, or memory runs out.
pub fn shuffle(rows: usize, seed: u64) -> Result<Ordering, Error> {
    ordering::check_length(rows)?;
    let bijection = Bijection::new(rows, seed);
    parallel::map(rows, ordering::ROWS_AT_ONCE, &|row| bijection.forward(row) as u32).map(Ordering::from_valid)
}

/// The largest distance of an entry from the diagonal, |row − column|; 0 without entries. O(rows + nnz).
pub fn bandwidth<T: Scalar>(matrix: &Csr<T>) -> usize {
    let of_row = |row: usize| matrix.row(row).map(|(column, _)| row.abs_diff(column as usize)).max().unwrap_or(0);
    let bandwidth = AtomicUsize::new(0);
    parallel::for_each(matrix.rows(), 1, &|row| {
        let of_row = of_row(row);
        // Most rows are not the widest so far, and loads do not disturb other threads.
        if of_row > bandwidth.load(Relaxed) {
            bandwidth.fetch_max(of_row, Relaxed);
        }
    });
    bandwidth.into_inner()
}
