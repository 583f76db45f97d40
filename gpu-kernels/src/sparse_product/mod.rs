//! The product C of two matrices in CSR, A and B: row i of C is the sum of the rows of B that row i of A names, each times
//! the entry that names it.
//!
//! First the rows of C are put in classes by a bound of their lengths. The different columns of a row are counted and, once
//! it is known where each row begins, written in ascending order: by a hash table in shared memory, or, of the longest
//! rows, by a bit for each column in global memory. Then the values are added up in the same ways, each in the order of A's
//! entries; so their bits are always the same.

pub mod classes;
pub mod long_rows;
pub mod long_values;
pub mod pattern;
mod side;
mod table;
pub(crate) mod team;
pub mod values;
