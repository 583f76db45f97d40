//! Other orders of rows and columns: to bring entries near the diagonal, to bring rows of a length together, or to
//! spoil both.
//!
//! Each function finds an [`Ordering`] and leaves the matrix as it is; [`Ordering::apply_symmetric`] and
//! [`Ordering::apply_rows`] make the reordered one.
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

mod ordering;
mod reverse_cuthill_mckee;

pub use ordering::Ordering;
pub use reverse_cuthill_mckee::reverse_cuthill_mckee;

use host::format::Offsets;
use host::parallel;
use host::{Csr, Real};
use rayon::prelude::*;

use crate::bijection::Bijection;

/// Longest rows first; rows of one length keep their order. O(rows log rows).
pub fn by_row_length<T: Real>(matrix: &Csr<T>) -> Ordering {
    longest_first(matrix.row_offsets())
}

// Not generic, so that sorting in parallel is compiled here and once.
fn longest_first(offsets: &Offsets) -> Ordering {
    let mut rows: Vec<u32> = (0..offsets.len() as u32 - 1).collect();
    rows.par_sort_by_key(|&row| std::cmp::Reverse(offsets.get(row as usize + 1) - offsets.get(row as usize)));
    Ordering::from_valid(rows)
}

/// A random order of so many rows, the same for each seed. O(rows).
///
/// # Errors
/// When there are more rows than a matrix can have.
pub fn shuffle(rows: usize, seed: u64) -> Result<Ordering, host::Error> {
    ordering::check_length(rows)?;
    let bijection = Bijection::new(rows, seed);
    Ok(Ordering::from_valid((0..rows).into_par_iter().map(|row| bijection.forward(row) as u32).collect()))
}

/// How far an entry is from the diagonal, at most: the largest |row − column|; 0 without entries. O(rows + nnz).
pub fn bandwidth<T: Real>(matrix: &Csr<T>) -> usize {
    let of_row = |row: usize| matrix.row(row).map(|(column, _)| row.abs_diff(column as usize)).max().unwrap_or(0);
    parallel::map(matrix.rows(), 1, &of_row).into_iter().max().unwrap_or(0)
}
