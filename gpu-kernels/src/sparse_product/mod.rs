//! The product C of two matrices in CSR, A and B: row i of C is the sum of the rows of B selected by row i of A, each
//! times the entry that selects it.
//!
//! First the rows of C are divided into classes by a bound on their lengths. The different columns of a row are counted
//! and, once the offset of each row is known, written in ascending order: by a hash table in shared memory or, for the
//! longest rows, by a bit for each column in global memory. Then the values are added up in the same ways, each in the
//! order of A's entries, so that their bits are always the same.

pub mod classes;
pub mod long_rows;
pub mod long_values;
pub mod pattern;
mod side;
mod table;
pub(crate) mod team;
pub mod values;
