//! Vectors that are divided among threads or processes.

use std::time::Duration;

pub use gpu_kernels::dense::sums::{FIRST_SUM, FLAG, MOST_RANKS};
use host::Vector;
use host::error::Error;
use host::executor::Executor;
use host::memory::Memory;

/// The ranks among which vectors are divided, each of which has a part of every vector, and does everything that the others
/// do: solves on all ranks with the same method and options.
///
/// A solver finds them in its [operator](crate::Operator::ranks). What it sums over the elements of vectors is then summed
/// over all ranks, so that all come to the same scalars and stop in the same iteration. Preconditioners are applied to the
/// parts; those made of the entries that a rank has in its own columns ignore the others.
pub trait Ranks<E: Executor>: Send + Sync {
    /// Elements of a vector that are on ranks before this one.
    fn first(&self) -> usize;

    /// Elements of a vector on all ranks.
    fn elements(&self) -> usize;

    /// Replaces each number by its sum over all ranks: the same bits on each.
    ///
    /// # Errors
    /// When a rank fails.
    fn sum(&self, sums: &mut [f64]) -> Result<(), Error>;

    /// A way to add up to `sums` sums at a time in the memory of executors, if there is one: then no host waits for them. All
    /// ranks call it, with as many.
    ///
    /// # Errors
    /// When a rank fails, memory runs out, or the device fails.
    fn sums_in_memory(&self, _executor: &E, _sums: usize) -> Result<Option<Box<dyn SumsInMemory<E>>>, Error> {
        Ok(None)
    }
}

/// Sums of ranks that each of them reads in the memory of the others. All ranks do the same in the same order.
pub trait SumsInMemory<E: Executor>: Send {
    /// Number of ranks, at most [`MOST_RANKS`].
    fn ranks(&self) -> usize;

    /// Where this rank puts its next sums, from element [`FIRST_SUM`] on; element 0 is 0.
    fn own(&mut self) -> &mut Vector<f64, E>;

    /// Tells the other ranks that what is queued writes this rank's sums.
    ///
    /// # Errors
    /// When a rank fails, or the device fails.
    fn announce(&mut self) -> Result<(), Error>;

    /// The sums that all ranks have announced. What is queued next adds them up.
    ///
    /// # Errors
    /// When a rank fails, or the device fails.
    fn gather(&mut self) -> Result<Gathered<'_, E::Memory>, Error>;
}

/// The sums of all ranks, each in the memory of its own.
pub struct Gathered<'s, M: Memory> {
    /// Number of ranks.
    pub ranks: usize,
    /// This one.
    pub own: usize,
    /// The array of each rank, with sums from element [`FIRST_SUM`] on; behind the last rank, any array.
    pub of_ranks: [&'s M::Buffer<f64>; MOST_RANKS],
    /// A rank's sums are there when its flag, element [`FLAG`] of its array, is as much; 0 where they are there before what is
    /// queued next.
    pub number: u64,
    /// The array in whose element [`FLAG`] others look for the flag of this rank, which is made so.
    pub flag: &'s mut M::Buffer<f64>,
    /// How long others are waited for, whose sums are NaN then; without a limit where there is none.
    pub patience: Option<Duration>,
}
