//! What solvers do with dense vectors: passes over their elements, sums of products, the arithmetic on those sums, and
//! blocks of several vectors.
//!
//! Scalars are 64-bit numbers in an array on the device; their places there are called slots. Sums of products are added
//! up in 64 bits whatever the vectors' precision: the blocks of a grid leave a partial sum each, in an order that only
//! depends on the grid, and [`finish_sums`](sums::finish_sums) adds those up and goes on with the arithmetic, so that no
//! number has to come to the host. Where the slot [`STATUS`](program::STATUS) is not 0, every kernel here leaves
//! everything as it is: a method that has ended stays where it ended.

pub mod block_diagonal;
pub mod columns;
pub mod gather;
pub mod mixed;
pub mod passes;
pub mod program;
pub mod scatter;
pub mod sums;
