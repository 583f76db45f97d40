//! Vectors that are divided among threads or processes.

use host::error::Error;

/// The ranks among which vectors are divided, each of which has a part of every vector, and does everything that the others
/// do: solves on all ranks with the same method and options.
///
/// A solver finds them in its [operator](crate::Operator::ranks). What it sums over the elements of vectors is then summed
/// over all ranks, so that all come to the same scalars and stop in the same iteration. Preconditioners are applied to the
/// parts; those made of the entries that a rank has in its own columns ignore the others.
pub trait Ranks: Send + Sync {
    /// Elements of a vector that are on ranks before this one.
    fn first(&self) -> usize;

    /// Elements of a vector on all ranks.
    fn elements(&self) -> usize;

    /// Replaces each number by its sum over all ranks: the same bits on each.
    ///
    /// # Errors
    /// When a rank fails.
    fn sum(&self, sums: &mut [f64]) -> Result<(), Error>;
}
