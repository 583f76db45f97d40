//! Operations of solvers on dense vectors: passes over their elements, sums of products, the arithmetic on those sums,
//! and blocks of several vectors.
//!
//! Scalars are 64-bit numbers in an array on the device; its elements are called slots. Sums of products are
//! accumulated in 64 bits whatever the vectors' precision: each block of a grid writes a partial sum, in an order that
//! depends only on the grid, and [`finish_sums`](sums::finish_sums) adds these up and continues with the arithmetic, so
//! that no number has to be copied to the host. If the slot [`STATUS`](program::STATUS) is not 0, every kernel here
//! leaves everything unchanged: a method that has ended stays at its end.

pub mod block_diagonal;
pub mod columns;
pub mod gather;
pub mod mixed;
pub mod passes;
pub mod program;
pub mod pseudo_random;
pub mod scatter;
pub mod sums;
