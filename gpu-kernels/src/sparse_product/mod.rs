//! The product C of two matrices in CSR, A and B: row i of C is the sum of the rows of B selected by row i of A, each
//! times the entry that selects it.
//!
//! First the rows of C are divided into classes by their numbers of products. Rows of few products, and those of a class of which
//! a sample has few columns, are computed at once, by hash tables in shared memory, and rows of very many products by a list of
//! these; both are moved to their places when all lengths are known. The different columns of the other rows are counted, by
//! such tables or, for long rows, by a bit for each column in global memory. Once the offset of each row is known, those that have a table
//! are computed there, and the others in two steps, columns and values. Values are always added up in the order of A's
//! entries, so that their bits are always the same.

pub mod classes;
mod entries;
pub mod lane_rows;
pub mod listed;
pub mod long_rows;
pub mod long_values;
pub mod pattern;
pub mod rows;
pub mod sample;
pub mod short_values;
mod side;
mod sort;
mod table;
pub(crate) mod team;
pub mod values;
